//! Launches: from a grid and a parameter block to blocks that run.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::ast::Type;
use crate::code::{Code, Constant, Known, Value};
use crate::config::{Config, Limits};
use crate::counters::Counters;
use crate::exec::level::Level;
use crate::exec::{Machine, bank_of};
use crate::fault::{Fault, FaultDetails, FaultKind};
use crate::memory::{Memory, View};
use crate::program::Kernel;
use crate::races::Races;
use crate::races::clock::Time;
use crate::rows::{LANES, Line};
use crate::sched::block::{Block, PlacedFault, Policy, Progress};
use crate::sched::random::Random;
use crate::sched::schedule::Schedule;
use crate::workers::{Queue, Worker, first_fault};

/// Bytes of the workspace through which the blocks of a cooperative launch meet.
const WORKSPACE: u64 = 4096;

/// Alignment of shared memory that is reserved for the system.
const RESERVED_ALIGN: u32 = 128;

/// The shape of a launch.
///
/// ```
/// let launch = ptx_sim::Launch { grid: [64, 1, 1], block: [256, 1, 1], ..Default::default() };
/// assert_eq!(launch.dynamic_shared, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub dynamic_shared: u32,
    /// All blocks are resident at the same time and may wait for each other.
    pub cooperative: bool,
}

impl Default for Launch {
    /// One thread.
    fn default() -> Launch {
        Launch { grid: [1; 3], block: [1; 3], dynamic_shared: 0, cooperative: false }
    }
}

impl Launch {
    fn blocks(&self) -> u64 {
        self.grid.iter().map(|&count| u64::from(count)).product()
    }

    fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The block at place `index` in the order x fastest, z slowest.
    fn block_at(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(u64::from);
        [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
    }

    /// The thread at place `index` of a block.
    fn thread_at(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [index % x, index / x % y, index / x / y]
    }

    /// What keeps the launch from starting.
    fn refusal(&self, config: &Config, kernel: &Kernel, params: &[u8]) -> Option<String> {
        let limits = Limits::of(config.capability);
        let signature = kernel.signature();
        let Launch { grid, block, dynamic_shared, cooperative } = *self;
        if grid.contains(&0) || block.contains(&0) {
            return Some(format!("grid {grid:?} of blocks {block:?} has no threads"));
        }
        if grid.iter().zip(limits.grid).any(|(&count, limit)| count > limit) {
            return Some(format!("grid {grid:?} is larger than {:?}", limits.grid));
        }
        let threads: u64 = block.iter().map(|&count| u64::from(count)).product();
        if threads > u64::from(limits.threads_per_block)
            || block.iter().zip(limits.block).any(|(&count, limit)| count > limit)
        {
            let (most, each) = (limits.threads_per_block, limits.block);
            return Some(format!("block {block:?} is larger than {most} threads or than {each:?}"));
        }
        if let Some(required) = signature.required_threads
            && required != block
        {
            return Some(format!("block {block:?} where the kernel requires {required:?}"));
        }
        if let Some(most) = signature.max_threads
            && threads > most.iter().fold(1, |product, &count| u64::saturating_mul(product, count.into()))
        {
            return Some(format!("block {block:?} where the kernel allows at most {most:?}"));
        }
        let shared = u64::from(kernel.code.dynamic_shared) + u64::from(dynamic_shared);
        if shared > u64::from(limits.shared_per_block) {
            let most = limits.shared_per_block;
            return Some(format!("{shared} bytes of shared memory where a block has at most {most}"));
        }
        let expected = signature.params.last().map_or(0, |param| param.offset + param.size);
        if params.len() != expected {
            let given = params.len();
            return Some(format!("a parameter block of {given} bytes where the kernel takes {expected}"));
        }
        if cooperative {
            let resident = kernel.occupancy(config, self.threads(), dynamic_shared);
            let most = u64::from(resident) * u64::from(config.multiprocessors);
            if self.blocks() > most {
                let blocks = self.blocks();
                return Some(format!("a cooperative launch of {blocks} blocks where {most} can be resident"));
            }
        }
        None
    }
}

/// Rounds in which a block looks at memory that others may change before another one begins.
const PATIENCE: u32 = 64;

/// Rounds in which all blocks only look at memory that nobody changes before that is a fault. A kernel that gives up by
/// itself after some looks has had two million.
const FRUITLESS: u32 = 1 << 18;

/// Finds out whether blocks wait for what does not come.
#[derive(Default)]
struct Vigil {
    rounds: u32,
    turns: u64,
    changes: u64,
}

impl Vigil {
    /// Counts a round of all running blocks. Whether it was one too many in which they only watched.
    fn is_fruitless<'b, I: Iterator<Item = &'b Block>>(&mut self, blocks: impl Fn() -> I, changes: u64) -> bool {
        let fruitless = self.nothing_changed(changes) && blocks().all(Block::only_watches);
        self.rounds = if fruitless { self.rounds + 1 } else { 0 };
        self.rounds > FRUITLESS
    }

    /// Counts a turn of one warp of the running blocks, in which it watched. Whether all have had as many in vain as
    /// they have in the rounds of [`Vigil::is_fruitless`].
    fn is_fruitless_turn<'b, I: Iterator<Item = &'b Block>>(&mut self, blocks: impl Fn() -> I, changes: u64) -> bool {
        self.turns = if self.nothing_changed(changes) { self.turns + 1 } else { 0 };
        if self.turns == 0 || !self.turns.is_multiple_of(FRUITLESS.into()) {
            return false;
        }
        let warps: usize = blocks().map(|block| block.warps.iter().filter(|warp| warp.can_run()).count()).sum();
        if self.turns < u64::from(FRUITLESS) * warps as u64 {
            return false;
        }
        // Somebody may be at work that nobody sees.
        self.turns = 0;
        blocks().all(Block::only_watches)
    }

    /// Whether `changes`, which grows whenever memory may have changed, is what it was.
    fn nothing_changed(&mut self, changes: u64) -> bool {
        std::mem::replace(&mut self.changes, changes) == changes
    }
}

/// A block of a launch with a seed.
struct Resident {
    block: Block,
    /// In its last turn it seemed to wait for others.
    watching: bool,
}

/// How often a block is chosen anew because it seems to wait for others.
const RELUCTANCE: u32 = 3;

/// A launch under way.
struct Run<'a> {
    config: &'a Config,
    kernel: &'a Kernel,
    launch: &'a Launch,
    params: &'a [u8],
    /// Device address of the workspace of a cooperative launch, or 0.
    workspace: u64,
    /// Where to say how many instructions have been executed.
    progress: Option<&'a AtomicU64>,
}

/// Runs a kernel to its end.
pub(crate) fn run(
    config: &Config,
    memory: &mut Memory,
    progress: Option<&AtomicU64>,
    output: &mut String,
    kernel: &Kernel,
    launch: &Launch,
    params: &[u8],
) -> Result<Counters, Fault> {
    let mut run = Run { config, kernel, launch, params, workspace: 0, progress };
    if let Some(progress) = progress {
        progress.store(0, Ordering::Relaxed);
    }
    if let Some(text) = launch.refusal(config, kernel, params) {
        return Err(run.fault(FaultKind::BadLaunch(text)));
    }
    if !launch.cooperative {
        return run.execute(memory, output);
    }
    let workspace = memory.allocate(WORKSPACE).and_then(|address| {
        memory.fill(address, WORKSPACE, &[0])?;
        memory.label(address, "workspace of the cooperative launch");
        Ok(address)
    });
    run.workspace = match workspace {
        Ok(address) => address,
        Err(error) => return Err(run.fault(FaultKind::BadLaunch(error.to_string()))),
    };
    let outcome = run.execute(memory, output);
    // It was allocated above.
    let _ = memory.free(run.workspace);
    outcome
}

impl Run<'_> {
    fn fault(&self, kind: FaultKind) -> Fault {
        Fault::new(FaultDetails {
            kind,
            kernel: self.kernel.signature().name.clone(),
            module: self.kernel.module().name().into(),
            site: None,
            block: None,
            thread: None,
        })
    }

    fn placed_fault(&self, placed: PlacedFault, block: [u32; 3]) -> Fault {
        let PlacedFault { fault, warp, pc } = placed;
        Fault::new(FaultDetails {
            kind: *fault.kind,
            kernel: self.kernel.signature().name.clone(),
            module: self.kernel.module().name().into(),
            site: self.kernel.code.site(pc),
            block: Some(block),
            thread: Some(self.launch.thread_at(warp * LANES as u32 + fault.lane)),
        })
    }

    fn execute(&self, memory: &mut Memory, output: &mut String) -> Result<Counters, Fault> {
        let mut counters = match self.config.seed {
            Some(seed) => {
                self.alone(memory, output, |machine, policy| self.interleaved(machine, policy, Schedule::new(seed)))?
            }
            None if self.launch.cooperative => {
                self.alone(memory, output, |machine, policy| self.resident(machine, policy))?
            }
            None => self.ascending(memory, output)?,
        };
        let (blocks, threads) = (self.launch.blocks(), self.launch.threads());
        counters.blocks = blocks;
        counters.warps = blocks * u64::from(threads.div_ceil(LANES as u32));
        counters.threads = blocks * u64::from(threads);
        Ok(counters)
    }

    /// A machine for this launch, which starts at the time `now`.
    fn machine<'m>(&'m self, memory: View<'m>, now: Time, output: &'m mut String) -> Machine<'m> {
        let wide = !self.config.portable && Level::detect() != Level::Portable;
        let races = Races::new(now, self.launch.grid, self.launch.block, wide);
        Machine::new(&self.kernel.code, memory, self.params, self.config.checks, races, output)
    }

    /// Runs all blocks on this thread, as `run` does it.
    fn alone<E>(
        &self,
        memory: &mut Memory,
        output: &mut String,
        run: impl FnOnce(&mut Machine<'_>, &mut Policy) -> Result<(), E>,
    ) -> Result<Counters, E> {
        let now = memory.start_launch();
        let mut machine = self.machine(View::Alone(memory), now, output);
        let mut policy = Policy::new(self.config.budget.max(1));
        let outcome = run(&mut machine, &mut policy);
        let (now, counters) = (machine.races.now, machine.counters);
        memory.end_launch(now);
        outcome.map(|()| counters)
    }

    /// Runs the blocks in ascending order, on several host threads if that is wanted and nobody can tell.
    fn ascending(&self, memory: &mut Memory, output: &mut String) -> Result<Counters, Fault> {
        let blocks = self.launch.blocks();
        // Which of two accesses is first, races have to know for all blocks.
        let together = self.kernel.independent_blocks && !self.config.checks.races;
        let workers = (if together { self.config.threads as u64 } else { 1 }).clamp(1, blocks) as usize;
        let queue = Queue::new(blocks, self.config.budget.max(1), workers);
        if workers == 1 {
            let mut worker = queue.worker(0);
            let outcome = self.alone(memory, output, |machine, _| self.in_turn(machine, &mut worker));
            return outcome.map_err(|(_, fault)| fault);
        }
        let now = memory.start_launch();
        let shared = &*memory;
        let outcomes = queue.run(|mut worker| {
            // Kernels that print are not among them.
            let mut output = String::new();
            let mut machine = self.machine(View::Together(shared), now, &mut output);
            let outcome = self.in_turn(&mut machine, &mut worker);
            if let Err((place, _)) = outcome {
                worker.cancel_after(place);
            }
            outcome.map(|()| machine.counters)
        });
        memory.settle();
        first_fault(outcomes)
    }

    /// Says how far the launch has come.
    fn report(&self, machine: &Machine<'_>, policy: &mut Policy) {
        if let Some(progress) = self.progress {
            let before = std::mem::replace(&mut policy.reported, machine.counters.instructions);
            progress.fetch_add(policy.reported - before, Ordering::Relaxed);
        }
    }

    /// Runs one block after another. A block that keeps looking at memory that others may change may be waiting for one
    /// that has not begun: then that begins too, as long as it can be resident with them, and they take turns. A fault
    /// comes with the place of its block.
    fn in_turn(&self, machine: &mut Machine<'_>, worker: &mut Worker<'_>) -> Result<(), (u64, Fault)> {
        let resident = self.most_resident();
        let (mut running, mut ended): (Vec<(u64, Block)>, Vec<Block>) = (Vec::new(), Vec::new());
        let mut rounds_of_watching = 0;
        let mut vigil = Vigil::default();
        let mut policy = Policy::new(worker.spend(0));
        loop {
            if (running.is_empty() || rounds_of_watching > PATIENCE && running.len() < resident)
                && let Some(place) = worker.take()
            {
                let mut block = ended.pop().unwrap_or_else(|| self.block());
                self.start(&mut block, self.launch.block_at(place));
                running.push((place, block));
                rounds_of_watching = 0;
            }
            if running.is_empty() {
                return Ok(());
            }
            let mut watching = false;
            let before = policy.instructions;
            let mut number = 0;
            while number < running.len() {
                let (place, block) = &mut running[number];
                let (place, index) = (*place, block.index);
                let fault = |fault| (place, self.placed_fault(fault, index));
                let progress = block.round(machine, &mut policy).map_err(fault)?;
                self.report(machine, &mut policy);
                match progress {
                    Progress::Done => {
                        ended.push(running.remove(number).1);
                        continue;
                    }
                    Progress::Going | Progress::Watching => watching |= block.is_watching(),
                    Progress::Stuck => return Err(fault(block.stuck(&self.kernel.code))),
                }
                number += 1;
            }
            policy.instructions = worker.spend(before - policy.instructions);
            rounds_of_watching = if watching { rounds_of_watching + 1 } else { 0 };
            let blocks = || running.iter().map(|(_, block)| block);
            if !watching {
                worker.has_moved();
            } else if vigil.is_fruitless(blocks, machine.visible_changes() + worker.movement()) {
                let place = running[0].0;
                return Err((place, self.fruitless(blocks)));
            } else if worker.has_company() {
                if vigil.rounds == 0 {
                    worker.has_moved();
                }
                std::thread::yield_now();
            }
            running.retain(|&(place, _)| !worker.is_cancelled(place));
        }
    }

    /// Runs all blocks of a cooperative launch by turns.
    fn resident(&self, machine: &mut Machine<'_>, policy: &mut Policy) -> Result<(), Fault> {
        let mut blocks: Vec<Block> = (0..self.launch.blocks())
            .map(|place| {
                let mut block = self.block();
                self.start(&mut block, self.launch.block_at(place));
                block
            })
            .collect();
        let mut vigil = Vigil::default();
        while !blocks.is_empty() {
            let (mut stuck, mut watching) = (true, false);
            let mut index = 0;
            while index < blocks.len() {
                let block = &mut blocks[index];
                let place = block.index;
                let progress = block.round(machine, policy).map_err(|fault| self.placed_fault(fault, place))?;
                self.report(machine, policy);
                match progress {
                    Progress::Done => {
                        stuck = false;
                        blocks.remove(index);
                        continue;
                    }
                    Progress::Going | Progress::Watching => {
                        stuck = false;
                        watching |= block.is_watching();
                    }
                    Progress::Stuck => {}
                }
                index += 1;
            }
            if stuck && let Some(block) = blocks.first() {
                return Err(self.placed_fault(block.stuck(&self.kernel.code), block.index));
            }
            if watching && vigil.is_fruitless(|| blocks.iter(), machine.visible_changes()) {
                return Err(self.fruitless(|| blocks.iter()));
            }
        }
        Ok(())
    }

    /// Runs several blocks at once, and gives their warps turns at random. A cooperative launch has all blocks
    /// resident; another has some of those that can be, and more if those look at memory that others may change.
    fn interleaved(&self, machine: &mut Machine<'_>, policy: &mut Policy, mut schedule: Schedule) -> Result<(), Fault> {
        let blocks = self.launch.blocks();
        let most = if self.launch.cooperative { blocks as usize } else { self.most_resident() };
        machine.random = Some(schedule.fork());
        let order = Order::new(blocks, schedule.random());
        let mut wanted = if self.launch.cooperative { most } else { schedule.residents(most) };
        policy.schedule = Some(schedule);
        let mut place = 0;
        let (mut running, mut ended): (Vec<Resident>, Vec<Block>) = (Vec::new(), Vec::new());
        let mut vigil = Vigil::default();
        let mut watched = 0;
        loop {
            while running.len() < wanted && place < blocks {
                let mut block = ended.pop().unwrap_or_else(|| self.block());
                self.start(&mut block, self.launch.block_at(order.at(place)));
                running.push(Resident { block, watching: false });
                place += 1;
            }
            if running.is_empty() {
                return Ok(());
            }
            // Blocks that wait have fewer turns than blocks that work.
            let mut number = policy.below(running.len());
            for _ in 0..RELUCTANCE {
                if running[number].watching {
                    number = policy.below(running.len());
                }
            }
            let Resident { block, watching } = &mut running[number];
            let index = block.index;
            let progress = block.turn(machine, policy).map_err(|fault| self.placed_fault(fault, index))?;
            self.report(machine, policy);
            *watching = progress == Progress::Watching;
            match progress {
                Progress::Going => {}
                Progress::Watching => {
                    watched += 1;
                    if watched > PATIENCE as usize * running.len() && wanted < most {
                        wanted += 1;
                        watched = 0;
                    }
                    let blocks = || running.iter().map(|resident| &resident.block);
                    if vigil.is_fruitless_turn(blocks, machine.visible_changes()) {
                        return Err(self.fruitless(blocks));
                    }
                }
                Progress::Done => ended.push(running.swap_remove(number).block),
                Progress::Stuck => return Err(self.placed_fault(block.stuck(&self.kernel.code), index)),
            }
        }
    }

    /// How many blocks of this launch can be resident at once.
    fn most_resident(&self) -> usize {
        let occupancy = self.kernel.occupancy(self.config, self.launch.threads(), self.launch.dynamic_shared);
        occupancy.max(1) as usize * self.config.multiprocessors.max(1) as usize
    }

    /// The fault of blocks that look at memory that does not change; named after the first of them that does.
    fn fruitless<'b, I: Iterator<Item = &'b Block>>(&self, blocks: impl Fn() -> I) -> Fault {
        match blocks().find(|block| block.is_watching()).or_else(|| blocks().next()) {
            Some(watcher) => self.placed_fault(watcher.fruitless(&self.kernel.code), watcher.index),
            None => self.fault(FaultKind::Livelock { waiting: Vec::new() }),
        }
    }

    /// Where shared memory that is reserved for the system starts: behind that of the kernel.
    fn reserved_start(&self) -> u32 {
        let end = self.kernel.code.dynamic_shared + self.launch.dynamic_shared;
        if self.kernel.code.reserved_shared == 0 { end } else { end.next_multiple_of(RESERVED_ALIGN) }
    }

    /// A block with all rows filled in that do not depend on its place.
    fn block(&self) -> Block {
        let code = &self.kernel.code;
        let mut constants = Code::bank(code.constant_lines);
        for constant in code.constants.iter().filter(|constant| constant.value.known() == Known::AtLaunch) {
            fill(&mut constants, constant, |lane| self.value(constant.value, [0; 3], 0, lane));
        }
        let shared = self.reserved_start() + code.reserved_shared;
        let mut block = Block::new(code, self.launch.threads(), shared, constants);
        block.shared.reserve(code.reserved_shared);
        for (warp, here) in block.warps.iter_mut().enumerate() {
            for constant in code.constants.iter().filter(|constant| constant.value.known() == Known::PerWarp) {
                fill(&mut here.constants, constant, |lane| self.value(constant.value, [0; 3], warp as u32, lane));
            }
        }
        block
    }

    /// Starts a block over at its place in the grid.
    fn start(&self, block: &mut Block, index: [u32; 3]) {
        let code = &self.kernel.code;
        for constant in code.constants.iter().filter(|constant| constant.value.known() == Known::PerBlock) {
            let value = self.value(constant.value, index, 0, 0);
            fill(&mut block.constants, constant, |_| value);
        }
        block.reset(code, index);
    }

    fn value(&self, value: Value, block: [u32; 3], warp: u32, lane: u32) -> u64 {
        let Launch { grid, block: shape, dynamic_shared, .. } = *self.launch;
        let code = &self.kernel.code;
        u64::from(match value {
            Value::Bits(bits) => return bits,
            Value::Param { offset, ty } => return param(self.params, offset as usize, ty),
            Value::Ntid(axis) => shape[axis as usize],
            Value::Nctaid(axis) => grid[axis as usize],
            Value::Ctaid(axis) => block[axis as usize],
            Value::Tid(axis) => self.launch.thread_at(warp * LANES as u32 + lane)[axis as usize],
            Value::LaneId => lane,
            Value::WarpId => warp,
            Value::NWarpId => self.launch.threads().div_ceil(LANES as u32),
            Value::SmId => {
                let place = u64::from(block[0])
                    + u64::from(grid[0]) * (u64::from(block[1]) + u64::from(grid[1]) * u64::from(block[2]));
                (place % u64::from(self.config.multiprocessors.max(1))) as u32
            }
            Value::NSmId => self.config.multiprocessors,
            Value::LaneMaskEq => 1 << lane,
            Value::LaneMaskLe => u32::MAX >> (31 - lane),
            Value::LaneMaskLt => !(u32::MAX << lane),
            Value::LaneMaskGe => u32::MAX << lane,
            Value::LaneMaskGt => !(u32::MAX >> (31 - lane)),
            Value::DynamicAddress(offset) => code.dynamic_shared.wrapping_add(offset),
            Value::ReservedShared(offset) => self.reserved_start() + offset,
            Value::DynamicShared => dynamic_shared,
            Value::TotalShared => code.dynamic_shared + dynamic_shared,
            Value::Workspace { high: true } => (self.workspace >> 32) as u32,
            Value::Workspace { high: false } => self.workspace as u32,
        })
    }
}

/// Fills the lanes of a constant row.
fn fill(bank: &mut [Line], constant: &Constant, value: impl Fn(u32) -> u64) {
    let first = constant.row.offset() / Line::BYTES as usize;
    debug_assert!(first < bank.len());
    // Rows are laid out in memory order, a 64-bit one over two lines.
    let base = bank_of(&mut bank[first..first + 1 + usize::from(constant.wide)]);
    for lane in 0..LANES {
        let bits = value(lane as u32);
        // SAFETY: the row's one or two lines were just sliced from the bank.
        unsafe {
            if constant.wide {
                base.cast::<u64>().add(lane).write(bits);
            } else {
                base.cast::<u32>().add(lane).write(bits as u32);
            }
        }
    }
}

/// The bits of a parameter, sign-extended if its type is signed. Bytes past the end of the block are zero.
fn param(params: &[u8], offset: usize, ty: Type) -> u64 {
    let size = crate::lower::types::bytes(ty) as usize;
    let mut bytes = [0; 8];
    for (byte, &value) in bytes.iter_mut().zip(params.iter().skip(offset).take(size.min(8))) {
        *byte = value;
    }
    let bits = u64::from_le_bytes(bytes);
    if crate::lower::types::is_signed(ty) && size < 8 {
        let shift = 64 - 8 * size as u32;
        return ((bits << shift) as i64 >> shift) as u64;
    }
    bits
}

/// A permutation of the blocks that takes no memory: place × multiplier + start, modulo the number of blocks.
struct Order {
    count: u64,
    multiplier: u64,
    start: u64,
}

impl Order {
    fn new(count: u64, random: &mut Random) -> Order {
        let gcd = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let start = random.next() % count;
        let mut multiplier = random.next() % count;
        while gcd(multiplier, count) != 1 {
            multiplier = (multiplier + 1) % count.max(2);
        }
        Order { count, multiplier, start }
    }

    fn at(&self, place: u64) -> u64 {
        ((u128::from(place) * u128::from(self.multiplier) + u128::from(self.start)) % u128::from(self.count)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_permutations() {
        for count in [1, 2, 3, 7, 64, 1000] {
            for seed in 0..20 {
                let order = Order::new(count, &mut Random::new(seed));
                let mut seen: Vec<u64> = (0..count).map(|place| order.at(place)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..count).collect::<Vec<_>>(), "seed {seed}");
            }
        }
    }

    #[test]
    fn threads_and_blocks_count_x_first() {
        let launch = Launch { grid: [3, 2, 2], block: [4, 3, 2], ..Launch::default() };
        assert_eq!(launch.block_at(0), [0, 0, 0]);
        assert_eq!(launch.block_at(4), [1, 1, 0]);
        assert_eq!(launch.block_at(11), [2, 1, 1]);
        assert_eq!(launch.thread_at(13), [1, 0, 1]);
    }
}
