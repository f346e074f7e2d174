//! Vector addition.

use anyhow::Result;
use examples::dtype::Value;
use kernels_common::memory::{Slice, SliceMut};
use vecadd::{Variant, VecAdd};

use super::array::{ArrayWay, Arrays, Operation};
use super::builder::Builder;
use super::peers::PeerLibrary;
use super::size::Size;
use super::subject::Role;

/// The variants but the default, with their names.
pub(crate) fn variants() -> impl Iterator<Item = (Variant, String)> {
    let others = Variant::ALL.into_iter().filter(|variant| *variant != Variant::default());
    others.map(|variant| (variant, format!("vecadd/{variant}")))
}

/// The ways to add two vectors.
pub(crate) fn vecadd<T: Value>(builder: &mut Builder<'_>) -> Result<Arrays<T>> {
    let operation = Operation { inputs: 2, element: |_, index, x: &[T], y: &[T]| T::add(x[index], y[index]) };
    let mut arrays = Arrays::new(builder.stream, builder.largest, builder.seed, operation.inputs)?;
    arrays.add(Role::Ours, "vecadd", operation, VecAdd::<T>::new(builder.stream)?);
    for (variant, name) in variants() {
        if builder.wants(&name) {
            arrays.add(Role::Variant, &name, operation, VecAdd::<T>::with_variant(builder.stream, variant)?);
        }
    }
    let cub = builder.peers.library.map_err(anyhow::Error::msg);
    let cub = cub.and_then(|library| library.check_type(T::DTYPE).map(|()| Cub { library }));
    if let Some(cub) = builder.present("CUB", cub) {
        arrays.add(Role::Peer, "CUB", operation, cub);
    }
    arrays.add_copy();
    Ok(arrays)
}

impl<T: Value> ArrayWay<T> for VecAdd<T> {
    fn enqueue(&mut self, _: Size, x: Slice<'_, T>, y: Slice<'_, T>, out: SliceMut<'_, T>) -> Result<()> {
        Ok(self.add(x, y, out)?)
    }
}

/// `cub::DeviceTransform`.
struct Cub {
    library: &'static PeerLibrary,
}

impl<T: Value> ArrayWay<T> for Cub {
    fn enqueue(&mut self, _: Size, x: Slice<'_, T>, y: Slice<'_, T>, out: SliceMut<'_, T>) -> Result<()> {
        self.library.add(x, y, out)
    }
}
