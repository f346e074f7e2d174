//! Block barriers.

use crate::rows::Row;

/// Barriers of a block.
pub(crate) const BARRIERS: usize = 16;
/// The barrier behind these is that of the cluster, which is the block.
pub(crate) const CLUSTER_BARRIER: usize = BARRIERS;

/// How a thread takes part in a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Arrives, and waits for the others.
    Sync,
    /// Arrives only.
    Arrive,
    /// Waits for those who have not arrived since it did.
    Wait,
}

/// What a barrier instruction does besides waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    None,
    /// Number of threads whose predicate is set, to a 32-bit register.
    Count,
    /// Whether all are, to a predicate.
    And,
    /// Whether any is, to a predicate.
    Or,
}

/// The operands of a barrier instruction, an entry of [`Code::barriers`](crate::code::Code::barriers).
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierOp {
    /// Number of the barrier: a 32-bit row.
    pub(crate) number: Row,
    /// Number of threads, if given: a 32-bit row.
    pub(crate) threads: Option<Row>,
    pub(crate) kind: Kind,
    /// All lanes of the warp must execute it together.
    pub(crate) aligned: bool,
    pub(crate) reduction: Reduction,
    /// The predicate that is reduced, and whether it is negated.
    pub(crate) source: (Row, bool),
    pub(crate) result: Row,
}

/// What has arrived at a barrier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// Lanes of each warp.
    pub(crate) arrived: Vec<u32>,
    /// Threads that it waits for, if the instruction says so.
    pub(crate) threads: Option<u32>,
    /// Threads that arrived with a predicate set, and all that arrived with one.
    pub(crate) set: u32,
    pub(crate) asked: u32,
}

impl Barrier {
    pub(crate) fn clear(&mut self) {
        self.arrived.fill(0);
        self.threads = None;
        self.set = 0;
        self.asked = 0;
    }

    /// Whether the threads that it waits for have come, given the lanes of each warp that have not left the kernel.
    /// Lanes that have left, or never were, have arrived.
    pub(crate) fn is_complete(&self, live: impl Iterator<Item = u32>) -> bool {
        let mut warps = self.arrived.iter().zip(live);
        match self.threads {
            None => warps.all(|(&arrived, live)| live & !arrived == 0),
            Some(threads) => {
                let arrived = warps
                    .filter(|&(&arrived, _)| arrived != 0)
                    .map(|(&arrived, live)| (arrived | !live).count_ones())
                    .sum::<u32>();
                arrived >= threads
            }
        }
    }
}
