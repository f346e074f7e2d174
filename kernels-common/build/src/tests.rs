//! Whole builds, in temporary crates. Most use the stand-ins of `tests/fake`, so that they say the same with
//! and without a CUDA compiler; the others are in [`with_nvcc`].

mod fixture;
mod with_nvcc;

#[cfg(unix)]
mod choice;
mod inputs;
#[cfg(unix)]
mod installer;
#[cfg(unix)]
mod treatment;
#[cfg(unix)]
mod vendored;
