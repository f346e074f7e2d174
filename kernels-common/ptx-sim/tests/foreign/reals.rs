//! Floating-point numbers: conversions, half precision, mathematical functions.

use crate::common::{Params, launch};
use crate::{Random, every, ptx};

/// A format of 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    mantissa: i32,
    bias: i32,
}

pub(crate) const F16: Format = Format { mantissa: 10, bias: 15 };
const BF16: Format = Format { mantissa: 7, bias: 127 };

impl Format {
    /// The nearest value of the format, ties to even; values must not overflow.
    fn round(self, x: f64) -> f64 {
        if x == 0.0 {
            return x;
        }
        let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        let quantum = 2f64.powi(exponent.max(1 - self.bias) - self.mantissa);
        (x / quantum).round_ties_even() * quantum
    }

    /// The bits of the nearest value.
    pub(crate) fn encode(self, x: f64) -> u16 {
        let x = self.round(x);
        let sign = u16::from(x.is_sign_negative()) << 15;
        let smallest = 2f64.powi(1 - self.bias - self.mantissa);
        // Exponents are integers in steps of the mantissa: the bits count up with the value.
        let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        let bits = if exponent < 1 - self.bias {
            (x.abs() / smallest) as u16
        } else {
            let fraction = (x.to_bits() & ((1 << 52) - 1)) >> (52 - self.mantissa);
            ((exponent + self.bias) as u16) << self.mantissa | fraction as u16
        };
        sign | bits
    }

    /// The value of finite bits.
    fn decode(self, bits: u16) -> f64 {
        let exponent = i32::from(bits >> self.mantissa) & (2 * self.bias + 1);
        let fraction = f64::from(bits & ((1 << self.mantissa) - 1));
        let implied = if exponent > 0 { f64::from(1u16 << self.mantissa) } else { 0.0 };
        let value = (implied + fraction) * 2f64.powi(exponent.max(1) - self.bias - self.mantissa);
        if bits >> 15 == 1 { -value } else { value }
    }
}

#[test]
fn half_precision() {
    let (rows, pairs) = (19usize, 45usize);
    let mut random = Random(1);
    let (a, x) = (
        random.list(2 * rows * pairs, |r| F16.encode(r.real(-2.0, 2.0))),
        random.list(2 * pairs, |r| F16.encode(r.real(-1.0, 1.0))),
    );
    // A product and a sum of halves fit into a double, which is rounded once.
    let products: Vec<u16> = a
        .chunks(2 * pairs)
        .map(|row| {
            let mut lanes = [[0f64; 2]; 32];
            for (i, (pair, x)) in row.chunks(2).zip(x.chunks(2)).enumerate() {
                for half in 0..2 {
                    let sum = &mut lanes[i % 32][half];
                    *sum = F16.round(F16.decode(pair[half]) * F16.decode(x[half]) + *sum);
                }
            }
            let mut sums = lanes.map(|[low, high]| low as f32 + high as f32);
            for d in [16, 8, 4, 2, 1] {
                for lane in 0..d {
                    sums[lane] += sums[lane + d];
                }
            }
            F16.encode(f64::from(sums[0]))
        })
        .collect();
    let n = 100usize;
    let nan = 0x7e00u16;
    let mut values = random.list(2 * n, |r| F16.encode(r.real(-4.0, 4.0)));
    values[6] = nan;
    let (low, high) = (-1.5, 2.25);
    every(ptx!("half2"), |device| {
        let (da, dx, dy) = (device.upload(&a), device.upload(&x), device.allocate::<u16>(rows));
        let params = Params::new().add(da).add(dx).add(dy).add(rows as i32).add(pairs as i32);
        device.launch("matvec", launch(5, 128), params);
        assert_eq!(device.download::<u16>(dy, rows), products);

        let (dx, dy) = (device.upload(&values), device.allocate::<u16>(2 * n));
        let (flags, rounded) = (device.allocate::<u8>(n), device.allocate::<i16>(n));
        let params = Params::new().add(dx).add(dy).add(flags).add(rounded).add(n as i32);
        device.launch("clip", launch(2, 64), params.add(F16.encode(low)).add(F16.encode(high)));
        let (y, flags) = (device.download::<u16>(dy, 2 * n), device.download::<u8>(flags, n));
        let rounded = device.download::<i16>(rounded, n);
        let decode = |bits: u16| if bits == nan { f64::NAN } else { F16.decode(bits) };
        for i in 0..n {
            let v = [decode(values[2 * i]), decode(values[2 * i + 1])];
            for half in 0..2 {
                // The maximum of a number and NaN is the number.
                let clipped = v[half].max(low).min(high);
                let outside = if v[half].is_nan() || clipped == v[half] { 0.0 } else { 1.0 };
                assert_eq!(y[2 * i + half], F16.encode(2.0 * clipped - outside * [0.5, 0.25][half]), "element {i}");
            }
            let expected =
                u8::from(v[0] > low && v[1] > low) | u8::from(v[0].is_nan()) << 1 | u8::from(v[1] < high) << 2;
            assert_eq!(flags[i], expected, "element {i}");
            assert_eq!(rounded[i], v[0].round_ties_even() as i16 + v[1].floor() as i16, "element {i}");
        }
    });
}

#[test]
fn bfloat() {
    let n = 99usize;
    let mut random = Random(2);
    let (x, y) = (
        random.list(2 * n, |r| BF16.encode(r.real(-2.0, 2.0))),
        random.list(2 * n, |r| BF16.encode(r.real(-2.0, 2.0))),
    );
    let a = BF16.encode(1.3);
    let z: Vec<u16> =
        x.iter().zip(&y).map(|(&x, &y)| BF16.encode(BF16.decode(a) * BF16.decode(x) + BF16.decode(y))).collect();
    let largest = x.iter().copied().max_by(|&a, &b| BF16.decode(a).total_cmp(&BF16.decode(b))).unwrap();
    let whole: Vec<u16> = random.list(n, |r| BF16.encode(r.within(-100, 100) as f64));
    let mean = whole.iter().map(|&x| BF16.decode(x)).sum::<f64>() as f32 / n as f32;
    every(ptx!("bfloat"), |device| {
        let (dx, dy, dz) = (device.upload(&x), device.upload(&y), device.allocate::<u16>(2 * n));
        device.launch("axpy_bf16", launch(2, 64), Params::new().add(dx).add(dy).add(dz).add(a).add(n as i32));
        assert_eq!(device.download::<u16>(dz, 2 * n), z);
        let (out, mean_out) = (device.allocate::<u16>(1), device.allocate::<f32>(1));
        let params = |x: u64, n: usize| Params::new().add(x).add(out).add(mean_out).add(n as i32);
        device.launch("largest_bf16", launch(1, 32), params(dx, 2 * n));
        assert_eq!(device.download::<u16>(out, 1), [largest]);
        let dw = device.upload(&whole);
        device.launch("largest_bf16", launch(1, 32), params(dw, n));
        assert_eq!(device.download::<f32>(mean_out, 1), [mean]);
    });
}

/// `exact` in single precision: the nearest value at most, or at least, as far up (`up` > 0), down (`up` < 0).
fn directed(exact: f64, up: f64) -> f32 {
    let near = exact as f32;
    if up > 0.0 && f64::from(near) < exact {
        near.next_up()
    } else if up < 0.0 && f64::from(near) > exact {
        near.next_down()
    } else {
        near
    }
}

fn conversion_results(f: f32, d: f64, k: i32) -> [f64; 28] {
    let wide = f64::from(f);
    let square = i64::from(k) * i64::from(k);
    let towards_zero = |x: f64| directed(x, -x);
    let five = {
        let near = (square * 5) as f64;
        if near as i128 > i128::from(square * 5) { near.next_down() } else { near }
    };
    let root = {
        let near = d.abs().sqrt();
        // The error of a square root is exact in a fused operation.
        if near.mul_add(near, -d.abs()) < 0.0 { near.next_up() } else { near }
    };
    let added = {
        let (a, b) = (f, 1e-9f32);
        let sum = a + b;
        // The error of a sum, which is exact (Knuth).
        let part = sum - a;
        let error = (a - (sum - part)) + (b - part);
        if error > 0.0 { sum.next_up() } else { sum }
    };
    [
        wide.round_ties_even(),
        wide.trunc(),
        wide.ceil(),
        wide.floor(),
        f64::from(wide.round_ties_even() as u32),
        wide.floor(),
        f64::from(d.round_ties_even() as i32),
        d as i64 as f64,
        f64::from(d as f32),
        f64::from(towards_zero(d)),
        f64::from(k as f32),
        f64::from(towards_zero(f64::from(k))),
        f64::from(directed(f64::from(k as u32), 1.0)),
        f64::from((square * 3) as f32),
        five,
        wide.round_ties_even() + wide.floor() * 2.0 + wide.ceil() * 4.0 + wide.trunc() * 8.0,
        d.round_ties_even(),
        wide.round(),
        f64::from(k as i8) + f64::from(k as u8) + f64::from(k as u16) * 3.0,
        f64::from_bits((d.to_bits() & 0xfffff) << 32 | u64::from(k as u32 & 0x3fff_ffff)),
        f64::from(f32::from_bits(k as u32 & 0x7f7f_ffff)),
        f64::from(f.clamp(0.0, 1.0)),
        f64::from(if d.abs() < 255.0 { d.abs() as u8 } else { 0 }) + f64::from(f as i16),
        d.copysign(wide) + f64::from(k) % 10.0,
        f64::from(u8::from(f.is_sign_negative()) * 4 + u8::from(f == 0.0) * 8),
        f64::from(added + directed(wide * f64::from(1.1f32), -1.0) + towards_zero(wide / 3.0)),
        root + 1.0 / d,
        f64::from(f.mul_add(f, -f)) + d.mul_add(d, -d),
    ]
}

#[test]
fn conversions() {
    let n = 300usize;
    let mut random = Random(3);
    let x = random.list(n, |r| match r.within(0, 7) {
        0 => r.within(-60, 60) as f32 / 2.0,
        1 => r.real(-1e-3, 1e-3) as f32,
        2 => r.real(-1.0, 1.0) as f32,
        _ => r.real(-30000.0, 30000.0) as f32,
    });
    let y = random.list(n, |r| match r.within(0, 5) {
        0 => r.within(-60, 60) as f64 / 2.0 + 0.25,
        1 => r.real(-1e30, 1e30),
        2 => r.real(-1.0, 1.0) * 2f64.powi(-140),
        3 => r.real(-300.0, 300.0),
        _ => r.real(-4e9, 4e9),
    });
    let z = random.list(n, |r| r.within(-1 << 30, 1 << 30) as i32 >> r.within(0, 25));
    let expected: Vec<[f64; 28]> = (0..n).map(|i| conversion_results(x[i], y[i], z[i])).collect();
    every(ptx!("templates"), |device| {
        let (dx, dy, dz) = (device.upload(&x), device.upload(&y), device.upload(&z));
        let out = device.allocate::<f64>(28 * n);
        device.launch("conversions", launch(3, 100), Params::new().add(dx).add(dy).add(dz).add(out).add(n as i32));
        let got = device.download::<f64>(out, 28 * n);
        for (i, expected) in expected.iter().enumerate() {
            for (k, expected) in expected.iter().enumerate() {
                assert_eq!(got[k * n + i], *expected, "result {k} of {} {} {}", x[i], y[i], z[i]);
            }
        }
    });
}

/// The error function by Simpson's rule.
fn erf(x: f64) -> f64 {
    let steps = 400;
    let h = x / f64::from(steps);
    let term = |k: i32| {
        let weight = if k == 0 || k == steps { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
        weight * (-(h * f64::from(k)).powi(2)).exp()
    };
    (0..=steps).map(term).sum::<f64>() * h / 3.0 * std::f64::consts::FRAC_2_SQRT_PI
}

#[test]
fn functions_of_singles() {
    let n = 200usize;
    let mut random = Random(4);
    // Large arguments take the slow way to reduce an angle.
    let x = random.list(n, |r| r.real(-1.0, 1.0) as f32 * 10f32.powi(r.within(-2, 9) as i32));
    let y = random.list(n, |r| r.real(-8.0, 8.0) as f32);
    // The function and the bound on its error in units in the last place, as the programming guide lists it.
    type Function = fn(f64, f64) -> f64;
    let functions: [(&str, f64, Function); 22] = [
        ("sinf", 2.0, |a, _| a.sin()),
        ("cosf", 2.0, |a, _| a.cos()),
        ("tanf", 4.0, |a, _| a.tan()),
        ("expf", 2.0, |_, b| b.exp()),
        ("logf", 1.0, |a, _| a.abs().ln()),
        ("powf", 4.0, |a, b| a.abs().powf(b)),
        ("tanhf", 2.0, |_, b| b.tanh()),
        ("atan2f", 3.0, f64::atan2),
        ("erff", 2.0, |_, b| erf(b)),
        ("cbrtf", 1.0, |a, _| a.cbrt()),
        ("hypotf", 3.0, f64::hypot),
        ("exp2f", 2.0, |_, b| b.exp2()),
        ("log2f", 1.0, |a, _| a.abs().log2()),
        ("asinf", 2.0, |_, b| (b / 16.0).asin()),
        ("acosf", 2.0, |_, b| (b / 16.0).acos()),
        ("log1pf", 1.0, |_, b| b.abs().ln_1p()),
        ("expm1f", 1.0, |_, b| b.exp_m1()),
        ("fmodf", 0.0, |a, b| a % b),
        ("division", 0.0, |a, b| a / b),
        ("sqrtf", 0.0, |a, _| a.abs().sqrt()),
        ("ldexpf", 0.0, |_, b| b * 2f64.powi(b as i32)),
        ("sinhf", 3.0, |_, b| b.sinh()),
    ];
    // Angles for which the fast functions have a bound.
    let angles = random.list(n, |r| r.real(-3.0, 3.0) as f32);
    every(ptx!("math"), |device| {
        let (dx, dy, out) = (device.upload(&x), device.upload(&y), device.allocate::<f32>(22 * n));
        device.launch("single", launch(2, 128), Params::new().add(dx).add(dy).add(out).add(n as i32));
        let got = device.download::<f32>(out, 22 * n);
        for (k, (name, bound, f)) in functions.iter().enumerate() {
            for i in 0..n {
                let exact = f(f64::from(x[i]), f64::from(y[i]));
                let near = exact as f32;
                if near.is_infinite() {
                    assert_eq!(got[k * n + i], near, "{name}({}, {})", x[i], y[i]);
                    continue;
                }
                let unit = f64::from(near.abs().next_up()) - f64::from(near.abs());
                let error = (f64::from(got[k * n + i]) - exact).abs() / unit;
                // Half a unit is the rounding of the exact value itself; a bound of 0 means correct rounding.
                assert!(error <= bound + 0.5, "{name}({}, {}) is {exact}, not {}", x[i], y[i], got[k * n + i]);
            }
        }

        let (dx, out) = (device.upload(&angles), device.allocate::<f32>(9 * n));
        device.launch("fast", launch(2, 128), Params::new().add(dx).add(out).add(n as i32));
        let got = device.download::<f32>(out, 9 * n);
        for (i, &a) in angles.iter().enumerate() {
            let result = |k: usize| f64::from(got[k * n + i]);
            let wide = f64::from(a);
            let near = |got: f64, exact: f64, bound: f64| assert!((got - exact).abs() <= bound, "{a}: {exact}, {got}");
            // Bounds of the programming guide, where it has any: 2^-21.4 absolute for the first two.
            near(result(0), wide.sin(), 3.7e-7);
            near(result(1), wide.cos(), 3.7e-7);
            near(result(2), wide.exp(), wide.exp() * 5.0 * f64::from(f32::EPSILON));
            near(result(3), wide.abs().ln(), 3.7e-7 + 3.0 * f64::from(f32::EPSILON) * wide.abs().ln().abs());
            // exp2 of 1.5 log2: the error of the logarithm counts as often as the result has doublings.
            near(result(4), wide.abs().powf(1.5), wide.abs().powf(1.5) * 4e-6 + 1e-12);
            assert_eq!(got[5 * n + i], 1.0 / a);
            assert_eq!(got[6 * n + i], a.abs().sqrt());
            assert_eq!(got[7 * n + i], (1.0 / wide.abs().sqrt()) as f32);
            // A quotient of two values with that absolute error.
            near(result(8), wide.tan(), 1e-6 * (1.0 + wide.tan().abs()) / wide.cos().abs());
        }
    });
}

#[test]
fn functions_of_doubles() {
    let n = 100usize;
    let mut random = Random(5);
    let x = random.list(n, |r| r.real(-1.0, 1.0) * 10f64.powi(r.within(-2, 12) as i32));
    let y = random.list(n, |r| r.real(-8.0, 8.0));
    // Bounds of the programming guide, and one unit for the host's own functions.
    type Function = fn(f64, f64) -> f64;
    let functions: [(&str, f64, Function); 14] = [
        ("sin", 3.0, |a, _| a.sin()),
        ("cos", 3.0, |a, _| a.cos()),
        ("exp", 2.0, |_, b| b.exp()),
        ("log", 2.0, |a, _| a.abs().ln()),
        ("pow", 3.0, |a, b| a.abs().powf(b)),
        ("tanh", 2.0, |_, b| b.tanh()),
        ("atan", 3.0, |a, _| a.atan()),
        ("sqrt", 0.0, |a, _| a.abs().sqrt()),
        ("division", 0.0, |a, b| a / b),
        ("cbrt", 2.0, |a, _| a.cbrt()),
        ("fmod", 0.0, |a, b| a % b),
        ("rsqrt", 2.0, |a, _| 1.0 / a.abs().sqrt()),
        ("exp2", 2.0, |_, b| b.exp2()),
        ("log1p", 2.0, |_, b| b.abs().ln_1p()),
    ];
    every(ptx!("math"), |device| {
        let (dx, dy, out) = (device.upload(&x), device.upload(&y), device.allocate::<f64>(14 * n));
        device.launch("wide", launch(2, 64), Params::new().add(dx).add(dy).add(out).add(n as i32));
        let got = device.download::<f64>(out, 14 * n);
        for (k, (name, bound, f)) in functions.iter().enumerate() {
            for i in 0..n {
                let expected = f(x[i], y[i]);
                let error = (got[k * n + i] - expected).abs() / (expected.abs().next_up() - expected.abs());
                assert!(error <= *bound, "{name}({}, {}) is {expected}, not {}", x[i], y[i], got[k * n + i]);
            }
        }
    });
}
