//! Pairwise summation on the host, in the type of the sum.

use crate::element::{Accumulator, Element};
use crate::oracle::Exact;

/// Elements that are added up without cutting them in two.
const LEAF: usize = 128;
/// Accumulators of such a leaf.
const LANES: usize = 8;

/// A sum or a dot product as a careful library for processors computes it: the elements are cut in two, each part is
/// added up by itself, and parts of at most 128 elements go into eight accumulators in turn.
///
/// It stands beside [`oracle`](crate::oracle): that one knows the exact result, this one what rounding in the type of
/// the sum makes of it in an order that is neither the canonical one nor that of any kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairwise<S> {
    /// The result.
    pub value: S,
    /// The most rounded operations that lie between an element and the result; for a dot product the rounding of the
    /// product is that of the fused multiply-add.
    pub depth: u64,
    /// Elements.
    pub len: usize,
}

impl<S: Accumulator> Pairwise<S> {
    /// The largest distance that [`value`](Pairwise::value) can have from the exact result.
    #[must_use]
    pub fn bound(&self, exact: &Exact<S>) -> f64 {
        exact.bound(self.depth, 2 * self.len as u64)
    }
}

/// The sum of `x`.
#[must_use]
pub fn sum<T: Element>(x: &[T]) -> Pairwise<T::Sum> {
    let value = reduce(x.len(), &|sum: T::Sum, i| sum.add(x[i].widen()), 0);
    Pairwise { value, depth: depth(x.len()), len: x.len() }
}

/// The dot product of `x` and `y`, over the shorter of the two.
#[must_use]
pub fn dot<T: Element>(x: &[T], y: &[T]) -> Pairwise<T::Sum> {
    let len = x.len().min(y.len());
    let value = reduce(len, &|sum: T::Sum, i| sum.fused_add(x[i].widen(), y[i].widen()), 0);
    Pairwise { value, depth: depth(len), len }
}

/// Takes the elements `first` to `first + len` in by `take(accumulator, index)`.
fn reduce<S: Accumulator>(len: usize, take: &impl Fn(S, usize) -> S, first: usize) -> S {
    if len > LEAF {
        let left = left_part(len);
        return reduce(left, take, first).add(reduce(len - left, take, first + left));
    }
    let mut sums = [S::default(); LANES];
    for i in 0..len {
        sums[i % LANES] = take(sums[i % LANES], first + i);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            sums[i] = sums[i].add(sums[i + width]);
        }
        width /= 2;
    }
    sums[0]
}

/// The largest power of two below `len`, which is more than one.
fn left_part(len: usize) -> usize {
    1 << (len - 1).ilog2()
}

fn depth(len: usize) -> u64 {
    match len {
        0 => 0,
        1..=LEAF => (len.div_ceil(LANES) as u64) + u64::from(LANES.ilog2()),
        // The left part is the larger one.
        _ => 1 + depth(left_part(len)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical;
    use crate::error::Result;
    use crate::for_every_element;
    use crate::oracle;
    use crate::order;
    use crate::testing::{Input, Values};

    fn check<T: Element>() -> Result<()> {
        for values in [Values::Ones, Values::Small, Values::Uniform, Values::Cancelling, Values::AnyBits] {
            for len in [0, 1, 2, 7, 8, 9, 127, 128, 129, 255, 256, 257, 1000, 4097, 40_000] {
                let input = |seed| Input { values, seed }.generate::<T>(len);
                let (x, y) = (input(1), input(2));
                let (exact_sum, exact_dot) = (oracle::sum(&x), oracle::dot(&x, &y));
                let (sum, dot) = (sum(&x), dot(&x, &y));
                let context = format!("{len} {values:?} of type {}", T::NAME);
                for (found, exact) in [(sum, exact_sum), (dot, exact_dot)] {
                    if !exact.may_overflow() {
                        assert!(exact.error_of(found.value) <= found.bound(&exact), "{context}: {found:?} {exact:?}");
                    }
                }
                // Two orders, each within its bound of the exact result.
                let canonical = canonical::dot(&x, &y)?;
                let bound = exact_dot.bound(order::depth::<T>(len as u64).into(), 2 * len as u64);
                if !exact_dot.may_overflow() && exact_dot.parts.0.is_finite() {
                    let apart = (canonical.to_f64() - dot.value.to_f64()).abs();
                    assert!(apart <= bound + dot.bound(&exact_dot), "{context}: {canonical} and {dot:?}");
                }
            }
        }
        Ok(())
    }

    #[test]
    fn every_type_is_within_its_bound() -> Result<()> {
        for_every_element!(check());
        Ok(())
    }

    #[test]
    fn integers_are_exact() {
        let x: Vec<i32> = (0..5000).map(|i| i32::MAX - i).collect();
        assert_eq!(sum(&x).value, oracle::sum(&x).value);
        assert_eq!(dot(&x, &x).value, oracle::dot(&x, &x).value);
        assert_eq!(oracle::dot(&x, &x).error_of(dot(&x, &x).value.wrapping_add(1)), f64::INFINITY);
    }

    /// One accumulator would stop at 2²⁴.
    #[test]
    fn many_ones_count() {
        let n = (1 << 24) + 1024;
        let found = sum(&vec![1.0f32; n]);
        assert_eq!(found.value, n as f32);
        // 128 elements in eight accumulators, three levels of those, and the levels up to 2²⁵.
        assert_eq!(found.depth, 16 + 3 + (25 - 7));
    }

    /// The bound is one: a sum in the worst order, one accumulator for all, is outside it.
    #[test]
    fn a_single_accumulator_is_outside_the_bound() {
        let x = vec![0.1f32; 1 << 20];
        let naive = x.iter().fold(0.0f32, |sum, x| sum + x);
        let (exact, pairwise) = (oracle::sum(&x), sum(&x));
        assert!(exact.error_of(pairwise.value) <= pairwise.bound(&exact));
        assert!(exact.error_of(naive) > pairwise.bound(&exact), "{naive}");
    }

    #[test]
    fn the_shape_of_the_tree() {
        assert_eq!([129, 256, 257, 511].map(left_part), [128, 128, 256, 256]);
        assert_eq!([0, 1, 8, 9, 128, 129, 256, 257].map(depth), [0, 4, 4, 5, 19, 20, 20, 21]);
    }
}
