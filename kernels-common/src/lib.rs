//! What every kernel crate of the workspace shares: devices, memory, streams, PTX modules and launches.
//!
//! A program opens a [`Device`](device::Device) (a GPU, or the simulator where there is none), makes a
//! [`Stream`](stream::Stream) on it, puts data into [`memory`], and gives work to the stream:
//!
//! ```
//! use kernels_common::device::Device;
//!
//! let device = Device::open("auto")?; // a GPU if there is one, else the simulator
//! let stream = device.stream()?;
//! let mut x = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! x.slice_mut(1..)?.fill_zero()?;
//! assert_eq!(x.download()?, [1.0, 0.0, 0.0]);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! | CUDA | here |
//! |---|---|
//! | device, context | [`device::Device`] |
//! | stream, event | [`stream::Stream`], [`stream::Event`] |
//! | `cudaMalloc`, `cudaFree` | [`stream::Stream::upload`], [`stream::Stream::alloc_zeros`], drop |
//! | `cudaMallocHost` | [`memory::PinnedBuffer`] |
//! | `cudaMallocManaged` | [`memory::UnifiedBuffer`] |
//! | `cudaMemcpy` | [`memory::SliceMut::copy_from`], [`memory::Slice::copy_to`], [`memory::SliceMut::copy_from_slice`] |
//! | `cudaMemcpyAsync` | [`stream::Stream::scope`], or [`memory::SliceMut::copy_from_slice`] with pinned memory |
//! | module, kernel | [`module::load`], [`module::Kernel`] |
//! | graph, stream capture | [`graph::Graph`] |
//! | `<<<grid, block, shared>>>` | [`launch::LaunchConfig`], [`module::Kernel::launch`] |
//!
//! Which of the two backends does the work, nothing outside this crate has to ask.
//!
//! # Features
//!
//! | feature | by default | |
//! |---|---|---|
//! | `cuda` | yes | GPUs, and the module `interop`. The driver's library is loaded at run time: a program starts without one |
//! | `sim` | yes | the simulator |
//! | `testing` | no | the module `testing`: what tests of kernels share |
//!
//! At least one of the first two is needed. Every kernel crate has both as well and passes them on, so that
//! `dot = { …, default-features = false, features = ["sim"] }` is a program without the GPU's half.

#[cfg(not(any(feature = "cuda", feature = "sim")))]
compile_error!(
    "kernels-common needs a backend: turn on its feature `cuda` (GPUs), `sim` (the simulator), or both. A kernel crate \
     passes features of the same names on"
);

mod argument;
mod backend;
pub mod canonical;
pub mod device;
pub mod element;
pub mod error;
pub mod graph;
#[cfg(feature = "cuda")]
pub mod interop;
pub mod launch;
pub mod memory;
pub mod module;
pub mod oracle;
pub mod order;
mod ptx;
pub mod single_launch;
pub mod stream;
pub mod sum;
#[cfg(feature = "testing")]
pub mod testing;
pub mod variant;

/// The counters that the simulator keeps; see [`device::Device::take_counters`].
pub use ptx_sim::Counters;
