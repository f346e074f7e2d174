//! The host's cost of a launch, beside that of a bare `cuLaunchKernel`.
//!
//! Every way launches the same kernel on the same stream, with arguments of the same kind. A round takes the ways in
//! turn, each beginning where the one of the last round was second: several launches each, with an idle device before
//! and a wait after, which is not part of the time. So the queue is never full, and what disturbs the machine meets
//! all ways alike. A ratio is of two times of one round.

use std::num::NonZeroU32;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use dot::Dot;
use examples::input::random;
use examples::options::{parse_between, parse_count, parse_times};
use examples::report::Table;
use examples::timing::timed;
use kernels_common::device::Device;
use kernels_common::error::Result as KernelResult;
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::DeviceBuffer;
use kernels_common::module;
use kernels_common::order;
use kernels_common::stream::Stream;
use serde::Serialize;
use vecadd::VecAdd;

use crate::Measured;
use crate::bare::{self, Bare};
use crate::statistics::Summary;

/// Options of this measurement.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Number of elements, 1 to 2^20: few, so that the device keeps up with the host
    #[arg(long, value_name = "N", default_value = "1024", value_parser = parse_n, allow_negative_numbers = true)]
    n: u64,

    /// How many rounds
    #[arg(long, value_name = "TIMES", default_value = "101", value_parser = parse_times, allow_negative_numbers = true)]
    rounds: NonZeroU32,

    /// Launches of each way in a round, 1 to 500: the driver's queue holds more
    #[arg(long, value_name = "TIMES", default_value_t = 200, value_parser = parse_launches, allow_negative_numbers = true)]
    launches: u32,

    /// The stream to launch on
    #[arg(long, value_enum, default_value = "own")]
    stream: StreamKind,

    /// Fail if a way takes more than this many times as long as the bare launch
    #[arg(long, value_name = "RATIO", value_parser = crate::parse_limit, allow_negative_numbers = true)]
    check: Option<f64>,
}

fn parse_launches(text: &str) -> Result<u32, String> {
    parse_between(text, 1..=500)
}

fn parse_n(text: &str) -> Result<u64, String> {
    match parse_count(text)? {
        n @ 1..=0x10_0000 => Ok(n),
        n => Err(format!("{n} is not between 1 and 2^20")),
    }
}

/// Who made a stream.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum StreamKind {
    /// Made by the runtime
    Own,
    /// Made with cudarc and shared with the runtime, which asks before each launch whether it is being captured
    Shared,
}

/// One way to launch a kernel, with memory for its result.
trait Way {
    fn name(&self) -> &'static str;

    /// Launches once.
    fn launch(&mut self) -> Result<()>;

    /// Where the result goes.
    fn output(&mut self) -> &mut DeviceBuffer<f32>;

    /// Launches several times. Compiled for each way, so that nothing is called indirectly between two launches.
    fn launch_times(&mut self, times: u32) -> Result<()> {
        for _ in 0..times {
            self.launch()?;
        }
        Ok(())
    }
}

/// A bare launch.
struct BareWay {
    bare: Bare,
    output: DeviceBuffer<f32>,
    /// Other memory that the kernel uses.
    _scratch: Option<(DeviceBuffer<f32>, DeviceBuffer<u32>)>,
}

impl Way for BareWay {
    fn name(&self) -> &'static str {
        "cuLaunchKernel"
    }

    #[inline]
    fn launch(&mut self) -> Result<()> {
        // SAFETY: whoever made this answers for values and shape. It holds output and scratch memory, the inputs and
        // the stream outlive it, and the context is current on this thread, which alone uses it.
        unsafe { self.bare.launch() }
    }

    fn output(&mut self) -> &mut DeviceBuffer<f32> {
        &mut self.output
    }
}

/// A launch through the runtime.
struct RuntimeWay<F> {
    name: &'static str,
    launch: F,
    output: DeviceBuffer<f32>,
}

impl<F: FnMut(&mut DeviceBuffer<f32>) -> KernelResult<()>> Way for RuntimeWay<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    fn launch(&mut self) -> Result<()> {
        Ok((self.launch)(&mut self.output)?)
    }

    fn output(&mut self) -> &mut DeviceBuffer<f32> {
        &mut self.output
    }
}

/// One kernel, launched in one way.
#[derive(Clone, Debug, Serialize)]
struct Row {
    kernel: &'static str,
    way: &'static str,
    /// Nanoseconds of the host for one launch.
    ns: Summary,
    /// How many times as long as the bare launch that takes.
    ratio: Summary,
}

/// Measures.
///
/// # Errors
/// A wrong result, an error of the device.
pub(crate) fn run(options: &Options, device: &Device) -> Result<Measured> {
    let stream = match options.stream {
        StreamKind::Own => device.stream()?,
        StreamKind::Shared => {
            let context = device.to_cudarc().context("the device is no GPU")?;
            Stream::from_cudarc(device, context.new_stream()?)?
        }
    };
    let (x, y) = (random::<f32>(options.n, 0, 0)?, random::<f32>(options.n, 0, 1)?);
    let mut rows = dot_rows(options, &stream, &x, &y)?;
    rows.extend(add_rows(options, &stream, &x, &y)?);

    let mut table = Table::new(&["kernel", "way"], &["ns", "spread", "ratio", "spread", "max"]);
    for Row { kernel, way, ns, ratio } in &rows {
        let cells = [ns.median, ns.spread].map(|ns| format!("{ns:.0}"));
        let ratios = [ratio.median, ratio.spread, ratio.max].map(|ratio| format!("{ratio:.3}"));
        table.row([(*kernel).to_owned(), (*way).to_owned()].into_iter().chain(cells).chain(ratios));
    }
    Ok(Measured {
        name: "launch",
        text: table.to_string(),
        results: serde_json::to_value(&rows)?,
        failures: failures(options.check, &rows),
    })
}

/// What takes more than `limit` times as long as the bare launch.
fn failures(limit: Option<f64>, rows: &[Row]) -> Vec<String> {
    let Some(limit) = limit else { return Vec::new() };
    let beyond = rows.iter().filter(|row| row.ratio.median > limit);
    let describe = |row: &Row| {
        let Row { kernel, way, ratio, .. } = row;
        format!("{way} of {kernel} takes {:.3} times as long as a bare launch, more than {limit}", ratio.median)
    };
    beyond.map(describe).collect()
}

fn dot_rows(options: &Options, stream: &Stream, x: &[f32], y: &[f32]) -> Result<Vec<Row>> {
    const NAME: &str = "dot_f32";
    let n = x.len() as u64;
    let expected = [dot::canonical(x, y)?];
    let (x, y) = (stream.upload(x)?, stream.upload(y)?);

    // Every grid gives the same bits. This one is that of `Dot` where the device holds all virtual blocks at once.
    let virtual_blocks = order::virtual_blocks::<f32>(n);
    let blocks = virtual_blocks.min(2 * u64::from(stream.device().properties().multiprocessors)) as u32;
    let (threads, log2_v) = (order::THREADS as u32, order::virtual_block::<f32>(n).ilog2());
    // The last block reads whole runs of partials.
    let partials = virtual_blocks.next_multiple_of(8) as usize;
    let scratch = || anyhow::Ok((stream.alloc_zeros::<f32>(partials)?, stream.alloc_zeros::<u32>(1)?));

    let output = stream.alloc_zeros(1)?;
    let (partials, counter) = scratch()?;
    let pointers = [partials.as_slice().address(), counter.as_slice().address(), output.as_slice().address()];
    let values =
        [[x.as_slice().address(), y.as_slice().address(), n, log2_v.into(), virtual_blocks].as_slice(), &pointers]
            .concat();
    let text = bare::text_of(stream, dot::PTX, &[NAME])?;
    let bare = Bare::new(stream, &text, NAME, (blocks, threads), values)?;
    let mut bare = BareWay { bare, output, _scratch: Some((partials, counter)) };

    let [kernel] = module::load(stream, dot::PTX, [NAME])?;
    let config = LaunchConfig::linear(blocks, threads);
    let (mut partials, mut counter) = scratch()?;
    let launch = |output: &mut DeviceBuffer<f32>| {
        let (partials, counter) = (partials.as_slice_mut(), counter.as_slice_mut());
        // SAFETY: x and y have n elements, the output has one, there is a partial for every virtual block, and the
        // counter is zero: each launch leaves it so.
        unsafe {
            kernel.launch(
                config,
                (
                    x.as_slice(),
                    y.as_slice(),
                    n,
                    log2_v,
                    virtual_blocks as u32,
                    partials,
                    counter,
                    output.as_slice_mut(),
                ),
            )
        }
    };
    let mut launch = RuntimeWay { name: "Kernel::launch", launch, output: stream.alloc_zeros(1)? };

    let mut dot = Dot::<f32>::new(stream)?;
    let enqueue = |output: &mut DeviceBuffer<f32>| dot.enqueue(&x, &y, output);
    let mut enqueue = RuntimeWay { name: "Dot::enqueue", launch: enqueue, output: stream.alloc_zeros(1)? };

    compare(options, stream, NAME, &mut [&mut bare, &mut launch, &mut enqueue], &expected)
}

fn add_rows(options: &Options, stream: &Stream, x: &[f32], y: &[f32]) -> Result<Vec<Row>> {
    const NAME: &str = "vecadd_packets_f32";
    /// Threads of a block, and elements of a thread's packet.
    const THREADS: u32 = 1024;
    const PACKET: u64 = 4;
    let n = x.len() as u64;
    let mut expected = vec![0.0; x.len()];
    vecadd::add_on_host(x, y, &mut expected);
    let (x, y) = (stream.upload(x)?, stream.upload(y)?);
    let config = LaunchConfig::covering(n.div_ceil(PACKET), THREADS)?;

    let output = stream.alloc_zeros::<f32>(expected.len())?;
    let values = vec![x.as_slice().address(), y.as_slice().address(), output.as_slice().address(), n];
    let text = bare::text_of(stream, vecadd::PTX, &[NAME])?;
    let bare = Bare::new(stream, &text, NAME, (config.grid[0], THREADS), values)?;
    let mut bare = BareWay { bare, output, _scratch: None };

    let [kernel] = module::load(stream, vecadd::PTX, [NAME])?;
    let launch = |output: &mut DeviceBuffer<f32>| {
        // SAFETY: all three have n elements, and there is a thread for every packet.
        unsafe { kernel.launch(config, (x.as_slice(), y.as_slice(), output.as_slice_mut(), n)) }
    };
    let mut launch = RuntimeWay { name: "Kernel::launch", launch, output: stream.alloc_zeros(expected.len())? };

    let add = VecAdd::<f32>::new(stream)?;
    let enqueue = |output: &mut DeviceBuffer<f32>| add.add(&x, &y, output);
    let mut enqueue = RuntimeWay { name: "VecAdd::add", launch: enqueue, output: stream.alloc_zeros(expected.len())? };

    compare(options, stream, NAME, &mut [&mut bare, &mut launch, &mut enqueue], &expected)
}

/// Checks and times several ways, of which the first is the bare one.
fn compare(
    options: &Options,
    stream: &Stream,
    kernel: &'static str,
    ways: &mut [&mut dyn Way],
    expected: &[f32],
) -> Result<Vec<Row>> {
    let mut checked_and_timed = || {
        check(ways, expected, 1).context(kernel)?;
        let times = sample(options, stream, ways)?;
        check(ways, expected, options.launches).context(kernel)?;
        Ok(times)
    };
    let times: Result<Vec<Vec<f64>>> = checked_and_timed();
    // Whatever happened, no kernel may be running when modules and memory go.
    stream.synchronize()?;
    let times = times?;
    let row = |(way, ns): (&&mut dyn Way, &Vec<f64>)| {
        let ratios: Vec<f64> = ns.iter().zip(&times[0]).map(|(ns, bare)| ns / bare).collect();
        Row { kernel, way: way.name(), ns: Summary::of(ns), ratio: Summary::of(&ratios) }
    };
    Ok(ways.iter().zip(&times).map(row).collect())
}

/// Fails unless every way computes what it should, also at the end of several launches.
fn check(ways: &mut [&mut dyn Way], expected: &[f32], launches: u32) -> Result<()> {
    for way in ways {
        way.output().as_slice_mut().fill_zero()?;
        way.launch_times(launches)?;
        let found = way.output().download()?;
        if let Some(mismatch) = examples::check::compare(&found, |index| expected[index]) {
            bail!("{}: {mismatch}", way.name());
        }
    }
    Ok(())
}

/// Nanoseconds of a launch, for each way in each round.
fn sample(options: &Options, stream: &Stream, ways: &mut [&mut dyn Way]) -> Result<Vec<Vec<f64>>> {
    let mut times = vec![Vec::new(); ways.len()];
    for round in 0..=options.rounds.get() as usize {
        for turn in 0..ways.len() {
            let index = (round + turn) % ways.len();
            stream.synchronize()?;
            let (launched, ms) = timed(|| ways[index].launch_times(options.launches));
            launched?;
            // The first round is a warm-up.
            if round > 0 {
                times[index].push(ms * 1e6 / f64::from(options.launches));
            }
        }
    }
    stream.synchronize()?;
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_elements_is_small() {
        assert_eq!(parse_n("2^20"), Ok(1 << 20));
        assert!(parse_n("0").is_err() && parse_n("2^20+1").is_err() && parse_n("x").is_err());
    }

    #[test]
    fn only_ways_beyond_the_limit_fail() {
        let row = |way, ratio| Row { kernel: "k", way, ns: Summary::of(&[100.0]), ratio: Summary::of(&[ratio]) };
        let rows = [row("bare", 1.0), row("slow", 1.4), row("fast", 1.3)];
        assert_eq!(failures(None, &rows), [""; 0]);
        let failures = failures(Some(1.3), &rows);
        assert_eq!(failures.len(), 1);
        assert!(failures[0].starts_with("slow of k takes 1.400 times"), "{failures:?}");
    }

    #[test]
    fn wrong_results_are_found() {
        let stream = Device::open("sim").unwrap().stream().unwrap();
        let output = || stream.upload(&[1.0f32, 2.0]).unwrap();
        let mut right = RuntimeWay {
            name: "right",
            launch: |out: &mut DeviceBuffer<f32>| out.as_slice_mut().copy_from(&[3.0, 4.0]),
            output: output(),
        };
        let mut idle = RuntimeWay { name: "idle", launch: |_: &mut DeviceBuffer<f32>| Ok(()), output: output() };
        assert!(check(&mut [&mut right], &[3.0, 4.0], 2).is_ok());
        let error = check(&mut [&mut right, &mut idle], &[3.0, 4.0], 2).unwrap_err().to_string();
        assert!(error.starts_with("idle: 2 elements are wrong"), "{error}");
    }
}
