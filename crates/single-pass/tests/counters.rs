//! What a profiler would count: the figures of docs/single-pass.md.

use kernels_common::device::Device;
use single_pass::SinglePass;

/// For elements of type f32.
#[test]
fn the_figures_of_the_documentation_are_what_is_counted() {
    let device = Device::open("sim").unwrap();
    let stream = device.stream().unwrap();
    let ones = stream.upload(&vec![1.0f32; 1 + (1 << 20)]).unwrap();
    let mut sum = SinglePass::<f32>::new(&stream).unwrap();
    let mut count = |range: std::ops::Range<usize>| {
        let x = ones.slice(range).unwrap();
        let _ = device.take_counters();
        assert_eq!(sum.value(x).unwrap(), x.len() as f32);
        device.take_counters().unwrap()
    };
    let [small, aligned, misaligned] = [0..1 << 15, 0..1 << 20, 1..1 + (1 << 20)].map(&mut count);
    // One block, which counts nothing.
    assert_eq!((small.blocks, small.global_atomics, small.fences), (1, 0, 0));
    assert_eq!((small.global_load_requests, small.global_load_sectors, small.global_store_requests), (256, 4096, 1));
    // 64 virtual blocks on 16 real ones, each of which counts itself once. A packet a thread is 4 sectors for every 8
    // threads. One warp of the last block loads 8 partials a lane in two packets; lanes that have none load the first
    // ones.
    assert_eq!((aligned.blocks, aligned.global_atomics, aligned.fences), (16, 16, 0));
    assert_eq!((aligned.global_load_requests, aligned.global_load_sectors), (8192 + 2, 131_072 + 16));
    assert_eq!(aligned.global_store_requests, 64 + 1);
    // Two loads for each packet, and the first and the last of each virtual block element by element.
    assert_eq!(misaligned.global_load_requests, 2 * 8192 + 64 * 2 * 4 + 2);
    assert_eq!(misaligned.global_load_sectors, 271_168 + 16);
    assert_eq!(misaligned.global_store_requests, 64 + 1);
}
