//! Every variant, for every size of element, against a plain loop, on every device present.

use bytemuck::Pod;
use kernels_common::Counters;
use kernels_common::device::Device;
use kernels_common::error::Error;
use kernels_common::graph::Graph;
use kernels_common::memory::{DeviceBuffer, Matrix, MatrixMut};
use kernels_common::stream::Stream;
use kernels_common::testing::devices;
use kernels_common::testing::schedules::on_every_schedule;
use proptest::prelude::*;
use transpose_padding::{Transpose, Variant};

/// A matrix of so many rows and columns, and how it and its transpose lie in memory.
#[derive(Clone, Copy, Debug)]
struct Case {
    rows: usize,
    columns: usize,
    input: Layout,
    output: Layout,
}

/// Elements before the first row, and rules for the pitch.
#[derive(Clone, Copy, Debug)]
struct Layout {
    offset: usize,
    /// Elements between rows.
    gap: usize,
    /// What the pitch is then rounded up to a multiple of.
    multiple: usize,
}

impl Layout {
    const DENSE: Layout = Layout { offset: 0, gap: 0, multiple: 1 };

    fn pitch(self, columns: usize) -> usize {
        (columns + self.gap).next_multiple_of(self.multiple)
    }

    /// Elements of a slice that such a matrix lies in, and a few more.
    fn len(self, rows: usize, columns: usize) -> usize {
        self.offset + rows * self.pitch(columns) + 3
    }
}

impl Case {
    fn dense(rows: usize, columns: usize) -> Case {
        Case { rows, columns, input: Layout::DENSE, output: Layout::DENSE }
    }
}

/// Values that differ from their neighbours in every byte, and from those of another seed.
fn pattern<T: Pod>(len: usize, seed: u64) -> Vec<T> {
    let mut elements = vec![T::zeroed(); len];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut elements);
    for (index, chunk) in bytes.chunks_mut(8).enumerate() {
        let noise = (index as u64 + 1 + (seed << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        chunk.copy_from_slice(&(noise ^ noise >> 29).to_ne_bytes()[..chunk.len()]);
    }
    elements
}

/// Transposes, and compares the whole buffer of the output with what a plain loop makes of it.
fn check<T: Pod + PartialEq>(device: &Device, variant: Variant, case: Case) -> Result<(), TestCaseError> {
    let Case { rows, columns, input, output } = case;
    let stream = device.stream().unwrap();
    let x = pattern::<T>(input.len(rows, columns), 1);
    let mut expected = pattern::<T>(output.len(columns, rows), 2);
    let (in_pitch, out_pitch) = (input.pitch(columns), output.pitch(rows));
    let dx = stream.upload(&x).unwrap();
    let mut dz = stream.upload(&expected).unwrap();

    let from = Matrix::with_pitch(dx.slice(input.offset..).unwrap(), rows, columns, in_pitch).unwrap();
    let to = MatrixMut::with_pitch(dz.slice_mut(output.offset..).unwrap(), columns, rows, out_pitch).unwrap();
    Transpose::<T>::with_variant(&stream, variant).unwrap().enqueue(from, to).unwrap();

    for (row, line) in x[input.offset..].chunks(in_pitch.max(1)).take(rows).enumerate() {
        for (column, &value) in line[..columns].iter().enumerate() {
            expected[output.offset + column * out_pitch + row] = value;
        }
    }
    let found = dz.download().unwrap();
    if found != expected {
        let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        let size = size_of::<T>();
        prop_assert!(false, "{variant}, {size} bytes, on {device:?}: element {wrong:?} is wrong, of {case:?}");
    }
    Ok(())
}

fn check_every_size(device: &Device, variant: Variant, case: Case) -> Result<(), TestCaseError> {
    check::<u8>(device, variant, case)?;
    check::<u16>(device, variant, case)?;
    check::<u32>(device, variant, case)?;
    check::<u64>(device, variant, case)?;
    check::<u128>(device, variant, case)
}

/// Lengths of a side: any, and those beside the edge of a tile.
fn sides() -> impl Strategy<Value = usize> {
    let edges = proptest::sample::select(vec![32usize, 64, 128, 160, 192]);
    prop_oneof![0usize..200, edges.prop_flat_map(|edge| edge - 1..=edge + 1)]
}

/// Rows that packets can be moved from and to whole, and rows that start anywhere.
fn layouts() -> impl Strategy<Value = Layout> {
    let aligned = (0usize..3, 0usize..20).prop_map(|(packets, gap)| (16 * packets, gap, 16));
    let any = (0usize..40, 0usize..40, 1usize..5);
    prop_oneof![aligned, any].prop_map(|(offset, gap, multiple)| Layout { offset, gap, multiple })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn every_variant_and_size_agrees_with_a_plain_loop(
        rows in sides(),
        columns in sides(),
        input in layouts(),
        output in layouts(),
    ) {
        for device in devices() {
            for variant in Variant::ALL {
                check_every_size(device, variant, Case { rows, columns, input, output })?;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_gives_what_calls_give(
        rows in sides(),
        columns in sides(),
        input in layouts(),
        output in layouts(),
    ) {
        for device in devices() {
            for variant in Variant::ALL {
                check_graph::<u8>(device, variant, Case { rows, columns, input, output })?;
                check_graph::<u32>(device, variant, Case { rows, columns, input, output })?;
                check_graph::<u128>(device, variant, Case { rows, columns, input, output })?;
            }
        }
    }
}

/// What a graph of transposes works on: a matrix, its transpose, and that one's.
struct Captured<T> {
    transpose: Transpose<T>,
    case: Case,
    matrix: DeviceBuffer<T>,
    transposed: DeviceBuffer<T>,
    again: DeviceBuffer<T>,
}

impl<T: Pod> Captured<T> {
    /// There and back. A kernel that is not loaded yet is loaded now.
    fn record(&mut self) -> Result<(), Error> {
        let Captured { transpose, case: Case { rows, columns, input, output }, matrix, transposed, again } = self;
        let (rows, columns, in_pitch, out_pitch) = (*rows, *columns, input.pitch(*columns), output.pitch(*rows));
        let from = Matrix::with_pitch(matrix.slice(input.offset..)?, rows, columns, in_pitch)?;
        let to = MatrixMut::with_pitch(transposed.slice_mut(output.offset..)?, columns, rows, out_pitch)?;
        transpose.enqueue(from, to)?;
        let from = Matrix::with_pitch(transposed.slice(output.offset..)?, columns, rows, out_pitch)?;
        let to = MatrixMut::with_pitch(again.slice_mut(input.offset..)?, rows, columns, in_pitch)?;
        transpose.enqueue(from, to)
    }
}

/// A transpose there and back gives the matrix, launch after launch.
fn check_graph<T: Pod + PartialEq>(device: &Device, variant: Variant, case: Case) -> Result<(), TestCaseError> {
    let Case { rows, columns, input, output } = case;
    let stream = device.stream().unwrap();
    let captured = Captured {
        transpose: Transpose::<T>::with_variant(&stream, variant).unwrap(),
        case,
        matrix: stream.alloc_uninit(input.len(rows, columns)).unwrap(),
        transposed: stream.alloc_zeros(output.len(columns, rows)).unwrap(),
        again: stream.alloc_uninit(input.len(rows, columns)).unwrap(),
    };
    let mut graph = Graph::capture(&stream, captured, Captured::record).unwrap();
    for seed in 1..4 {
        let x = pattern::<T>(input.len(rows, columns), seed);
        let captured = graph.resources_mut();
        captured.matrix.as_slice_mut().copy_from(&x).unwrap();
        // What lies between the rows is not moved.
        let mut around = x.clone();
        for line in around[input.offset..].chunks_mut(input.pitch(columns).max(1)).take(rows) {
            line[..columns].fill(T::zeroed());
        }
        captured.again.as_slice_mut().copy_from(&around).unwrap();
        graph.launch().unwrap();
        let right = graph.resources().again.download().unwrap() == x;
        prop_assert!(right, "{variant}, {} bytes, on {device:?}, {case:?}", size_of::<T>());
    }
    Ok(())
}

/// Sides that are no multiples of a tile's, in both orders, and the thinnest there are.
#[test]
fn edges_of_tiles() {
    let shapes = [(100, 33), (33, 100), (1, 257), (257, 1), (1, 1), (0, 5), (5, 0), (0, 0), (97, 89)];
    for device in devices() {
        for variant in Variant::ALL {
            for (rows, columns) in shapes {
                check_every_size(device, variant, Case::dense(rows, columns)).unwrap();
            }
            check::<u32>(device, variant, Case::dense(462, 1024)).unwrap();
        }
    }
}

/// Elements past a multiple of 32 bytes that a row can begin, and from row to row: all of them, on both sides. The
/// matrix has more rows than a tile, so that its columns end in one tile and go on in the next.
#[test]
fn rows_that_begin_anywhere() {
    fn check_all<T: Pod + PartialEq>(device: &Device) {
        let positions = 32 / size_of::<T>();
        for offset in 0..positions {
            for gap in 0..positions {
                let input = Layout { offset, gap, multiple: 1 };
                // Each pair on one side meets another one on the other side.
                let output = Layout { offset: gap, gap: (offset + 1) % positions, multiple: 1 };
                let (rows, columns) = (131 + offset % 3, 2 * positions + 1);
                check::<T>(device, Variant::Packets, Case { rows, columns, input, output }).unwrap();
            }
        }
    }
    for device in devices() {
        check_all::<u8>(device);
        check_all::<u16>(device);
        check_all::<u32>(device);
        check_all::<u64>(device);
        check_all::<u128>(device);
    }
}

/// Sides at the edges of the tiles of packets, for rows that begin at sectors and for others.
#[test]
fn edges_of_tiles_of_packets() {
    fn check_edges<T: Pod + PartialEq>(device: &Device, shifted: [usize; 2], aligned: [usize; 2]) {
        let reach = 32 / size_of::<T>() - 1;
        for [tile_rows, tile_columns] in [shifted, aligned] {
            for rows in [tile_rows - reach, tile_rows - reach + 1, tile_rows - 1, tile_rows, tile_rows + 1] {
                for columns in [tile_columns - 1, tile_columns, tile_columns + 1, 2 * tile_columns + 1] {
                    let sectors = Layout { offset: 0, gap: 0, multiple: 32 };
                    let any = Layout { offset: 3, gap: 1, multiple: 1 };
                    for (input, output) in [(sectors, sectors), (any, sectors), (sectors, any), (any, any)] {
                        check::<T>(device, Variant::Packets, Case { rows, columns, input, output }).unwrap();
                    }
                }
            }
        }
    }
    for device in devices() {
        check_edges::<u8>(device, [128, 240], [128, 256]);
        check_edges::<u16>(device, [128, 120], [128, 128]);
        check_edges::<u32>(device, [64, 124], [64, 64]);
        check_edges::<u64>(device, [64, 62], [64, 32]);
        check_edges::<u128>(device, [32, 32], [32, 32]);
    }
}

/// What lies before, between and behind the rows of the input was never written, which the simulator would object to if
/// it were read.
#[test]
fn nothing_beside_the_rows_is_read() {
    fn check_beside<T: Pod + PartialEq>(stream: &Stream, variant: Variant, offset: usize, gap: usize) {
        let (rows, columns) = (35, 150);
        let pitch = columns + gap;
        let x = pattern::<T>(rows * columns, 1);
        let mut dx = stream.alloc_uninit::<T>(offset + rows * pitch).unwrap();
        for (row, values) in x.chunks(columns).enumerate() {
            let start = offset + row * pitch;
            dx.slice_mut(start..start + columns).unwrap().copy_from(values).unwrap();
        }
        let mut dz = stream.alloc_uninit::<T>(rows * columns).unwrap();
        let from = Matrix::with_pitch(dx.slice(offset..).unwrap(), rows, columns, pitch).unwrap();
        let to = MatrixMut::new(&mut dz, columns, rows).unwrap();
        Transpose::<T>::with_variant(stream, variant).unwrap().enqueue(from, to).unwrap();
        let z = dz.download().unwrap();
        let right = (0..rows * columns).all(|index| z[index % columns * rows + index / columns] == x[index]);
        assert!(right, "{variant}, {} bytes, offset {offset}, gap {gap}", size_of::<T>());
    }
    let stream = Device::open("sim").unwrap().stream().unwrap();
    for variant in Variant::ALL {
        for (offset, gap) in [(0, 0), (1, 0), (7, 3), (16, 10), (32, 42)] {
            check_beside::<u8>(&stream, variant, offset, gap);
            check_beside::<u16>(&stream, variant, offset, gap);
            check_beside::<u32>(&stream, variant, offset, gap);
            check_beside::<u64>(&stream, variant, offset, gap);
            check_beside::<u128>(&stream, variant, offset, gap);
        }
    }
}

/// No schedule of the simulator leads to a fault, or to another transpose.
#[test]
fn every_schedule_is_clean() {
    on_every_schedule("sms=4", |device| {
        for variant in Variant::ALL {
            check_every_size(device, variant, Case::dense(64, 96)).unwrap();
            check_every_size(device, variant, Case::dense(150, 251)).unwrap();
        }
        Ok(())
    });
}

/// More tiles along either side than a grid has room for along y.
fn check_long_sides<T: Pod + PartialEq>(variant: Variant) {
    let n = 65_535 * 32 + 1;
    // The order of warps is not at stake here, and shuffling it takes time.
    let devices = devices().iter().filter(|device| !device.properties().selector.contains("seed="));
    for device in devices {
        check::<T>(device, variant, Case::dense(n, 4)).unwrap();
        check::<T>(device, variant, Case::dense(4, n)).unwrap();
    }
}

#[test]
fn long_sides_by_single_elements() {
    check_long_sides::<u8>(Variant::Padded);
}

#[test]
fn long_sides_in_packets() {
    check_long_sides::<u32>(Variant::Packets);
}

#[test]
fn twice_is_the_matrix_itself() {
    let (rows, columns) = (130, 77);
    for device in devices() {
        let stream = device.stream().unwrap();
        let values = pattern::<f64>(rows * columns, 0);
        let x = stream.upload(&values).unwrap();
        for variant in Variant::ALL {
            let transpose = Transpose::<f64>::with_variant(&stream, variant).unwrap();
            let mut y = stream.alloc_zeros::<f64>(rows * columns).unwrap();
            let mut z = stream.alloc_zeros::<f64>(rows * columns).unwrap();
            let mut turned = MatrixMut::new(&mut y, columns, rows).unwrap();
            transpose.enqueue(Matrix::new(&x, rows, columns).unwrap(), turned.reborrow()).unwrap();
            transpose.enqueue(turned.as_matrix(), MatrixMut::new(&mut z, rows, columns).unwrap()).unwrap();
            let found = z.download().unwrap();
            assert_eq!(bytemuck::cast_slice::<_, u8>(&found), bytemuck::cast_slice::<_, u8>(&values), "{variant}");
        }
    }
}

/// A part of a matrix goes to a part of another one, and what is beside it stays.
#[test]
fn sub_matrices() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let x: Vec<u16> = (0..35).collect();
        let dx = stream.upload(&x).unwrap();
        for variant in Variant::ALL {
            let mut dz = stream.upload(&[0xffffu16; 24]).unwrap();
            let from = Matrix::new(&dx, 5, 7).unwrap().sub_matrix(1..4, 2..4).unwrap();
            let to = MatrixMut::new(&mut dz, 4, 6).unwrap().sub_matrix_mut(1..3, 3..6).unwrap();
            Transpose::with_variant(&stream, variant).unwrap().enqueue(from, to).unwrap();
            let mut expected = [0xffff; 24];
            expected[9..12].copy_from_slice(&[9, 16, 23]);
            expected[15..18].copy_from_slice(&[10, 17, 24]);
            assert_eq!(dz.download().unwrap(), expected, "{variant}");
        }
    }
}

#[test]
fn nothing_is_launched_for_nothing() {
    let device = Device::open("sim").unwrap();
    let stream = device.stream().unwrap();
    let x = stream.alloc_zeros::<f32>(0).unwrap();
    let mut z = stream.alloc_zeros::<f32>(0).unwrap();
    for variant in Variant::ALL {
        let transpose = Transpose::<f32>::with_variant(&stream, variant).unwrap();
        for (rows, columns) in [(0, 5), (5, 0), (0, 0)] {
            let to = MatrixMut::new(&mut z, columns, rows).unwrap();
            transpose.enqueue(Matrix::new(&x, rows, columns).unwrap(), to).unwrap();
        }
    }
    assert_eq!(device.take_counters(), Some(Counters::default()));
}

/// More elements than 32 bits count are planned, without allocating them.
#[test]
fn plans_past_32_bits() {
    let stream = Device::open("sim").unwrap().stream().unwrap();
    for variant in Variant::ALL {
        let transpose = Transpose::<f32>::with_variant(&stream, variant).unwrap();
        let (tile_rows, tile_columns) = if variant == Variant::Packets { (64, 64) } else { (32, 32u64) };
        for (rows, columns) in
            [(1 << 16, 1 << 17), ((1 << 33) + 5, 3), (3, (1 << 34) + 1), ((1 << 17) + 1, (1 << 18) - 1)]
        {
            let config = transpose.plan(rows, columns).unwrap();
            assert_eq!(config.grid[1..], [1, 1]);
            assert_eq!(config.blocks(), rows.div_ceil(tile_rows) * columns.div_ceil(tile_columns), "{variant}");
        }
        for (rows, columns) in [(u64::MAX, u64::MAX), (1 << 40, 1), (1 << 24, 1 << 24)] {
            assert!(matches!(transpose.plan(rows, columns), Err(Error::TooLarge { .. })), "{variant} {rows}");
        }
        assert_eq!(transpose.plan(u64::MAX, 0).unwrap().blocks(), 0);
    }
}

#[test]
fn wrong_input_is_a_typed_error() {
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        assert!(matches!(Transpose::<[u8; 3]>::new(&stream), Err(Error::ElementSize { size: 3, .. })));
        assert!(matches!(Transpose::<[u64; 4]>::new(&stream), Err(Error::ElementSize { size: 32, .. })));
        assert!(matches!(Transpose::<()>::new(&stream), Err(Error::ElementSize { size: 0, .. })));

        let x = stream.upload(&[1.0f32; 6]).unwrap();
        let elsewhere = other.upload(&[1.0f32; 6]).unwrap();
        let mut z = stream.alloc_zeros::<f32>(6).unwrap();
        let transpose = Transpose::<f32>::new(&stream).unwrap();
        assert_eq!((transpose.variant(), transpose.stream()), (Variant::Packets, &stream));
        let refused =
            transpose.enqueue(Matrix::new(&x, 2, 3).unwrap(), MatrixMut::new(&mut z, 2, 3).unwrap()).unwrap_err();
        assert!(matches!(refused, Error::ShapeMismatch { expected: (3, 2), found: (2, 3), .. }), "{refused}");
        let refused = transpose.enqueue(Matrix::new(&elsewhere, 2, 3).unwrap(), MatrixMut::new(&mut z, 3, 2).unwrap());
        assert!(matches!(refused, Err(Error::StreamMismatch { what: "the input" })));
        assert_eq!(z.download().unwrap(), [0.0; 6]);
    }
}
