use crate::common::{Params, Random, launch};
use crate::{every, ptx};

/// Words whose bytes and halves are often extreme.
fn words(seed: u64) -> Vec<u32> {
    Random(seed).list(256, |random| {
        let bytes: [u8; 4] = std::array::from_fn(|_| match random.within(0, 5) {
            0 => 0,
            1 => 0xff,
            2 => 0x80,
            3 => 0x7f,
            _ => random.next() as u8,
        });
        u32::from_le_bytes(bytes)
    })
}

/// The parts of a word of `bits` bits, by sign or without.
fn parts(word: u32, bits: u32, signed: bool) -> Vec<i64> {
    let part = |place: u32| i64::from(word >> (bits * place)) & ((1 << bits) - 1);
    let top = 1i64 << (bits - 1);
    (0..32 / bits).map(part).map(|x| if signed && x >= top { x - 2 * top } else { x }).collect()
}

fn join(parts: impl Iterator<Item = i64>, bits: u32) -> u32 {
    parts
        .enumerate()
        .fold(0, |word, (place, part)| word | ((part as u64 & ((1 << bits) - 1)) as u32) << (bits * place as u32))
}

/// What the twelve operations on parts of `bits` bits give.
fn simd(a: u32, b: u32, bits: u32) -> [u32; 12] {
    let (top, most) = (1i64 << (bits - 1), (1i64 << bits) - 1);
    let by = |signed: bool, f: &dyn Fn(i64, i64) -> i64| {
        join(parts(a, bits, signed).into_iter().zip(parts(b, bits, signed)).map(|(a, b)| f(a, b)), bits)
    };
    let sum = |signed: bool| {
        let pairs = parts(a, bits, signed).into_iter().zip(parts(b, bits, signed));
        pairs.map(|(a, b)| (a - b).abs()).sum::<i64>() as u32
    };
    // Signed averages round away from zero.
    let average = |a: i64, b: i64| if a + b >= 0 { (a + b + 1) >> 1 } else { -((1 - a - b) >> 1) };
    [
        by(false, &|a, b| a + b),
        by(true, &|a, b| (a + b).clamp(-top, top - 1)),
        by(false, &|a, b| (a - b).max(0)),
        by(true, &average),
        by(false, &|a, b| (a - b).abs()),
        by(true, &|a, b| a.max(b)),
        by(false, &|a, b| a.min(b)),
        by(true, &|a, b| if a > b { most } else { 0 }),
        sum(true),
        sum(false),
        by(false, &|a, b| (a + b) >> 1),
        by(false, &|a, b| i64::from(a == b)),
    ]
}

#[test]
fn parts_of_registers() {
    let (a, b) = (words(1), words(2));
    every(&ptx!("packed"), &|device, _| {
        let (da, db) = (device.upload(&a), device.upload(&b));
        for (name, bits) in [("bytes", 8), ("halves", 16)] {
            let out = device.allocate::<u32>(12 * 256);
            device.launch(name, launch(1, 256), Params::new().add(da).add(db).add(out));
            let out = device.download::<u32>(out, 12 * 256);
            for t in 0..256 {
                for (index, expected) in simd(a[t], b[t], bits).into_iter().enumerate() {
                    let got = out[256 * index + t];
                    assert_eq!(got, expected, "{name}, operation {index} of {:#x} and {:#x}: {got:#x}", a[t], b[t]);
                }
            }
        }
        let out = device.allocate::<u32>(4 * 256);
        device.launch("dots", launch(1, 256), Params::new().add(da).add(db).add(out));
        let out = device.download::<u32>(out, 4 * 256);
        for t in 0..256 {
            let dot = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
            let of = |word: u32, bits, signed| parts(word, bits, signed);
            let expected = [
                5 + dot(&of(a[t], 8, false), &of(b[t], 8, false)),
                -5 + dot(&of(a[t], 8, true), &of(b[t], 8, true)),
                7 + dot(&of(a[t], 16, true), &of(b[t], 8, true)[..2]),
                7 + dot(&of(a[t], 16, false), &of(b[t], 8, false)[2..]),
            ];
            let got: [u32; 4] = std::array::from_fn(|index| out[256 * index + t]);
            assert_eq!(got, expected.map(|x| x as u32), "{:#x} and {:#x}", a[t], b[t]);
        }
    });
}

/// The number that a byte is, of the format with these bits of fraction; `None` for infinities and NaN.
fn decode(byte: u8, fraction_bits: i32) -> Option<f64> {
    let (exponent, fraction) = (i32::from(byte & 0x7f) >> fraction_bits, f64::from(byte & ((1 << fraction_bits) - 1)));
    let (bias, scale) = if fraction_bits == 3 { (7, 8.0) } else { (15, 4.0) };
    let special = if fraction_bits == 3 { byte & 0x7f == 0x7f } else { exponent == 31 };
    let magnitude = match exponent {
        _ if special => return None,
        0 => fraction / scale * 2f64.powi(1 - bias),
        _ => (1.0 + fraction / scale) * 2f64.powi(exponent - bias),
    };
    Some(if byte & 0x80 != 0 { -magnitude } else { magnitude })
}

/// The byte nearest to x, of two that are equally near the even one: found by looking at all.
fn nearest(x: f32, fraction_bits: i32) -> u8 {
    if x.is_nan() {
        return 0x7f;
    }
    // Far outside, all of them are equally far away.
    let x = f64::from(x.clamp(-1e6, 1e6));
    let finite = (0..0x80u8).filter_map(|byte| Some((byte, decode(byte, fraction_bits)?)));
    let distance = |value: f64| (x.abs() - value).abs();
    let (byte, _) =
        finite.min_by(|(a, va), (b, vb)| distance(*va).total_cmp(&distance(*vb)).then((a & 1).cmp(&(b & 1)))).unwrap();
    byte | if x.is_sign_negative() { 0x80 } else { 0 }
}

#[test]
fn numbers_of_eight_bits() {
    let mut x: Vec<f32> = Vec::new();
    for fraction_bits in [3, 2] {
        let finite: Vec<f64> = (0..0x80).filter_map(|byte| decode(byte, fraction_bits)).collect();
        for pair in finite.windows(2) {
            let middle = ((pair[0] + pair[1]) / 2.0) as f32;
            x.extend([pair[0] as f32, middle, middle.next_up(), -middle.next_down()]);
        }
    }
    x.extend([0.0, -0.0, 448.0, 464.0, 480.0, 57344.0, 61440.0, 65536.0, 1e30, -1e30, 1e-30, f32::INFINITY]);
    x.extend([f32::NEG_INFINITY, f32::MIN_POSITIVE]);
    let n = x.len();
    every(&ptx!("packed"), &|device, _| {
        let (dx, bytes, back) = (device.upload(&x), device.allocate::<u8>(2 * n), device.allocate::<f32>(3 * n));
        let params = Params::new().add(dx).add(bytes).add(back).add(n as i32);
        device.launch("narrow", launch(n.div_ceil(128) as u32, 128), params);
        let (bytes, back) = (device.download::<u8>(bytes, 2 * n), device.download::<f32>(back, 3 * n));
        for i in 0..n {
            for (format, fraction_bits) in [(0, 3), (1, 2)] {
                let byte = nearest(x[i], fraction_bits);
                assert_eq!(bytes[format * n + i], byte, "{} with {fraction_bits} bits", x[i]);
                assert_eq!(f64::from(back[format * n + i]), decode(byte, fraction_bits).unwrap(), "{}", x[i]);
            }
            let byte = decode(nearest(x[i], 3), 3).unwrap();
            assert_eq!(f64::from(back[2 * n + i]), byte - 2.0 * byte, "{}", x[i]);
        }
    });
}

#[test]
fn integers_of_128_bits() {
    let mut random = Random(5);
    let x: Vec<i128> = (0..64)
        .map(|i| {
            let bits = i128::from(random.next()) << 64 | i128::from(random.next());
            // Of all lengths.
            if i % 8 == 0 { bits >> 100 } else { bits >> (random.next() % 90) }
        })
        .collect();
    let bytes = |list: &[i128]| list.iter().flat_map(|x| [*x as u64, (*x >> 64) as u64]).collect::<Vec<u64>>();
    every(&ptx!("wide"), &|device, _| {
        let (dx, out) = (device.upload(&bytes(&x)), device.allocate::<u64>(2 * 5 * 64));
        device.launch("integers", launch(1, 64), Params::new().add(dx).add(out).add(37i32));
        let next = |t: usize| x[(t + 1) % 64];
        let each = |f: &dyn Fn(i128, i128) -> i128| (0..64).map(|t| f(x[t], next(t))).collect::<Vec<i128>>();
        let expected = [
            each(&i128::wrapping_mul),
            each(&|a, b| a.checked_div(b).unwrap_or(0)),
            each(&|a, b| a.checked_rem(b).unwrap_or(0)),
            each(&|a, b| a << 37 ^ b >> 37),
            each(&|a, b| if (a as u128) < b as u128 { a.wrapping_sub(b) } else { a.wrapping_add(b) }),
        ]
        .concat();
        assert_eq!(device.download::<u64>(out, 2 * 5 * 64), bytes(&expected));
    });
}

#[test]
fn carries() {
    let x = words(6)[..64].to_vec();
    every(&ptx!("wide"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<u32>(6 * 32));
        device.launch("carries", launch(1, 32), Params::new().add(dx).add(out));
        let expected: Vec<u32> = x
            .chunks(2)
            .flat_map(|pair| {
                let (a, b) = (u128::from(pair[0]), u128::from(pair[1]));
                let sum = (b << 32 | a) + (b << 32 | b);
                let product = a * b + (a << 32 | b);
                [sum, sum >> 32, sum >> 64, product, product >> 32, product >> 64].map(|part| part as u32)
            })
            .collect();
        assert_eq!(device.download::<u32>(out, 6 * 32), expected);
    });
}

#[test]
fn atomics_of_every_order() {
    every(&ptx!("wide"), &|device, _| {
        let (x, y, seen) = (device.upload(&[0i32]), device.upload(&[0f64]), device.upload(&[-1i32; 3]));
        device.launch("orders", launch(3, 64), Params::new().add(x).add(y).add(seen));
        assert_eq!(device.download::<i32>(x, 1), [192]);
        assert_eq!(device.download::<f64>(y, 1), [96.0]);
        assert_eq!(device.download::<i32>(seen, 3), [63; 3]);
    });
}

#[test]
fn wide_atomics() {
    every(&ptx!("wide")[2..], &|device, _| {
        let (a, b) = (device.upload(&[0f32; 2]), device.upload(&[0f32; 8]));
        device.launch("vectors", launch(2, 32), Params::new().add(a).add(b));
        assert_eq!(device.download::<f32>(a, 2), [64.0, 2.0 * 31.0 * 16.0]);
        // Each element is atomic by itself: what one lane got of them need not belong together.
        assert_eq!(device.download::<f32>(b, 5), [64.0, 128.0, 192.0, 256.0, 0.0]);
        // The vector as a whole must be aligned.
        let fault = device.try_launch("vectors", launch(2, 32), Params::new().add(a).add(b + 8)).unwrap_err();
        assert!(matches!(fault.kind, ptx_sim::FaultKind::Misaligned { align: 16, .. }), "{fault}");

        let (total, exchanged) = (device.upload(&[0u64; 2]), device.upload(&[7u64; 2 * 33]));
        device.launch("pairs", launch(1, 32), Params::new().add(total).add(exchanged));
        assert_eq!(device.download::<u64>(total, 2), [32, 31 * 16]);
        // Nothing got lost: the first value, and that of every thread, are there once.
        let mut pairs: Vec<(u64, u64)> =
            device.download::<u64>(exchanged, 66).chunks(2).map(|pair| (pair[0], pair[1])).collect();
        pairs.sort_unstable();
        let mut expected: Vec<(u64, u64)> = (0..32).map(|t| (t, u64::MAX - t)).chain([(7, 7)]).collect();
        expected.sort_unstable();
        assert_eq!(pairs, expected);
    });
}
