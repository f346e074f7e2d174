//! Element types as the command line names them, and what the programs need of each.

use bytemuck::Pod;
use clap::ValueEnum;
use half::{bf16, f16};
use kernels_common::element::Element;

/// An element type, chosen when the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// 16-bit float of IEEE 754.
    F16,
    /// 16-bit float with the exponent of `f32`.
    Bf16,
    /// 32-bit signed integer.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit signed integer.
    I64,
    /// 64-bit unsigned integer.
    U64,
}

impl Dtype {
    /// Its name, such as `f32`.
    #[must_use]
    pub fn name(self) -> &'static str {
        crate::for_dtype!(self, T => T::NAME)
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Evaluates an expression with a type name bound to the element type that a [`Dtype`] stands for:
/// `for_dtype!(dtype, T => work::<T>(input))`.
#[macro_export]
macro_rules! for_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::for_dtype!(@match $dtype, $T, $body,
            F32 f32, F64 f64, F16 $crate::dtype::half::f16, Bf16 $crate::dtype::half::bf16,
            I32 i32, U32 u32, I64 i64, U64 u64)
    };
    (@match $dtype:expr, $T:ident, $body:expr, $($variant:ident $type:ty),+) => {
        match $dtype {
            $($crate::dtype::Dtype::$variant => {
                type $T = $type;
                $body
            })+
        }
    };
}

#[doc(hidden)]
pub use half;

/// An element type that the programs can make up, and compute with on the host.
pub trait Value: Element {
    /// The type's value at run time.
    const DTYPE: Dtype;

    /// An unsigned integer of the same size.
    type Bits: Pod;

    /// Makes a value from random bits.
    ///
    /// Floats are uniform in [−1, 1) and use the whole significand. 32-bit integers use 16 bits ([−2¹⁵, 2¹⁵) or
    /// [0, 2¹⁶)): sums of their products overflow 32 bits, but not 64. 64-bit integers take every value there is, so
    /// that sums wrap around.
    fn uniform(bits: Self::Bits) -> Self;

    /// One step of the plain loop `s += x * y`, in the type of the sum: product and sum are rounded on their own, as
    /// the line reads. Integers wrap.
    fn plain_step(sum: Self::Sum, x: Self, y: Self) -> Self::Sum;

    /// The plain loop `s += x * y` over two vectors of one length, in one thread.
    ///
    /// The compiler may not reorder the additions of floats, so each waits for the one before it.
    #[must_use]
    #[inline(never)]
    fn plain_dot(x: &[Self], y: &[Self]) -> Self::Sum {
        let mut sum = Self::Sum::default();
        for (&x, &y) in x.iter().zip(y) {
            sum = Self::plain_step(sum, x, y);
        }
        sum
    }
}

macro_rules! value {
    ($type:ident, $dtype:ident, $bits:ty, float, $uniform:expr) => {
        value!(@ $type, $dtype, $bits, $uniform, |sum, x, y| sum + x * y);
    };
    ($type:ident, $dtype:ident, $bits:ty, integer, $uniform:expr) => {
        value!(@ $type, $dtype, $bits, $uniform, |sum, x, y| sum.wrapping_add(x.wrapping_mul(y)));
    };
    (@ $type:ident, $dtype:ident, $bits:ty, $uniform:expr, $step:expr) => {
        impl Value for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            type Bits = $bits;

            #[inline]
            fn uniform(bits: $bits) -> $type {
                let uniform: fn($bits) -> $type = $uniform;
                uniform(bits)
            }

            #[inline]
            fn plain_step(sum: Self::Sum, x: $type, y: $type) -> Self::Sum {
                type Sum = <$type as Element>::Sum;
                let step: fn(Sum, Sum, Sum) -> Sum = $step;
                step(sum, x.widen(), y.widen())
            }
        }
    };
}

// A float of p bits of significand: the top p + 1 bits as a signed integer, divided by 2^p. Both steps are exact.
value!(f32, F32, u32, float, |bits| (bits.cast_signed() >> 7) as f32 / 16_777_216.0);
value!(f64, F64, u64, float, |bits| (bits.cast_signed() >> 10) as f64 / 9_007_199_254_740_992.0);
value!(f16, F16, u16, float, |bits| f16::from_f32(f32::from(bits.cast_signed() >> 4) / 2048.0));
value!(bf16, Bf16, u16, float, |bits| bf16::from_f32(f32::from(bits.cast_signed() >> 7) / 256.0));
value!(i32, I32, u32, integer, |bits| bits.cast_signed() >> 16);
value!(u32, U32, u32, integer, |bits| bits >> 16);
value!(i64, I64, u64, integer, u64::cast_signed);
value!(u64, U64, u64, integer, |bits| bits);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_kernels() {
        for dtype in Dtype::value_variants() {
            assert_eq!(dtype.to_possible_value().unwrap().get_name(), dtype.name());
            assert_eq!(for_dtype!(*dtype, T => T::DTYPE), *dtype);
        }
    }

    #[test]
    fn uniform_reaches_both_ends_and_not_one() {
        // Half of the bits' range is below zero: the largest positive pattern, and the most negative one.
        assert_eq!(f32::uniform(u32::MAX / 2), 1.0 - f32::EPSILON / 2.0);
        assert_eq!(f32::uniform(1 << 31), -1.0);
        assert_eq!(f64::uniform(u64::MAX / 2), 1.0 - f64::EPSILON / 2.0);
        assert_eq!(f64::uniform(1 << 63), -1.0);
        assert_eq!(f16::uniform(u16::MAX / 2).to_f64(), 1.0 - f16::EPSILON.to_f64() / 2.0);
        assert_eq!(f16::uniform(1 << 15).to_f64(), -1.0);
        assert_eq!(bf16::uniform(u16::MAX / 2).to_f64(), 1.0 - bf16::EPSILON.to_f64() / 2.0);
        assert_eq!(bf16::uniform(1 << 15).to_f64(), -1.0);
        assert_eq!((i32::uniform(u32::MAX / 2), i32::uniform(1 << 31)), (32767, -32768));
        assert_eq!((u32::uniform(u32::MAX), u32::uniform(0)), (65535, 0));
    }

    #[test]
    fn the_plain_loop_rounds_twice_and_wraps() {
        let almost = 1.0 - f32::EPSILON;
        // (1 − 2⁻²³)² is 1 − 2⁻²² + 2⁻⁴⁶: the product rounds the last part away, a fused step would keep it.
        assert_eq!(f32::plain_step(-(1.0 - 2.0 * f32::EPSILON), almost, almost), 0.0);
        assert_eq!(i32::plain_dot(&[i32::MAX; 2], &[2, 2]), 4 * i64::from(i32::MAX));
        assert_eq!(u64::plain_dot(&[u64::MAX, 1], &[2, 1]), u64::MAX);
        assert_eq!(f16::plain_dot(&[], &[]), 0.0);
    }
}
