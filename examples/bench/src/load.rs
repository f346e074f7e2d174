//! The first call of a kernel in a new process, with an empty and with a warm driver cache. Beside them, by the same
//! steps, that of a kernel that does nothing: what the driver's compiler takes at least.
//!
//! Each sample is a process of its own, because a process loads a kernel once. The driver keeps what it has compiled
//! in the folder that `CUDA_CACHE_PATH` names: an empty one for the first process, the same again for the second.

use std::fmt;
use std::iter;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use dot::Dot;
use examples::dtype::{Dtype, Value};
use examples::for_dtype;
use examples::input::random;
use examples::options::parse_times;
use examples::program::Output;
use examples::progress::Progress;
use examples::report::Table;
use examples::timing::timed;
use kernels_common::element::Accumulator;
use kernels_common::launch::LaunchConfig;
use kernels_common::module::{self, Ptx};
use kernels_common::stream::Stream;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use vecadd::VecAdd;

use crate::Measured;
use crate::bare::{nothing, text_of};
use crate::statistics::Summary;

/// Elements of the vectors: several virtual blocks of every type.
const N: u64 = 100_003;

/// Options of this measurement.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// What to load: `dot` or `vecadd`, a hyphen, and an element type
    #[arg(long, value_name = "KERNELS", value_delimiter = ',', default_value = "dot-f32,dot-f64,dot-f16,vecadd-f32")]
    kernels: Vec<Subject>,

    /// How many processes for each kernel and each state of the cache
    #[arg(long, value_name = "TIMES", default_value = "7", value_parser = parse_times, allow_negative_numbers = true)]
    repeat: NonZeroU32,

    /// Fail if loading and the first call together take more than this many milliseconds with an empty cache
    #[arg(long, value_name = "MS", value_parser = crate::parse_limit, allow_negative_numbers = true)]
    check: Option<f64>,
}

/// Which kernel to load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Subject {
    operation: Operation,
    dtype: Dtype,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Dot,
    VecAdd,
}

impl Subject {
    /// The PTX that holds its kernels, and the kernels that are loaded together.
    pub(crate) fn kernels(self) -> (&'static [Ptx], Vec<String>) {
        match self.operation {
            Operation::Dot => (dot::PTX, vec![format!("dot_{}", self.dtype)]),
            Operation::VecAdd => {
                (vecadd::PTX, ["vecadd", "accumulate"].map(|name| format!("{name}_packets_{}", self.dtype)).to_vec())
            }
        }
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Subject, String> {
        let subject = || {
            let (operation, dtype) = text.split_once('-')?;
            let operation = match operation {
                "dot" => Operation::Dot,
                "vecadd" => Operation::VecAdd,
                _ => return None,
            };
            Some(Subject { operation, dtype: Dtype::from_str(dtype, false).ok()? })
        };
        subject().ok_or_else(|| {
            format!(
                "`{text}` is neither `dot` nor `vecadd` with a hyphen and an element type after it, such as `dot-f32`"
            )
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = match self.operation {
            Operation::Dot => "dot",
            Operation::VecAdd => "vecadd",
        };
        write!(f, "{operation}-{}", self.dtype)
    }
}

/// What one process loads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    /// A kernel that does nothing.
    Nothing,
    Kernel(Subject),
}

/// The name of a kernel that does nothing.
const NOTHING: &str = "nothing";

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Load, String> {
        if text == NOTHING { Ok(Load::Nothing) } else { text.parse().map(Load::Kernel) }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Nothing => f.write_str(NOTHING),
            Load::Kernel(subject) => subject.fmt(f),
        }
    }
}

/// One kernel to load in this process.
#[derive(Args, Clone, Debug)]
pub(crate) struct Once {
    kernel: Load,
}

/// Milliseconds of the steps of a new process.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Steps {
    /// Opening the device: the driver's start, the context, the memory pool.
    open_ms: f64,
    /// A stream, and two vectors on the device.
    upload_ms: f64,
    /// `Dot::new` or `VecAdd::new`: the kernel, and scratch memory.
    new_ms: f64,
    /// The first result, back on the host.
    first_ms: f64,
}

impl Steps {
    fn loading_ms(&self) -> f64 {
        self.new_ms + self.first_ms
    }
}

impl Once {
    /// Loads the kernel, computes once, checks the result, and reports the times as JSON.
    ///
    /// # Errors
    /// A wrong result, an error of the device.
    pub(crate) fn run(&self, selector: &str) -> Result<Output> {
        let (device, open_ms) = timed(|| crate::open(selector));
        let device = device?;
        let steps = for_dtype!(self.dtype(), T => self.steps::<T>(open_ms, || device.stream()))?;
        Ok(Output { text: serde_json::to_string(&steps)?, ok: true })
    }

    /// The type of the vectors that are uploaded.
    fn dtype(&self) -> Dtype {
        match self.kernel {
            Load::Nothing => Dtype::F32,
            Load::Kernel(subject) => subject.dtype,
        }
    }

    fn steps<T: Value>(
        &self,
        open_ms: f64,
        stream: impl FnOnce() -> kernels_common::error::Result<Stream>,
    ) -> Result<Steps> {
        let (x, y) = (random::<T>(N, 0, 0)?, random::<T>(N, 0, 1)?);
        let (uploaded, upload_ms) = timed(|| {
            let stream = stream()?;
            let vectors = (stream.upload(&x)?, stream.upload(&y)?);
            anyhow::Ok((stream, vectors))
        });
        let (stream, (on_device_x, on_device_y)) = uploaded?;
        let (new_ms, first_ms) = match self.kernel {
            Load::Nothing => {
                let text = nothing(&text_of(&stream, vecadd::PTX, &["vecadd_packets_f32"])?);
                let (loaded, new_ms) = timed(|| module::load_text(&stream, NOTHING, &text, [NOTHING]));
                let [kernel] = loaded?;
                let (ran, first_ms) = timed(|| {
                    // SAFETY: the kernel touches no memory.
                    unsafe { kernel.launch(LaunchConfig::linear(1, 1), ()) }?;
                    stream.synchronize()
                });
                ran?;
                (new_ms, first_ms)
            }
            Load::Kernel(Subject { operation: Operation::Dot, .. }) => {
                let (dot, new_ms) = timed(|| Dot::<T>::new(&stream));
                let mut dot = dot?;
                let (value, first_ms) = timed(|| dot.value(&on_device_x, &on_device_y));
                let (value, expected) = (value?, dot::canonical(&x, &y)?);
                ensure!(value.bits() == expected.bits(), "{}: {value} instead of {expected}", self.kernel);
                (new_ms, first_ms)
            }
            Load::Kernel(Subject { operation: Operation::VecAdd, .. }) => {
                let mut z = stream.alloc_uninit::<T>(x.len())?;
                let (add, new_ms) = timed(|| VecAdd::<T>::new(&stream));
                let add = add?;
                let (computed, first_ms) = timed(|| {
                    add.add(&on_device_x, &on_device_y, &mut z)?;
                    stream.synchronize()
                });
                computed?;
                let mut expected = vec![T::default(); x.len()];
                vecadd::add_on_host(&x, &y, &mut expected);
                if let Some(mismatch) = examples::check::compare(&z.download()?, |index| expected[index]) {
                    anyhow::bail!("{}: {mismatch}", self.kernel);
                }
                (new_ms, first_ms)
            }
        };
        Ok(Steps { open_ms, upload_ms, new_ms, first_ms })
    }
}

/// One kernel with one state of the cache.
#[derive(Clone, Debug, Serialize)]
struct Row {
    kernel: String,
    /// `empty` or `warm`.
    cache: &'static str,
    open_ms: Summary,
    upload_ms: Summary,
    new_ms: Summary,
    first_ms: Summary,
    /// `new_ms` and `first_ms` together.
    loading_ms: Summary,
    /// What lay in the cache afterwards.
    cached_bytes: u64,
}

/// Measures.
///
/// # Errors
/// If a process fails.
pub(crate) fn run(options: &Options, selector: &str) -> Result<Measured> {
    const CACHES: [&str; 2] = ["empty", "warm"];
    let kernels: Vec<Load> =
        iter::once(Load::Nothing).chain(options.kernels.iter().copied().map(Load::Kernel)).collect();
    let mut samples = vec![[Vec::new(), Vec::new()]; kernels.len()];
    let mut cached_bytes = vec![0; kernels.len()];
    let progress = Progress::new("starting processes");
    for round in 1..=options.repeat.get() {
        for (index, kernel) in kernels.iter().enumerate() {
            progress.step(format!("{kernel}, round {round} of {}", options.repeat));
            let cache = TempDir::new()?;
            for steps in &mut samples[index] {
                let output = child(selector, &["load-once", &kernel.to_string()], Some(cache.path()))?;
                steps.push(serde_json::from_str::<Steps>(&output).with_context(|| format!("{kernel}: {output}"))?);
            }
            cached_bytes[index] = size_of_folder(cache.path())?;
        }
    }
    drop(progress);
    let mut rows = Vec::new();
    for ((kernel, samples), cached_bytes) in kernels.iter().zip(&samples).zip(cached_bytes) {
        for (cache, steps) in CACHES.into_iter().zip(samples) {
            let summary = |of: fn(&Steps) -> f64| Summary::of(&steps.iter().map(of).collect::<Vec<_>>());
            rows.push(Row {
                kernel: kernel.to_string(),
                cache,
                open_ms: summary(|steps| steps.open_ms),
                upload_ms: summary(|steps| steps.upload_ms),
                new_ms: summary(|steps| steps.new_ms),
                first_ms: summary(|steps| steps.first_ms),
                loading_ms: summary(Steps::loading_ms),
                cached_bytes,
            });
        }
    }
    let numbers = ["open ms", "upload ms", "new ms", "first ms", "loading ms", "spread", "max", "cached KiB"];
    let mut table = Table::new(&["kernel", "cache"], &numbers);
    for row in &rows {
        let medians = [row.open_ms, row.upload_ms, row.new_ms, row.first_ms].map(|summary| summary.median);
        let Summary { median, spread, max, .. } = row.loading_ms;
        let times = medians.into_iter().chain([median, spread, max]).map(|ms| format!("{ms:.2}"));
        let cached = format!("{:.1}", row.cached_bytes as f64 / 1024.0);
        table.row([row.kernel.clone(), row.cache.to_owned()].into_iter().chain(times).chain([cached]));
    }
    let failures = failures(options.check, &rows);
    Ok(Measured { name: "load", text: table.to_string(), results: serde_json::to_value(&rows)?, failures })
}

/// What takes more than `limit` milliseconds to load with an empty cache, beside what nothing takes.
fn failures(limit: Option<f64>, rows: &[Row]) -> Vec<String> {
    let Some(limit) = limit else { return Vec::new() };
    let (nothing, kernels): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(|row| row.cache == "empty").partition(|row| row.kernel == NOTHING);
    let least = nothing.first().map_or_else(String::new, |row| {
        format!("; a kernel that does nothing takes {:.1} ms here", row.loading_ms.median)
    });
    let describe = |row: &Row| {
        let Row { kernel, loading_ms, .. } = row;
        format!("the first call of {kernel} takes {:.1} ms to load, more than {limit} ms{least}", loading_ms.median)
    };
    kernels.into_iter().filter(|row| row.loading_ms.median > limit).map(describe).collect()
}

/// Runs this program again with the folder `cache` as the driver's cache, or without one, and returns what it
/// printed.
pub(crate) fn child(selector: &str, arguments: &[&str], cache: Option<&Path>) -> Result<String> {
    const DISABLE: &str = "CUDA_CACHE_DISABLE";
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    match cache {
        Some(folder) => command.env("CUDA_CACHE_PATH", folder).env_remove(DISABLE),
        None => command.env(DISABLE, "1"),
    };
    command.args(arguments).args(["--device", selector]).stdin(Stdio::null());
    let output = command.output().context("cannot start this program again")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}: {}", arguments.join(" "), output.status, error.trim_end());
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Bytes of all files in a folder and below it.
fn size_of_folder(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in folder.read_dir()? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { size_of_folder(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use kernels_common::device::Device;

    use super::*;

    #[test]
    fn kernels_have_names() {
        for text in ["dot-f32", "dot-bf16", "vecadd-u64"] {
            assert_eq!(text.parse::<Subject>().unwrap().to_string(), text);
        }
        for text in ["", "dot", "dot-", "dot-f33", "sum-f32", "nothing"] {
            assert!(text.parse::<Subject>().is_err(), "{text}");
        }
        for text in ["nothing", "dot-f32"] {
            assert_eq!(text.parse::<Load>().unwrap().to_string(), text);
        }
        assert!("nothing-f32".parse::<Load>().is_err());
    }

    #[test]
    fn kernels_are_where_they_are_said_to_be() {
        let stream = Device::open("sim").unwrap().stream().unwrap();
        for text in ["dot-f16", "vecadd-i64"] {
            let (ptx, kernels) = text.parse::<Subject>().unwrap().kernels();
            let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
            assert!(crate::bare::text_of(&stream, ptx, &kernels).is_ok(), "{text}");
        }
    }

    #[test]
    fn every_step_is_timed_and_the_results_are_right() {
        // Also on the simulator, which checks the steps if not the times.
        let device = Device::open("auto").unwrap();
        for kernel in ["nothing", "dot-f16", "vecadd-i32"] {
            let once = Once { kernel: kernel.parse().unwrap() };
            let steps = for_dtype!(once.dtype(), T => once.steps::<T>(1.0, || device.stream())).unwrap();
            assert!([steps.upload_ms, steps.new_ms, steps.first_ms].iter().all(|&ms| ms > 0.0), "{steps:?}");
            let sent: Steps = serde_json::from_str(&serde_json::to_string(&steps).unwrap()).unwrap();
            // A number that is written and read again may differ in its last bit.
            let expected = steps.new_ms + steps.first_ms;
            assert!((sent.loading_ms() - expected).abs() <= 1e-9 * expected, "{sent:?} {steps:?}");
        }
    }

    #[test]
    fn only_the_empty_cache_is_checked() {
        let summary = Summary::of(&[61.0]);
        let row = |kernel: &str, cache| Row {
            kernel: kernel.to_owned(),
            cache,
            open_ms: summary,
            upload_ms: summary,
            new_ms: summary,
            first_ms: summary,
            loading_ms: summary,
            cached_bytes: 0,
        };
        let rows = [row(NOTHING, "empty"), row(NOTHING, "warm"), row("dot-f32", "empty"), row("dot-f32", "warm")];
        let beyond = "the first call of dot-f32 takes 61.0 ms to load, more than 60 ms";
        let least = "; a kernel that does nothing takes 61.0 ms here";
        assert_eq!(failures(Some(60.0), &rows), [format!("{beyond}{least}")]);
        assert_eq!(failures(Some(60.0), &rows[2..]), [beyond]);
        assert!(failures(Some(61.0), &rows).is_empty() && failures(None, &rows).is_empty());
    }

    #[test]
    fn folders_are_as_large_as_their_files() {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("a/one"), [0; 10]).unwrap();
        std::fs::write(folder.path().join("two"), [0; 5]).unwrap();
        assert_eq!(size_of_folder(folder.path()).unwrap(), 15);
    }
}
