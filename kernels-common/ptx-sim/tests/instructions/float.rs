use crate::harness::*;

#[test]
fn single_precision() {
    check_f32("add.f32", 2, |[a, b, _]| a + b);
    check_f32("add.rn.f32", 2, |[a, b, _]| a + b);
    check_f32("sub.rn.f32", 2, |[a, b, _]| a - b);
    check_f32("mul.rn.f32", 2, |[a, b, _]| a * b);
    check_f32("fma.rn.f32", 3, |[a, b, c]| a.mul_add(b, c));
    check_f32("mad.rn.f32", 3, |[a, b, c]| a.mul_add(b, c));
    check_f32("div.rn.f32", 2, |[a, b, _]| a / b);
    check_f32("div.full.f32", 2, |[a, b, _]| a / b);
    check_f32("div.approx.f32", 2, |[a, b, _]| a / b);
    check_f32("rcp.rn.f32", 1, |[a, ..]| 1.0 / a);
    check_f32("rcp.approx.f32", 1, |[a, ..]| 1.0 / a);
    check_f32("sqrt.rn.f32", 1, |[a, ..]| a.sqrt());
    check_f32("sqrt.approx.f32", 1, |[a, ..]| a.sqrt());
    check_f32("rsqrt.approx.f32", 1, |[a, ..]| (1.0 / f64::from(a).sqrt()) as f32);
    check_f32("sin.approx.f32", 1, |[a, ..]| f64::from(a).sin() as f32);
    check_f32("cos.approx.f32", 1, |[a, ..]| f64::from(a).cos() as f32);
    check_f32("ex2.approx.f32", 1, |[a, ..]| f64::from(a).exp2() as f32);
    check_f32("lg2.approx.f32", 1, |[a, ..]| f64::from(a).log2() as f32);
    check_f32("tanh.approx.f32", 1, |[a, ..]| f64::from(a).tanh() as f32);
}

#[test]
fn double_precision() {
    check_f64("add.f64", 2, |[a, b, _]| a + b);
    check_f64("sub.rn.f64", 2, |[a, b, _]| a - b);
    check_f64("mul.rn.f64", 2, |[a, b, _]| a * b);
    check_f64("fma.rn.f64", 3, |[a, b, c]| a.mul_add(b, c));
    check_f64("div.rn.f64", 2, |[a, b, _]| a / b);
    check_f64("rcp.rn.f64", 1, |[a, ..]| 1.0 / a);
    check_f64("sqrt.rn.f64", 1, |[a, ..]| a.sqrt());
    check_f64("rsqrt.approx.f64", 1, |[a, ..]| 1.0 / a.sqrt());
    // The upper half of the result, and nothing else.
    check("rsqrt.approx.ftz.f64", &[F64], F64, |[a, ..]| {
        let x = f64::from_bits(a);
        let result = 1.0 / x.sqrt();
        let bits = if x.is_nan() {
            a | 1 << 51
        } else if result.is_nan() {
            0xfff8 << 48
        } else {
            result.to_bits()
        };
        bits >> 32 << 32
    });
    check("rcp.approx.ftz.f64", &[F64], F64, |[a, ..]| {
        let x = f64::from_bits(a);
        if x.is_nan() { (a | 1 << 51) >> 32 << 32 } else { (1.0 / x).to_bits() >> 32 << 32 }
    });
}

#[test]
fn signs() {
    check("neg.f32", &[F32], F32, |[a, ..]| a ^ 0x8000_0000);
    check("abs.f32", &[F32], F32, |[a, ..]| a & 0x7fff_ffff);
    check("neg.f64", &[F64], F64, |[a, ..]| a ^ 1 << 63);
    check("abs.f64", &[F64], F64, |[a, ..]| a & !(1 << 63));
    check("copysign.f32", &[F32; 2], F32, |[a, b, _]| a & 0x8000_0000 | b & 0x7fff_ffff);
    check("copysign.f64", &[F64; 2], F64, |[a, b, _]| a & 1 << 63 | b & !(1 << 63));
}

#[test]
fn extremes() {
    // −0 is less than +0, and a number beats a NaN.
    let least = |a: f32, b: f32| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ => {
            if a.total_cmp(&b).is_lt() {
                a
            } else {
                b
            }
        }
    };
    let most = |a: f32, b: f32| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ => {
            if a.total_cmp(&b).is_gt() {
                a
            } else {
                b
            }
        }
    };
    check_f32("min.f32", 2, |[a, b, _]| least(a, b));
    check_f32("max.f32", 2, |[a, b, _]| most(a, b));
    check_f32("min.NaN.f32", 2, |[a, b, _]| if a.is_nan() || b.is_nan() { f32::NAN } else { least(a, b) });
    check_f32("max.NaN.f32", 2, |[a, b, _]| if a.is_nan() || b.is_nan() { f32::NAN } else { most(a, b) });
    let number = |bits: [u64; 3], pick: fn(f64, f64) -> bool| {
        let [a, b, _] = bits.map(f64::from_bits);
        match (a.is_nan(), b.is_nan()) {
            (true, true) => 0x7fff_ffff_ffff_ffff,
            (true, _) => b.to_bits(),
            (_, true) => a.to_bits(),
            _ => {
                if pick(a, b) {
                    a.to_bits()
                } else {
                    b.to_bits()
                }
            }
        }
    };
    check("min.f64", &[F64; 2], F64, |bits| number(bits, |a, b| a.total_cmp(&b).is_lt()));
    check("max.f64", &[F64; 2], F64, |bits| number(bits, |a, b| a.total_cmp(&b).is_gt()));
}

#[test]
fn flushing() {
    let z = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
    check_f32("add.ftz.f32", 2, |[a, b, _]| z(z(a) + z(b)));
    check_f32("sub.rn.ftz.f32", 2, |[a, b, _]| z(z(a) - z(b)));
    check_f32("mul.ftz.f32", 2, |[a, b, _]| z(z(a) * z(b)));
    check_f32("fma.rn.ftz.f32", 3, |[a, b, c]| z(z(a).mul_add(z(b), z(c))));
    check_f32("div.rn.ftz.f32", 2, |[a, b, _]| z(z(a) / z(b)));
    check_f32("sqrt.rn.ftz.f32", 1, |[a, ..]| z(z(a).sqrt()));
    check("abs.ftz.f32", &[F32], F32, |[a, ..]| u64::from(z(f32::from_bits(a as u32)).to_bits() & 0x7fff_ffff));
}

/// Both kinds of addition in one kernel, one after the other: 1e-40 + 0 is 0 and 1e-40.
#[test]
fn subnormal_results_stay_or_are_flushed_as_each_instruction_says() {
    let z = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
    let sum = |x: f32| u64::from(if x.is_nan() { 0x7fff_ffff } else { (x + 0.0).to_bits() });
    let text = "add.ftz.f32 %f7, {a}, 0f00000000;\nadd.f32 %f8, {a}, 0f00000000;\nmov.b64 {d}, {%f7, %f8};";
    check_text(text, &[F32], Int(64), |[a, ..]| {
        let a = f32::from_bits(a as u32);
        sum(z(a)) | sum(a) << 32
    });
    let tiny =
        "add.ftz.f32 %f7, 0f000116C2, 0f00000000;\nadd.f32 %f8, 0f000116C2, 0f00000000;\nmov.b64 {d}, {%f7, %f8};";
    check_text(tiny, &[F32], Int(64), |_| u64::from(1e-40f32.to_bits()) << 32);
}

#[test]
fn saturation() {
    let s = |x: f32| if x > 0.0 { x.min(1.0) } else { 0.0 };
    check_f32("add.sat.f32", 2, |[a, b, _]| s(a + b));
    check_f32("fma.rn.sat.f32", 3, |[a, b, c]| s(a.mul_add(b, c)));
    check_f32("mul.ftz.sat.f32", 2, |[a, b, _]| {
        let z = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
        s(z(z(a) * z(b)))
    });
}

/// Directed rounding of an exact value that is a sum of two doubles: `near` to nearest, `error` the rest.
fn directed(near: f32, exact_above: bool, exact_below: bool, mode: &str) -> f32 {
    match mode {
        "rm" if exact_below => near.next_down(),
        "rp" if exact_above => near.next_up(),
        "rz" if exact_below && near > 0.0 => near.next_down(),
        "rz" if exact_above && near < 0.0 => near.next_up(),
        _ => near,
    }
}

#[test]
fn directed_rounding() {
    for mode in ["rz", "rm", "rp"] {
        // The product of two singles is exact in double precision.
        check_f32(&format!("mul.{mode}.f32"), 2, |[a, b, _]| {
            let exact = f64::from(a) * f64::from(b);
            let near = exact as f32;
            directed(near, exact > f64::from(near), exact < f64::from(near), mode)
        });
        // A quotient lies above or below its rounding as the remainder says, exact in double precision by fma.
        check_f32(&format!("sqrt.{mode}.f32"), 1, |[a, ..]| {
            let near = a.sqrt();
            let square = f64::from(near) * f64::from(near);
            let finite = near.is_finite();
            directed(near, finite && square < f64::from(a), finite && square > f64::from(a), mode)
        });
        check_f64(&format!("mul.{mode}.f64"), 2, |[a, b, _]| {
            let near = a * b;
            // Leave out what an error term cannot express.
            let error = a.mul_add(b, -near);
            if !near.is_finite() || near.abs() < 1e-290 {
                return special_product(a, b, mode);
            }
            match mode {
                "rm" if error < 0.0 => near.next_down(),
                "rp" if error > 0.0 => near.next_up(),
                "rz" if error < 0.0 && near > 0.0 => near.next_down(),
                "rz" if error > 0.0 && near < 0.0 => near.next_up(),
                _ => near,
            }
        });
    }
    check_f32("add.rz.f32", 2, |[a, b, _]| {
        // Truncation never enlarges: of the candidates, the largest whose magnitude is not above the exact sum.
        let near = a + b;
        let exact = f64::from(a) + f64::from(b);
        let lost = (f64::from(a) - (exact - f64::from(b))) + (f64::from(b) - (exact - (exact - f64::from(b))));
        let above = exact > f64::from(near) || exact == f64::from(near) && lost > 0.0;
        let below = exact < f64::from(near) || exact == f64::from(near) && lost < 0.0;
        if a.is_infinite() || b.is_infinite() { near } else { directed(near, above, below, "rz") }
    });
}

/// The product near the ends of the range, by scaling it into the middle.
fn special_product(a: f64, b: f64, mode: &str) -> f64 {
    if a.is_nan() || b.is_nan() || a == 0.0 || b == 0.0 || a.is_infinite() || b.is_infinite() {
        return a * b;
    }
    let negative = a.is_sign_negative() != b.is_sign_negative();
    let away = match mode {
        "rz" => false,
        "rm" => negative,
        _ => !negative,
    };
    let magnitude = a.abs() * b.abs();
    let result = if magnitude.is_infinite() {
        if away { f64::INFINITY } else { f64::MAX }
    } else {
        // Compare the exact product with the rounded one after scaling both into the middle of the range.
        let up = |x: f64| if x < 2f64.powi(-200) { 700 } else { 0 };
        let (x, y) = (a.abs() * 2f64.powi(up(a.abs())), b.abs() * 2f64.powi(up(b.abs())));
        let (high, low) = (x * y, x.mul_add(y, -(x * y)));
        let scaled = magnitude * 2f64.powi(up(a.abs())) * 2f64.powi(up(b.abs()));
        let above = high > scaled || high == scaled && low > 0.0;
        let below = high < scaled || high == scaled && low < 0.0;
        if away && above {
            magnitude.next_up()
        } else if !away && below {
            magnitude.next_down()
        } else {
            magnitude
        }
    };
    if negative { -result } else { result }
}

#[test]
fn minima_of_magnitudes() {
    let magnitudes = |a: f32, b: f32, greater: bool| {
        let (x, y) = (a.abs(), b.abs());
        let first = x.is_nan() == y.is_nan() && (x < y) != greater || y.is_nan();
        let magnitude = if first { x } else { y };
        if a.is_sign_negative() != b.is_sign_negative() { -magnitude } else { magnitude }
    };
    check_f32("min.xorsign.abs.f32", 2, |[a, b, _]| magnitudes(a, b, false));
    check_f32("max.xorsign.abs.f32", 2, |[a, b, _]| magnitudes(a, b, true));
    check_f32("min.NaN.xorsign.abs.f32", 2, |[a, b, _]| {
        if a.is_nan() {
            a
        } else if b.is_nan() {
            b
        } else {
            magnitudes(a, b, false)
        }
    });
}
