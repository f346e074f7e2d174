//! Matrices in device-visible memory: rows of a slice, a pitch apart.

use std::ops::RangeBounds;

use bytemuck::Pod;

use super::slice::{Slice, SliceMut, resolve};
use crate::error::{Error, Result};
use crate::stream::Stream;

/// Rows, columns and pitch, and how many elements they span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    rows: usize,
    columns: usize,
    pitch: usize,
}

impl Shape {
    /// Refuses rows that overlap, and a matrix that does not fit `len` elements.
    fn check(self, len: usize) -> Result<Self> {
        let Self { rows, columns, pitch } = self;
        let fits = pitch >= columns && self.span().is_some_and(|span| span <= len);
        if fits { Ok(self) } else { Err(Error::MatrixShape { rows, columns, pitch, len }) }
    }

    /// From the first element to the last; the last row has no gap behind it. `None` beyond what a `usize` holds.
    fn span(self) -> Option<usize> {
        match (self.rows, self.columns) {
            (0, _) | (_, 0) => Some(0),
            (rows, columns) => (rows - 1).checked_mul(self.pitch)?.checked_add(columns),
        }
    }

    /// The part in these rows and columns, and where in the slice it is.
    fn part(
        self,
        rows: &impl RangeBounds<usize>,
        columns: &impl RangeBounds<usize>,
    ) -> Result<(Self, std::ops::Range<usize>)> {
        let (first_row, rows) = resolve(rows, self.rows, || "rows".to_owned())?;
        let (first_column, columns) = resolve(columns, self.columns, || "columns".to_owned())?;
        let part = Self { rows, columns, pitch: self.pitch };
        // A part with elements lies within the span of the whole, which was checked.
        let range = match part.span() {
            None | Some(0) => 0..0,
            Some(span) => {
                let start = first_row * self.pitch + first_column;
                start..start + span
            }
        };
        Ok((part, range))
    }
}

/// A matrix that the device can read: element (r, c) is element r · pitch + c of a slice.
///
/// ```
/// use kernels_common::device::Device;
/// use kernels_common::memory::Matrix;
///
/// let stream = Device::open("auto")?.stream()?;
/// let x = stream.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let matrix = Matrix::new(&x, 2, 3)?;
/// let right = matrix.sub_matrix(.., 1..)?; // 2 3 / 5 6
/// assert_eq!((right.rows(), right.columns(), right.pitch()), (2, 2, 3));
/// # Ok::<(), kernels_common::error::Error>(())
/// ```
#[derive(Debug)]
pub struct Matrix<'a, T> {
    slice: Slice<'a, T>,
    shape: Shape,
}

impl<T> Clone for Matrix<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Matrix<'_, T> {}

/// A matrix that the device can write: element (r, c) is element r · pitch + c of a slice. It borrows the elements
/// between its rows too.
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    slice: SliceMut<'a, T>,
    shape: Shape,
}

macro_rules! common {
    ($matrix:ident, $slice:ident) => {
        impl<'a, T: Pod> $matrix<'a, T> {
            /// `rows` rows of `columns` elements each, one after the other from the start of `slice`.
            ///
            /// # Errors
            /// [`Error::MatrixShape`] if the slice is too short.
            pub fn new(slice: impl Into<$slice<'a, T>>, rows: usize, columns: usize) -> Result<Self> {
                Self::with_pitch(slice, rows, columns, columns)
            }

            /// `rows` rows of `columns` elements each, of which the first starts where `slice` does, and each other
            /// one `pitch` elements after the one before.
            ///
            /// # Errors
            /// [`Error::MatrixShape`] if the slice is too short, or if `pitch` is less than `columns`.
            pub fn with_pitch(
                slice: impl Into<$slice<'a, T>>,
                rows: usize,
                columns: usize,
                pitch: usize,
            ) -> Result<Self> {
                let slice = slice.into();
                let shape = Shape { rows, columns, pitch }.check(slice.len())?;
                Ok(Self { slice, shape })
            }
        }

        impl<'a, T> $matrix<'a, T> {
            /// Number of rows.
            #[must_use]
            pub fn rows(&self) -> usize {
                self.shape.rows
            }

            /// Number of columns: elements of a row.
            #[must_use]
            pub fn columns(&self) -> usize {
                self.shape.columns
            }

            /// Elements from the start of one row to the start of the next.
            #[must_use]
            pub fn pitch(&self) -> usize {
                self.shape.pitch
            }

            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.rows() == 0 || self.columns() == 0
            }

            /// The stream that the memory belongs to.
            #[must_use]
            pub fn stream(&self) -> &'a Stream {
                self.slice.stream()
            }

            /// The slice that the rows lie in. The first row starts where it does.
            #[must_use]
            pub fn into_slice(self) -> $slice<'a, T> {
                self.slice
            }
        }
    };
}

common!(Matrix, Slice);
common!(MatrixMut, SliceMut);

impl<'a, T: Pod> Matrix<'a, T> {
    /// The part in these rows and columns.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn sub_matrix(&self, rows: impl RangeBounds<usize>, columns: impl RangeBounds<usize>) -> Result<Self> {
        let (shape, range) = self.shape.part(&rows, &columns)?;
        Ok(Self { slice: self.slice.slice(range)?, shape })
    }
}

impl<'a, T: Pod> MatrixMut<'a, T> {
    /// The part in these rows and columns.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn sub_matrix_mut(self, rows: impl RangeBounds<usize>, columns: impl RangeBounds<usize>) -> Result<Self> {
        let (shape, range) = self.shape.part(&rows, &columns)?;
        Ok(Self { slice: self.slice.slice_mut(range)?, shape })
    }

    /// The same matrix, borrowed for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> MatrixMut<'_, T> {
        MatrixMut { slice: self.slice.reborrow(), shape: self.shape }
    }

    /// The same matrix, shared.
    #[must_use]
    pub fn as_matrix(&self) -> Matrix<'_, T> {
        Matrix { slice: self.slice.as_slice(), shape: self.shape }
    }
}
