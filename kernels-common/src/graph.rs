//! Graphs: work that is captured once and then launched as a whole, as often as needed.
//!
//! Each call that queues work costs the host a few microseconds. A [`Graph`] is queued with all its work by one call,
//! and the device goes through that work without the host.
//!
//! ```
//! use kernels_common::device::Device;
//! use kernels_common::error::Result;
//! use kernels_common::graph::Graph;
//! use kernels_common::memory::DeviceBuffer;
//!
//! /// What the work uses. The graph owns it.
//! struct Shift {
//!     from: DeviceBuffer<u32>,
//!     to: DeviceBuffer<u32>,
//! }
//!
//! /// The work: here two operations; with a kernel crate, `dot.enqueue(…)` and the like.
//! fn record(shift: &mut Shift) -> Result<()> {
//!     let Shift { from, to } = shift;
//!     to.slice_mut(1..)?.copy_from_slice(from.slice(..3)?)?;
//!     to.slice_mut(..1)?.fill_zero()
//! }
//!
//! let stream = Device::open("auto")?.stream()?;
//! let shift = Shift { from: stream.upload(&[1, 2, 3, 4])?, to: stream.alloc_zeros(4)? };
//! let mut graph = Graph::capture(&stream, shift, record)?; // does nothing yet
//! graph.launch()?; // queues all of it, and returns
//! assert_eq!(graph.resources().to.download()?, [0, 1, 2, 3]);
//!
//! // Other contents: the graph works on what the memory holds when it runs.
//! graph.resources_mut().from.as_slice_mut().copy_from(&[5, 6, 7, 8])?;
//! graph.launch()?;
//! assert_eq!(graph.resources().to.download()?, [0, 5, 6, 7]);
//!
//! // Other memory: captured again.
//! graph.resources_mut().from = stream.upload(&[9; 4])?;
//! graph.update(record)?;
//! graph.launch()?;
//! assert_eq!(graph.into_resources().to.download()?, [0, 9, 9, 9]);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! # What is captured
//!
//! While the closure runs, what **this thread** gives to **this stream** is captured instead of done: launches of
//! kernels, copies between buffers, fills. Work of other threads, and work for other streams, is done as always.
//!
//! What cannot be part of a graph is refused ([`Error::Capturing`], [`Error::Unsupported`]): to wait for the stream and
//! so to read a result, copies from and to memory of the host that is not pinned, events, allocations. An object that
//! needs scratch memory gets it before, by its `reserve`. Kernels may be loaded. Whatever the closure ends with, an
//! error or a panic, the stream is as it was before.
//!
//! # What a graph keeps
//!
//! Device addresses are part of a graph. So it shares the ownership of all memory and of all kernels that its work
//! uses. A buffer that is dropped, replaced or grown afterwards is freed when the graph is gone too; until then the
//! graph goes on with the old memory, and [`Graph::update`] turns it to the new one. A buffer in use by a graph cannot
//! be moved to another stream ([`Error::InGraph`]).
//!
//! Work on a buffer that is only borrowed is captured too, and the graph shares its ownership from then on. So a launch
//! may change what somebody else has a buffer for, as with a buffer that was taken out of the resources:
//!
//! ```
//! # use kernels_common::device::Device;
//! # use kernels_common::graph::Graph;
//! # let stream = Device::open("sim")?.stream()?;
//! let mut x = stream.upload(&[1u32, 2, 3])?;
//! let mut graph = Graph::capture(&stream, (), |()| x.as_slice_mut().fill_zero())?;
//! assert_eq!(x.download()?, [1, 2, 3]);
//! graph.launch()?;
//! assert_eq!(x.download()?, [0; 3]);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! Memory that the host sees ([`PinnedBuffer`](crate::memory::PinnedBuffer) and others) waits for the stream before it
//! lets the host see it, and so for every launch of a graph. While such a view is open, the graph cannot be launched
//! ([`Error::GraphHostAccess`]).

pub(crate) mod capture;

use std::sync::Arc;
use std::{fmt, mem};

use crate::backend::RawExecutable;
use crate::error::{Error, Result};
use crate::memory::allocation::Allocation;
use crate::stream::Stream;

use capture::{Capture, Kept};

/// Captured work of one stream, with the `R` that it works on.
///
/// Launches that are queued when it is dropped are still done. The drop waits for them only where it is the end of a
/// module, or of pinned or unified memory.
pub struct Graph<R> {
    // Dropped before the resources.
    executable: Executable,
    resources: R,
}

impl<R> fmt::Debug for Graph<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("stream", &self.executable.stream).finish_non_exhaustive()
    }
}

// Neither the resources nor a closure have to outlive anything (`'static`). A closure that does may still own a buffer,
// which is dropped when it returns, and resources may be replaced or taken out: so memory and modules have to be kept
// for the graph whoever owned them, and are. Who borrows memory meanwhile is safe as well: the device's is touched in
// the order of the stream alone, a host view keeps launches off, and what cannot be kept, because it is lent or lies on
// the host, is refused.
impl<R> Graph<R> {
    /// Captures the work that `record` gives to `stream`, which does nothing yet, and takes what it works on.
    ///
    /// `record` may fail with any error that an [`Error`] can become. Where nothing else says which, end it with the
    /// result of its last call, or name it: `Ok::<_, Error>(())`. If it fails, `resources` are dropped, and the stream is
    /// as it was before; so too if it panics.
    ///
    /// # Errors
    /// The error of `record`; [`Error::Capturing`] within another capture, and if all work was for other streams; an error
    /// of the driver.
    pub fn capture<E: From<Error>>(
        stream: &Stream,
        mut resources: R,
        record: impl FnOnce(&mut R) -> Result<(), E>,
    ) -> Result<Self, E> {
        let capture = Capture::begin(stream)?;
        record(&mut resources)?;
        let executable = Executable::new(stream, capture.end()?)?;
        Ok(Self { executable, resources })
    }

    /// Captures anew, such as for other memory, other lengths, or other kernels. As long as only those change, and not
    /// which kind of work follows which, the driver changes the graph in place, which is quicker than to make one.
    ///
    /// Launches that are queued already are not affected. If `record` fails or panics, the graph stays as it was; what
    /// `record` has done to the resources stays done. If the driver can neither change the graph nor make a new one, it
    /// cannot be launched until another update succeeds ([`Error::GraphUpdate`]).
    ///
    /// # Errors
    /// The error of `record`; [`Error::Capturing`] within another capture, and if all work was for other streams; an error
    /// of the driver.
    pub fn update<E: From<Error>>(&mut self, record: impl FnOnce(&mut R) -> Result<(), E>) -> Result<(), E> {
        let stream = self.executable.stream.clone();
        let capture = Capture::begin(&stream)?;
        record(&mut self.resources)?;
        let graph = capture.end()?;
        self.executable.update(graph)?;
        Ok(())
    }

    /// Queues all captured work and returns. It runs after the stream's earlier work, and before the later.
    ///
    /// # Errors
    /// [`Error::GraphHostAccess`] while the host has a view of memory that the graph uses; [`Error::Capturing`] while
    /// work of the stream is captured; [`Error::Unsupported`] while somebody else captures the stream;
    /// [`Error::GraphUpdate`] after an update that the driver failed; on the simulator the faults of the kernels, at
    /// which the launch ends.
    pub fn launch(&mut self) -> Result<()> {
        self.executable.launch()
    }

    /// The stream that the graph is launched on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.executable.stream
    }

    /// What the graph works on.
    #[must_use]
    pub fn resources(&self) -> &R {
        &self.resources
    }

    /// What the graph works on, to give it other contents. What is replaced the graph still uses, until the next
    /// [`update`](Self::update).
    #[must_use]
    pub fn resources_mut(&mut self) -> &mut R {
        &mut self.resources
    }

    /// Ends the graph and gives back what it worked on. Launches that are queued are still done.
    #[must_use]
    pub fn into_resources(self) -> R {
        let Self { executable, resources } = self;
        drop(executable);
        resources
    }
}

/// A graph that is ready to launch, and what it uses.
#[derive(Debug)]
struct Executable {
    stream: Stream,
    /// `None` after an update that failed.
    raw: Option<RawExecutable>,
    // Dropped after the graph is destroyed, which is when its memory may be freed, in the order of the stream.
    kept: Kept,
}

impl Executable {
    fn new(stream: &Stream, mut graph: capture::Graph<'_>) -> Result<Self> {
        let raw = stream.backend().instantiate(graph.raw)?;
        Ok(Self { stream: stream.clone(), raw: Some(raw), kept: mem::take(&mut graph.kept) })
    }

    fn update(&mut self, mut graph: capture::Graph<'_>) -> Result<()> {
        let backend = self.stream.backend();
        if self.raw.is_some_and(|raw| backend.update(raw, graph.raw).is_ok_and(|updated| updated)) {
            self.kept = mem::take(&mut graph.kept);
            return Ok(());
        }
        // What it does now is a mixture of both.
        self.destroy();
        let stream = self.stream.clone();
        *self = Self::new(&stream, graph)?;
        Ok(())
    }

    fn destroy(&mut self) {
        if let Some(raw) = self.raw.take() {
            // SAFETY: nothing else has it.
            unsafe { self.stream.backend().destroy_executable(raw) }
        }
    }

    fn launch(&mut self) -> Result<()> {
        self.stream.check_not_capturing("launching a graph", "Launch it before the capture, or after")?;
        let graph = self.raw.ok_or(Error::GraphUpdate)?;
        let launching = Launching::begin(&self.kept.host_visible)?;
        // SAFETY: kernels and memory are kept, for as long as the graph or longer: memory is freed in the order of this
        // stream, and a module is unloaded when nothing runs.
        let launched = self.stream.submit(|backend, stream| unsafe { backend.launch_graph(stream, graph) });
        drop(launching);
        if launched.is_err() {
            // A fault on the simulator stops a launch half way. The error to report is that of the launch.
            for &(address, bytes) in &self.kept.zeros {
                // SAFETY: the range is part of memory that is kept.
                let _ = self.stream.submit(|backend, stream| unsafe { backend.fill_bytes(stream, address, 0, bytes) });
            }
        }
        launched
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        self.destroy();
    }
}

/// Keeps the host from opening views of memory while a launch on it is queued.
struct Launching<'a>(&'a [Arc<Allocation>]);

impl<'a> Launching<'a> {
    fn begin(memory: &'a [Arc<Allocation>]) -> Result<Self> {
        for (index, allocation) in memory.iter().enumerate() {
            if let Err(error) = allocation.begin_launch() {
                drop(Launching(&memory[..index]));
                return Err(error);
            }
        }
        Ok(Self(memory))
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        for allocation in self.0 {
            allocation.end_launch();
        }
    }
}
