//! A matrix times a vector, by one dot product for each row: queued call by call, and launched as one graph.
//!
//! ```text
//! cargo run --release --example graph
//! cargo run --release --example graph -- --rows 1000 --cols 4096 --dtype f64 --json
//! ```
//!
//! Short kernels are over before the host has queued the next one. A graph is queued with all of its kernels by one
//! call.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use dot::Dot;
use examples::dtype::Value;
use examples::for_dtype;
use examples::input::random;
use examples::options::{CommonOptions, ElementOptions, matrix_len, parse_count};
use examples::program::{self, Output};
use examples::progress::Progress;
use examples::report;
use examples::setting::device_lines;
use examples::timing::{device_ms, median, timed};
use kernels_common::device::{BackendKind, Device};
use kernels_common::element::{Accumulator, Element};
use kernels_common::graph::Graph;
use kernels_common::memory::DeviceBuffer;
use kernels_common::stream::Stream;
use serde::Serialize;

/// Multiplies a matrix and a vector of random numbers, by calls and by a graph of the same calls.
#[derive(Parser, Debug)]
#[command(name = "graph", after_long_help = NOTES)]
pub struct Options {
    /// Rows of the matrix, and so calls in the graph: digits with or without `_`, `1e6`, `2^12`, and sums of those
    #[arg(long, value_name = "ROWS", default_value = "100", value_parser = parse_count,
          allow_negative_numbers = true)]
    rows: u64,

    /// Columns of the matrix, and so elements of each dot product
    #[arg(long, value_name = "COLS", default_value = "2^14", value_parser = parse_count,
          allow_negative_numbers = true)]
    cols: u64,

    #[command(flatten)]
    elements: ElementOptions,

    #[command(flatten)]
    common: CommonOptions,
}

const NOTES: &str = "\
Times are medians of the repetitions, each for all rows. `host` is how long the host is busy queueing; `device` is \
between two events around the work. Both are the time that the simulation takes, on the simulator.

Every element of the product has to have the bits of `dot::canonical`, on the host: after calls, after a launch of the \
graph, and after another launch for another vector.

JSON: one object with `device`, `backend`, `selector`, `fallback_reason`, `rows`, `cols`, `dtype`, `seed`, `repeat`, \
`ok`, `capture_ms`, and `calls` and `graph` with `host_ms` and `device_ms` each.

Exit code: 0 if every element is right, 1 if one is wrong or the device fails, 2 for a mistake in the command line.";

fn main() -> ExitCode {
    program::main(run)
}

/// Runs the program.
///
/// # Errors
/// [`UsageError`](examples::program::UsageError) for a matrix that no memory holds; an error of the device.
pub fn run(options: &Options) -> Result<Output> {
    let progress = Progress::new("preparing the input");
    run_with(options, &|step| progress.step(step))
}

/// Runs the program, which tells `show` what it is doing.
///
/// # Errors
/// As [`run`].
pub fn run_with(options: &Options, show: &dyn Fn(String)) -> Result<Output> {
    let n = matrix_len(options.rows, options.cols)?;
    let device = Device::open(&options.common.device)?;
    for_dtype!(options.elements.dtype, T => multiply::<T>(options, n, &device, show))
}

/// Multiplies a matrix of `n` elements and vectors, and reports.
fn multiply<T: Value>(options: &Options, n: u64, device: &Device, show: &dyn Fn(String)) -> Result<Output> {
    let &Options { rows, cols, ref common, .. } = options;
    let repeat = common.repeats(device);
    let matrix = random::<T>(n, common.seed, 0)?;
    let vectors = [random::<T>(cols, common.seed, 1)?, random::<T>(cols, common.seed, 2)?];
    let show_row = |what: &str, row: usize| {
        // No more often than anybody can read.
        if (row as u64).is_multiple_of(rows.div_ceil(100)) {
            show(format!("{what}: row {} of {}", report::count(row as u64 + 1), report::count(rows)));
        }
    };
    let on_host = |vector| on_host(&matrix, vector, rows, |row| show_row("computing on the host", row));
    let [first, second] = [on_host(&vectors[0])?, on_host(&vectors[1])?];
    show("computing call by call".to_owned());
    let stream = device.stream()?;
    let mut product = Product::new(&stream, &matrix, &vectors[0], usize::try_from(rows)?)?;
    for _ in 0..common.warm_ups(device) {
        product.enqueue()?;
    }
    let calls = match device.properties().backend {
        // The time that the host takes is what counts.
        BackendKind::Cuda => Times::measure(&stream, repeat, || product.enqueue())?,
        BackendKind::Sim => {
            Times::measure(&stream, repeat, || product.enqueue_and_tell(|row| show_row("computing call by call", row)))?
        }
    };
    let mut ok = product.is(&first)?;

    // A launch is one call: there is nothing to tell while it lasts.
    show(format!("computing as a graph, which took {} call by call", report::milliseconds(calls.device_ms)));
    product.result.as_slice_mut().fill_zero()?;
    let (captured, capture_ms) = timed(|| Graph::capture(&stream, product, Product::enqueue));
    let mut graph = captured?;
    for _ in 0..common.warm_ups(device) {
        graph.launch()?;
    }
    let launches = Times::measure(&stream, repeat, || graph.launch())?;
    ok &= graph.resources().is(&first)?;
    show("computing as a graph, for another vector".to_owned());
    // The graph works on what the memory holds when it runs.
    graph.resources_mut().vector.as_slice_mut().copy_from(&vectors[1])?;
    graph.launch()?;
    ok &= graph.resources().is(&second)?;

    let properties = device.properties();
    let report = Report {
        device: &properties.name,
        backend: properties.backend.to_string(),
        selector: &properties.selector,
        fallback_reason: device.fallback_reason(),
        rows,
        cols,
        dtype: T::NAME,
        seed: common.seed,
        repeat,
        ok,
        capture_ms,
        calls,
        graph: launches,
    };
    let text = if common.json { serde_json::to_string(&report)? } else { report.lines(device, &common.device) };
    Ok(Output { text, ok })
}

/// The bits of each row's dot product. `tell` gets each row's number before it is computed.
fn on_host<T: Element>(matrix: &[T], vector: &[T], rows: u64, tell: impl Fn(usize)) -> Result<Vec<u64>> {
    let row = |row: usize| &matrix[row * vector.len()..][..vector.len()];
    let bits = |index| {
        tell(index);
        Ok(dot::canonical(row(index), vector)?.bits())
    };
    (0..usize::try_from(rows)?).map(bits).collect()
}

/// What is on the device.
struct Product<T: Element> {
    dot: Dot<T>,
    matrix: DeviceBuffer<T>,
    vector: DeviceBuffer<T>,
    result: DeviceBuffer<T::Sum>,
}

impl<T: Element> Product<T> {
    fn new(stream: &Stream, matrix: &[T], vector: &[T], rows: usize) -> kernels_common::error::Result<Self> {
        let mut dot = Dot::new(stream)?;
        // Within a capture nothing can be allocated.
        dot.reserve(vector.len())?;
        let (matrix, vector) = (stream.upload(matrix)?, stream.upload(vector)?);
        Ok(Self { dot, matrix, vector, result: stream.alloc_zeros(rows)? })
    }

    /// Queues a call for every row, or has it captured.
    fn enqueue(&mut self) -> kernels_common::error::Result<()> {
        self.enqueue_and_tell(|_| ())
    }

    /// The same. `tell` gets each row's number before its call.
    fn enqueue_and_tell(&mut self, tell: impl Fn(usize)) -> kernels_common::error::Result<()> {
        let Self { dot, matrix, vector, result } = self;
        let cols = vector.len();
        for row in 0..result.len() {
            tell(row);
            let x = matrix.slice(row * cols..(row + 1) * cols)?;
            dot.enqueue(x, &*vector, result.slice_mut(row..=row)?)?;
        }
        Ok(())
    }

    /// Whether the result has these bits.
    fn is(&self, expected: &[u64]) -> Result<bool> {
        Ok(self.result.download()?.iter().map(|value| value.bits()).eq(expected.iter().copied()))
    }
}

/// Milliseconds for all rows.
#[derive(Serialize)]
struct Times {
    /// That the host is busy.
    host_ms: f64,
    /// Between events on the device.
    device_ms: f64,
}

impl Times {
    fn measure(
        stream: &Stream,
        repeat: u32,
        mut work: impl FnMut() -> kernels_common::error::Result<()>,
    ) -> Result<Times> {
        let (mut host, mut device) = (Vec::new(), Vec::new());
        for _ in 0..repeat {
            let mut queued = 0.0;
            device.push(device_ms(stream, || {
                let (done, ms) = timed(&mut work);
                queued = ms;
                done
            })?);
            host.push(queued);
        }
        Ok(Times { host_ms: median(&host), device_ms: median(&device) })
    }
}

/// What the program has to say.
#[derive(Serialize)]
struct Report<'a> {
    device: &'a str,
    backend: String,
    selector: &'a str,
    fallback_reason: Option<&'a str>,
    rows: u64,
    cols: u64,
    dtype: &'static str,
    seed: u64,
    repeat: u32,
    ok: bool,
    capture_ms: f64,
    calls: Times,
    graph: Times,
}

impl Report<'_> {
    fn lines(&self, device: &Device, selector: &str) -> String {
        let mut lines = device_lines(device, selector);
        let (rows, cols) = (report::count(self.rows), report::count(self.cols));
        lines.add("input", format!("{rows} × {cols} {}, made up from seed {}", self.dtype, self.seed));
        lines.add("repetitions", self.repeat);
        let times = |Times { host_ms, device_ms }: &Times| {
            format!("host {}, device {}", report::milliseconds(*host_ms), report::milliseconds(*device_ms))
        };
        lines.add("call by call", times(&self.calls));
        lines.add("as a graph", times(&self.graph));
        lines.add("capture", report::milliseconds(self.capture_ms));
        let verdict = if self.ok { "the same as on the host" } else { "WRONG" };
        lines.add("bits", verdict);
        lines.to_string()
    }
}
