//! A simulator that runs NVIDIA PTX on the CPU, finds faults and counts what a profiler counts.

pub mod ast;
pub mod ptx;

mod cfg;
mod code;
mod config;
mod counters;
mod exec;
mod fault;
mod initialised;
mod launch;
mod lower;
mod memory;
mod num;
mod program;
mod rows;
mod sched;
mod simulator;

pub use config::{Checks, Config, Limits};
pub use counters::Counters;
pub use fault::{Access, Fault, FaultDetails, FaultKind, FaultSite, MemorySpace, Operation, Place, Waiting};
pub use launch::Launch;
pub use memory::MemoryError;
pub use program::{Kernel, LoadError, Program};
pub use simulator::Simulator;
