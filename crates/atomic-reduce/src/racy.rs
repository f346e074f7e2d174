//! A sum that is wrong on purpose: every thread does `*sum += x[i]`, and nothing keeps the threads apart.
//!
//! A thread loads the sum, adds, and stores. Whatever another thread stored in between is lost, and the lanes of a warp
//! all load the same value, so that most elements never count. The result is some sum of some of the elements, another
//! one at every run on a GPU. It stands apart from the other ways, and is no [`Sum`](kernels_common::sum::Sum), so that
//! nobody takes it by accident.

use kernels_common::element::Element;
use kernels_common::error::Result;
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{Slice, SliceMut};
use kernels_common::module::{self, Kernel};
use kernels_common::stream::Stream;

use crate::{DEFAULT_BLOCK, PTX};

/// Its name.
pub const NAME: &str = "racy";

/// Loses additions.
#[derive(Debug)]
pub struct Racy<T> {
    kernel: Kernel,
    element: std::marker::PhantomData<fn(T)>,
}

impl<T: Element> Racy<T> {
    /// Loads the kernel.
    ///
    /// # Errors
    /// If it cannot be loaded (see [`module::load`]).
    pub fn new(stream: &Stream) -> Result<Self> {
        let [kernel] = module::load(stream, PTX, [&format!("racy_{}", T::NAME)])?;
        Ok(Self { kernel, element: std::marker::PhantomData })
    }

    /// Starts computing something that is most likely not the sum of `input` into the one element of `output`, and
    /// returns.
    ///
    /// # Errors
    /// [`StreamMismatch`](kernels_common::error::Error::StreamMismatch);
    /// [`LengthMismatch`](kernels_common::error::Error::LengthMismatch) unless `output` has one element;
    /// [`TooLarge`](kernels_common::error::Error::TooLarge); on the simulator
    /// [`Fault`](kernels_common::error::Error::Fault), which names the race, unless it was opened with `check=no-races`.
    pub fn enqueue_wrong_sum(&mut self, input: Slice<'_, T>, mut output: SliceMut<'_, T::Sum>) -> Result<()> {
        input.check(self.kernel.stream(), "the input")?;
        output.check(self.kernel.stream(), "the output")?;
        output.check_len(1, "the output")?;
        let n = input.len() as u64;
        let config = LaunchConfig::covering(n, DEFAULT_BLOCK)?;
        output.fill_zero()?;
        // SAFETY: the input has n elements, the output one. The race is between plain loads and stores of the device to
        // one aligned element, which gives some value that one of the threads stored.
        unsafe { self.kernel.launch(config, (input, n, output)) }
    }
}
