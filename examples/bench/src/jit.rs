//! The time that the driver's compiler takes, by its options and by the text that it gets.
//!
//! Each sample is a process of its own: the compiler is a library that the driver loads when it is first needed. What
//! it takes to compile the same text again in the same process is what it takes without that. There is no driver
//! cache, but for the case that asks what writing to it costs.

use std::num::NonZeroU32;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use examples::options::parse_times;
use examples::program::Output;
use examples::progress::Progress;
use examples::report::Table;
use examples::timing::timed;
use kernels_common::device::Device;
use kernels_common::module::newest;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::Measured;
use crate::bare::{JitOption, Module, nothing, text_of};
use crate::load::{Subject, child};
use crate::statistics::Summary;

/// Options of this measurement.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// What to compile, as for `load`
    #[arg(long, value_name = "KERNELS", value_delimiter = ',', default_value = "dot-f32,vecadd-f32")]
    kernels: Vec<Subject>,

    /// How many processes for each kernel and each case
    #[arg(long, value_name = "TIMES", default_value = "5", value_parser = parse_times, allow_negative_numbers = true)]
    repeat: NonZeroU32,
}

/// What is special about a compilation.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Case {
    /// The text that the runtime takes out of the crate's PTX, with the driver's defaults
    Selected,
    /// With buffers for messages, as the runtime has them
    Logs,
    /// Without the empty lines that stand for what was left out
    Compact,
    /// The crate's whole PTX
    Whole,
    /// A kernel that does nothing
    Nothing,
    /// Optimisation level 0
    Level0,
    /// Optimisation level 1
    Level1,
    /// Optimisation level 2
    Level2,
    /// Optimisation level 3
    Level3,
    /// With line numbers
    LineInfo,
    /// With an empty driver cache, which is written to
    EmptyCache,
}

impl Case {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn options(self) -> &'static [JitOption] {
        match self {
            Case::Selected | Case::Compact | Case::Whole | Case::Nothing | Case::EmptyCache => &[],
            Case::Logs => &[JitOption::Logs],
            Case::Level0 => &[JitOption::Level(0)],
            Case::Level1 => &[JitOption::Level(1)],
            Case::Level2 => &[JitOption::Level(2)],
            Case::Level3 => &[JitOption::Level(3)],
            Case::LineInfo => &[JitOption::LineInfo],
        }
    }
}

/// One compilation in this process.
#[derive(Args, Clone, Debug)]
pub(crate) struct Once {
    kernel: Subject,
    #[arg(value_enum)]
    case: Case,
}

/// What one process measured.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Steps {
    text_bytes: usize,
    /// Taking the text of the kernels out of the crate's PTX.
    text_ms: f64,
    /// `cuModuleLoadDataEx`.
    load_ms: f64,
    /// `cuModuleGetFunction` of the first kernel.
    function_ms: f64,
    /// `cuModuleLoadDataEx` of the same text again.
    again_ms: f64,
}

impl Once {
    /// Compiles and reports the times as JSON.
    ///
    /// # Errors
    /// An error of the device.
    pub(crate) fn run(&self, device: &Device) -> Result<Output> {
        let stream = device.stream()?;
        device.to_cudarc().context("the device is no GPU")?.bind_to_thread()?;
        let (ptx, kernels) = self.kernel.kernels();
        let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
        let (selected, text_ms) = timed(|| text_of(&stream, ptx, &kernels));
        let selected = selected?;
        let (text, function) = match self.case {
            Case::Whole => (newest(ptx, device.properties().capability)?.text().to_owned(), kernels[0]),
            Case::Compact => (compact(&selected), kernels[0]),
            Case::Nothing => (nothing(&selected), "nothing"),
            _ => (selected, kernels[0]),
        };
        let (module, load_ms) = timed(|| Module::load(&text, self.case.options()));
        let module = module?;
        let (found, function_ms) = timed(|| module.function(function));
        found?;
        let (again, again_ms) = timed(|| Module::load(&text, self.case.options()));
        again?;
        let steps = Steps { text_bytes: text.len(), text_ms, load_ms, function_ms, again_ms };
        Ok(Output { text: serde_json::to_string(&steps)?, ok: true })
    }
}

/// A text without its empty lines.
fn compact(text: &str) -> String {
    text.lines().filter(|line| !line.trim().is_empty()).flat_map(|line| [line, "\n"]).collect()
}

/// One kernel in one case.
#[derive(Clone, Debug, Serialize)]
struct Row {
    kernel: String,
    case: String,
    text_bytes: usize,
    text_ms: Summary,
    load_ms: Summary,
    function_ms: Summary,
    again_ms: Summary,
}

/// Measures.
///
/// # Errors
/// If a process fails.
pub(crate) fn run(options: &Options, selector: &str) -> Result<Measured> {
    let pairs =
        options.kernels.iter().flat_map(|kernel| Case::value_variants().iter().map(move |case| (*kernel, *case)));
    let pairs: Vec<(Subject, Case)> = pairs.collect();
    let mut samples = vec![Vec::new(); pairs.len()];
    let progress = Progress::new("starting processes");
    for round in 1..=options.repeat.get() {
        for (samples, (kernel, case)) in samples.iter_mut().zip(&pairs) {
            progress.step(format!("{kernel}, {}, round {round} of {}", case.name(), options.repeat));
            let cache = if *case == Case::EmptyCache { Some(TempDir::new()?) } else { None };
            let arguments = ["jit-once", &kernel.to_string(), &case.name()];
            let output = child(selector, &arguments, cache.as_ref().map(TempDir::path))?;
            samples.push(serde_json::from_str::<Steps>(&output).with_context(|| format!("{kernel}: {output}"))?);
        }
    }
    drop(progress);
    let rows: Vec<Row> = pairs.iter().zip(&samples).map(|((kernel, case), steps)| row(*kernel, *case, steps)).collect();
    let numbers = ["bytes", "text ms", "load ms", "spread", "function ms", "again ms"];
    let mut table = Table::new(&["kernel", "case"], &numbers);
    for Row { kernel, case, text_bytes, text_ms, load_ms, function_ms, again_ms } in &rows {
        let times = [text_ms.median, load_ms.median, load_ms.spread, function_ms.median, again_ms.median];
        let times = times.map(|ms| format!("{ms:.2}"));
        table.row([kernel.clone(), case.clone(), text_bytes.to_string()].into_iter().chain(times));
    }
    Ok(Measured { name: "jit", text: table.to_string(), results: serde_json::to_value(&rows)?, failures: Vec::new() })
}

fn row(kernel: Subject, case: Case, steps: &[Steps]) -> Row {
    let summary = |of: fn(&Steps) -> f64| Summary::of(&steps.iter().map(of).collect::<Vec<_>>());
    Row {
        kernel: kernel.to_string(),
        case: case.name(),
        text_bytes: steps.first().map_or(0, |steps| steps.text_bytes),
        text_ms: summary(|steps| steps.text_ms),
        load_ms: summary(|steps| steps.load_ms),
        function_ms: summary(|steps| steps.function_ms),
        again_ms: summary(|steps| steps.again_ms),
    }
}

#[cfg(test)]
mod tests {
    use kernels_common::module::load_text;

    use super::*;

    #[test]
    fn texts_are_whole() {
        let stream = Device::open("sim").unwrap().stream().unwrap();
        let (ptx, kernels) = "dot-f32".parse::<Subject>().unwrap().kernels();
        let selected = text_of(&stream, ptx, &[&kernels[0]]).unwrap();
        let compact = compact(&selected);
        assert!(compact.len() < selected.len());
        assert!(!compact.contains("\n\n"));
        load_text(&stream, "compact", &compact, [&kernels[0]]).unwrap();
        load_text(&stream, "nothing", &nothing(&selected), ["nothing"]).unwrap();
    }
}
