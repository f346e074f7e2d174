//! Exact binary arithmetic with one rounding at the end, in any direction, to any of the formats.
//!
//! Slow and simple: it serves the rounding modes that the processor has no instruction for, and the tests.

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the significand, the hidden one included.
    precision: u32,
    /// Bits of the exponent.
    exponent: u32,
    /// The NaN that operations give.
    nan: u64,
}

pub(crate) const F16: Format = Format { precision: 11, exponent: 5, nan: 0x7fff };
pub(crate) const BF16: Format = Format { precision: 8, exponent: 8, nan: 0x7fff };
/// Single precision with ten bits of fraction, in the low 19 bits.
pub(crate) const TF32: Format = Format { precision: 11, exponent: 8, nan: 0x3_ffff };
pub(crate) const F32: Format = Format { precision: 24, exponent: 8, nan: 0x7fff_ffff };
pub(crate) const F64: Format = Format { precision: 53, exponent: 11, nan: 0xfff8_0000_0000_0000 };

/// A direction of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To nearest, ties to even (`.rn`).
    Nearest,
    /// To nearest, ties away from zero (`.rna`).
    NearestAway,
    /// Towards zero (`.rz`).
    Zero,
    /// Towards −∞ (`.rm`).
    Down,
    /// Towards +∞ (`.rp`).
    Up,
}

/// A number before it is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Nan,
    Infinity {
        negative: bool,
    },
    Zero {
        negative: bool,
    },
    /// `significand` × 2^`exponent`. The lowest bit may stand for any non-zero remainder below it, if there are at
    /// least two bits more than any format has.
    Finite {
        negative: bool,
        exponent: i32,
        significand: u128,
    },
}

impl Value {
    fn is_negative(self) -> bool {
        match self {
            Value::Nan => false,
            Value::Infinity { negative } | Value::Zero { negative } | Value::Finite { negative, .. } => negative,
        }
    }

    fn negated(self, by: bool) -> Value {
        match self {
            Value::Nan => Value::Nan,
            Value::Infinity { negative } => Value::Infinity { negative: negative ^ by },
            Value::Zero { negative } => Value::Zero { negative: negative ^ by },
            Value::Finite { negative, exponent, significand } => {
                Value::Finite { negative: negative ^ by, exponent, significand }
            }
        }
    }

    /// An integer, given as sign and magnitude.
    pub(crate) fn integer(negative: bool, magnitude: u64) -> Value {
        match magnitude {
            0 => Value::Zero { negative: false },
            _ => Value::Finite { negative, exponent: 0, significand: u128::from(magnitude) },
        }
    }
}

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn fraction_bits(self) -> u32 {
        self.precision - 1
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction_bits()
    }

    fn sign(self, negative: bool) -> u64 {
        u64::from(negative) << (self.exponent + self.fraction_bits())
    }
}

/// The number that these bits are.
pub(crate) fn decode(bits: u64, format: Format) -> Value {
    let fraction_bits = format.fraction_bits();
    let fraction = bits & ((1 << fraction_bits) - 1);
    let biased = bits >> fraction_bits & ((1 << format.exponent) - 1);
    let negative = bits & format.sign(true) != 0;
    let least = 1 - format.bias() - fraction_bits as i32;
    if biased == (1 << format.exponent) - 1 {
        return if fraction == 0 { Value::Infinity { negative } } else { Value::Nan };
    }
    match (biased, fraction) {
        (0, 0) => Value::Zero { negative },
        (0, _) => Value::Finite { negative, exponent: least, significand: u128::from(fraction) },
        _ => Value::Finite {
            negative,
            exponent: least + biased as i32 - 1,
            significand: u128::from(fraction | 1 << fraction_bits),
        },
    }
}

/// Shifts right; bits that fall off leave a mark in the lowest bit.
fn shift_right_sticky(bits: u128, by: u32) -> u128 {
    match by {
        0 => bits,
        1..128 => bits >> by | u128::from(bits << (128 - by) != 0),
        _ => u128::from(bits != 0),
    }
}

/// The bits of the number in `format`.
pub(crate) fn round(value: Value, format: Format, mode: Mode) -> u64 {
    let (negative, exponent, significand) = match value {
        Value::Nan => return format.nan,
        Value::Infinity { negative } => return format.sign(negative) | format.infinity(),
        Value::Zero { negative } => return format.sign(negative),
        Value::Finite { negative, exponent, significand } => (negative, exponent, significand),
    };
    let least = 1 - format.bias() - format.fraction_bits() as i32;
    let length = 128 - significand.leading_zeros() as i32;
    // The exponent of the result's last bit.
    let last = (exponent + length - format.precision as i32).max(least);
    let drop = last - exponent;
    // Kept bits with two more below them: one for the half, one for anything less.
    let kept = if drop >= 2 { shift_right_sticky(significand, (drop - 2) as u32) } else { significand << (2 - drop) };
    let (mut result, rest) = ((kept >> 2) as u64, kept & 3);
    let up = match mode {
        Mode::Nearest => rest == 3 || rest == 2 && result & 1 == 1,
        Mode::NearestAway => rest >= 2,
        Mode::Zero => false,
        Mode::Down => negative && rest != 0,
        Mode::Up => !negative && rest != 0,
    };
    result += u64::from(up);
    let mut last = last;
    if result >> format.precision != 0 {
        result >>= 1;
        last += 1;
    }
    // A subnormal number has the least exponent and no hidden bit, so that the sum comes out right by itself.
    let steps = (last - least) as u64;
    let bits = if result >> format.fraction_bits() == 0 { result } else { result + (steps << format.fraction_bits()) };
    if bits >= format.infinity() {
        let to_infinity = match mode {
            Mode::Nearest | Mode::NearestAway => true,
            Mode::Zero => false,
            Mode::Down => negative,
            Mode::Up => !negative,
        };
        return format.sign(negative) | (format.infinity() - u64::from(!to_infinity));
    }
    format.sign(negative) | bits
}

/// The exact product.
pub(crate) fn mul(a: Value, b: Value) -> Value {
    let negative = a.is_negative() ^ b.is_negative();
    match (a, b) {
        (Value::Nan, _)
        | (_, Value::Nan)
        | (Value::Infinity { .. }, Value::Zero { .. })
        | (Value::Zero { .. }, Value::Infinity { .. }) => Value::Nan,
        (Value::Infinity { .. }, _) | (_, Value::Infinity { .. }) => Value::Infinity { negative },
        (Value::Zero { .. }, _) | (_, Value::Zero { .. }) => Value::Zero { negative },
        (Value::Finite { exponent: ea, significand: sa, .. }, Value::Finite { exponent: eb, significand: sb, .. }) => {
            Value::Finite { negative, exponent: ea + eb, significand: sa * sb }
        }
    }
}

/// The sum, exact but for a mark in the lowest bit. The mode decides the sign of an exact zero.
pub(crate) fn add(a: Value, b: Value, mode: Mode) -> Value {
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Infinity { negative: x }, Value::Infinity { negative: y }) if x != y => Value::Nan,
        (Value::Zero { negative: x }, Value::Zero { negative: y }) => {
            Value::Zero { negative: if x == y { x } else { mode == Mode::Down } }
        }
        (Value::Infinity { .. }, _) | (_, Value::Zero { .. }) => a,
        (_, Value::Infinity { .. }) | (Value::Zero { .. }, _) => b,
        (
            Value::Finite { negative: na, exponent: ea, significand: sa },
            Value::Finite { negative: nb, exponent: eb, significand: sb },
        ) => {
            let top = |exponent: i32, significand: u128| exponent + 128 - significand.leading_zeros() as i32;
            let ((nh, eh, sh), (nl, el, sl)) =
                if top(ea, sa) >= top(eb, sb) { ((na, ea, sa), (nb, eb, sb)) } else { ((nb, eb, sb), (na, ea, sa)) };
            // The higher one goes to bit 125, so that a carry fits; the lower one to the same scale. It loses bits
            // only if it is so much lower that the sum keeps nearly all of its length.
            let up = sh.leading_zeros() - 2;
            let (exponent, high) = (eh - up as i32, sh << up);
            let shift = el - exponent;
            let low = if shift >= 0 { sl << shift } else { shift_right_sticky(sl, shift.unsigned_abs()) };
            let (negative, significand) = if nh == nl {
                (nh, high + low)
            } else if high >= low {
                (nh, high - low)
            } else {
                (nl, low - high)
            };
            match significand {
                0 => Value::Zero { negative: mode == Mode::Down },
                _ => Value::Finite { negative, exponent, significand },
            }
        }
    }
}

/// The difference; see [`add`].
pub(crate) fn sub(a: Value, b: Value, mode: Mode) -> Value {
    add(a, b.negated(true), mode)
}

/// The quotient, exact but for a mark in the lowest bit.
pub(crate) fn div(a: Value, b: Value) -> Value {
    let negative = a.is_negative() ^ b.is_negative();
    match (a, b) {
        (Value::Nan, _)
        | (_, Value::Nan)
        | (Value::Infinity { .. }, Value::Infinity { .. })
        | (Value::Zero { .. }, Value::Zero { .. }) => Value::Nan,
        (Value::Infinity { .. }, _) | (_, Value::Zero { .. }) => Value::Infinity { negative },
        (Value::Zero { .. }, _) | (_, Value::Infinity { .. }) => Value::Zero { negative },
        (Value::Finite { exponent: ea, significand: sa, .. }, Value::Finite { exponent: eb, significand: sb, .. }) => {
            // Operands have at most 64 bits, so the quotient has at least 62.
            let up = sa.leading_zeros() - 1;
            let (quotient, rest) = ((sa << up) / sb, (sa << up) % sb);
            let significand = quotient << 1 | u128::from(rest != 0);
            Value::Finite { negative, exponent: ea - eb - up as i32 - 1, significand }
        }
    }
}

/// The square root, exact but for a mark in the lowest bit.
pub(crate) fn sqrt(a: Value) -> Value {
    match a {
        Value::Infinity { negative: true } | Value::Finite { negative: true, .. } => Value::Nan,
        Value::Nan | Value::Zero { .. } | Value::Infinity { .. } => a,
        Value::Finite { exponent, significand, .. } => {
            let mut up = significand.leading_zeros() - 2;
            if (exponent - up as i32) % 2 != 0 {
                up += 1;
            }
            let scaled = significand << up;
            let root = scaled.isqrt();
            let significand = root << 1 | u128::from(root * root != scaled);
            Value::Finite { negative: false, exponent: (exponent - up as i32) / 2 - 1, significand }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *state ^ *state >> 31
    }

    fn interesting(state: &mut u64) -> f64 {
        let bits = random(state);
        f64::from_bits(match random(state) >> 40 & 7 {
            0 => bits & 0x800f_ffff_ffff_ffff,
            1 => bits & 0xfff0_0000_0000_0001,
            2 => 0x7ff0_0000_0000_0000 ^ bits & 0x8010_0000_0000_0001,
            3 | 4 => 0x3ff0_0000_0000_0000 ^ bits & 0x803f_ffff_ffff_ffff,
            _ => bits,
        })
    }

    fn same(bits: u64, x: f64) -> bool {
        bits == x.to_bits() || x.is_nan() && bits == F64.nan
    }

    #[test]
    fn agrees_with_the_processor_in_double_precision() {
        let mut state = 7;
        for _ in 0..200_000 {
            let [a, b, c] = [(); 3].map(|()| interesting(&mut state));
            let [x, y, z] = [a, b, c].map(|x| decode(x.to_bits(), F64));
            let round = |value| round(value, F64, Mode::Nearest);
            assert!(same(round(add(x, y, Mode::Nearest)), a + b), "{a:e} + {b:e}");
            assert!(same(round(sub(x, y, Mode::Nearest)), a - b), "{a:e} - {b:e}");
            assert!(same(round(mul(x, y)), a * b), "{a:e} * {b:e}");
            assert!(same(round(div(x, y)), a / b), "{a:e} / {b:e}");
            assert!(same(round(sqrt(x)), a.sqrt()), "sqrt {a:e}");
            assert!(same(round(add(mul(x, y), z, Mode::Nearest)), a.mul_add(b, c)), "{a:e} * {b:e} + {c:e}");
            let single = super::round(x, F32, Mode::Nearest) as u32;
            assert!(single == (a as f32).to_bits() || a.is_nan(), "{a:e} as f32");
        }
    }

    /// Directed results enclose the nearest one, and differ by one step where it is not exact.
    #[test]
    fn directions_enclose_the_value() {
        let mut state = 11;
        for _ in 0..100_000 {
            let [a, b] = [(); 2].map(|()| interesting(&mut state));
            let value = mul(decode(a.to_bits(), F64), decode(b.to_bits(), F64));
            let number = |mode| f64::from_bits(round(value, F64, mode));
            if number(Mode::Nearest).is_nan() {
                continue;
            }
            let (down, near, up) = (number(Mode::Down), number(Mode::Nearest), number(Mode::Up));
            assert!(down <= near && near <= up, "{a:e} * {b:e}: {down:e} {near:e} {up:e}");
            let exact = down == up;
            assert!(exact || up == down.next_up(), "{a:e} * {b:e}: {down:e} {up:e}");
            let zero = number(Mode::Zero);
            assert_eq!(zero, if near.is_sign_negative() { up } else { down }, "{a:e} * {b:e}");
        }
    }

    #[test]
    fn overflow_and_zero_follow_the_direction() {
        let huge = decode(f64::MAX.to_bits(), F64);
        let sum = add(huge, huge, Mode::Nearest);
        assert_eq!(round(sum, F64, Mode::Nearest), f64::INFINITY.to_bits());
        assert_eq!(round(sum, F64, Mode::Zero), f64::MAX.to_bits());
        assert_eq!(round(sum, F64, Mode::Down), f64::MAX.to_bits());
        assert_eq!(round(sum.negated(true), F64, Mode::Down), f64::NEG_INFINITY.to_bits());
        let one = decode(1f64.to_bits(), F64);
        assert_eq!(round(sub(one, one, Mode::Down), F64, Mode::Down), (-0.0f64).to_bits());
        assert_eq!(round(sub(one, one, Mode::Nearest), F64, Mode::Nearest), 0);
    }
}
