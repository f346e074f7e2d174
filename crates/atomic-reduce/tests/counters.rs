//! What the simulator counts for each variant tells the story that the documentation tells.

use atomic_reduce::racy::{self, Racy};
use atomic_reduce::{AtomicReduce, Variant};
use kernels_common::Counters;
use kernels_common::device::Device;
use kernels_common::testing::sums::counted;

/// The documentation's chapter, whose table is the one that this test prints.
const CHAPTER: &str = include_str!("../../../docs/atomic-reduce.md");

const N: u64 = 1 << 16;

/// What the wrong sum of 2^16 ones of type `f32` does, and its result.
fn of_racy() -> (Counters, f32) {
    let device = Device::open("sim:check=no-races").unwrap();
    let stream = device.stream().unwrap();
    let ones = stream.upload(&vec![1.0f32; N as usize]).unwrap();
    let mut out = stream.alloc_uninit::<f32>(1).unwrap();
    Racy::new(&stream).unwrap().enqueue_wrong_sum(ones.as_slice(), out.as_slice_mut()).unwrap();
    (device.take_counters().unwrap(), out.download().unwrap()[0])
}

fn of(variant: Variant) -> Counters {
    counted("sim", N, |stream| AtomicReduce::<f32>::new(stream, variant))
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
