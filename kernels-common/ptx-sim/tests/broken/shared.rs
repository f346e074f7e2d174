//! Shared memory whose users do not wait for each other, and updates in place.

use crate::common::{Params, Random, launch};
use crate::corpus::{Case, check, source};
use ptx_sim::Launch;

#[test]
fn reverse() {
    let x = Random(1).list(300, |r| r.real(-1.0, 1.0) as f32);
    let expected: Vec<f32> = x.chunks(96).flat_map(|tile| tile.iter().rev().copied()).collect();
    check(source!("reverse"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<f32>(x.len()));
        Case::new(launch(4, 96), Params::new().add(dx).add(dy).add(300i32)).leaves(dy, &expected)
    });
}

#[test]
fn matmul() {
    let (m, n, k) = (13usize, 10usize, 21usize);
    let whole = |r: &mut Random| r.within(-9, 9) as f32;
    let (a, b) = (Random(2).list(m * k, whole), Random(3).list(k * n, whole));
    let c: Vec<f32> = (0..m * n).map(|at| (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum::<f32>()).collect();
    check(source!("matmul"), |device| {
        let (da, db, dc) = (device.upload(&a), device.upload(&b), device.allocate::<f32>(m * n));
        let params = Params::new().add(da).add(db).add(dc).add(m as i32).add(n as i32).add(k as i32);
        let grid = [n.div_ceil(8) as u32, m.div_ceil(8) as u32, 1];
        Case::new(Launch { grid, block: [8, 8, 1], ..Launch::default() }, params).leaves(dc, &c)
    });
}

#[test]
fn histogram() {
    let x = Random(4).list(1000, |r| (r.next() % 50) as u8);
    let mut counts = vec![0u32; 256];
    x.iter().for_each(|&x| counts[usize::from(x)] += 1);
    check(source!("histogram"), |device| {
        let (dx, dc) = (device.upload(&x), device.upload(&[0u32; 256]));
        Case::new(launch(3, 128), Params::new().add(dx).add(dc).add(1000i32)).leaves(dc, &counts)
    });
}

#[test]
fn transpose() {
    let matrix = Random(5).list(144, |r| r.next() as i32);
    let transposed: Vec<i32> = (0..144).map(|at| matrix[at % 12 * 12 + at / 12]).collect();
    check(source!("transpose"), |device| {
        let dm = device.upload(&matrix);
        let shape = Launch { block: [12, 12, 1], ..Launch::default() };
        Case::new(shape, Params::new().add(dm)).leaves(dm, &transposed)
    });
}

#[test]
fn shift() {
    let x = Random(6).list(150, |r| r.next() as i32);
    let shifted = [&x[1..], &x[149..]].concat();
    check(source!("shift"), |device| {
        let (dx, edges, arrived) = (device.upload(&x), device.allocate::<i32>(3), device.upload(&[0u32]));
        let params = Params::new().add(dx).add(edges).add(arrived).add(150i32);
        Case::new(Launch { cooperative: true, ..launch(3, 64) }, params).leaves(dx, &shifted)
    });
}

#[test]
fn smoothing() {
    // Whole numbers remain: a step divides by four at most.
    let rod = Random(7).list(128, |r| 256.0 * r.within(-50, 50) as f32);
    let step = |rod: Vec<f32>| -> Vec<f32> {
        let inner = rod.windows(3).map(|w| 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2]);
        [rod[0]].into_iter().chain(inner).chain([rod[127]]).collect()
    };
    let expected = (0..4).fold(rod.clone(), |rod, _| step(rod));
    check(source!("smoothing"), |device| {
        let dr = device.upload(&rod);
        Case::new(launch(1, 128), Params::new().add(dr).add(4i32)).leaves(dr, &expected)
    });
}

#[test]
fn prefetch() {
    let tiles = 5usize;
    let x = Random(8).list(64 * tiles, |r| r.within(-1000, 1000) as i32);
    let expected: Vec<i32> = (0..x.len()).map(|i| x[i] + x[i / 64 * 64 + 63 - i % 64]).collect();
    check(source!("prefetch"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<i32>(x.len()));
        Case::new(launch(1, 64), Params::new().add(dx).add(dy).add(tiles as i32)).leaves(dy, &expected)
    });
}

#[test]
fn scan() {
    let x = Random(9).list(3 * 96, |r| r.within(-1000, 1000) as i32);
    let sums = |row: &[i32]| -> Vec<i32> {
        row.iter()
            .scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect()
    };
    let expected: Vec<i32> = x.chunks(96).flat_map(sums).collect();
    check(source!("scan"), |device| {
        let dx = device.upload(&x);
        Case::new(launch(3, 96), Params::new().add(dx)).leaves(dx, &expected)
    });
}

#[test]
fn xor_tree() {
    let x = Random(10).list(2 * 128, |r| r.next() as i64 >> 8);
    let expected: Vec<i64> = x.chunks(128).flat_map(|row| vec![row.iter().sum::<i64>(); 128]).collect();
    check(source!("xor_tree"), |device| {
        let dx = device.upload(&x);
        Case::new(launch(2, 128), Params::new().add(dx)).leaves(dx, &expected)
    });
}

#[test]
fn variance() {
    let x = Random(11).list(3 * 128, |r| r.within(0, 1000) as i32);
    let means: Vec<i32> = x.chunks(128).map(|row| row.iter().sum::<i32>() / 128).collect();
    let squares: Vec<i32> =
        x.chunks(128).zip(&means).map(|(row, mean)| row.iter().map(|x| (x - mean).pow(2)).sum()).collect();
    check(source!("variance"), |device| {
        let (dx, dm, ds) = (device.upload(&x), device.allocate::<i32>(3), device.allocate::<i32>(3));
        Case::new(launch(3, 128), Params::new().add(dx).add(dm).add(ds)).leaves(dm, &means).leaves(ds, &squares)
    });
}

#[test]
fn bitonic() {
    let x = Random(12).list(2 * 256, |r| r.next() as u32);
    let mut sorted = x.clone();
    sorted.chunks_mut(256).for_each(<[u32]>::sort_unstable);
    check(source!("bitonic"), |device| {
        let dx = device.upload(&x);
        Case::new(launch(2, 128), Params::new().add(dx)).leaves(dx, &sorted)
    });
}

#[test]
fn speculation() {
    let n = 150usize;
    let x = Random(14).list(2 * n, |r| r.within(0, 10000) as i32);
    let largest: Vec<i32> = x.chunks(n).map(|row| *row.iter().max().unwrap()).collect();
    check(source!("speculation"), |device| {
        let (dx, dl) = (device.upload(&x), device.allocate::<i32>(2));
        Case::new(launch(2, 64), Params::new().add(dx).add(dl).add(n as i32)).leaves(dl, &largest)
    });
}

#[test]
fn append() {
    let x = Random(13).list(500, |r| r.within(-100, 100) as i32);
    let mut positive: Vec<i32> = x.iter().copied().filter(|&x| x > 0).collect();
    positive.sort_unstable();
    check(source!("append"), |device| {
        let (dx, found, count) = (device.upload(&x), device.allocate::<i32>(500), device.upload(&[0u32]));
        let (expected, n) = (positive.clone(), positive.len());
        Case::new(launch(3, 64), Params::new().add(dx).add(found).add(count).add(500i32))
            .leaves(count, &[n as u32])
            .leaves_such(found, n, move |mut found: Vec<i32>| {
                found.sort_unstable();
                assert_eq!(found, expected);
            })
    });
}

#[test]
fn any() {
    let mut x = Random(15).list(3 * 128, |r| r.within(0, 20) as i32);
    x[128..256].iter_mut().for_each(|x| *x *= 2);
    let found: Vec<i32> = x.chunks(128).map(|block| i32::from(block.contains(&7))).collect();
    assert_eq!(found, [1, 0, 1]);
    check(source!("any"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<i32>(3));
        Case::new(launch(3, 128), Params::new().add(dx).add(dy)).leaves(dy, &found)
    });
}
