//! Barriers of a block that not all come to, or not in the number that was agreed.

use crate::common::{Params, Random, launch};
use crate::corpus::{Case, check, source};

#[test]
fn barrier_in_branch() {
    let x = Random(1).list(3 * 128, |r| r.within(-1000, 1000) as i32);
    let sums: Vec<i32> = x.chunks(128).map(|block| block.iter().sum()).collect();
    check(source!("barrier_in_branch"), |device| {
        let (dx, ds) = (device.upload(&x), device.allocate::<i32>(3));
        Case::new(launch(3, 128), Params::new().add(dx).add(ds)).leaves(ds, &sums)
    });
}

#[test]
fn barrier_in_loop() {
    let n = 150usize;
    let x = Random(2).list(2 * n, |r| r.within(0, 10000) as i32);
    let largest: Vec<i32> = x.chunks(n).map(|row| *row.iter().max().unwrap()).collect();
    check(source!("barrier_in_loop"), |device| {
        let (dx, dl) = (device.upload(&x), device.allocate::<i32>(2));
        Case::new(launch(2, 64), Params::new().add(dx).add(dl).add(n as i32)).leaves(dl, &largest)
    });
}

#[test]
fn early_return() {
    let n = 150usize;
    let x = Random(3).list(n, |r| r.within(-1000, 1000) as i32);
    let expected: Vec<i32> = x.chunks(96).flat_map(|block| block.iter().map(|x| x - block[0])).collect();
    check(source!("early_return"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<i32>(n));
        Case::new(launch(2, 96), Params::new().add(dx).add(dy).add(n as i32)).leaves(dy, &expected)
    });
}

#[test]
fn named_barriers() {
    let tiles = 5usize;
    let x = Random(4).list(64 * tiles, |r| r.within(-100, 100) as i32);
    let expected: Vec<i32> = (0..64).map(|t| x.chunks(64).map(|tile| tile[t] * tile[63 - t]).sum()).collect();
    check(source!("named_barriers"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<i32>(64));
        Case::new(launch(1, 128), Params::new().add(dx).add(dy).add(tiles as i32)).leaves(dy, &expected)
    });
}

#[test]
fn waiting() {
    let x = Random(5).list(200, |r| r.within(-100, 100) as i32);
    let ends = [70i32, 70, 200];
    let negative = x.iter().filter(|&&x| x < 0).count() as i32;
    check(source!("waiting"), |device| {
        let (dx, de, dr) = (device.upload(&x), device.upload(&ends), device.allocate::<i32>(1));
        Case::new(launch(1, 128), Params::new().add(dx).add(de).add(dr)).leaves(dr, &[negative])
    });
}
