//! For programs that use [cudarc](https://docs.rs/cudarc) already: the same context, the same streams, and slices that
//! change hands without a copy.
//!
//! | from cudarc | to here | and back |
//! |---|---|---|
//! | `Arc<CudaContext>` | [`Device::from_cudarc`] | [`Device::to_cudarc`] |
//! | `Arc<CudaStream>` | [`Stream::from_cudarc`] | [`Stream::to_cudarc`] |
//! | `CudaSlice<T>`, by value | [`DeviceBuffer::from_cudarc`] | [`DeviceBuffer::into_cudarc`] |
//! | `&CudaSlice<T>`, `&CudaView<T>`, to read | [`Stream::lend`] | at the end of the closure |
//! | `&mut CudaSlice<T>`, `&mut CudaViewMut<T>`, to write | [`Stream::lend`] | at the end of the closure |
//! | tuples of these | [`Stream::lend`] | at the end of the closure |
//!
//! [`Stream::cu_stream`] is the handle of any stream, for calls of the driver itself.
//!
//! Wherever memory passes from one stream to another, the second waits for an event of the first; the host waits for
//! nothing. While a foreign stream is being captured by others, work on it is refused, and so is sharing memory with
//! it: their graph holds no buffer alive. A [`Graph`](crate::graph::Graph) does, and can be captured for a foreign
//! stream.
//!
//! ```no_run
//! use cudarc::driver::CudaContext;
//! use kernels_common::device::Device;
//! use kernels_common::stream::Stream;
//!
//! // What the program has.
//! let context = CudaContext::new(0)?;
//! let theirs = context.new_stream()?;
//! let x = theirs.clone_htod(&[1.0f32, 2.0, 3.0])?;
//! let mut y = theirs.alloc_zeros::<f32>(8)?;
//!
//! // The kernels of these crates on the same context and the same stream.
//! let device = Device::from_cudarc(context)?;
//! let stream = Stream::from_cudarc(&device, theirs.clone())?;
//! stream.lend((&x, &mut y.slice_mut(5..)), |(x, mut y)| y.copy_from_slice(x))?; // or `dot.enqueue(x, y, out)`
//! assert_eq!(theirs.clone_dtoh(&y)?[5..], [1.0, 2.0, 3.0]);
//!
//! // A slice becomes a buffer, and a slice again.
//! let mut buffer = kernels_common::memory::DeviceBuffer::from_cudarc(&stream, x)?;
//! buffer.as_slice_mut().fill_zero()?;
//! let x = buffer.into_cudarc(&theirs)?;
//! assert_eq!(theirs.clone_dtoh(&x)?, [0.0; 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate itself is here as [`cudarc`]. Cargo unites the features of all users of a crate. A program may therefore
//! ask for any CUDA version of cudarc (one; cudarc compiles with no more), and this crate follows. A program that asks
//! for none gets that of the nvcc on its path, or the newest; the environment variable `CUDARC_CUDA_VERSION`, such as
//! `12000`, says otherwise. What it cannot ask for is `dynamic-linking` or `static-linking`: this crate needs
//! `dynamic-loading`, so that programs start without a driver.

mod lend;

use std::any::Any;
use std::sync::Arc;

use bytemuck::Pod;
/// The cudarc whose types are in this module's interface: version 0.19. A program that uses it from here needs no
/// dependency of its own that has to agree.
pub use cudarc;
use cudarc::driver::sys::{CUstream, CUstreamCaptureStatus};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};

use crate::backend::RawStream;
use crate::backend::cuda::{self, Cuda};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::DeviceBuffer;
use crate::stream::Stream;

pub use lend::Lend;

impl Device {
    /// The GPU of a context. The context lives for as long as anything that is made from the device.
    ///
    /// Devices made by separate calls are different devices, whose streams and buffers do not mix, as with
    /// [`Device::open`]: make one and clone it.
    ///
    /// # Errors
    /// [`Error::DriverTooOld`], [`Error::DriverIncomplete`], an error of the driver.
    pub fn from_cudarc(context: Arc<CudaContext>) -> Result<Device> {
        Ok(Device::new(Cuda::with_context(context)?))
    }

    /// The context that the device works in; `None` on the simulator. For [`Device::open`] it is the GPU's primary
    /// context.
    #[must_use]
    pub fn to_cudarc(&self) -> Option<Arc<CudaContext>> {
        self.cuda().map(|cuda| Arc::clone(cuda.context()))
    }

    fn cuda(&self) -> Option<&Cuda> {
        let backend: &dyn Any = &*self.inner.backend;
        backend.downcast_ref()
    }

    /// Refuses what belongs to another context; `what` names it.
    fn check_context(&self, context: &CudaContext, what: &'static str) -> Result<()> {
        match self.cuda() {
            Some(cuda) if cuda.context().cu_ctx() == context.cu_ctx() => Ok(()),
            _ => Err(Error::ContextMismatch { what, device: self.properties().selector.clone() }),
        }
    }
}

impl Stream {
    /// A stream that was made with cudarc, and lives for as long as this one. Work of both sides happens in the order
    /// it is given. Each call makes a stream of its own, whose buffers do not mix with those of another call
    /// ([`Error::StreamMismatch`]), and of the given device alone: call it once and clone it.
    ///
    /// On a device without concurrent managed access it has no [`UnifiedBuffer`](crate::memory::UnifiedBuffer)s,
    /// because what cudarc does with the stream cannot be held up while the host uses one.
    ///
    /// # Errors
    /// [`Error::ContextMismatch`] if it belongs to another context than `device`; [`Error::Unsupported`] for cudarc's
    /// per-thread default stream, which is another stream on every thread.
    pub fn from_cudarc(device: &Device, stream: Arc<CudaStream>) -> Result<Stream> {
        const PER_THREAD: u64 = 2;
        device.check_context(stream.context(), "the stream")?;
        let raw = cuda::number(stream.cu_stream());
        if raw == PER_THREAD {
            let device = device.properties().name.clone();
            return Err(Error::Unsupported {
                device,
                what: "sharing the per-thread default stream",
                instead: "Share the default stream of the context, or a stream of its `new_stream`",
            });
        }
        Ok(Stream::from_raw(device, RawStream(raw), Some(stream)))
    }

    /// The cudarc stream that this one was made from. `None` for a stream of [`Device::stream`]: to have a stream on
    /// both sides, make it from the context ([`Device::to_cudarc`]) with cudarc and take it over with
    /// [`Stream::from_cudarc`].
    #[must_use]
    pub fn to_cudarc(&self) -> Option<Arc<CudaStream>> {
        self.foreign().and_then(|stream| Arc::clone(stream).downcast().ok())
    }

    /// The driver's handle of the stream, for calls of the driver itself; `None` on the simulator. It is valid for as
    /// long as the stream lives.
    ///
    /// Such calls are `unsafe`. Besides what the driver asks of them, they must not destroy the stream, nor, without
    /// concurrent managed access, give it work while the host uses a unified buffer of it. Their work is no part of a
    /// [`Graph`](crate::graph::Graph) that is captured meanwhile. A graph of CUDA's holds no buffer alive: whoever
    /// captures the stream while this crate gives it work sees to it that no memory of the stream is allocated or freed
    /// meanwhile, nor memory of the work for as long as the graph may run.
    #[must_use]
    pub fn cu_stream(&self) -> Option<CUstream> {
        self.device().cuda().map(|_| cuda::stream(self.raw()))
    }

    /// Lends memory of cudarc's to this stream while `work` gives work to it: a reference to a slice or view, or a
    /// tuple of up to eight. A shared reference becomes a [`Slice`](crate::memory::Slice), a unique one a
    /// [`SliceMut`](crate::memory::SliceMut).
    ///
    /// That work starts after everything that the memory's own stream has been given before, and after tracked writes
    /// on other cudarc streams. Whatever cudarc does with the memory later starts after that work, also if `work`
    /// panics. The host waits for nothing.
    ///
    /// Where event tracking is switched off (`disable_event_tracking`, which is `unsafe`), cudarc leaves it to its user
    /// to order the streams other than the memory's own; the same holds here.
    ///
    /// `work` may fail with any error that an [`Error`] can become. Where nothing else says which, name it: `Ok::<_,
    /// Error>(…)`.
    ///
    /// # Errors
    /// [`Error::ContextMismatch`] if the memory belongs to another context, the error of `work`, an error of the
    /// driver.
    pub fn lend<M: Lend, R, E: From<Error>>(
        &self,
        memory: M,
        work: impl for<'a> FnOnce(M::Slices<'a>) -> Result<R, E>,
    ) -> Result<R, E> {
        memory.with(self, |places| work(M::slices(places, self)))
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Takes over memory that was allocated with cudarc, without a copy. Work that `stream` gets later waits for what
    /// cudarc has been told to do with it.
    ///
    /// The memory is freed as the driver's `cuMemAlloc` or `cuMemAllocAsync` requires, whichever it came from.
    ///
    /// # Errors
    /// [`Error::ContextMismatch`] if the slice belongs to another context, an error of the driver. The slice is freed
    /// then.
    pub fn from_cudarc(stream: &Stream, slice: CudaSlice<T>) -> Result<DeviceBuffer<T>> {
        stream.device().check_context(slice.context(), "the slice")?;
        let len = slice.len();
        if slice.num_bytes() == 0 {
            // A buffer without bytes holds no memory; what cudarc may have allocated is freed here.
            drop(slice);
            // SAFETY: there are no bytes.
            return Ok(unsafe { DeviceBuffer::from_raw(stream, 0, len) });
        }
        let there = Arc::clone(slice.stream());
        pending_error(&there)?;
        let here = seen_by_cudarc(stream, there.context());
        join(&here, &there)?;
        // Leaking makes `there` wait for tracked work on other streams, which `here` then has to wait for in turn.
        let address = slice.leak();
        let fenced = pending_error(&there).and_then(|()| join(&here, &there));
        if let Err(error) = fenced {
            // SAFETY: the slice gave up this allocation, which is used no more once its stream is done. If the wait
            // fails the device has stopped, and the memory goes with the process.
            let _ = there.synchronize().map(|()| unsafe { cudarc::driver::result::free_sync(address) });
            return Err(error);
        }
        // SAFETY: the slice was the only owner of its allocation, which holds `len` elements, and `stream` waits for
        // all work on it.
        Ok(unsafe { DeviceBuffer::from_raw(stream, address, len) })
    }

    /// Hands the memory over to cudarc, without a copy. Work that `stream` gets later waits for the work on the buffer.
    ///
    /// # Errors
    /// [`Error::ContextMismatch`] if `stream` belongs to another context, [`Error::InGraph`] if a
    /// [`Graph`](crate::graph::Graph) uses the buffer, an error of the driver. The buffer is dropped then.
    pub fn into_cudarc(mut self, stream: &Arc<CudaStream>) -> Result<CudaSlice<T>> {
        self.stream().device().check_context(stream.context(), "the stream")?;
        self.check_not_in_graph("giving a buffer away")?;
        pending_error(stream)?;
        if self.len() * size_of::<T>() == 0 {
            return stream.null().map_err(|error| cuda::cudarc_error(error, "cuMemAllocAsync"));
        }
        join(stream, &seen_by_cudarc(self.stream(), stream.context()))?;
        let (address, len) = self.into_raw();
        // SAFETY: the allocation is the buffer's, which gave it up; it holds `len` elements whose bytes are as valid as
        // those of any buffer of plain data.
        Ok(unsafe { stream.upgrade_device_ptr(address, len) })
    }
}

/// Our stream as an object of cudarc's, which must not outlive `stream`.
///
/// It belongs to the context object of the memory that is to be shared: cudarc keeps note of its streams, and with it
/// of whether it tracks events, per object.
fn seen_by_cudarc(stream: &Stream, context: &Arc<CudaContext>) -> Arc<CudaStream> {
    // SAFETY: the stream belongs to this context, as the callers have checked, and they drop the object before they
    // return. Order with other work on the stream is by the calls that the callers make.
    unsafe { context.wrap_borrowed_stream(cuda::stream(stream.raw())) }
}

/// Makes later work on `later` wait for the work that `earlier` has.
fn join(later: &CudaStream, earlier: &CudaStream) -> Result<()> {
    if later.cu_stream() == earlier.cu_stream() {
        return Ok(());
    }
    check_not_captured(later)?;
    check_not_captured(earlier)?;
    later.join(earlier).map_err(|error| cuda::cudarc_error(error, "cuStreamWaitEvent"))
}

/// Refuses a stream whose work is being recorded into a graph. A stream that waits for it would become part of the
/// capture; work on a buffer of ours would be done when the graph is launched, and the buffer may be gone by then.
fn check_not_captured(stream: &CudaStream) -> Result<()> {
    let status = stream.capture_status().map_err(|error| cuda::cudarc_error(error, "cuStreamIsCapturing"))?;
    if status == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
        return Ok(());
    }
    let device = format!("cuda:{}", stream.context().ordinal());
    Err(Error::Unsupported {
        device,
        what: "sharing memory with a stream that is being captured",
        instead: "End the capture first, or use another stream",
    })
}

/// An error that cudarc met where it could not return it.
fn pending_error(stream: &CudaStream) -> Result<()> {
    stream.context().check_err().map_err(|error| cuda::cudarc_error(error, "a call of cudarc"))
}
