//! Loads and stores: addresses, the patterns they form, and the way to each state space.

use std::marker::PhantomData;

use super::level::Run;
use super::{Flow, Machine, global, local, shared};
use crate::code::Ins;
use crate::fault::{Access, FaultKind, MemorySpace, Operation};
use crate::memory::GLOBAL_BASE;
use crate::rows::{LANES, Lane, Raw, lanes};

/// Generic addresses of shared memory start here.
pub(crate) const SHARED_WINDOW: u64 = 1 << 40;
/// Generic addresses of a thread's local memory start here.
pub(crate) const LOCAL_WINDOW: u64 = 2 << 40;
/// Generic addresses of kernel parameters start here.
pub(crate) const PARAM_WINDOW: u64 = 3 << 40;
/// Bytes of each window.
const WINDOW: u64 = 1 << 32;

/// The state space of an access, as the instruction names it. Constant memory is global memory that is read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Shared,
    Local,
    Param,
    Generic,
}

const SPACES: [Space; 5] = [Space::Global, Space::Shared, Space::Local, Space::Param, Space::Generic];

/// How an instruction forms its addresses, packed into [`Ins::extra`]: the byte offset in the low half.
#[derive(Clone, Copy)]
pub(crate) struct Addressing {
    pub(crate) space: Space,
    pub(crate) offset: i32,
    /// The address register has 32 bits.
    pub(crate) narrow: bool,
    /// The address is relative to the running activation's local memory.
    pub(crate) in_frame: bool,
}

impl Addressing {
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.offset as u32)
            | (self.space as u64) << 32
            | u64::from(self.narrow) << 40
            | u64::from(self.in_frame) << 41
    }

    #[inline(always)]
    pub(crate) fn unpack(extra: u64) -> Addressing {
        Addressing {
            space: SPACES[(extra >> 32 & 7) as usize % SPACES.len()],
            offset: extra as u32 as i32,
            narrow: extra >> 40 & 1 != 0,
            in_frame: extra >> 41 & 1 != 0,
        }
    }
}

/// Bits of [`Ins::extra`] above the addressing that instructions may use for themselves.
pub(crate) const EXTRA_SHIFT: u32 = 48;

/// One address for each lane; those of lanes that are not active mean nothing.
pub(crate) type Addresses = [u64; LANES];

/// A value in memory: a [`Lane`] of its own size.
pub(crate) trait Element: Lane {
    /// # Safety
    /// `size_of::<Self>()` bytes at `from` must be readable.
    unsafe fn load(from: *const u8) -> Self;
    /// # Safety
    /// `size_of::<Self>()` bytes at `to` must be writable.
    unsafe fn store(self, to: *mut u8);
}

macro_rules! elements {
    ($($T:ty)+) => {
        $(impl Element for $T {
            #[inline(always)]
            unsafe fn load(from: *const u8) -> $T {
                // SAFETY: the caller's promise; any bits are a value.
                unsafe { from.cast::<$T>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: the caller's promise.
                unsafe { to.cast::<$T>().write_unaligned(self) }
            }
        })+
    };
}

elements! { u8 i8 u16 i16 u32 u64 }

/// How the addresses of a warp lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The lanes `first..first + count`, and no others, are active, and each address follows on the one before.
    Run { first: usize, count: usize },
    /// All active lanes have the address of this one.
    Same { first: usize },
    /// Anything else.
    Scattered,
}

/// The pattern of accesses of `width` bytes by the lanes of `mask`, which is not empty.
#[inline(always)]
pub(crate) fn pattern(addresses: &Addresses, mask: u32, width: u64) -> Pattern {
    let first = mask.trailing_zeros() as usize;
    if first >= LANES {
        return Pattern::Scattered;
    }
    let start = addresses[first].wrapping_sub(first as u64 * width);
    let mut gap = 0;
    let mut differs = 0;
    if mask == u32::MAX {
        for lane in 0..LANES {
            gap |= addresses[lane] ^ start.wrapping_add(lane as u64 * width);
            differs |= addresses[lane] ^ start;
        }
        return match (gap, differs) {
            (0, _) => Pattern::Run { first: 0, count: LANES },
            (_, 0) => Pattern::Same { first: 0 },
            _ => Pattern::Scattered,
        };
    }
    for lane in 0..LANES {
        let active = if u64::from(mask) & crate::rows::BIT_WIDE[lane] != 0 { u64::MAX } else { 0 };
        gap |= active & (addresses[lane] ^ start.wrapping_add(lane as u64 * width));
        differs |= active & (addresses[lane] ^ addresses[first]);
    }
    let run = mask >> first;
    if gap == 0 && run & run.wrapping_add(1) == 0 {
        Pattern::Run { first, count: run.count_ones() as usize }
    } else if differs == 0 {
        Pattern::Same { first }
    } else {
        Pattern::Scattered
    }
}

impl Machine<'_> {
    /// The addresses of an access whose address register is `rows[0]`.
    ///
    /// # Safety
    /// As for [`Exec`](super::Exec).
    #[inline(always)]
    pub(crate) unsafe fn addresses(&self, ins: &Ins, how: Addressing) -> Addresses {
        let mut addresses = [0; LANES];
        let mut offset = i64::from(how.offset) as u64;
        if how.in_frame {
            offset = offset.wrapping_add(self.local_base);
        }
        // SAFETY: the caller's promise; `narrow` tells the width of the row.
        unsafe {
            if how.narrow {
                let row = self.get::<u32>(ins.rows[0]);
                for lane in 0..LANES {
                    addresses[lane] = u64::from(row[lane]).wrapping_add(offset);
                }
            } else {
                let row = self.get::<u64>(ins.rows[0]);
                for lane in 0..LANES {
                    addresses[lane] = row[lane].wrapping_add(offset);
                }
            }
        }
        addresses
    }

    /// Splits generic addresses by the space that they lie in, and runs `access` for each that occurs.
    #[inline(always)]
    pub(crate) fn resolve(
        &mut self,
        addresses: &mut Addresses,
        space: Space,
        mut access: impl FnMut(&mut Self, &Addresses, u32, MemorySpace) -> Flow,
    ) -> Flow {
        let mask = self.mask;
        match space {
            Space::Global => return access(self, addresses, mask, MemorySpace::Global),
            Space::Shared => return access(self, addresses, mask, MemorySpace::Shared),
            Space::Local => return access(self, addresses, mask, MemorySpace::Local),
            Space::Param => return access(self, addresses, mask, MemorySpace::Param),
            Space::Generic => {}
        }
        let mut masks = [0u32; 4];
        for lane in lanes(mask) {
            let (space, base) = space_of(addresses[lane]);
            masks[space as usize] |= 1 << lane;
            addresses[lane] -= base;
        }
        for (space, mask) in
            [MemorySpace::Global, MemorySpace::Shared, MemorySpace::Local, MemorySpace::Param].into_iter().zip(masks)
        {
            if mask != 0 && access(self, addresses, mask, space) == Flow::Fault {
                return Flow::Fault;
            }
        }
        Flow::Next
    }

    /// Whether the addresses of `mask` are multiples of `width`; a fault if not and they are checked.
    #[inline(always)]
    pub(crate) fn aligned(
        &mut self,
        addresses: &Addresses,
        mask: u32,
        width: u32,
        space: MemorySpace,
        operation: Operation,
    ) -> bool {
        if !self.checks.bounds {
            return true;
        }
        let mut bits = 0;
        if mask == u32::MAX {
            for address in addresses {
                bits |= address;
            }
        } else {
            for lane in lanes(mask) {
                bits |= addresses[lane];
            }
        }
        if bits & (u64::from(width) - 1) == 0 {
            return true;
        }
        self.report_misaligned(addresses, mask, width, space, operation);
        false
    }

    #[cold]
    fn report_misaligned(
        &mut self,
        addresses: &Addresses,
        mask: u32,
        width: u32,
        space: MemorySpace,
        operation: Operation,
    ) {
        if let Some(lane) = lanes(mask).find(|&lane| addresses[lane] % u64::from(width) != 0) {
            let access = Access { operation, space, address: addresses[lane], bytes: width };
            self.fail(FaultKind::Misaligned { access, align: width }, lane);
        }
    }
}

/// The space of a generic address, and where its window starts.
#[inline(always)]
pub(crate) fn space_of(address: u64) -> (MemorySpace, u64) {
    if address >= GLOBAL_BASE {
        (MemorySpace::Global, 0)
    } else if address.wrapping_sub(SHARED_WINDOW) < WINDOW {
        (MemorySpace::Shared, SHARED_WINDOW)
    } else if address.wrapping_sub(LOCAL_WINDOW) < WINDOW {
        (MemorySpace::Local, LOCAL_WINDOW)
    } else if address.wrapping_sub(PARAM_WINDOW) < WINDOW {
        (MemorySpace::Param, PARAM_WINDOW)
    } else {
        (MemorySpace::Global, 0)
    }
}

/// What a load gives: for each element of the vector a row.
pub(crate) type Loaded<T, const V: usize> = [[<T as Lane>::Raw; LANES]; V];

/// `ld`: the elements of a vector of `V` from the addresses `rows[0]` to `rows[1..]`.
pub(crate) struct Load<T, const V: usize>(PhantomData<T>);

impl<T: Element, const V: usize> Run for Load<T, V> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let how = Addressing::unpack(ins.extra);
        // SAFETY: the caller's promise.
        let mut addresses = unsafe { m.addresses(ins, how) };
        m.resolve(&mut addresses, how.space, |m, addresses, mask, space| {
            let mut loaded = [[T::Raw::default(); LANES]; V];
            let done = match space {
                MemorySpace::Global => global::load::<T, V>(m, addresses, mask, &mut loaded),
                MemorySpace::Shared => shared::load::<T, V>(m, addresses, mask, &mut loaded),
                MemorySpace::Local => local::load::<T, V>(m, addresses, mask, &mut loaded),
                MemorySpace::Param => param::<T, V>(m, addresses, mask, &mut loaded),
            };
            if !done {
                return Flow::Fault;
            }
            // SAFETY: the caller's promise.
            unsafe {
                if mask == m.mask {
                    for (row, values) in ins.rows[1..].iter().zip(&loaded) {
                        m.put(*row, values);
                    }
                } else {
                    for (row, values) in ins.rows[1..].iter().zip(&loaded) {
                        m.put_lanes(*row, values, mask);
                    }
                }
            }
            Flow::Next
        })
    }
}

/// `st`: the elements of a vector of `V`, in `rows[1..]`, to the addresses `rows[0]`.
pub(crate) struct Store<T, const V: usize>(PhantomData<T>);

impl<T: Element, const V: usize> Run for Store<T, V> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let how = Addressing::unpack(ins.extra);
        // SAFETY: the caller's promise.
        let mut addresses = unsafe { m.addresses(ins, how) };
        m.resolve(&mut addresses, how.space, |m, addresses, mask, space| {
            // SAFETY: the caller's promise; stores write no registers.
            let values: [&[T::Raw; LANES]; V] =
                unsafe { std::array::from_fn(|index| &*std::ptr::from_ref(m.get::<T::Raw>(ins.rows[index + 1]))) };
            let done = match space {
                MemorySpace::Global => global::store::<T, V>(m, addresses, mask, &values),
                MemorySpace::Shared => shared::store::<T, V>(m, addresses, mask, &values),
                MemorySpace::Local => local::store::<T, V>(m, addresses, mask, &values),
                MemorySpace::Param => {
                    let lane = mask.trailing_zeros() as usize;
                    let access = Access {
                        operation: Operation::Store,
                        space,
                        address: addresses[lane % LANES],
                        bytes: (size_of::<T>() * V) as u32,
                    };
                    m.fail(FaultKind::OutOfBounds { access, place: None }, lane);
                    false
                }
            };
            if done { Flow::Next } else { Flow::Fault }
        })
    }
}

/// Loads from the parameter block.
fn param<T: Element, const V: usize>(
    m: &mut Machine<'_>,
    addresses: &Addresses,
    mask: u32,
    loaded: &mut Loaded<T, V>,
) -> bool {
    let size = size_of::<T>() as u64;
    if !m.aligned(addresses, mask, (size * V as u64) as u32, MemorySpace::Param, Operation::Load) {
        return false;
    }
    for lane in lanes(mask) {
        for (index, values) in loaded.iter_mut().enumerate() {
            let from = addresses[lane].wrapping_add(index as u64 * size);
            let end = from.saturating_add(size);
            if end > m.params.len() as u64 {
                if !m.checks.bounds {
                    continue;
                }
                let access = Access {
                    operation: Operation::Load,
                    space: MemorySpace::Param,
                    address: addresses[lane],
                    bytes: (size * V as u64) as u32,
                };
                m.fail(FaultKind::OutOfBounds { access, place: None }, lane);
                return false;
            }
            // SAFETY: the range was just found to be inside the parameter block.
            values[lane] = unsafe { T::load(m.params.as_ptr().add(from as usize)) }.into_raw();
        }
    }
    true
}

/// The row of a value that is `bits` in the lanes of a load.
#[inline(always)]
pub(crate) fn splat<R: Raw>(value: R) -> [R; LANES] {
    [value; LANES]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_patterns() {
        let run: Addresses = std::array::from_fn(|lane| 4096 + 4 * lane as u64);
        assert_eq!(pattern(&run, u32::MAX, 4), Pattern::Run { first: 0, count: 32 });
        assert_eq!(pattern(&run, 0xff0, 4), Pattern::Run { first: 4, count: 8 });
        assert_eq!(pattern(&run, 0x80000000, 4), Pattern::Run { first: 31, count: 1 });
        assert_eq!(pattern(&run, 0b1011, 4), Pattern::Scattered);
        assert_eq!(pattern(&run, u32::MAX, 8), Pattern::Scattered);
        assert_eq!(pattern(&[8; 32], u32::MAX, 4), Pattern::Same { first: 0 });
        assert_eq!(pattern(&[8; 32], 0b1100, 4), Pattern::Same { first: 2 });
        let mut hole = run;
        hole[3] = 0;
        assert_eq!(pattern(&hole, 0b111, 4), Pattern::Run { first: 0, count: 3 });
        assert_eq!(pattern(&hole, 0b1111, 4), Pattern::Scattered);
    }

    #[test]
    fn addressing_round_trips() {
        for space in SPACES {
            let how = Addressing { space, offset: -5, narrow: true, in_frame: false };
            let back = Addressing::unpack(how.pack());
            assert_eq!((back.space, back.offset, back.narrow, back.in_frame), (space, -5, true, false));
        }
    }

    #[test]
    fn windows_do_not_touch() {
        assert_eq!(space_of(SHARED_WINDOW + 5), (MemorySpace::Shared, SHARED_WINDOW));
        assert_eq!(space_of(LOCAL_WINDOW), (MemorySpace::Local, LOCAL_WINDOW));
        assert_eq!(space_of(SHARED_WINDOW - 4), (MemorySpace::Global, 0));
        assert_eq!(space_of(0), (MemorySpace::Global, 0));
    }
}
