//! What CUDA C++ offers beyond arithmetic: calls, local arrays, switches, variables of a module, structs, templates,
//! generic pointers, assembler.

use crate::common::{Params, Plain, launch, to_bytes};
use crate::{Random, every, ptx};
use ptx_sim::Launch;

#[test]
fn calls() {
    let (n, radius) = (150usize, 4usize);
    let x = Random(1).list(n, |r| r.within(-99, 99) as i32);
    let medians: Vec<i32> = (0..n)
        .map(|i| {
            let mut window = x[i.saturating_sub(radius)..(i + radius + 1).min(n)].to_vec();
            window.sort_unstable();
            window[window.len() / 2]
        })
        .collect();
    fn ackermann(m: u32, n: u32) -> u32 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    let terms: Vec<i32> = (0..40).map(|i| i % 14).collect();
    let sums: Vec<i64> = terms
        .iter()
        .flat_map(|&terms| {
            // Over the least common denominator of all, then reduced once.
            let common = 360_360i64;
            let sum: i64 = (1..=i64::from(terms)).map(|k| if k % 2 == 1 { common / k } else { -common / k }).sum();
            let divisor = (1..=common).rev().find(|d| sum % d == 0 && common % d == 0).unwrap();
            [sum / divisor, common / divisor]
        })
        .collect();
    every(ptx!("calls"), |device| {
        let (dx, dy) = (device.upload(&x), device.allocate::<i32>(n));
        let params = Params::new().add(dx).add(dy).add(n as i32).add(radius as i32);
        device.launch("median_filter", launch(3, 64), params);
        assert_eq!(device.download::<i32>(dy, n), medians);

        let out = device.allocate::<u32>(40);
        device.launch("recursion", launch(1, 40), Params::new().add(out));
        let expected: Vec<u32> = (0..40).map(|t| ackermann(t % 3, t / 3 % 5)).collect();
        assert_eq!(device.download::<u32>(out, 40), expected);

        let (dt, out) = (device.upload(&terms), device.allocate::<i64>(80));
        device.launch("harmonic", launch(1, 64), Params::new().add(dt).add(out).add(40i32));
        assert_eq!(device.download::<i64>(out, 80), sums);

        for (size, solutions) in [(5, 10), (6, 4)] {
            let count = device.upload(&[0u32]);
            device.launch("queens", launch(2, 4), Params::new().add(size).add(count));
            assert_eq!(device.download::<u32>(count, 1), [solutions], "{size} queens");
        }
    });
}

/// Runs a program for the stack machine: the result and the steps.
fn interpret(code: &[u8]) -> (i64, i32) {
    let (mut stack, mut at) = (vec![0i64], 0);
    for step in 1.. {
        let op = code[at];
        at += 1;
        match op {
            0 => {
                stack.push(i64::from(code[at] as i8));
                at += 1;
            }
            4 => stack.push(*stack.last().unwrap()),
            6 => *stack.last_mut().unwrap() *= -1,
            11 => {
                let to = usize::from(code[at]);
                at = if stack.pop() != Some(0) { to } else { at + 1 };
            }
            12 => return (stack.pop().unwrap(), step),
            _ => {
                let (b, a) = (stack.pop().unwrap(), stack.pop().unwrap());
                if op == 5 {
                    stack.push(b);
                }
                stack.push(match op {
                    1 => a.wrapping_add(b),
                    2 => a.wrapping_sub(b),
                    3 => a.wrapping_mul(b),
                    5 => a,
                    7 => a & b,
                    8 => a | b,
                    9 => a ^ b,
                    _ => a >> (b & 63),
                });
            }
        }
    }
    unreachable!()
}

#[test]
fn switches() {
    let mut random = Random(2);
    let programs: Vec<Vec<u8>> = (0..70u8)
        .map(|i| {
            // Counts down; or anything that leaves the stack within its bounds.
            if i % 5 == 0 {
                return vec![0, i / 5 + 1, 0, 0xff, 1, 4, 11, 2, 0, i, 1, 12];
            }
            let (mut code, mut top) = (Vec::new(), 0);
            for _ in 0..random.within(5, 30) {
                match random.within(0, 10) as u8 {
                    op @ (0 | 4) if top < 14 => {
                        top += 1;
                        code.push(op);
                        if op == 0 {
                            code.push(random.next() as u8);
                        }
                    }
                    6 => code.push(6),
                    op @ (1..=3 | 5 | 7..=10) if top > 0 => {
                        code.push(op);
                        top -= i32::from(op != 5);
                    }
                    _ => {}
                }
            }
            code.push(12);
            code
        })
        .collect();
    let entries: Vec<i32> = programs
        .iter()
        .scan(0, |at, program| {
            *at += program.len() as i32;
            Some(*at - program.len() as i32)
        })
        .collect();
    let expected: Vec<(i64, i32)> = programs.iter().map(|program| interpret(program)).collect();
    let (months, years) =
        (random.list(100, |r| r.within(1, 12) as i32), random.list(100, |r| r.within(1890, 2010) as i32));
    let days: Vec<i32> = months
        .iter()
        .zip(&years)
        .map(|(&month, &year)| {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            [31, 28 + i32::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1]
        })
        .collect();
    every(ptx!("interpreter"), |device| {
        let (code, entry) = (device.upload(&programs.concat()), device.upload(&entries));
        let (result, steps) = (device.allocate::<i64>(70), device.allocate::<i32>(70));
        let params = Params::new().add(code).add(entry).add(result).add(steps).add(70i32);
        device.launch("interpret", launch(2, 48), params);
        let got: Vec<(i64, i32)> =
            device.download::<i64>(result, 70).into_iter().zip(device.download::<i32>(steps, 70)).collect();
        assert_eq!(got, expected);

        let (m, y, d) = (device.upload(&months), device.upload(&years), device.allocate::<i32>(100));
        device.launch("days", launch(2, 64), Params::new().add(m).add(y).add(d).add(100i32));
        assert_eq!(device.download::<i32>(d, 100), days);
    });
}

#[test]
fn variables() {
    let n = 77usize;
    let curves = [[0i32, 1, 2, 3], [0, 1, 4, 9], [1, 2, 3, 0]];
    let shifts = [1, 3, 0];
    let coefficients = [[1.0, -0.5, 0.25], [3.0, 1e300, -1e-300]];
    let values = |gains: [f32; 3], chosen: usize, bias: f64| -> Vec<f64> {
        (0..n)
            .map(|i| {
                let place = if i % 3 == 2 { i % 3 } else { i % 4 };
                let shifted = curves[i % 3][if i % 3 == 2 { i % 3 } else { place }] << shifts[i % 3];
                let value = f64::from(gains[i % 3]).mul_add(f64::from(shifted), bias);
                let cube = [0f32, 1.0, 8.0, 27.0][i % 4];
                value + (f64::from(gains[chosen] + cube) + coefficients[i % 2][i % 3])
            })
            .collect()
    };
    every(ptx!("globals"), |device| {
        let (out, text) = (device.allocate::<f64>(n), device.allocate::<u8>(n));
        let params = || Params::new().add(out).add(text).add(n as i32);
        device.launch("use_tables", launch(2, 48), params());
        assert_eq!(device.download::<f64>(out, n), values([0.5, -2.0, 1e-3], 1, -0.125));
        assert!(device.download::<u8>(text, n).iter().zip(b"rungs".iter().cycle()).all(|(a, b)| a == b));
        device.launch("choose", launch(1, 1), Params::new().add(0i32).add(0.75f64));
        device.launch("use_tables", launch(2, 48), params());
        assert_eq!(device.download::<f64>(out, n), values([-0.5, -2.0, 1e-3], 0, 0.75));
        device.launch("choose", launch(1, 1), Params::new().add(2i32).add(0.75f64));
        device.launch("use_tables", launch(2, 48), params());
        assert_eq!(device.download::<f64>(out, n), vec![0.0; n]);
        let calls = device.program.variable("calls").unwrap();
        assert_eq!(device.download::<u64>(calls, 1), [3 * (n * (n - 1) / 2) as u64]);

        let out = device.allocate::<u32>(5 + 40);
        device.launch("tickets", launch(5, 32), Params::new().add(out));
        let got = device.download::<u32>(out, 45);
        let mut tickets = got[..5].to_vec();
        tickets.sort_unstable();
        assert_eq!(tickets, [1000, 1001, 1002, 1003, 1004]);
        for (at, &digit) in got[5..].iter().enumerate() {
            assert_eq!(digit, [3, 1, 4, 1, 5, 9, 2, 6][(at % 8 + at / 8) % 8]);
        }
    });
}

/// What a kernel calls a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    kind: i16,
    flags: u8,
    value: f64,
    count: i32,
    peak: f32,
}

#[test]
fn structs() {
    let n = 300usize;
    let readings = Random(3).list(n, |r| Reading {
        kind: r.within(0, 9) as i16,
        flags: r.within(0, 15) as u8,
        value: r.within(-1000, 1000) as f64 / 8.0,
        count: r.within(0, 9) as i32,
        peak: r.real(0.0, 10.0) as f32,
    });
    let mut bytes = Vec::new();
    for r in &readings {
        r.kind.append(&mut bytes);
        r.flags.append(&mut bytes);
        bytes.extend([0; 5]);
        r.value.append(&mut bytes);
        r.count.append(&mut bytes);
        r.peak.append(&mut bytes);
    }
    let floor = [2.5f32, 0.0, 7.0];
    let mut expected = Vec::new();
    for (block, chunk) in readings.chunks(128).enumerate() {
        let mut so_far = Reading { kind: -1, flags: 0, value: 0.0, count: 0, peak: f32::NEG_INFINITY };
        for r in chunk {
            if r.flags & 8 == 0 && (2..=7).contains(&r.kind) {
                so_far = Reading {
                    kind: r.kind,
                    flags: so_far.flags ^ r.flags,
                    value: so_far.value + r.value * 0.5,
                    count: so_far.count + r.count,
                    peak: so_far.peak.max(r.peak),
                };
            } else {
                so_far.peak = so_far.peak.max(floor[block % 3]);
            }
            expected.push(so_far);
        }
    }
    let packed = Random(4).list(100, |r| r.next() as u32);
    every(ptx!("structs"), |device| {
        let (x, y) = (device.upload(&bytes), device.allocate::<u8>(24 * n));
        let rule = Params::new().add(x).add(y).add(n as i32).add(0u32).add(8u8).add(0.5f64).add(2i16).add(7i16);
        let params = floor.iter().fold(rule, |params, &floor| params.add(floor));
        device.launch("prefix", launch(3, 128), params);
        let got: Vec<Reading> = device
            .download::<u8>(y, 24 * n)
            .chunks(24)
            .map(|b| Reading {
                kind: i16::take(&b[..2]),
                flags: b[2],
                value: f64::take(&b[8..16]),
                count: i32::take(&b[16..20]),
                peak: f32::take(&b[20..]),
            })
            .collect();
        assert_eq!(got, expected);

        let x = device.upload(&packed);
        let (low, middle, high) =
            (device.allocate::<u32>(100), device.allocate::<i32>(100), device.allocate::<u16>(100));
        let params = Params::new().add(x).add(low).add(middle).add(high).add(100i32);
        device.launch("unpack", launch(1, 64), params);
        assert_eq!(device.download::<u32>(low, 100), packed.iter().map(|p| p & 31).collect::<Vec<_>>());
        let signed: Vec<i32> = packed.iter().map(|&p| (p << 16) as i32 >> 21).collect();
        assert_eq!(device.download::<i32>(middle, 100), signed);
        assert_eq!(device.download::<u16>(high, 100), packed.iter().map(|p| (p >> 16) as u16).collect::<Vec<_>>());
    });
}

#[test]
fn templates() {
    let n = 211usize;
    macro_rules! axpy_max {
        ($device:ident, $name:literal, $T:ty, $a:expr, $x:expr, $y:expr, $axpy:expr) => {
            let (a, x, y): ($T, Vec<$T>, Vec<$T>) = ($a, $x, $y);
            let (dx, dy) = ($device.upload(&x), $device.upload(&y));
            let (dz, largest) = ($device.allocate::<$T>(n), $device.allocate::<$T>(3));
            let params = Params::new().add(a).add(dx).add(dy).add(dz).add(largest).add(n as i32);
            $device.launch($name, crate::launch_shared(3, 90, 90 * size_of::<$T>() as u32), params);
            let z: Vec<$T> = x.iter().zip(&y).map(|(&x, &y)| $axpy(a, x, y)).collect();
            assert_eq!($device.download::<$T>(dz, n), z, $name);
            let zero = <$T>::default();
            let most: Vec<$T> = z
                .chunks(90)
                .map(|part| {
                    part.iter().fold(if part.len() < 90 { zero } else { part[0] }, |a, &b| if b > a { b } else { a })
                })
                .collect();
            assert_eq!($device.download::<$T>(largest, 3), most, $name);
        };
    }
    let bits = Random(5).list(2 * n, Random::next);
    let index = Random(6).list(n, |r| r.within(0, 99) as i32);
    let bytes = Random(7).list(1600, |r| r.next() as u8);
    every(ptx!("templates"), |device| {
        let (x, y) = bits.split_at(n);
        axpy_max!(
            device,
            "_Z8axpy_maxIaEvT_PKS0_S2_PS0_S3_i",
            i8,
            -7,
            x.iter().map(|&x| x as i8).collect(),
            y.iter().map(|&x| x as i8).collect(),
            |a: i8, x: i8, y: i8| a.wrapping_mul(x).wrapping_add(y)
        );
        axpy_max!(
            device,
            "_Z8axpy_maxItEvT_PKS0_S2_PS0_S3_i",
            u16,
            50021,
            x.iter().map(|&x| x as u16).collect(),
            y.iter().map(|&x| x as u16).collect(),
            |a: u16, x: u16, y: u16| a.wrapping_mul(x).wrapping_add(y)
        );
        axpy_max!(
            device,
            "_Z8axpy_maxIxEvT_PKS0_S2_PS0_S3_i",
            i64,
            -0x1234_5678_9abc,
            x.iter().map(|&x| x as i64).collect(),
            y.iter().map(|&x| x as i64).collect(),
            |a: i64, x: i64, y: i64| a.wrapping_mul(x).wrapping_add(y)
        );
        axpy_max!(
            device,
            "_Z8axpy_maxIfEvT_PKS0_S2_PS0_S3_i",
            f32,
            1.1,
            x.iter().map(|&x| x as i32 as f32).collect(),
            y.iter().map(|&x| x as i32 as f32).collect(),
            f32::mul_add
        );

        let (dx, di) = (device.upload(&bytes), device.upload(&index));
        for (name, size) in [
            ("_Z6gatherI5char2EvPKT_PKiPS1_i", 2usize),
            ("_Z6gatherI6short4EvPKT_PKiPS1_i", 8),
            ("_Z6gatherI7double2EvPKT_PKiPS1_i", 16),
            ("_Z6gatherI9longlong2EvPKT_PKiPS1_i", 16),
            ("_Z6gatherI6uchar3EvPKT_PKiPS1_i", 3),
        ] {
            let out = device.allocate::<u8>(size * n);
            device.launch(name, launch(3, 80), Params::new().add(dx).add(di).add(out).add(n as i32));
            let expected: Vec<u8> = index.iter().flat_map(|&i| bytes[i as usize * size..][..size].to_vec()).collect();
            assert_eq!(device.download::<u8>(out, size * n), expected, "{name}");
        }
    });
}

#[test]
fn transport() {
    let n = 75usize;
    let x = Random(8).list(4 * n, |r| r.within(-50, 50) as f32);
    let y = Random(9).list(4 * n, |r| r.within(-50, 50) as f32);
    let bytes = Random(10).list(700, |r| r.next() as u8);
    let ints = Random(11).list(50, |r| r.within(0, 999) as i32);
    every(ptx!("transport"), |device| {
        let dx = device.upload(&x);
        let dy = device.allocate::<f32>(12 * n);
        device.simulator.write(dy, &to_bytes(&y)).unwrap();
        device.launch("hints", launch(2, 40), Params::new().add(dx).add(dy).add(n as i32));
        let got = device.download::<f32>(dy, 12 * n);
        for i in 0..n {
            let at = |k: usize| &x[(i + k) % n * 4..][..4];
            let (a, b, c, d, e) = (at(0), at(1), at(2), at(3), &y[4 * i..]);
            assert_eq!(got[4 * i..][..4], [a[0] + e[3], b[1] - e[2], c[2] * 2.0, d[3]]);
            assert_eq!((&got[4 * (n + i)..][..4], &got[4 * (2 * n + i)..][..4]), (d, c));
        }

        let from = device.upload(&bytes);
        for (a, b, length) in [(0u64, 0u64, 700usize), (3, 11, 600), (5, 6, 300), (1, 1, 3), (7, 7, 9)] {
            let to = device.allocate::<u8>(720);
            let params = Params::new().add(from + a).add(to + b).add(length as u64);
            device.launch("copy", launch(2, 33), params);
            assert_eq!(device.download::<u8>(to + b, length), bytes[a as usize..][..length]);
            assert_eq!(device.download::<u8>(to, b as usize), vec![0; b as usize]);
        }

        let (dx, dy) = (device.upload(&ints), device.allocate::<i32>(64));
        device.launch("anywhere", launch(1, 64), Params::new().add(dx).add(dy).add(50i32));
        for (t, got) in device.download::<i32>(dy, 64).into_iter().enumerate() {
            let expected = match t % 3 {
                0 => (t + 1) % 64 * 3 + 10000,
                1 => t * 5 + t % 4 + 20000,
                _ => ints[t % 50] as usize + 30000,
            };
            assert_eq!(got as usize, expected, "thread {t}");
        }

        let threads = 6 * 80;
        let (out, times) = (device.allocate::<u32>(threads), device.allocate::<u64>(2 * threads));
        let shape = Launch { grid: [3, 2, 1], block: [8, 10, 1], ..Launch::default() };
        device.launch("registers", shape, Params::new().add(out).add(times));
        let (out, times) = (device.download::<u32>(out, threads), device.download::<u64>(times, 2 * threads));
        for i in 0..threads {
            let (block, thread) = (i / 80, i % 80);
            let lane = thread as u32 % 32;
            let value = (block / 3) as u32 * 0x1357 + (thread % 8) as u32 * 0x0123_4567;
            let bits = if lane < 7 { value >> 3 & 511 } else { value & !0xf00 | (lane & 15) << 8 };
            assert_eq!(out[i], lane + bits, "thread {i}");
            assert!(times[2 * i] < 1 << 40, "clocks go forward");
        }
    });
}
