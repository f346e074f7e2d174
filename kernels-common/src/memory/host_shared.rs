//! What pinned and unified buffers have in common: one allocation that host and device both see.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use super::allocation::{Allocation, HostView, Place};
use crate::error::Result;
use crate::stream::Stream;

/// An allocation that the host can read and write, and the stream whose work may use it too.
///
/// There is no note of whether the device has work on it: a device slice that was taken earlier can be launched on at
/// any time, so only a wait for the stream tells.
#[derive(Debug)]
pub(super) struct HostShared<T> {
    stream: Stream,
    /// `None` if there are no bytes.
    allocation: Option<Arc<Allocation>>,
    len: usize,
    // Owned like the elements of a Vec: the host touches them only through the usual borrows, and device work on them
    // is waited for before any of them is given out.
    element: PhantomData<T>,
}

impl<T> HostShared<T> {
    /// Owns the memory, which holds `len` elements of initialised bytes.
    pub(super) fn new(stream: &Stream, place: Option<Place>, len: usize) -> Self {
        const { assert!(align_of::<T>() <= 256, "devices align memory to 256 bytes") };
        let allocation = place.map(|place| Allocation::new(stream, place));
        Self { stream: stream.clone(), allocation, len, element: PhantomData }
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn allocation(&self) -> Option<&Arc<Allocation>> {
        self.allocation.as_ref()
    }

    /// The stream, the memory, and the number of elements.
    pub(super) fn parts(&self) -> (&Stream, Option<&Arc<Allocation>>, usize) {
        (&self.stream, self.allocation.as_ref(), self.len)
    }

    /// Hands the memory to another stream, which from then on waits for the old one.
    pub(super) fn change_stream(&mut self, stream: &Stream) -> Result<()> {
        let allocation = self.allocation.as_mut().map(Allocation::alone).transpose()?;
        stream.follow(&self.stream)?;
        if let Some(allocation) = allocation {
            if let Place::Unified { memory, attached: true } = allocation.place() {
                stream.submit(|backend, raw| backend.attach_to_stream(raw, memory))?;
            }
            allocation.set_stream(stream);
        }
        self.stream = stream.clone();
        Ok(())
    }

    fn elements(&self) -> NonNull<T> {
        let memory = self.allocation.as_ref().and_then(|allocation| allocation.host());
        memory.map_or(NonNull::dangling(), |memory| memory.host.cast())
    }

    /// The elements on the host. Waits for the stream.
    pub(super) fn host(&self) -> Result<HostSlice<'_, T>> {
        let view = HostView::open(&self.stream, self.allocation.as_ref())?;
        // SAFETY: the allocation holds `len` initialised elements. Opening the view waited for all work on the stream,
        // and with it on them. The device can be asked to write to them again only through a unique borrow of this
        // buffer, or by a graph, which the view keeps off.
        let elements = unsafe { std::slice::from_raw_parts(self.elements().as_ptr(), self.len) };
        Ok(HostSlice { elements, _view: view })
    }

    /// The elements on the host, to write. Waits for the stream.
    pub(super) fn host_mut(&mut self) -> Result<HostSliceMut<'_, T>> {
        let view = HostView::open(&self.stream, self.allocation.as_ref())?;
        // SAFETY: as above, and by this unique borrow nobody else refers to them, nor can ask the device to read them.
        let elements = unsafe { std::slice::from_raw_parts_mut(self.elements().as_ptr(), self.len) };
        Ok(HostSliceMut { elements, _view: view })
    }
}

/// What the host sees of a [`PinnedBuffer`](super::PinnedBuffer) or a [`UnifiedBuffer`](super::UnifiedBuffer), to read.
pub struct HostSlice<'a, T> {
    elements: &'a [T],
    _view: HostView<'a>,
}

/// As [`HostSlice`], to write.
pub struct HostSliceMut<'a, T> {
    elements: &'a mut [T],
    _view: HostView<'a>,
}

impl<T> Deref for HostSlice<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> Deref for HostSliceMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> DerefMut for HostSliceMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements
    }
}

macro_rules! as_a_slice {
    ($view:ident) => {
        impl<T: fmt::Debug> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.elements.fmt(f)
            }
        }

        impl<T: PartialEq<U>, U> PartialEq<[U]> for $view<'_, T> {
            fn eq(&self, other: &[U]) -> bool {
                *self.elements == *other
            }
        }

        impl<T: PartialEq<U>, U, const N: usize> PartialEq<[U; N]> for $view<'_, T> {
            fn eq(&self, other: &[U; N]) -> bool {
                *self.elements == other[..]
            }
        }

        impl<T: PartialEq<U>, U> PartialEq<Vec<U>> for $view<'_, T> {
            fn eq(&self, other: &Vec<U>) -> bool {
                *self.elements == other[..]
            }
        }

        impl<T: PartialEq> PartialEq for $view<'_, T> {
            fn eq(&self, other: &Self) -> bool {
                *self.elements == *other.elements
            }
        }
    };
}

as_a_slice!(HostSlice);
as_a_slice!(HostSliceMut);
