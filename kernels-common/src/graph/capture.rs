//! The capture that a thread has open.
//!
//! The work is captured on a stream of the capture's own, to which this thread's work for the captured stream goes
//! ([`stream`]). What other threads give to the captured stream meanwhile, and every free, go where they always go.

use std::cell::{Cell, RefCell};
use std::ptr::null;
use std::sync::Arc;

use crate::backend::{RawGraph, RawStream};
use crate::error::{Error, Result};
use crate::memory::allocation::Allocation;
use crate::module::LoadedModule;
use crate::stream::Stream;

thread_local! {
    /// Which stream's work this thread captures, by [`Stream::identity`]; null if none. Every piece of work asks, so it
    /// is apart from the rest, and costs one load.
    static CAPTURED: Cell<*const ()> = const { Cell::new(null()) };
    static OPEN: RefCell<Option<Open>> = const { RefCell::new(None) };
}

/// An open capture.
#[derive(Debug)]
struct Open {
    raw: RawStream,
    kept: Kept,
    /// The thread has given work to another stream.
    elsewhere: bool,
}

/// What the work of a graph uses.
#[derive(Debug, Default)]
pub(super) struct Kept {
    memory: Vec<Arc<Allocation>>,
    /// Those parts of it that the host sees too.
    pub(super) host_visible: Vec<Arc<Allocation>>,
    modules: Vec<Arc<LoadedModule>>,
    /// Addresses and bytes of what is zero between launches.
    pub(super) zeros: Vec<(u64, u64)>,
}

impl Kept {
    /// Whether no work was captured: all work uses memory or a kernel.
    fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.modules.is_empty()
    }

    /// Each thing once.
    fn tidy(&mut self) {
        for memory in [&mut self.memory, &mut self.host_visible] {
            memory.sort_unstable_by_key(Arc::as_ptr);
            memory.dedup_by(|a, b| Arc::ptr_eq(a, b));
        }
        self.modules.sort_unstable_by_key(Arc::as_ptr);
        self.modules.dedup_by(|a, b| Arc::ptr_eq(a, b));
        self.zeros.sort_unstable();
        self.zeros.dedup();
    }
}

/// Whether this thread captures the work of `stream`.
#[inline]
pub(crate) fn is_open(stream: &Stream) -> bool {
    CAPTURED.get() == stream.identity()
}

/// Where this thread's work for `stream`, which there is some of, goes if it is captured.
#[inline]
pub(crate) fn stream(stream: &Stream) -> Option<RawStream> {
    if CAPTURED.get().is_null() { None } else { of_open(is_open(stream)) }
}

/// Where work goes while there is a capture, which it is `captured` by or not.
#[cold]
fn of_open(captured: bool) -> Option<RawStream> {
    OPEN.with_borrow_mut(|open| {
        let open = open.as_mut()?;
        open.elsewhere |= !captured;
        captured.then_some(open.raw)
    })
}

/// Has the graph keep memory of `stream`, whose work is captured: all of an allocation, or memory of somebody else.
#[cold]
pub(crate) fn keep_memory(stream: &Stream, allocation: Option<&Arc<Allocation>>) -> Result<()> {
    let properties = stream.device().properties();
    let unsupported = |what, instead| Err(Error::Unsupported { device: properties.subject(), what, instead });
    let Some(allocation) = allocation else {
        return unsupported("borrowed memory in a graph", "Copy it to a buffer of the graph, and capture work on that");
    };
    if allocation.is_unified() && !properties.concurrent_managed_access {
        return unsupported(
            "unified memory in a graph (no concurrent managed access)",
            "Use pinned memory, or copy to device memory",
        );
    }
    OPEN.with_borrow_mut(|open| {
        let Some(Open { kept, .. }) = open else { return };
        kept.memory.push(Arc::clone(allocation));
        if allocation.is_host_visible() {
            kept.host_visible.push(Arc::clone(allocation));
        }
    });
    Ok(())
}

/// Has the graph keep a module, if the work of `stream` is captured.
#[inline]
pub(crate) fn keep_module(stream: &Stream, module: &Arc<LoadedModule>) {
    if is_open(stream) {
        with_kept(|kept| kept.modules.push(Arc::clone(module)));
    }
}

/// Has the graph set this range of memory that it keeps back to zero if a launch of it fails half way, if the work of
/// `stream` is captured.
#[inline]
pub(crate) fn keep_zero(stream: &Stream, address: u64, bytes: u64) {
    if is_open(stream) {
        with_kept(|kept| kept.zeros.push((address, bytes)));
    }
}

#[cold]
fn with_kept(change: impl FnOnce(&mut Kept)) {
    OPEN.with_borrow_mut(|open| {
        if let Some(open) = open {
            change(&mut open.kept);
        }
    });
}

/// A capture of a stream's work by this thread. It is thrown away unless it is ended.
#[derive(Debug)]
pub(super) struct Capture<'a> {
    stream: &'a Stream,
}

impl<'a> Capture<'a> {
    /// Begins to capture what this thread gives to `stream`.
    ///
    /// # Errors
    /// [`Error::Capturing`] if the thread captures already; an error of the driver.
    pub(super) fn begin(stream: &'a Stream) -> Result<Self> {
        if !CAPTURED.get().is_null() {
            return Err(Error::Capturing {
                what: "beginning another capture",
                instead: "Capture one graph after the other, and launch them in order",
            });
        }
        let raw = stream.backend().begin_capture()?;
        OPEN.set(Some(Open { raw, kept: Kept::default(), elsewhere: false }));
        CAPTURED.set(stream.identity());
        Ok(Self { stream })
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// [`Error::Capturing`] if there was work for other streams alone; an error of the driver.
    pub(super) fn end(self) -> Result<Graph<'a>> {
        let stream = self.stream;
        std::mem::forget(self);
        let mut graph = close(stream)?;
        if graph.elsewhere && graph.kept.is_empty() {
            return Err(Error::Capturing {
                what: "work for other streams",
                instead: "That was all there was, and it is done. Capture on the stream that the objects and buffers \
                          were made for, which their `stream` tells",
            });
        }
        graph.kept.tidy();
        Ok(graph)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // By an error or a panic in what was captured, which is what is reported.
        let _ = close(self.stream);
    }
}

/// Ends the capture of `stream`, whatever becomes of it.
fn close(stream: &Stream) -> Result<Graph<'_>> {
    CAPTURED.set(null());
    let Some(Open { raw, kept, elsewhere }) = OPEN.take() else {
        return Err(Error::Capturing { what: "ending a capture twice", instead: "End it once" });
    };
    let raw = stream.backend().end_capture(raw)?;
    Ok(Graph { stream, raw, kept, elsewhere })
}

/// A captured graph, until it is made ready to launch.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    stream: &'a Stream,
    pub(super) raw: RawGraph,
    // Dropped after the graph is destroyed.
    pub(super) kept: Kept,
    elsewhere: bool,
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        // SAFETY: nothing else has the graph.
        unsafe { self.stream.backend().destroy_graph(self.raw) }
    }
}
