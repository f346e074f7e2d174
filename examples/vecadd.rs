//! Vector addition on a GPU or on the simulator, beside the same loop on the host: z = x + y, and the three-term form
//! z = (x + y) + z.
//!
//! ```text
//! cargo run --release --example vecadd
//! cargo run --release --example vecadd -- --variant all --dtype f64 --device cuda:0
//! cargo run --release --example vecadd -- --x x.npy --y y.npy --json
//! ```
//!
//! It shows how a launch returns at once, so that many launches on one stream follow each other without the host, and
//! how to time them together; and that every element is what the host computes.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use examples::check::{Mismatch, compare};
use examples::dtype::Value;
use examples::for_dtype;
use examples::input::{self, Pair, Source};
use examples::json;
use examples::options::{CommonOptions, VectorOptions};
use examples::program::{self, Output};
use examples::progress::Progress;
use examples::report::{self, Table};
use examples::setting::Setting;
use examples::timing::{device_ms, gigabytes_per_second, timed};
use examples::variants::{Choice, Results, Verdict};
use kernels_common::Counters;
use kernels_common::device::Device;
use kernels_common::element::Element;
use kernels_common::stream::Stream;
use serde::Serialize;
use vecadd::{Variant, VecAdd};

/// Adds vectors on a device and on the host, and compares results and times.
#[derive(Parser, Debug)]
#[command(name = "vecadd", after_long_help = NOTES)]
pub struct Options {
    #[command(flatten)]
    vectors: VectorOptions,

    /// How to divide the vectors among threads
    #[arg(long, value_name = "NAME", default_value = Variant::default().name(),
          value_parser = Choice::<Variant>::parser(Variant::ALL.map(Variant::name)))]
    variant: Choice<Variant>,

    #[command(flatten)]
    common: CommonOptions,
}

const NOTES: &str = "\
The table has the time of all repetitions together: of the plain loop on the host, in one thread, and of the kernel on \
the device, between two events; on the simulator that is the time that the simulation took. The speed-up is their \
ratio. End to end is host time for the upload of x and y, one kernel and reading z back. z starts as zeros in the \
three-term form, and each repetition adds to it.

JSON: one object with the fields of `z = x + y`, and an object `accumulate` with those of `z = (x + y) + z`. `kernel_ms` \
and `host_loop_ms` are milliseconds for one repetition, `kernel_total_ms` and `host_total_ms` for all. `mismatch` \
tells the first wrong element. With `--variant all` there is an array `variants` in place of the fields of one variant.

Exit code: 0 if every element is right, 1 if one is wrong or the device fails, 2 for a mistake in the command line or \
in an input file.";

fn main() -> ExitCode {
    program::main(run)
}

/// Runs the program.
///
/// # Errors
/// [`UsageError`](examples::program::UsageError) for input that cannot be used; an error of the device.
pub fn run(options: &Options) -> Result<Output> {
    let source = Source::open(&options.vectors, options.common.seed)?;
    let device = Device::open(&options.common.device)?;
    for_dtype!(source.dtype(), T => add::<T>(options, source, &device))
}

/// Adds by every variant that was asked for, and reports.
fn add<T: Value>(options: &Options, source: Source, device: &Device) -> Result<Output> {
    let setting = Setting::new(&options.common, &source, device);
    let runs = Repetitions { warm_ups: options.common.warm_ups(device), timed: setting.repeat };
    let progress = Progress::new("preparing the input");
    let input = source.load::<T>()?;
    progress.step("adding on the host");
    let host = on_host(&input, runs)?;
    let stream = device.stream()?;
    let results = options.variant.run(&Variant::ALL, |variant| {
        progress.step(format!("adding on the device: {variant}"));
        on_device(&stream, variant, &input, runs, &host)
    })?;
    drop(progress);

    let ok = results.is_ok();
    let report = Report { setting, results };
    let text = if options.common.json { serde_json::to_string(&report)? } else { report.text() };
    Ok(Output { text, ok })
}

#[derive(Clone, Copy)]
struct Repetitions {
    warm_ups: u32,
    timed: u32,
}

/// What the host computed, and how long it took for all timed repetitions.
struct Host<T> {
    accumulated: Box<[T]>,
    add_ms: f64,
    accumulate_ms: f64,
}

fn on_host<T: Value>(Pair { x, y }: &Pair<T>, runs: Repetitions) -> Result<Host<T>> {
    let mut z = input::zeros::<T>(x.len() as u64)?;
    // Memory that was never written has to be found first, which takes longer than the addition.
    vecadd::add_on_host(x, y, &mut z);
    let ((), add_ms) = timed(|| (0..runs.timed).for_each(|_| vecadd::add_on_host(x, y, std::hint::black_box(&mut z))));
    z.fill(T::default());
    let mut accumulate =
        |times| (0..times).for_each(|_| vecadd::accumulate_on_host(x, y, std::hint::black_box(&mut z)));
    accumulate(runs.warm_ups);
    let ((), accumulate_ms) = timed(|| accumulate(runs.timed));
    Ok(Host { accumulated: z, add_ms, accumulate_ms })
}

fn on_device<T: Value>(
    stream: &Stream,
    variant: Variant,
    Pair { x, y }: &Pair<T>,
    runs: Repetitions,
    host: &Host<T>,
) -> Result<VariantReport> {
    let (vecadd, load_ms) = timed(|| VecAdd::<T>::with_variant(stream, variant));
    let vecadd = vecadd?;
    let end_to_end = || {
        let start = Instant::now();
        let (dx, dy) = (stream.upload(x)?, stream.upload(y)?);
        let mut dz = stream.alloc_uninit::<T>(x.len())?;
        let kernel_ms = device_ms(stream, || vecadd.add(&dx, &dy, &mut dz))?;
        let z = dz.download()?;
        anyhow::Ok((dx, dy, dz, z, kernel_ms, start.elapsed().as_secs_f64() * 1e3))
    };
    // The first use of a GPU's memory and of a kernel takes longer than later ones.
    for _ in 0..runs.warm_ups {
        end_to_end()?;
    }

    let _ = stream.device().take_counters();
    let (dx, dy, mut dz, z, first_ms, total_ms) = end_to_end()?;
    let counters = stream.device().take_counters();
    let mismatch = compare(&z, |i| T::add(x[i], y[i]));
    let others_ms = device_ms(stream, || (1..runs.timed).try_for_each(|_| vecadd.add(&dx, &dy, &mut dz)))?;
    let kernel_total_ms = if runs.timed > 1 { first_ms + others_ms } else { first_ms };
    let work = Work { operation: "z = x + y", bytes: 3 * size_of_val(&**x) as u64, repeats: runs.timed };
    let add = work.report(mismatch, host.add_ms, kernel_total_ms, counters, stream.device());

    dz.as_slice_mut().fill_zero()?;
    (0..runs.warm_ups).try_for_each(|_| vecadd.accumulate(&dx, &dy, &mut dz))?;
    let _ = stream.device().take_counters();
    let kernel_total_ms = device_ms(stream, || (0..runs.timed).try_for_each(|_| vecadd.accumulate(&dx, &dy, &mut dz)))?;
    let counters = stream.device().take_counters();
    let mismatch = compare(&dz.download()?, |i| host.accumulated[i]);
    let work = Work { operation: "z = (x + y) + z", bytes: 4 * size_of_val(&**x) as u64, repeats: runs.timed };
    let accumulate = work.report(mismatch, host.accumulate_ms, kernel_total_ms, counters, stream.device());

    let ok = add.ok && accumulate.ok;
    Ok(VariantReport { variant: variant.name(), ok, load_ms, total_ms, add, accumulate })
}

/// What an operation does in each repetition.
struct Work {
    operation: &'static str,
    /// Bytes that it has to move between memory and processor.
    bytes: u64,
    repeats: u32,
}

impl Work {
    fn report<T: Element>(
        self,
        mismatch: Option<Mismatch<T>>,
        host_total_ms: f64,
        kernel_total_ms: f64,
        counters: Option<Counters>,
        device: &Device,
    ) -> OperationReport {
        let kernel_ms = kernel_total_ms / f64::from(self.repeats);
        let gbps = gigabytes_per_second(self.bytes, kernel_ms);
        OperationReport {
            operation: self.operation,
            ok: mismatch.is_none(),
            mismatch: mismatch.map(|mismatch| mismatch.to_string()),
            kernel_ms,
            kernel_total_ms,
            host_loop_ms: host_total_ms / f64::from(self.repeats),
            host_total_ms,
            speedup: (kernel_total_ms > 0.0).then(|| host_total_ms / kernel_total_ms),
            gbps,
            bus_share: report::bus_share(gbps, device.properties()),
            counters,
        }
    }
}

/// What the program has to say.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    setting: Setting,
    #[serde(flatten)]
    results: Results<VariantReport>,
}

/// What it has to say about one variant.
#[derive(Serialize)]
struct VariantReport {
    variant: &'static str,
    /// Of both operations.
    ok: bool,
    load_ms: f64,
    total_ms: f64,
    #[serde(flatten)]
    add: OperationReport,
    accumulate: OperationReport,
}

/// What it has to say about one operation.
#[derive(Serialize)]
struct OperationReport {
    operation: &'static str,
    #[serde(skip)]
    ok: bool,
    mismatch: Option<String>,
    kernel_ms: f64,
    kernel_total_ms: f64,
    host_loop_ms: f64,
    host_total_ms: f64,
    speedup: Option<f64>,
    gbps: Option<f64>,
    bus_share: Option<f64>,
    #[serde(serialize_with = "json::counters")]
    counters: Option<Counters>,
}

impl Verdict for VariantReport {
    fn is_ok(&self) -> bool {
        self.ok
    }
}

impl Report {
    fn text(&self) -> String {
        let mut lines = self.setting.lines();
        lines.add("repetitions", self.setting.repeat);
        let numbers = ["host", "device", "speed-up", "GB/s", "of bus", "end to end"];
        let mut table = Table::new(&["variant", "operation", "result"], &numbers);
        let mut mistakes = String::new();
        for result in self.results.as_slice() {
            for (operation, total_ms) in [(&result.add, Some(result.total_ms)), (&result.accumulate, None)] {
                table.row([
                    result.variant.to_owned(),
                    operation.operation.to_owned(),
                    if operation.ok { "ok" } else { "WRONG" }.to_owned(),
                    report::milliseconds(operation.host_total_ms),
                    report::milliseconds(operation.kernel_total_ms),
                    operation.speedup.map_or_else(String::new, report::rounded),
                    operation.gbps.map_or_else(String::new, report::rounded),
                    operation.bus_share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share)),
                    total_ms.map_or_else(String::new, report::milliseconds),
                ]);
                if let Some(mismatch) = &operation.mismatch {
                    mistakes += &format!("\n{}, {}: {mismatch}", result.variant, operation.operation);
                }
            }
        }
        format!("{lines}\n\n{table}{mistakes}")
    }
}
