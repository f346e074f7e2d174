//! A simulator that runs NVIDIA PTX on the CPU, finds faults and counts what a profiler counts

pub mod ast;
mod cfg;
pub mod ptx;
