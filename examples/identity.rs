//! |x + y|² = |x|² + 2 x·y + |y|²: crates composed on one stream.
//!
//! ```text
//! cargo run --release --example identity
//! cargo run --release --example identity -- --n 2^24 --dtype f64 --json
//! ```
//!
//! One vector addition and four dot products are queued one after another. Each finds its input where the one before
//! left it, in the device's memory: the host waits once, at the end, and reads four numbers.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use dot::Dot;
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
use examples::timing::{device_ms, median};
use kernels_common::device::Device;
use kernels_common::element::{Accumulator, Element};
use kernels_common::memory::DeviceBuffer;
use kernels_common::oracle;
use kernels_common::order;
use kernels_common::stream::Stream;
use serde::Serialize;
use vecadd::VecAdd;

/// Computes both sides of |x + y|² = |x|² + 2 x·y + |y|² without leaving the device.
#[derive(Parser, Debug)]
#[command(name = "identity", after_long_help = NOTES)]
pub struct Options {
    #[command(flatten)]
    vectors: VectorOptions,

    #[command(flatten)]
    common: CommonOptions,
}

const NOTES: &str = "\
The time is device time between two events around all five launches, the median of the repetitions.

Each of the four dot products is compared with the exact one. The two sides differ by no more than what the four may \
be off by, and what rounding x + y to the type of the elements has changed; integers, which wrap around, agree exactly \
as long as x + y does not overflow.

Exit code: 0 if all of that holds, 1 if not or if the device fails, 2 for a mistake in the command line or in an input \
file.";

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

/// The four products, in this order everywhere.
const NAMES: [&str; 4] = ["|x + y|²", "|x|²", "x·y", "|y|²"];

fn compare<T: Value>(options: &Options, source: Source, device: &Device) -> Result<Output> {
    let setting = Setting::new(&options.common, &source, device);
    let progress = Progress::new("preparing the input");
    let Pair { x, y } = source.load::<T>()?;
    progress.step("computing on the device");
    let stream = device.stream()?;
    let mut chain = Chain::new(&stream, &x, &y)?;
    for _ in 0..options.common.warm_ups(device) {
        chain.enqueue()?;
    }
    let times: Result<Vec<f64>, _> = (0..setting.repeat).map(|_| device_ms(&stream, || chain.enqueue())).collect();
    let found = chain.products.download()?;

    progress.step("computing on the host");
    let sum: Vec<T> = x.iter().zip(y.iter()).map(|(&x, &y)| T::add(x, y)).collect();
    let exact = [oracle::dot(&sum, &sum), oracle::dot(&x, &x), oracle::dot(&x, &y), oracle::dot(&y, &y)];
    let depth = order::depth::<T>(setting.n).into();
    let checks: [Check; 4] = std::array::from_fn(|i| check(found[i], &exact[i], depth, 2 * setting.n));
    drop(progress);

    let value = |i: usize| found[i];
    let right = value(1).add(value(2)).add(value(2)).add(value(3));
    let [left_exact, xx, xy, yy] = exact.map(|exact| exact.parts.0);
    let rounding = (left_exact - (xx + 2.0 * xy + yy)).abs();
    let [a, b, c, d] = checks.map(|check| check.bound);
    let difference = (value(0).to_f64() - right.to_f64()).abs();
    // The additions of the right side round too, three times at most.
    let own = 3.0 * T::Sum::UNIT_ROUNDOFF * (xx + 2.0 * xy.abs() + yy);
    let bound = a + b + 2.0 * c + d + rounding + own;
    let holds = if T::IS_FLOAT { difference <= bound || !bound.is_finite() } else { value(0).bits() == right.bits() };
    let report = Report {
        ok: holds && checks.iter().all(|check| check.ok),
        left: Number::from_sum(value(0)),
        right: Number::from_sum(right),
        difference,
        bound: if T::IS_FLOAT { bound } else { 0.0 },
        products: std::array::from_fn(|i| Number::from_sum(found[i])),
        total_ms: median(&times?),
        setting,
    };
    let ok = report.ok;
    let text = if options.common.json { serde_json::to_string(&report)? } else { report.lines().to_string() };
    Ok(Output { text, ok })
}

/// What is on the device: the vectors, their sum, and the four products.
struct Chain<T: Element> {
    add: VecAdd<T>,
    dot: Dot<T>,
    x: DeviceBuffer<T>,
    y: DeviceBuffer<T>,
    sum: DeviceBuffer<T>,
    products: DeviceBuffer<T::Sum>,
}

impl<T: Element> Chain<T> {
    fn new(stream: &Stream, x: &[T], y: &[T]) -> kernels_common::error::Result<Self> {
        let mut dot = Dot::new(stream)?;
        dot.reserve(x.len())?;
        Ok(Self {
            add: VecAdd::new(stream)?,
            dot,
            x: stream.upload(x)?,
            y: stream.upload(y)?,
            sum: stream.alloc_uninit(x.len())?,
            products: stream.alloc_uninit(NAMES.len())?,
        })
    }

    /// Queues everything. Nothing here waits.
    fn enqueue(&mut self) -> kernels_common::error::Result<()> {
        let Self { add, dot, x, y, sum, products } = self;
        add.add(&*x, &*y, &mut *sum)?;
        let pairs = [(&*sum, &*sum), (&*x, &*x), (&*x, &*y), (&*y, &*y)];
        for (i, (left, right)) in pairs.into_iter().enumerate() {
            dot.enqueue(left, right, products.slice_mut(i..=i)?)?;
        }
        Ok(())
    }
}

/// What the program has to say.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    setting: Setting,
    ok: bool,
    left: Number,
    right: Number,
    #[serde(serialize_with = "json::float")]
    difference: f64,
    #[serde(serialize_with = "json::float")]
    bound: f64,
    products: [Number; 4],
    total_ms: f64,
}

impl Report {
    fn lines(&self) -> Lines {
        let mut lines = self.setting.lines();
        for (name, product) in NAMES.into_iter().zip(self.products) {
            lines.add(name, product);
        }
        lines.add("right side", self.right);
        let verdict = if self.ok { "ok" } else { "WRONG" };
        let (difference, bound) = (report::rounded(self.difference), report::rounded(self.bound));
        lines.add("difference", format_args!("{difference} of at most {bound}: {verdict}"));
        lines.add("five launches", report::milliseconds(self.total_ms));
        lines
    }
}
