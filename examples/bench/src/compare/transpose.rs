//! Transposes.

use anyhow::{Result, bail};
use examples::dtype::Value;
use kernels_common::memory::{Matrix, MatrixMut, Slice, SliceMut};
use transpose_padding::{Transpose, Variant};

use super::array::{ArrayWay, Arrays, Operation};
use super::builder::Builder;
use super::peers::Cublas;
use super::size::Size;
use super::subject::Role;

/// The variants but the default, with their names.
pub(crate) fn variants() -> impl Iterator<Item = (Variant, String)> {
    let others = Variant::ALL.into_iter().filter(|variant| *variant != Variant::default());
    others.map(|variant| (variant, format!("transpose-padding/{variant}")))
}

/// The ways to transpose.
pub(crate) fn transpose<T: Value>(builder: &mut Builder<'_>) -> Result<Arrays<T>> {
    let operation = Operation { inputs: 1, element };
    let mut arrays = Arrays::new(builder.stream, builder.largest, builder.seed, operation.inputs)?;
    arrays.add(Role::Ours, "transpose-padding", operation, Transpose::<T>::new(builder.stream)?);
    for (variant, name) in variants() {
        if builder.wants(&name) {
            arrays.add(Role::Variant, &name, operation, Transpose::<T>::with_variant(builder.stream, variant)?);
        }
    }
    let cublas = builder.peers.cublas.map_err(anyhow::Error::msg);
    let cublas = cublas.and_then(|cublas| cublas.check_transpose(T::DTYPE).map(|()| Geam { cublas }));
    if let Some(cublas) = builder.present("cuBLAS", cublas) {
        arrays.add(Role::Peer, "cuBLAS", operation, cublas);
    }
    arrays.add_copy();
    Ok(arrays)
}

/// An element of the transpose of `x`.
fn element<T: Value>(size: Size, index: usize, x: &[T], _: &[T]) -> T {
    let Size::Matrix(rows, columns) = size else { return x[index] };
    let (rows, columns) = (rows as usize, columns as usize);
    x[index % rows * columns + index / rows]
}

/// Input and output of a size.
fn matrices<'a, T: Value>(
    size: Size,
    x: Slice<'a, T>,
    out: SliceMut<'a, T>,
) -> Result<(Matrix<'a, T>, MatrixMut<'a, T>)> {
    let Size::Matrix(rows, columns) = size else { bail!("{size} is no shape of a matrix") };
    let (rows, columns) = (rows as usize, columns as usize);
    Ok((Matrix::new(x, rows, columns)?, MatrixMut::new(out, columns, rows)?))
}

impl<T: Value> ArrayWay<T> for Transpose<T> {
    fn enqueue(&mut self, size: Size, x: Slice<'_, T>, _: Slice<'_, T>, out: SliceMut<'_, T>) -> Result<()> {
        let (input, output) = matrices(size, x, out)?;
        Ok(Transpose::enqueue(self, input, output)?)
    }
}

/// `cublasSgeam`, `cublasDgeam`.
struct Geam {
    cublas: &'static Cublas,
}

impl<T: Value> ArrayWay<T> for Geam {
    fn enqueue(&mut self, size: Size, x: Slice<'_, T>, _: Slice<'_, T>, out: SliceMut<'_, T>) -> Result<()> {
        let (input, output) = matrices(size, x, out)?;
        self.cublas.transpose(input, output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let found: Vec<f32> = (0..6).map(|index| element(Size::Matrix(2, 3), index, &x, &[])).collect();
        assert_eq!(found, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
