//! Every instruction against plain Rust, on edge cases and random values, in all lanes and in some.

#![allow(unreachable_pub, reason = "modules of one program")]

#[path = "../common/mod.rs"]
mod common;

mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod harness;
mod integer;
mod moves;
mod packed;
