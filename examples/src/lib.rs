//! Programs that compose the kernel crates
