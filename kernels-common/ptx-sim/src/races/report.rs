//! What a fault says of a data race.

use std::fmt;

use crate::fault::{Access, FaultSite, MemorySpace, Place};

/// How far a synchronising access or a fence reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// `.cta`: the threads of the block.
    Block,
    /// `.gpu` and `.sys`: all threads of the launch.
    Device,
}

/// Whether an access may meet others without an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// A plain access: it must be ordered before or after every other one that conflicts with it.
    Weak,
    /// A `.volatile` one: strong for the whole launch, but not between the lanes of one warp.
    Volatile,
    /// An atomic, `.relaxed`, `.acquire` or `.release` one.
    Strong(Scope),
}

/// One of the two accesses of a data race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaceAccess {
    /// What it did, and where.
    pub access: Access,
    /// Whether it synchronises.
    pub strength: Strength,
    /// The instruction.
    pub site: Option<FaultSite>,
    /// Block index.
    pub block: [u32; 3],
    /// Thread within the block; the first of its warp that made this access.
    pub thread: [u32; 3],
}

impl fmt::Display for RaceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strength = match self.strength {
            Strength::Weak | Strength::Strong(Scope::Device) => "",
            Strength::Volatile => "volatile ",
            Strength::Strong(Scope::Block) => "block-scope ",
        };
        let ([bx, by, bz], [x, y, z]) = (self.block, self.thread);
        write!(f, "{strength}{} by block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})", self.access)?;
        match &self.site {
            Some(site) => {
                write!(f, " with `{}` (line {}", site.opcode, site.span.line).and_then(|()| match &site.source {
                    Some(source) => write!(f, ", {source})"),
                    None => f.write_str(")"),
                })
            }
            None => Ok(()),
        }
    }
}

/// What would have ordered the accesses of a data race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// Nothing can: lanes of one instruction store different values to the same place.
    Nothing,
    /// The threads are lanes of one warp: a `__syncwarp`.
    WarpBarrier,
    /// They are threads of one block: a `__syncthreads`.
    BlockBarrier,
    /// They are threads of one block, and one of the accesses is strong, or the warps of both have made strong accesses
    /// elsewhere: a `__syncthreads`, or release and acquire.
    BarrierOrRelease,
    /// They are threads of different blocks: release and acquire, by fences and atomics, or the end of the kernel.
    Release,
    /// They are threads of different blocks. The second one has read what the first one released, but no fence for the
    /// whole device follows, nor did an acquiring access read it.
    Acquire,
    /// They are threads of different blocks, and what was meant to order them reaches only one block.
    Scope,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Missing::Nothing => {
                "lanes of one instruction store different values to one place, and which of them stays is not defined"
            }
            Missing::WarpBarrier => {
                "nothing orders these lanes of one warp, which need not run in lock step: a `__syncwarp()` between the \
                 two would, or a `__syncthreads()` where other warps take part (a shuffle or a vote orders no memory)"
            }
            Missing::BlockBarrier => {
                "nothing orders these threads of one block: a `__syncthreads()` between the two would"
            }
            Missing::BarrierOrRelease => {
                "nothing orders these threads of one block: they need a barrier (`__syncthreads()`) between the two, or \
                 a release and an acquire (a `__threadfence_block()` before an atomic on one side, one after an atomic \
                 on the other)"
            }
            Missing::Release => {
                "nothing orders these threads of different blocks: they need a release and an acquire (a \
                 `__threadfence()` before an atomic on one side, one after an atomic on the other), a grid barrier, or \
                 two launches"
            }
            Missing::Acquire => {
                "the second thread has read what the first one released, but does not acquire it: between that read and \
                 the access a `__threadfence()` is missing"
            }
            Missing::Scope => {
                "what orders them reaches only one block, but the threads are of different blocks: fences and atomics \
                 between blocks need the scope of the device (`__threadfence()` for `__threadfence_block()`, no `_block` \
                 on the atomic, `thread_scope_device` in `cuda::atomic_ref`)"
            }
        })
    }
}

/// Writes what [`FaultKind::Race`](crate::FaultKind::Race) says: a line for what it is, and one for each access.
pub(crate) fn describe(
    f: &mut fmt::Formatter<'_>,
    (first, second): (&RaceAccess, &RaceAccess),
    place: Option<&Place>,
    missing: Missing,
) -> fmt::Result {
    f.write_str("data race")?;
    if let Some(place) = place {
        write!(f, " at byte {} of ", place.offset)?;
        match (&place.label, second.access.space) {
            (Some(label), MemorySpace::Shared) => write!(f, "`{label}`, {} bytes of shared memory", place.size)?,
            _ => place.write_allocation(f)?,
        }
    }
    write!(f, ": {missing}\n    first {first}\n    then {second}")
}
