//! Matrix transposes on a GPU or on the simulator, with bank conflicts and without.
//!
//! ```text
//! cargo run --release --example transpose
//! cargo run --release --example transpose -- --device sim --rows 1024 --cols 1024
//! cargo run --release --example transpose -- --rows 1e6 --cols 33 --dtype f16 --variant packets --json
//! ```
//!
//! It shows on the simulator how often the threads of a warp wait for one another at the banks of shared memory, and
//! how many sectors of global memory they ask for; and on a GPU what that costs, beside a plain copy of the matrix.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use examples::check::compare;
use examples::counters::Figures;
use examples::dtype::Value;
use examples::for_dtype;
use examples::input::{random, zeros};
use examples::options::{CommonOptions, ElementOptions, matrix_len, parse_count};
use examples::program::{self, Output};
use examples::progress::Progress;
use examples::report::{self, Table};
use examples::setting::device_lines;
use examples::timing::{device_ms, gigabytes_per_second};
use examples::variants::{Choice, Verdict};
use kernels_common::device::{BackendKind, Device};
use kernels_common::memory::{DeviceBuffer, Matrix, MatrixMut};
use kernels_common::stream::Stream;
use serde::Serialize;
use transpose_padding::{Transpose, Variant};

/// Transposes a matrix of random numbers on a device, and compares the ways to do it.
#[derive(Parser, Debug)]
#[command(name = "transpose", after_long_help = NOTES)]
pub struct Options {
    /// Rows of the matrix: digits with or without `_`, `1e6`, `2^12`, and sums of those
    #[arg(long, value_name = "ROWS", default_value = "4096", value_parser = parse_count,
          allow_negative_numbers = true)]
    rows: u64,

    /// Columns of the matrix
    #[arg(long, value_name = "COLS", default_value = "4096", value_parser = parse_count,
          allow_negative_numbers = true)]
    cols: u64,

    /// How the elements get to their places
    #[arg(long, value_name = "NAME", default_value = "all",
          value_parser = Choice::<Variant>::parser(Variant::ALL.map(Variant::name)))]
    variant: Choice<Variant>,

    #[command(flatten)]
    elements: ElementOptions,

    #[command(flatten)]
    common: CommonOptions,
}

const NOTES: &str = "\
On a GPU the table has the mean time of a launch, between two events around all repetitions; GB/s counts every \
element once read and once written, and is compared with the limit of the memory bus and with a copy of the matrix on \
the device in the same run. On the simulator it has what a profiler would count: wavefronts of a load from and of a \
store to shared memory, sectors of an access to global memory, and totals. Without bank conflicts an access takes one \
wavefront for elements of up to 4 bytes, 2 for 8 bytes, and 4 for packets of 16. 32 neighbouring f32 lie in 4 \
sectors.

JSON: one object with `device`, `backend`, `selector`, `fallback_reason`, `n`, `rows`, `cols`, `dtype`, `seed`, \
`repeat`, `ok`, `copy_gbps` and an array `variants`, where `mismatch` says which element is wrong, if one is. \
`kernel_ms` is milliseconds for one launch; on the simulator, those that the simulation took, and `gbps` is null \
there. `counters` is null on a GPU.

Exit code: 0 if every element is right, 1 if one is wrong or the device fails, 2 for a mistake in the command line.";

fn main() -> ExitCode {
    program::main(run)
}

/// Runs the program.
///
/// # Errors
/// [`UsageError`](examples::program::UsageError) for a matrix that no memory holds; an error of the device.
pub fn run(options: &Options) -> Result<Output> {
    let n = matrix_len(options.rows, options.cols)?;
    let device = Device::open(&options.common.device)?;
    for_dtype!(options.elements.dtype, T => transpose::<T>(options, n, &device))
}

/// Transposes a matrix of `n` elements by every variant that was asked for, and reports.
fn transpose<T: Value>(options: &Options, n: u64, device: &Device) -> Result<Output> {
    let &Options { rows, cols, .. } = options;
    let repeat = options.common.repeats(device);

    let progress = Progress::new("preparing the input");
    let x = random::<T>(n, options.common.seed, 0)?;
    let expected = on_host(&x, usize::try_from(rows)?, usize::try_from(cols)?)?;
    let stream = device.stream()?;
    let input = Input { dx: stream.upload(&x)?, expected, rows: usize::try_from(rows)?, cols: usize::try_from(cols)? };
    let runs = Repetitions { warm_ups: options.common.warm_ups(device), timed: repeat };
    progress.step("copying");
    let copy_gbps = copy(&stream, &input, runs)?;
    let results = options.variant.run(&Variant::ALL, |variant| {
        progress.step(format!("transposing: {variant}"));
        on_device(&stream, variant, &input, runs)
    })?;
    drop(progress);

    let ok = results.is_ok();
    let text = if options.common.json {
        let properties = device.properties();
        serde_json::to_string(&Report {
            device: &properties.name,
            backend: properties.backend.to_string(),
            selector: &properties.selector,
            fallback_reason: device.fallback_reason(),
            n,
            rows,
            cols,
            dtype: T::NAME,
            seed: options.common.seed,
            repeat,
            ok,
            copy_gbps,
            variants: results.as_slice(),
        })?
    } else {
        let mut lines = device_lines(device, &options.common.device);
        let (rows, cols) = (report::count(rows), report::count(cols));
        lines.add("input", format!("{rows} × {cols} {}, made up from seed {}", T::NAME, options.common.seed));
        lines.add("repetitions", repeat);
        if device.properties().bus_bandwidth().is_some() {
            lines.add("copy", report::bandwidth(copy_gbps, device.properties()));
        }
        format!("{lines}\n\n{}", table(results.as_slice(), device, copy_gbps))
    };
    Ok(Output { text, ok })
}

/// The transpose of a matrix of `rows` × `cols`, in the plainest way.
fn on_host<T: Value>(x: &[T], rows: usize, cols: usize) -> Result<Box<[T]>> {
    let mut z = zeros::<T>(x.len() as u64)?;
    for (row, line) in x.chunks_exact(cols.max(1)).enumerate() {
        for (column, &value) in line.iter().enumerate() {
            z[column * rows + row] = value;
        }
    }
    Ok(z)
}

#[derive(Clone, Copy)]
struct Repetitions {
    warm_ups: u32,
    timed: u32,
}

/// A matrix on the device, and its transpose on the host.
struct Input<T> {
    dx: DeviceBuffer<T>,
    expected: Box<[T]>,
    rows: usize,
    cols: usize,
}

impl<T> Input<T> {
    /// Bytes that a transpose or a copy reads and writes.
    fn bytes(&self) -> u64 {
        2 * size_of_val(&*self.expected) as u64
    }
}

/// The bandwidth of a copy of the matrix on the device.
fn copy<T: Value>(stream: &Stream, input: &Input<T>, runs: Repetitions) -> Result<Option<f64>> {
    let mut dz = stream.alloc_uninit::<T>(input.dx.len())?;
    let mut copy = || dz.as_slice_mut().copy_from_slice(input.dx.as_slice());
    (0..runs.warm_ups).try_for_each(|_| copy())?;
    let total_ms = device_ms(stream, || (0..runs.timed).try_for_each(|_| copy()))?;
    Ok(bandwidth(stream.device(), input.bytes(), total_ms / f64::from(runs.timed)))
}

fn on_device<T: Value>(
    stream: &Stream,
    variant: Variant,
    input: &Input<T>,
    runs: Repetitions,
) -> Result<VariantReport> {
    let &Input { ref dx, ref expected, rows, cols } = input;
    let transpose = Transpose::<T>::with_variant(stream, variant)?;
    // Memory of its own, and cleared: what another variant wrote proves nothing.
    let mut dz = stream.alloc_zeros::<T>(dx.len())?;
    let mut launch = || transpose.enqueue(Matrix::new(dx, rows, cols)?, MatrixMut::new(&mut dz, cols, rows)?);
    (0..runs.warm_ups).try_for_each(|_| launch())?;
    let _ = stream.device().take_counters();
    let first_ms = device_ms(stream, &mut launch)?;
    let counters = stream.device().take_counters();
    let kernel_ms = match runs.timed {
        1 => first_ms,
        timed => device_ms(stream, || (0..timed).try_for_each(|_| launch()))? / f64::from(timed),
    };
    let mismatch = compare(&dz.download()?, |i| expected[i]);
    Ok(VariantReport {
        of_crate: "transpose-padding",
        variant: variant.name(),
        ok: mismatch.is_none(),
        reproducible: true,
        kernel_ms,
        gbps: bandwidth(stream.device(), input.bytes(), kernel_ms),
        counters: counters.as_ref().map(Figures::new),
        mismatch: mismatch.map(|mismatch| mismatch.to_string()),
    })
}

/// Gigabytes per second on a GPU. How long a simulation takes tells nothing of it.
fn bandwidth(device: &Device, bytes: u64, ms: f64) -> Option<f64> {
    match device.properties().backend {
        BackendKind::Cuda => gigabytes_per_second(bytes, ms),
        BackendKind::Sim => None,
    }
}

/// What the program has to say.
#[derive(Serialize)]
struct Report<'a> {
    device: &'a str,
    backend: String,
    selector: &'a str,
    fallback_reason: Option<&'a str>,
    n: u64,
    rows: u64,
    cols: u64,
    dtype: &'static str,
    seed: u64,
    repeat: u32,
    ok: bool,
    copy_gbps: Option<f64>,
    variants: &'a [VariantReport],
}

/// What it has to say about one variant.
#[derive(Serialize)]
struct VariantReport {
    #[serde(rename = "crate")]
    of_crate: &'static str,
    variant: &'static str,
    ok: bool,
    reproducible: bool,
    kernel_ms: f64,
    gbps: Option<f64>,
    counters: Option<Figures>,
    mismatch: Option<String>,
}

impl Verdict for VariantReport {
    fn is_ok(&self) -> bool {
        self.ok
    }
}

/// Times of a GPU or counters of the simulator, and below them what is wrong.
fn table(results: &[VariantReport], device: &Device, copy_gbps: Option<f64>) -> String {
    let on_gpu = device.properties().backend == BackendKind::Cuda;
    let numbers: &[&str] = if on_gpu { &["ms", "GB/s", "of the bus", "of the copy"] } else { &Figures::HEADINGS };
    let mut table = Table::new(&["variant", "result"], numbers);
    let percent = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
    for result in results {
        let mut cells = vec![result.variant.to_owned(), if result.ok { "ok" } else { "WRONG" }.to_owned()];
        if on_gpu {
            cells.extend([
                format!("{:.4}", result.kernel_ms),
                result.gbps.map_or("-".to_owned(), |rate| format!("{rate:.1}")),
                percent(report::bus_share(result.gbps, device.properties())),
                percent(result.gbps.zip(copy_gbps).map(|(ours, copy)| ours / copy)),
            ]);
        } else {
            cells.extend(result.counters.iter().flat_map(Figures::cells));
        }
        table.row(cells);
    }
    let mismatches = results.iter().filter_map(|result| Some((result.variant, result.mismatch.as_ref()?)));
    mismatches.fold(table.to_string(), |text, (variant, mismatch)| format!("{text}\n{variant}: {mismatch}"))
}
