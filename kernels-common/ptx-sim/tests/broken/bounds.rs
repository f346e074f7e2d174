//! Addresses that are wrong, memory that holds nothing yet, and work without end.

use crate::common::{Params, Random, launch};
use crate::corpus::{Case, check, source};
use ptx_sim::Launch;

#[test]
fn bounds() {
    let n = 150usize;
    let x = Random(1).list(n, |r| r.within(-1000, 1000) as f32);
    let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
    let expected: Vec<f32> = (0..n).map(|i| 2.0 * at(i) - at(i.wrapping_sub(1)) - at(i + 1)).collect();
    check(source!("bounds"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<f32>(n));
        Case::new(launch(2, 64), Params::new().add(dx).add(dy).add(n as i32)).leaves(dy, &expected)
    });
}

#[test]
fn dynamic_shared() {
    let x = Random(2).list(3 * 64, |r| r.real(-1.0, 1.0) as f32);
    let place = |block: &[f32]| (0..64).max_by(|&a, &b| block[a].total_cmp(&block[b])).unwrap() as i32;
    let places: Vec<i32> = x.chunks(64).map(place).collect();
    check(source!("dynamic_shared"), |device| {
        let (dx, dp) = (device.upload(&x), device.allocate::<i32>(3));
        let shape = Launch { dynamic_shared: 8 * 64, ..launch(3, 64) };
        Case::new(shape, Params::new().add(dx).add(dp)).leaves(dp, &places)
    });
}

#[test]
fn half_filled() {
    let n = 300usize;
    let x = Random(3).list(n, |r| r.within(-1000, 1000) as i32);
    let window = |i: usize| x[i.saturating_sub(2)..(i + 3).min(n)].iter().sum();
    let expected: Vec<i32> = (0..n).map(window).collect();
    check(source!("half_filled"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<i32>(n));
        Case::new(launch(3, 64), Params::new().add(dx).add(dy).add(n as i32)).leaves(dy, &expected)
    });
}

#[test]
fn vector_load() {
    let n = 149usize;
    let x = Random(4).list(n + 1, |r| r.within(-1000, 1000) as f32);
    let expected: Vec<f32> = x[1..].iter().map(|x| 3.0 * x).collect();
    check(source!("vector_load"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<f32>(n + 1));
        Case::new(launch(2, 32), Params::new().add(dx + 4).add(dy + 4).add(n as i32)).leaves(dy + 4, &expected)
    });
}

#[test]
fn optional() {
    let rows = 40usize;
    let w = Random(5).list(32 * rows, |r| r.within(-10, 10) as i32);
    let x = Random(6).list(32, |r| r.within(-10, 10) as i32);
    let expected: Vec<i32> =
        w.chunks(32).map(|row| row.iter().zip(&x).map(|(w, x)| w * x).sum::<i32>().max(0)).collect();
    check(source!("optional"), |device| {
        let (dw, dx, dy) = (device.upload(&w), device.upload(&x), device.allocate::<i32>(rows));
        let params = Params::new().add(dw).add(dx).add(0u64).add(dy).add(rows as i32);
        Case::new(launch(11, 128), params).leaves(dy, &expected)
    });
}

#[test]
fn constants() {
    let (n, factors) = (150usize, [3, 1, 4, 1, 5, 9, 2, 6]);
    let x = Random(7).list(n, |r| r.within(-1000, 1000) as i32);
    let expected: Vec<i32> = x.iter().zip(factors.iter().cycle()).map(|(x, factor)| x * factor).collect();
    check(source!("constants"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<i32>(n));
        let factor = device.program.variable("factor").unwrap();
        let params = Params::new().add(dx).add(dy).add(n as i32).add(factor);
        Case::new(launch(3, 64), params).leaves(dy, &expected).leaves(factor, &factors)
    });
}

#[test]
fn recursion() {
    // Rings of six nodes, one for each of 40 threads, which start somewhere in theirs.
    let (parts, nodes) = (40, 6);
    let next: Vec<i32> = (0..parts * nodes)
        .flat_map(|node| [1, nodes - 1].map(|by| node / nodes * nodes + (node + by) % nodes))
        .collect();
    let start: Vec<i32> = (0..parts).map(|part| part * nodes + part % nodes).collect();
    let labels: Vec<i32> = (0..parts * nodes).map(|node| node / nodes + 1).collect();
    check(source!("recursion"), |device| {
        let (ds, dn, dl) = (device.upload(&start), device.upload(&next), device.upload(&vec![0; labels.len()]));
        Case::new(launch(1, parts as u32), Params::new().add(ds).add(dn).add(dl)).leaves(dl, &labels)
    });
}

#[test]
fn search() {
    let (n, count) = (100usize, 70usize);
    let mut x = Random(9).list(n, |r| r.within(0, 500) as i32);
    x.sort_unstable();
    let keys = Random(10).list(count, |r| r.within(-10, 510) as i32);
    let places: Vec<i32> = keys.iter().map(|key| x.partition_point(|x| x < key) as i32).collect();
    check(source!("search").within(100_000), |device| {
        let (dx, dk, dp) = (device.upload(&x), device.upload(&keys), device.allocate::<i32>(count));
        let params = Params::new().add(dx).add(n as i32).add(dk).add(dp).add(count as i32);
        Case::new(launch(2, 64), params).leaves(dp, &places)
    });
}
