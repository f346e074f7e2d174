//! What the simulator counts for each variant tells the story that the documentation tells.

use kernels_common::element::Element;
use kernels_common::testing::sums;
use shuffle_reduce::{ShuffleReduce, Variant};

/// The documentation's chapter, whose table is the one that this test prints.
const CHAPTER: &str = include_str!("../../../docs/shuffle-reduce.md");

const N: u64 = 1 << 16;

struct Counted {
    row: String,
    shuffles: u64,
    votes: u64,
    shared_requests: u64,
    barriers: u64,
    reductions: u64,
    instructions: u64,
}

/// Totals of a sum of 2^16 elements with 256 threads in a block, on a device of two multiprocessors.
fn counted<T: Element>(variant: Variant) -> Counted {
    let counters = sums::counted("sim:sms=2,cc=8.0", N, |stream| ShuffleReduce::<T>::new(stream, variant));
    assert_eq!(counters.global_load_sectors, N * size_of::<T>() as u64 / 32, "every sector once");
    assert_eq!(counters.shared_load_requests, counters.blocks, "one a block, of the warps' sums");
    assert_eq!(counters.global_reductions, counters.blocks);
    let shared_requests = counters.shared_load_requests + counters.shared_store_requests;
    Counted {
        row: format!(
            "| {variant} | {} | {} | {} | {} | {} | {} | {} |",
            T::NAME,
            counters.blocks,
            counters.shuffles,
            counters.votes,
            shared_requests,
            counters.barriers / counters.warps,
            counters.instructions
        ),
        shuffles: counters.shuffles,
        votes: counters.votes,
        shared_requests,
        barriers: counters.barriers / counters.warps,
        reductions: counters.global_reductions,
        instructions: counters.instructions,
    }
}

fn all() -> [Counted; 5] {
    [
        counted::<f32>(Variant::Shuffle),
        counted::<f32>(Variant::GridStride),
        counted::<i32>(Variant::Shuffle),
        counted::<i32>(Variant::GridStride),
        counted::<i32>(Variant::Redux),
    ]
}

#[test]
fn counters_tell_the_story() {
    let [shuffle, grid_stride, wide_shuffle, _, redux] = all();
    let (warps, blocks) = (N / 32, N / 256);
    // Five rounds in each warp, and at the end in a warp of each block, where the sums of eight warps are left.
    assert_eq!(shuffle.shuffles, 5 * (warps + blocks));
    assert_eq!((shuffle.barriers, shuffle.shared_requests), (1, warps + blocks));
    // Sums of 64 bits are handed on in two halves. Two reductions do what ten shuffles do.
    assert_eq!(wide_shuffle.shuffles, 2 * shuffle.shuffles);
    assert_eq!((redux.votes, redux.shuffles), (2 * warps, 10 * blocks));
    assert!(redux.instructions < wide_shuffle.instructions);
    // Fewer blocks, so that less is left to be done than to load and add.
    assert!(grid_stride.reductions < shuffle.reductions && grid_stride.shuffles < shuffle.shuffles);
    assert!(grid_stride.instructions < shuffle.instructions / 2);
}

#[test]
fn the_table_of_the_documentation_is_what_is_counted() {
    let rows = all().map(|counted| counted.row);
    println!("{}", rows.join("\n"));
    for row in rows {
        assert!(CHAPTER.contains(&row), "docs/shuffle-reduce.md lacks the row: {row}");
    }
}
