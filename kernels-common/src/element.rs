//! The element types of the kernels, and the wider types that their sums live in.

use std::fmt::{Debug, Display};

use bytemuck::Pod;
/// The 16-bit element types, of the crate `half` 2.
pub use half::{bf16, f16};

use crate::argument::ToArgument;

/// A type that kernels compute on: `f32 f64 f16 bf16 i32 u32 i64 u64`.
///
/// Sums and products of elements are accumulated in [`Element::Sum`], which is wide enough that the accumulator
/// itself does not saturate: halves and `f32` add up in `f32`, `i32` in `i64`, `u32` in `u64`. 64-bit integers
/// stay 64 bits wide and wrap around on overflow, on every device.
///
/// Each can be an argument of a kernel. The trait is sealed.
pub trait Element: ToArgument + Pod + PartialEq + PartialOrd + Debug + Display + Default + Send + Sync {
    /// The type of a sum or a dot product of such elements.
    type Sum: Accumulator;

    /// The name of the type as kernels and command lines spell it, such as `f32`.
    const NAME: &'static str;

    /// A floating-point type, as opposed to an integer.
    const IS_FLOAT: bool;

    /// No element is less: −∞, or the least integer. What the maximum of nothing is.
    const LOWEST: Self;

    /// No element is greater: +∞, or the greatest integer. What the minimum of nothing is.
    const HIGHEST: Self;

    /// The element in the type of its sum; exact.
    fn widen(self) -> Self::Sum;

    /// The nearest element to a value of the sum's type (ties to even; integers are truncated to their low bits).
    fn narrow(sum: Self::Sum) -> Self;

    /// The nearest element to `value` (ties to even; integers saturate and take NaN as 0).
    fn from_f64(value: f64) -> Self;

    /// The element as an `f64`, rounded if it is a 64-bit integer that needs it.
    fn to_f64(self) -> f64;

    /// `x + y` rounded once to the element type; integers wrap. This is what vector addition computes.
    fn add(x: Self, y: Self) -> Self {
        Self::narrow(x.widen().add(y.widen()))
    }
}

/// A type that sums live in: `f32 f64 i64 u64`.
pub trait Accumulator: Element<Sum = Self> {
    /// Largest relative error of one rounded operation: 2⁻²⁴ for `f32`, 2⁻⁵³ for `f64`, 0 for integers.
    const UNIT_ROUNDOFF: f64;

    /// Largest absolute error of one rounded operation whose result is subnormal; 0 for integers.
    const UNDERFLOW_ERROR: f64;

    /// What changes no product: 1.
    const ONE: Self;

    /// `self + other`, rounded to nearest even; integers wrap.
    #[must_use]
    fn add(self, other: Self) -> Self;

    /// `self * other`, rounded to nearest even; integers wrap.
    #[must_use]
    fn multiply(self, other: Self) -> Self;

    /// The lesser of both: NaN if either is NaN, and −0 lies below +0. So the minimum of many depends on no order.
    #[must_use]
    fn lesser(self, other: Self) -> Self;

    /// The greater of both: NaN if either is NaN, and +0 lies above −0.
    #[must_use]
    fn greater(self, other: Self) -> Self;

    /// `x * y + self`, rounded once; integers wrap. One step of a dot product.
    #[must_use]
    fn fused_add(self, x: Self, y: Self) -> Self;

    /// The same value, but every NaN becomes the one that results are stored with: the type's `NAN` constant.
    ///
    /// Processors differ in the NaN that an operation returns; results are normalised so that their bits do not.
    #[must_use]
    fn normalised(self) -> Self;

    /// The bit pattern, zero-extended to 64 bits.
    fn bits(self) -> u64;
}

macro_rules! float_sum {
    ($type:ident) => {
        impl Accumulator for $type {
            const UNIT_ROUNDOFF: f64 = $type::EPSILON as f64 / 2.0;
            const UNDERFLOW_ERROR: f64 = $type::MIN_POSITIVE as f64 * $type::EPSILON as f64 / 2.0;
            const ONE: Self = 1.0;
            #[inline]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            #[inline]
            fn lesser(self, other: Self) -> Self {
                // Equal numbers have equal bits, but for zeros: of those, any that is negative makes the result so.
                let equal = $type::from_bits(self.to_bits() | other.to_bits());
                let least = if self < other { self } else { other };
                let least = if self == other { equal } else { least };
                if self.is_nan() || other.is_nan() { $type::NAN } else { least }
            }
            #[inline]
            fn greater(self, other: Self) -> Self {
                let equal = $type::from_bits(self.to_bits() & other.to_bits());
                let greatest = if self > other { self } else { other };
                let greatest = if self == other { equal } else { greatest };
                if self.is_nan() || other.is_nan() { $type::NAN } else { greatest }
            }
            #[inline]
            fn fused_add(self, x: Self, y: Self) -> Self {
                x.mul_add(y, self)
            }
            #[inline]
            fn normalised(self) -> Self {
                if self.is_nan() { $type::NAN } else { self }
            }
            #[inline]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    };
}

macro_rules! integer_sum {
    ($type:ident) => {
        impl Accumulator for $type {
            const UNIT_ROUNDOFF: f64 = 0.0;
            const UNDERFLOW_ERROR: f64 = 0.0;
            const ONE: Self = 1;
            #[inline]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn lesser(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline]
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline]
            fn fused_add(self, x: Self, y: Self) -> Self {
                self.wrapping_add(x.wrapping_mul(y))
            }
            #[inline]
            fn normalised(self) -> Self {
                self
            }
            #[inline]
            fn bits(self) -> u64 {
                u64::from_ne_bytes(self.to_ne_bytes())
            }
        }
    };
}

float_sum!(f32);
float_sum!(f64);
integer_sum!(i64);
integer_sum!(u64);

macro_rules! element {
    (
        $type:ident, $sum:ident, float: $float:literal, limits: $limits:expr,
        $widen:expr, $narrow:expr, $from:expr, $to:expr
    ) => {
        impl Element for $type {
            type Sum = $sum;
            const NAME: &'static str = stringify!($type);
            const IS_FLOAT: bool = $float;
            const LOWEST: Self = $limits.0;
            const HIGHEST: Self = $limits.1;
            #[inline]
            fn widen(self) -> $sum {
                let widen: fn($type) -> $sum = $widen;
                widen(self)
            }
            #[inline]
            fn narrow(sum: $sum) -> Self {
                let narrow: fn($sum) -> $type = $narrow;
                narrow(sum)
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                let from: fn(f64) -> $type = $from;
                from(value)
            }
            #[inline]
            fn to_f64(self) -> f64 {
                let to: fn($type) -> f64 = $to;
                to(self)
            }
        }
    };
}

macro_rules! infinities {
    ($type:ident) => {
        ($type::NEG_INFINITY, $type::INFINITY)
    };
}
macro_rules! limits {
    ($type:ident) => {
        ($type::MIN, $type::MAX)
    };
}

element!(f32, f32, float: true, limits: infinities!(f32), |x| x, |s| s, |v| v as f32, f64::from);
element!(f64, f64, float: true, limits: infinities!(f64), |x| x, |s| s, |v| v, |x| x);
element!(f16, f32, float: true, limits: infinities!(f16), widen_f16, f16::from_f32, f16::from_f64, f16::to_f64);
element!(bf16, f32, float: true, limits: infinities!(bf16), bf16::to_f32, bf16::from_f32, bf16::from_f64, bf16::to_f64);
element!(i32, i64, float: false, limits: limits!(i32), i64::from, |s| s as i32, |v| v as i32, f64::from);
element!(u32, u64, float: false, limits: limits!(u32), u64::from, |s| s as u32, |v| v as u32, f64::from);
element!(i64, i64, float: false, limits: limits!(i64), |x| x, |s| s, |v| v as i64, |x| x as f64);
element!(u64, u64, float: false, limits: limits!(u64), |x| x, |s| s, |v| v as u64, |x| x as f64);

/// `f16::to_f32` without a branch, so that a loop over a slice vectorises; that one asks for the processor's features
/// at every call. Moving the exponent by a multiplication makes subnormal halves normal on the way.
#[inline]
fn widen_f16(x: f16) -> f32 {
    let bits = u32::from(x.to_bits());
    let magnitude = (bits & 0x7fff) << 13;
    let two_to_112 = f32::from_bits((127 + 112) << 23);
    let finite = (f32::from_bits(magnitude) * two_to_112).to_bits();
    let infinite_or_nan = magnitude | 0x7f80_0000;
    let wide = if bits & 0x7c00 == 0x7c00 { infinite_or_nan } else { finite };
    f32::from_bits(wide | (bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_widens_exactly() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (f16::from_bits(bits).widen(), f16::from_bits(bits).to_f32());
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(), "{bits:04x}");
        }
    }

    #[test]
    fn every_nan_normalises_to_the_constant() {
        assert_eq!(f32::from_bits(0xffc1_2345).normalised().to_bits(), f32::NAN.to_bits());
        assert_eq!(f64::from_bits(0xfff8_0000_0000_0001).normalised().to_bits(), f64::NAN.to_bits());
        assert_eq!((-0.0f32).normalised().to_bits(), (-0.0f32).to_bits());
    }

    #[test]
    fn minimum_and_maximum_depend_on_no_order() {
        let values = [f32::NEG_INFINITY, -2.0, -0.0, 0.0, 2.0, f32::INFINITY];
        for (i, &a) in values.iter().enumerate() {
            for (j, &b) in values.iter().enumerate() {
                assert_eq!(a.lesser(b).to_bits(), values[i.min(j)].to_bits(), "{a} {b}");
                assert_eq!(a.greater(b).to_bits(), values[i.max(j)].to_bits(), "{a} {b}");
                let (a, b) = (f64::from(a), f64::from(b));
                assert_eq!(a.lesser(b).to_bits(), f64::from(values[i.min(j)]).to_bits(), "{a} {b}");
                assert_eq!(a.greater(b).to_bits(), f64::from(values[i.max(j)]).to_bits(), "{a} {b}");
            }
            let nan = f32::from_bits(0xffc0_1234);
            for result in [a.lesser(nan), nan.lesser(a), a.greater(nan), nan.greater(a)] {
                assert_eq!(result.to_bits(), f32::NAN.to_bits(), "{a}");
            }
        }
        assert_eq!((3i64.lesser(-4), 3i64.greater(-4), u64::MAX.lesser(7)), (-4, 3, 7));
    }

    #[test]
    fn limits_and_nan_survive_the_type_of_the_sum() {
        fn check<T: Element>() {
            for limit in [T::LOWEST, T::HIGHEST] {
                assert_eq!(T::narrow(limit.widen()), limit, "{}", T::NAME);
            }
            assert!(T::LOWEST.widen().lesser(T::from_f64(-1e300).widen()) == T::LOWEST.widen());
            assert!(T::HIGHEST.widen().greater(T::from_f64(1e300).widen()) == T::HIGHEST.widen());
        }
        check::<f32>();
        check::<f64>();
        check::<f16>();
        check::<bf16>();
        check::<i32>();
        check::<u32>();
        check::<i64>();
        check::<u64>();
        assert_eq!(<f16 as Element>::narrow(f32::NAN).to_bits(), f16::NAN.to_bits());
        assert_eq!(<bf16 as Element>::narrow(f32::NAN).to_bits(), bf16::NAN.to_bits());
    }

    #[test]
    fn halves_add_with_one_rounding() {
        // 2048 + 1 is a tie in f16 and rounds to even; the f32 in between must not disturb that.
        assert_eq!(<f16 as Element>::add(f16::from_f32(2048.0), f16::from_f32(1.0)).to_f32(), 2048.0);
        assert_eq!(<f16 as Element>::add(f16::from_f32(2048.0), f16::from_f32(3.0)).to_f32(), 2052.0);
        assert_eq!(<bf16 as Element>::add(bf16::from_f32(256.0), bf16::from_f32(1.0)).to_f32(), 256.0);
    }

    #[test]
    fn integers_wrap_and_widen() {
        assert_eq!(<i32 as Element>::add(i32::MAX, 1), i32::MIN);
        assert_eq!(0i64.fused_add(i32::MAX.widen(), i32::MAX.widen()), i64::from(i32::MAX) * i64::from(i32::MAX));
        assert_eq!(<u64 as Element>::add(u64::MAX, 2), 1);
    }
}
