//! Devices, memory, streams, PTX modules and launches shared by all kernel crates
