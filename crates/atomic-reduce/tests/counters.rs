//! What the simulator counts for each variant tells the story that the documentation tells.

use atomic_reduce::racy::{self, Racy};
use atomic_reduce::{AtomicReduce, Variant};
use kernels_common::Counters;
use kernels_common::device::Device;
use kernels_common::memory::{Slice, SliceMut};
use kernels_common::stream::Stream;
use kernels_common::sum::Sum;

/// The documentation's chapter, whose table is the one that this test prints.
const CHAPTER: &str = include_str!("../../../docs/atomic-reduce.md");

const N: u64 = 1 << 16;

/// What a launch over 2^16 ones of type `f32` does, with 256 threads in a block; and its result.
fn counted(launch: impl FnOnce(&Stream, Slice<'_, f32>, SliceMut<'_, f32>)) -> (Counters, f32) {
    let device = Device::open("sim").unwrap();
    let stream = device.stream().unwrap();
    let x = stream.upload(&vec![1.0f32; N as usize]).unwrap();
    let mut out = stream.alloc_uninit::<f32>(1).unwrap();
    launch(&stream, x.as_slice(), out.as_slice_mut());
    let counters = device.take_counters().unwrap();
    assert_eq!(counters.blocks, N / 256);
    (counters, out.download().unwrap()[0])
}

fn of_racy() -> (Counters, f32) {
    counted(|stream, x, out| Racy::new(stream).unwrap().enqueue_wrong_sum(x, out).unwrap())
}

fn of(variant: Variant) -> Counters {
    let (counters, sum) =
        counted(|stream, x, out| AtomicReduce::new(stream, variant).unwrap().enqueue(x, out).unwrap());
    assert_eq!(sum, N as f32, "{variant}");
    counters
}

fn row(name: &str, counters: &Counters) -> String {
    format!(
        "| {name} | {} | {} | {} | {} | {} |",
        counters.global_reductions,
        counters.global_load_requests,
        counters.global_load_sectors,
        counters.divergent_branches,
        counters.instructions
    )
}

#[test]
fn counters_tell_the_story() {
    let (racy, wrong) = of_racy();
    let [per_element, warp_leader, block_leader] = Variant::ALL.map(of);
    assert!(wrong > 0.0 && wrong <= (N / 32) as f32, "at best one element of a warp's 32 counts: {wrong}");
    assert_eq!((racy.global_reductions, racy.global_atomics), (0, 0));
    // Besides its elements each warp loads and stores the sum, all lanes the same.
    assert_eq!(racy.global_load_requests, 2 * per_element.global_load_requests);
    assert_eq!(racy.global_store_requests, N / 32);
    // One request for each warp, with 32 additions or one; or one for each block.
    assert_eq!(per_element.global_reductions, N / 32);
    assert_eq!(warp_leader.global_reductions, N / 32);
    assert_eq!(block_leader.global_reductions, N / 256);
    // 32 neighbours are four sectors. A thread by itself needs a request, and asks for a sector, for each element.
    assert_eq!((per_element.global_load_requests, per_element.global_load_sectors), (N / 32, N / 8));
    for leader in [warp_leader, block_leader] {
        assert_eq!((leader.global_load_requests, leader.global_load_sectors), (N, N));
        assert!(leader.instructions > 6 * per_element.instructions);
    }
    // A warp parts where its leader goes to work; with one leader a block, in one warp of each block.
    assert_eq!([per_element, warp_leader, block_leader].map(|c| c.divergent_branches), [0, N / 32, N / 256]);
    for counters in [racy, per_element, warp_leader, block_leader] {
        assert_eq!((counters.shared_load_requests, counters.barriers), (0, 0));
    }
}

#[test]
fn the_table_of_the_documentation_is_what_is_counted() {
    let mut rows = vec![row(racy::NAME, &of_racy().0)];
    rows.extend(Variant::ALL.map(|variant| row(variant.name(), &of(variant))));
    println!("{}", rows.join("\n"));
    for row in rows {
        assert!(CHAPTER.contains(&row), "docs/atomic-reduce.md lacks the row: {row}");
    }
}
