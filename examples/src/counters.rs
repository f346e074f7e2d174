//! The simulator's counters, in the figures that people know from a profiler.

use kernels_common::Counters;
use serde::Serialize;

/// What a launch did, as ratios and totals. A ratio of nothing to nothing is 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Wavefronts that a load from shared memory takes: 1 without bank conflicts.
    pub shared_load_wavefronts_per_request: f64,
    /// Wavefronts that a store to shared memory takes.
    pub shared_store_wavefronts_per_request: f64,
    /// Sectors of 32 bytes that a load from or a store to global memory touches: 4 for 32 neighbouring `f32`.
    pub global_sectors_per_request: f64,
    /// Atomic additions in global memory, per warp instruction.
    pub atomics: u64,
    /// Branches at which the lanes of a warp parted.
    pub divergent_branches: u64,
    /// Barriers of a block, per warp.
    pub barriers: u64,
}

impl Figures {
    /// What stands above [`cells`](Self::cells) in a table.
    pub const HEADINGS: [&str; 6] = ["shared ld wf", "shared st wf", "sectors/req", "atomics", "divergent", "barriers"];

    /// The figures of a launch.
    #[must_use]
    pub fn new(counters: &Counters) -> Self {
        let ratio = |of: u64, to: u64| if to == 0 { 0.0 } else { of as f64 / to as f64 };
        Self {
            shared_load_wavefronts_per_request: ratio(counters.shared_load_wavefronts, counters.shared_load_requests),
            shared_store_wavefronts_per_request: ratio(
                counters.shared_store_wavefronts,
                counters.shared_store_requests,
            ),
            global_sectors_per_request: ratio(
                counters.global_load_sectors + counters.global_store_sectors,
                counters.global_load_requests + counters.global_store_requests,
            ),
            atomics: counters.global_reductions + counters.global_atomics,
            divergent_branches: counters.divergent_branches,
            barriers: counters.barriers,
        }
    }

    /// The figures for the cells of a table.
    #[must_use]
    pub fn cells(&self) -> [String; 6] {
        [
            format!("{:.2}", self.shared_load_wavefronts_per_request),
            format!("{:.2}", self.shared_store_wavefronts_per_request),
            format!("{:.2}", self.global_sectors_per_request),
            self.atomics.to_string(),
            self.divergent_branches.to_string(),
            self.barriers.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_ratio() {
        let nothing = Figures::new(&Counters::default());
        assert_eq!(nothing.cells(), ["0.00", "0.00", "0.00", "0", "0", "0"]);
    }
}
