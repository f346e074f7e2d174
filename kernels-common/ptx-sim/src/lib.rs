//! A simulator that runs NVIDIA PTX on the CPU, finds faults and counts what a profiler counts.
//!
//! It takes PTX as `nvcc` writes it, lays out device memory of its own, and runs kernels with all their blocks, warps
//! and lanes: on any machine, without a GPU, a driver or a toolkit.
//!
//! ```
//! use std::sync::Arc;
//! use ptx_sim::{Config, Launch, Simulator, ptx::Module};
//!
//! let ptx = "
//!     .version 7.0
//!     .target sm_75
//!     .address_size 64
//!     .visible .entry increment(.param .u64 x, .param .u32 n) {
//!         .reg .pred %p<2>;
//!         .reg .b32 %r<6>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [x];
//!         ld.param.u32 %r1, [n];
//!         mov.u32 %r2, %ctaid.x;
//!         mov.u32 %r3, %ntid.x;
//!         mov.u32 %r4, %tid.x;
//!         mad.lo.u32 %r4, %r2, %r3, %r4;
//!         setp.ge.u32 %p1, %r4, %r1;
//!         @%p1 bra DONE;
//!         mad.wide.u32 %rd2, %r4, 4, %rd1;
//!         ld.global.u32 %r5, [%rd2];
//!         add.u32 %r5, %r5, 1;
//!         st.global.u32 [%rd2], %r5;
//!     DONE:
//!         ret;
//!     }";
//! let mut simulator = Simulator::new(Config::default());
//! let program = simulator.load(Arc::new(Module::parse("increment.ptx", ptx)?))?;
//! let kernel = simulator.kernel(&program, "increment")?;
//!
//! let n = 1000u32;
//! let x = simulator.allocate(4 * u64::from(n))?;
//! simulator.fill(x, 4 * u64::from(n), &41u32.to_le_bytes())?;
//! let params = [&x.to_le_bytes()[..], &n.to_le_bytes()].concat();
//! let launch = Launch { grid: [n.div_ceil(256), 1, 1], block: [256, 1, 1], ..Launch::default() };
//! let counters = simulator.launch(&kernel, &launch, &params)?;
//!
//! let mut last = [0; 4];
//! simulator.read(x + 4 * 999, &mut last)?;
//! assert_eq!(u32::from_le_bytes(last), 42);
//! // One request for each of the 32 warps that has an element; four sectors each, but one for the last eight.
//! assert_eq!((counters.global_load_requests, counters.global_load_sectors), (32, 31 * 4 + 1));
//!
//! // One element too many is a fault that says where, and in which thread.
//! let params = [&x.to_le_bytes()[..], &(n + 1).to_le_bytes()].concat();
//! let fault = simulator.launch(&kernel, &launch, &params).unwrap_err();
//! assert_eq!((fault.block, fault.thread), (Some([3, 0, 0]), Some([232, 0, 0])));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it guarantees
//!
//! * **Results.** Integer instructions and the correctly rounded floating ones (`.rn`, `.rz`, `.rm`, `.rp`, `fma`,
//!   `sqrt`, `div`, all formats from f16 to f64) give the bits that the PTX manual prescribes, on every host alike;
//!   `.ftz` and `.sat` are honoured. Single-precision operations give the NaN 0x7fffffff, f16 and bf16 ones 0x7fff.
//!   What the manual leaves open is chosen so: a double-precision operation gives its first operand that is a NaN, made
//!   quiet, or 0xfff8000000000000; `.approx` and `.full` operations are rounded correctly, transcendental ones by the
//!   host's mathematical library; an integer divided by zero is all ones, with the dividend as remainder.
//! * **Order.** Without a seed a launch does the same every time: blocks one after another (but where one keeps looking
//!   at memory that others may change, the next ones begin beside it), warps in ascending order (the one that completes
//!   a barrier runs on first), the lanes of an atomic in ascending order. A
//!   [seed](Config::seed) has blocks run at the same time and any path of any warp take turns that end at any
//!   instruction, and gives the lanes of an atomic, and of a store to one address, any order; again repeatably.
//!   [`schedules`] runs a test under many seeds. Lanes that part at a branch meet at its immediate post-dominator; a
//!   path that waits gives way to any other, so that spin locks come to an end.
//! * **Threads.** With more than one [host thread](Config::threads), and without the check for races, results, counters
//!   and the fault of a launch are those of one, for kernels that do not depend on the order of their blocks.
//! * **Faults.** Accesses out of bounds, misaligned, through null or to freed memory, reads of memory that nobody has
//!   written, writes to constants, [data races](#races), barriers that some threads miss, shuffles from absent lanes,
//!   deadlocks and hangs are [faults](Fault) that name the instruction, its line in the PTX and, with line information,
//!   in the CUDA source, the block, the thread and the allocation. All but the last two
//!   can be turned off by [`Checks`].
//! * **Asynchronous copies.** They are checked when they are issued, and done when something waits for them, or with a
//!   seed at any time before that. A read of shared memory that does not wait for the copy into it is a fault.
//! * **Output.** What kernels print is [there](Simulator::take_output) after the launch, and an `assert` that fails is a
//!   fault. Kernels allocate from a heap of 8 MiB.
//! * **Counters.** [`Counters`] are defined one by one. Requests and sectors of global and local memory, and wavefronts of
//!   shared memory by instruction, equal those of Nsight Compute on an H200; `docs/counters.md` has the figures.
//!
//! # Races
//!
//! Two accesses to the same bytes of shared or global memory by different threads, at least one of them a write, are a
//! [race](FaultKind::Race) unless one happens before the other. That is a property of the program, not of luck: the
//! accesses need not come near each other in time, and the order that happens to run need not give a wrong result. What
//! is found is exact for the order that runs; another [seed](Config::seed) may take another way through the kernel.
//!
//! One access happens before another
//!
//! * if the same thread makes both, in this order; the lanes of one instruction have none;
//! * if a **block barrier** lies between them (`bar`, `barrier`, also numbered ones and those of some warps, and those of
//!   a cluster of one block; `arrive` only releases, threads that have left have arrived), or for lanes of a warp a
//!   **warp barrier** (`bar.warp.sync`) of both. Shuffles, votes, matches and reductions of a warp order no accesses of
//!   its lanes; they pass on what a lane has acquired from other warps;
//! * if one thread **releases** and the other **acquires**: a strong write releases if it says so or if its thread has had
//!   a fence before it, and a strong read of the same place acquires if it says so or with the next fence. Atomics in
//!   between pass on what was released; strong stores end it. Strong are atomics, `.relaxed`, `.acquire`, `.release` and
//!   `.volatile` accesses. Fences and strong accesses of the scope `.cta` reach the threads of their block, those of `.gpu`
//!   and `.sys` all. This makes up the barriers of a grid, locks, flags, and the block that finishes last. An `mbarrier`
//!   has it too: arrivals release, and a wait that finds the phase complete acquires;
//! * if a launch ends, or the host does something, between them.
//!
//! Strong accesses whose scopes reach each other do not race, whatever their order. Some cases the memory model of PTX
//! leaves out, or is stricter on than hardware and practice, and they are settled so:
//!
//! * Two `.volatile` accesses by lanes of one warp do race: with them kernels of old assume that the lanes run in lock step.
//! * A store that leaves a byte as it is does not race with another store, as in `*changed = 1` by many threads. Lanes of
//!   one instruction that store different values to one place do.
//! * What threads have fenced, or read and not yet acquired, passes through barriers: `__threadfence()` by all threads,
//!   then a barrier, then an atomic by one of them releases what all have written.
//! * A plain load whose value, or place, the same function gives to a compare-and-swap counts as relaxed: it is the first
//!   look of a loop around `atomicCAS`.
//! * A strong read is ordered after the earlier plain writes to its own place that the strong write it reads has released.
//!
//! A place remembers two of the accesses of each kind that nothing has ordered yet, of different blocks, warps or lanes if
//! there are any, so that a race may go unseen when more have gone before; none is ever made up. Asynchronous copies take
//! no part, but in the check of their own.
//!
//! # What it leaves out
//!
//! Textures and surfaces, tensor cores and copies by tensor map, clusters of more than one block, dynamic parallelism;
//! caches and time; outcomes of weak memory, which shows as races alone. A kernel that needs an instruction which is not
//! there fails when it is [asked for](Simulator::kernel), with the opcode, line and column; other kernels of the module
//! are not affected. The book's chapter on the simulator's instructions lists what there is.
//!
//! # How it works
//!
//! The book's chapter on the simulator, `docs/simulator.md`, tells it at length.
//!
//! A kernel is [parsed](ptx), then lowered to functions that each run one instruction for the 32 lanes of a warp. A
//! register is a row of 32 values, so that the functions are loops which the compiler vectorises; they exist twice, for
//! the plain processor and for one with AVX2 and FMA, and the better one is taken. Immediates, parameters, addresses
//! and special registers are rows that are ready before a block starts.
//!
//! Races are found by what each thread knows of the others, kept as one number for a block whose threads only meet at
//! its barriers, and by shadow memory: 64 bytes for each 128 bytes of global memory that a launch touches, twelve times
//! the size of those lines that warps do not go through side by side, and of shared memory.

pub mod ast;
pub mod ptx;
pub mod schedules;

mod cfg;
mod code;
mod config;
mod counters;
mod exec;
mod fault;
mod independence;
mod initialised;
mod launch;
mod lower;
mod memory;
mod num;
mod program;
mod races;
mod rows;
mod sched;
mod simulator;
mod workers;

pub use config::{Checks, Config, Limits};
pub use counters::Counters;
pub use fault::{Access, Fault, FaultDetails, FaultKind, FaultSite, MemorySpace, Operation, Place, Waiting};
pub use launch::Launch;
pub use memory::MemoryError;
pub use program::{Kernel, LoadError, Program};
pub use races::report::{Missing, RaceAccess, Scope, Strength};
pub use simulator::Simulator;
