//! What a launch did, counted as a profiler counts it.

use std::fmt;
use std::ops::{Add, AddAssign};

macro_rules! counters {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// What a launch did.
        ///
        /// A *request* is one warp instruction with at least one active lane. The chapter on counters
        /// (`docs/counters.md`) says of each which metric of Nsight Compute it corresponds to, and where they are equal:
        /// requests and sectors are those of the hardware; shared wavefronts are those that Nsight Compute counts for
        /// the instructions, to which the hardware's totals add a few percent of arbitration. Executed machine
        /// instructions, cache hits, stalls and time cannot be known from PTX and are not counted.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$doc])+ pub $name: u64,)+
        }

        impl Counters {
            /// Every counter with its name, in order of declaration.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),+].into_iter()
            }
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Counters) {
                $(self.$name += other.$name;)+
            }
        }
    };
}

counters! {
    /// Blocks that ran.
    blocks,
    /// Warps that ran.
    warps,
    /// Threads that ran.
    threads,
    /// PTX instructions executed, each once per warp and path.
    instructions,
    /// PTX instructions executed, times the active lanes (whether or not the instruction's own guard masks them).
    lane_instructions,
    /// Branches executed, per warp and path, taken or not; `bra.uni` included.
    branches,
    /// Branches at which the active lanes parted.
    divergent_branches,
    /// Loads from global memory: requests.
    global_load_requests,
    /// Loads from global memory: distinct 32-byte sectors, summed over requests.
    global_load_sectors,
    /// Stores to global memory: requests.
    global_store_requests,
    /// Stores to global memory: distinct 32-byte sectors, summed over requests.
    global_store_sectors,
    /// Reductions in global memory: `red` requests, and `atom` requests whose result no instruction uses, since the
    /// assembler turns those into reductions.
    global_reductions,
    /// Reductions in global memory: 32-byte sectors, each counted once for every lane that has the address in it which
    /// most lanes have, summed over requests.
    global_reduction_sectors,
    /// Atomics in global memory whose result is used: requests.
    global_atomics,
    /// Atomics in global memory whose result is used: sectors, counted as for reductions.
    global_atomic_sectors,
    /// Loads from constant memory (`ld.const`; kernel parameters are not among them): requests.
    constant_load_requests,
    /// Loads from shared memory: requests.
    shared_load_requests,
    /// Loads from shared memory: wavefronts. A wavefront serves each of the 32 banks with one 32-bit word. Accesses of
    /// up to 32 bits take, per request, the largest number of distinct words in one bank; 64-bit accesses are served
    /// by half-warps and 128-bit ones by quarter-warps, each counted so and added. Two halves of a warp (of a half-warp
    /// at 128 bits) take one wavefront together if no bank has two of their words and each active lane has the same
    /// address as the lane whose number differs in bit 0, or each as the one whose number differs in bit 1, if that is
    /// active.
    shared_load_wavefronts,
    /// Stores to shared memory: requests.
    shared_store_requests,
    /// Stores to shared memory: wavefronts, defined as for loads, but halves are never served together.
    shared_store_wavefronts,
    /// Atomics and reductions in shared memory: requests.
    shared_atomics,
    /// Atomics and reductions in shared memory: wavefronts. The largest number of lanes in one bank, whatever their
    /// addresses, at 64 bits for each half-warp; twice that for `cas`.
    shared_atomic_wavefronts,
    /// Loads from thread-local memory: requests.
    local_load_requests,
    /// Loads from thread-local memory: distinct 32-byte sectors, summed over requests. Eight lanes have their 32-bit
    /// words of one number in the same sector.
    local_load_sectors,
    /// Stores to thread-local memory: requests.
    local_store_requests,
    /// Stores to thread-local memory: sectors.
    local_store_sectors,
    /// Block barriers passed or signalled, per warp.
    barriers,
    /// Warp barriers (`bar.warp.sync`), per warp.
    warp_barriers,
    /// Shuffles, per warp.
    shuffles,
    /// Votes, matches and warp reductions, per warp.
    votes,
    /// Memory fences, per warp.
    fences,
}

impl Counters {
    /// Shared-memory wavefronts of loads, stores and atomics.
    pub fn shared_wavefronts(&self) -> u64 {
        self.shared_load_wavefronts + self.shared_store_wavefronts + self.shared_atomic_wavefronts
    }
}

impl Add for Counters {
    type Output = Counters;

    fn add(mut self, other: Counters) -> Counters {
        self += other;
        self
    }
}

impl std::iter::Sum for Counters {
    fn sum<I: Iterator<Item = Counters>>(iter: I) -> Counters {
        iter.fold(Counters::default(), Add::add)
    }
}

/// A table of the counters that are not zero.
impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.iter().filter(|&(_, value)| value != 0) {
            writeln!(f, "{name:<24} {value:>16}")?;
        }
        Ok(())
    }
}
