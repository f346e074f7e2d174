//! What the example programs share: options, input, timing, checks and reports.
//!
//! The programs themselves stand beside this folder, one file each, and are run with
//! `cargo run --release --example NAME`. Each is a library function `run` from options to [`program::Output`], so that
//! the tests call it as the command line does.

pub mod chart;
pub mod check;
pub mod counters;
pub mod curves;
pub mod dtype;
pub mod input;
pub mod json;
pub mod options;
pub mod program;
pub mod progress;
pub mod report;
pub mod rungs;
pub mod setting;
pub mod timing;
pub mod variants;
