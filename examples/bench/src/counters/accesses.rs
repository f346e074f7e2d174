//! The simulator's own test kernels for single accesses.

use anyhow::{Context, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::module::{self, Kernel};
use kernels_common::stream::Stream;

use self::list::{ELEMENTS, KINDS, LANES, Pattern, SLOTS, offsets, patterns};
use super::Session;

// The simulator's tests make the same accesses, from the same list.
#[path = "../../../../kernels-common/ptx-sim/tests/profile/accesses.rs"]
mod list;

const PTX: &str = include_str!("../../../../kernels-common/ptx-sim/tests/profile/accesses.sm_75.ptx");

fn load(stream: &Stream, kernel: &str) -> Result<Kernel> {
    let [kernel] = module::load_text(stream, "accesses.sm_75.ptx", PTX, [kernel])?;
    Ok(kernel)
}

/// The kernel that does nothing.
pub(super) fn marker(stream: &Stream) -> Result<Kernel> {
    load(stream, "marker")
}

/// The patterns of a launch, and how it is named after its kernel.
type Launch = (String, Vec<Pattern>);

/// As many patterns in a launch as it takes: `ld_shared_4/0` makes the first sixteen.
pub(super) fn batches() -> Vec<Launch> {
    patterns().chunks(SLOTS).enumerate().map(|(index, batch)| (format!("/{index}"), batch.to_vec())).collect()
}

/// A pattern in each launch: `ld_shared_4:0` makes the first.
pub(super) fn singles() -> Vec<Launch> {
    patterns().into_iter().enumerate().map(|(index, pattern)| (format!(":{index}"), vec![pattern])).collect()
}

/// Launches every kernel with all of these.
pub(super) fn run(session: &mut Session<'_>, launches: Vec<Launch>) -> Result<()> {
    let stream = session.stream;
    for kind in KINDS {
        let subjects = launches.iter().map(|(name, patterns)| (format!("{}{name}", kind.kernel), patterns));
        let subjects: Vec<_> = subjects.filter(|(subject, _)| session.wants(subject)).collect();
        if subjects.is_empty() {
            continue;
        }
        let kernel = load(stream, kind.kernel)?;
        for (subject, patterns) in subjects {
            let offsets = stream.upload(&offsets(patterns, kind.width))?;
            let mut memory = stream.alloc_zeros::<u8>(16 * ELEMENTS)?;
            let mut found = stream.alloc_zeros::<u32>(LANES)?;
            session.subject(subject, || {
                let arguments = (offsets.as_slice(), memory.as_slice_mut(), found.as_slice_mut(), 0u32);
                // SAFETY: one warp, offsets for each slot and lane, each within so many elements of at most 16 bytes.
                unsafe { kernel.launch(LaunchConfig::linear(1, LANES as u32), arguments) }
                    .with_context(|| patterns.iter().map(|pattern| &*pattern.name).collect::<Vec<_>>().join("; "))
            })?;
        }
    }
    Ok(())
}
