//! What a simulator is told when it is made.

/// Which faults a launch looks for beyond those that memory safety demands.
///
/// Addresses outside every allocation are a fault when [`bounds`](Checks::bounds) is set. Without it such a load gives
/// zeros and such a store is dropped; host memory outside the simulator's allocations is never touched in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checks {
    /// Accesses outside an allocation, to freed memory, through null, to read-only memory, or misaligned.
    pub bounds: bool,
    /// Reads of global memory that nobody has written and of shared memory that the block has not written.
    pub initialised: bool,
    /// Block barriers that some lanes of a warp skip, or that different warps reach at different instructions.
    pub barriers: bool,
    /// Warp operations that read a lane which is not there.
    pub lanes: bool,
    /// Accesses to shared and global memory by different threads that nothing [orders](crate#races).
    pub races: bool,
    /// Block barriers that complete only because some threads have left the kernel. The hardware allows this since
    /// compute capability 7.0, so it is not among the default checks.
    pub exited: bool,
}

impl Checks {
    /// Every check, also those that sound kernels may trip over.
    pub const ALL: Checks =
        Checks { bounds: true, initialised: true, barriers: true, lanes: true, races: true, exited: true };

    /// No check: the fastest.
    pub const NONE: Checks =
        Checks { bounds: false, initialised: false, barriers: false, lanes: false, races: false, exited: false };
}

impl Default for Checks {
    /// Every check that holds for all sound kernels.
    fn default() -> Checks {
        Checks { exited: false, ..Checks::ALL }
    }
}

/// What a [`Simulator`](crate::Simulator) pretends to be.
///
/// ```
/// let config = ptx_sim::Config { seed: Some(7), multiprocessors: 4, ..Default::default() };
/// assert_eq!(config.capability, (7, 5));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Draws a schedule: how many blocks run at the same time, which warp and which divergent path is next, after how
    /// many instructions its turn ends, and in which order the lanes of one instruction write to memory. The same seed
    /// gives the same schedule. `None` takes blocks, warps and lanes in ascending order. See
    /// [`schedules`](crate::schedules).
    pub seed: Option<u64>,
    /// Faults to look for.
    pub checks: Checks,
    /// Host threads that run the blocks of a launch; 0 counts as 1. Memory, counters and the fault that is reported
    /// are those of one thread. Only one is used while races are looked for ([`Checks::races`], which is on by
    /// default), under a seed, for cooperative launches, and for kernels whose code
    /// shows that the order of blocks may matter: those with atomics on floating-point numbers, compare-and-swap or
    /// exchange in global memory; with volatile, relaxed or acquiring loads from it, or `nanosleep`; those that read a
    /// clock, copy asynchronously, print or allocate. Two things may come out differently at each run all the same, as they may on a GPU: what a kernel
    /// makes of the number that an integer atomic gives it, where that depends on which block is first, and what blocks
    /// do that race. After a fault, blocks after the faulty one may have written to memory.
    pub threads: usize,
    /// Streaming multiprocessors, for occupancy, the limit of a cooperative launch and `%nsmid`.
    pub multiprocessors: u32,
    /// Compute capability, for occupancy and limits. Instructions are not refused by capability.
    pub capability: (u32, u32),
    /// Bytes of device memory; more than the host has is fine until it is touched.
    pub memory: u64,
    /// Warp instructions of one launch before it is called a hang.
    pub budget: u64,
    /// Runs the code for the plain processor also where AVX2 and FMA are there. Results are the same; it is slower.
    pub portable: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            seed: None,
            checks: Checks::default(),
            threads: 1,
            multiprocessors: 16,
            capability: (7, 5),
            memory: 16 << 30,
            budget: 1 << 32,
            portable: false,
        }
    }
}

impl Config {
    /// The limits of its compute capability.
    pub fn limits(&self) -> Limits {
        Limits::of(self.capability)
    }
}

/// Limits of a compute capability, as the CUDA programming guide lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Threads of a block, in all.
    pub threads_per_block: u32,
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Blocks of a grid along x, y and z.
    pub grid: [u32; 3],
    /// Threads resident on one multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// Blocks resident on one multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Bytes of shared memory of one multiprocessor.
    pub shared_per_multiprocessor: u32,
    /// Bytes of shared memory of one block, with the opt-in that more than 48 KiB needs on hardware.
    pub shared_per_block: u32,
}

/// Threads of a block, in all.
pub(crate) const MAX_BLOCK_THREADS: u32 = 1024;
/// Threads of a block in each dimension.
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Blocks of a grid in each dimension.
pub(crate) const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];

impl Limits {
    pub(crate) fn of(capability: (u32, u32)) -> Limits {
        let (threads, blocks, shared_kib, block_kib) = match capability {
            (7, 5) => (1024, 16, 64, 64),
            (8, 0) => (2048, 32, 164, 163),
            (8, 6) => (1536, 16, 100, 99),
            (8, 7) => (1536, 16, 164, 163),
            (8, 9) | (12, _) => (1536, 24, 100, 99),
            (9 | 10, _) => (2048, 32, 228, 227),
            _ => (2048, 32, 96, 96),
        };
        Limits {
            threads_per_block: MAX_BLOCK_THREADS,
            block: MAX_BLOCK,
            grid: MAX_GRID,
            threads_per_multiprocessor: threads,
            blocks_per_multiprocessor: blocks,
            shared_per_multiprocessor: shared_kib << 10,
            shared_per_block: block_kib << 10,
        }
    }
}
