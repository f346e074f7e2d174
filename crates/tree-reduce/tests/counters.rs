//! What the simulator counts for each variant tells the story that the documentation tells.

use kernels_common::testing::sums::counted;
use tree_reduce::{TreeReduce, Variant};

/// The documentation's chapter, whose table is the one that this test prints.
const CHAPTER: &str = include_str!("../../../docs/tree-reduce.md");

const BLOCKS: u64 = 64;

struct Counted {
    variant: Variant,
    load_requests: u64,
    load_wavefronts: u64,
    divergent: u64,
    barriers: u64,
    instructions: u64,
}

impl Counted {
    /// Per block of 256 threads, over 2^14 elements of type `f32`; `instructions` for all of them.
    fn of(variant: Variant) -> Counted {
        let per_thread = u64::from(variant.elements_per_thread());
        let n = 256 * BLOCKS;
        let blocks = BLOCKS / per_thread;
        let counters = counted("sim", n, |stream| TreeReduce::<f32>::new(stream, variant));
        assert_eq!((counters.blocks, counters.global_reductions), (blocks, blocks), "one addition a block");
        assert_eq!(counters.global_load_sectors, n / 8, "every sector of eight elements once");
        Counted {
            variant,
            load_requests: counters.shared_load_requests / blocks,
            load_wavefronts: counters.shared_load_wavefronts / blocks,
            divergent: counters.divergent_branches / blocks,
            barriers: counters.barriers / counters.warps,
            instructions: counters.instructions,
        }
    }

    fn wavefronts_per_request(&self) -> f64 {
        self.load_wavefronts as f64 / self.load_requests as f64
    }

    fn row(&self) -> String {
        format!(
            "| {} | {} | {} | {:.1} | {} | {} | {} |",
            self.variant,
            self.load_requests,
            self.load_wavefronts,
            self.wavefronts_per_request(),
            self.divergent,
            self.barriers,
            self.instructions
        )
    }
}

#[test]
fn counters_tell_the_story() {
    let [interleaved, strided, sequential, mirrored, first_add, unrolled_warp, unrolled] =
        Variant::ALL.map(Counted::of);
    // Divergence: where every second lane idles, more warps part, and more requests serve as many values.
    assert!(interleaved.divergent > 5 * strided.divergent);
    assert!(interleaved.load_requests > 3 * strided.load_requests);
    assert_eq!(interleaved.load_wavefronts, interleaved.load_requests);
    // Bank conflicts: the neighbours of the strided tree queue, those of the next two do not, in either direction.
    assert!(strided.wavefronts_per_request() > 3.0);
    assert_eq!(strided.load_wavefronts, interleaved.load_wavefronts);
    assert_eq!(sequential.load_wavefronts, sequential.load_requests);
    assert_eq!(mirrored.load_wavefronts, mirrored.load_requests);
    assert_eq!(mirrored.load_requests, sequential.load_requests);
    // A barrier after loading, and one in each of eight rounds, or of three that more than a warp works in.
    assert_eq!([&interleaved, &strided, &sequential, &mirrored, &first_add].map(|counted| counted.barriers), [9; 5]);
    assert_eq!([unrolled_warp.barriers, unrolled.barriers], [4, 4]);
    // Fewer instructions at each step that is there to save some.
    assert!(interleaved.instructions > strided.instructions);
    let saving = [&sequential, &first_add, &unrolled_warp, &unrolled];
    assert!(saving.windows(2).all(|steps| steps[0].instructions > steps[1].instructions));
}

#[test]
fn the_table_of_the_documentation_is_what_is_counted() {
    let rows = Variant::ALL.map(|variant| Counted::of(variant).row());
    println!("{}", rows.join("\n"));
    for row in rows {
        assert!(CHAPTER.contains(&row), "docs/tree-reduce.md lacks the row: {row}");
    }
}
