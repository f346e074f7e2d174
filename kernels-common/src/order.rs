//! The canonical order: in which order a reduction combines its elements, on every device.
//!
//! Floating-point addition is not associative, so the order of the additions is part of the result. This one depends
//! on the number and the type of the elements alone, never on the grid, the alignment, the device or the run:
//!
//! 1. The elements are cut, from the start of the slice, into packets of 16 bytes, [`lanes`] elements each, and into
//!    virtual blocks of [`virtual_block`] elements.
//! 2. In a virtual block, thread `t` of [`THREADS`] takes the packets `t`, `t + 512`, …, with one accumulator per lane
//!    that starts at the identity (+0 for a sum). A dot product takes an element in by one fused multiply-add.
//! 3. The lanes of a thread combine pairwise: 0 with 1, 2 with 3, then those.
//! 4. The 32 threads of a warp combine in a tree: `i` with `i + 16`, then 8, 4, 2, 1; then the 16 warps: 8, 4, 2, 1.
//! 5. The values of the virtual blocks combine adjacently, level by level: `2i` with `2i + 1`; an odd last one passes
//!    unchanged.
//!
//! Elements that are not there are skipped, not padded, and a NaN result is stored as the type's `NAN` constant.
//! [`canonical`](crate::canonical) is this order in Rust, `include/canonical.cuh` the one on the device.

use crate::element::Element;

/// The version of the order. Results that were computed under the same version have the same bits.
///
/// All of the order is frozen: [`virtual_block`], [`THREADS`], the lanes, and every tree. The golden bits in
/// `golden/` of this crate hold it; another order is another version.
pub const ORDER_VERSION: u32 = 1;

/// The threads that share a virtual block.
pub const THREADS: u64 = 512;

/// The bytes that a thread takes at a time.
pub(crate) const PACKET: u64 = 16;

/// The smallest virtual block in bytes: one packet for each thread.
const SMALLEST: u64 = THREADS * PACKET;

/// The largest virtual block in bytes. A kernel streams through that much at the speed of the memory; the tree at its
/// end, and its value, which the last block has to pick up, cost next to nothing.
const LARGEST: u64 = 512 << 10;

/// The largest slice in bytes that is one virtual block. One block gets through it by itself sooner than several blocks
/// write partials, meet at a counter and have one of them read the partials back.
const ALONE: u64 = 128 << 10;

/// The binary logarithm of a virtual block in bytes is half of this plus that of the slice: blocks and their size grow
/// alike with the slice. Few blocks mean that few queue at the counter and are read back by the last; small ones mean
/// that each is done soon. From a quarter of a mebibyte to 64 there are 16 to 256 blocks.
const BALANCE: u32 = 10;

/// The lanes of a packet: how many elements of type `T` fit in 16 bytes.
#[must_use]
pub const fn lanes<T: Element>() -> u64 {
    PACKET / size_of::<T>() as u64
}

/// The elements of a virtual block, a power of two, for a slice of `n` elements of type `T`.
///
/// | the slice has up to | virtual blocks | of |
/// |---|---|---|
/// | 128 KiB | 1 | the least power of two that holds it, but at least 8 KiB |
/// | 512 KiB | 9 to 32 | 16 KiB |
/// | 2 MiB | 17 to 64 | 32 KiB |
/// | 8 MiB | 33 to 128 | 64 KiB |
/// | 32 MiB | 65 to 256 | 128 KiB |
/// | 128 MiB | 129 to 512 | 256 KiB |
/// | any size | from 257 | 512 KiB |
#[must_use]
pub const fn virtual_block<T: Element>(n: u64) -> u64 {
    let log2_size = size_of::<T>().ilog2();
    // Of the least power of two that is not below the size of the slice in bytes.
    let log2_slice = match n {
        0 | 1 => log2_size,
        _ => (n - 1).ilog2() + 1 + log2_size,
    };
    let log2 = if log2_slice <= ALONE.ilog2() { log2_slice } else { (log2_slice + BALANCE) / 2 };
    let bytes = if log2 < SMALLEST.ilog2() {
        SMALLEST
    } else if log2 > LARGEST.ilog2() {
        LARGEST
    } else {
        1 << log2
    };
    bytes >> log2_size
}

/// The number of virtual blocks of a slice of `n` elements of type `T`.
#[must_use]
pub const fn virtual_blocks<T: Element>(n: u64) -> u64 {
    n.div_ceil(virtual_block::<T>(n))
}

/// The most operations that lie between an element and the result, for a slice of `n` elements of type `T`.
///
/// Each rounds once, so that the error of a sum is at most `depth · u` times the sum of the absolute values of its
/// terms, up to terms of order `u²` and absent underflow, where `u` is the unit roundoff of the type of the sum (2⁻²⁴
/// for `f32`, 2⁻⁵³ for `f64`). For a dot product the rounding of the product is counted, as it happens in the fused
/// multiply-add.
#[must_use]
pub const fn depth<T: Element>(n: u64) -> u32 {
    if n == 0 {
        return 0;
    }
    let v = virtual_block::<T>(n);
    let longest = if n < v { n } else { v };
    // At most 32 rows; so the cast keeps the value.
    let rows = longest.div_ceil(THREADS * lanes::<T>()) as u32;
    rows + lanes::<T>().ilog2() + THREADS.ilog2() + n.div_ceil(v).next_power_of_two().ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn virtual_blocks_grow_with_the_slice() {
        let plan = |n| (virtual_blocks::<f32>(n), virtual_block::<f32>(n));
        assert_eq!(plan(0), (0, 2048));
        assert_eq!(plan(2048), (1, 2048));
        assert_eq!(plan(2049), (1, 4096));
        assert_eq!(plan(32_768), (1, 32_768));
        assert_eq!(plan(32_769), (9, 4096));
        assert_eq!(plan(1 << 17), (32, 4096));
        assert_eq!(plan((1 << 17) + 1), (17, 8192));
        assert_eq!(plan(1 << 24), (256, 65_536));
        assert_eq!(plan(20_000_000), (306, 65_536));
        assert_eq!(plan(1 << 25), (512, 65_536));
        assert_eq!(plan((1 << 25) + 1), (257, 131_072));
        assert_eq!(virtual_block::<f16>(1 << 30), 262_144);
        assert_eq!(virtual_block::<f64>(1 << 30), 65_536);
    }

    #[test]
    fn every_length_has_a_plan() {
        for n in [0, 1, u64::from(u32::MAX), 1 << 33, u64::MAX - 1, u64::MAX] {
            let v = virtual_block::<f16>(n);
            assert!(v.is_power_of_two() && v >= 4096);
            assert!(u128::from(virtual_blocks::<f16>(n)) * u128::from(v) >= u128::from(n));
        }
    }

    #[test]
    fn depth_counts_the_longest_path() {
        assert_eq!(depth::<f32>(0), 0);
        // One row, two levels of lanes, five of a warp, four of the warps.
        assert_eq!(depth::<f32>(1), 1 + 2 + 9);
        assert_eq!(depth::<f32>(2049), 2 + 2 + 9);
        assert_eq!(depth::<f32>(32_769), 2 + 2 + 9 + 4);
        assert_eq!(depth::<f64>(1 << 30), 64 + 1 + 9 + 14);
        assert_eq!(depth::<f16>(3 * 131_072 * 200), 64 + 3 + 9 + 9);
    }
}
