//! Lanes that do not wait for each other, and operations of a warp that name the wrong lanes.

use crate::common::{Params, Random, launch};
use crate::corpus::{Case, check, source};

#[test]
fn warp_sum() {
    let x = Random(1).list(5 * 64, |r| r.within(-1000, 1000) as f32);
    let sums: Vec<f32> = x.chunks(64).map(|block| block.iter().sum()).collect();
    check(source!("warp_sum"), |device| {
        let (dx, ds) = (device.upload(&x), device.allocate::<f32>(5));
        Case::new(launch(5, 64), Params::new().add(dx).add(ds)).leaves(ds, &sums)
    });
}

#[test]
fn ballot() {
    let n = 64 + 45usize;
    let x = Random(2).list(n, |r| r.within(-1000, 1000) as i32);
    let evens = |warp: &[i32]| {
        let mut kept: Vec<i32> = warp.iter().copied().filter(|x| x % 2 == 0).collect();
        kept.resize(32, -1);
        kept
    };
    let expected: Vec<i32> = x.chunks(32).flat_map(evens).collect();
    check(source!("ballot"), |device| {
        let (dx, kept) = (device.upload(&x), device.allocate::<i32>(128));
        Case::new(launch(2, 64), Params::new().add(dx).add(kept).add(n as i32)).leaves(kept, &expected)
    });
}

#[test]
fn shuffle() {
    let x = Random(3).list(150, |r| if r.next() % 4 == 0 { 0 } else { r.within(-1000, 1000) as i32 });
    let sums: Vec<i32> = x.chunks(32).map(|warp| warp.iter().sum()).collect();
    check(source!("shuffle"), |device| {
        let (dx, ds) = (device.upload(&x), device.allocate::<i32>(5));
        Case::new(launch(3, 64), Params::new().add(dx).add(ds).add(150i32)).leaves(ds, &sums)
    });
}

#[test]
fn redux() {
    let mut x = Random(4).list(4 * 32, |r| r.within(-1000, 1000) as i32);
    x[32..64].fill(-1);
    let sums: Vec<i32> = x.chunks(32).map(|warp| warp.iter().filter(|&&x| x > 0).sum()).collect();
    check(source!("redux", 80), |device| {
        let (dx, ds) = (device.upload(&x), device.allocate::<i32>(4));
        Case::new(launch(2, 64), Params::new().add(dx).add(ds)).leaves(ds, &sums)
    });
}

#[test]
fn tiles() {
    let x = Random(5).list(3 * 64, |r| r.within(0, 20) as i32);
    let mut sorted = x.clone();
    for (tile, part) in sorted.chunks_mut(8).enumerate() {
        part.sort_unstable();
        if tile % 2 == 1 {
            part.reverse();
        }
    }
    check(source!("tiles"), |device| {
        let dx = device.upload(&x);
        Case::new(launch(3, 64), Params::new().add(dx)).leaves(dx, &sorted)
    });
}
