//! Programs in the CUDA C++ that comes with the toolkit (cooperative groups, libcu++, CUB), and with what the language
//! has besides plain kernels: calls by address, `printf`, `assert`, `new`. For three compute capabilities, since the
//! compiler chooses other instructions for each, and in many orders.

#[path = "../common/mod.rs"]
mod common;

mod blocks;
mod groups;
mod numbers;
mod objects;
mod pipelines;
mod reports;

use std::sync::Arc;

use common::{Device, Random};
use ptx_sim::ptx::Module;
use ptx_sim::{Checks, Config};

/// Orders in which every kernel runs: the plain one, and shuffled ones.
const ORDERS: u64 = 8;

/// The PTX of the source `$name.cu` for each compute capability, with its name.
macro_rules! ptx {
    ($name:literal) => {
        [
            (concat!($name, ".sm_75.ptx"), include_str!(concat!($name, ".sm_75.ptx"))),
            (concat!($name, ".sm_80.ptx"), include_str!(concat!($name, ".sm_80.ptx"))),
            (concat!($name, ".sm_90.ptx"), include_str!(concat!($name, ".sm_90.ptx"))),
        ]
    };
}
use ptx;

/// Says which run a failed assertion belongs to.
struct Run<'a>(&'a str, Option<u64>);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {} with seed {:?}", self.0, self.1);
        }
    }
}

/// Runs `test` on each PTX, which is given the compute capability too, in every order, with all checks.
fn every(ptx: &[(&'static str, &'static str)], test: &dyn Fn(&mut Device, (u32, u32))) {
    for (name, text) in ptx {
        let module = Arc::new(Module::parse(name, text).unwrap());
        let capability = module.target().capability;
        for order in 0..ORDERS {
            let seed = order.checked_sub(1);
            let _run = Run(name, seed);
            // Results do not depend on the processor's instructions: half of the runs go without.
            let config = Config { seed, checks: Checks::ALL, portable: order % 2 == 1, ..Config::default() };
            test(&mut Device::loaded(config, module.clone()).unwrap(), capability);
        }
    }
}

/// Small numbers, repeatable.
fn numbers(seed: u64, n: usize, low: i64, high: i64) -> Vec<i32> {
    Random(seed).list(n, |random| random.within(low, high) as i32)
}
