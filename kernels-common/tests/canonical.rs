//! The host's canonical reductions against the definition of the order, written down as literally as possible.

use half::{bf16, f16};
use kernels_common::canonical;
use kernels_common::element::{Accumulator, Element};
use kernels_common::error::Error;
use kernels_common::order;
use proptest::prelude::*;

/// The dot product of `x` and `y`.
fn dot_by_definition<T: Element>(x: &[T], y: &[T]) -> T::Sum {
    let take = |sum: T::Sum, i: usize| sum.fused_add(x[i].widen(), y[i].widen());
    by_definition::<T>(x.len(), T::Sum::default(), take, Accumulator::add)
}

/// The reduction of `x` by `combine`.
fn reduction_by_definition<T: Element>(x: &[T], identity: T::Sum, combine: Combine<T::Sum>) -> T::Sum {
    by_definition::<T>(x.len(), identity, |sum, i| combine(sum, x[i].widen()), combine)
}

type Combine<S> = fn(S, S) -> S;

/// One accumulator, of one lane of one thread, at a time; no concern for speed. `take` takes in an element by its
/// index.
fn by_definition<T: Element>(
    n: usize,
    identity: T::Sum,
    take: impl Fn(T::Sum, usize) -> T::Sum,
    combine: Combine<T::Sum>,
) -> T::Sum {
    let lanes = 16 / size_of::<T>();
    let v = order::virtual_block::<T>(n as u64) as usize;
    let blocks: Vec<T::Sum> = (0..n)
        .step_by(v)
        .map(|start| {
            let threads: Vec<T::Sum> = (0..512)
                .map(|thread| {
                    let accumulators: Vec<T::Sum> = (0..lanes)
                        .map(|lane| {
                            (thread * lanes + lane..v)
                                .step_by(512 * lanes)
                                .map(|i| start + i)
                                .filter(|&i| i < n)
                                .fold(identity, &take)
                        })
                        .collect();
                    neighbours(&accumulators, combine)
                })
                .collect();
            let warps: Vec<T::Sum> = threads.chunks(32).map(|warp| halves(warp, combine)).collect();
            halves(&warps, combine)
        })
        .collect();
    if blocks.is_empty() { identity } else { neighbours(&blocks, combine).normalised() }
}

/// Neighbours first. A run of 2^k values is a whole of its own, and what follows it joins last.
fn neighbours<S: Accumulator>(values: &[S], combine: Combine<S>) -> S {
    if let [value] = values {
        return *value;
    }
    let (left, right) = values.split_at(values.len().next_power_of_two() / 2);
    combine(neighbours(left, combine), neighbours(right, combine))
}

/// The first half takes in the second, place by place.
fn halves<S: Accumulator>(values: &[S], combine: Combine<S>) -> S {
    if let [value] = values {
        return *value;
    }
    let (low, high) = values.split_at(values.len() / 2);
    let sums: Vec<S> = low.iter().zip(high).map(|(&a, &b)| combine(a, b)).collect();
    halves(&sums, combine)
}

fn check<T: Element>(x: &[T], y: &[T]) {
    let bits = canonical::dot(x, y).unwrap().bits();
    assert_eq!(bits, dot_by_definition(x, y).bits(), "{} elements of type {}", x.len(), T::NAME);
}

/// Sum, product, minimum and maximum of `x`.
fn check_reductions<T: Element>(x: &[T]) {
    let context = format!("{} elements of type {}", x.len(), T::NAME);
    let sum = reduction_by_definition(x, T::Sum::default(), Accumulator::add);
    assert_eq!(canonical::sum(x).bits(), sum.bits(), "{context}");
    let product = reduction_by_definition(x, T::Sum::ONE, Accumulator::multiply);
    assert_eq!(canonical::product(x).bits(), product.bits(), "{context}");
    let least = T::narrow(reduction_by_definition(x, T::HIGHEST.widen(), Accumulator::lesser));
    assert_eq!(bytemuck::bytes_of(&canonical::minimum(x)), bytemuck::bytes_of(&least), "{context}");
    let greatest = T::narrow(reduction_by_definition(x, T::LOWEST.widen(), Accumulator::greater));
    assert_eq!(bytemuck::bytes_of(&canonical::maximum(x)), bytemuck::bytes_of(&greatest), "{context}");
}

/// Numbers that do not add up exactly in any order, from a fixed sequence.
fn numbers<T: Element>(seed: u64, n: usize) -> Vec<T> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
            if T::IS_FLOAT { T::from_f64(uniform * 2.0 - 1.0) } else { T::from_f64((uniform - 0.5) * 4e9) }
        })
        .collect()
}

fn every_boundary<T: Element>() {
    let lanes = order::lanes::<T>() as usize;
    let row = 512 * lanes;
    // Up to 16 rows there is one virtual block; up to 64 rows, one has 2 rows, and up to 256 it has 4.
    let around = [lanes, 32, 512, row, 2 * row, 4 * row, 16 * row, 17 * row, 64 * row, 256 * row, 257 * row];
    let mut lengths: Vec<usize> = around.iter().flat_map(|&n| [n - 1, n, n + 1]).collect();
    lengths.extend([0, 1, 2, 2047, 2048, 2049, 4097, 100_003, 3 * row + 5, 700 * row + row / 2 + 1]);
    for n in lengths {
        check(&numbers::<T>(1, n), &numbers::<T>(2, n));
        if n <= 17 * row + 1 {
            check_reductions(&numbers::<T>(1, n));
        }
    }
}

#[test]
fn f32_at_every_boundary() {
    every_boundary::<f32>();
}

#[test]
fn f64_at_every_boundary() {
    every_boundary::<f64>();
}

#[test]
fn halves_at_every_boundary() {
    every_boundary::<f16>();
    every_boundary::<bf16>();
}

#[test]
fn integers_at_every_boundary() {
    every_boundary::<i32>();
    every_boundary::<u32>();
    every_boundary::<i64>();
    every_boundary::<u64>();
}

#[test]
fn the_largest_virtual_blocks() {
    let n = (512 << 10) / 4 * 259 + 77;
    assert_eq!(order::virtual_blocks::<f32>(n as u64), 260);
    check(&numbers::<f32>(3, n), &numbers::<f32>(4, n));
}

#[test]
fn the_sign_of_zero_is_plus() {
    // Negative zeros times one add up to -0 in any tree; the accumulators start at +0.
    for n in [1, 3, 5000, 70_000] {
        assert_eq!(canonical::dot(&vec![-0.0f32; n], &vec![1.0; n]).unwrap().to_bits(), 0);
        assert_eq!(canonical::dot(&vec![-0.0f64; n], &vec![1.0; n]).unwrap().to_bits(), 0);
        assert_eq!(canonical::dot(&vec![f16::NEG_ZERO; n], &vec![f16::ONE; n]).unwrap().to_bits(), 0);
    }
    assert_eq!(canonical::dot::<f32>(&[], &[]).unwrap().to_bits(), 0);
}

#[test]
fn infinities_and_nan() {
    for place in [0, 1, 2047, 2048, 40_000, 49_999] {
        let ones = vec![1.0f32; 50_000];
        let mut x = ones.clone();
        x[place] = f32::INFINITY;
        assert_eq!(canonical::dot(&x, &ones).unwrap(), f32::INFINITY);
        x[40_001] = f32::NEG_INFINITY;
        assert_eq!(canonical::dot(&x, &ones).unwrap().to_bits(), f32::NAN.to_bits());
        let mut x = vec![1.0f64; 50_000];
        x[place] = f64::from_bits(0xfff8_dead_beef_0001);
        assert_eq!(canonical::dot(&x, &x).unwrap().to_bits(), f64::NAN.to_bits());
    }
}

#[test]
fn cancellation_is_exact_where_the_order_makes_it() {
    // Elements 0 and 4096 share an accumulator where a virtual block has four rows. Where it has two, they are in
    // different virtual blocks, and the 3 beside the first of them is lost.
    for (n, sum) in [(8192, 3.0), ((1 << 17) + 1, 3.0), (1 << 17, 0.0)] {
        let (mut x, ones) = (vec![0.0f32; n], vec![1.0f32; n]);
        (x[0], x[1], x[4096]) = (1e30, 3.0, -1e30);
        assert_eq!(canonical::dot(&x, &ones).unwrap(), sum, "{n} elements");
        check(&x, &ones);
    }
}

#[test]
fn integers_widen_and_wrap() {
    let product = i64::from(i32::MAX) * i64::from(i32::MIN);
    assert_eq!(canonical::dot(&[i32::MAX; 2], &[i32::MIN; 2]).unwrap(), 2 * product);
    assert_eq!(canonical::dot(&[i32::MAX; 3000], &[i32::MIN; 3000]).unwrap(), product.wrapping_mul(3000));
    assert_eq!(canonical::dot(&[u64::MAX; 5], &[1; 5]).unwrap(), 0u64.wrapping_sub(5));
    assert_eq!(canonical::dot(&vec![f16::ONE; 4096], &vec![f16::ONE; 4096]).unwrap(), 4096.0);
}

#[test]
fn nothing_reduces_to_the_identity() {
    check_reductions::<f16>(&[]);
    assert_eq!((canonical::sum::<f32>(&[]).to_bits(), canonical::product::<bf16>(&[])), (0, 1.0));
    assert_eq!((canonical::minimum::<f16>(&[]), canonical::maximum::<f64>(&[])), (f16::INFINITY, f64::NEG_INFINITY));
    assert_eq!((canonical::minimum::<i32>(&[]), canonical::maximum::<i32>(&[])), (i32::MAX, i32::MIN));
    assert_eq!((canonical::minimum::<u64>(&[]), canonical::maximum::<u64>(&[])), (u64::MAX, 0));
}

#[test]
fn unequal_lengths_are_an_error() {
    let error = canonical::dot(&[1.0f32, 2.0], &[1.0]).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { expected: 2, found: 1, .. }), "{error}");
}

/// Any bit patterns: infinities, NaN, subnormals, and numbers that differ in size by everything there is.
fn any_bits() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
    (0usize..40_000).prop_flat_map(|n| (prop::collection::vec(any::<u64>(), n), prop::collection::vec(any::<u64>(), n)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_bits_of_any_type((x, y) in any_bits()) {
        fn of_type<T: Element>(x: &[u64], y: &[u64]) {
            let cast = |words: &[u64]| -> Vec<T> { words.iter().map(|w| bytemuck::cast_slice(&[*w])[0]).collect() };
            check(&cast(x), &cast(y));
            check_reductions::<T>(&cast(x));
        }
        of_type::<f32>(&x, &y);
        of_type::<f64>(&x, &y);
        of_type::<f16>(&x, &y);
        of_type::<bf16>(&x, &y);
        of_type::<i32>(&x, &y);
        of_type::<u32>(&x, &y);
        of_type::<i64>(&x, &y);
        of_type::<u64>(&x, &y);
    }

    #[test]
    fn any_length(n in 0usize..1_500_000, seed in any::<u64>()) {
        check(&numbers::<f32>(seed, n), &numbers::<f32>(!seed, n));
    }
}
