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

use common::{Device, launch};
use ptx_sim::ptx::Module;
use ptx_sim::{Checks, Config, Launch, Simulator};

/// Orders in which every kernel runs.
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

/// Says which run a failed assertion belongs to.
struct Run<'a>(&'a str, u64);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {} with seed {}", self.0, self.1);
        }
    }
}

/// Runs `test` on each PTX under every seed, with all checks.
fn every(ptx: [(&'static str, &'static str); 2], test: impl Fn(&mut Device)) {
    for (name, text) in ptx {
        let module = Arc::new(Module::parse(name, text).unwrap());
        for seed in 0..SEEDS {
            let _run = Run(name, seed);
            // Results do not depend on the processor's instructions: half of the runs go without.
            let portable = seed % 2 == 1;
            let config = Config { seed: Some(seed), checks: Checks::ALL, portable, ..Config::default() };
            let mut simulator = Simulator::new(config);
            let program = simulator.load(module.clone()).unwrap();
            test(&mut Device { simulator, program });
        }
    }
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

/// Repeatable random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// From `low` up to `high`, both included.
    fn within(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }

    /// From `low` up to `high`.
    fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn list<T>(&mut self, n: usize, mut f: impl FnMut(&mut Random) -> T) -> Vec<T> {
        (0..n).map(|_| f(self)).collect()
    }
}
