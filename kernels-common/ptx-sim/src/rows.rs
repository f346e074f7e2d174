//! Registers as rows of 32 lanes.
//!
//! A register of up to 32 bits is a row of 32 `u32`, a 64-bit register one of 32 `u64`, and a predicate one `u32` with
//! a bit for each lane. Narrower values than their row are kept extended; an instruction looks only at the low bits
//! that its type names, so what stands above them does not matter.

#![allow(clippy::needless_range_loop, reason = "a lane is an index into several rows at once")]

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// The unit in which rows are laid out: one 32-bit row, or half a 64-bit one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(crate) struct Line(pub(crate) [u32; LANES]);

impl Line {
    pub(crate) const ZERO: Line = Line([0; LANES]);
    /// Bytes of a line.
    pub(crate) const BYTES: u32 = 128;
}

/// The memories that operands come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bank {
    /// The registers of the running activation of a function.
    Frame = 0,
    /// Rows that are the same for all warps of a block: immediates, parameters, addresses, `%ctaid` and the like.
    Constant = 1,
    /// Rows that differ between warps but never change: `%tid` and the like.
    Warp = 2,
}

/// Where an operand is: the bank in the low two bits, the byte offset within it in the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Row(u32);

impl Row {
    pub(crate) fn new(bank: Bank, offset: u32) -> Row {
        debug_assert_eq!(offset % 4, 0);
        Row(offset | bank as u32)
    }

    /// The row at the start of line `line` of a bank.
    pub(crate) fn line(bank: Bank, line: u32) -> Row {
        Row::new(bank, line * Line::BYTES)
    }

    /// The 64-bit row behind this one: the upper half of a 128-bit register.
    pub(crate) fn upper_half(self) -> Row {
        Row(self.0 + 2 * Line::BYTES)
    }

    #[inline(always)]
    pub(crate) fn bank(self) -> usize {
        (self.0 & 3) as usize
    }

    #[inline(always)]
    pub(crate) fn offset(self) -> usize {
        (self.0 & !3) as usize
    }
}

/// How a lane's value is kept: `u32` or `u64`.
pub(crate) trait Raw: Copy + Default + 'static {
    /// Zero-extended to 64 bits.
    fn widen(self) -> u64;
    /// The low bits.
    fn narrow(bits: u64) -> Self;
    /// Copies the lanes of `mask` from `source` to `target`.
    fn blend(target: &mut [Self; LANES], source: &[Self; LANES], mask: u32);
}

impl Raw for u32 {
    #[inline(always)]
    fn widen(self) -> u64 {
        u64::from(self)
    }
    #[inline(always)]
    fn narrow(bits: u64) -> u32 {
        bits as u32
    }
    #[inline(always)]
    fn blend(target: &mut [u32; LANES], source: &[u32; LANES], mask: u32) {
        for lane in 0..LANES {
            target[lane] = if mask & BIT[lane] != 0 { source[lane] } else { target[lane] };
        }
    }
}

impl Raw for u64 {
    #[inline(always)]
    fn widen(self) -> u64 {
        self
    }
    #[inline(always)]
    fn narrow(bits: u64) -> u64 {
        bits
    }
    #[inline(always)]
    fn blend(target: &mut [u64; LANES], source: &[u64; LANES], mask: u32) {
        for lane in 0..LANES {
            target[lane] = if u64::from(mask) & BIT_WIDE[lane] != 0 { source[lane] } else { target[lane] };
        }
    }
}

/// A type that instructions compute with, and how it is kept in a row.
pub(crate) trait Lane: Copy + 'static {
    type Raw: Raw;
    fn from_raw(raw: Self::Raw) -> Self;
    fn into_raw(self) -> Self::Raw;
}

macro_rules! lanes {
    ($($T:ty: $Raw:ty, |$raw:ident| $from:expr, |$value:ident| $into:expr;)+) => {
        $(impl Lane for $T {
            type Raw = $Raw;
            #[inline(always)]
            fn from_raw($raw: $Raw) -> $T {
                $from
            }
            #[inline(always)]
            fn into_raw(self) -> $Raw {
                let $value = self;
                $into
            }
        })+
    };
}

lanes! {
    u8: u32, |raw| raw as u8, |value| u32::from(value);
    i8: u32, |raw| raw as i8, |value| i32::from(value) as u32;
    u16: u32, |raw| raw as u16, |value| u32::from(value);
    i16: u32, |raw| raw as i16, |value| i32::from(value) as u32;
    u32: u32, |raw| raw, |value| value;
    i32: u32, |raw| raw as i32, |value| value as u32;
    f32: u32, |raw| f32::from_bits(raw), |value| value.to_bits();
    u64: u64, |raw| raw, |value| value;
    i64: u64, |raw| raw as i64, |value| value as u64;
    f64: u64, |raw| f64::from_bits(raw), |value| value.to_bits();
}

/// Bit i for lane i: a table, because baseline x86-64 has no shift by lane.
pub(crate) const BIT: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// Bit i for lane i, as wide as a 64-bit row.
pub(crate) const BIT_WIDE: [u64; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// The lanes for which `holds`, as bits. Eight flags at a time: the product has flag i at bit 56 + i, and nothing else
/// there.
#[inline(always)]
pub(crate) fn lanes_where(holds: impl Fn(usize) -> bool) -> u32 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut flags = [[0u8; 8]; LANES / 8];
    for lane in 0..LANES {
        flags[lane / 8][lane % 8] = u8::from(holds(lane));
    }
    let mut bits = 0;
    for (group, flags) in flags.into_iter().enumerate() {
        bits |= ((u64::from_le_bytes(flags).wrapping_mul(GATHER) >> 56) as u32) << (8 * group);
    }
    bits
}

/// The lanes of `mask`, lowest first.
#[inline(always)]
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}
