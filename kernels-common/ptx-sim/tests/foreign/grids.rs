//! Matrices, stencils, cells and bodies.

use crate::common::{Params, launch};
use crate::{Random, every, launch_2d, launch_shared, ptx};
use ptx_sim::Launch;

/// Products are added in ascending order of k, each with one rounding, as the kernels do it.
macro_rules! product {
    ($a:expr, $b:expr, $m:expr, $n:expr, $k:expr) => {
        (0..$m * $n)
            .map(|at| (0..$k).fold(0.0, |sum, k| $a[at / $n * $k + k].mul_add($b[k * $n + at % $n], sum)))
            .collect::<Vec<_>>()
    };
}

#[test]
fn matrix_product() {
    let (m, n, k) = (37usize, 29usize, 41usize);
    let a = Random(1).list(m * k, |r| r.real(-1.0, 1.0) as f32);
    let b = Random(2).list(k * n, |r| r.real(-1.0, 1.0) as f32);
    let c: Vec<f32> = product!(a, b, m, n, k);
    let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x) * 1.1).collect::<Vec<f64>>();
    let (wide_a, wide_b) = (wide(&a), wide(&b));
    let wide_c: Vec<f64> = product!(wide_a, wide_b, m, n, k);
    let (a64, b64) = (Random(3).list(64 * 32, |r| r.real(-1.0, 1.0) as f32), &a[..32 * 32]);
    let c64: Vec<f32> = product!(a64, b64, 64, 32, 32);
    every(ptx!("matmul"), |device| {
        let sizes = |params: Params| params.add(m as i32).add(n as i32).add(k as i32);
        let (da, db, dc) = (device.upload(&a), device.upload(&b), device.allocate::<f32>(m * n));
        let shape = launch_2d(n as u32, m as u32, [16, 16]);
        device.launch("matmul_float", shape, sizes(Params::new().add(da).add(db).add(dc)));
        assert_eq!(device.download::<f32>(dc, m * n), c);

        let (da, db, dc) = (device.upload(&wide_a), device.upload(&wide_b), device.allocate::<f64>(m * n));
        let shape = launch_2d(n as u32, m as u32, [8, 8]);
        device.launch("matmul_double", shape, sizes(Params::new().add(da).add(db).add(dc)));
        assert_eq!(device.download::<f64>(dc, m * n), wide_c);

        let (da, db, dc) = (device.upload(&a64), device.upload(b64), device.allocate::<f32>(64 * 32));
        let shape = Launch { grid: [1, 2, 1], block: [8, 8, 1], ..Launch::default() };
        device.launch("matmul_registers", shape, Params::new().add(da).add(db).add(dc).add(8i32).add(8i32));
        assert_eq!(device.download::<f32>(dc, 64 * 32), c64);
    });
}

#[test]
fn stencils() {
    let (width, height) = (75usize, 21usize);
    let x = Random(4).list(width * height, |r| r.real(0.0, 100.0) as f32);
    let at = |column: usize, row: usize| x[row.min(height - 1) * width + column.min(width - 1)];
    let heat: Vec<f32> = (0..width * height)
        .map(|cell| {
            let (c, r) = (cell % width, cell / width);
            let vertical = at(c, r.saturating_sub(1)) + at(c, r + 1);
            let horizontal = at(c.saturating_sub(1), r) + at(c + 1, r);
            let middle = at(c, r);
            0.2f32.mul_add((-4.0f32).mul_add(middle, vertical + horizontal), middle)
        })
        .collect();
    let [nx, ny, nz] = [19usize, 11, 7];
    let volume = Random(5).list(nx * ny * nz, |r| r.real(-1.0, 1.0));
    let laplace: Vec<f64> = (0..nx * ny * nz)
        .map(|i| {
            let inner = |at: usize, size: usize| at > 0 && at < size - 1;
            if !(inner(i % nx, nx) && inner(i / nx % ny, ny) && inner(i / (nx * ny), nz)) {
                return 0.0;
            }
            let (v, plane) = (&volume, nx * ny);
            let around = v[i - 1] + v[i + 1] + v[i - nx] + v[i + nx] + v[i - plane] + v[i + plane];
            v[i].mul_add(-6.0, around)
        })
        .collect();
    every(ptx!("stencil"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<f32>(x.len()));
        let params = Params::new().add(dx).add(dy).add(width as i32).add(height as i32).add(0.2f32);
        device.launch("heat", launch_2d(width as u32, height as u32, [32, 8]), params);
        assert_eq!(device.download::<f32>(dy, x.len()), heat);

        let (dx, dy) = (device.upload(&volume), device.allocate::<f64>(volume.len()));
        let params = Params::new().add(dx).add(dy).add(nx as i32).add(ny as i32).add(nz as i32);
        device.launch("laplace_3d", launch_2d(nx as u32, ny as u32, [16, 4]), params);
        assert_eq!(device.download::<f64>(dy, volume.len()), laplace);
    });
}

#[test]
fn mandelbrot() {
    let (width, height, limit) = (61usize, 33usize, 100u16);
    let (left, top, pixel) = (-2.1, 1.2, 0.05);
    let expected: Vec<u16> = (0..width * height)
        .map(|at| {
            let cx = ((at % width) as f64).mul_add(pixel, left);
            let cy = ((at / width) as f64).mul_add(-pixel, top);
            let (mut x, mut y) = (0.0f64, 0.0f64);
            for step in 0..limit {
                let (xx, yy) = (x * x, y * y);
                if xx + yy > 4.0 {
                    return step;
                }
                y = (2.0 * x).mul_add(y, cy);
                x = xx - yy + cx;
            }
            limit
        })
        .collect();
    every(ptx!("mandelbrot"), |device| {
        let steps = device.allocate::<u16>(width * height);
        let params = Params::new().add(steps).add(width as i32).add(height as i32);
        let params = params.add(left).add(top).add(pixel).add(i32::from(limit));
        device.launch("mandelbrot", launch_2d(width as u32, height as u32, [16, 8]), params);
        assert_eq!(device.download::<u16>(steps, width * height), expected);
    });
}

#[test]
fn life() {
    let (width, height) = (96usize, 23usize);
    let start = Random(6).list(width * height, |r| u8::from(r.next() % 3 == 0));
    let step = |now: &[u8]| -> Vec<u8> {
        (0..width * height)
            .map(|cell| {
                let around = (0..9).filter(|&k| k != 4).map(|k| {
                    let column = (cell % width + width + k % 3 - 1) % width;
                    let row = (cell / width + height + k / 3 - 1) % height;
                    now[row * width + column]
                });
                let alive = around.sum::<u8>();
                u8::from(alive == 3 || alive == 2 && now[cell] == 1)
            })
            .collect()
    };
    let end = (0..4).fold(start.clone(), |now, _| step(&now));
    let bits = |cells: &[u8]| -> Vec<u32> {
        cells.chunks(32).map(|word| word.iter().rev().fold(0, |bits, &cell| bits << 1 | u32::from(cell))).collect()
    };
    every(ptx!("life"), |device| {
        let (mut now, mut next) = (device.upload(&start), device.allocate::<u8>(start.len()));
        for _ in 0..4 {
            let params = Params::new().add(now).add(next).add(width as i32).add(height as i32);
            device.launch("life", launch(3, 160), params);
            (now, next) = (next, now);
        }
        assert_eq!(device.download::<u8>(now, end.len()), end);

        let words = width / 32;
        let (mut now, mut next) = (device.upload(&bits(&start)), device.allocate::<u32>(words * height));
        for _ in 0..4 {
            let shape = launch_2d(words as u32, height as u32, [32, 1]);
            device.launch("life_bits", shape, Params::new().add(now).add(next).add(words as i32).add(height as i32));
            (now, next) = (next, now);
        }
        assert_eq!(device.download::<u32>(now, words * height), bits(&end));
    });
}

#[test]
fn bodies() {
    let n = 150usize;
    let bodies = Random(7).list(4 * n, |r| r.real(0.1, 5.0) as f32);
    let softening = 0.01f32;
    // Exact enough: double precision.
    let expected: Vec<([f64; 3], f64)> = bodies
        .chunks(4)
        .map(|me| {
            let (mut sum, mut size) = ([0.0; 3], 0.0);
            for other in bodies.chunks(4) {
                let d = [0, 1, 2].map(|axis| f64::from(other[axis]) - f64::from(me[axis]));
                let square = d.iter().map(|d| d * d).sum::<f64>() + f64::from(softening);
                let strength = f64::from(other[3]) / (square * square.sqrt());
                for axis in 0..3 {
                    sum[axis] += d[axis] * strength;
                    size += (d[axis] * strength).abs();
                }
            }
            (sum, size)
        })
        .collect();
    let velocity = Random(8).list(3 * n, |r| r.real(-9.0, 9.0) as f32);
    let mass: Vec<f32> = bodies.chunks(4).map(|body| body[3]).collect();
    every(ptx!("nbody"), |device| {
        let (db, da) = (device.upload(&bodies), device.allocate::<f32>(3 * n));
        let params = Params::new().add(db).add(da).add(n as i32).add(softening);
        device.launch("accelerations", launch_shared(3, 64, 64 * 16), params);
        // A term is wrong by a few units in the last place, and so is each of 150 additions: 2^-24 times a few hundred.
        for (got, (sum, size)) in device.download::<f32>(da, 3 * n).chunks(3).zip(&expected) {
            for axis in 0..3 {
                assert!((f64::from(got[axis]) - sum[axis]).abs() <= size * 2e-5, "{got:?} {sum:?}");
            }
        }

        let (dv, dm) = (device.upload(&velocity), device.upload(&mass));
        let [speed, fast, exact] = [0; 3].map(|_| device.allocate::<f32>(n));
        let params = Params::new().add(dv).add(dm).add(speed).add(fast).add(exact).add(n as i32);
        device.launch("speeds", launch(2, 96), params);
        let [speed, fast, exact] = [speed, fast, exact].map(|at| device.download::<f32>(at, n));
        for (i, v) in velocity.chunks(3).enumerate() {
            let length = (v[0] * v[0] + (v[1] * v[1] + v[2] * v[2])).sqrt();
            assert_eq!((speed[i], exact[i]), (length, length / mass[i]));
            // The manual's bound for __fdividef is 2 units in the last place.
            assert!((fast[i] / exact[i] - 1.0).abs() <= 4.0 * f32::EPSILON);
        }
    });
}
