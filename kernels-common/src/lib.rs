//! What every kernel crate of the workspace shares: devices, memory, streams, PTX modules and launches.
pub mod canonical;
pub mod element;
pub mod order;
