//! Launches: from a grid and a parameter block to blocks that run.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::ast::Type;
use crate::code::{Code, Constant, Known, Value};
use crate::config::{Config, Limits};
use crate::counters::Counters;
use crate::exec::level::Level;
use crate::exec::{Machine, bank_of};
use crate::fault::{Fault, FaultDetails, FaultKind};
use crate::memory::Memory;
use crate::program::Kernel;
use crate::races::Races;
use crate::rows::{LANES, Line};
use crate::sched::block::{Block, PlacedFault, Policy, Progress};
use crate::sched::random::Random;

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
    changes: u64,
}

impl Vigil {
    /// Counts a round of all running blocks. Whether it was one too many in which they only watched.
    fn is_fruitless(&mut self, blocks: &[Block], machine: &Machine<'_>) -> bool {
        let changes = machine.visible_changes();
        let fruitless = changes == self.changes && blocks.iter().all(Block::only_watches);
        self.rounds = if fruitless { self.rounds + 1 } else { 0 };
        self.changes = changes;
        self.rounds > FRUITLESS
    }
}

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
        let code = &self.kernel.code;
        let races_before = memory.start_launch();
        let wide = !self.config.portable && Level::detect() != Level::Portable;
        let races = Races::new(races_before, self.launch.grid, self.launch.block, wide);
        let mut machine = Machine::new(code, memory, self.params, self.config.checks, races, output);
        machine.seeded = self.config.seed.is_some();
        let mut policy = Policy { random: self.config.seed.map(Random::new), instructions: self.config.budget.max(1) };
        let outcome = if self.launch.cooperative {
            self.resident(&mut machine, &mut policy)
        } else {
            self.in_turn(&mut machine, &mut policy)
        };
        machine.memory.end_launch(machine.races.now);
        outcome?;
        let mut counters = machine.counters;
        let (blocks, threads) = (self.launch.blocks(), self.launch.threads());
        counters.blocks = blocks;
        counters.warps = blocks * u64::from(threads.div_ceil(LANES as u32));
        counters.threads = blocks * u64::from(threads);
        Ok(counters)
    }

    /// Says how far the launch has come.
    fn report(&self, machine: &Machine<'_>) {
        if let Some(progress) = self.progress {
            progress.store(machine.counters.instructions, Ordering::Relaxed);
        }
    }

    /// Runs one block after another. A block that keeps looking at memory that others may change may be waiting for one
    /// that has not begun: then that begins too, as long as it can be resident with them, and they take turns.
    fn in_turn(&self, machine: &mut Machine<'_>, policy: &mut Policy) -> Result<(), Fault> {
        let blocks = self.launch.blocks();
        let order = Order::new(blocks, policy.random.as_mut());
        let occupancy = self.kernel.occupancy(self.config, self.launch.threads(), self.launch.dynamic_shared);
        let resident = occupancy.max(1) as usize * self.config.multiprocessors.max(1) as usize;
        let mut place = 0;
        let (mut running, mut ended): (Vec<Block>, Vec<Block>) = (Vec::new(), Vec::new());
        let mut rounds_of_watching = 0;
        let mut vigil = Vigil::default();
        loop {
            let more = running.is_empty() || rounds_of_watching > PATIENCE && running.len() < resident;
            if more && place < blocks {
                let mut block = ended.pop().unwrap_or_else(|| self.block());
                self.start(&mut block, self.launch.block_at(order.at(place)));
                running.push(block);
                place += 1;
                rounds_of_watching = 0;
            }
            if running.is_empty() {
                return Ok(());
            }
            let mut watching = false;
            let mut number = 0;
            while number < running.len() {
                let block = &mut running[number];
                let index = block.index;
                let progress = block.step(machine, policy).map_err(|fault| self.placed_fault(fault, index))?;
                self.report(machine);
                match progress {
                    Progress::Done => {
                        ended.push(running.remove(number));
                        continue;
                    }
                    Progress::Going => watching |= block.is_watching(),
                    Progress::Stuck => return Err(self.placed_fault(block.stuck(&self.kernel.code), index)),
                }
                number += 1;
            }
            rounds_of_watching = if watching { rounds_of_watching + 1 } else { 0 };
            if watching && vigil.is_fruitless(&running, machine) {
                return Err(self.fruitless(&running));
            }
        }
    }

    /// Runs all blocks by turns.
    fn resident(&self, machine: &mut Machine<'_>, policy: &mut Policy) -> Result<(), Fault> {
        let order = Order::new(self.launch.blocks(), policy.random.as_mut());
        let mut blocks: Vec<Block> = (0..self.launch.blocks())
            .map(|place| {
                let mut block = self.block();
                self.start(&mut block, self.launch.block_at(order.at(place)));
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
                let progress = block.step(machine, policy).map_err(|fault| self.placed_fault(fault, place))?;
                self.report(machine);
                match progress {
                    Progress::Done => {
                        stuck = false;
                        blocks.remove(index);
                        continue;
                    }
                    Progress::Going => {
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
            if watching && vigil.is_fruitless(&blocks, machine) {
                return Err(self.fruitless(&blocks));
            }
        }
        Ok(())
    }

    /// The fault of blocks that look at memory that does not change; named after the first of them that does.
    fn fruitless(&self, blocks: &[Block]) -> Fault {
        let watcher = blocks.iter().find(|block| block.is_watching()).unwrap_or(&blocks[0]);
        self.placed_fault(watcher.fruitless(&self.kernel.code), watcher.index)
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
    fn new(count: u64, random: Option<&mut Random>) -> Order {
        let Some(random) = random else { return Order { count, multiplier: 1, start: 0 } };
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
                let order = Order::new(count, Some(&mut Random::new(seed)));
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
