//! z = a·x + y on a GPU or on the simulator, for every element type.

use std::marker::PhantomData;

use kernels_common::element::{Accumulator, Element};
use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{Slice, SliceMut};
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;

pub use kernels_common;

const PTX: &[Ptx] = kernels_common::ptx!("saxpy");

/// z = a·x + y on one stream.
#[derive(Debug)]
pub struct Saxpy<T: Element> {
    kernel: Kernel,
    element: PhantomData<T>,
}

impl<T: Element> Saxpy<T> {
    /// Loads the kernel.
    ///
    /// # Errors
    /// See [`module::load`].
    pub fn new(stream: &Stream) -> Result<Self> {
        let [kernel] = module::load(stream, PTX, [&format!("saxpy_{}", T::NAME)])?;
        Ok(Self { kernel, element: PhantomData })
    }

    /// Starts computing z = a·x + y, and returns.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless all three have equal lengths; [`Error::StreamMismatch`] for memory of another
    /// stream; [`Error::TooLarge`] if no grid has a thread for every element.
    pub fn enqueue<'a>(
        &self,
        a: T,
        x: impl Into<Slice<'a, T>>,
        y: impl Into<Slice<'a, T>>,
        z: impl Into<SliceMut<'a, T>>,
    ) -> Result<()> {
        let (x, y, z) = (x.into(), y.into(), z.into());
        for (what, found) in [("y", y.len()), ("z", z.len())] {
            if found != x.len() {
                return Err(Error::LengthMismatch { what, expected: x.len(), found });
            }
        }
        let n = x.len() as u64;
        let config = LaunchConfig::covering(n, 256)?;
        // SAFETY: all three have n elements, no thread touches one past them, and z alone is written.
        unsafe { self.kernel.launch(config, (a, x, y, z, n)) }
    }
}

/// An element of z on the host: the same operations, so the same bits.
pub fn on_host<T: Element>(a: T, x: T, y: T) -> T {
    T::narrow(y.widen().fused_add(a.widen(), x.widen()))
}
