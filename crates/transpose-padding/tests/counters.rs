//! What a profiler would count: the figures of docs/transpose-padding.md.

use bytemuck::Pod;
use kernels_common::Counters;
use kernels_common::device::Device;
use kernels_common::memory::{Matrix, MatrixMut};
use transpose_padding::{Transpose, Variant};

/// What the simulator counts for one transpose of a dense matrix.
fn counters_of<T: Pod>(variant: Variant, rows: usize, columns: usize) -> Counters {
    let device = Device::open("sim").unwrap();
    let stream = device.stream().unwrap();
    let x = stream.alloc_zeros::<T>(rows * columns).unwrap();
    let mut z = stream.alloc_zeros::<T>(rows * columns).unwrap();
    let transpose = Transpose::<T>::with_variant(&stream, variant).unwrap();
    let from = Matrix::new(&x, rows, columns).unwrap();
    transpose.enqueue(from, MatrixMut::new(&mut z, columns, rows).unwrap()).unwrap();
    device.take_counters().unwrap()
}

/// For an n × n matrix.
fn counters<T: Pod>(variant: Variant, n: usize) -> Counters {
    counters_of::<T>(variant, n, n)
}

/// Wavefronts of shared loads and of shared stores, and sectors of global loads and of global stores, each per request.
fn per_request(counters: &Counters) -> [Option<f64>; 4] {
    [
        (counters.shared_load_wavefronts, counters.shared_load_requests),
        (counters.shared_store_wavefronts, counters.shared_store_requests),
        (counters.global_load_sectors, counters.global_load_requests),
        (counters.global_store_sectors, counters.global_store_requests),
    ]
    .map(|(count, requests)| (requests > 0).then(|| count as f64 / requests as f64))
}

#[test]
fn counters_show_what_each_variant_is_about() {
    let of = |variant| per_request(&counters::<f32>(variant, 1024));
    assert_eq!(of(Variant::Naive), [None, None, Some(4.0), Some(32.0)]);
    assert_eq!(of(Variant::Tile), [Some(32.0), Some(1.0), Some(4.0), Some(4.0)]);
    assert_eq!(of(Variant::Padded), [Some(1.0), Some(1.0), Some(4.0), Some(4.0)]);
    assert_eq!(of(Variant::Swizzled), [Some(1.0), Some(1.0), Some(4.0), Some(4.0)]);
    // 16 bytes a thread are 512 a request: four wavefronts of 128 and 16 sectors of 32 are the least there can be.
    assert_eq!(of(Variant::Packets), [Some(4.0), Some(4.0), Some(16.0), Some(16.0)]);
}

/// Wavefronts of shared loads per request, for elements of 1, 2, 4, 8 and 16 bytes.
#[test]
fn bank_conflicts_depend_on_the_size_of_the_elements() {
    fn loads<T: Pod>(variant: Variant) -> f64 {
        per_request(&counters::<T>(variant, 256))[0].unwrap()
    }
    let of = |variant| {
        [
            loads::<u8>(variant),
            loads::<u16>(variant),
            loads::<u32>(variant),
            loads::<u64>(variant),
            loads::<u128>(variant),
        ]
    };
    assert_eq!(of(Variant::Tile), [8.0, 16.0, 32.0, 32.0, 32.0]);
    assert_eq!(of(Variant::Padded), [1.75, 1.5, 1.0, 2.0, 4.0]);
    assert_eq!(of(Variant::Swizzled), [1.0, 1.0, 1.0, 2.0, 4.0]);
    assert_eq!(of(Variant::Packets), [4.0; 5]);
    let stores = per_request(&counters::<u8>(Variant::Packets, 256))[1];
    assert_eq!(stores, Some(4.0));
}

/// Rows of the input and of the output that begin at every element of a packet and of a sector.
#[test]
fn rows_that_start_anywhere_have_no_conflicts_and_fill_sectors() {
    let (rows, columns) = (1021, 1003);
    let of_words = counters_of::<u32>(Variant::Packets, rows, columns);
    let [shared_loads, shared_stores, ..] = per_request(&of_words);
    assert_eq!([shared_loads, shared_stores], [Some(1.0), Some(1.0)]);
    // Each row of the output has two sectors that it does not fill, and the last of them is stored by elements.
    let sectors = (rows * columns * 4 / 32) as u64;
    let at_ends = 2 * 8 * columns as u64;
    assert!((sectors..sectors + at_ends).contains(&of_words.global_store_sectors), "{of_words:?}");
    // A tile loads 64 + 7 rows for 64, a row of it 32 packets in one more sector than they fill, for 31.
    let most = sectors as f64 * (71.0 / 64.0) * (17.0 / 15.5);
    assert!((of_words.global_load_sectors as f64) < most, "{of_words:?}");

    fn shared<T: Pod>(rows: usize, columns: usize) -> [f64; 2] {
        let [loads, stores, ..] = per_request(&counters_of::<T>(Variant::Packets, rows, columns));
        [loads.unwrap(), stores.unwrap()]
    }
    let within = |[loads, stores]: [f64; 2], most_loads, most_stores| loads <= most_loads && stores <= most_stores;
    // Two wavefronts move 8 bytes a thread, and four move 16. Smaller elements of rows that begin differently may meet.
    assert!(within(shared::<u64>(rows, columns), 2.0, 2.0));
    assert!(within(shared::<u128>(rows, columns), 4.0, 4.0));
    assert!(within(shared::<u16>(rows, columns), 1.2, 2.0));
    assert!(within(shared::<u8>(rows, columns), 1.2, 2.0));
}
