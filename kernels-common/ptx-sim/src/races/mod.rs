//! Data races in shared and global memory.

pub(crate) mod report;
