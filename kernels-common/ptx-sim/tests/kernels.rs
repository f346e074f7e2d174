//! Whole kernels, as nvcc compiles them.

mod common;

use common::{Device, KERNELS, Params, launch};
use ptx_sim::{Config, FaultKind, Launch};

/// Small whole numbers, whose sums are exact in any order.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 17) as f32 - 8.0).collect()
}

fn configs() -> impl Iterator<Item = Config> {
    let seeds = [None, Some(1), Some(2), Some(3)];
    let portable = [false, true];
    let mut together = Config { threads: 4, ..Config::default() };
    // The search for races takes one thread.
    together.checks.races = false;
    portable
        .into_iter()
        .flat_map(move |portable| seeds.map(|seed| Config { seed, portable, multiprocessors: 16, ..Config::default() }))
        .chain([together])
}

#[test]
fn vector_add() {
    for config in configs() {
        let mut device = Device::with(config, KERNELS);
        let n = 1000;
        let (x, y) = (numbers(n), numbers(2 * n)[n..].to_vec());
        let (dx, dy, dz) = (device.upload(&x), device.upload(&y), device.allocate::<f32>(n));
        let params = || Params::new().add(dx).add(dy).add(dz).add(n as u64);
        device.launch("vector_add", launch(4, 256), params());
        let sums: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
        assert_eq!(device.download::<f32>(dz, n), sums);
        device.simulator.fill(dz, 4 * n as u64, &[0]).unwrap();
        let params = Params::new().add(dx).add(dy).add(dz).add(n as u64 / 4);
        device.launch("vector_add_packets", launch(1, 256), params);
        assert_eq!(device.download::<f32>(dz, n), sums);
    }
}

#[test]
fn sums() {
    for config in configs() {
        let mut device = Device::with(config, KERNELS);
        let n = 64 * 256;
        let x = numbers(n);
        let total: f32 = x.iter().sum();
        let dx = device.upload(&x);
        for name in ["tree_interleaved", "tree_strided", "tree_sequential"] {
            let partials = device.allocate::<f32>(64);
            device.launch(name, launch(64, 256), Params::new().add(dx).add(partials));
            let expected: Vec<f32> = x.chunks(256).map(|chunk| chunk.iter().sum()).collect();
            assert_eq!(device.download::<f32>(partials, 64), expected, "{name}");
        }
        for name in ["one_atomic_per_element", "warp_leader"] {
            let out = device.upload(&[0f32]);
            device.launch(name, launch(64, 256), Params::new().add(dx).add(out));
            assert_eq!(device.download::<f32>(out, 1), [total], "{name}");
        }
        let out = device.upload(&[0f32]);
        device.launch("shuffle_sum", launch(8, 256), Params::new().add(dx).add(out).add(n as u64));
        assert_eq!(device.download::<f32>(out, 1), [total], "shuffle_sum");

        let (partials, out) = (device.allocate::<f32>(8), device.allocate::<f32>(1));
        let cooperative = Launch { cooperative: true, ..launch(8, 256) };
        let params = Params::new().add(dx).add(partials).add(out).add(n as u64);
        device.launch("grid_barrier_sum", cooperative, params);
        assert_eq!(device.download::<f32>(out, 1), [total], "grid_barrier_sum");

        let (partials, counter, out) = (device.allocate::<f32>(8), device.upload(&[0u32]), device.allocate::<f32>(1));
        let params = Params::new().add(dx).add(partials).add(counter).add(out).add(n as u64);
        device.launch("last_block_sum", launch(8, 256), params);
        assert_eq!(device.download::<f32>(out, 1), [total], "last_block_sum");
    }
}

/// A sum over a warp by shuffles needs whole warps: with a block that is no multiple of 32, lanes are read that are not
/// there.
#[test]
fn a_shuffle_reads_lanes_that_are_not_there() {
    for (threads, present) in [(33u32, 0x1), (45, 0x1fff), (48, 0xffff)] {
        for config in configs() {
            let mut device = Device::with(config, KERNELS);
            let (x, out) = (device.upload(&[1f32; 1000]), device.upload(&[0f32]));
            let params = Params::new().add(x).add(out).add(1000u64);
            let fault = device.try_launch("shuffle_sum", launch(1, threads), params).unwrap_err();
            let FaultKind::AbsentLane { members, present: found, lane } = fault.kind else { panic!("{fault}") };
            assert_eq!((members, found), (u32::MAX, present), "{threads} threads");
            assert!(present >> lane & 1 == 0 && fault.thread.is_some_and(|thread| thread[0] >= 32), "{fault}");
            assert!(fault.to_string().contains("absent lane"), "{fault}");
        }
    }
}

#[test]
fn dot() {
    for config in configs() {
        let mut device = Device::with(config, KERNELS);
        let n = 40_000;
        let (x, y) = (numbers(n), numbers(n + 5)[5..].to_vec());
        let product: f32 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        let (dx, dy, out) = (device.upload(&x), device.upload(&y), device.upload(&[0f32]));
        device.launch("dot_packets", launch(3, 512), Params::new().add(dx).add(dy).add(out).add(n as u64 / 4));
        assert_eq!(device.download::<f32>(out, 1), [product]);
        let n = 156 * 256;
        let product: f32 = x[..n].iter().zip(&y).map(|(x, y)| x * y).sum();
        let out = device.upload(&[0f32]);
        device.launch("dot_tree", launch(156, 256), Params::new().add(dx).add(dy).add(out));
        assert_eq!(device.download::<f32>(out, 1), [product]);
    }
}

#[test]
fn transposes() {
    for config in configs() {
        let mut device = Device::with(config, KERNELS);
        let (width, height) = (96usize, 64usize);
        let x = numbers(width * height);
        let dx = device.upload(&x);
        for name in ["transpose_32", "transpose_33"] {
            let out = device.allocate::<f32>(width * height);
            let shape = Launch { grid: [3, 2, 1], block: [32, 8, 1], ..Launch::default() };
            device.launch(name, shape, Params::new().add(dx).add(out).add(width as u32).add(height as u32));
            let y = device.download::<f32>(out, width * height);
            assert!(
                (0..height).all(|row| (0..width).all(|column| y[column * height + row] == x[row * width + column]))
            );
        }
    }
}
