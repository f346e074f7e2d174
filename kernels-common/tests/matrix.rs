//! Matrices as views of slices.

use kernels_common::device::Device;
use kernels_common::error::Error;
use kernels_common::memory::{Matrix, MatrixMut};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// A part of a matrix has the elements that its place says.
    #[test]
    fn parts_are_where_they_should_be(
        (rows, columns) in (0usize..9, 0usize..9),
        (gap, offset, rest) in (0usize..4, 0usize..4, 0usize..4),
        cuts in any::<[prop::sample::Index; 4]>(),
    ) {
        let pitch = columns + gap;
        let span = if rows * columns == 0 { 0 } else { (rows - 1) * pitch + columns };
        let values: Vec<u32> = (0..(offset + span + rest) as u32).collect();
        let stream = Device::open("sim").unwrap().stream().unwrap();
        let mut buffer = stream.upload(&values).unwrap();
        let range = |a: usize, b: usize, len: usize| {
            let (a, b) = (cuts[a].index(len + 1), cuts[b].index(len + 1));
            a.min(b)..a.max(b)
        };
        let (part_rows, part_columns) = (range(0, 1, rows), range(2, 3, columns));

        let slice = buffer.slice(offset..).unwrap();
        let part = Matrix::with_pitch(slice, rows, columns, pitch).unwrap();
        let part = part.sub_matrix(part_rows.clone(), part_columns.clone()).unwrap();
        prop_assert_eq!((part.rows(), part.columns(), part.pitch()), (part_rows.len(), part_columns.len(), pitch));
        let empty = part.is_empty();
        let found = part.into_slice().download().unwrap();
        for (r, row) in part_rows.clone().enumerate() {
            for (c, column) in part_columns.clone().enumerate() {
                prop_assert_eq!(found[r * pitch + c] as usize, offset + row * pitch + column);
            }
        }

        let slice = buffer.slice_mut(offset..).unwrap();
        let part_mut = MatrixMut::with_pitch(slice, rows, columns, pitch).unwrap();
        let mut part_mut = part_mut.sub_matrix_mut(part_rows, part_columns).unwrap();
        prop_assert_eq!((part_mut.is_empty(), part_mut.pitch()), (empty, pitch));
        prop_assert_eq!(part_mut.as_matrix().into_slice().download().unwrap(), &found[..]);
        prop_assert_eq!(part_mut.reborrow().into_slice().len(), found.len());
    }
}

#[test]
fn what_does_not_fit_is_a_typed_error() {
    let stream = Device::open("sim").unwrap().stream().unwrap();
    let mut buffer = stream.alloc_zeros::<f32>(12).unwrap();
    for (rows, columns, pitch, why) in [
        (3, 5, 5, "it takes 15"),
        (13, 1, 1, "it takes 13"),
        (3, 4, 3, "a pitch of at least 4"),
        (0, 4, 3, "a pitch of at least 4"),
        (2, 4, 9, "it takes 13"),
        (usize::MAX, 2, 2, "it takes 36893488147419103230"),
        (3, 2, usize::MAX, "it takes 36893488147419103232"),
        (1, usize::MAX, usize::MAX, "it takes 18446744073709551615"),
    ] {
        let refused = Matrix::with_pitch(&buffer, rows, columns, pitch).unwrap_err();
        let named = matches!(refused, Error::MatrixShape { rows: r, columns: c, pitch: p, len: 12 }
            if (r, c, p) == (rows, columns, pitch));
        assert!(named && refused.to_string().contains(why), "{refused}");
        assert!(matches!(
            MatrixMut::with_pitch(&mut buffer, rows, columns, pitch),
            Err(Error::MatrixShape { len: 12, .. })
        ));
    }
    // The last row needs no gap behind it, and nothing takes no room.
    assert!(Matrix::with_pitch(&buffer, 3, 4, 4).is_ok() && Matrix::with_pitch(&buffer, 3, 2, 5).is_ok());
    assert!(Matrix::with_pitch(&buffer, usize::MAX, 0, usize::MAX).unwrap().is_empty());
    assert!(Matrix::with_pitch(&buffer, 0, 5, usize::MAX).unwrap().is_empty());

    let matrix = Matrix::new(&buffer, 3, 4).unwrap();
    let text = |error: Error| error.to_string();
    let rows = text(matrix.sub_matrix(1..4, ..).unwrap_err());
    assert!(rows.starts_with("the range 1..4 does not lie within 3 rows."), "{rows}");
    let columns = text(matrix.sub_matrix(.., 5..).unwrap_err());
    assert!(columns.starts_with("the range 5.. does not lie within 4 columns."), "{columns}");
    assert!(matrix.sub_matrix(3.., 4..).unwrap().is_empty());
    let matrix = MatrixMut::new(&mut buffer, 3, 4).unwrap();
    assert!(matches!(matrix.sub_matrix_mut(.., ..5), Err(Error::OutOfRange { len: 4, .. })));
}
