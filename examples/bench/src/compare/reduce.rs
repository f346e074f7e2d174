//! Sums, minima and maxima of a slice.

use anyhow::Result;
use examples::dtype::Value;
use examples::rungs::{self, Rung};
use kernels_common::element::Element;
use kernels_common::memory::{DeviceBuffer, Slice, SliceMut};
use kernels_common::stream::Stream;
use single_pass::{Maximum, Minimum, Operation, Plus, Reduce};

use super::builder::Builder;
use super::peers::{PeerLibrary, Reduction};
use super::scalar::{Scalar, ScalarWay};
use super::subject::Role;

/// The names of the ways to sum but the default, and but the one that is wrong on purpose.
pub(crate) fn variants() -> Vec<String> {
    let others =
        rungs::names().into_iter().filter(|(of_crate, name)| *of_crate != "single-pass" && *name != rungs::RACY);
    others.map(|(of_crate, name)| format!("{of_crate}/{name}")).collect()
}

/// The ways to sum.
pub(crate) fn sum<T: Value>(builder: &mut Builder<'_>) -> Result<Scalar<T, T::Sum, 1>> {
    let mut scalar = reduction::<T, Plus>(builder, !T::IS_FLOAT)?;
    if builder.wants_variants() {
        let rungs = rungs::all::<T>(builder.stream)?;
        for rung in rungs.into_iter().filter(|rung| !rung.is_racy() && rung.of_crate() != "single-pass") {
            let name = format!("{}/{}", rung.of_crate(), rung.name());
            if builder.wants(&name) {
                scalar.add(Role::Variant, name, rung);
            }
        }
    }
    with_peers(builder, scalar, Reduction::Sum)
}

/// The ways to find the minimum.
pub(crate) fn minimum<T: Value>(builder: &mut Builder<'_>) -> Result<Scalar<T, T, 1>> {
    let scalar = reduction::<T, Minimum>(builder, true)?;
    with_peers(builder, scalar, Reduction::Minimum)
}

/// The ways to find the maximum.
pub(crate) fn maximum<T: Value>(builder: &mut Builder<'_>) -> Result<Scalar<T, T, 1>> {
    let scalar = reduction::<T, Maximum>(builder, true)?;
    with_peers(builder, scalar, Reduction::Maximum)
}

/// The default alone, of an operation whose bits depend on no order, or do.
fn reduction<T: Value, Op: Operation<T>>(builder: &Builder<'_>, any_order: bool) -> Result<Scalar<T, Op::Output, 1>> {
    let canonical = |[x]: [&[T]; 1]| Ok(Op::canonical(x));
    let [offset, _] = builder.offsets;
    let mut scalar = Scalar::new(builder.stream, builder.largest, [offset], builder.seed, any_order, canonical)?;
    scalar.add(Role::Ours, "single-pass", Reduce::<T, Op>::new(builder.stream)?);
    Ok(scalar)
}

fn with_peers<T: Value, R: Element>(
    builder: &mut Builder<'_>,
    mut scalar: Scalar<T, R, 1>,
    reduction: Reduction,
) -> Result<Scalar<T, R, 1>> {
    let cub = builder.peers.library.map_err(anyhow::Error::msg);
    let cub = cub.and_then(|library| Cub::new::<T>(library, reduction, builder.stream));
    if let Some(cub) = builder.present("CUB", cub) {
        scalar.add(Role::Peer, "CUB", cub);
    }
    builder.add_readers(&mut scalar);
    Ok(scalar)
}

impl<T: Value, Op: Operation<T>> ScalarWay<T, Op::Output, 1> for Reduce<T, Op> {
    fn reserve(&mut self, n: usize) -> Result<()> {
        Ok(Reduce::reserve(self, n)?)
    }

    fn enqueue(&mut self, [x]: [Slice<'_, T>; 1], out: SliceMut<'_, Op::Output>) -> Result<()> {
        Ok(Reduce::enqueue(self, x, out)?)
    }

    fn value(&mut self, [x]: [Slice<'_, T>; 1], _: SliceMut<'_, Op::Output>) -> Result<Op::Output> {
        Ok(Reduce::value(self, x)?)
    }
}

impl<T: Value> ScalarWay<T, T::Sum, 1> for Rung<T> {
    fn reserve(&mut self, n: usize) -> Result<()> {
        Ok(Rung::reserve(self, n)?)
    }

    fn enqueue(&mut self, [x]: [Slice<'_, T>; 1], out: SliceMut<'_, T::Sum>) -> Result<()> {
        Ok(Rung::enqueue(self, x, out)?)
    }

    fn value(&mut self, [x]: [Slice<'_, T>; 1], mut out: SliceMut<'_, T::Sum>) -> Result<T::Sum> {
        Rung::enqueue(self, x, out.reborrow())?;
        let mut value = [T::Sum::default()];
        out.as_slice().copy_to(&mut value)?;
        Ok(value[0])
    }
}

/// `cub::DeviceReduce`.
struct Cub {
    library: &'static PeerLibrary,
    reduction: Reduction,
    workspace: DeviceBuffer<u8>,
}

impl Cub {
    fn new<T: Value>(library: &'static PeerLibrary, reduction: Reduction, stream: &Stream) -> Result<Cub> {
        let workspace = library.workspace::<T>(stream, reduction, 1)?;
        Ok(Cub { library, reduction, workspace })
    }
}

impl<T: Value, R: Element> ScalarWay<T, R, 1> for Cub {
    fn reserve(&mut self, n: usize) -> Result<()> {
        self.workspace = self.library.workspace::<T>(self.workspace.stream(), self.reduction, n as u64)?;
        Ok(())
    }

    fn enqueue(&mut self, [x]: [Slice<'_, T>; 1], out: SliceMut<'_, R>) -> Result<()> {
        self.library.reduce(self.reduction, x, out, &mut self.workspace)
    }

    fn value(&mut self, [x]: [Slice<'_, T>; 1], mut out: SliceMut<'_, R>) -> Result<R> {
        self.library.reduce(self.reduction, x, out.reborrow(), &mut self.workspace)?;
        self.library.fetch(out.as_slice())
    }
}
