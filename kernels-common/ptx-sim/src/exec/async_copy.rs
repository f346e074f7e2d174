//! Copies that go on while the kernel does: `cp.async` and `cp.async.bulk`.
//!
//! A copy is checked when it is issued, and done later. Until then its destination in shared memory counts as not
//! written, so that a read which did not wait for it is found. Without a seed every copy is done as late as possible:
//! when something that waits for it is executed, so that a store from shared to global memory is not there before. With
//! a seed copies are done at any time between, in any order, as a device may do them.
//!
//! A thread waits for its own copies by groups, or any thread for those that an [mbarrier](super::mbarrier) counts.

use std::collections::HashMap;

use super::atomic::Update;
use super::level::Run;
use super::memory::{Addresses, Addressing, Space, space_of};
use super::{Flow, Machine, RawFault};
use crate::code::Ins;
use crate::fault::{Access, FaultKind, MemorySpace, Operation};
use crate::rows::{LANES, lanes};
use crate::sched::random::Random;

/// One of the ends of a copy.
#[derive(Clone, Copy, Debug)]
struct End {
    space: MemorySpace,
    address: u64,
}

/// How a copy is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completion {
    /// By a group of the thread; `None` until the thread commits it.
    Group { bulk: bool, group: Option<u64> },
    /// By the bytes that an mbarrier counts.
    Bytes { mbarrier: u64 },
    /// It is no copy but an arrival at an mbarrier when the earlier copies of the thread, bulk ones aside, are done.
    Arrival { mbarrier: u64 },
}

/// A copy under way.
#[derive(Clone, Debug)]
struct Transfer {
    /// Number of the thread in its block.
    thread: u32,
    /// The instruction.
    pc: u32,
    completion: Completion,
    to: End,
    from: End,
    /// Bytes that are copied.
    bytes: u32,
    /// Zeros that are written behind them.
    zeros: u32,
    /// How elements of this many bytes are combined with those in memory, instead of replacing them.
    update: Option<(Update, u32)>,
    /// What the source held, once it has been read.
    taken: Option<Box<[u8]>>,
}

impl Transfer {
    fn is_bulk(&self) -> bool {
        matches!(self.completion, Completion::Group { bulk: true, .. } | Completion::Bytes { .. })
    }
}

/// The copies of a block that are under way, in the order in which they were issued.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    list: Vec<Transfer>,
    /// Groups that a thread has committed, of bulk copies or of others.
    commits: HashMap<(u32, bool), u64>,
}

impl Transfers {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.commits.clear();
    }

    /// Whether a copy under way writes any of `bytes` bytes at this shared address.
    pub(crate) fn writes(&self, address: u64, bytes: u64) -> bool {
        self.list.iter().any(|transfer| {
            let (start, length) = (transfer.to.address, u64::from(transfer.bytes + transfer.zeros));
            transfer.to.space == MemorySpace::Shared
                && start < address.saturating_add(bytes)
                && address < start.saturating_add(length)
        })
    }
}

/// What kind of copy an instruction issues, an entry of [`Code::copies`](crate::code::Code::copies).
#[derive(Clone, Copy)]
pub(crate) struct CopyOp {
    /// Addresses of destination (`rows[0]`), source (`rows[1]`) and mbarrier (`rows[2]`).
    pub(crate) to: Addressing,
    pub(crate) from: Addressing,
    pub(crate) mbarrier: Option<Addressing>,
    /// A `cp.async.bulk`, whose size is the operand `rows[3]`; others have their size in `bytes`.
    pub(crate) bulk: bool,
    pub(crate) bytes: u32,
    /// Bytes to read, `rows[3]`; the rest of `bytes` is filled with zeros.
    pub(crate) source_bytes: bool,
    /// A predicate, `rows[4]`, whose lanes read nothing.
    pub(crate) ignore_source: bool,
    pub(crate) update: Option<(Update, u32)>,
}

/// Issues the copy `extra` of [`Code::copies`](crate::code::Code::copies).
pub(crate) struct Copy;

impl Run for Copy {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { issue(m, ins) }
    }
}

/// Bytes to whose multiples ends and size of a bulk copy are aligned.
const BULK_ALIGN: u32 = 16;

/// Copies of a block that are under way at most: more than shared memory has words, so that only those pile up that
/// overwrite each other. Then all are done.
const MOST_UNDER_WAY: usize = 1 << 16;

/// # Safety
/// As for [`Exec`](super::Exec).
#[inline(never)]
unsafe fn issue(m: &mut Machine<'_>, ins: &Ins) -> Flow {
    let op = m.code.copies[ins.extra as usize];
    // SAFETY: the caller's promise; the operation tells what the rows are.
    let (to, from, mbarriers, sizes, ignored) = unsafe {
        let mbarriers = op.mbarrier.map(|how| m.addresses_in(ins.rows[2], how));
        let sizes = (op.bulk || op.source_bytes).then(|| *m.get::<u32>(ins.rows[3]));
        let ignored = if op.ignore_source { m.predicate(ins.rows[4]) } else { 0 };
        (m.addresses_in(ins.rows[0], op.to), m.addresses_in(ins.rows[1], op.from), mbarriers, sizes, ignored)
    };
    if !m.has_room_for_copies() {
        return Flow::Fault;
    }
    for lane in lanes(m.mask) {
        let (bytes, zeros) = match sizes {
            Some(sizes) if op.bulk => (sizes[lane], 0),
            _ if ignored >> lane & 1 != 0 => (0, op.bytes),
            Some(sizes) => (sizes[lane].min(op.bytes), op.bytes.saturating_sub(sizes[lane])),
            None => (op.bytes, 0),
        };
        let (to, from) = (end(op.to.space, to[lane]), end(op.from.space, from[lane]));
        let mbarrier = match mbarriers {
            Some(mbarriers) => {
                let mbarrier = end(op.mbarrier.map_or(Space::Generic, |how| how.space), mbarriers[lane]);
                let mut addresses: Addresses = [0; LANES];
                addresses[lane] = mbarrier.address;
                if !m.reach_mbarriers(&addresses, 1 << lane, mbarrier.space) {
                    return Flow::Fault;
                }
                if let Err(text) = m.mbarrier(mbarrier.address) {
                    return m.fail(FaultKind::BadOperand(text), lane);
                }
                Some(mbarrier.address)
            }
            None => None,
        };
        let align = if op.bulk { BULK_ALIGN } else { op.bytes };
        if op.bulk && bytes % BULK_ALIGN != 0 {
            let text = format!("a bulk copy of {bytes} bytes, which is no multiple of {BULK_ALIGN}");
            return m.fail(FaultKind::BadOperand(text), lane);
        }
        // A reduction changes what is there, as an atomic does, but its destination need not be initialised to fault
        // later: it is checked here as well.
        let write = if op.update.is_some() { Operation::Atomic } else { Operation::Store };
        let reads = bytes == 0 || m.reaches(from, bytes, align, Operation::Load, lane);
        if !reads || !m.reaches(to, bytes + zeros, align, write, lane) {
            return Flow::Fault;
        }
        if to.space == MemorySpace::Shared {
            m.shared.take_back(to.address, u64::from(bytes + zeros));
        }
        let completion = match mbarrier {
            Some(mbarrier) => Completion::Bytes { mbarrier },
            None => Completion::Group { bulk: op.bulk, group: None },
        };
        let (thread, pc) = (m.thread(lane), m.pc_of(ins));
        let transfer = Transfer { thread, pc, completion, to, from, bytes, zeros, update: op.update, taken: None };
        m.shared.transfers.list.push(transfer);
    }
    Flow::Next
}

fn end(space: Space, address: u64) -> End {
    match space {
        Space::Global | Space::Constant => End { space: MemorySpace::Global, address },
        Space::Shared => End { space: MemorySpace::Shared, address },
        Space::Local => End { space: MemorySpace::Local, address },
        Space::Param => End { space: MemorySpace::Param, address },
        Space::Generic => {
            let (space, base) = space_of(address);
            End { space, address: address - base }
        }
    }
}

/// `cp.async.commit_group`, with `extra` 1 that of bulk copies: what a thread has issued since the last one becomes a
/// group.
pub(crate) struct Commit;

impl Run for Commit {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        m.commit(ins.extra != 0);
        Flow::Next
    }
}

/// `cp.async.wait_group`: waits for all groups of the thread but the last `extra >> 2`, or with all ones for
/// everything. Bit 0 of `extra` tells that bulk copies are meant, bit 1 that it is enough if they have read their
/// source.
pub(crate) struct WaitGroup;

/// What stands for `cp.async.wait_all`.
pub(crate) const WAIT_ALL: u64 = u64::MAX >> 2;

impl Run for WaitGroup {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let (bulk, reading, left) = (ins.extra & 1 != 0, ins.extra & 2 != 0, ins.extra >> 2);
        match m.wait_group(bulk, reading, left) {
            Ok(()) => Flow::Next,
            Err(fault) => {
                m.fault = Some(fault);
                Flow::Fault
            }
        }
    }
}

/// `cp.async.mbarrier.arrive`: an arrival at the barriers at `rows[0]` when the earlier copies of the thread are done.
/// `extra` is the addressing, with bit 48 set if the phase has counted on that arrival (`.noinc`).
pub(crate) struct ArriveAfterCopies;

impl Run for ArriveAfterCopies {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let how = Addressing::unpack(ins.extra);
        let counted = ins.extra >> super::memory::EXTRA_SHIFT & 1 != 0;
        // SAFETY: the caller's promise.
        let mut addresses = unsafe { m.addresses(ins, how) };
        m.resolve(&mut addresses, how.space, |m, addresses, mask, space| {
            if !m.reach_mbarriers(addresses, mask, space) || !m.has_room_for_copies() {
                return Flow::Fault;
            }
            for lane in lanes(mask) {
                let mbarrier = addresses[lane];
                let added =
                    m.mbarrier(mbarrier).and_then(|barrier| if counted { Ok(()) } else { barrier.add_pending() });
                if let Err(text) = added {
                    return m.fail(FaultKind::BadOperand(text), lane);
                }
                let nothing = End { space: MemorySpace::Shared, address: 0 };
                let transfer = Transfer {
                    thread: m.thread(lane),
                    pc: m.pc_of(ins),
                    completion: Completion::Arrival { mbarrier },
                    to: nothing,
                    from: nothing,
                    bytes: 0,
                    zeros: 0,
                    update: None,
                    taken: None,
                };
                m.shared.transfers.list.push(transfer);
            }
            Flow::Next
        })
    }
}

impl Machine<'_> {
    /// Number in its block of the thread that is a lane of the running warp.
    fn thread(&self, lane: usize) -> u32 {
        self.warp * LANES as u32 + lane as u32
    }

    /// Whether one end of a copy is where it may be; a fault if not.
    fn reaches(&mut self, end: End, bytes: u32, align: u32, operation: Operation, lane: usize) -> bool {
        let End { space, address } = end;
        let mut addresses: Addresses = [0; LANES];
        addresses[lane] = address;
        if !self.aligned(&addresses, 1 << lane, align, space, operation) {
            return false;
        }
        let length = u64::from(bytes);
        match space {
            MemorySpace::Global => {
                self.global(address, length, operation).is_some()
                    || !self.refuse_global(address, length, operation, lane)
            }
            MemorySpace::Shared => self.shared_reaches(address, length, operation, lane),
            MemorySpace::Local | MemorySpace::Param => {
                let access = Access { operation, space, address, bytes };
                self.fail(FaultKind::OutOfBounds { access, place: None }, lane);
                false
            }
        }
    }

    /// Does all copies under way if there are too many to add those of a warp; false after a fault.
    fn has_room_for_copies(&mut self) -> bool {
        let count = self.shared.transfers.list.len();
        if count + LANES <= MOST_UNDER_WAY {
            return true;
        }
        match self.finish(&vec![true; count]) {
            Ok(()) => true,
            Err(fault) => {
                self.fault = Some(fault);
                false
            }
        }
    }

    fn commit(&mut self, bulk: bool) {
        let (first, mask) = (self.warp * LANES as u32, self.mask);
        let Transfers { list, commits } = &mut self.shared.transfers;
        let uncommitted = Completion::Group { bulk, group: None };
        for transfer in list.iter_mut().filter(|transfer| transfer.completion == uncommitted) {
            let lane = transfer.thread.wrapping_sub(first);
            if lane < LANES as u32 && mask >> lane & 1 != 0 {
                let group = commits.get(&(transfer.thread, bulk)).copied().unwrap_or(0);
                transfer.completion = Completion::Group { bulk, group: Some(group) };
            }
        }
        for lane in lanes(mask) {
            *commits.entry((first + lane as u32, bulk)).or_default() += 1;
        }
    }

    fn wait_group(&mut self, bulk: bool, reading: bool, left: u64) -> Result<(), RawFault> {
        if self.shared.transfers.is_empty() {
            return Ok(());
        }
        let (first, mask) = (self.warp * LANES as u32, self.mask);
        let due: Vec<bool> = {
            let Transfers { list, commits } = &self.shared.transfers;
            let is_due = |transfer: &Transfer| {
                let lane = transfer.thread.wrapping_sub(first);
                if lane >= LANES as u32 || mask >> lane & 1 == 0 {
                    return false;
                }
                match transfer.completion {
                    Completion::Group { bulk: of_bulk, group } if of_bulk == bulk => {
                        let commits = commits.get(&(transfer.thread, bulk)).copied().unwrap_or(0);
                        left == WAIT_ALL || group.is_some_and(|group| group < commits.saturating_sub(left))
                    }
                    _ => false,
                }
            };
            list.iter().map(is_due).collect()
        };
        if !reading {
            return self.finish(&due);
        }
        for (index, _) in due.iter().enumerate().filter(|(_, due)| **due) {
            let Transfer { from, bytes, ref taken, .. } = self.shared.transfers.list[index];
            if taken.is_none() {
                self.shared.transfers.list[index].taken = Some(self.bytes_at(from, bytes));
            }
        }
        Ok(())
    }

    /// Does the copies that the barriers at the addresses of `mask` wait for, unless a seed does them at random.
    pub(super) fn finish_for_mbarriers(&mut self, addresses: &Addresses, mask: u32) -> Result<(), Box<FaultKind>> {
        if self.shared.transfers.is_empty() || self.random.is_some() {
            return Ok(());
        }
        let waited = |address: u64| lanes(mask).any(|lane| addresses[lane] == address);
        let list = &self.shared.transfers.list;
        let due: Vec<bool> = list
            .iter()
            .map(|transfer| match transfer.completion {
                Completion::Bytes { mbarrier } | Completion::Arrival { mbarrier } => waited(mbarrier),
                Completion::Group { .. } => false,
            })
            .collect();
        self.finish(&due).map_err(|fault| fault.kind)
    }

    /// Does some of the copies under way.
    pub(crate) fn finish_some(&mut self, random: &mut Random) -> Result<(), RawFault> {
        let due: Vec<bool> = self.shared.transfers.list.iter().map(|_| random.below(2) == 0).collect();
        self.finish(&due)
    }

    /// Ends the copies that are under way when a block ends. Bulk copies must have let go of its shared memory by then;
    /// gives the first that has not.
    pub(crate) fn finish_block(&mut self) -> Result<(), (u32, u32)> {
        let list = &self.shared.transfers.list;
        let holds_on = |transfer: &&Transfer| transfer.is_bulk() && transfer.taken.is_none();
        if let Some(transfer) = list.iter().find(holds_on)
            && self.checks.barriers
        {
            return Err((transfer.thread, transfer.pc));
        }
        let due: Vec<bool> = list.iter().map(Transfer::is_bulk).collect();
        // What goes to global memory cannot fail any more, and nobody will look at shared memory.
        let _ = self.finish(&due);
        Ok(())
    }

    /// Does the copies that are due, and what must be done before arrivals that are due.
    fn finish(&mut self, due: &[bool]) -> Result<(), RawFault> {
        if !due.contains(&true) {
            return Ok(());
        }
        let mut due = due.to_vec();
        let mut list = std::mem::take(&mut self.shared.transfers.list);
        // Threads that have such an arrival, as bits.
        let mut arriving = [0u32; LANES];
        for (transfer, due) in list.iter().zip(&mut due).rev() {
            let (warp, bit) = (transfer.thread as usize / LANES, 1 << (transfer.thread as usize % LANES));
            *due |= arriving[warp] & bit != 0 && !transfer.is_bulk();
            if *due && matches!(transfer.completion, Completion::Arrival { .. }) {
                arriving[warp] |= bit;
            }
        }
        let mut index = 0;
        let mut outcome = Ok(());
        list.retain(|transfer| {
            let now = due[index];
            index += 1;
            if now && outcome.is_ok() {
                outcome = self.perform(transfer).map_err(|text| {
                    RawFault::new(FaultKind::BadOperand(text), self.mask.trailing_zeros() % LANES as u32)
                });
            }
            !now
        });
        self.shared.transfers.list = list;
        outcome
    }

    fn perform(&mut self, transfer: &Transfer) -> Result<(), String> {
        let Transfer { completion, to, from, bytes, zeros, update, ref taken, .. } = *transfer;
        self.changes += 1;
        if let Completion::Arrival { mbarrier } = completion {
            return self.mbarrier(mbarrier)?.arrive(1, false);
        }
        let fresh;
        let source = match taken {
            Some(taken) => taken,
            None => {
                fresh = self.bytes_at(from, bytes);
                &fresh
            }
        };
        match update {
            Some((update, size)) => self.combine(to, source, update, size as usize),
            None => self.put_bytes(to, source, zeros as usize),
        }
        match completion {
            Completion::Bytes { mbarrier } => self.mbarrier(mbarrier)?.expect(-i64::from(bytes)),
            _ => Ok(()),
        }
    }

    /// Where bytes are on the host, if they are there still.
    fn host_of(&mut self, end: End, bytes: usize) -> Option<*mut u8> {
        let End { space, address } = end;
        match space {
            MemorySpace::Global => {
                let region = self.memory.region(address)?;
                // SAFETY: the region holds all of the bytes.
                region
                    .holds(address, bytes as u64)
                    .then(|| unsafe { region.host.add((address - region.start) as usize) })
            }
            MemorySpace::Shared => self.shared.at(address, bytes as u64),
            MemorySpace::Local | MemorySpace::Param => None,
        }
    }

    /// The bytes at one end of a copy; none if they are not there any more.
    fn bytes_at(&mut self, from: End, bytes: u32) -> Box<[u8]> {
        match self.host_of(from, bytes as usize) {
            // SAFETY: `host_of` found that many bytes there, and nothing else refers to them now.
            Some(host) => unsafe { std::slice::from_raw_parts(host, bytes as usize) }.into(),
            None => Box::default(),
        }
    }

    /// Writes bytes and some zeros behind them.
    fn put_bytes(&mut self, to: End, bytes: &[u8], zeros: usize) {
        let length = bytes.len() + zeros;
        if let Some(host) = self.host_of(to, length) {
            // SAFETY: `host_of` found that many bytes there; the source is a box of its own.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), host, bytes.len());
                host.add(bytes.len()).write_bytes(0, zeros);
            }
            self.mark_written(to, length as u64);
        }
    }

    /// Combines elements of `size` bytes with those in memory.
    fn combine(&mut self, to: End, bytes: &[u8], update: Update, size: usize) {
        let Some(host) = self.host_of(to, bytes.len()) else { return };
        for (index, element) in bytes.chunks_exact(size).enumerate() {
            let (mut old, mut operand) = ([0; 8], [0; 8]);
            operand[..size].copy_from_slice(element);
            // SAFETY: the element is within the bytes that `host_of` found; it has at most eight of them.
            unsafe {
                let place = host.add(index * size);
                std::ptr::copy_nonoverlapping(place, old.as_mut_ptr(), size);
                let new = update(u64::from_le_bytes(old), u64::from_le_bytes(operand), 0).to_le_bytes();
                std::ptr::copy_nonoverlapping(new.as_ptr(), place, size);
            }
        }
    }

    fn mark_written(&mut self, to: End, bytes: u64) {
        match to.space {
            MemorySpace::Global => {
                if let Some(region) = self.memory.region(to.address) {
                    self.memory.mark(&region, to.address, bytes);
                }
            }
            _ => self.shared.mark(to.address, bytes),
        }
    }
}
