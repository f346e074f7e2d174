//! Borrowed parts of device-visible memory.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use bytemuck::Pod;

use super::allocation::Allocation;
use super::byte_size;
use crate::error::{Error, Result};
use crate::graph::capture;
use crate::stream::Stream;

/// The start and length of `range` within `len` of what `unit` names.
pub(super) fn resolve(
    range: &impl RangeBounds<usize>,
    len: usize,
    unit: impl FnOnce() -> String,
) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match start.zip(end) {
        Some((start, end)) if start <= end && end <= len => Ok((start, end - start)),
        _ => Err(Error::OutOfRange { what: format!("the range {}", written(range)), len, unit: unit() }),
    }
}

fn elements<T>() -> String {
    format!("elements of type {}", std::any::type_name::<T>())
}

/// A range as it is written in Rust.
fn written(range: &impl RangeBounds<usize>) -> String {
    let start = match range.start_bound() {
        Bound::Included(start) => start.to_string(),
        Bound::Excluded(start) => format!("{start} (excluded)"),
        Bound::Unbounded => String::new(),
    };
    match range.end_bound() {
        Bound::Included(end) => format!("{start}..={end}"),
        Bound::Excluded(end) => format!("{start}..{end}"),
        Bound::Unbounded => format!("{start}.."),
    }
}

/// A shared borrow of `len` elements that the device can read.
#[derive(Debug)]
pub struct Slice<'a, T> {
    stream: &'a Stream,
    /// What it is a part of; `None` without bytes, and for memory that is lent.
    allocation: Option<&'a Arc<Allocation>>,
    address: u64,
    len: usize,
    borrow: PhantomData<&'a [T]>,
}

impl<T> Clone for Slice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slice<'_, T> {}

/// A unique borrow of `len` elements that the device can write.
#[derive(Debug)]
pub struct SliceMut<'a, T> {
    stream: &'a Stream,
    /// What it is a part of; `None` without bytes, and for memory that is lent.
    allocation: Option<&'a Arc<Allocation>>,
    address: u64,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

/// The error for memory of `theirs` in an operation on `stream`.
#[cold]
fn foreign(theirs: &Stream, stream: &Stream, what: &'static str) -> Error {
    match stream.device().check(theirs.device(), || what.to_owned()) {
        Ok(()) => Error::StreamMismatch { what },
        Err(error) => error,
    }
}

#[inline]
fn equal_lengths(expected: usize, found: usize, what: &'static str) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::LengthMismatch { what, expected, found }) }
}

macro_rules! common {
    ($slice:ident) => {
        impl<'a, T> $slice<'a, T> {
            /// All of an allocation, which holds `len` elements and belongs to `stream`.
            pub(super) fn of(stream: &'a Stream, allocation: Option<&'a Arc<Allocation>>, len: usize) -> Self {
                let address = allocation.map_or(0, |allocation| allocation.address());
                Self { stream, allocation, address, len, borrow: PhantomData }
            }

            /// Memory of somebody else: at `address` it must hold `len` elements, and belong to `stream` for as long as
            /// `'a`.
            #[cfg(feature = "cuda")]
            pub(crate) fn lent(stream: &'a Stream, address: u64, len: usize) -> Self {
                Self { stream, allocation: None, address, len, borrow: PhantomData }
            }

            /// Number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// The stream that the memory belongs to.
            #[must_use]
            pub fn stream(&self) -> &'a Stream {
                self.stream
            }

            /// The device address of the first element. Meaningless if there is none.
            #[must_use]
            pub fn address(&self) -> u64 {
                self.address
            }

            /// Refuses memory of another stream; `what` names it.
            ///
            /// # Errors
            /// [`Error::StreamMismatch`]; [`Error::DeviceMismatch`] if the stream is of another device.
            #[inline]
            pub fn check(&self, stream: &Stream, what: &'static str) -> Result<()> {
                if self.stream == stream { Ok(()) } else { Err(foreign(self.stream, stream, what)) }
            }

            /// Refuses any other length than `expected`; `what` names the slice.
            ///
            /// # Errors
            /// [`Error::LengthMismatch`].
            #[inline]
            pub fn check_len(&self, expected: usize, what: &'static str) -> Result<()> {
                equal_lengths(expected, self.len, what)
            }

            /// Must be called for every slice that work on its stream is given: if the work is captured into a graph,
            /// the graph keeps the memory.
            ///
            /// # Errors
            /// [`Error::Unsupported`] for memory that no graph can keep.
            #[inline]
            pub(crate) fn keep_in_graph(&self) -> Result<()> {
                if capture::is_open(self.stream) && self.len * size_of::<T>() > 0 {
                    capture::keep_memory(self.stream, self.allocation)
                } else {
                    Ok(())
                }
            }

            /// The size in bytes, if the host's `other` (of which `what` is the name) has as many elements.
            pub(crate) fn bytes_beside(&self, other: usize, what: &'static str) -> Result<u64> {
                equal_lengths(self.len, other, what)?;
                byte_size::<T>(self.len)
            }
        }
    };
}

common!(Slice);
common!(SliceMut);

impl<'a, T: Pod> Slice<'a, T> {
    /// The elements of `range`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Slice<'a, T>> {
        let (start, len) = resolve(&range, self.len, elements::<T>)?;
        Ok(Slice { address: self.address + byte_size::<T>(start)?, len, ..*self })
    }

    /// Waits for the stream and copies the elements to the host.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless `to` has as many elements; [`Error::Capturing`] while the stream's work is
    /// captured into a graph; an error that earlier work met.
    pub fn copy_to(&self, to: &mut [T]) -> Result<()> {
        let bytes = self.bytes_beside(to.len(), "the destination")?;
        if bytes == 0 {
            return Ok(());
        }
        self.stream.check_host_copy()?;
        self.stream.submit(|backend, raw| {
            // SAFETY: both ranges have that size, and the wait keeps `to` borrowed until the copy is done. If the wait
            // fails, the device has stopped and writes no more.
            unsafe { backend.copy_to_host(raw, to.as_mut_ptr().cast(), self.address, bytes) }
        })?;
        self.stream.release_host_memory()
    }

    /// Waits for the stream and returns the elements.
    ///
    /// # Errors
    /// [`Error::Capturing`] while the stream's work is captured into a graph; an error that earlier work met.
    pub fn download(&self) -> Result<Vec<T>> {
        let mut elements = vec![T::zeroed(); self.len];
        self.copy_to(&mut elements)?;
        Ok(elements)
    }
}

impl<'a, T: Pod> SliceMut<'a, T> {
    /// The elements of `range`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn slice_mut(self, range: impl RangeBounds<usize>) -> Result<SliceMut<'a, T>> {
        let (start, len) = resolve(&range, self.len, elements::<T>)?;
        Ok(SliceMut { address: self.address + byte_size::<T>(start)?, len, ..self })
    }

    /// The first `middle` elements, and the others.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are fewer.
    pub fn split_at(self, middle: usize) -> Result<(SliceMut<'a, T>, SliceMut<'a, T>)> {
        if middle > self.len {
            let what = format!("the place to split, {middle},");
            return Err(Error::OutOfRange { what, len: self.len, unit: elements::<T>() });
        }
        let second = SliceMut { address: self.address + byte_size::<T>(middle)?, len: self.len - middle, ..self };
        Ok((SliceMut { len: middle, ..self }, second))
    }

    /// The same elements, borrowed for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> SliceMut<'_, T> {
        SliceMut { borrow: PhantomData, ..*self }
    }

    /// The same elements, shared.
    #[must_use]
    pub fn as_slice(&self) -> Slice<'_, T> {
        let Self { stream, allocation, address, len, .. } = *self;
        Slice { stream, allocation, address, len, borrow: PhantomData }
    }

    /// Copies `from` to the device. `from` may be changed as soon as this returns.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless `from` has as many elements; [`Error::Capturing`] while the stream's work is
    /// captured into a graph; an error that earlier work met.
    pub fn copy_from(&mut self, from: &[T]) -> Result<()> {
        let bytes = self.bytes_beside(from.len(), "the source")?;
        if bytes == 0 {
            return Ok(());
        }
        self.stream.check_host_copy()?;
        self.stream.submit(|backend, raw| {
            // SAFETY: both ranges have that size, and the wait keeps `from` borrowed until the copy is done.
            unsafe { backend.copy_to_device(raw, self.address, from.as_ptr().cast(), bytes) }
        })?;
        self.stream.release_host_memory()
    }

    /// Starts a copy within device-visible memory: device, pinned and unified memory alike, in any direction.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::StreamMismatch`], an error of the driver.
    pub fn copy_from_slice(&mut self, from: Slice<'_, T>) -> Result<()> {
        from.check(self.stream, "the source")?;
        from.check_len(self.len, "the source")?;
        let bytes = byte_size::<T>(self.len)?;
        if bytes == 0 {
            return Ok(());
        }
        self.keep_in_graph()?;
        from.keep_in_graph()?;
        // SAFETY: both ranges have that size and belong to this stream; a unique and a shared borrow cannot overlap.
        self.stream.submit(|backend, raw| unsafe { backend.copy(raw, self.address, from.address, bytes) })
    }

    /// Starts setting all bytes to zero.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn fill_zero(&mut self) -> Result<()> {
        let bytes = byte_size::<T>(self.len)?;
        if bytes == 0 {
            return Ok(());
        }
        self.keep_in_graph()?;
        // SAFETY: the range has that size and belongs to this stream.
        self.stream.submit(|backend, raw| unsafe { backend.fill_bytes(raw, self.address, 0, bytes) })
    }

    /// Says that the elements are zero before and after the work that is about to be queued. If that is captured into a
    /// graph, and a launch of it stops half way, the graph sets them to zero again.
    ///
    /// # Errors
    /// As [`keep_in_graph`](Self::keep_in_graph).
    pub(crate) fn keep_zero_in_graph(&mut self) -> Result<()> {
        self.keep_in_graph()?;
        capture::keep_zero(self.stream, self.address, (self.len * size_of::<T>()) as u64);
        Ok(())
    }
}
