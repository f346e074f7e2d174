//! Blocks that do not order what they do to global memory, and those that wait for what does not come.

use crate::common::{Params, Random, launch};
use crate::corpus::{Case, check, source};
use ptx_sim::Launch;

/// All blocks are resident.
fn cooperative(blocks: u32, threads: u32) -> Launch {
    Launch { cooperative: true, ..launch(blocks, threads) }
}

#[test]
fn last_block() {
    let x = Random(1).list(700, |r| r.within(-1000, 1000) as i32);
    let total: i32 = x.iter().sum();
    check(source!("last_block"), |device| {
        let (dx, partials) = (device.upload(&x), device.allocate::<i32>(5));
        let (arrived, result) = (device.upload(&[0u32]), device.upload(&[0i32]));
        let params = Params::new().add(dx).add(partials).add(arrived).add(result).add(700i32);
        // The counter is ready for the next launch.
        Case::new(launch(5, 64), params).leaves(result, &[total]).leaves(arrived, &[0u32])
    });
}

#[test]
fn lock() {
    let warps = 8;
    check(source!("lock"), |device| {
        let stack = device.upload(&[0i32; 2 + 2 * 64]);
        Case::new(launch(4, 64), Params::new().add(stack)).leaves_such(stack, 2 + 2 * warps, move |found: Vec<i32>| {
            assert_eq!(found[..2], [0, warps as i32]);
            let (mut pushed, heights): (Vec<i32>, Vec<i32>) =
                found[2..].chunks(2).map(|entry| (entry[0], entry[1])).unzip();
            pushed.sort_unstable();
            let all: Vec<i32> = (0..warps as i32).collect();
            assert_eq!((pushed, heights), (all.clone(), all));
        })
    });
}

#[test]
fn message() {
    let x = Random(2).list(64, |r| r.within(-1000, 1000) as i32);
    let table: Vec<i32> = (0..64).map(|i| x[i] * x[63 - i] + 1).collect();
    let expected: Vec<i32> = (0..3 * 64).map(|at| table[(at % 64 + at / 64) % 64]).collect();
    check(source!("message"), |device| {
        let (dx, dt, flag) = (device.upload(&x), device.upload(&[0i32; 64]), device.upload(&[0i32]));
        let dy = device.allocate::<i32>(3 * 64);
        Case::new(cooperative(3, 64), Params::new().add(dx).add(dt).add(flag).add(dy)).leaves(dy, &expected)
    });
}

#[test]
fn look_back() {
    let tiles = 6usize;
    let x = Random(3).list(64 * tiles, |r| r.within(-1000, 1000) as i32);
    let expected: Vec<i32> = x
        .iter()
        .scan(0, |sum, x| {
            *sum += x;
            Some(*sum)
        })
        .collect();
    check(source!("look_back"), |device| {
        let (dx, dy, next) = (device.upload(&x), device.allocate::<i32>(x.len()), device.upload(&[0u32]));
        let (states, status) = (device.upload(&vec![0u64; tiles]), device.upload(&vec![0u32; tiles]));
        let sums = device.upload(&vec![0i32; 2 * tiles]);
        let params = Params::new().add(dx).add(dy).add(next).add(states).add(status).add(sums);
        Case::new(launch(tiles as u32, 64), params).leaves(dy, &expected)
    });
}

#[test]
fn grid_barrier() {
    let (n, steps) = (150usize, 4);
    let x = Random(4).list(n, |r| r.next() as u32);
    let step = |x: Vec<u32>| (0..n).map(|i| x[(i + n - 1) % n].wrapping_add(x[(i + 1) % n])).collect();
    let expected: Vec<u32> = (0..steps).fold(x.clone(), |x, _| step(x));
    check(source!("grid_barrier"), |device| {
        let (a, b, barrier) = (device.upload(&x), device.allocate::<u32>(n), device.upload(&[0u32; 2]));
        let params = Params::new().add(a).add(b).add(n as i32).add(steps).add(barrier);
        Case::new(cooperative(3, 64), params).leaves(a, &expected)
    });
}

#[test]
fn grid_sync() {
    let x = Random(5).list(150, |r| r.within(1, 1000) as i32);
    let most = *x.iter().max().unwrap();
    let expected: Vec<i32> = x.iter().map(|x| 1000 * x / most).collect();
    check(source!("grid_sync"), |device| {
        let (dx, dm) = (device.upload(&x), device.upload(&[0i32]));
        let params = Params::new().add(dx).add(dm).add(150i32);
        Case::new(cooperative(4, 64), params).leaves(dx, &expected).leaves(dm, &[most])
    });
}

#[test]
fn accumulate() {
    let x = Random(6).list(300, |r| r.within(0, 1000) as i32);
    let (total, most) = (x.iter().sum::<i32>(), *x.iter().max().unwrap());
    check(source!("accumulate"), |device| {
        let (dx, ds, dm) = (device.upload(&x), device.upload(&[0i32]), device.upload(&[0i32]));
        let params = Params::new().add(dx).add(ds).add(dm).add(300i32);
        Case::new(launch(5, 64), params).leaves(ds, &[total]).leaves(dm, &[most])
    });
}

#[test]
fn halo() {
    let n = 150usize;
    let x = Random(7).list(n, |r| r.within(-1000, 1000) as i32);
    let at = |i: usize| x.get(i).copied().unwrap_or(0);
    let expected: Vec<i32> = (0..n).map(|i| at(i.wrapping_sub(1)) + 2 * at(i) + at(i + 1)).collect();
    check(source!("halo"), |device| {
        let (dx, dy) = (device.upload(&x), device.upload(&vec![0i32; n]));
        Case::new(launch(3, 64), Params::new().add(dx).add(dy).add(n as i32)).leaves(dy, &expected)
    });
}

#[test]
fn scratch() {
    let (n, blocks) = (250usize, 4);
    let x = Random(8).list(n, |r| r.next() as u8);
    let mut counts = vec![0i32; 16 * blocks];
    x.iter().enumerate().for_each(|(i, &x)| counts[i / 64 * 16 + usize::from(x) % 16] += 1);
    check(source!("scratch"), |device| {
        let (dx, dc) = (device.upload(&x), device.allocate::<i32>(16 * blocks));
        Case::new(launch(blocks as u32, 64), Params::new().add(dx).add(dc).add(n as i32)).leaves(dc, &counts)
    });
}

#[test]
fn atomic_ref() {
    let blocks = 6;
    let x = Random(9).list(32 * blocks, |r| r.within(-1000, 1000) as i32);
    let sums: Vec<i32> = (0..32).map(|t| x.chunks(32).map(|block| block[t]).sum()).collect();
    check(source!("atomic_ref"), |device| {
        let (dx, ds) = (device.upload(&x), device.upload(&[0i32; 32]));
        let (next, done) = (device.upload(&[0u32]), device.upload(&[0u32]));
        let params = Params::new().add(dx).add(ds).add(next).add(done);
        Case::new(launch(blocks as u32, 32), params).leaves(ds, &sums).leaves(done, &[blocks as u32])
    });
}

#[test]
fn once() {
    let x = Random(10).list(4 * 64, |r| r.next() as u8);
    let expected: Vec<i32> = x.iter().map(|&x| (i32::from(x) % 64).pow(2)).collect();
    check(source!("once"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<i32>(4 * 64));
        let (table, state) = (device.allocate::<i32>(64), device.upload(&[0i32]));
        Case::new(launch(4, 64), Params::new().add(dx).add(dy).add(table).add(state)).leaves(dy, &expected)
    });
}
