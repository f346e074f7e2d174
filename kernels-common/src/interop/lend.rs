//! What can be lent: cudarc's slices and views, and tuples of them.
//!
//! The module is private and its trait only nameable here: [`Lend`] is sealed.

use std::sync::Arc;

use bytemuck::Pod;
use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice};

use super::{check_not_captured, join, pending_error, seen_by_cudarc};
use crate::error::{Error, Result};
use crate::memory::{Slice, SliceMut};
use crate::stream::Stream;

/// What [`Stream::lend`] can lend: `&CudaSlice`, `&CudaView`, `&mut CudaSlice`, `&mut CudaViewMut`, and tuples of them.
pub trait Lend: Memory {}

impl<M: Memory> Lend for M {}

/// Memory of cudarc's that is borrowed, to read or to write.
pub trait Memory {
    /// [`Slice`], [`SliceMut`], or a tuple of them.
    type Slices<'a>;
    /// Address and length of each.
    type Places: Copy;

    /// Runs `work` while `stream` may use the memory.
    fn with<R, E: From<Error>>(self, stream: &Stream, work: impl FnOnce(Self::Places) -> Result<R, E>) -> Result<R, E>;

    /// The slices of `stream` at `places`.
    fn slices(places: Self::Places, stream: &Stream) -> Self::Slices<'_>;
}

macro_rules! memory {
    ($memory:ty, $slice:ident, $address:ident) => {
        impl<T: Pod> Memory for $memory {
            type Slices<'a> = $slice<'a, T>;
            type Places = (u64, usize);

            fn with<R, E: From<Error>>(
                self,
                stream: &Stream,
                work: impl FnOnce((u64, usize)) -> Result<R, E>,
            ) -> Result<R, E> {
                let loan = Loan::open(stream, self.stream())?;
                let len = self.len();
                // The guard notes the use in cudarc's event when it is dropped, which also on a panic is before the
                // loan ends.
                let (address, guard) = self.$address(&loan.here);
                pending_error(&loan.here)?;
                // The events that cudarc keeps with the memory may be those of a capture on a third stream.
                check_not_captured(&loan.here)?;
                let result = work((address, len));
                drop(guard);
                loan.close(result)
            }

            fn slices((address, len): (u64, usize), stream: &Stream) -> $slice<'_, T> {
                $slice::lent(stream, address, len)
            }
        }
    };
}

memory!(&CudaSlice<T>, Slice, device_ptr);
memory!(&CudaView<'_, T>, Slice, device_ptr);
memory!(&mut CudaSlice<T>, SliceMut, device_ptr_mut);
memory!(&mut CudaViewMut<'_, T>, SliceMut, device_ptr_mut);

/// A tuple is its first element, and the tuple of the others.
macro_rules! tuple {
    ($first:ident $($other:ident)*) => {
        impl<$first: Memory, $($other: Memory),*> Memory for ($first, $($other,)*) {
            type Slices<'a> = ($first::Slices<'a>, $($other::Slices<'a>,)*);
            type Places = ($first::Places, $($other::Places,)*);

            #[allow(non_snake_case, reason = "a variable for each type")]
            fn with<R, Fail: From<Error>>(
                self,
                stream: &Stream,
                work: impl FnOnce(Self::Places) -> Result<R, Fail>,
            ) -> Result<R, Fail> {
                let ($first, $($other,)*) = self;
                $first.with(stream, |$first| {
                    tuple!(@nest stream, work, [$first] $($other)*)
                })
            }

            #[allow(non_snake_case, reason = "a variable for each type")]
            fn slices(places: Self::Places, stream: &Stream) -> Self::Slices<'_> {
                let ($first, $($other,)*) = places;
                ($first::slices($first, stream), $($other::slices($other, stream),)*)
            }
        }
    };
    (@nest $stream:ident, $work:ident, [$($done:ident)*]) => { $work(($($done,)*)) };
    (@nest $stream:ident, $work:ident, [$($done:ident)*] $next:ident $($other:ident)*) => {
        $next.with($stream, |$next| tuple!(@nest $stream, $work, [$($done)* $next] $($other)*))
    };
}

tuple!(A);
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);
tuple!(A B C D E);
tuple!(A B C D E F);
tuple!(A B C D E F G);
tuple!(A B C D E F G H);

/// Memory of the stream `there` in use on the stream `here`. Its end is a fence, also when it is dropped by a panic.
struct Loan {
    here: Arc<CudaStream>,
    there: Arc<CudaStream>,
    ended: bool,
}

impl Loan {
    fn open(stream: &Stream, there: &Arc<CudaStream>) -> Result<Loan> {
        stream.device().check_context(there.context(), "the view")?;
        let loan = Loan { here: seen_by_cudarc(stream, there.context()), there: Arc::clone(there), ended: false };
        join(&loan.here, &loan.there)?;
        Ok(loan)
    }

    /// Ends the loan and returns the result of the work, or the error that ending it met.
    fn close<R, E: From<Error>>(mut self, result: Result<R, E>) -> Result<R, E> {
        self.ended = true;
        let ended = self.end();
        let value = result?;
        ended?;
        Ok(value)
    }

    fn end(&self) -> Result<()> {
        join(&self.there, &self.here).inspect_err(|_| {
            // Without an event the host has to wait. If even that fails the device has stopped.
            let _ = self.here.synchronize();
        })
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // By a panic, or where the work did not begin.
        if !self.ended {
            let _ = self.end();
        }
    }
}
