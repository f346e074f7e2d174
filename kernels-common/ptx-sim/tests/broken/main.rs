//! Broken kernels: CUDA as people get it wrong, each beside sound kernels that do the same work. Every broken one must
//! be caught, with the right fault at the right line of the CUDA source; every sound one must be right and silent in
//! all orders.
//!
//! # How it works
//!
//! The kernels of a source `NAME.cu` take the same launch and the same parameters. Comments say which are broken:
//!
//! ```cuda
//! tile[t] = x[i];      // <- race
//! y[i] = tile[95 - t]; // <- race (uninitialised read)
//! ```
//!
//! Such a *mark* names the faults that may be reported at its line. Those in parentheses depend on the order in which
//! threads happen to run, or on which of several accesses comes first; each of the others has to be reported there in
//! at least one order. The words are those of [`corpus::Kind`]. A kernel without marks is sound.
//!
//! A broken kernel runs in 17 orders: that without a seed, and the seeds 0 to 15. It has to be caught in one at least,
//! and no order may give a fault that is not marked. A race needs a mark at both of its lines. A fault of code that was
//! inlined counts for the line that it was inlined at as well. The marks of a device function hold for all broken
//! kernels of the source.
//!
//! A sound kernel runs without a seed and with the seeds 0 to 3; `PTX_SIM_SEEDS=64` makes that 0 to 63. All checks are
//! on.
//!
//! # How to add a case
//!
//! 1. Write `NAME.cu` with at least one sound and one broken kernel, `extern "C"`, and mark the lines. Write the broken
//!    one as people do, and say in a comment above it what is wrong.
//! 2. Make the PTX: `bash scripts/regenerate-ptx.sh`. It is for compute capability 7.5, unless the source has a line
//!    `// arch: 80`.
//! 3. Add a test to the file of its family: `check(source!("NAME"), |device| ...)` uploads what the kernels need and
//!    gives a [`corpus::Case`] with the launch, the parameters, and what sound kernels leave.
//! 4. See what is reported: `cargo test -p ptx-sim --test broken NAME -- --nocapture`. If a mark is not hit, look at the
//!    PTX: the compiler may have moved or dropped the access.

#[path = "../common/mod.rs"]
mod common;

mod corpus;

mod barriers;
mod bounds;
mod grids;
mod shared;
mod warps;
