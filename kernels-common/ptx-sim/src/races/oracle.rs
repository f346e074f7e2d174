//! The detector against the plainest one there is: a full vector clock for each thread, and every access ever made on
//! record for each byte. Random events on a few blocks, in a random order; the verdicts must be equal.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

use proptest::collection::vec;
use proptest::prelude::*;

use super::Races;
use super::report::{Scope, Strength};
use crate::code::{Code, Ins};
use crate::config::Checks;
use crate::exec::memory::{Addressing, Hosts};
use crate::exec::{Flow, Machine};
use crate::fault::{FaultKind, MemorySpace, Operation};
use crate::memory::{Memory, View};
use crate::races::BlockRaces;
use crate::races::hooks::RunOf;
use crate::rows::{LANES, lanes};

const BLOCKS: usize = 3;
const WARPS: usize = 2;
const THREADS: usize = BLOCKS * WARPS * LANES;
/// Bytes of each memory: two lines of shadow memory.
const BYTES: u64 = 256;

/// What happens in a warp of a block.
#[derive(Clone, Debug)]
enum Event {
    Access {
        mask: u32,
        space: MemorySpace,
        address: u64,
        stride: u64,
        kind: usize,
        width: u64,
        value: u8,
    },
    Fence {
        mask: u32,
        scope: Scope,
    },
    WarpBarrier {
        mask: u32,
    },
    /// All threads of the block.
    BlockBarrier,
    /// The lanes of each warp, none of which is all of them.
    PartialBarrier {
        masks: [u32; WARPS],
    },
    /// Lanes arrive at the barrier that the next partial one is, and do not wait.
    Signal {
        mask: u32,
    },
}

/// Every kind of access: operation, strength, whether it acquires and releases, and whether it swaps in vain.
const KINDS: [(Operation, Strength, bool, bool, bool); 21] = {
    use Operation::{Atomic, Load, Store};
    use Strength::{Strong, Volatile, Weak};
    let (block, device) = (Strong(Scope::Block), Strong(Scope::Device));
    [
        (Load, Weak, false, false, false),
        (Store, Weak, false, false, false),
        (Load, Weak, false, false, false),
        (Store, Weak, false, false, false),
        (Load, Volatile, false, false, false),
        (Store, Volatile, false, false, false),
        (Load, device, false, false, false),
        (Store, device, false, false, false),
        (Load, device, true, false, false),
        (Store, device, false, true, false),
        (Load, block, false, false, false),
        (Store, block, false, false, false),
        (Load, block, true, false, false),
        (Store, block, false, true, false),
        (Atomic, device, false, false, false),
        (Atomic, device, true, false, false),
        (Atomic, device, false, true, false),
        (Atomic, device, true, true, false),
        (Atomic, block, true, true, false),
        (Atomic, block, false, false, false),
        (Atomic, device, true, true, true),
    ]
};

fn mask() -> impl Strategy<Value = u32> {
    prop_oneof![4 => Just(1u32), 3 => Just(2u32), 2 => Just(3u32), 1 => Just(0b1010), 1 => Just(u32::MAX), 1 => Just(0xff0)]
}

fn event() -> impl Strategy<Value = Event> {
    let space = prop_oneof![3 => Just(MemorySpace::Global), 2 => Just(MemorySpace::Shared)];
    let place =
        (prop_oneof![3 => 0u64..2, 1 => 30u64..34], prop_oneof![3 => Just(1u64), 2 => Just(0u64), 1 => Just(2u64)]);
    let width = prop_oneof![8 => Just(4u64), 2 => Just(8u64), 1 => Just(1u64), 1 => Just(2u64), 1 => Just(16u64)];
    let access = (mask(), space, place, 0..KINDS.len(), width, 0u8..3).prop_map(
        |(mask, space, (word, stride), kind, width, value)| {
            // Strong accesses have a word or two.
            let width = if KINDS[kind].1 == Strength::Weak { width } else { width.clamp(4, 8) };
            Event::Access { mask, space, address: 4 * word / width * width, stride: stride * width, kind, width, value }
        },
    );
    let scope = prop_oneof![Just(Scope::Block), Just(Scope::Device)];
    prop_oneof![
        12 => access,
        3 => (mask(), scope).prop_map(|(mask, scope)| Event::Fence { mask, scope }),
        2 => mask().prop_map(|mask| Event::WarpBarrier { mask }),
        1 => Just(Event::BlockBarrier),
        1 => (mask(), prop_oneof![Just(0u32), mask()]).prop_map(|(one, other)| Event::PartialBarrier { masks: [one, other] }),
        1 => mask().prop_map(|mask| Event::Signal { mask }),
    ]
}

/// Events, each in a warp of a block; some happen again a little later, as where threads wait.
fn program() -> impl Strategy<Value = Vec<((usize, usize), Event)>> {
    let place = (prop_oneof![3 => 0..BLOCKS - 1, 1 => 0..BLOCKS], 0..WARPS);
    let back = prop_oneof![3 => Just(None), 1 => (1usize..5).prop_map(Some)];
    vec((back, place, event()), 1..40).prop_map(|items| {
        let mut events = Vec::with_capacity(items.len());
        for (back, place, event) in items {
            let again: Option<&(_, Event)> = back.and_then(|back| events.get(events.len().checked_sub(back)?));
            events.push(again.cloned().unwrap_or((place, event)));
        }
        events
    })
}

type Vector = [u32; THREADS];

fn join(to: &mut Vector, from: &Vector) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = (*to).max(*from));
}

fn join_option(to: &mut Option<Vector>, from: &Option<Vector>) {
    if let Some(from) = from {
        join(to.get_or_insert([0; THREADS]), from);
    }
}

fn includes(a: &Vector, b: &Vector) -> bool {
    a.iter().zip(b).all(|(a, b)| a >= b)
}

/// What one thread carries.
#[derive(Clone)]
struct Thread {
    clock: Vector,
    fenced: [Option<Vector>; 2],
    pending: [Option<Vector>; 2],
}

/// What was released at a word.
#[derive(Clone, Default)]
struct Object {
    device: Option<Vector>,
    blocks: [Option<Vector>; BLOCKS],
}

#[derive(Clone, Copy, Debug)]
struct Logged {
    thread: usize,
    epoch: u32,
    kind: usize,
    swaps_in_vain: bool,
    released: bool,
    /// It stored what another store had put there, without an order between the two.
    idempotent: bool,
    /// Which of [`Oracle::seen`] is what the thread knew.
    seen: usize,
}

impl Logged {
    fn operation(self) -> Operation {
        KINDS[self.kind].0
    }

    fn writes(self) -> bool {
        self.operation() != Operation::Load && !self.swaps_in_vain
    }
}

/// A place in memory: global, or shared by a block, and which unit.
type Place = (Option<usize>, u64);

struct Oracle {
    threads: Vec<Thread>,
    objects: HashMap<Place, Object>,
    log: HashMap<Place, Vec<Logged>>,
    memory: HashMap<Place, u8>,
    signals: Vec<Option<Thread>>,
    seen: Vec<Vector>,
}

impl Oracle {
    fn new() -> Oracle {
        let thread = Thread { clock: [0; THREADS], fenced: [None, None], pending: [None, None] };
        Oracle {
            threads: vec![thread; THREADS],
            objects: HashMap::new(),
            log: HashMap::new(),
            memory: HashMap::new(),
            signals: vec![None; BLOCKS],
            seen: Vec::new(),
        }
    }

    /// The threads pass a barrier at which those of `signal` have arrived.
    fn meet(&mut self, members: &[usize], signal: Option<Thread>) {
        let mut sum = signal.unwrap_or(Thread { clock: [0; THREADS], fenced: [None, None], pending: [None, None] });
        for &member in members {
            let Thread { clock, fenced, pending } = &self.threads[member];
            join(&mut sum.clock, clock);
            for scope in 0..2 {
                join_option(&mut sum.fenced[scope], &fenced[scope]);
                join_option(&mut sum.pending[scope], &pending[scope]);
            }
        }
        for &member in members {
            self.threads[member] = sum.clone();
        }
    }

    fn fence(&mut self, thread: usize, scope: Scope) {
        let number = thread;
        let thread = &mut self.threads[thread];
        thread.clock[number] += 1;
        for each in 0..=scope as usize {
            if let Some(pending) = thread.pending[each] {
                join(&mut thread.clock, &pending);
            }
        }
        for each in 0..=scope as usize {
            let clock = Some(thread.clock);
            join_option(&mut thread.fenced[each], &clock);
        }
    }

    /// The access of one lane. `Some` if it is a race: whether the detector may have forgotten what it races with.
    fn access(&mut self, thread: usize, kind: usize, place: Place, width: u64, bytes: &[u8]) -> Option<bool> {
        let (operation, strength, acquires, releases, swaps_in_vain) = KINDS[kind];
        let block = thread / (WARPS * LANES);
        let (memory, address) = place;
        let scope = match strength {
            Strength::Weak => None,
            Strength::Volatile => Some(Scope::Device),
            Strength::Strong(scope) => Some(scope),
        };
        let (reads, writes) = (operation != Operation::Store, operation != Operation::Load && !swaps_in_vain);
        let words = || (address / 4..(address + width).div_ceil(4)).map(move |word| (memory, word));
        let mut found: [Option<Vector>; 2] = [None, None];
        if let Some(scope) = scope.filter(|_| reads) {
            for object in words().filter_map(|word| self.objects.get(&word)) {
                join_option(&mut found[0], &object.blocks[block]);
                if scope == Scope::Device {
                    join_option(&mut found[1], &object.device);
                }
            }
        }
        // What is found is known, or waits for a fence, before anything is released.
        let it = &mut self.threads[thread];
        for (each, found) in found.iter().enumerate() {
            match found {
                Some(found) if acquires => join(&mut it.clock, found),
                _ => join_option(&mut it.pending[each], found),
            }
        }
        let released = scope.is_some() && writes && (releases || it.fenced[0].is_some());
        it.clock[thread] += 1;
        let mut new = Logged {
            thread,
            epoch: self.threads[thread].clock[thread],
            kind,
            swaps_in_vain,
            released,
            idempotent: false,
            seen: self.seen.len(),
        };
        self.seen.push(self.threads[thread].clock);
        for offset in 0..width {
            let byte = (memory, address + offset);
            let log = self.log.get(&byte).cloned().unwrap_or_default();
            let conflicts: Vec<Logged> = log
                .iter()
                .copied()
                .filter(|&old| self.conflict(old, new) && !self.is_ordered(old, new, &found, words().collect()))
                .collect();
            let is_store = |access: Logged| access.operation() == Operation::Store;
            let idempotent = is_store(new) && self.memory.get(&byte).copied().unwrap_or(0) == bytes[offset as usize];
            if conflicts.iter().any(|&old| !(idempotent && is_store(old))) {
                return Some(
                    conflicts.iter().all(|&old| idempotent && is_store(old) || self.may_be_forgotten(old, &log)),
                );
            }
            new.idempotent = !conflicts.is_empty();
            self.log.entry(byte).or_default().push(new);
            if is_store(new) {
                self.memory.insert(byte, bytes[offset as usize]);
            }
        }
        let Some(scope) = scope else {
            if writes {
                for word in words() {
                    self.objects.remove(&word);
                }
            }
            return None;
        };
        let it = &mut self.threads[thread];
        if writes {
            let mut released = it.fenced;
            if releases {
                released = [Some(it.clock), Some(it.clock)];
            }
            for word in words() {
                if !reads {
                    self.objects.remove(&word);
                }
                if released[0].is_some() || scope == Scope::Device && released[1].is_some() {
                    let object = self.objects.entry(word).or_default();
                    join_option(&mut object.blocks[block], &released[0]);
                    if scope == Scope::Device {
                        join_option(&mut object.device, &released[1]);
                    }
                }
            }
        }
        None
    }

    /// Of accesses of one kind to a byte two are kept, if those are of different blocks, warps or lanes. What is ordered
    /// before a write is not kept either, although some may go without order with the write alone: what stores the same,
    /// and what has acquired that write. Nor is a store of what another one, still kept and not ordered before it, has
    /// put there.
    fn may_be_forgotten(&self, old: Logged, log: &[Logged]) -> bool {
        let like = |it: &&Logged| it.writes() == old.writes() && KINDS[it.kind].1 == KINDS[old.kind].1;
        let peers: BTreeSet<usize> = log.iter().filter(like).map(|it| it.thread).collect();
        let is_before = |it: &Logged| it.writes() && self.seen[it.seen][old.thread] >= old.epoch;
        old.idempotent || peers.len() > 2 || log.iter().any(|it| it.seen != old.seen && is_before(it))
    }

    fn conflict(&self, old: Logged, new: Logged) -> bool {
        if old.thread == new.thread || !old.writes() && !new.writes() {
            return false;
        }
        let (block, warp) = (WARPS * LANES, LANES);
        match (KINDS[old.kind].1, KINDS[new.kind].1) {
            (Strength::Weak, _) | (_, Strength::Weak) => true,
            (Strength::Volatile, Strength::Volatile) => old.thread / warp == new.thread / warp,
            (a, b) => {
                old.thread / block != new.thread / block
                    && (a == Strength::Strong(Scope::Block) || b == Strength::Strong(Scope::Block))
            }
        }
    }

    fn is_ordered(&self, old: Logged, new: Logged, found: &[Option<Vector>; 2], words: Vec<Place>) -> bool {
        let it = &self.threads[new.thread];
        let covers = |clock: &Option<Vector>| clock.is_some_and(|clock| clock[old.thread] >= old.epoch);
        if it.clock[old.thread] >= old.epoch || found.iter().any(covers) {
            return true;
        }
        let both_volatile = KINDS[old.kind].1 == Strength::Volatile && KINDS[new.kind].1 == Strength::Volatile;
        if both_volatile && it.pending.iter().any(covers) {
            return true;
        }
        if !old.released {
            return false;
        }
        let mut known = Some(it.clock);
        if both_volatile {
            it.pending.iter().for_each(|pending| join_option(&mut known, pending));
        }
        let block = |thread: usize| thread / (WARPS * LANES);
        let mine = block(new.thread);
        let object = words.iter().find_map(|word| {
            self.objects.get(word).filter(|object| object.device.is_some() || object.blocks[mine].is_some())
        });
        object.is_some_and(|object| {
            let released = if block(old.thread) == mine { object.blocks[mine] } else { object.device };
            released.is_some_and(|released| includes(&known.unwrap_or([0; THREADS]), &released))
        })
    }
}

/// The instruction of each kind, loads and stores first of shared memory, then of global.
fn code() -> Code {
    unsafe fn nothing(_: &mut Machine<'_>, _: &Ins) -> Flow {
        Flow::Next
    }
    let ins = KINDS.iter().map(|&(_, strength, acquires, releases, _)| {
        let how = Addressing { strength, acquires, releases, ..Addressing::PLAIN };
        Ins { exec: nothing, rows: Default::default(), extra: how.pack() }
    });
    Code { ins: ins.collect(), ..Code::default() }
}

/// The detector with its blocks.
struct Detector<'a> {
    machine: Machine<'a>,
    blocks: Vec<BlockRaces>,
    /// Shared memory of the blocks.
    shared: Vec<Vec<u8>>,
    global: u64,
}

impl Detector<'_> {
    /// Has the lanes make an access; whether it is a race. Stores happen.
    fn access(&mut self, (block, warp): (usize, usize), event: &Event) -> bool {
        let &Event::Access { mask, space, stride, kind, width, value, .. } = event else { return false };
        let (operation, strength, .., swaps_in_vain) = KINDS[kind];
        let m = &mut self.machine;
        let code = m.code;
        let ins = &code.ins[kind];
        let mut hosts: Hosts = [std::ptr::null_mut(); LANES];
        let base = if space == MemorySpace::Global { self.global } else { 0 };
        let addresses = std::array::from_fn(|lane| base + address_of(event, lane));
        let region = m.memory.region(self.global).unwrap();
        let memory = if space == MemorySpace::Global { region.host } else { self.shared[block].as_mut_ptr() };
        for lane in lanes(mask) {
            // SAFETY: every access lies within both memories.
            hosts[lane] = unsafe { memory.add((addresses[lane] - base) as usize) };
        }
        std::mem::swap(&mut *m.here, &mut self.blocks[block]);
        (m.warp, m.mask) = (warp as u32, mask);
        let race = if operation == Operation::Atomic {
            let again = swaps_in_vain && m.compares_again(ins, (&addresses, mask), width, space);
            !again
                && lanes(mask).any(|lane| m.race_of_atomic(ins, (addresses[lane], lane), width, space, !swaps_in_vain))
        } else {
            // Runs go the short way first, as those of instructions do.
            let first = mask.trailing_zeros() as usize;
            let count = mask.count_ones() as usize;
            let consecutive = (mask >> first).wrapping_add(1).is_power_of_two() || mask >> first == u32::MAX;
            let same = stride == 0 && count > 1;
            let is_run = consecutive && (count == 1 || stride == width) || same && operation == Operation::Load;
            let run = RunOf { address: base + address_of(event, first), width, first, count, operation };
            let inside = address_of(event, first) + width * count as u64 <= BYTES;
            let done = is_run
                && (inside || same)
                && strength == Strength::Weak
                && match space {
                    MemorySpace::Global => m.global_run_is_ordered(ins, &region, run, same),
                    _ => m.shared_run_is_ordered(ins, run, same),
                };
            let stored = |_: &Machine<'_>, lane: usize, byte: u64| byte_of(value, lane, byte);
            !done && m.races_of(ins, (&addresses, &hosts, mask), width, (space, operation), stored)
        };
        std::mem::swap(&mut *m.here, &mut self.blocks[block]);
        if operation == Operation::Store && !race {
            for lane in lanes(mask) {
                for byte in 0..width {
                    // SAFETY: as above.
                    unsafe { hosts[lane].add(byte as usize).write(byte_of(value, lane, byte)) };
                }
            }
        }
        race
    }
}

/// Offset of a lane's access.
fn address_of(event: &Event, lane: usize) -> u64 {
    let &Event::Access { address, stride, width, .. } = event else { return 0 };
    // Within the memory, whatever the lane.
    (address + stride * lane as u64) % (BYTES / width * width)
}

/// What a lane stores: often what other lanes store, or what is there.
fn byte_of(value: u8, lane: usize, byte: u64) -> u8 {
    if byte != 0 { 0 } else { value / 2 * (lane as u8 % 2) + value % 2 }
}

fn thread(block: usize, warp: usize, lane: usize) -> usize {
    (block * WARPS + warp) * LANES + lane
}

/// Runs the events on both; the number of races found, 0 or 1, and of those that the detector has forgotten.
fn run(events: &[((usize, usize), Event)]) -> Result<(usize, usize), TestCaseError> {
    let code = code();
    let mut memory = Memory::new(1 << 20);
    let global = memory.allocate(BYTES).unwrap();
    memory.fill(global, BYTES, &[0]).unwrap();
    let races = Races::new(memory.start_launch(), [BLOCKS as u32, 1, 1], [64, 1, 1], false);
    let mut output = String::new();
    let machine = Machine::new(&code, View::Alone(&mut memory), &[], Checks::ALL, races, &mut output);
    let blocks = (0..BLOCKS).map(|_| BlockRaces::default()).collect();
    let mut detector = Detector { machine, blocks, shared: vec![vec![0; BYTES as usize]; BLOCKS], global };
    for (index, block) in detector.blocks.iter_mut().enumerate() {
        block.start(&mut detector.machine.races, [index as u32, 0, 0], WARPS, BYTES);
    }
    let mut oracle = Oracle::new();
    for &((block, warp), ref event) in events {
        let here = &mut detector.blocks[block].threads;
        let races = &mut detector.machine.races;
        let of_warp = |mask: u32| lanes(mask).map(move |lane| thread(block, warp, lane)).collect::<Vec<_>>();
        match *event {
            Event::Fence { mask, scope } => {
                here.fence(races, warp as u32, mask, scope);
                of_warp(mask).into_iter().for_each(|thread| oracle.fence(thread, scope));
            }
            Event::WarpBarrier { mask } => {
                here.warp_barrier(races, warp as u32, mask, u32::MAX);
                oracle.meet(&of_warp(mask), None);
            }
            Event::BlockBarrier => {
                let mut all = [0; LANES];
                all[..WARPS].fill(u32::MAX);
                here.block_barrier(races, 0, &all, &all);
                oracle.meet(&(thread(block, 0, 0)..thread(block + 1, 0, 0)).collect::<Vec<_>>(), None);
            }
            Event::PartialBarrier { masks } => {
                let (mut waiting, mut live) = ([0; LANES], [0; LANES]);
                waiting[..WARPS].copy_from_slice(&masks);
                live[..WARPS].fill(u32::MAX);
                here.block_barrier(races, 1, &waiting, &live);
                let members = (0..WARPS).flat_map(|warp| lanes(masks[warp]).map(move |lane| thread(block, warp, lane)));
                let signal = oracle.signals[block].take();
                oracle.meet(&members.collect::<Vec<_>>(), signal);
            }
            Event::Signal { mask } => {
                here.signal(races, 1, warp as u32, mask);
                let mut sum = oracle.signals[block].take();
                for thread in of_warp(mask) {
                    let Thread { clock, fenced, pending } = oracle.threads[thread].clone();
                    let sum = sum.get_or_insert(Thread { clock, fenced, pending });
                    join(&mut sum.clock, &clock);
                    for scope in 0..2 {
                        join_option(&mut sum.fenced[scope], &fenced[scope]);
                        join_option(&mut sum.pending[scope], &pending[scope]);
                    }
                }
                oracle.signals[block] = sum;
            }
            Event::Access { mask, space, kind, width, value, .. } => {
                let memory = if space == MemorySpace::Global { None } else { Some(block) };
                let mut expected = None;
                for lane in lanes(mask) {
                    let bytes: Vec<u8> = (0..width).map(|byte| byte_of(value, lane, byte)).collect();
                    let place = (memory, address_of(event, lane));
                    expected = oracle.access(thread(block, warp, lane), kind, place, width, &bytes);
                    if expected.is_some() {
                        break;
                    }
                }
                let found = detector.access((block, warp), event);
                match (expected, found) {
                    (None, false) => {}
                    (Some(_), true) => {
                        let fault = detector.machine.fault.take().map(|fault| *fault.kind);
                        prop_assert!(matches!(fault, Some(FaultKind::Race { .. })), "{fault:?}");
                        return Ok((1, 0));
                    }
                    (None, true) => {
                        let text = detector.machine.fault.take().map(|fault| fault.kind.to_string());
                        return Err(TestCaseError::fail(format!("made up: {event:?} of {block}, {warp}: {text:?}")));
                    }
                    (Some(may_be_forgotten), false) => {
                        prop_assert!(may_be_forgotten, "missed: {event:?} of {block}, {warp}");
                        return Ok((0, 1));
                    }
                }
            }
        }
    }
    Ok((0, 0))
}

#[test]
fn verdicts_are_those_of_plain_vector_clocks() {
    let outcomes = Cell::new((0, 0, 0));
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = if cfg!(miri) { 20 } else { 20_000 };
    }
    proptest!(config, |(events in program())| {
        let (found, lost) = run(&events)?;
        let (cases, races, forgotten) = outcomes.get();
        outcomes.set((cases + 1, races + found, forgotten + lost));
    });
    let (cases, races, forgotten) = outcomes.get();
    assert!(races * 10 > cases && (cases - races) * 10 > cases, "{races} races in {cases} cases");
    assert!(forgotten * 50 < cases, "{forgotten} of {cases} races forgotten");
}

/// The access of lanes to a word, or with a `width` of 8 to two.
fn access(space: MemorySpace, mask: u32, kind: usize, width: u64, address: u64) -> Event {
    Event::Access { mask, space, address, stride: 0, kind, width, value: 1 }
}

/// The second of two lanes has read what the first one had fenced when both store with one instruction; the first one
/// has not read what the second one had fenced when they do so again.
#[test]
fn a_repeated_store_races_with_a_lane_on_record_beside_it() {
    let Event::Access { mask, space, address, stride, kind, width, .. } = access(MemorySpace::Global, 3, 5, 4, 4)
    else {
        unreachable!()
    };
    let store = ((0, 1), Event::Access { mask, space, address, stride, kind, width, value: 2 });
    let fence = ((0, 1), Event::Fence { mask: 3, scope: Scope::Block });
    let start = [fence, ((0, 1), access(MemorySpace::Shared, 3, 14, 4, 0)), store.clone()];
    assert_eq!(run(&start).unwrap(), (0, 0));
    assert_eq!(run(&[&start[..], &[store]].concat()).unwrap(), (1, 0));
}

/// A barrier of two lanes orders their first reads before a write by one of them, but not their second ones.
#[test]
fn reads_after_a_barrier_of_some_lanes_are_on_record() {
    for space in [MemorySpace::Shared, MemorySpace::Global] {
        let of = |event| ((0, 0), event);
        let (read, write) = (of(access(space, 3, 2, 4, 0)), of(access(space, 1, 7, 4, 0)));
        let barrier = of(Event::WarpBarrier { mask: 3 });
        assert_eq!(run(&[read.clone(), barrier.clone(), write.clone()]).unwrap(), (0, 0));
        assert_eq!(run(&[read.clone(), barrier, read, write]).unwrap(), (1, 0));
    }
}

/// A store of what is there is a race with a read all the same, and is on record where the store that it repeats is not
/// any more: an atomic of its own block has acquired that one.
#[test]
fn a_store_of_what_is_there_races_with_a_read() {
    let access = |mask, kind| access(MemorySpace::Global, mask, kind, 4, 0);
    let (release, acquire) = (((1, 0), access(1, 9)), ((0, 0), access(1, 15)));
    let (repeat, read) = (((0, 1), access(3, 13)), ((1, 0), access(1, 4)));
    let found = |events: &[_]| run(events).unwrap();
    assert_eq!(found(&[release.clone(), acquire.clone(), repeat.clone()]), (0, 0));
    assert_eq!(found(&[release.clone(), repeat.clone(), read.clone()]), (0, 1), "left to the store that it repeats");
    assert_eq!(found(&[release, acquire, repeat, read]), (1, 0));
}

/// A store that is repeated races with a read that came between, also where its first time did not: the reader knew all
/// that had been released there.
#[test]
fn a_repeated_store_races_with_a_read_between() {
    let store = ((1, 1), access(MemorySpace::Shared, 2, 5, 4, 4));
    let read = ((1, 0), access(MemorySpace::Shared, 1, 0, 8, 0));
    let fence = ((1, 0), Event::Fence { mask: 1, scope: Scope::Block });
    let start = [fence, ((1, 0), Event::BlockBarrier), store.clone(), read];
    assert_eq!(run(&start).unwrap(), (0, 0));
    assert_eq!(run(&[&start[..], &[store]].concat()).unwrap(), (1, 0));
}
