//! What a run has to say: as a table for people, as JSON for programs.

use std::fmt::Write;

use ptx_sim::{Config, Counters, Launch};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::counters::{Ratios, grouped, table};
use crate::dtype::{Dtype, Literal};
use crate::fault::FaultReport;

/// Raised when a field changes its meaning or goes. New ones may come.
pub(crate) const FORMAT: u32 = 1;

/// A run as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct RunReport {
    pub(crate) format: u32,
    /// The file.
    pub(crate) file: String,
    /// Name of the entry.
    pub(crate) kernel: String,
    /// Its C++ name, or the same again.
    pub(crate) signature: String,
    pub(crate) launch: LaunchReport,
    /// Seconds that all runs took.
    pub(crate) seconds: f64,
    /// Of the first run that ended well.
    #[serde(serialize_with = "counters")]
    pub(crate) counters: Option<Counters>,
    pub(crate) ratios: Option<Ratios>,
    pub(crate) fault: Option<FaultReport>,
    /// What the kernel has printed: in the first run, or with a fault in the one that has it.
    pub(crate) printed: String,
    /// With `--seeds`.
    pub(crate) seeds: Option<SeedsReport>,
    /// Buffers that were written or printed.
    pub(crate) outputs: Vec<OutputReport>,
}

#[derive(Debug, Serialize)]
pub(crate) struct LaunchReport {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    cooperative: bool,
    seed: Option<u64>,
    capability: String,
    multiprocessors: u32,
    threads: usize,
}

impl LaunchReport {
    pub(crate) fn new(launch: &Launch, config: &Config, seed: Option<u64>) -> LaunchReport {
        let (major, minor) = config.capability;
        LaunchReport {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
            cooperative: launch.cooperative,
            seed,
            capability: format!("{major}.{minor}"),
            multiprocessors: config.multiprocessors,
            threads: config.threads,
        }
    }
}

/// What came of many seeds.
#[derive(Debug, Serialize)]
pub(crate) struct SeedsReport {
    /// Seeds that ran, from 0.
    pub(crate) run: u64,
    /// Seeds that were asked for.
    pub(crate) asked: u64,
    /// Where buffers are not the same under all of them.
    pub(crate) differences: Vec<Difference>,
}

/// The first element of a buffer that two seeds make different.
#[derive(Debug, Serialize)]
pub(crate) struct Difference {
    pub(crate) buffer: String,
    pub(crate) element: u64,
    pub(crate) seeds: [u64; 2],
    pub(crate) values: [Number; 2],
}

/// A buffer after the run.
#[derive(Debug, Serialize)]
pub(crate) struct OutputReport {
    pub(crate) name: String,
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<u64>,
    /// Where it was written.
    pub(crate) file: Option<String>,
    /// Its first elements, if they are to be printed.
    pub(crate) values: Option<Vec<Number>>,
}

/// An element. JSON has no NaN and no infinities: they are written as the strings `"NaN"`, `"Infinity"` and
/// `"-Infinity"`, which most languages read back as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) Literal);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let literal = self.0;
        match literal.dtype() {
            Dtype::Bool => serializer.serialize_bool(literal.bits() != 0),
            Dtype::U64 => serializer.serialize_u64(literal.bits()),
            dtype if dtype.is_integer() => serializer.serialize_i64(literal.to_i128() as i64),
            Dtype::F32 if literal.to_f64().is_finite() => {
                // Its own shortest digits, not those of the double.
                serializer.serialize_f32(literal.to_f64() as f32)
            }
            _ => match literal.to_f64() {
                value if value.is_nan() => serializer.serialize_str("NaN"),
                f64::INFINITY => serializer.serialize_str("Infinity"),
                f64::NEG_INFINITY => serializer.serialize_str("-Infinity"),
                value => serializer.serialize_f64(value),
            },
        }
    }
}

fn counters<S: Serializer>(counters: &Option<Counters>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(counters) = counters else {
        return serializer.serialize_none();
    };
    let mut map = serializer.serialize_map(None)?;
    for (name, count) in counters.iter() {
        map.serialize_entry(name, &count)?;
    }
    map.end()
}

/// One JSON object and a line break.
pub(crate) fn json(report: &impl Serialize) -> String {
    match serde_json::to_string_pretty(report) {
        Ok(text) => text + "\n",
        // Only maps with keys that are no strings and failing writers are refused.
        Err(error) => format!("{{\"error\": \"{error}\"}}\n"),
    }
}

impl RunReport {
    /// The table.
    pub(crate) fn text(&self) -> String {
        let shape = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let LaunchReport { grid, block, dynamic_shared, cooperative, seed, .. } = &self.launch;
        let mut text = format!("{}: grid {}, block {}", self.signature, shape(*grid), shape(*block));
        if *dynamic_shared > 0 {
            text += &format!(", {dynamic_shared} bytes of shared memory");
        }
        if *cooperative {
            text += ", cooperative";
        }
        if let Some(seed) = seed {
            text += &format!(", seed {seed}");
        }
        if let Some(seeds) = &self.seeds {
            text += &format!(", {} of {} seeds", seeds.run, seeds.asked);
        }
        // Writing to a string does not fail.
        let _ = match self.seconds {
            short if short < 1.0 => writeln!(text, "; {:.1} ms", 1000.0 * short),
            long => writeln!(text, "; {long:.1} s"),
        };
        if let Some(counters) = &self.counters {
            let of_seed = if self.seeds.is_some() { "counters of seed 0:\n" } else { "" };
            let _ = write!(text, "\n{of_seed}{}", table(counters));
        }
        self.outputs_text(&mut text);
        if let Some(seeds) = &self.seeds
            && self.fault.is_none()
        {
            text.push('\n');
            if seeds.differences.is_empty() {
                let _ = writeln!(text, "every buffer has the same bits under all {} seeds", seeds.run);
            }
            for difference in &seeds.differences {
                let _ = writeln!(text, "{}", difference.text());
            }
        }
        text
    }

    fn outputs_text(&self, text: &mut String) {
        for (place, output) in self.outputs.iter().enumerate() {
            if place == 0 {
                text.push('\n');
            }
            let OutputReport { name, dtype, shape, file, values } = output;
            let dimensions = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            if let Some(values) = values {
                let more = if (values.len() as u64) < shape.iter().product() { ", ..." } else { "" };
                let values = values.iter().map(|value| value.0.to_string()).collect::<Vec<_>>().join(", ");
                let _ = writeln!(text, "{name}: {dtype} ({dimensions}) = [{values}{more}]");
            }
            if let Some(file) = file {
                let _ = writeln!(text, "{name}: {dtype} ({dimensions}) written to {file}");
            }
        }
    }
}

impl Difference {
    /// The difference in a sentence.
    pub(crate) fn text(&self) -> String {
        let Difference { buffer, element, seeds: [first, other], values: [one, two] } = self;
        format!(
            "`{buffer}` differs: element {} is {} under seed {first} and {} under seed {other}",
            grouped(*element),
            one.0,
            two.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_as_json() {
        for (dtype, text, json) in [
            (Dtype::F32, "0.1", "0.1"),
            (Dtype::F64, "0.1", "0.1"),
            (Dtype::F16, "0.1", "0.0999755859375"),
            (Dtype::Bf16, "1", "1.0"),
            (Dtype::F32, "nan", "\"NaN\""),
            (Dtype::F32, "inf", "\"Infinity\""),
            (Dtype::F64, "-inf", "\"-Infinity\""),
            (Dtype::I8, "-1", "-1"),
            (Dtype::I64, "-2^63", "-9223372036854775808"),
            (Dtype::U64, "18446744073709551615", "18446744073709551615"),
            (Dtype::Bool, "true", "true"),
        ] {
            let number = Number(dtype.parse(text).unwrap());
            assert_eq!(serde_json::to_string(&number).unwrap(), json, "{dtype} {text}");
        }
    }
}
