//! Launches: from a grid and a parameter block to blocks that run.

use crate::config::Config;
use crate::counters::Counters;
use crate::fault::{Fault, FaultDetails, FaultKind};
use crate::memory::Memory;
use crate::program::Kernel;

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

pub(crate) fn run(
    config: &Config,
    memory: &mut Memory,
    kernel: &Kernel,
    launch: &Launch,
    params: &[u8],
) -> Result<Counters, Fault> {
    let _ = (config, memory, launch, params);
    Err(Fault::new(FaultDetails {
        kind: FaultKind::BadLaunch(String::new()),
        kernel: kernel.signature().name.clone(),
        module: kernel.module().name().into(),
        site: None,
        block: None,
        thread: None,
    }))
}
