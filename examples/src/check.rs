//! Whether results are right.

use std::fmt;

use kernels_common::element::{Accumulator, Element};
use kernels_common::oracle::Exact;

/// A result beside the exact one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// How far the result is from the exact one.
    pub error: f64,
    /// How far a correct result can be from it at most.
    pub bound: f64,
    /// Whether the error is within the bound.
    pub ok: bool,
}

/// Compares a result with the exact one. Its terms passed through at most `depth` rounded operations each, and there
/// were `operations` in all.
///
/// Where NaN or an infinity is the right result, only that is right. Where a partial sum
/// [may overflow](Exact::may_overflow) in one order of additions and not in another, the bound is infinite.
#[must_use]
pub fn check<S: Accumulator>(result: S, exact: &Exact<S>, depth: u64, operations: u64) -> Check {
    let error = exact.error_of(result);
    let bound = match () {
        () if !exact.parts.0.is_finite() => 0.0,
        () if exact.may_overflow() => f64::INFINITY,
        () => exact.bound(depth, operations),
    };
    Check { error, bound, ok: error <= bound }
}

/// The first of some elements that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch<T> {
    /// How many there are.
    pub count: usize,
    /// Where the first one is.
    pub index: usize,
    /// What it is.
    pub found: T,
    /// What it should be.
    pub expected: T,
}

/// Compares every element of `found` with what `expected` gives for its index: the bits must be equal, but for those of
/// NaN. `None` if all are.
pub fn compare<T: Element>(found: &[T], expected: impl Fn(usize) -> T) -> Option<Mismatch<T>> {
    let mut mismatch: Option<Mismatch<T>> = None;
    for (index, &found) in found.iter().enumerate() {
        let expected = expected(index);
        let is_nan = |value: T| value.partial_cmp(&value).is_none();
        if bytemuck::bytes_of(&found) != bytemuck::bytes_of(&expected) && !(is_nan(found) && is_nan(expected)) {
            mismatch.get_or_insert(Mismatch { count: 0, index, found, expected }).count += 1;
        }
    }
    mismatch
}

impl<T: Element> fmt::Display for Mismatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { count, index, found, expected } = self;
        write!(f, "{count} elements are wrong, first that at index {index}: {found} instead of {expected}")
    }
}

#[cfg(test)]
mod tests {
    use kernels_common::oracle;

    use super::*;

    fn verdict(result: f32, terms: &[f32]) -> bool {
        check(result, &oracle::sum(terms), 2, 2).ok
    }

    #[test]
    fn rounding_is_right_and_more_is_wrong() {
        assert!(verdict(3.0, &[1.0, 2.0]));
        assert!(verdict(3.0 + f32::EPSILON, &[1.0, 2.0]));
        assert!(!verdict(3.0 + 8.0 * f32::EPSILON, &[1.0, 2.0]));
        assert!(!verdict(f32::NAN, &[1.0, 2.0]));
        assert!(!verdict(f32::INFINITY, &[1.0, 2.0]));
    }

    #[test]
    fn special_values_must_be_themselves() {
        assert!(verdict(f32::NAN, &[1.0, f32::NAN]));
        assert!(!verdict(1.0, &[1.0, f32::NAN]));
        assert!(verdict(f32::INFINITY, &[1.0, f32::INFINITY]));
        assert!(!verdict(f32::NAN, &[1.0, f32::INFINITY]));
        assert!(!verdict(f32::MAX, &[1.0, f32::INFINITY]));
    }

    #[test]
    fn overflow_depends_on_the_order() {
        let terms = [f32::MAX, f32::MAX, -f32::MAX];
        assert!(verdict(f32::MAX, &terms));
        assert!(verdict(f32::INFINITY, &terms));
    }

    #[test]
    fn integers_are_exact() {
        let exact = oracle::sum(&[i32::MAX, i32::MAX]);
        assert!(check(2 * i64::from(i32::MAX), &exact, 2, 2).ok);
        assert!(!check(-2, &exact, 2, 2).ok);
    }

    #[test]
    fn every_element_counts() {
        let expected = [1.0f32, -0.0, f32::NAN, 4.0];
        assert_eq!(compare(&expected, |i| expected[i]), None);
        assert_eq!(compare(&[1.0, -0.0, -f32::NAN, 4.0], |i| expected[i]), None);
        let mismatch = compare(&[1.0, 0.0, 3.0, 4.0], |i| expected[i]).unwrap();
        assert_eq!((mismatch.count, mismatch.index, mismatch.found), (2, 1, 0.0));
        assert_eq!(mismatch.to_string(), "2 elements are wrong, first that at index 1: 0 instead of -0");
    }
}
