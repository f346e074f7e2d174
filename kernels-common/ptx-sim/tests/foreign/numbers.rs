//! Integer arithmetic.

use crate::common::{Params, launch};
use crate::{Random, every, ptx};

/// Random words with many that are special.
fn words(seed: u64, n: usize) -> Vec<u64> {
    Random(seed).list(n, |r| match r.within(0, 9) {
        0 => 0,
        1 => u64::MAX,
        2 => 0x8000_0000_8000_0000,
        3 => r.within(-9, 9) as u64,
        4 => r.next() >> r.within(0, 63),
        5 => 1 << r.within(0, 63),
        _ => r.next(),
    })
}

fn bytes(x: u32) -> [i32; 4] {
    x.to_le_bytes().map(i32::from)
}

fn signed_bytes(x: u32) -> [i32; 4] {
    x.to_le_bytes().map(|byte| i32::from(byte as i8))
}

/// The upper word of `high:low` after a shift to the left.
fn funnel(low: u32, high: u32, shift: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) << shift >> 32) as u32
}

fn byte_perm(a: u32, b: u32, selector: u32) -> u32 {
    let all = [a.to_le_bytes(), b.to_le_bytes()].concat();
    u32::from_le_bytes([0, 4, 8, 12].map(|at| all[(selector >> at & 7) as usize]))
}

fn dot(a: [i32; 4], b: [i32; 4]) -> i32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn word_results(a: u32, b: u32, c: u32) -> [u32; 32] {
    let [sa, sb, sc] = [a, b, c].map(|x| x as i32);
    let (wide_a, wide_b) = (i64::from(sa), i64::from(sb));
    let low24 = |x: i32| x << 8 >> 8;
    let right = |shift: u32| ((u64::from(b) << 32 | u64::from(a)) >> shift) as u32;
    let halves = [(a as i16), (a >> 16) as i16].map(i32::from);
    let overflows = sa == i32::MIN && sb == -1;
    let s = c & 31;
    [
        ((wide_a * wide_b) >> 32) as u32,
        ((u64::from(a) * u64::from(b)) >> 32) as u32,
        low24(sa).wrapping_mul(low24(sb)) as u32,
        (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff),
        a.leading_zeros(),
        a.reverse_bits(),
        if a == 0 { 0 } else { a.trailing_zeros() + 1 },
        a.count_ones(),
        funnel(a, b, s),
        right(s),
        funnel(a, b, c.min(32)),
        right(c.min(32)),
        byte_perm(a, b, c),
        sa.abs_diff(sb).wrapping_add(c),
        a.abs_diff(b).wrapping_add(c),
        ((wide_a + wide_b) >> 1) as u32,
        ((wide_a + wide_b + 1) >> 1) as u32,
        ((u64::from(a) + u64::from(b)) >> 1) as u32,
        dot(signed_bytes(a), signed_bytes(b)).wrapping_add(sc) as u32,
        (dot(bytes(a), bytes(b)) as u32).wrapping_add(c),
        (halves[0] * signed_bytes(b)[0] + halves[1] * signed_bytes(b)[1]).wrapping_add(sc) as u32,
        ((a & 0xffff) * (b >> 16 & 255) + (a >> 16) * (b >> 24)).wrapping_add(c),
        a.checked_div(b).unwrap_or(a),
        a.checked_rem(b).unwrap_or(b),
        if sb == 0 || overflows { a } else { (sa / sb) as u32 },
        if sb == 0 || overflows { b } else { (sa % sb) as u32 },
        (sa >> s) as u32,
        a << s | b >> s,
        (sa.wrapping_abs().wrapping_add(sa.min(sb)) as u32).wrapping_sub(a.max(b)),
        ((sa / 7) as u32).wrapping_add(a % 1000),
        (i32::from(a as i8) * i32::from(b as i16)) as u32,
        a & b | !a & c,
    ]
}

fn long_results(a: u64, b: u64) -> [u64; 20] {
    let (sa, sb) = (a as i64, b as i64);
    let overflows = sa == i64::MIN && sb == -1;
    let (wide_a, wide_b) = (u128::from(a), u128::from(b));
    let product = wide_a * wide_b + wide_a;
    let less = product.wrapping_sub(wide_b << 33);
    [
        a.checked_div(b).unwrap_or(a),
        a.checked_rem(b).unwrap_or(b),
        if sb == 0 || overflows { a } else { (sa / sb) as u64 },
        if sb == 0 || overflows { b } else { (sa % sb) as u64 },
        ((wide_a * wide_b) >> 64) as u64,
        ((i128::from(sa) * i128::from(sb)) >> 64) as u64,
        u64::from(a.leading_zeros()),
        a.reverse_bits(),
        if a == 0 { 0 } else { u64::from(a.trailing_zeros()) + 1 },
        u64::from(a.count_ones()),
        a.wrapping_mul(b).wrapping_add(a >> 7),
        (sa >> (b & 63)) as u64,
        a << (b & 63),
        sa.wrapping_abs().wrapping_add(sa.min(sb)) as u64,
        a.max(b) ^ sa.max(sb) as u64,
        (a / 10).wrapping_add(a % 86400),
        u64::from(a as u32) * u64::from(b as u32),
        (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(sa) as u64,
        (product >> 64) as u64,
        less as u64 ^ (less >> 64) as u64,
    ]
}

fn bytewise(a: u32, b: u32, f: impl Fn(u8, u8) -> u8) -> u32 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u32::from_le_bytes([0, 1, 2, 3].map(|k| f(a[k], b[k])))
}

fn halfwise(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16 | u32::from(f(a as u16, b as u16))
}

fn simd_results(a: u32, b: u32) -> [u32; 10] {
    [
        bytewise(a, b, u8::wrapping_add),
        bytewise(a, b, u8::saturating_add),
        bytewise(a, b, |a, b| (a as i8).saturating_add(b as i8) as u8),
        bytewise(a, b, u8::abs_diff),
        bytewise(a, b, |a, b| if a > b { 255 } else { 0 }),
        halfwise(a, b, |a, b| (a as i16).max(b as i16) as u16),
        halfwise(a, b, u16::saturating_sub),
        bytewise(a, b, |a, b| (u16::from(a) + u16::from(b)).div_ceil(2) as u8),
        bytes(a).iter().zip(bytes(b)).map(|(a, b)| a.abs_diff(b)).sum(),
        halfwise(a, b, |a, b| u16::from(a == b)),
    ]
}

#[test]
fn integers() {
    let n = 700usize;
    let [x, y, z] = [1, 2, 3].map(|seed| words(seed, n));
    let narrow = |x: &[u64]| x.iter().map(|&x| x as u32).collect::<Vec<u32>>();
    let [x32, y32, z32] = [&x, &y, &z].map(|x| narrow(x));
    let each_word: Vec<[u32; 32]> = (0..n).map(|i| word_results(x32[i], y32[i], z32[i])).collect();
    let each_long: Vec<[u64; 20]> = (0..n).map(|i| long_results(x[i], y[i])).collect();
    let each_simd: Vec<[u32; 10]> = (0..n).map(|i| simd_results(x32[i], y32[i])).collect();
    let shape = launch(6, 128);
    every(ptx!("integers"), |device| {
        let [dx, dy, dz] = [&x32, &y32, &z32].map(|x| device.upload(x));
        let out = device.allocate::<u32>(32 * n);
        device.launch("words", shape, Params::new().add(dx).add(dy).add(dz).add(out).add(n as i32));
        let got = device.download::<u32>(out, 32 * n);
        for (i, expected) in each_word.iter().enumerate() {
            for (k, &expected) in expected.iter().enumerate() {
                assert_eq!(got[k * n + i], expected, "result {k} of {:#x} {:#x} {:#x}", x32[i], y32[i], z32[i]);
            }
        }

        let out = device.allocate::<u32>(10 * n);
        device.launch("simd", shape, Params::new().add(dx).add(dy).add(out).add(n as i32));
        let got = device.download::<u32>(out, 10 * n);
        for (i, expected) in each_simd.iter().enumerate() {
            for (k, &expected) in expected.iter().enumerate() {
                assert_eq!(got[k * n + i], expected, "simd result {k} of {:#x} {:#x}", x32[i], y32[i]);
            }
        }

        let [dx, dy] = [&x, &y].map(|x| device.upload(x));
        let out = device.allocate::<u64>(20 * n);
        device.launch("long_words", shape, Params::new().add(dx).add(dy).add(out).add(n as i32));
        let got = device.download::<u64>(out, 20 * n);
        for (i, expected) in each_long.iter().enumerate() {
            for (k, &expected) in expected.iter().enumerate() {
                assert_eq!(got[k * n + i], expected, "long result {k} of {:#x} {:#x}", x[i], y[i]);
            }
        }
    });
}

#[test]
fn big_integers() {
    let n = 70usize;
    let (x, y) = (words(4, 4 * n), words(5, 4 * n));
    // Column by column: the sum of all products of one weight, then the carry.
    let halves = |x: &[u64]| -> Vec<u32> { x.iter().flat_map(|&x| [x as u32, (x >> 32) as u32]).collect() };
    let mut products = Vec::new();
    for i in 0..n {
        let (a, b) = (halves(&x[4 * i..4 * i + 4]), halves(&y[4 * i..4 * i + 4]));
        let mut carry = 0u128;
        for column in 0..16usize {
            for k in column.saturating_sub(7)..=column.min(7) {
                carry += u128::from(a[k]) * u128::from(b[column - k]);
            }
            products.push(carry as u32);
            carry >>= 32;
        }
    }
    let pairs = |x: &[u64]| -> Vec<u128> { x.chunks(2).map(|w| u128::from(w[1]) << 64 | u128::from(w[0])).collect() };
    let (wide_x, wide_y) = (pairs(&x), pairs(&y));
    let both = |f: fn(u128, u128) -> u128| -> Vec<u64> {
        wide_x.iter().zip(&wide_y).map(|(&x, &y)| f(x, y)).flat_map(|w| [w as u64, (w >> 64) as u64]).collect()
    };
    let (sums, differences) = (both(u128::wrapping_add), both(u128::wrapping_sub));
    every(ptx!("integers"), |device| {
        let (dx, dy, out) = (device.upload(&x), device.upload(&y), device.allocate::<u32>(16 * n));
        device.launch("multiply_big", launch(2, 64), Params::new().add(dx).add(dy).add(out).add(n as i32));
        assert_eq!(device.download::<u32>(out, 16 * n), products);

        let (sum, difference) = (device.allocate::<u64>(4 * n), device.allocate::<u64>(4 * n));
        let params = Params::new().add(dx).add(dy).add(sum).add(difference).add(2 * n as i32);
        device.launch("add_big", launch(3, 64), params);
        assert_eq!(device.download::<u64>(sum, 4 * n), sums);
        assert_eq!(device.download::<u64>(difference, 4 * n), differences);
    });
}
