//! What a result should be: exact sums and dot products on the host, to measure the error of a device's result.

use crate::element::{Accumulator, Element};

/// The exact result of a sum or a dot product, up to a relative 2⁻¹⁰⁰ or so of [`Exact::magnitude`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact<S> {
    /// The nearest value of the result's type; for integers the exact one, wrapped around.
    pub value: S,
    /// The result as an unevaluated sum of two `f64`, the second much smaller; for integers it is not wrapped.
    pub parts: (f64, f64),
    /// Sum of the absolute values of all terms made of finite elements: what the error of floating-point additions is
    /// measured against.
    pub magnitude: f64,
}

impl<S: Accumulator> Exact<S> {
    /// How far `result` is from the exact one. Both NaN, or the same infinity, is no error; for integers only equality
    /// (after wrapping around) is none.
    #[must_use]
    pub fn error_of(&self, result: S) -> f64 {
        if !S::IS_FLOAT {
            return if result == self.value { 0.0 } else { f64::INFINITY };
        }
        let (result, (high, low)) = (result.to_f64(), self.parts);
        if result == high || (result.is_nan() && high.is_nan()) {
            // Equal infinities have no difference to take.
            if high.is_finite() { low.abs() } else { 0.0 }
        } else if result.is_finite() && high.is_finite() {
            ((result - high) - low).abs()
        } else {
            f64::INFINITY
        }
    }

    /// The largest error that a correct result can have, if no term passes through more than `depth` rounded
    /// operations: `depth·u / (1 − depth·u)` of [`Exact::magnitude`], with u the unit roundoff (Higham, *Accuracy and
    /// Stability of Numerical Algorithms*, §4.2), and what `operations` results in the subnormal range may add.
    #[must_use]
    pub fn bound(&self, depth: u64, operations: u64) -> f64 {
        let relative = depth as f64 * S::UNIT_ROUNDOFF;
        relative / (1.0 - relative) * self.magnitude + operations as f64 * S::UNDERFLOW_ERROR
    }

    /// Whether terms so large may overflow the result's type on the way to it, although the exact result does not. The
    /// margin is a factor of two, for rounding. Integers wrap around instead.
    #[must_use]
    pub fn may_overflow(&self) -> bool {
        let largest = if size_of::<S>() == size_of::<f32>() { f32::MAX.into() } else { f64::MAX };
        S::IS_FLOAT && self.magnitude * 2.0 >= largest
    }
}

/// A running sum in two `f64`: Knuth's exact addition, so that nothing above 2⁻¹⁰⁶ is lost.
#[derive(Clone, Copy, Default)]
struct TwoSum {
    high: f64,
    low: f64,
}

impl TwoSum {
    #[inline]
    fn add(&mut self, term: f64) {
        let sum = self.high + term;
        let back = sum - self.high;
        self.low += (self.high - (sum - back)) + (term - back);
        self.high = sum;
    }

    fn parts(mut self) -> (f64, f64) {
        let low = std::mem::take(&mut self.low);
        // Infinities and NaN make the low part NaN; the high part then says all there is to say.
        if low.is_finite() {
            // It may have grown beyond the last bit of the high part.
            self.add(low);
        }
        (self.high, self.low)
    }
}

/// The exact dot product of `x` and `y`, over the shorter of the two.
#[must_use]
pub fn dot<T: Element>(x: &[T], y: &[T]) -> Exact<T::Sum> {
    let mut sum = TwoSum::default();
    let mut magnitude = 0.0;
    let mut wrapped = T::Sum::default();
    // The product of two elements of 32 bits or less is exact in f64; only wider ones need its error as well.
    let product_is_exact = size_of::<T>() < 8 || !T::IS_FLOAT;
    for (&x, &y) in x.iter().zip(y) {
        if !T::IS_FLOAT {
            wrapped = wrapped.fused_add(x.widen(), y.widen());
        }
        let (x, y) = (x.to_f64(), y.to_f64());
        let product = x * y;
        sum.add(product);
        if !product_is_exact {
            let error = x.mul_add(y, -product);
            if error.is_finite() {
                sum.low += error;
            }
        }
        if x.is_finite() && y.is_finite() {
            magnitude += product.abs();
        }
    }
    finish(sum, magnitude, wrapped)
}

/// The exact sum of `x`.
#[must_use]
pub fn sum<T: Element>(x: &[T]) -> Exact<T::Sum> {
    let mut sum = TwoSum::default();
    let mut magnitude = 0.0;
    let mut wrapped = T::Sum::default();
    for &x in x {
        if !T::IS_FLOAT {
            wrapped = wrapped.add(x.widen());
        }
        let x = x.to_f64();
        sum.add(x);
        if x.is_finite() {
            magnitude += x.abs();
        }
    }
    finish(sum, magnitude, wrapped)
}

fn finish<S: Accumulator>(sum: TwoSum, magnitude: f64, wrapped: S) -> Exact<S> {
    let parts = sum.parts();
    let value = if S::IS_FLOAT { S::from_f64(parts.0 + parts.1) } else { wrapped };
    Exact { value, parts, magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_loses_nothing() {
        let x = [1e300, 1.0, -1e300, 1e-300];
        let exact = sum(&x);
        assert_eq!(exact.value, 1.0);
        assert_eq!(exact.error_of(1.0), 1e-300);
        let y = [1e8f32, 1.0, -1e8, 0.5];
        assert_eq!(dot(&y, &[1.0, 1.0, 1.0, 1.0]).value, 1.5);
        // The product of two f64 is not exact, and its error counts.
        let a = 1.0 + f64::EPSILON;
        assert_eq!(dot(&[a, -1.0], &[a, 1.0 + 2.0 * f64::EPSILON]).value, f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn integers_wrap_and_only_equality_is_right() {
        let exact = sum(&[i64::MAX, 1]);
        assert_eq!(exact.value, i64::MIN);
        assert_eq!(exact.error_of(i64::MIN), 0.0);
        assert_eq!(exact.error_of(i64::MAX), f64::INFINITY);
        assert_eq!(sum(&[i32::MAX; 3]).value, 3 * i64::from(i32::MAX));
    }

    #[test]
    fn nan_and_infinities_compare_as_themselves() {
        let infinite = sum(&[f32::INFINITY, 1.0]);
        assert_eq!(infinite.error_of(f32::INFINITY), 0.0);
        assert_eq!(infinite.error_of(f32::NEG_INFINITY), f64::INFINITY);
        assert_eq!(infinite.error_of(f32::NAN), f64::INFINITY);
        let nan = sum(&[f32::INFINITY, f32::NEG_INFINITY]);
        assert_eq!(nan.error_of(f32::NAN), 0.0);
        assert_eq!(nan.error_of(0.0), f64::INFINITY);
    }
}
