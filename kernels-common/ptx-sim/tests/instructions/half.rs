use crate::harness::*;

/// An f16 as a double, by its definition.
pub fn f16(bits: u64) -> f64 {
    let (exponent, fraction) = (bits >> 10 & 31, (bits & 0x3ff) as f64);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent as i32 - 25),
    };
    if bits & 0x8000 != 0 { -magnitude } else { magnitude }
}

/// A bf16 as a double.
pub fn bf16(bits: u64) -> f64 {
    f64::from(f32::from_bits((bits as u32) << 16))
}

/// The f16 nearest to a double that is exact, ties to even.
pub fn to_f16(x: f64) -> u64 {
    nearest(x, 10, -14, 15)
}

/// The bf16 nearest to a double that is exact.
pub fn to_bf16(x: f64) -> u64 {
    nearest(x, 7, -126, 127)
}

fn nearest(x: f64, fraction_bits: i32, least: i32, most: i32) -> u64 {
    let sign = u64::from(x.is_sign_negative()) << 15;
    if x.is_nan() {
        return 0x7fff;
    }
    let infinity = ((most * 2 + 1) as u64) << fraction_bits;
    let magnitude = x.abs();
    if magnitude == 0.0 || magnitude.is_infinite() {
        return sign | if magnitude == 0.0 { 0 } else { infinity };
    }
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(least);
    // Scaling by a power of two is exact here; one rounding to an integer is left.
    let steps = (magnitude
        * 2f64.powi((fraction_bits - exponent) / 2)
        * 2f64.powi(fraction_bits - exponent - (fraction_bits - exponent) / 2))
    .round_ties_even() as u64;
    sign | (steps + (((exponent - least) as u64) << fraction_bits)).min(infinity)
}

type Formats = [(&'static str, Ty, fn(u64) -> f64, fn(f64) -> u64); 2];

const FORMATS: Formats = [("f16", F16, f16, to_f16), ("bf16", BF16, bf16, to_bf16)];

#[test]
fn arithmetic() {
    for (name, ty, load, store) in FORMATS {
        // Sums and products of two are exact in double precision, or nearly: the rest is far below a half.
        check(&format!("add.{name}"), &[ty; 2], ty, |[a, b, _]| store(load(a) + load(b)));
        check(&format!("sub.rn.{name}"), &[ty; 2], ty, |[a, b, _]| store(load(a) - load(b)));
        check(&format!("mul.{name}"), &[ty; 2], ty, |[a, b, _]| store(load(a) * load(b)));
        check(&format!("neg.{name}"), &[ty], ty, |[a, ..]| a ^ 0x8000);
        check(&format!("abs.{name}"), &[ty], ty, |[a, ..]| a & 0x7fff);
    }
}

#[test]
fn fused() {
    // f16: the exact value needs at most 80 bits, so a sum of two doubles holds it; round with the error's sign.
    let exact = |a: f64, b: f64, c: f64| {
        let product = a * b;
        let sum = product + c;
        let error = (product - (sum - (sum - product))) + (c - (sum - product));
        (sum, error)
    };
    for (name, ty, load, store) in FORMATS {
        check(&format!("fma.rn.{name}"), &[ty; 3], ty, |[a, b, c]| {
            let (sum, error) = exact(load(a), load(b), load(c));
            if !sum.is_finite() || error == 0.0 || error.is_nan() {
                return store(sum);
            }
            // Beside a tie the error decides.
            let (below, above) = (store(sum.next_down()), store(sum.next_up()));
            if below == above {
                store(sum)
            } else if error < 0.0 {
                below
            } else {
                above
            }
        });
    }
    check("fma.rn.relu.f16", &[F16; 3], F16, |[a, b, c]| {
        let (sum, _) = exact(f16(a), f16(b), f16(c));
        // The sign is that of the exact value, the rest was tested above.
        if sum.is_nan() {
            0x7fff
        } else if sum.is_sign_negative() {
            0
        } else {
            to_f16_of_fma(a, b, c)
        }
    });
}

fn to_f16_of_fma(a: u64, b: u64, c: u64) -> u64 {
    let product = f16(a) * f16(b);
    let sum = product + f16(c);
    let error = (product - (sum - (sum - product))) + (f16(c) - (sum - product));
    if !sum.is_finite() || error == 0.0 || error.is_nan() {
        return to_f16(sum);
    }
    to_f16(if error < 0.0 { sum.next_down() } else { sum.next_up() })
}

#[test]
fn extremes() {
    for (name, ty, load, _) in FORMATS {
        let order = move |a: u64, b: u64, less: bool| match (load(a).is_nan(), load(b).is_nan()) {
            (true, true) => 0x7fff,
            (true, _) => b,
            (_, true) => a,
            _ => {
                if load(a).total_cmp(&load(b)).is_lt() == less {
                    a
                } else {
                    b
                }
            }
        };
        let any_nan = move |a, b| load(a).is_nan() || load(b).is_nan();
        check(&format!("min.{name}"), &[ty; 2], ty, |[a, b, _]| order(a, b, true));
        check(&format!("max.{name}"), &[ty; 2], ty, |[a, b, _]| order(a, b, false));
        check(
            &format!("min.NaN.{name}"),
            &[ty; 2],
            ty,
            |[a, b, _]| if any_nan(a, b) { 0x7fff } else { order(a, b, true) },
        );
        check(
            &format!("max.NaN.{name}"),
            &[ty; 2],
            ty,
            |[a, b, _]| if any_nan(a, b) { 0x7fff } else { order(a, b, false) },
        );
    }
}

#[test]
fn packed() {
    for (name, _, load, store) in FORMATS {
        let both = move |a: u64, b: u64, f: fn(f64, f64) -> f64| {
            store(f(load(a & 0xffff), load(b & 0xffff))) | store(f(load(a >> 16), load(b >> 16))) << 16
        };
        check(&format!("add.{name}x2"), &[Packed; 2], Packed, |[a, b, _]| both(a, b, |a, b| a + b));
        check(&format!("sub.{name}x2"), &[Packed; 2], Packed, |[a, b, _]| both(a, b, |a, b| a - b));
        check(&format!("mul.{name}x2"), &[Packed; 2], Packed, |[a, b, _]| both(a, b, |a, b| a * b));
        check(&format!("neg.{name}x2"), &[Packed], Packed, |[a, ..]| a ^ 0x8000_8000);
    }
    check_text(
        "fma.rn.f16x2 {d}, {a}, {b}, {c};\nmov.b32 {%h0, %h1}, {d};\nmov.b32 {d}, {%h1, %h0};",
        &[Packed; 3],
        Packed,
        |[a, b, c]| {
            let half = |x: u64, high: bool| if high { x >> 16 } else { x & 0xffff };
            let part = |high| to_f16_of_fma(half(a, high), half(b, high), half(c, high));
            part(true) | part(false) << 16
        },
    );
}

#[test]
fn options() {
    let z = |a: u64| if a & 0x7c00 == 0 { a & 0x8000 } else { a };
    check("add.ftz.f16", &[F16; 2], F16, |[a, b, _]| z(to_f16(f16(z(a)) + f16(z(b)))));
    check("add.sat.f16", &[F16; 2], F16, |[a, b, _]| {
        let sum = f16(to_f16(f16(a) + f16(b)));
        if sum > 0.0 { to_f16(sum.min(1.0)) } else { 0 }
    });
}

#[test]
fn minima_of_magnitudes() {
    let pick = |a: u64, b: u64, infinity: u64, greater: bool, propagate: bool| {
        let (x, y) = (a & 0x7fff, b & 0x7fff);
        let magnitude = match (x > infinity, y > infinity) {
            (false, false) => {
                if greater {
                    x.max(y)
                } else {
                    x.min(y)
                }
            }
            (true, false) if !propagate => y,
            (false, true) if !propagate => x,
            _ => return 0x7fff,
        };
        magnitude | (a ^ b) & 0x8000
    };
    for (ty, of, infinity) in [("f16", F16, 0x7c00), ("bf16", BF16, 0x7f80)] {
        for (name, greater) in [("min", false), ("max", true)] {
            for (modifier, propagate) in [("", false), (".NaN", true)] {
                check(&format!("{name}{modifier}.xorsign.abs.{ty}"), &[of; 2], of, |[a, b, _]| {
                    pick(a, b, infinity, greater, propagate)
                });
                check(&format!("{name}{modifier}.xorsign.abs.{ty}x2"), &[Packed; 2], Packed, |[a, b, _]| {
                    pick(a >> 16, b >> 16, infinity, greater, propagate) << 16
                        | pick(a & 0xffff, b & 0xffff, infinity, greater, propagate)
                });
            }
        }
    }
}
