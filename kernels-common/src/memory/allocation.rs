//! One allocation, for as long as a buffer or a graph uses it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::backend::HostMemory;
use crate::error::{Error, Result};
use crate::stream::{IdleStream, Stream};

/// Which memory it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Memory of the device, at this address.
    Device(u64),
    /// Page-locked host memory.
    Pinned(HostMemory),
    /// Memory that moves between host and device.
    Unified {
        memory: HostMemory,
        /// Only work on the buffer's own stream may use it (`cuStreamAttachMemAsync`).
        attached: bool,
    },
}

/// Memory that is freed with its last owner: its buffer, and every graph whose work uses it.
#[derive(Debug)]
pub(crate) struct Allocation {
    stream: Stream,
    place: Place,
    /// Not any more once the memory was given to somebody else.
    owned: AtomicBool,
    /// How many views the host has, or waits for.
    views: AtomicUsize,
    /// How many graphs are being launched that use the memory. Who launches counts here and then looks at the views,
    /// who views counts there and then looks here: so one of two sees the other.
    launches: AtomicUsize,
}

impl Allocation {
    pub(super) fn new(stream: &Stream, place: Place) -> Arc<Allocation> {
        Arc::new(Self {
            stream: stream.clone(),
            place,
            owned: AtomicBool::new(true),
            views: AtomicUsize::new(0),
            launches: AtomicUsize::new(0),
        })
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// The address of its first byte, for the device.
    pub(super) fn address(&self) -> u64 {
        match self.place {
            Place::Device(address) => address,
            Place::Pinned(memory) | Place::Unified { memory, .. } => memory.device,
        }
    }

    /// Where the host sees it, if it does.
    pub(super) fn host(&self) -> Option<HostMemory> {
        match self.place {
            Place::Device(_) => None,
            Place::Pinned(memory) | Place::Unified { memory, .. } => Some(memory),
        }
    }

    pub(crate) fn is_host_visible(&self) -> bool {
        self.host().is_some()
    }

    pub(crate) fn is_unified(&self) -> bool {
        matches!(self.place, Place::Unified { .. })
    }

    /// The buffer's access to its allocation, to give it to another stream.
    ///
    /// # Errors
    /// [`Error::InGraph`] if a graph uses it: the graph would not wait for that stream.
    pub(super) fn alone(this: &mut Arc<Allocation>) -> Result<&mut Allocation> {
        Arc::get_mut(this).ok_or(Error::InGraph { what: "moving a buffer to another stream" })
    }

    pub(super) fn set_stream(&mut self, stream: &Stream) {
        self.stream = stream.clone();
    }

    /// Leaves the memory to somebody else, who frees it.
    pub(super) fn give_up(&self) {
        self.owned.store(false, Ordering::Relaxed);
    }

    /// Notes that a graph is about to be launched that uses the memory.
    ///
    /// # Errors
    /// [`Error::GraphHostAccess`] while the host has a view of it.
    pub(crate) fn begin_launch(&self) -> Result<()> {
        self.launches.fetch_add(1, Ordering::SeqCst);
        if self.views.load(Ordering::SeqCst) > 0 {
            self.end_launch();
            return Err(Error::GraphHostAccess);
        }
        Ok(())
    }

    /// Ends what [`begin_launch`](Self::begin_launch) began.
    pub(crate) fn end_launch(&self) {
        self.launches.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if !*self.owned.get_mut() {
            return;
        }
        if self.is_host_visible() {
            // If the wait fails, the device has stopped and uses the memory no more.
            let _ = self.stream.release_host_memory();
        }
        let (backend, stream) = (self.stream.backend(), self.stream.raw());
        // SAFETY: all work on the memory was queued on this stream, or on one that it waits for; nothing can name the
        // memory from here on, neither a buffer nor a graph. Where that work may still run it is freed in its order,
        // else it is done. It was allocated as this kind.
        unsafe {
            match self.place {
                Place::Device(address) => backend.free(stream, address),
                Place::Pinned(memory) => backend.free_pinned(memory),
                Place::Unified { memory, .. } => backend.free_unified(memory),
            }
        }
    }
}

/// The host's use of memory that the device sees too. While it lives, no graph is launched that uses the memory.
///
/// Work that is queued in other ways needs a borrow of the buffer, which the view has. A view that is forgotten keeps
/// graphs off for ever, which is safe.
#[derive(Debug)]
pub(super) struct HostView<'a> {
    /// `None` where there are no bytes.
    allocation: Option<&'a Allocation>,
    /// Keeps other work off the stream, where the device needs that.
    _idle: Option<IdleStream>,
}

impl<'a> HostView<'a> {
    /// Waits for `stream`, which is the allocation's.
    pub(super) fn open(stream: &Stream, allocation: Option<&'a Arc<Allocation>>) -> Result<Self> {
        let allocation = allocation.map(|allocation| &**allocation);
        if let Some(Allocation { views, launches, .. }) = allocation {
            // Also where no graph has the memory now: the last one may just have been launched and dropped by another
            // thread, and to see here that this launch is over is to see what it has done.
            views.fetch_add(1, Ordering::SeqCst);
            // A launch that is under way ends soon, and waits for nobody here.
            while launches.load(Ordering::SeqCst) > 0 {
                thread::yield_now();
            }
        }
        let mut view = Self { allocation, _idle: None };
        // From here on no launch begins, and those before are waited for.
        if allocation.is_some_and(Allocation::is_unified) {
            view._idle = Some(stream.keep_idle()?);
        } else {
            stream.synchronize()?;
        }
        Ok(view)
    }
}

impl Drop for HostView<'_> {
    fn drop(&mut self) {
        if let Some(allocation) = self.allocation {
            allocation.views.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
