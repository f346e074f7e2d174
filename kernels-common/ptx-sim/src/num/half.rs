//! Half precision (f16) and bfloat16 (bf16), as their 16 bits.
//!
//! Sums, products, quotients and roots of two such numbers may be computed in single precision and rounded again
//! without harm, since its 24 bits are more than twice theirs plus two. A fused multiply-add may not: its exact value
//! is first rounded *to odd* in double precision, after which one rounding is left that matters.

use super::float;

/// The NaN that operations give, in both formats.
pub(crate) const NAN: u16 = 0x7fff;

/// Exact.
#[inline(always)]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = magnitude & 0x0f80_0000;
    // Rebiasing by a product also normalises what was subnormal.
    let scaled = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let number = if exponent == 0x0f80_0000 { magnitude | 0x7f80_0000 } else { scaled.to_bits() };
    f32::from_bits(number | sign)
}

/// Rounds to nearest, ties to even. A NaN gives [`NAN`].
#[inline(always)]
pub(crate) fn f32_to_f16(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Normal results: round the fraction in place, then rebias.
    let normal = (magnitude.wrapping_add(0xfff + (magnitude >> 13 & 1)).wrapping_sub(0x3800_0000) >> 13) as u16;
    // Subnormal results: an addition whose unit in the last place is that of the result does the rounding.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits()) as u16;
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    // From 65520 on everything rounds to infinity.
    let number = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
    if magnitude > 0x7f80_0000 { NAN } else { number | sign }
}

/// Exact.
#[inline(always)]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to nearest, ties to even. A NaN gives [`NAN`].
#[inline(always)]
pub(crate) fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if x.is_nan() { NAN } else { rounded as u16 }
}

/// a × b + c in double precision, rounded to odd. The product must be exact.
#[inline(always)]
fn fma_to_odd(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    // The error of the sum, exactly (Knuth's two-sum).
    let virtual_c = sum - product;
    let error = (product - (sum - virtual_c)) + (c - virtual_c);
    let bits = sum.to_bits();
    // An inexact sum with an even last bit moves towards the exact value, to the odd neighbour.
    let away = (error > 0.0) == (sum > 0.0);
    let odd = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let inexact = error != 0.0 && sum.is_finite() && bits & 1 == 0;
    f64::from_bits(if inexact { odd } else { bits })
}

/// Double precision to single, rounded to odd: for another rounding to follow.
#[inline(always)]
fn narrow_to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    let bits = near.to_bits();
    let away = (x > back) == (near > 0.0);
    // A result of zero or infinity must become the smallest or largest number, which is odd as well.
    let odd = if near == 0.0 {
        bits | 1
    } else if away {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    let inexact = x != back && !x.is_nan() && (bits & 1 == 0 || near.is_infinite());
    f32::from_bits(if inexact { odd } else { bits })
}

macro_rules! formats {
    ($($format:ident $load:ident $store:ident;)+) => {
        $(pub(crate) mod $format {
            use super::{NAN, float, fma_to_odd, narrow_to_odd, $load, $store};

            #[inline(always)]
            pub(crate) fn add(a: u16, b: u16) -> u16 {
                $store($load(a) + $load(b))
            }

            #[inline(always)]
            pub(crate) fn sub(a: u16, b: u16) -> u16 {
                $store($load(a) - $load(b))
            }

            #[inline(always)]
            pub(crate) fn mul(a: u16, b: u16) -> u16 {
                $store($load(a) * $load(b))
            }

            /// Rounded once.
            #[inline(always)]
            pub(crate) fn fma(a: u16, b: u16, c: u16) -> u16 {
                let (a, b, c) = (f64::from($load(a)), f64::from($load(b)), f64::from($load(c)));
                $store(narrow_to_odd(fma_to_odd(a, b, c)))
            }

            #[inline(always)]
            pub(crate) fn min(a: u16, b: u16) -> u16 {
                $store(float::min($load(a), $load(b)))
            }

            #[inline(always)]
            pub(crate) fn max(a: u16, b: u16) -> u16 {
                $store(float::max($load(a), $load(b)))
            }

            #[inline(always)]
            pub(crate) fn is_nan(a: u16) -> bool {
                $load(a).is_nan()
            }

            /// Like `min`, but a NaN if either operand is one.
            #[inline(always)]
            pub(crate) fn min_nan(a: u16, b: u16) -> u16 {
                if is_nan(a) || is_nan(b) { NAN } else { min(a, b) }
            }

            /// Like `max`, but a NaN if either operand is one.
            #[inline(always)]
            pub(crate) fn max_nan(a: u16, b: u16) -> u16 {
                if is_nan(a) || is_nan(b) { NAN } else { max(a, b) }
            }

            /// Negative numbers become +0; a NaN the canonical one.
            #[inline(always)]
            pub(crate) fn relu(a: u16) -> u16 {
                if is_nan(a) { NAN } else if a & 0x8000 != 0 { 0 } else { a }
            }

            /// Clamps to [0, 1]; a NaN becomes +0.
            #[inline(always)]
            pub(crate) fn saturate(a: u16) -> u16 {
                $store(float::saturate($load(a)))
            }
        })+
    };
}

formats! {
    f16 f16_to_f32 f32_to_f16;
    bf16 bf16_to_f32 f32_to_bf16;
}

/// A subnormal f16 becomes a zero of its sign.
#[inline(always)]
pub(crate) fn flush_f16(a: u16) -> u16 {
    if a & 0x7c00 == 0 { a & 0x8000 } else { a }
}

/// Applies a function to both halves of packed numbers.
#[inline(always)]
pub(crate) fn both1(f: impl Fn(u16) -> u16, a: u32) -> u32 {
    u32::from(f(a as u16)) | u32::from(f((a >> 16) as u16)) << 16
}

/// Applies a function to both halves of packed numbers.
#[inline(always)]
pub(crate) fn both2(f: impl Fn(u16, u16) -> u16, a: u32, b: u32) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// Applies a function to both halves of packed numbers.
#[inline(always)]
pub(crate) fn both3(f: impl Fn(u16, u16, u16) -> u16, a: u32, b: u32, c: u32) -> u32 {
    let low = f(a as u16, b as u16, c as u16);
    u32::from(low) | u32::from(f((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16)) << 16
}

#[cfg(test)]
mod tests {
    use super::super::soft::{self, BF16, F16, F32, Mode};
    use super::*;

    #[test]
    fn every_half_converts_exactly_and_back() {
        for bits in 0..=u16::MAX {
            let wide = f16_to_f32(bits);
            assert_eq!(u64::from(wide.to_bits()), soft_or_payload(bits, F16), "f16 {bits:#06x}");
            let back = f32_to_f16(wide);
            assert_eq!(back, if wide.is_nan() { NAN } else { bits }, "f16 {bits:#06x}");
            let wide = bf16_to_f32(bits);
            assert_eq!(f32_to_bf16(wide), if wide.is_nan() { NAN } else { bits }, "bf16 {bits:#06x}");
        }
    }

    fn soft_or_payload(bits: u16, format: soft::Format) -> u64 {
        let value = soft::decode(u64::from(bits), format);
        if matches!(value, soft::Value::Nan) {
            return u64::from(u32::from(bits & 0x7fff) << 13 | u32::from(bits & 0x8000) << 16 | 0x7f80_0000);
        }
        soft::round(value, F32, Mode::Nearest)
    }

    /// Single-precision numbers around every half-way point of both formats.
    #[test]
    fn rounds_like_the_exact_method() {
        for bits in 0..=u16::MAX {
            for near in [0u32, 1, 0xfff, 0x1000, 0x1001, 0x1fff] {
                let x = f32::from_bits(f16_to_f32(bits).to_bits().wrapping_add(near));
                let value = soft::decode(u64::from(x.to_bits()), F32);
                assert_eq!(u64::from(f32_to_f16(x)), soft::round(value, F16, Mode::Nearest), "{x:e}");
            }
            for near in [0u32, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let x = f32::from_bits(u32::from(bits) << 16 | near);
                let value = soft::decode(u64::from(x.to_bits()), F32);
                assert_eq!(u64::from(f32_to_bf16(x)), soft::round(value, BF16, Mode::Nearest), "{x:e}");
            }
        }
    }

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *state ^ *state >> 29
    }

    /// Bits that are often special: small, large, or with few bits set.
    fn interesting(state: &mut u64) -> u16 {
        let bits = random(state) >> 13;
        match bits >> 20 & 7 {
            0 => (bits & 0x83ff) as u16,
            1 => 0x7c00 ^ (bits & 0x8003) as u16,
            2 => (bits & 0xfc00) as u16,
            3 => (bits & 0xff80) as u16,
            _ => bits as u16,
        }
    }

    #[test]
    fn arithmetic_rounds_once() {
        let mut state = 1;
        let exact = |bits: u16, format| soft::decode(u64::from(bits), format);
        for _ in 0..400_000 {
            let [a, b, c] = [(); 3].map(|()| interesting(&mut state));
            for (format, add, mul, fma) in [
                (
                    F16,
                    f16::add as fn(u16, u16) -> u16,
                    f16::mul as fn(u16, u16) -> u16,
                    f16::fma as fn(u16, u16, u16) -> u16,
                ),
                (BF16, bf16::add, bf16::mul, bf16::fma),
            ] {
                let [x, y, z] = [a, b, c].map(|bits| exact(bits, format));
                let round = |value| soft::round(value, format, Mode::Nearest);
                assert_eq!(u64::from(add(a, b)), round(soft::add(x, y, Mode::Nearest)), "{a:#06x} + {b:#06x}");
                assert_eq!(u64::from(mul(a, b)), round(soft::mul(x, y)), "{a:#06x} * {b:#06x}");
                let product = soft::mul(x, y);
                assert_eq!(
                    u64::from(fma(a, b, c)),
                    round(soft::add(product, z, Mode::Nearest)),
                    "{a:#06x} * {b:#06x} + {c:#06x} in {format:?}"
                );
            }
        }
    }
}
