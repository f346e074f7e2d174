//! Data races in shared and global memory.
//!
//! Two accesses to the same bytes by different threads, at least one of which is a write, are a race unless one is
//! ordered before the other. What orders is told in the documentation of the crate; this module keeps account of it for
//! the schedule that runs:
//!
//! * [`clock`]: what a thread knows of others;
//! * [`threads`]: how barriers and fences pass that on;
//! * [`sync`]: how atomics and other strong accesses do;
//! * [`record`]: accesses, and which of them conflict;
//! * [`cells`] and [`lines`]: shadow memory, which keeps the accesses that others may still race with;
//! * [`repeat`]: reads that tell nothing new;
//! * [`hooks`]: what instructions call; [`diagnosis`] and [`report`]: what a fault says.
//!
//! # How an instruction synchronises
//!
//! [`Threads`] has an operation for each way: [`warp_barrier`](Threads::warp_barrier),
//! [`block_barrier`](Threads::block_barrier) and [`signal`](Threads::signal) (arrival without waiting),
//! [`fence`](Threads::fence), and for accesses [`observe`](Threads::observe) (what [`Objects::find`] found at a place
//! becomes known) and [`publish`](Threads::publish) (what [`Objects::release`] is to put there). An instruction that
//! waits for others is a barrier, or a strong read of a place that they wrote; one that signals is a strong write.

pub(crate) mod cells;
pub(crate) mod clock;
mod diagnosis;
pub(crate) mod hooks;
pub(crate) mod lines;
#[cfg(test)]
mod oracle;
pub(crate) mod record;
mod repeat;
pub(crate) mod report;
pub(crate) mod sync;
pub(crate) mod threads;

use cells::{Accessor, Cells};
use clock::{LAST, Time};
use lines::Pools;
use repeat::Look;
use report::Scope;
use sync::Objects;
use threads::Threads;

/// How a strong access synchronises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
    pub(crate) scope: Scope,
}

/// What a launch keeps account of.
#[derive(Debug)]
pub(crate) struct Races {
    /// The time of the launch.
    pub(crate) now: Time,
    /// Everything up to here was before the launch.
    pub(crate) launch_floor: Time,
    /// Levels of its [clocks](clock::Clock).
    pub(crate) levels: u32,
    /// Whether to run the code for processors with AVX2.
    wide: bool,
    grid: [u32; 3],
    block: [u32; 3],
    /// Places in global memory through which threads synchronise.
    objects: Objects,
    pools: Pools,
}

impl Races {
    /// Account of a launch that starts at the time `now`, with this grid of these blocks.
    pub(crate) fn new(now: Time, grid: [u32; 3], block: [u32; 3], wide: bool) -> Races {
        Races {
            now: now + 1,
            launch_floor: now,
            levels: clock::levels(grid.iter().map(|&count| u64::from(count)).product()),
            wide,
            grid,
            block,
            objects: Objects::default(),
            pools: Pools::default(),
        }
    }

    /// Tells what is done from now on from what was done, some of which has just been released.
    pub(crate) fn advance(&mut self) {
        self.now = (self.now + 1).min(LAST);
    }

    /// The place of a block in the order x fastest, z slowest.
    fn number(&self, [x, y, z]: [u32; 3]) -> u32 {
        let [width, height, _] = self.grid;
        x.wrapping_add(width.wrapping_mul(y.wrapping_add(height.wrapping_mul(z))))
    }

    /// The block at a place in that order.
    fn index(&self, number: u32) -> [u32; 3] {
        let [width, height, _] = self.grid;
        [number % width, number / width % height, number / width / height]
    }
}

/// Account of a block.
#[derive(Debug, Default)]
pub(crate) struct BlockRaces {
    pub(crate) threads: Threads,
    /// Shadow of shared memory: a cell for each word, or for each byte once that is needed.
    cells: Cells,
    in_bytes: bool,
    /// Bytes of shared memory.
    size: usize,
    /// Places in shared memory through which threads synchronise.
    objects: Objects,
    /// What each warp has read last, if it may do so again.
    looks: Vec<Option<Look>>,
    /// The warps that have made strong accesses, as bits.
    strong: u32,
}

/// A cell of shadow memory.
#[derive(Clone, Copy)]
struct Cell {
    /// Of global memory.
    global: bool,
    /// It stands for a byte.
    in_bytes: bool,
    index: usize,
}

impl BlockRaces {
    /// Starts over as the block at `index` of the grid, with this many warps and bytes of shared memory.
    pub(crate) fn start(&mut self, races: &mut Races, index: [u32; 3], warps: usize, shared: u64) {
        self.threads.start(races.number(index), warps, races.now);
        races.advance();
        self.objects.clear();
        self.strong = 0;
        self.looks.clear();
        self.looks.resize(warps, None);
        if self.size != shared as usize {
            self.size = shared as usize;
            self.in_bytes = false;
            self.cells.clear();
        }
        self.cells.resize(if self.in_bytes { self.size } else { self.size.div_ceil(4) });
        self.cells.start_over();
    }

    /// Goes over from words to bytes.
    fn split(&mut self) {
        let words = std::mem::take(&mut self.cells);
        self.cells.resize(self.size);
        self.in_bytes = true;
        let mut set = Vec::new();
        for byte in 0..self.size {
            words.records(byte / 4, self.threads.floor, &mut set);
            if !set.is_empty() {
                self.cells.put(byte, &set);
            }
        }
    }
}

/// The accessor of a warp.
fn accessor<'a>(threads: &'a Threads, races: &Races, warp: u32) -> Accessor<'a> {
    Accessor { threads, warp, launch_floor: races.launch_floor }
}
