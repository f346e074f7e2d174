//! Arithmetic as the GPU does it, where the processor or Rust does it otherwise.

pub(crate) mod float;
pub(crate) mod fp8;
pub(crate) mod half;
pub(crate) mod soft;
