//! Loads and stores: addresses, the patterns they form, and the way to each state space.

use std::marker::PhantomData;

use super::level::Run;
use super::{Flow, Machine, concurrent, global, local, shared};
use crate::code::Ins;
use crate::fault::{Access, FaultKind, MemorySpace, Operation};
use crate::memory::GLOBAL_BASE;
use crate::races::report::{Scope, Strength};
use crate::rows::{LANES, Lane, Raw, Row, lanes};

/// Generic addresses of shared memory start here.
pub(crate) const SHARED_WINDOW: u64 = 1 << 40;
/// Generic addresses of a thread's local memory start here.
pub(crate) const LOCAL_WINDOW: u64 = 2 << 40;
/// Generic addresses of kernel parameters start here.
pub(crate) const PARAM_WINDOW: u64 = 3 << 40;
/// Bytes of each window.
const WINDOW: u64 = 1 << 32;

/// The state space of an access, as the instruction names it. Constant memory is global memory that is read-only, and
/// counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Constant,
    Shared,
    Local,
    Param,
    Generic,
}

const SPACES: [Space; 6] = [Space::Global, Space::Constant, Space::Shared, Space::Local, Space::Param, Space::Generic];

/// How an instruction forms its addresses, packed into [`Ins::extra`]: the byte offset in the low half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addressing {
    pub(crate) space: Space,
    pub(crate) offset: i32,
    /// The address register has 32 bits.
    pub(crate) narrow: bool,
    /// The address is relative to the running activation's local memory.
    pub(crate) in_frame: bool,
    /// The value may be changed by others at any time: a volatile or synchronising access.
    pub(crate) volatile: bool,
    pub(crate) strength: Strength,
    /// It acquires what others have released.
    pub(crate) acquires: bool,
    /// It releases what its thread has done before.
    pub(crate) releases: bool,
    /// Only lanes whose predicate in the row [`CONDITION`] is set want what is loaded.
    pub(crate) conditional: bool,
}

/// The row of the predicate of a conditional load.
pub(crate) const CONDITION: usize = 5;

const STRENGTHS: [Strength; 4] =
    [Strength::Weak, Strength::Volatile, Strength::Strong(Scope::Block), Strength::Strong(Scope::Device)];

impl Addressing {
    /// A weak access to the address in a 64-bit register.
    pub(crate) const PLAIN: Addressing = Addressing {
        space: Space::Generic,
        offset: 0,
        narrow: false,
        in_frame: false,
        volatile: false,
        strength: Strength::Weak,
        acquires: false,
        releases: false,
        conditional: false,
    };

    pub(crate) fn pack(self) -> u64 {
        u64::from(self.offset as u32)
            | (self.space as u64) << 32
            | u64::from(self.narrow) << 40
            | u64::from(self.in_frame) << 41
            | u64::from(self.volatile) << 42
            | (STRENGTHS.iter().position(|&each| each == self.strength).unwrap_or(0) as u64) << 43
            | u64::from(self.acquires) << 45
            | u64::from(self.releases) << 46
            | u64::from(self.conditional) << 47
    }

    #[inline(always)]
    pub(crate) fn unpack(extra: u64) -> Addressing {
        Addressing {
            space: SPACES[(extra >> 32 & 7) as usize % SPACES.len()],
            offset: extra as u32 as i32,
            narrow: extra >> 40 & 1 != 0,
            in_frame: extra >> 41 & 1 != 0,
            volatile: extra >> 42 & 1 != 0,
            strength: STRENGTHS[(extra >> 43) as usize % STRENGTHS.len()],
            acquires: extra >> 45 & 1 != 0,
            releases: extra >> 46 & 1 != 0,
            conditional: extra >> 47 & 1 != 0,
        }
    }
}

/// Bits of [`Ins::extra`] above the addressing that instructions may use for themselves.
pub(crate) const EXTRA_SHIFT: u32 = 48;

/// One address for each lane; those of lanes that are not active mean nothing.
pub(crate) type Addresses = [u64; LANES];

/// A value in memory: a [`Lane`] of its own size.
pub(crate) trait Element: Lane {
    const SIGNED: bool;
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
            const SIGNED: bool = <$T>::MIN != 0;
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
    /// The lanes `first..first + count`, and no others, are active, and their addresses are `stride` bytes apart.
    Strided { first: usize, count: usize, stride: i64 },
    /// Anything else.
    Scattered,
}

/// The pattern of accesses of `width` bytes by the lanes of `mask`, which is not empty.
#[inline(always)]
pub(crate) fn pattern(addresses: &Addresses, mask: u32, width: u64) -> Pattern {
    if mask == u32::MAX {
        let stride = addresses[1].wrapping_sub(addresses[0]);
        let mut expected = addresses[0];
        let mut differs = 0;
        for address in addresses {
            differs |= address ^ expected;
            expected = expected.wrapping_add(stride);
        }
        return match stride {
            _ if differs != 0 => Pattern::Scattered,
            0 => Pattern::Same { first: 0 },
            _ if stride == width => Pattern::Run { first: 0, count: LANES },
            _ => Pattern::Strided { first: 0, count: LANES, stride: stride as i64 },
        };
    }
    partial_pattern(addresses, mask, width)
}

/// [`pattern`] where some lanes are not active.
fn partial_pattern(addresses: &Addresses, mask: u32, width: u64) -> Pattern {
    let first = mask.trailing_zeros() as usize;
    let run = mask.unbounded_shr(first as u32);
    let count = run.count_ones() as usize;
    if count == 0 {
        return Pattern::Scattered;
    }
    if count == 1 {
        return Pattern::Run { first, count };
    }
    let start = addresses[first];
    if run & run.wrapping_add(1) != 0 {
        let same = lanes(mask).all(|lane| addresses[lane] == start);
        return if same { Pattern::Same { first } } else { Pattern::Scattered };
    }
    let stride = addresses[first + 1].wrapping_sub(start);
    let linear =
        (0..count).all(|lane| addresses[first + lane] == start.wrapping_add((lane as u64).wrapping_mul(stride)));
    match stride {
        _ if !linear => Pattern::Scattered,
        0 => Pattern::Same { first },
        _ if stride == width => Pattern::Run { first, count },
        _ => Pattern::Strided { first, count, stride: stride as i64 },
    }
}

/// Least and greatest address of the lanes of `mask`, which is not empty.
#[inline]
pub(crate) fn extent(addresses: &Addresses, mask: u32) -> (u64, u64) {
    lanes(mask)
        .fold((u64::MAX, 0), |(least, greatest), lane| (least.min(addresses[lane]), greatest.max(addresses[lane])))
}

/// Addresses on the host for each lane; null for accesses that are dropped because nothing checks them.
pub(crate) type Hosts = [*mut u8; LANES];

impl Machine<'_> {
    /// The addresses of an access whose address register is `rows[0]`.
    ///
    /// # Safety
    /// As for [`Exec`](super::Exec).
    #[inline(always)]
    pub(crate) unsafe fn addresses(&self, ins: &Ins, how: Addressing) -> Addresses {
        // SAFETY: the caller's promise.
        unsafe { self.addresses_in(ins.rows[0], how) }
    }

    /// The addresses of an access whose address register is `row`.
    ///
    /// # Safety
    /// As for [`Exec`](super::Exec).
    #[inline(always)]
    pub(crate) unsafe fn addresses_in(&self, row: Row, how: Addressing) -> Addresses {
        let mut addresses = [0; LANES];
        let mut offset = i64::from(how.offset) as u64;
        if how.in_frame {
            offset = offset.wrapping_add(self.local_base);
        }
        // SAFETY: the caller's promise; `narrow` tells the width of the row.
        unsafe {
            if how.narrow {
                // A sum of 32 bits: a negative register and a positive offset meet within shared memory.
                let row = self.get::<u32>(row);
                for lane in 0..LANES {
                    addresses[lane] = u64::from(row[lane].wrapping_add(offset as u32));
                }
            } else {
                let row = self.get::<u64>(row);
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
            Space::Global | Space::Constant => return access(self, addresses, mask, MemorySpace::Global),
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
        if let Some(lane) = lanes(mask).find(|&lane| !addresses[lane].is_multiple_of(u64::from(width))) {
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

/// The elements of an access, where they are not known when the code is compiled.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Bytes of an element.
    pub(crate) size: u64,
    /// Elements.
    pub(crate) count: usize,
    /// Narrow elements are extended by their sign.
    pub(crate) signed: bool,
}

impl Shape {
    fn of<T: Element, const V: usize>() -> Shape {
        Shape { size: size_of::<T>() as u64, count: V, signed: T::SIGNED }
    }

    fn width(self) -> u64 {
        self.size * self.count as u64
    }

    pub(crate) fn pack(self) -> u64 {
        self.size | (self.count as u64) << 4 | u64::from(self.signed) << 8
    }

    fn unpack(bits: u64) -> Shape {
        Shape { size: bits & 15, count: (bits >> 4 & 15) as usize, signed: bits >> 8 & 1 != 0 }
    }
}

/// Loads `count` lanes from `first` on from contiguous memory, or all lanes from one place.
///
/// # Safety
/// `count` vectors must be readable at `host`.
#[inline(always)]
pub(crate) unsafe fn load_run<T: Element, const V: usize>(
    host: *const u8,
    first: usize,
    count: usize,
    same: bool,
    loaded: &mut Loaded<T, V>,
) {
    let size = size_of::<T>();
    // SAFETY: the caller's promise.
    unsafe {
        if same {
            for (index, values) in loaded.iter_mut().enumerate() {
                *values = splat(T::load(host.add(index * size)).into_raw());
            }
        } else if count == LANES {
            for lane in 0..LANES {
                for index in 0..V {
                    loaded[index][lane] = T::load(host.add((lane * V + index) * size)).into_raw();
                }
            }
        } else {
            for lane in 0..count.min(LANES - first) {
                for index in 0..V {
                    loaded[index][first + lane] = T::load(host.add((lane * V + index) * size)).into_raw();
                }
            }
        }
    }
}

/// Stores `count` lanes from `first` on to contiguous memory.
///
/// # Safety
/// `count` vectors must be writable at `host`.
#[inline(always)]
pub(crate) unsafe fn store_run<T: Element, const V: usize>(
    host: *mut u8,
    first: usize,
    count: usize,
    values: &[&[T::Raw; LANES]; V],
) {
    let size = size_of::<T>();
    // SAFETY: the caller's promise.
    unsafe {
        if count == LANES {
            for lane in 0..LANES {
                for index in 0..V {
                    T::from_raw(values[index][lane]).store(host.add((lane * V + index) * size));
                }
            }
        } else {
            for lane in 0..count.min(LANES - first) {
                for index in 0..V {
                    T::from_raw(values[index][first + lane]).store(host.add((lane * V + index) * size));
                }
            }
        }
    }
}

/// `ld`: the elements of a vector of `V` from the addresses `rows[0]` to `rows[1..]`.
pub(crate) struct Load<T, const V: usize>(PhantomData<T>);

impl<T: Element, const V: usize> Run for Load<T, V> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let how = Addressing::unpack(ins.extra);
        // SAFETY: the caller's promise.
        let addresses = unsafe { m.addresses(ins, how) };
        m.watching |= how.volatile;
        let mut loaded = [[T::Raw::default(); LANES]; V];
        let done = match how.space {
            Space::Global | Space::Constant => global::load::<T, V>(m, ins, &addresses, &mut loaded),
            Space::Shared => shared::load::<T, V>(m, ins, &addresses, &mut loaded),
            _ => false,
        };
        if !done {
            // SAFETY: the caller's promise.
            return unsafe { load_any(m, ins, how, addresses, Shape::of::<T, V>()) };
        }
        // SAFETY: the caller's promise.
        unsafe {
            for (row, values) in ins.rows[1..].iter().zip(&loaded) {
                m.put(*row, values);
            }
        }
        Flow::Next
    }
}

/// `st`: the elements of a vector of `V`, in `rows[1..]`, to the addresses `rows[0]`.
pub(crate) struct Store<T, const V: usize>(PhantomData<T>);

impl<T: Element, const V: usize> Run for Store<T, V> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let how = Addressing::unpack(ins.extra);
        // SAFETY: the caller's promise.
        let addresses = unsafe { m.addresses(ins, how) };
        // SAFETY: the caller's promise; stores write no registers.
        let values: [&[T::Raw; LANES]; V] =
            std::array::from_fn(|index| unsafe { &*std::ptr::from_ref(m.get::<T::Raw>(ins.rows[index + 1])) });
        let done = match how.space {
            Space::Global => global::store::<T, V>(m, ins, &addresses, &values),
            Space::Shared => shared::store::<T, V>(m, ins, &addresses, &values),
            _ => false,
        };
        if done {
            return Flow::Next;
        }
        // SAFETY: the caller's promise.
        unsafe { store_any(m, ins, how, addresses, Shape::of::<T, V>()) }
    }
}

/// `ld` of a shape that is packed into `extra`.
pub(crate) struct LoadAny;

impl Run for LoadAny {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let how = Addressing::unpack(ins.extra);
        // SAFETY: the caller's promise.
        unsafe {
            let addresses = m.addresses(ins, how);
            m.watching |= how.volatile;
            load_any(m, ins, how, addresses, Shape::unpack(ins.extra >> EXTRA_SHIFT))
        }
    }
}

/// `isspacep.const`: whether the addresses `rows[1]` are in global memory that is read-only, as that of constants is.
pub(crate) struct IsConstant;

impl Run for IsConstant {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        let addresses = *unsafe { m.get::<u64>(ins.rows[1]) };
        let is_constant =
            |address: u64| m.memory.region(address).is_some_and(|region| region.read_only && region.holds(address, 1));
        let bits = lanes(m.mask).filter(|&lane| is_constant(addresses[lane])).fold(0, |bits, lane| bits | 1 << lane);
        // SAFETY: the caller's promise.
        unsafe { m.put_predicate(ins.rows[0], bits) };
        Flow::Next
    }
}

/// `st` of a shape that is packed into `extra`.
pub(crate) struct StoreAny;

impl Run for StoreAny {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let how = Addressing::unpack(ins.extra);
        // SAFETY: the caller's promise.
        unsafe {
            let addresses = m.addresses(ins, how);
            store_any(m, ins, how, addresses, Shape::unpack(ins.extra >> EXTRA_SHIFT))
        }
    }
}

/// A load of any kind.
///
/// # Safety
/// As for [`Exec`](super::Exec).
#[inline(never)]
unsafe fn load_any(m: &mut Machine<'_>, ins: &Ins, how: Addressing, mut addresses: Addresses, shape: Shape) -> Flow {
    m.resolve(&mut addresses, how.space, |m, addresses, mask, space| {
        if !m.aligned(addresses, mask, shape.width() as u32, space, Operation::Load) {
            return Flow::Fault;
        }
        let hosts = match space {
            MemorySpace::Global => global::reach(m, ins, addresses, mask, shape.width(), Operation::Load),
            MemorySpace::Shared => shared::reach(m, addresses, mask, shape.width(), Operation::Load),
            MemorySpace::Param => m.reach_params(addresses, mask, shape.width()),
            MemorySpace::Local => {
                if !local::reach(m, addresses, mask, shape.width(), Operation::Load) {
                    return Flow::Fault;
                }
                None
            }
        };
        if hosts.is_none() && space != MemorySpace::Local {
            return Flow::Fault;
        }
        if let (true, MemorySpace::Global | MemorySpace::Shared, Some(hosts)) = (m.checks.races, space, &hosts) {
            let access = (addresses, hosts, mask);
            if m.races_of(ins, access, shape.width(), (space, Operation::Load), |_, _, _| 0) {
                return Flow::Fault;
            }
        }
        let together = space == MemorySpace::Global && m.memory.is_together();
        for index in 0..shape.count {
            let offset = index as u64 * shape.size;
            let mut values = match &hosts {
                // SAFETY: whole accesses are within reach of the pointers that are not null.
                Some(hosts) => unsafe {
                    if together {
                        concurrent::gather(hosts, mask, offset, shape.size)
                    } else {
                        gather(hosts, mask, offset, shape.size)
                    }
                },
                None => local::gather(m, addresses, mask, offset, shape.size),
            };
            if shape.signed {
                let shift = 64 - 8 * shape.size;
                values = values.map(|bits| ((bits << shift) as i64 >> shift) as u64);
            }
            // SAFETY: the caller's promise; elements of 8 bytes have 64-bit rows.
            unsafe {
                if shape.size == 8 {
                    m.put_lanes(ins.rows[index + 1], &values, mask);
                } else {
                    m.put_lanes(ins.rows[index + 1], &values.map(|bits| bits as u32), mask);
                }
            }
        }
        Flow::Next
    })
}

/// A store of any kind. Where lanes store to the same place the highest one wins, or any if the launch has a seed.
///
/// # Safety
/// As for [`Exec`](super::Exec).
#[inline(never)]
unsafe fn store_any(m: &mut Machine<'_>, ins: &Ins, how: Addressing, mut addresses: Addresses, shape: Shape) -> Flow {
    m.resolve(&mut addresses, how.space, |m, addresses, mask, space| {
        if !m.aligned(addresses, mask, shape.width() as u32, space, Operation::Store) {
            return Flow::Fault;
        }
        let hosts = match space {
            MemorySpace::Global => global::reach(m, ins, addresses, mask, shape.width(), Operation::Store),
            MemorySpace::Shared => shared::reach(m, addresses, mask, shape.width(), Operation::Store),
            MemorySpace::Param => return m.parameters_are_constant(addresses, mask, shape.width()),
            MemorySpace::Local => {
                if !local::reach(m, addresses, mask, shape.width(), Operation::Store) {
                    return Flow::Fault;
                }
                None
            }
        };
        if hosts.is_none() && space != MemorySpace::Local {
            return Flow::Fault;
        }
        if let (true, MemorySpace::Global | MemorySpace::Shared, Some(hosts)) = (m.checks.races, space, &hosts) {
            // SAFETY: the caller's promise; the byte is one of the access.
            let stored = |m: &Machine<'_>, lane: usize, byte: u64| unsafe { stored_byte(m, ins, shape, lane, byte) };
            if m.races_of(ins, (addresses, hosts, mask), shape.width(), (space, Operation::Store), stored) {
                return Flow::Fault;
            }
        }
        let order = m.lanes_in_turn(mask);
        let together = space == MemorySpace::Global && m.memory.is_together();
        for index in 0..shape.count {
            let offset = index as u64 * shape.size;
            // SAFETY: the caller's promise; elements of 8 bytes have 64-bit rows.
            let values = unsafe {
                if shape.size == 8 {
                    *m.get::<u64>(ins.rows[index + 1])
                } else {
                    m.get::<u32>(ins.rows[index + 1]).map(u64::from)
                }
            };
            match &hosts {
                // SAFETY: whole accesses are within reach of the pointers that are not null.
                Some(hosts) => unsafe {
                    if together {
                        concurrent::scatter(hosts, order.clone(), offset, shape.size, &values);
                    } else {
                        scatter(hosts, order.clone(), offset, shape.size, &values);
                    }
                },
                None => local::scatter(m, addresses, mask, offset, shape.size, &values),
            }
        }
        Flow::Next
    })
}

/// A byte of what a lane stores.
///
/// # Safety
/// As for [`Exec`](super::Exec); `byte` must be less than the width of the access.
unsafe fn stored_byte(m: &Machine<'_>, ins: &Ins, shape: Shape, lane: usize, byte: u64) -> u8 {
    let row = ins.rows[(byte / shape.size) as usize + 1];
    // SAFETY: the caller's promise; elements of 8 bytes have 64-bit rows.
    let bits = unsafe { if shape.size == 8 { m.get::<u64>(row)[lane] } else { m.get::<u32>(row)[lane].into() } };
    (bits >> (8 * (byte % shape.size))) as u8
}

/// The elements at `offset` from each pointer, zero-extended; zeros where it is null.
///
/// # Safety
/// `size` bytes must be readable there.
unsafe fn gather(hosts: &Hosts, mask: u32, offset: u64, size: u64) -> [u64; LANES] {
    /// # Safety
    /// As for `gather`.
    unsafe fn all<T: Element>(hosts: &Hosts, mask: u32, offset: u64) -> [u64; LANES] {
        let mut values = [0; LANES];
        for lane in lanes(mask) {
            if !hosts[lane].is_null() {
                // SAFETY: the caller's promise.
                values[lane] = unsafe { T::load(hosts[lane].add(offset as usize)) }.into_raw().widen();
            }
        }
        values
    }
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => all::<u8>(hosts, mask, offset),
            2 => all::<u16>(hosts, mask, offset),
            4 => all::<u32>(hosts, mask, offset),
            _ => all::<u64>(hosts, mask, offset),
        }
    }
}

/// Writes the elements at `offset` from each pointer that is not null, lane by lane.
///
/// # Safety
/// `size` bytes must be writable there.
unsafe fn scatter(hosts: &Hosts, order: impl Iterator<Item = usize>, offset: u64, size: u64, values: &[u64; LANES]) {
    /// # Safety
    /// As for `scatter`.
    unsafe fn all<T: Element>(hosts: &Hosts, order: impl Iterator<Item = usize>, offset: u64, values: &[u64; LANES]) {
        for lane in order {
            if !hosts[lane].is_null() {
                let value = T::from_raw(T::Raw::narrow(values[lane]));
                // SAFETY: the caller's promise.
                unsafe { value.store(hosts[lane].add(offset as usize)) };
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => all::<u8>(hosts, order, offset, values),
            2 => all::<u16>(hosts, order, offset, values),
            4 => all::<u32>(hosts, order, offset, values),
            _ => all::<u64>(hosts, order, offset, values),
        }
    }
}

impl Machine<'_> {
    /// Where the parameters are that the lanes of `mask` load; `None` after a fault.
    fn reach_params(&mut self, addresses: &Addresses, mask: u32, width: u64) -> Option<Hosts> {
        let mut hosts = [std::ptr::null_mut(); LANES];
        for lane in lanes(mask) {
            let address = addresses[lane];
            match self.params.get(address as usize..address.saturating_add(width) as usize) {
                // Loads only read, so that a pointer to constant bytes will do.
                Some(bytes) => hosts[lane] = bytes.as_ptr().cast_mut(),
                None if !self.checks.bounds => {}
                None => {
                    let (operation, space) = (Operation::Load, MemorySpace::Param);
                    let access = Access { operation, space, address, bytes: width as u32 };
                    self.fail(FaultKind::OutOfBounds { access, place: None }, lane);
                    return None;
                }
            }
        }
        Some(hosts)
    }

    #[cold]
    fn parameters_are_constant(&mut self, addresses: &Addresses, mask: u32, width: u64) -> Flow {
        let lane = mask.trailing_zeros() as usize % LANES;
        let (operation, space) = (Operation::Store, MemorySpace::Param);
        let access = Access { operation, space, address: addresses[lane], bytes: width as u32 };
        self.fail(FaultKind::OutOfBounds { access, place: None }, lane)
    }
}

/// A row of equal values.
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
        assert_eq!(pattern(&run, u32::MAX, 8), Pattern::Strided { first: 0, count: 32, stride: 4 });
        assert_eq!(pattern(&run, 0b110, 2), Pattern::Strided { first: 1, count: 2, stride: 4 });
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
            for strength in STRENGTHS {
                let how = Addressing { space, offset: -5, narrow: true, volatile: true, strength, ..Addressing::PLAIN };
                for how in [
                    Addressing { acquires: true, ..how },
                    Addressing { releases: true, ..how },
                    Addressing { conditional: true, ..how },
                ] {
                    assert_eq!(Addressing::unpack(how.pack()), how);
                    assert!(how.pack() >> EXTRA_SHIFT == 0);
                }
            }
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
