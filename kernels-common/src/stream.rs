//! Streams, events, and copies that overlap with the host.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bytemuck::Pod;

use crate::backend::{Backend, RawEvent, RawStream};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::graph::capture;
use crate::memory::{DeviceBuffer, Slice, SliceMut};

/// What keeps a stream of somebody else alive.
pub(crate) type KeepAlive = Arc<dyn std::any::Any + Send + Sync>;

struct StreamInner {
    device: Device,
    raw: RawStream,
    /// A stream that was made elsewhere is not destroyed here, only kept alive.
    foreign: Option<KeepAlive>,
    /// How many host views of unified buffers are alive, see [`Stream::keep_idle`].
    host_views: Mutex<usize>,
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        if self.foreign.is_none() {
            // SAFETY: this is the last owner; every buffer, event and kernel that uses the stream holds it alive.
            unsafe { self.device.inner.backend.destroy_stream(self.raw) }
        }
    }
}

/// A queue of work on a device. Cheap to clone; clones are the same stream.
///
/// Work on a stream happens in the order it was given. Every buffer belongs to one stream, and an operation refuses
/// buffers of another one ([`Error::StreamMismatch`]): so the memory of a buffer that is dropped is freed after
/// all work on it, without a wait.
#[derive(Clone)]
pub struct Stream {
    inner: Arc<StreamInner>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("device", &self.inner.device).finish_non_exhaustive()
    }
}

impl PartialEq for Stream {
    #[inline]
    fn eq(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Stream {}

impl Stream {
    pub(crate) fn new(device: &Device) -> Result<Stream> {
        let raw = device.inner.backend.create_stream()?;
        Ok(Self::from_raw(device, raw, None))
    }

    pub(crate) fn from_raw(device: &Device, raw: RawStream, foreign: Option<KeepAlive>) -> Stream {
        let inner = StreamInner { device: device.clone(), raw, foreign, host_views: Mutex::new(0) };
        Stream { inner: Arc::new(inner) }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.inner.device.inner.backend
    }

    pub(crate) fn raw(&self) -> RawStream {
        self.inner.raw
    }

    /// What tells the stream from others that are alive.
    #[inline]
    pub(crate) fn identity(&self) -> *const () {
        Arc::as_ptr(&self.inner).cast()
    }

    /// Refuses unified memory on a foreign stream of a device where host and kernels must not use it at the same time:
    /// somebody else may give that stream work while a host view is open, which nothing here could refuse.
    pub(crate) fn check_unified(&self) -> Result<()> {
        let device = self.device().properties();
        if device.concurrent_managed_access || self.inner.foreign.is_none() {
            return Ok(());
        }
        Err(Error::Unsupported {
            device: device.subject(),
            what: "unified memory on a stream that was made elsewhere (no concurrent managed access)",
            instead: "Use a stream of `Device::stream` for it, or pinned memory",
        })
    }

    /// The object that a foreign stream was made from.
    #[cfg(feature = "cuda")]
    pub(crate) fn foreign(&self) -> Option<&KeepAlive> {
        self.inner.foreign.as_ref()
    }

    /// The device that the stream works on.
    #[inline]
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Waits until all work on the stream is done.
    ///
    /// # Errors
    /// An error that earlier work met, such as a fault in a kernel; [`Error::Capturing`] while the stream's work is
    /// captured into a graph.
    pub fn synchronize(&self) -> Result<()> {
        self.check_not_capturing("waiting for the stream", "Wait before the capture, or after a launch of the graph")?;
        self.backend().synchronize(self.raw())
    }

    /// Waits until the device is done with host memory that the stream's work uses, also where waiting fails.
    ///
    /// After an error of the device nothing runs any more. But while somebody captures a foreign stream nobody can wait
    /// for it, and copies that were started before the capture may still run: they are over when the capture is, and a
    /// wait then succeeds.
    pub(crate) fn release_host_memory(&self) -> Result<()> {
        let waited = self.backend().synchronize(self.raw());
        if waited.is_err() && self.inner.foreign.is_some() {
            while self.backend().is_capturing(self.raw()).is_ok_and(|capturing| capturing) {
                thread::sleep(Duration::from_millis(1));
            }
            let _ = self.backend().synchronize(self.raw());
        }
        waited
    }

    /// Marks this point in the stream's work.
    ///
    /// # Errors
    /// [`Error::Capturing`] while the stream's work is captured into a graph, [`Error::Unsupported`] while somebody
    /// else captures the stream; an error of the driver.
    pub fn record(&self) -> Result<Event> {
        self.check_not_capturing("an event", "Record it before the capture, or after a launch of the graph")?;
        // A stream that waits for an event of a capture becomes part of it, and with it all its later work.
        self.check_not_captured()?;
        let event = Event { raw: self.backend().create_event()?, device: self.device().clone() };
        self.backend().record(event.raw, self.raw())?;
        Ok(event)
    }

    /// Makes later work on this stream wait until `event` has happened, without holding up the host.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`] for an event of another device; [`Error::Capturing`] while the stream's work is
    /// captured into a graph, [`Error::Unsupported`] while somebody else captures the stream; an error of the driver.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.check_not_capturing("waiting for an event", "Wait before the capture, or before a launch of the graph")?;
        self.check_not_captured()?;
        self.device().check(&event.device, || "the event".to_owned())?;
        self.backend().wait(self.raw(), event.raw)
    }

    /// Makes later work on this stream wait for the work that `other` has already.
    pub(crate) fn follow(&self, other: &Stream) -> Result<()> {
        self.device().check(other.device(), || "the buffer".to_owned())?;
        self.wait(&other.record()?)
    }

    /// Device memory for `len` elements, contents unspecified.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size in bytes cannot be represented, [`Error::OutOfMemory`]; [`Error::Capturing`]
    /// while the stream's work is captured into a graph.
    pub fn alloc_uninit<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::uninit(self, len)
    }

    /// Device memory for `len` elements, all bytes zero.
    ///
    /// # Errors
    /// As [`Stream::alloc_uninit`].
    pub fn alloc_zeros<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let mut buffer = self.alloc_uninit(len)?;
        buffer.as_slice_mut().fill_zero()?;
        Ok(buffer)
    }

    /// Copies `data` into new device memory. `data` may be changed as soon as this returns.
    ///
    /// # Errors
    /// As [`Stream::alloc_uninit`].
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<DeviceBuffer<T>> {
        let mut buffer = self.alloc_uninit(data.len())?;
        buffer.as_slice_mut().copy_from(data)?;
        Ok(buffer)
    }

    /// Runs `work`, in which copies between host and device only start, and waits for them at its end (also when
    /// `work` panics): as [`std::thread::scope`] does for threads. Meanwhile the host is free.
    ///
    /// Only copies from and to pinned memory truly overlap with the host; others are correct, but the driver may
    /// stage them. Where somebody begins to capture the stream meanwhile, the end waits for the end of the capture too.
    ///
    /// ```
    /// # use kernels_common::device::Device;
    /// # let stream = Device::open("sim")?.stream()?;
    /// let input = vec![1.0f32; 1000];
    /// let mut output = vec![0.0f32; 1000];
    /// let mut buffer = stream.alloc_uninit::<f32>(1000)?;
    /// stream.scope(|scope| {
    ///     scope.copy_to_device(&input, buffer.as_slice_mut())?;
    ///     scope.copy_to_host(buffer.as_slice(), &mut output)
    /// })?;
    /// assert_eq!(input, output);
    /// # Ok::<(), kernels_common::error::Error>(())
    /// ```
    ///
    /// `work` may fail with any error that an [`Error`] can become. Where nothing else says which, name it: `Ok::<_,
    /// Error>(…)`.
    ///
    /// # Errors
    /// The error of `work`, else one that the stream met.
    pub fn scope<'env, R, E: From<Error>>(
        &'env self,
        work: impl for<'scope> FnOnce(&'scope CopyScope<'scope, 'env>) -> Result<R, E>,
    ) -> Result<R, E> {
        /// Waits even if `work` unwinds.
        struct WaitAtEnd<'a>(&'a Stream);
        impl Drop for WaitAtEnd<'_> {
            fn drop(&mut self) {
                // After a failed wait the device runs nothing any more, so the memory is safe all the same; the error
                // is reported by the explicit wait below.
                let _ = self.0.release_host_memory();
            }
        }
        let scope = CopyScope { stream: self, scope: PhantomData, env: PhantomData };
        let wait = WaitAtEnd(self);
        let result = work(&scope);
        std::mem::forget(wait);
        let waited = self.release_host_memory();
        let value = result?;
        waited?;
        Ok(value)
    }

    /// Queues work. All work on a stream goes through here.
    ///
    /// On a device where host and kernels must not use unified memory at the same time, work is refused while the host
    /// does, and the check and the queueing are one step. On a foreign stream that is being captured it is refused too:
    /// it would be done later, and again, when its buffers may be gone.
    ///
    /// While this thread captures the stream's work it goes into the capture, where the host's views matter no more:
    /// they do when the graph is launched.
    pub(crate) fn submit<R>(&self, work: impl FnOnce(&dyn Backend, RawStream) -> Result<R>) -> Result<R> {
        if let Some(captured) = capture::stream(self) {
            return work(self.backend(), captured);
        }
        let device = self.device().properties();
        self.check_not_captured()?;
        if device.concurrent_managed_access {
            return work(self.backend(), self.raw());
        }
        let views = self.inner.host_views.lock().unwrap_or_else(PoisonError::into_inner);
        if *views > 0 {
            return Err(Error::HostAccess { device: device.subject() });
        }
        work(self.backend(), self.raw())
    }

    /// Refuses what cannot be part of a graph while this thread captures the stream's work into one.
    #[inline]
    pub(crate) fn check_not_capturing(&self, what: &'static str, instead: &'static str) -> Result<()> {
        if capture::is_open(self) { Err(Error::Capturing { what, instead }) } else { Ok(()) }
    }

    /// Refuses to allocate memory in the stream's order while its work is being captured: a capture does nothing, and
    /// what somebody else's capture allocates is there only while the graph runs.
    pub(crate) fn check_allocation(&self) -> Result<()> {
        self.check_not_capturing(
            "an allocation",
            "Allocate before the capture; objects with scratch memory `reserve` it",
        )?;
        self.check_not_captured()
    }

    /// Refuses copies from and to the host's own memory while the stream's work is being captured: the graph would use
    /// that memory whenever it is launched.
    pub(crate) fn check_host_copy(&self) -> Result<()> {
        self.check_not_capturing(
            "a copy from or to borrowed host memory",
            "Copy before the capture or after a launch of the graph, or capture a copy of a `PinnedBuffer`",
        )
    }

    /// Refuses a foreign stream whose work is being recorded into a graph.
    pub(crate) fn check_not_captured(&self) -> Result<()> {
        if self.inner.foreign.is_some() && self.backend().is_capturing(self.raw())? {
            let device = self.device().properties().subject();
            return Err(Error::Unsupported {
                device,
                what: "work on a stream that somebody else is capturing",
                instead: "End the capture first, or use another stream",
            });
        }
        Ok(())
    }

    /// Waits for the stream, and keeps work off it for as long as what it returns lives, where the device needs that
    /// while the host uses unified memory. One that is forgotten keeps work off for ever, which is safe.
    pub(crate) fn keep_idle(&self) -> Result<IdleStream> {
        let idle = if self.device().properties().concurrent_managed_access {
            IdleStream { kept: None }
        } else {
            *self.inner.host_views.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            IdleStream { kept: Some(self.clone()) }
        };
        self.synchronize()?;
        Ok(idle)
    }
}

/// A stream without work, while the host uses unified memory; see [`Stream::keep_idle`].
#[derive(Debug)]
pub(crate) struct IdleStream {
    /// The stream that must stay idle, if it must.
    kept: Option<Stream>,
}

impl Drop for IdleStream {
    fn drop(&mut self) {
        if let Some(stream) = &self.kept {
            *stream.inner.host_views.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        }
    }
}

/// A region in which host copies run on their own; see [`Stream::scope`].
#[derive(Debug)]
pub struct CopyScope<'scope, 'env: 'scope> {
    stream: &'env Stream,
    // Both invariant, as in `std::thread::Scope`: the scope must not be stretched or shrunk.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope> CopyScope<'scope, '_> {
    /// Starts a copy from the host to the device. `from` stays borrowed until the scope ends.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::StreamMismatch`], [`Error::Capturing`] while the stream's work is captured
    /// into a graph, an error of the driver.
    pub fn copy_to_device<T: Pod>(&self, from: &'scope [T], to: SliceMut<'_, T>) -> Result<()> {
        to.check(self.stream, "the destination")?;
        let bytes = to.bytes_beside(from.len(), "the source")?;
        if bytes == 0 {
            return Ok(());
        }
        self.stream.check_host_copy()?;
        // SAFETY: the ranges have that size, and `from` stays borrowed until the scope has waited for the stream.
        self.stream
            .submit(|backend, raw| unsafe { backend.copy_to_device(raw, to.address(), from.as_ptr().cast(), bytes) })
    }

    /// Starts a copy from the device to the host. `to` stays borrowed until the scope ends.
    ///
    /// # Errors
    /// As [`CopyScope::copy_to_device`].
    pub fn copy_to_host<T: Pod>(&self, from: Slice<'_, T>, to: &'scope mut [T]) -> Result<()> {
        from.check(self.stream, "the source")?;
        let bytes = from.bytes_beside(to.len(), "the destination")?;
        if bytes == 0 {
            return Ok(());
        }
        self.stream.check_host_copy()?;
        // SAFETY: the ranges have that size, and `to` stays borrowed until the scope has waited for the stream.
        self.stream
            .submit(|backend, raw| unsafe { backend.copy_to_host(raw, to.as_mut_ptr().cast(), from.address(), bytes) })
    }
}

/// A point in the work of a stream.
#[derive(Debug)]
pub struct Event {
    raw: RawEvent,
    device: Device,
}

impl Event {
    /// Waits until the work before this point is done.
    ///
    /// # Errors
    /// An error that the work met.
    pub fn synchronize(&self) -> Result<()> {
        self.device.inner.backend.synchronize_event(self.raw)
    }

    /// Milliseconds of device time from `start` to this point; waits for both. On the simulator it is the time that
    /// the simulation took.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`] for an event of another device; an error that the work met, or of the driver.
    pub fn elapsed_ms_since(&self, start: &Event) -> Result<f32> {
        // The handle of one device means nothing to another, whose driver would take it for a pointer.
        self.device.check(&start.device, || "the first event".to_owned())?;
        self.device.inner.backend.elapsed_ms(start.raw, self.raw)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is owned and goes away with this value.
        unsafe { self.device.inner.backend.destroy_event(self.raw) }
    }
}
