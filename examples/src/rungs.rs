//! Every way to sum that the workspace has, as rungs of one ladder.

use atomic_reduce::AtomicReduce;
use atomic_reduce::racy::{self, Racy};
use grid_sync::GridSync;
use kernels_common::element::Element;
use kernels_common::error::{Error, Result};
use kernels_common::memory::{Slice, SliceMut};
use kernels_common::stream::Stream;
use kernels_common::sum::Sum;
use shuffle_reduce::ShuffleReduce;
use single_pass::SinglePass;
use tree_reduce::TreeReduce;
use twopass::TwoPass;

/// The name of the way that is wrong on purpose.
pub const RACY: &str = racy::NAME;

/// One way to sum.
#[derive(Debug)]
pub struct Rung<T: Element> {
    of_crate: &'static str,
    way: Way<T>,
}

#[derive(Debug)]
enum Way<T: Element> {
    Right(Box<dyn Sum<T>>),
    Racy(Racy<T>),
}

impl<T: Element> Rung<T> {
    fn right(of_crate: &'static str, sum: impl Sum<T> + 'static) -> Self {
        Self { of_crate, way: Way::Right(Box::new(sum)) }
    }

    /// The crate that it is from.
    #[must_use]
    pub fn of_crate(&self) -> &'static str {
        self.of_crate
    }

    /// The variant's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.way {
            Way::Right(sum) => sum.name(),
            Way::Racy(_) => racy::NAME,
        }
    }

    /// Whether it is wrong on purpose.
    #[must_use]
    pub fn is_racy(&self) -> bool {
        matches!(self.way, Way::Racy(_))
    }

    /// Whether it promises the same bits at every run.
    #[must_use]
    pub fn is_reproducible(&self) -> bool {
        match &self.way {
            Way::Right(sum) => sum.is_reproducible(),
            Way::Racy(_) => false,
        }
    }

    /// See [`Sum::reserve`].
    ///
    /// # Errors
    /// As there.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        match &mut self.way {
            Way::Right(sum) => sum.reserve(n),
            Way::Racy(_) => Ok(()),
        }
    }

    /// Starts computing the sum of `input` into the one element of `output`; see [`Sum::enqueue`].
    ///
    /// # Errors
    /// As there.
    pub fn enqueue(&mut self, input: Slice<'_, T>, output: SliceMut<'_, T::Sum>) -> Result<()> {
        match &mut self.way {
            Way::Right(sum) => sum.enqueue(input, output),
            Way::Racy(racy) => racy.enqueue_wrong_sum(input, output),
        }
    }
}

/// The rung that is wrong on purpose.
///
/// # Errors
/// If its kernel cannot be loaded.
pub fn racy<T: Element>(stream: &Stream) -> Result<Rung<T>> {
    Ok(Rung { of_crate: "atomic-reduce", way: Way::Racy(Racy::new(stream)?) })
}

/// Every rung, from below, for the device and the type; those that the device or the type rules out are left out.
///
/// # Errors
/// If a kernel cannot be loaded.
pub fn all<T: Element>(stream: &Stream) -> Result<Vec<Rung<T>>> {
    let mut rungs = vec![racy(stream)?];
    for variant in atomic_reduce::Variant::ALL {
        rungs.push(Rung::right("atomic-reduce", AtomicReduce::new(stream, variant)?));
    }
    for variant in tree_reduce::Variant::ALL {
        rungs.push(Rung::right("tree-reduce", TreeReduce::new(stream, variant)?));
    }
    for variant in shuffle_reduce::Variant::ALL {
        rungs.extend(if_possible(ShuffleReduce::new(stream, variant))?.map(|sum| Rung::right("shuffle-reduce", sum)));
    }
    for variant in twopass::Variant::ALL {
        rungs.push(Rung::right("twopass", TwoPass::new(stream, variant)?));
    }
    for variant in grid_sync::Variant::ALL {
        rungs.extend(if_possible(GridSync::new(stream, variant))?.map(|sum| Rung::right("grid-sync", sum)));
    }
    rungs.push(Rung::right("single-pass", SinglePass::new(stream)?));
    Ok(rungs)
}

/// Crate and name of every rung, from below, also of those that a device or a type rules out.
#[must_use]
pub fn names() -> Vec<(&'static str, &'static str)> {
    fn of<V, const N: usize>(
        of_crate: &'static str,
        variants: [V; N],
        name: fn(V) -> &'static str,
    ) -> impl Iterator<Item = (&'static str, &'static str)> {
        variants.into_iter().map(move |variant| (of_crate, name(variant)))
    }
    let racy = [("atomic-reduce", racy::NAME)];
    let rungs = racy.into_iter().chain(of("atomic-reduce", atomic_reduce::Variant::ALL, atomic_reduce::Variant::name));
    let rungs = rungs.chain(of("tree-reduce", tree_reduce::Variant::ALL, tree_reduce::Variant::name));
    let rungs = rungs.chain(of("shuffle-reduce", shuffle_reduce::Variant::ALL, shuffle_reduce::Variant::name));
    let rungs = rungs.chain(of("twopass", twopass::Variant::ALL, twopass::Variant::name));
    let rungs = rungs.chain(of("grid-sync", grid_sync::Variant::ALL, grid_sync::Variant::name));
    rungs.chain([("single-pass", "single-pass")]).collect()
}

/// Nothing where the device or the type rules a way out.
fn if_possible<S>(made: Result<S>) -> Result<Option<S>> {
    match made {
        Err(Error::NoVariant { .. } | Error::Unsupported { .. } | Error::InvalidElement { .. }) => Ok(None),
        made => made.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use kernels_common::device::Device;

    use super::*;

    #[test]
    fn every_rung_has_its_name() {
        // A device and a type that rule out none.
        let stream = Device::open("sim:cc=9.0").unwrap().stream().unwrap();
        let all: Vec<_> = all::<i32>(&stream).unwrap().iter().map(|rung| (rung.of_crate(), rung.name())).collect();
        assert_eq!(names(), all);
    }
}
