//! CUDA kernels as practitioners write them, which nothing in this repository needs: the compiler's PTX for two compute
//! capabilities, in many orders of blocks, warps and paths, against plain Rust.
//!
//! `NAME.sm_75.ptx` and `NAME.sm_80.ptx` are made from `NAME.cu` by `scripts/regenerate-ptx.sh`.

#[path = "../common/mod.rs"]
mod common;

mod grids;
mod language;
mod locks;
mod numbers;
mod reals;
mod scans;
mod tables;
mod warps;

use std::sync::Arc;

use common::{Device, Random, launch};
use ptx_sim::ptx::Module;
use ptx_sim::schedules::Seeds;
use ptx_sim::{Checks, Config, Counters, Launch, LoadError};

/// Schedules that every kernel runs under, unless `PTX_SIM_SEEDS` says otherwise.
const SEEDS: u64 = 16;

/// The PTX of the source `$name.cu`: its name, and the text for each compute capability.
macro_rules! ptx {
    ($name:literal) => {
        [
            (concat!($name, ".sm_75.ptx"), include_str!(concat!($name, ".sm_75.ptx"))),
            (concat!($name, ".sm_80.ptx"), include_str!(concat!($name, ".sm_80.ptx"))),
        ]
    };
}
use ptx;

/// Runs `test` on each PTX under every schedule, and on several threads of the host, with all checks; what one thread
/// counts, several do.
fn every(ptx: [(&'static str, &'static str); 2], test: impl Fn(&mut Device)) {
    let counted = every_run(ptx, &test);
    for (name, [one, several]) in counted {
        assert_eq!(one, several, "{name}, one thread of the host and four");
    }
}

/// [`every`] for kernels whose way or addresses depend on which block comes first: their counters differ from run to
/// run where blocks run beside each other.
fn every_in_any_order(ptx: [(&'static str, &'static str); 2], test: impl Fn(&mut Device)) {
    every_run(ptx, &test);
}

/// The runs of [`every`], compiled once for all tests: what each PTX counts on one thread of the host and on four.
fn every_run(ptx: [(&'static str, &'static str); 2], test: &dyn Fn(&mut Device)) -> [(&'static str, [Counters; 2]); 2] {
    ptx.map(|(name, text)| {
        let module = Arc::new(Module::parse(name, text).unwrap());
        let outcome = Seeds::from_environment(SEEDS).unwrap().try_each_named(
            |seed| format!("in {name}, {}", Seeds::repeat(seed)),
            |seed| {
                // Results do not depend on the processor's instructions: half of the runs go without.
                let portable = seed.is_some_and(|seed| seed % 2 == 1);
                let config = Config { seed, checks: Checks::ALL, portable, ..Config::default() };
                test(&mut Device::loaded(config, module.clone())?);
                Ok::<(), LoadError>(())
            },
        );
        outcome.unwrap_or_else(|failure| panic!("{failure}"));
        let counted = [1, 4].map(|threads| {
            let mut config = Config { threads, checks: Checks::ALL, ..Config::default() };
            // The search for races takes one thread.
            config.checks.races = false;
            let mut device = Device::loaded(config, module.clone()).unwrap();
            test(&mut device);
            device.counters
        });
        (name, counted)
    })
}

/// A launch with dynamic shared memory.
fn launch_shared(blocks: u32, threads: u32, dynamic_shared: u32) -> Launch {
    Launch { dynamic_shared, ..launch(blocks, threads) }
}

/// A launch in two dimensions that covers `width` x `height` elements.
fn launch_2d(width: u32, height: u32, block: [u32; 2]) -> Launch {
    let grid = [width.div_ceil(block[0]), height.div_ceil(block[1]), 1];
    Launch { grid, block: [block[0], block[1], 1], ..Launch::default() }
}
