//! The dot product of two vectors, on a GPU or on the simulator, beside the exact result.
//!
//! ```text
//! cargo run --release --example dot
//! cargo run --release --example dot -- --n 2^24+1 --dtype f16 --variant all
//! cargo run --release --example dot -- --x x.npy --y y.npy --device cuda:0 --json
//! ```
//!
//! It shows how to open a device, move data to it, start a kernel, time it with events and read its result back; and
//! that the canonical variant gives the same bits everywhere, also on the host.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use dot::{Dot, Variant};
use examples::check::{Check, check};
use examples::dtype::Value;
use examples::for_dtype;
use examples::input::{Pair, Source};
use examples::json::{self, Number};
use examples::options::{CommonOptions, VectorOptions};
use examples::program::{self, Output};
use examples::progress::Progress;
use examples::report::{self, Lines};
use examples::setting::Setting;
use examples::timing::{self, device_ms, median, timed};
use examples::variants::{Choice, Results, Verdict};
use kernels_common::Counters;
use kernels_common::device::Device;
use kernels_common::element::{Accumulator, Element};
use kernels_common::oracle::{self, Exact};
use kernels_common::stream::Stream;
use serde::Serialize;

/// Computes the dot product of two vectors and compares it with the exact one.
#[derive(Parser, Debug)]
#[command(name = "dot", after_long_help = NOTES)]
pub struct Options {
    #[command(flatten)]
    vectors: VectorOptions,

    /// How to compute it
    #[arg(long, value_name = "NAME", default_value = Variant::default().name(),
          value_parser = Choice::<Variant>::parser(Variant::ALL.map(Variant::name)))]
    variant: Choice<Variant>,

    #[command(flatten)]
    common: CommonOptions,
}

const NOTES: &str = "\
Times are in milliseconds. The kernel's is device time between two events, the median of the repetitions; on the \
simulator it is the time that the simulation took. End to end is host time for the upload, one kernel and reading the \
result back. The host loop is the plain `s += x * y` in one thread, in the type of the sum.

JSON: one object. `bits` are those of `result`, in hexadecimal. `error` is the distance of `result` from the exact \
value, of which `reference` is the nearest f64 (or the integer itself), and `bound` the largest error that a correct \
result can have. NaN and infinities are the strings \"NaN\", \"Infinity\" and \"-Infinity\". With `--variant all` \
there is an array `variants` in place of the fields of one variant.

Exit code: 0 if every result is right, 1 if one is wrong or the device fails, 2 for a mistake in the command line or \
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
    for_dtype!(source.dtype(), T => compare::<T>(options, source, &device))
}

/// Computes by every variant that was asked for, and reports.
fn compare<T: Value>(options: &Options, source: Source, device: &Device) -> Result<Output> {
    let setting = Setting::new(&options.common, &source, device);
    let progress = Progress::new("preparing the input");
    let Pair { x, y } = source.load::<T>()?;
    progress.step("computing on the host");
    let host_loop_ms = timing::plain_dot_ms(&x, &y);
    let exact = oracle::dot(&x, &y);
    let stream = device.stream()?;
    let results = options.variant.run(&Variant::ALL, |variant| {
        progress.step(format!("computing on the device: {variant}"));
        let run = measure(&stream, variant, &x, &y, options.common.warm_ups(device), setting.repeat)?;
        let canonical = if variant == Variant::Canonical { Some(dot::canonical(&x, &y)?) } else { None };
        anyhow::Ok(VariantReport::new::<T>(variant, setting.n, &run, &exact, canonical, device))
    })?;
    drop(progress);

    let ok = results.is_ok();
    let report = Report { setting, reference: reference(&exact), host_loop_ms, results };
    let text = if options.common.json { serde_json::to_string(&report)? } else { report.lines(device).to_string() };
    Ok(Output { text, ok })
}

/// What one variant computed, and how long it took.
struct Run<S> {
    value: S,
    /// Whether every repetition gave the same bits.
    repeatable: bool,
    load_ms: f64,
    kernel_ms: f64,
    total_ms: f64,
    counters: Option<Counters>,
}

fn measure<T: Element>(
    stream: &Stream,
    variant: Variant,
    x: &[T],
    y: &[T],
    warm_ups: u32,
    repeats: u32,
) -> Result<Run<T::Sum>> {
    let (loaded, load_ms) = timed(|| {
        let mut dot = Dot::<T>::with_variant(stream, variant)?;
        dot.reserve(x.len()).map(|()| dot)
    });
    let mut dot = loaded?;

    // The first use of a GPU's memory and of a kernel takes longer than later ones.
    for _ in 0..warm_ups {
        dot.value(&stream.upload(x)?, &stream.upload(y)?)?;
    }

    // What a program pays that has its data on the host: upload, compute, read back.
    let _ = stream.device().take_counters();
    let start = Instant::now();
    let (x, y) = (stream.upload(x)?, stream.upload(y)?);
    let mut out = stream.alloc_uninit::<T::Sum>(1)?;
    let mut times = vec![device_ms(stream, || dot.enqueue(&x, &y, &mut out))?];
    let value = out.download()?[0];
    let total_ms = start.elapsed().as_secs_f64() * 1e3;
    let counters = stream.device().take_counters();

    let mut repeatable = true;
    for _ in 1..repeats {
        times.push(device_ms(stream, || dot.enqueue(&x, &y, &mut out))?);
        repeatable &= out.download()?[0].bits() == value.bits();
    }
    Ok(Run { value, repeatable, load_ms, kernel_ms: median(&times), total_ms, counters })
}

/// The exact result, rounded once to the widest type of its kind.
fn reference<S: Accumulator>(exact: &Exact<S>) -> Number {
    if S::IS_FLOAT { Number::Float(exact.parts.0 + exact.parts.1) } else { Number::from_sum(exact.value) }
}

/// What the program has to say.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    setting: Setting,
    reference: Number,
    host_loop_ms: f64,
    #[serde(flatten)]
    results: Results<VariantReport>,
}

/// What it has to say about one variant.
#[derive(Serialize)]
struct VariantReport {
    variant: &'static str,
    result: Number,
    /// The shortest digits that tell the result from its neighbours.
    #[serde(skip)]
    shortest: String,
    bits: String,
    #[serde(serialize_with = "json::float")]
    error: f64,
    #[serde(serialize_with = "json::float")]
    bound: f64,
    ok: bool,
    repeatable: bool,
    canonical_bits: Option<String>,
    canonical_equal: Option<bool>,
    load_ms: f64,
    kernel_ms: f64,
    total_ms: f64,
    gbps: Option<f64>,
    bus_share: Option<f64>,
    #[serde(serialize_with = "json::counters")]
    counters: Option<Counters>,
}

impl VariantReport {
    fn new<T: Element>(
        variant: Variant,
        n: u64,
        run: &Run<T::Sum>,
        exact: &Exact<T::Sum>,
        canonical: Option<T::Sum>,
        device: &Device,
    ) -> Self {
        // Rounded operations: at most a product and an addition for each element.
        let Check { error, bound, ok } = check(run.value, exact, variant.depth::<T>(n), 2 * n);
        let canonical_equal = canonical.map(|canonical| canonical.bits() == run.value.bits());
        let gbps = timing::gigabytes_per_second(2 * n * size_of::<T>() as u64, run.kernel_ms);
        Self {
            variant: variant.name(),
            result: Number::from_sum(run.value),
            shortest: run.value.to_string(),
            bits: json::hex(run.value),
            error,
            bound,
            ok: ok && run.repeatable && canonical_equal != Some(false),
            repeatable: run.repeatable,
            canonical_bits: canonical.map(json::hex),
            canonical_equal,
            load_ms: run.load_ms,
            kernel_ms: run.kernel_ms,
            total_ms: run.total_ms,
            gbps,
            bus_share: report::bus_share(gbps, device.properties()),
            counters: run.counters,
        }
    }
}

impl Verdict for VariantReport {
    fn is_ok(&self) -> bool {
        self.ok
    }
}

impl Report {
    fn lines(&self, device: &Device) -> Lines {
        let mut lines = self.setting.lines();
        lines.add("reference", format_args!("{}, exact on the host", self.reference));
        lines.add("host loop", format_args!("{}, one thread", report::milliseconds(self.host_loop_ms)));
        for result in self.results.as_slice() {
            lines.gap();
            lines.add("variant", result.variant);
            lines.add("result", format_args!("{}, bits {}", result.shortest, result.bits));
            let verdict = if result.ok { "ok" } else { "WRONG" };
            let (error, bound) = (report::rounded(result.error), report::rounded(result.bound));
            lines.add("error", format_args!("{error} of at most {bound}: {verdict}"));
            if !result.repeatable {
                lines.add("repeated", "other bits: WRONG");
            }
            if let Some(bits) = &result.canonical_bits {
                let verdict = if result.canonical_equal == Some(true) { "the same" } else { "DIFFERENT" };
                lines.add("on the host", format_args!("bits {bits}: {verdict}"));
            }
            let runs = if self.setting.repeat == 1 {
                "one run".to_owned()
            } else {
                format!("median of {}", self.setting.repeat)
            };
            lines.add("kernel", format_args!("{}, {runs}", report::milliseconds(result.kernel_ms)));
            lines.add("bandwidth", report::bandwidth(result.gbps, device.properties()));
            lines.add(
                "end to end",
                format_args!("{}, with upload and read back", report::milliseconds(result.total_ms)),
            );
            lines.add("loading", report::milliseconds(result.load_ms));
        }
        lines
    }
}
