//! Dot products.

use anyhow::Result;
use dot::{Dot, Variant};
use examples::dtype::Value;
use kernels_common::memory::{Slice, SliceMut};

use super::builder::Builder;
use super::peers::{Cublas, Width};
use super::scalar::{Scalar, ScalarWay};
use super::subject::Role;

/// The variants but the default, with their names.
pub(crate) fn variants() -> impl Iterator<Item = (Variant, String)> {
    let others = Variant::ALL.into_iter().filter(|variant| *variant != Variant::default());
    others.map(|variant| (variant, format!("dot/{variant}")))
}

/// The ways to compute a dot product.
pub(crate) fn dot<T: Value>(builder: &mut Builder<'_>) -> Result<Scalar<T, T::Sum, 2>> {
    let canonical = |[x, y]: [&[T]; 2]| Ok(dot::canonical(x, y)?);
    let Builder { stream, largest, offsets, seed, .. } = *builder;
    let mut scalar = Scalar::new(stream, largest, offsets, seed, !T::IS_FLOAT, canonical)?;
    scalar.add(Role::Ours, "dot", Dot::<T>::new(builder.stream)?);
    for (variant, name) in variants() {
        if builder.wants(&name) {
            scalar.add(Role::Variant, name, Dot::<T>::with_variant(builder.stream, variant)?);
        }
    }
    for (name, width) in [("cuBLAS", Width::Bits32), ("cuBLAS 64-bit", Width::Bits64)] {
        let cublas = builder.peers.cublas.map_err(anyhow::Error::msg);
        let cublas = cublas.and_then(|cublas| cublas.check_dot(T::DTYPE, width).map(|()| CublasDot { cublas, width }));
        if let Some(cublas) = builder.present(name, cublas) {
            scalar.add(Role::Peer, name, cublas);
        }
    }
    builder.add_readers(&mut scalar);
    Ok(scalar)
}

impl<T: Value> ScalarWay<T, T::Sum, 2> for Dot<T> {
    fn reserve(&mut self, n: usize) -> Result<()> {
        Ok(Dot::reserve(self, n)?)
    }

    fn enqueue(&mut self, [x, y]: [Slice<'_, T>; 2], out: SliceMut<'_, T::Sum>) -> Result<()> {
        Ok(Dot::enqueue(self, x, y, out)?)
    }

    fn value(&mut self, [x, y]: [Slice<'_, T>; 2], _: SliceMut<'_, T::Sum>) -> Result<T::Sum> {
        Ok(Dot::value(self, x, y)?)
    }
}

/// `cublasSdot`, `cublasDdot`: into device memory, and, for a value, into the host's.
struct CublasDot {
    cublas: &'static Cublas,
    width: Width,
}

/// It is there for types alone whose sums are of the same type.
impl<T: Value> ScalarWay<T, T::Sum, 2> for CublasDot {
    fn enqueue(&mut self, [x, y]: [Slice<'_, T>; 2], out: SliceMut<'_, T::Sum>) -> Result<()> {
        self.cublas.dot(self.width, x, y, out)
    }

    fn value(&mut self, [x, y]: [Slice<'_, T>; 2], _: SliceMut<'_, T::Sum>) -> Result<T::Sum> {
        self.cublas.dot_value(self.width, x, y)
    }
}
