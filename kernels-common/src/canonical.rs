//! Reductions on the host in [canonical order](crate::order): the same bits as on any device.

use std::any::TypeId;
use std::num::NonZero;
use std::ops::Range;
use std::thread;

use half::{bf16, f16};

use crate::element::{Accumulator, Element};
use crate::error::{Error, Result};
use crate::order;

const WARP: usize = 32;
const THREADS: usize = order::THREADS as usize;
const WARPS: usize = THREADS / WARP;

/// Inputs of fewer bytes than this are reduced by the calling thread alone: starting another takes longer.
const WORTH_A_THREAD: usize = 1 << 20;

/// Calls a function for the concrete type that the element type is: one compiled loop per type in this crate, instead
/// of one in each crate that calls. This crate is optimised in dev builds too, so that the tests of other crates do not
/// wait for it.
macro_rules! dispatch {
    ($T:ident: $function:ident($($slice:ident),+) -> $Result:ident) => {
        dispatch!(@each $T: $function($($slice),+) -> $Result, f32 f64 f16 bf16 i32 u32 i64 u64)
    };
    (@each $T:ident: $function:ident $slices:tt -> $Result:ident, $($type:ident)*) => {
        $(if TypeId::of::<$T>() == TypeId::of::<$type>() {
            return dispatch!(@call $type: $function $slices -> $Result);
        })*
    };
    (@call $type:ident: $function:ident($($slice:ident),+) -> Sum) => {{
        fn concrete($($slice: &[$type]),+) -> <$type as Element>::Sum {
            $function($($slice),+)
        }
        bytemuck::cast(concrete($(bytemuck::cast_slice($slice)),+))
    }};
    (@call $type:ident: $function:ident($($slice:ident),+) -> Element) => {{
        fn concrete($($slice: &[$type]),+) -> $type {
            $function($($slice),+)
        }
        bytemuck::cast(concrete($(bytemuck::cast_slice($slice)),+))
    }};
}

/// The dot product of `x` and `y` in canonical order, bit for bit what the `dot` crate computes on a device.
///
/// Each element is taken in by one fused multiply-add in the type of the sum. The dot product of nothing is +0; a NaN
/// is the type's `NAN` constant. Uses as many threads as there are processors once the input is large enough.
///
/// # Errors
/// [`Error::LengthMismatch`] if the lengths differ.
pub fn dot<T: Element>(x: &[T], y: &[T]) -> Result<T::Sum> {
    if x.len() != y.len() {
        return Err(Error::LengthMismatch { what: "y", expected: x.len(), found: y.len() });
    }
    Ok(dot_of_equal_lengths(x, y))
}

fn dot_of_equal_lengths<T: Element>(x: &[T], y: &[T]) -> T::Sum {
    fn of_type<T: Element>(x: &[T], y: &[T]) -> T::Sum {
        let accumulate = |sums: &mut [T::Sum], range: Range<usize>| {
            for ((sum, x), y) in sums.iter_mut().zip(&x[range.clone()]).zip(&y[range]) {
                *sum = sum.fused_add(x.widen(), y.widen());
            }
        };
        reduce::<T, T::Sum>(x.len(), T::Sum::default(), accumulate, Accumulator::add).normalised()
    }
    dispatch!(T: of_type(x, y) -> Sum);
    of_type(x, y)
}

/// The sum of `x` in canonical order, in the type of the sum: bit for bit what the `single-pass` crate computes on a
/// device, as are [`product`], [`minimum`] and [`maximum`].
///
/// The sum of nothing is +0; a NaN is the type's `NAN` constant. Uses as many threads as there are processors once the
/// input is large enough.
#[must_use]
pub fn sum<T: Element>(x: &[T]) -> T::Sum {
    fn of_type<T: Element>(x: &[T]) -> T::Sum {
        reduce_slice(x, T::Sum::default(), Accumulator::add)
    }
    dispatch!(T: of_type(x) -> Sum);
    of_type(x)
}

/// The product of `x` in canonical order, in the type of the sum; 64-bit integers wrap around. That of nothing is 1.
#[must_use]
pub fn product<T: Element>(x: &[T]) -> T::Sum {
    fn of_type<T: Element>(x: &[T]) -> T::Sum {
        reduce_slice(x, T::Sum::ONE, Accumulator::multiply)
    }
    dispatch!(T: of_type(x) -> Sum);
    of_type(x)
}

/// The least element of `x`: NaN if there is one, and −0 lies below +0. That of nothing is [`Element::HIGHEST`].
#[must_use]
pub fn minimum<T: Element>(x: &[T]) -> T {
    fn of_type<T: Element>(x: &[T]) -> T {
        T::narrow(reduce_slice(x, T::HIGHEST.widen(), Accumulator::lesser))
    }
    dispatch!(T: of_type(x) -> Element);
    of_type(x)
}

/// The greatest element of `x`: NaN if there is one, and −0 lies below +0. That of nothing is [`Element::LOWEST`].
#[must_use]
pub fn maximum<T: Element>(x: &[T]) -> T {
    fn of_type<T: Element>(x: &[T]) -> T {
        T::narrow(reduce_slice(x, T::LOWEST.widen(), Accumulator::greater))
    }
    dispatch!(T: of_type(x) -> Element);
    of_type(x)
}

fn reduce_slice<T: Element>(x: &[T], identity: T::Sum, combine: impl Fn(T::Sum, T::Sum) -> T::Sum + Sync) -> T::Sum {
    let accumulate = |values: &mut [T::Sum], range: Range<usize>| {
        for (value, x) in values.iter_mut().zip(&x[range]) {
            *value = combine(*value, x.widen());
        }
    };
    reduce::<T, T::Sum>(x.len(), identity, accumulate, &combine).normalised()
}

/// Reduces `n` elements of type `T` in canonical order, with accumulators of type `S`.
///
/// `accumulate(sums, range)` takes the elements of `range` into `sums`, one each: element `range.start + i` into
/// `sums[i]`; both have the same length. `combine` joins two accumulators. Every accumulator starts as `identity`,
/// which is also the result for no elements. The result is not normalised.
pub fn reduce<T: Element, S: Copy + Send + Sync>(
    n: usize,
    identity: S,
    accumulate: impl Fn(&mut [S], Range<usize>) + Sync,
    combine: impl Fn(S, S) -> S + Sync,
) -> S {
    // Both are no larger than 2 Mi or n, and so fit a usize.
    let v = order::virtual_block::<T>(n as u64) as usize;
    let blocks = n.div_ceil(v);
    let reduce_blocks = |first: usize, values: &mut [S]| {
        let mut sums = vec![identity; THREADS * order::lanes::<T>() as usize];
        for (block, value) in (first..).zip(values) {
            let range = block * v..n.min((block + 1) * v);
            *value = reduce_virtual_block(&mut sums, range, identity, &accumulate, &combine);
        }
    };
    let threads =
        if n * size_of::<T>() < WORTH_A_THREAD { 1 } else { thread::available_parallelism().map_or(1, NonZero::get) };
    let mut values = vec![identity; blocks];
    let share = blocks.div_ceil(threads).max(1);
    thread::scope(|scope| {
        let mut shares = values.chunks_mut(share).enumerate();
        let own = shares.next();
        for (i, values) in shares {
            scope.spawn(move || reduce_blocks(i * share, values));
        }
        if let Some((_, values)) = own {
            reduce_blocks(0, values);
        }
    });
    adjacent_tree(&mut values, &combine).unwrap_or(identity)
}

/// The value of one virtual block. `sums` has one accumulator for each lane of each thread, in the order in which a row
/// of packets lies in memory, so that a row is taken in as one long vector.
fn reduce_virtual_block<S: Copy>(
    sums: &mut [S],
    range: Range<usize>,
    identity: S,
    accumulate: &impl Fn(&mut [S], Range<usize>),
    combine: &impl Fn(S, S) -> S,
) -> S {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { reduce_virtual_block_avx2(sums, range, identity, accumulate, combine) };
    }
    reduce_virtual_block_anywhere(sums, range, identity, accumulate, combine)
}

/// The same, compiled for processors with fused multiply-add. Without it `mul_add` is a call into the mathematical
/// library, to the same result, but some 50 times slower.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn reduce_virtual_block_avx2<S: Copy>(
    sums: &mut [S],
    range: Range<usize>,
    identity: S,
    accumulate: &impl Fn(&mut [S], Range<usize>),
    combine: &impl Fn(S, S) -> S,
) -> S {
    reduce_virtual_block_anywhere(sums, range, identity, accumulate, combine)
}

#[inline(always)]
fn reduce_virtual_block_anywhere<S: Copy>(
    sums: &mut [S],
    range: Range<usize>,
    identity: S,
    accumulate: &impl Fn(&mut [S], Range<usize>),
    combine: &impl Fn(S, S) -> S,
) -> S {
    sums.fill(identity);
    let mut first = range.start;
    while first < range.end {
        let end = range.end.min(first + sums.len());
        accumulate(&mut sums[..end - first], first..end);
        first = end;
    }
    let mut len = sums.len();
    while len > THREADS {
        len /= 2;
        for i in 0..len {
            sums[i] = combine(sums[2 * i], sums[2 * i + 1]);
        }
    }
    let mut warps = [identity; WARPS];
    for (value, warp) in warps.iter_mut().zip(sums.chunks_exact_mut(WARP)) {
        *value = halving_tree(warp, combine);
    }
    halving_tree(&mut warps, combine)
}

/// Combines `i` with `i + len / 2`, then with `len / 4`, down to 1. The length is a power of two.
#[inline(always)]
fn halving_tree<S: Copy>(values: &mut [S], combine: &impl Fn(S, S) -> S) -> S {
    let mut half = values.len() / 2;
    while half > 0 {
        for i in 0..half {
            values[i] = combine(values[i], values[i + half]);
        }
        half /= 2;
    }
    values[0]
}

/// Combines neighbours, level by level; the odd last one passes. Nothing for no values.
fn adjacent_tree<S: Copy>(values: &mut [S], combine: &impl Fn(S, S) -> S) -> Option<S> {
    let mut len = values.len();
    while len > 1 {
        for i in 0..len / 2 {
            values[i] = combine(values[2 * i], values[2 * i + 1]);
        }
        if len % 2 == 1 {
            values[len / 2] = values[len - 1];
        }
        len = len.div_ceil(2);
    }
    values.first().copied()
}
