//! The ladder of sums: every way to add up one array, from a race to one launch at the speed of the memory.
//!
//! ```text
//! cargo run --release --example ladder
//! cargo run --release --example ladder -- --device sim --n 1e6+3
//! cargo run --release --example ladder -- --n 2^28 --dtype f64 --svg ladder.svg
//! ```
//!
//! The elements are small integers, so that every right result equals the exact sum, whatever the order of additions.
//! On a GPU it is timed, beside a copy of the array in the same run; on the simulator, where time says nothing about a
//! GPU, it is counted: what a profiler would show.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use examples::chart::{self, Bar, BarChart};
use examples::counters::Figures;
use examples::dtype::Value;
use examples::for_dtype;
use examples::input::small_integers;
use examples::json::{self, Number};
use examples::options::{CommonOptions, ElementOptions, parse_count};
use examples::program::{self, Output};
use examples::progress::Progress;
use examples::report::{self, Table};
use examples::rungs::{self, Rung};
use examples::setting::device_lines;
use examples::timing::{self, device_ms, median};
use kernels_common::Counters;
use kernels_common::device::{BackendKind, Device};
use kernels_common::element::Accumulator;
use kernels_common::memory::DeviceBuffer;
use kernels_common::oracle::{self, Exact};
use kernels_common::stream::Stream;
use serde::Serialize;

/// Adds up one array in every way there is, checks each, and measures it.
#[derive(Parser, Debug)]
#[command(name = "ladder", after_long_help = NOTES)]
pub struct Options {
    /// Number of elements: digits with or without `_`, `1e6`, `2^24`, and sums of those such as `10^6+3` [default: 2^28
    /// on a GPU, 1e6+3 on the simulator]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    n: Option<u64>,

    /// Also draw a bar chart into this file: bandwidths on a GPU, PTX instructions per element on the simulator
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    elements: ElementOptions,

    #[command(flatten)]
    common: CommonOptions,
}

const NOTES: &str = "\
The elements are integers from -8 to 8 (0 to 16 for unsigned types), whose sums are exact in any order: every right \
result equals the exact sum.

Times are device time between two events, the median of the repetitions, with the clearing of the result where a rung \
needs it. GB/s count each element once. `copy` is a copy of the array within the device's memory in the same run, \
which reads and writes each element. The speed-up is over the rung before.

`racy` is wrong on purpose; it does not count for the exit code.

JSON: one object; its `ok` is that of all variants but `racy`. Each of `variants` has `crate`, `variant`, `ok`, \
`reproducible` (whether it promises the same bits at every run), `kernel_ms`, `gbps`, and `counters` (on the \
simulator, else null).

Exit code: 0 if every result but that of `racy` is right, 1 if one is wrong or the device fails, 2 for a mistake in \
the command line.";

fn main() -> ExitCode {
    program::main(run)
}

/// Runs the program.
///
/// # Errors
/// [`UsageError`](examples::program::UsageError) for a command line that cannot be used; an error of the device.
pub fn run(options: &Options) -> Result<Output> {
    if let Some(path) = &options.svg {
        chart::check_writable(path)?;
    }
    let device = Device::open(&options.common.device)?;
    for_dtype!(options.elements.dtype, T => climb::<T>(options, &device))
}

/// The selector of the simulator that is like another one, but does not look for data races.
fn without_races(selector: &str) -> String {
    let options = selector.split_once(':').map_or("", |(_, options)| options);
    let others = options.split(',').filter(|option| !option.is_empty() && !option.starts_with("check="));
    let check = if options.contains("check=bounds") { "check=bounds" } else { "check=no-races" };
    format!("sim:{}", others.chain([check]).collect::<Vec<_>>().join(","))
}

/// Climbs all rungs, and reports.
fn climb<T: Value>(options: &Options, device: &Device) -> Result<Output> {
    let on_gpu = device.properties().backend == BackendKind::Cuda;
    let n = options.n.unwrap_or(if on_gpu { 1 << 28 } else { 1_000_003 });
    let repeat = options.common.repeats(device);
    let progress = Progress::new("preparing the input");
    let values = small_integers::<T>(n, options.common.seed)?;
    progress.step("adding up on the host");
    let exact = oracle::sum(&values);

    let stream = device.stream()?;
    let input = stream.upload(&values)?;
    // The simulator refuses the rung that is a race on purpose, unless it is told not to look for any.
    let tolerant = if on_gpu { None } else { Some(Device::open(&without_races(&device.properties().selector))?) };
    let tolerant = match tolerant {
        Some(device) => {
            let stream = device.stream()?;
            let input = stream.upload(&values)?;
            Some((stream, input))
        }
        None => None,
    };
    drop(values);
    progress.step("copying");
    let copy_ms = if on_gpu { Some(copy_ms(&stream, &input, repeat)?) } else { None };
    let copy_gbps = copy_ms.and_then(|ms| timing::gigabytes_per_second(2 * bytes::<T>(n), ms));

    let mut variants = Vec::new();
    let all = rungs::all::<T>(&stream)?;
    let count = all.len();
    for (i, mut rung) in all.into_iter().enumerate() {
        progress.step(format!("{} {} ({} of {count})", rung.of_crate(), rung.name(), i + 1));
        let (stream, input) = match &tolerant {
            Some((stream, input)) if rung.is_racy() => {
                rung = rungs::racy(stream)?;
                (stream, input)
            }
            _ => (&stream, &input),
        };
        let run = measure(stream, &mut rung, input, options.common.warm_ups(device), repeat)?;
        variants.push(Variant::new(&rung, n, &run, &exact, device));
    }
    drop(progress);

    let properties = device.properties();
    let report = Report {
        device: properties.name.clone(),
        backend: properties.backend.to_string(),
        selector: properties.selector.clone(),
        fallback_reason: device.fallback_reason().map(str::to_owned),
        n,
        dtype: T::NAME,
        seed: options.common.seed,
        repeat,
        ok: variants.iter().all(|variant| variant.ok || variant.racy),
        reference: reference(&exact),
        copy_ms,
        copy_gbps,
        bus_gbps: properties.bus_bandwidth().map(|bandwidth| bandwidth / 1e9),
        variants,
    };
    if let Some(path) = &options.svg {
        report.chart().write(path)?;
    }
    let text =
        if options.common.json { serde_json::to_string(&report)? } else { report.text(device, &options.common.device) };
    Ok(Output { text, ok: report.ok })
}

fn bytes<T>(n: u64) -> u64 {
    n * size_of::<T>() as u64
}

/// The exact sum, rounded once to the widest type of its kind.
fn reference<S: Accumulator>(exact: &Exact<S>) -> Number {
    if S::IS_FLOAT { Number::Float(exact.parts.0 + exact.parts.1) } else { Number::from_sum(exact.value) }
}

/// Milliseconds of a copy within the device's memory.
fn copy_ms<T: Value>(stream: &Stream, input: &DeviceBuffer<T>, repeat: u32) -> Result<f64> {
    let mut copy = stream.alloc_uninit::<T>(input.len())?;
    copy.as_slice_mut().copy_from_slice(input.as_slice())?;
    let times: Result<Vec<f64>, _> =
        (0..repeat).map(|_| device_ms(stream, || copy.as_slice_mut().copy_from_slice(input.as_slice()))).collect();
    Ok(median(&times?))
}

/// What one rung computed, how long it took, and what it did.
struct Run<S> {
    value: S,
    kernel_ms: f64,
    /// Whether every repetition gave the same bits.
    repeated: bool,
    counters: Option<Counters>,
}

fn measure<T: Value>(
    stream: &Stream,
    rung: &mut Rung<T>,
    input: &DeviceBuffer<T>,
    warm_ups: u32,
    repeat: u32,
) -> Result<Run<T::Sum>> {
    rung.reserve(input.len())?;
    let mut out = stream.alloc_zeros::<T::Sum>(1)?;
    for _ in 0..warm_ups {
        rung.enqueue(input.as_slice(), out.as_slice_mut())?;
    }
    let _ = stream.device().take_counters();
    let mut times = vec![device_ms(stream, || rung.enqueue(input.as_slice(), out.as_slice_mut()))?];
    let counters = stream.device().take_counters();
    let value = out.download()?[0];
    let mut repeated = true;
    for _ in 1..repeat {
        times.push(device_ms(stream, || rung.enqueue(input.as_slice(), out.as_slice_mut()))?);
        repeated &= out.download()?[0].bits() == value.bits();
    }
    Ok(Run { value, kernel_ms: median(&times), repeated, counters })
}

/// What the program has to say.
#[derive(Serialize)]
struct Report {
    device: String,
    backend: String,
    selector: String,
    fallback_reason: Option<String>,
    n: u64,
    dtype: &'static str,
    seed: u64,
    repeat: u32,
    /// Whether every variant is right but the one that is wrong on purpose.
    ok: bool,
    reference: Number,
    copy_ms: Option<f64>,
    copy_gbps: Option<f64>,
    bus_gbps: Option<f64>,
    variants: Vec<Variant>,
}

/// What it has to say about one rung.
#[derive(Serialize)]
struct Variant {
    #[serde(rename = "crate")]
    of_crate: &'static str,
    variant: &'static str,
    ok: bool,
    reproducible: bool,
    result: Number,
    #[serde(serialize_with = "json::float")]
    error: f64,
    kernel_ms: f64,
    gbps: Option<f64>,
    bus_share: Option<f64>,
    /// What the chart shows of a simulated run.
    instructions_per_element: Option<f64>,
    counters: Option<Figures>,
    /// Wrong on purpose.
    #[serde(skip)]
    racy: bool,
}

impl Variant {
    fn new<T: Value>(rung: &Rung<T>, n: u64, run: &Run<T::Sum>, exact: &Exact<T::Sum>, device: &Device) -> Self {
        let error = exact.error_of(run.value);
        let gbps = match device.properties().backend {
            BackendKind::Cuda => timing::gigabytes_per_second(bytes::<T>(n), run.kernel_ms),
            BackendKind::Sim => None,
        };
        let per_element = |counters: Counters| counters.lane_instructions as f64 / n.max(1) as f64;
        Self {
            of_crate: rung.of_crate(),
            variant: rung.name(),
            ok: error == 0.0 && run.repeated,
            reproducible: rung.is_reproducible(),
            result: Number::from_sum(run.value),
            error,
            kernel_ms: run.kernel_ms,
            gbps,
            bus_share: report::bus_share(gbps, device.properties()),
            instructions_per_element: run.counters.map(per_element),
            counters: run.counters.as_ref().map(Figures::new),
            racy: rung.is_racy(),
        }
    }

    fn verdict(&self) -> &'static str {
        if self.ok { "ok" } else { "WRONG" }
    }
}

impl Report {
    /// `selector` is what the command line says.
    fn text(&self, device: &Device, selector: &str) -> String {
        let mut lines = device_lines(device, selector);
        lines.add(
            "input",
            format_args!("{} {}, small integers from seed {}", report::count(self.n), self.dtype, self.seed),
        );
        lines.add("reference", format_args!("{}, exact on the host", self.reference));
        if let Some(ms) = self.copy_ms {
            let bandwidth = report::bandwidth(self.copy_gbps, device.properties());
            lines.add("copy", format_args!("{}, {bandwidth}", report::milliseconds(ms)));
        }
        let table = if self.backend == "cuda" { self.times() } else { self.counts() };
        format!("{lines}\n\n{table}")
    }

    fn times(&self) -> Table {
        let mut table = Table::new(
            &["crate", "variant", "result", "bits"],
            &["ms", "GB/s", "of the bus", "of the copy", "speed-up"],
        );
        let percent = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
        let mut before: Option<f64> = None;
        for variant in &self.variants {
            let of_copy = variant.gbps.zip(self.copy_gbps).map(|(ours, copy)| ours / copy);
            table.row([
                variant.of_crate.to_owned(),
                variant.variant.to_owned(),
                variant.verdict().to_owned(),
                if variant.reproducible { "same" } else { "vary" }.to_owned(),
                format!("{:.4}", variant.kernel_ms),
                variant.gbps.map_or("-".to_owned(), |rate| format!("{rate:.1}")),
                percent(variant.bus_share),
                percent(of_copy),
                before.map_or("-".to_owned(), |before| format!("{:.2}", before / variant.kernel_ms)),
            ]);
            before = Some(variant.kernel_ms);
        }
        table
    }

    fn counts(&self) -> Table {
        let words = ["crate", "variant", "result", "bits"];
        let mut table = Table::new(&words, &[&["instr./element"][..], &Figures::HEADINGS].concat());
        for variant in &self.variants {
            let mut cells = vec![
                variant.of_crate.to_owned(),
                variant.variant.to_owned(),
                variant.verdict().to_owned(),
                if variant.reproducible { "same" } else { "vary" }.to_owned(),
                variant.instructions_per_element.map_or("-".to_owned(), |count| format!("{count:.1}")),
            ];
            cells.extend(variant.counters.iter().flat_map(Figures::cells));
            table.row(cells);
        }
        table
    }

    fn chart(&self) -> BarChart {
        let on_gpu = self.backend == "cuda";
        let mut crates: Vec<&str> = self.variants.iter().map(|variant| variant.of_crate).collect();
        crates.dedup();
        let bar = |variant: &Variant| {
            let value = if on_gpu { variant.gbps } else { variant.instructions_per_element };
            let note = match (on_gpu, value) {
                (_, None) => "-".to_owned(),
                (true, Some(rate)) => format!("{rate:.0}"),
                (false, Some(count)) => format!("{count:.1}"),
            };
            Bar {
                label: format!("{} {}", variant.of_crate, variant.variant),
                group: crates.iter().position(|&of_crate| of_crate == variant.of_crate).unwrap_or(0),
                value: value.unwrap_or(f64::NAN),
                note: if variant.ok { note } else { format!("{note}, wrong result") },
                wrong: !variant.ok,
            }
        };
        let line = |value: Option<f64>, name: &str| value.map(|value| (value, name.to_owned()));
        BarChart {
            title: format!("Sums of {} {} on {}", report::count(self.n), self.dtype, self.device),
            axis: if on_gpu { "GB/s" } else { "PTX instructions per element" }.to_owned(),
            bars: self.variants.iter().map(bar).collect(),
            lines: [line(self.bus_gbps, "bus limit"), line(self.copy_gbps, "copy")].into_iter().flatten().collect(),
        }
    }
}
