//! Measurements of the kernels and of the runtime on a GPU.
//!
//! ```text
//! cargo run --release -p bench -- launch
//! cargo run --release -p bench -- load --check 60 --record load.json
//! cargo run --release -p bench -- sum --types f32,f64 --plot sum.svg
//! ```
//!
//! Each measurement is a module with its options and a function `run` that returns a [`Measured`]. Results are
//! checked before they are timed.

mod bare;
mod compare;
mod counters;
mod jit;
mod launch;
mod load;
mod record;
mod statistics;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use examples::chart::check_writable;
use examples::program::{self, Output, UsageError};
use kernels_common::device::{BackendKind, Device};

use compare::{Comparison, Operation};
use record::{Machine, Record};

/// Measures the kernels and the runtime on a GPU.
#[derive(Parser, Debug)]
#[command(name = "bench", after_long_help = NOTES)]
struct Options {
    #[command(subcommand)]
    measurement: Measurement,

    #[command(flatten)]
    common: CommonOptions,
}

const NOTES: &str = "\
Times are medians, and `spread` is the median distance of the samples from their median.

Exit code: 0 if all went well, 1 if a result is wrong, a check fails or there is no GPU, 2 for a mistake in the \
command line.";

#[derive(Args, Clone, Debug)]
struct CommonOptions {
    /// The GPU to measure
    #[arg(long, value_name = "DEVICE", default_value = "cuda:0", global = true)]
    device: String,

    /// Print the record, one JSON object, instead of a table
    #[arg(long, global = true)]
    json: bool,

    /// Write the record to a file: date, machine, command line, and all results
    #[arg(long, value_name = "FILE", global = true)]
    record: Option<PathBuf>,
}

#[derive(Subcommand, Clone, Debug)]
enum Measurement {
    /// The time that the host needs to launch a ready kernel, beside that of a bare `cuLaunchKernel`
    Launch(launch::Options),
    /// The time that the first call of a kernel takes in a new process, with an empty and with a warm driver cache
    Load(load::Options),
    /// The time that the driver's compiler takes, by its options and by the text that it gets
    Jit(jit::Options),
    /// Launches for a profiler, to compare its counters with the simulator's (see scripts/profile-counters.sh)
    Counters(counters::Options),
    /// Sums beside CUB's
    Sum(compare::Options),
    /// Minima beside CUB's
    Minimum(compare::Options),
    /// Maxima beside CUB's
    Maximum(compare::Options),
    /// Dot products beside cuBLAS
    Dot(compare::Options),
    /// Vector addition beside CUB's, and beside a copy
    Vecadd(compare::Options),
    /// Transposes beside cuBLAS, and beside a copy
    Transpose(compare::Options),
    /// One first call: what `load` starts as new processes
    #[command(hide = true)]
    LoadOnce(load::Once),
    /// One row of `jit`, in a process that has no driver cache
    #[command(hide = true)]
    JitOnce(jit::Once),
}

/// What a measurement found.
struct Measured {
    /// Its name.
    name: &'static str,
    /// The results for people.
    text: String,
    /// The results for the record.
    results: serde_json::Value,
    /// What is beyond the limit of `--check`.
    failures: Vec<String>,
}

fn main() -> ExitCode {
    program::main(run)
}

fn run(options: &Options) -> Result<Output> {
    let common = &options.common;
    // Before anything is measured that could not be kept.
    if let Some(path) = &common.record {
        check_writable(path)?;
    }
    let measured = match &options.measurement {
        Measurement::LoadOnce(once) => return once.run(&common.device),
        Measurement::JitOnce(once) => return once.run(&open(&common.device)?),
        Measurement::Counters(counters) => return counters.run(&common.device),
        Measurement::Launch(launch) => {
            let device = open(&common.device)?;
            (Machine::of(&device), launch::run(launch, &device)?)
        }
        Measurement::Sum(options) => compared(common, Operation::Sum, options)?,
        Measurement::Minimum(options) => compared(common, Operation::Minimum, options)?,
        Measurement::Maximum(options) => compared(common, Operation::Maximum, options)?,
        Measurement::Dot(options) => compared(common, Operation::Dot, options)?,
        Measurement::Vecadd(options) => compared(common, Operation::VecAdd, options)?,
        Measurement::Transpose(options) => compared(common, Operation::Transpose, options)?,
        Measurement::Load(load) => (machine(&common.device)?, load::run(load, &common.device)?),
        Measurement::Jit(jit) => (machine(&common.device)?, jit::run(jit, &common.device)?),
    };
    report(common, measured)
}

fn compared(common: &CommonOptions, operation: Operation, options: &compare::Options) -> Result<(Machine, Measured)> {
    let comparison = Comparison::prepare(operation, options)?;
    let device = open(&common.device)?;
    Ok((Machine::of(&device), comparison.run(&device)?))
}

/// Opens a GPU. Nothing else is worth measuring.
fn open(selector: &str) -> Result<Device> {
    let device = Device::open(selector).map_err(|error| {
        let error = anyhow::Error::from(error);
        if program::is_usage_error(&error) {
            return error;
        }
        error.context(
            "nothing to measure without a GPU (to compute on the simulator: `cargo run --example dot -- --device sim`)",
        )
    })?;
    if device.properties().backend != BackendKind::Cuda {
        let reason = device.fallback_reason().map(|reason| format!(". {reason}")).unwrap_or_default();
        let text = format!("--device {selector} is the simulator, whose times say nothing about a GPU{reason}");
        return Err(UsageError(text).into());
    }
    Ok(device)
}

/// The machine of a GPU that is closed again, for measurements whose processes open it on their own.
fn machine(selector: &str) -> Result<Machine> {
    open(selector).map(|device| Machine::of(&device))
}

fn report(common: &CommonOptions, (machine, measured): (Machine, Measured)) -> Result<Output> {
    let Measured { name, text, results, failures } = measured;
    let ok = failures.is_empty();
    let head = machine.to_string();
    let record = Record::new(name, machine, results, &failures);
    if let Some(path) = &common.record {
        let text = serde_json::to_string_pretty(&record)? + "\n";
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let text = if common.json {
        serde_json::to_string(&record)?
    } else {
        let failures: String = failures.iter().map(|failure| format!("\nCHECK FAILED: {failure}")).collect();
        format!("{head}\n\n{text}{failures}")
    };
    Ok(Output { text, ok })
}

/// Reads a limit of `--check`.
fn parse_limit(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(limit) if limit.is_finite() && limit > 0.0 => Ok(limit),
        _ => Err(format!("`{text}` is not a positive number, such as 0.98")),
    }
}

#[cfg(test)]
mod tests {
    use kernels_common::testing;

    use super::*;

    const MEASUREMENTS: [&str; 9] =
        ["launch", "load", "jit", "sum", "minimum", "maximum", "dot", "vecadd", "transpose"];

    /// Exit code, standard output and standard error of a run.
    fn execute(arguments: &[&str]) -> (u8, String, String) {
        let options = Options::try_parse_from([&["bench"], arguments].concat()).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = program::deliver(run(&options), &mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn without_a_gpu_every_measurement_says_so() {
        let gpus = Device::list().iter().filter(|device| device.backend == BackendKind::Cuda).count();
        let absent = format!("cuda:{gpus}");
        let reason = Device::open(&absent).unwrap_err().to_string();
        for measurement in MEASUREMENTS {
            let (code, out, err) = execute(&[measurement, "--device", &absent]);
            assert_eq!((code, out.as_str()), (program::FAILURE, ""), "{measurement}: {err}");
            assert!(err.starts_with("error: nothing to measure without a GPU"), "{measurement}: {err}");
            assert!(err.trim_end().ends_with(&reason), "{measurement}: {err}");
        }
    }

    #[test]
    fn the_simulator_is_refused() {
        for measurement in MEASUREMENTS {
            let (code, _, err) = execute(&[measurement, "--device", "sim"]);
            assert_eq!(code, program::USAGE, "{measurement}: {err}");
            assert!(err.contains("--device sim is the simulator"), "{measurement}: {err}");
        }
    }

    #[test]
    fn mistakes_in_options_come_before_the_device() {
        let gpus = Device::list().iter().filter(|device| device.backend == BackendKind::Cuda).count();
        let absent = format!("cuda:{gpus}");
        let folder = tempfile::tempdir().unwrap();
        let (missing, place) = (folder.path().join("no/such"), folder.path().join("place"));
        let (missing, place) = (missing.to_str().unwrap(), place.to_str().unwrap());
        for (arguments, says) in [
            (&["sum", "--sizes", "3x4"][..], "--sizes: `3x4` is a matrix"),
            (&["transpose", "--sizes", "2^40"], "has more elements than fit 64 bits"),
            (&["dot", "--offset", "1,2,3"], "--offset: dot has 2 input(s)"),
            (&["dot", "--variants", "tree"], "--variants: dot has no variant `tree`, but dot/three-stage"),
            (&["minimum", "--variants", ""], "--variants: minimum has no variant ``"),
            (&["sum", "--peers", missing], "no/such is no folder"),
            (&["sum", "--times", missing], "no/such as times"),
            (&["sum", "--csv", missing], "cannot write"),
            (&["sum", "--plot", missing], "cannot write"),
            (&["sum", "--record", missing], "cannot write"),
            (&["launch", "--record", missing], "cannot write"),
            (&["load", "--record", missing], "cannot write"),
            (&["jit", "--record", missing], "cannot write"),
            // Nothing is made that will not be used.
            (&["sum", "--csv", place, "--plot", place, "--record", place, "--sizes", "3x4"], "--sizes: "),
        ] {
            let (code, out, err) = execute(&[arguments, &["--device", &absent]].concat());
            assert_eq!((code, out.as_str()), (program::USAGE, ""), "{arguments:?}: {err}");
            assert!(err.contains(says), "{arguments:?}: {err}");
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_device_that_is_none_is_a_mistake() {
        for measurement in MEASUREMENTS {
            let (code, _, err) = execute(&[measurement, "--device", "foo"]);
            assert_eq!(code, program::USAGE, "{measurement}: {err}");
            assert!(err.starts_with("error: cannot read the device selector `foo`"), "{measurement}: {err}");
        }
    }

    /// What the command line is refused for.
    fn refused(arguments: &[&str]) -> String {
        Options::try_parse_from([&["bench"], arguments].concat()).unwrap_err().to_string()
    }

    #[test]
    fn options_say_what_they_take() {
        let size = "such as `1000`, `1e6` or `2^20+1`";
        for (arguments, says) in [
            (["sum", "--offset", "65536"], ["`65536`", "from 0 to 65535"]),
            (["dot", "--offset", "0,x"], ["`x`", "from 0 to 65535"]),
            (["sum", "--sizes", ""], ["a size is missing", size]),
            (["sum", "--sizes", "8,,9"], ["a size is missing in `8,,9`", size]),
            (["sum", "--sizes", "4,3x"], ["`3x` is no size: nothing stands after the `x`", size]),
            (["sum", "--sizes", "x3"], ["`x3` is no size: nothing stands before the `x`", size]),
            (["sum", "--sizes", "8.."], ["`8..` is no size: nothing stands after the `..`", size]),
            (["sum", "--sizes", "1e30"], ["`1e30` is no size: `1e30` does not fit 64 bits", size]),
            (["sum", "--rounds", "0"], ["'0'", "from 1 to 4294967295"]),
            (["sum", "--max-rounds", "x"], ["'x'", "from 1 to 4294967295"]),
            (["sum", "--seed", "-1"], ["'-1'", "from 0 to 18446744073709551615"]),
            (["launch", "--rounds", "-1"], ["'-1'", "from 1 to 4294967295"]),
            (["launch", "--launches", "x"], ["'x'", "from 1 to 500"]),
            (["launch", "--n", "-1"], ["'-1'", "is not a number"]),
            (["sum", "--check", "-1"], ["'-1'", "is not a positive number"]),
            (["load", "--check", "-1"], ["'-1'", "is not a positive number"]),
            (["load", "--repeat", ""], ["''", "from 1 to 4294967295"]),
            (["jit", "--repeat", "1.5"], ["'1.5'", "from 1 to 4294967295"]),
            (["load", "--kernels", ""], ["``", "such as `dot-f32`"]),
            (["jit", "--kernels", "sum-f32"], ["`sum-f32`", "such as `dot-f32`"]),
        ] {
            let text = refused(&arguments);
            assert!(says.iter().all(|says| text.contains(says)), "{arguments:?}: {text}");
        }
        let help = refused(&["sum", "--help"]);
        assert!(help.contains("0 to 65535"), "{help}");
    }

    #[test]
    fn comparisons_are_measured_recorded_and_drawn() {
        let Some(gpu) = testing::gpu() else { return };
        let gpu = gpu.properties().selector.clone();
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (record, csv, plot) = (place("record.json"), place("lines.csv"), place("chart.svg"));
        for (operation, sizes) in [
            ("sum", "2^10,2^20+1"),
            ("minimum", "2^10"),
            ("maximum", "2^10"),
            ("dot", "2^10,2^20+1"),
            ("vecadd", "2^10,2^20+1"),
            ("transpose", "2^10,33x31"),
        ] {
            let brief = ["--sizes", sizes, "--rounds", "2", "--max-rounds", "2", "--types", "f32,bf16"];
            let files = ["--record", &record, "--csv", &csv, "--plot", &plot];
            let (code, out, err) = execute(&[&[operation, "--device", &gpu], &brief[..], &files[..]].concat());
            assert_eq!((code, err.as_str()), (0, ""), "{operation}: {out}");
            assert!(out.contains("calls in a graph"), "{out}");
            let record: serde_json::Value = serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
            let series = record["results"].as_array().unwrap();
            assert_eq!(series.len(), 2 * 3, "{operation}");
            for series in series {
                assert_eq!(series["points"].as_array().unwrap().len(), sizes.split(',').count(), "{operation}");
            }
            assert!(std::fs::read_to_string(&csv).unwrap().lines().count() > 2 * 3, "{operation}");
            for mode in ["one-by-one", "graph", "latency"] {
                assert!(std::fs::read_to_string(place(&format!("chart-bf16-{mode}.svg"))).unwrap().contains("<svg"));
            }
        }
    }

    #[test]
    fn limits_are_positive_numbers() {
        assert_eq!(parse_limit("1.3"), Ok(1.3));
        for text in ["", "x", "0", "-1", "NaN", "inf"] {
            assert!(parse_limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn launches_are_measured_and_recorded() {
        let Some(gpu) = testing::gpu() else { return };
        let gpu = gpu.properties().selector.clone();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("record.json");
        for stream in ["own", "shared"] {
            let arguments = ["launch", "--device", &gpu, "--rounds", "3", "--launches", "5", "--stream", stream];
            let (code, out, err) = execute(&[&arguments[..], &["--record", file.to_str().unwrap()]].concat());
            assert_eq!((code, err.as_str()), (0, ""));
            assert!(out.contains("Dot::enqueue"), "{out}");
            let record: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            assert_eq!(record["machine"]["selector"], gpu.as_str());
            assert_eq!(record["results"].as_array().unwrap().len(), 6);
        }
        // No launch costs a millionth of another.
        let (code, out, _) = execute(&["launch", "--device", &gpu, "--rounds", "3", "--check", "1e-6"]);
        assert_eq!(code, program::FAILURE);
        assert!(out.contains("CHECK FAILED: Dot::enqueue"), "{out}");
    }
}
