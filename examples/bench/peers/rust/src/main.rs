//! Times other Rust crates' sums, dot products, additions and transposes where `bench` times these crates', and writes
//! JSON that `bench --times FILE` reads.

mod candle;
mod cubek;
mod input;
mod libraries;
mod size;
mod timing;

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use serde::{Deserialize, Serialize};

use size::{Size, Sizes};
use timing::{Mode, Plan, Summary};

/// Times sums, dot products, additions and transposes of another crate, and writes JSON that `bench --times FILE` reads
#[derive(Parser, Debug)]
#[command(version)]
struct Options {
    /// Whose operations
    peer: Peer,

    /// What to time
    #[arg(required = true)]
    operations: Vec<Operation>,

    /// As for bench: numbers of elements, separated by commas; `2^10..2^30` is every power of two from one to the
    /// other. For transposes sides of squares, or `ROWSxCOLUMNS` [default: 2^10..2^30; 2^5..2^15 for transposes]
    #[arg(long, value_name = "SIZES", value_parser = size::parse)]
    sizes: Option<Sizes>,

    /// Types of the elements: of all for cubek f32, for candle's sums and dot products f32, f64 and i64
    #[arg(long, value_name = "TYPES", value_delimiter = ',', default_value = "f32")]
    types: Vec<Dtype>,

    /// How to call and to time
    #[arg(long, value_name = "MODES", value_delimiter = ',', default_value = "one-by-one,latency")]
    mode: Vec<Mode>,

    /// How many samples at most
    #[arg(long, value_name = "TIMES", default_value = "11")]
    rounds: NonZeroUsize,

    /// No more samples, once there are three, after so many seconds at one size
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    limit: Duration,

    /// Seed of the inputs
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,

    /// The file to write; by default standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// A crate to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Peer {
    /// candle-core: `sum_all`, `(a * b).sum_all`, `a + b` and `t().contiguous()`
    Candle,
    /// cubek-reduce: sums, by the fastest of its strategies at each size
    Cubek,
}

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Operation {
    Sum,
    Dot,
    #[value(name = "vecadd")]
    #[serde(rename = "vecadd")]
    VecAdd,
    Transpose,
}

/// Type of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Dtype {
    F32,
    F64,
    F16,
    #[value(name = "bf16")]
    #[serde(rename = "bf16")]
    BF16,
    I32,
    I64,
}

/// The file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct Measurements {
    /// Name and version of what was measured.
    peer: String,
    results: Vec<Measurement>,
}

/// One operation at one size.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct Measurement {
    operation: Operation,
    dtype: Dtype,
    mode: Mode,
    /// As `bench` writes it.
    size: String,
    us: Summary,
    /// The way that was taken, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    // What can fail for another reason than the device does so before the device has worked.
    for &operation in &options.operations {
        options.sizes(operation)?;
    }
    match options.peer {
        Peer::Candle => candle::check(&options.operations, &options.types)?,
        Peer::Cubek => cubek::check(&options.operations, &options.types)?,
    }
    let mut file = options.output.as_deref().map(create).transpose()?;
    libraries::find(options.peer)?;
    let (package, report) = match options.peer {
        Peer::Candle => ("candle-core", candle::measure(options)?),
        Peer::Cubek => ("cubek-reduce", cubek::measure(options)?),
    };
    let measurements = Measurements { peer: format!("{package} {}", version(package)?), results: report.results };
    let text = serde_json::to_string_pretty(&measurements)?;
    match &mut file {
        Some(file) => writeln!(file, "{text}").context("cannot write the output")?,
        None => println!("{text}"),
    }
    if !report.failures.is_empty() {
        bail!("left out:\n{}", report.failures.join("\n"));
    }
    Ok(())
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

/// The version of a dependency, from the lock file that this program was built with.
fn version(package: &str) -> Result<&'static str> {
    let lock = include_str!("../Cargo.lock");
    let entry = format!("name = \"{package}\"\nversion = \"");
    let version = lock.split_once(&entry).and_then(|(_, rest)| rest.split_once('"'));
    version.map(|(version, _)| version).with_context(|| format!("Cargo.lock has no package {package}"))
}

impl Options {
    fn plan(&self) -> Plan {
        Plan { rounds: self.rounds.get(), limit: self.limit }
    }

    /// The sizes of an operation.
    fn sizes(&self, operation: Operation) -> Result<Vec<Size>> {
        if operation == Operation::Transpose {
            Ok(self.sizes.clone().unwrap_or(Sizes::powers(5..=15)).matrices())
        } else {
            self.sizes.clone().unwrap_or(Sizes::powers(10..=30)).vectors()
        }
    }
}

/// What there is to say at the end.
#[derive(Debug, Default)]
struct Report {
    results: Vec<Measurement>,
    /// What was wrong, or failed, and is in no result.
    failures: Vec<String>,
}

impl Report {
    /// Notes what came of one operation at one size.
    fn add(&mut self, operation: Operation, dtype: Dtype, size: Size, outcome: Result<Vec<Measurement>>) {
        match outcome {
            Ok(measurements) => {
                for Measurement { mode, us, way, .. } in &measurements {
                    let way = way.as_ref().map(|way| format!(" by {way}")).unwrap_or_default();
                    note(operation, dtype, size, format!("{mode} {:.2} µs{way}", us.median));
                }
                self.results.extend(measurements);
            }
            Err(error) => self.failures.push(format!("{operation} of {dtype}, n = {size}: {error:#}")),
        }
    }
}

/// Says on standard error how far it is.
fn note(operation: Operation, dtype: Dtype, size: Size, text: impl fmt::Display) {
    eprintln!("{operation} of {dtype}, n = {size}: {text}");
}

/// Writes a value by its name on the command line.
macro_rules! display_by_name {
    ($($type:ty),*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
            }
        }
    )*};
}

display_by_name!(Operation, Dtype, Mode);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_form_that_bench_reads() {
        let us = Summary { samples: 3, median: 3.0, spread: 0.5, min: 2.5, max: 4.0 };
        let (operation, dtype, mode) = (Operation::VecAdd, Dtype::BF16, Mode::OneByOne);
        let result = Measurement { operation, dtype, mode, size: Size::Vector(1024).to_string(), us, way: None };
        let file = Measurements { peer: "candle-core 0.11.1".to_owned(), results: vec![result] };
        let expected = serde_json::json!({"peer": "candle-core 0.11.1", "results": [{
            "operation": "vecadd", "dtype": "bf16", "mode": "one-by-one", "size": "2^10",
            "us": {"samples": 3, "median": 3.0, "spread": 0.5, "min": 2.5, "max": 4.0}}]});
        assert_eq!(serde_json::to_value(&file).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Measurements>(expected).unwrap(), file);
    }

    #[test]
    fn names_in_the_file_are_those_of_the_command_line() {
        fn check<T: ValueEnum + Serialize + fmt::Display>() {
            for value in T::value_variants() {
                assert_eq!(serde_json::to_value(value).unwrap(), value.to_string());
            }
        }
        check::<Operation>();
        check::<Dtype>();
        check::<Mode>();
    }

    #[test]
    fn versions_are_those_of_the_lock_file() {
        assert!(version("candle-core").unwrap().starts_with("0.11."));
        assert!(version("cubek-reduce").unwrap().starts_with("0.2."));
        assert!(version("absent").is_err());
    }

    #[test]
    fn the_command_line_is_that_of_bench() {
        let options = Options::parse_from(["rust-peers", "candle", "sum", "dot", "--sizes", "2^10,2^12"]);
        assert_eq!(options.operations, [Operation::Sum, Operation::Dot]);
        assert_eq!(options.sizes(Operation::Dot).unwrap(), [Size::Vector(1 << 10), Size::Vector(1 << 12)]);
        assert_eq!(options.sizes(Operation::Transpose).unwrap()[0], Size::Matrix(1 << 10, 1 << 10));
        assert!(Options::try_parse_from(["rust-peers", "candle"]).is_err());
    }

    #[test]
    fn what_fails_is_in_no_result() {
        let mut report = Report::default();
        report.add(Operation::Sum, Dtype::F32, Size::Vector(1024), Err(anyhow::anyhow!("no memory")));
        assert_eq!(report.failures, ["sum of f32, n = 2^10: no memory"]);
        assert!(report.results.is_empty());
    }
}
