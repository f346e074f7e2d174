//! Operations on parts of registers, and numbers of eight bits.

use crate::harness::*;

/// An operation on one pair of parts.
type PartOp = fn(i64, i64) -> i64;

/// The parts of a word, and a word of parts.
fn parts(word: u64, bits: u32, signed: bool) -> Vec<i64> {
    let part = |place: u32| (word >> (bits * place)) as i64 & ((1 << bits) - 1);
    let top = 1i64 << (bits - 1);
    (0..32 / bits).map(part).map(|x| if signed && x >= top { x - 2 * top } else { x }).collect()
}

fn join(parts: impl Iterator<Item = i64>, bits: u32) -> u64 {
    parts.enumerate().fold(0, |word, (place, part)| word | (part as u64 & ((1 << bits) - 1)) << (bits * place as u32))
}

#[test]
fn video() {
    let operations: [(&str, PartOp); 6] = [
        ("vadd", |a, b| a + b),
        ("vsub", |a, b| a - b),
        ("vavrg", |a, b| (a + b + 1).div_euclid(2)),
        ("vabsdiff", |a, b| (a - b).abs()),
        ("vmin", |a, b| if a < b { a } else { b }),
        ("vmax", |a, b| if a < b { b } else { a }),
    ];
    for (name, f) in operations {
        for (count, bits) in [(4, 8), (2, 16)] {
            for (ty, signed) in [("u32", false), ("s32", true)] {
                let pairs = move |a, b| parts(a, bits, signed).into_iter().zip(parts(b, bits, signed));
                let opcode = |how: &str| format!("{name}{count}.{ty}.{ty}.{ty}{how}");
                check(&opcode(""), &[Int(32); 3], Int(32), |[a, b, _]| join(pairs(a, b).map(|(a, b)| f(a, b)), bits));
                let (low, high) =
                    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
                check(&opcode(".sat"), &[Int(32); 3], Int(32), |[a, b, _]| {
                    join(pairs(a, b).map(|(a, b)| f(a, b).clamp(low, high)), bits)
                });
                check(&opcode(".add"), &[Int(32); 3], Int(32), |[a, b, c]| {
                    pairs(a, b).map(|(a, b)| f(a, b)).sum::<i64>().wrapping_add(c as i64) as u64
                });
            }
        }
    }
    // The types of operands and result may differ.
    check("vsub4.s32.u32.s32.sat", &[Int(32); 3], Int(32), |[a, b, _]| {
        let pairs = parts(a, 8, false).into_iter().zip(parts(b, 8, true));
        join(pairs.map(|(a, b)| (a - b).clamp(-128, 127)), 8)
    });
}

#[test]
fn saturating_packs() {
    let clamp = |x: u64, low: i64, high: i64| i64::from(x as i32).clamp(low, high) as u64;
    check("cvt.pack.sat.s16.s32", &[Int(32); 2], Int(32), |[a, b, _]| {
        (clamp(a, -32768, 32767) & 0xffff) << 16 | clamp(b, -32768, 32767) & 0xffff
    });
    check("cvt.pack.sat.u16.s32", &[Int(32); 2], Int(32), |[a, b, _]| clamp(a, 0, 65535) << 16 | clamp(b, 0, 65535));
    check("cvt.pack.sat.s8.s32.b32", &[Int(32); 3], Int(32), |[a, b, c]| {
        c << 16 | (clamp(a, -128, 127) & 0xff) << 8 | clamp(b, -128, 127) & 0xff
    });
    check("cvt.pack.sat.u8.s32.b32", &[Int(32); 3], Int(32), |[a, b, c]| {
        c << 16 | clamp(a, 0, 255) << 8 | clamp(b, 0, 255)
    });
}

#[test]
fn bytes_in_registers_of_16_bits() {
    check_text("{ .reg .b8 x, y; mov.b16 {x, y}, {a}; mov.b16 {d}, {y, x}; }", &[Int(16)], Int(16), |[a, ..]| {
        (a & 0xff) << 8 | a >> 8
    });
}

#[test]
fn registers_of_128_bits() {
    for (text, expected) in [
        ("mov.b128 q, {{a}, {b}}; mov.b128 {{d}, t}, q;", 0),
        ("mov.b128 q, {{a}, {b}}; mov.b128 {t, {d}}, q;", 1),
        ("mov.b128 q, {{a}, {b}}; mov.b128 r, q; mov.b128 {t, {d}}, r;", 1),
    ] {
        let text = format!("{{ .reg .b128 q, r; .reg .b64 t; {text} }}");
        check_text(&text, &[Int(64); 2], Int(64), move |operands| operands[expected]);
    }
}

/// The magnitudes of all finite numbers of a format, in order: e4m3 has three bits of fraction, e5m2 two.
fn finite(fraction_bits: i32) -> Vec<f64> {
    let (bias, last) = if fraction_bits == 3 { (7, 0x7e) } else { (15, 0x7b) };
    (0..=last)
        .map(|bits: i32| {
            let (exponent, fraction) = (bits >> fraction_bits, f64::from(bits & ((1 << fraction_bits) - 1)));
            let fraction = fraction / f64::from(1 << fraction_bits);
            if exponent == 0 { fraction * 2f64.powi(1 - bias) } else { (1.0 + fraction) * 2f64.powi(exponent - bias) }
        })
        .collect()
}

/// The nearest number, to even; the greatest one for what is larger.
fn narrow(x: f64, fraction_bits: i32, relu: bool) -> u64 {
    if x.is_nan() {
        return 0x7f;
    }
    if relu && x <= 0.0 {
        return 0;
    }
    let list = finite(fraction_bits);
    let magnitude = x.abs().min(*list.last().unwrap());
    let above = list.iter().position(|&value| value >= magnitude).unwrap();
    let mut bits = above;
    if above > 0 {
        let (down, up) = (magnitude - list[above - 1], list[above] - magnitude);
        bits -= usize::from(down < up || down == up && above % 2 == 1);
    }
    bits as u64 | u64::from(x.is_sign_negative()) << 7
}

fn half(bits: u64) -> f64 {
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 0x3ff) as f64 / 1024.0);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 & 1 != 0 { -magnitude } else { magnitude }
}

#[test]
fn to_eight_bits() {
    for (name, fraction_bits) in [("e4m3x2", 3), ("e5m2x2", 2)] {
        for (modifier, relu) in [("", false), (".relu", true)] {
            let single = |bits: u64| f64::from(f32::from_bits(bits as u32));
            check(&format!("cvt.rn.satfinite{modifier}.{name}.f32"), &[F32; 2], Int(16), |[a, b, _]| {
                narrow(single(a), fraction_bits, relu) << 8 | narrow(single(b), fraction_bits, relu)
            });
            check(&format!("cvt.rn.satfinite{modifier}.{name}.f16x2"), &[Packed], Int(16), |[a, ..]| {
                narrow(half(a >> 16), fraction_bits, relu) << 8 | narrow(half(a & 0xffff), fraction_bits, relu)
            });
        }
    }
}

#[test]
fn from_eight_bits() {
    // All bytes, in both places.
    for (name, fraction_bits) in [("e4m3x2", 3), ("e5m2x2", 2)] {
        let list = finite(fraction_bits);
        let number = move |bits: u64| {
            let magnitude = match (bits & 0x7f) as usize {
                bits if bits < list.len() => list[bits],
                0x7c => f64::INFINITY,
                _ => return None,
            };
            Some(if bits & 0x80 != 0 { -magnitude } else { magnitude })
        };
        check(&format!("cvt.rn.f16x2.{name}"), &[Int(16)], Int(32), move |[a, ..]| {
            let f16 = |bits| match number(bits) {
                Some(x) => (0..0x10000).find(|&bits| half(bits).to_bits() == x.to_bits()).unwrap(),
                None => 0x7fff,
            };
            f16(a >> 8) << 16 | f16(a & 0xff)
        });
    }
}

#[test]
fn tf32() {
    // Thirteen bits of the fraction go.
    let magnitude = |a: u64, add: u64| ((a & 0x7fff_ffff) + add) & !0x1fff;
    let round = move |a: u64, add: u64| match f32::from_bits(a as u32) {
        x if x.is_nan() => 0x7fff_ffff,
        x if x.is_infinite() => a,
        _ => a & 0x8000_0000 | magnitude(a, add),
    };
    check("cvt.rna.tf32.f32", &[F32], Int(32), |[a, ..]| round(a, 0x1000));
    check("cvt.rz.tf32.f32", &[F32], Int(32), |[a, ..]| round(a, 0));
    check("cvt.rn.tf32.f32", &[F32], Int(32), |[a, ..]| round(a, 0xfff + (a >> 13 & 1)));
    check("cvt.rn.relu.tf32.f32", &[F32], Int(32), |[a, ..]| {
        if f32::from_bits(a as u32) <= 0.0 { 0 } else { round(a, 0xfff + (a >> 13 & 1)) }
    });
}
