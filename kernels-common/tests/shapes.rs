//! Shapes of launches: every size of block and grid reaches each element once, and cooperative grids can meet.

use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::module::{self, Kernel};
use kernels_common::stream::Stream;
use kernels_common::testing::{block_sizes, devices, lengths};
use proptest::prelude::*;

/// - `visit(x: *u32, n: u64)`: a grid of one dimension goes over x in strides of its threads; each element + 1.
/// - `total(x: *u32, n: u64, out: *u64)`: the same walk; adds the elements to out, by one atomic addition per thread.
/// - `meet(values: *u32, counter: *u32, out: *u32)`: the first thread of each block writes a value, waits until all
///   blocks have, and copies that of the next block to out.
const PTX: &str = "\
.version 6.4
.target sm_75
.address_size 64

.visible .entry visit(.param .u64 .ptr .global .align 4 x, .param .u64 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<7>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    cvt.u64.u32 %rd3, %r3;
    mad.wide.u32 %rd3, %r1, %r2, %rd3;
    mov.u32 %r1, %nctaid.x;
    mul.wide.u32 %rd4, %r1, %r2;
$next:
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra $end;
    shl.b64 %rd5, %rd3, 2;
    add.u64 %rd6, %rd1, %rd5;
    ld.global.u32 %r4, [%rd6];
    add.u32 %r4, %r4, 1;
    st.global.u32 [%rd6], %r4;
    add.u64 %rd3, %rd3, %rd4;
    bra $next;
$end:
    ret;
}

.visible .entry total(.param .u64 .ptr .global .align 4 x, .param .u64 n, .param .u64 .ptr .global .align 8 out)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<10>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [n];
    ld.param.u64 %rd9, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    cvt.u64.u32 %rd3, %r3;
    mad.wide.u32 %rd3, %r1, %r2, %rd3;
    mov.u32 %r1, %nctaid.x;
    mul.wide.u32 %rd4, %r1, %r2;
    mov.u64 %rd7, 0;
$next:
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra $end;
    shl.b64 %rd5, %rd3, 2;
    add.u64 %rd6, %rd1, %rd5;
    ld.global.u32 %r4, [%rd6];
    cvt.u64.u32 %rd8, %r4;
    add.u64 %rd7, %rd7, %rd8;
    add.u64 %rd3, %rd3, %rd4;
    bra $next;
$end:
    red.global.add.u64 [%rd9], %rd7;
    ret;
}

.visible .entry meet(
    .param .u64 .ptr .global .align 4 values,
    .param .u64 .ptr .global .align 4 counter,
    .param .u64 .ptr .global .align 4 out
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    ld.param.u64 %rd1, [values];
    ld.param.u64 %rd2, [counter];
    ld.param.u64 %rd3, [out];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %nctaid.x;
    mul.wide.u32 %rd4, %r2, 4;
    add.u64 %rd5, %rd1, %rd4;
    add.u32 %r4, %r2, 100;
    st.global.u32 [%rd5], %r4;
    membar.gl;
    red.global.add.u32 [%rd2], 1;
$wait:
    ld.volatile.global.u32 %r5, [%rd2];
    setp.lt.u32 %p1, %r5, %r3;
    @%p1 bra $wait;
    membar.gl;
    add.u32 %r6, %r2, 1;
    rem.u32 %r6, %r6, %r3;
    mul.wide.u32 %rd6, %r6, 4;
    add.u64 %rd7, %rd1, %rd6;
    ld.volatile.global.u32 %r7, [%rd7];
    add.u64 %rd7, %rd3, %rd4;
    st.global.u32 [%rd7], %r7;
    ret;
}
";

struct Kernels {
    stream: Stream,
    visit: Kernel,
    total: Kernel,
}

impl Kernels {
    fn new(stream: Stream) -> Kernels {
        let [visit, total] = module::load_text(&stream, "shapes.ptx", PTX, ["visit", "total"]).unwrap();
        Kernels { stream, visit, total }
    }

    /// Lets a grid of that shape visit `n` elements and add them up.
    fn check(&self, n: usize, grid: u32, block: u32) {
        let config = LaunchConfig::linear(grid, block);
        let mut x = self.stream.alloc_zeros::<u32>(n).unwrap();
        let mut out = self.stream.alloc_zeros::<u64>(1).unwrap();
        // SAFETY: x has n elements, out has one.
        unsafe {
            self.visit.launch(config, (x.as_slice_mut(), n as u64)).unwrap();
            self.total.launch(config, (x.as_slice(), n as u64, out.as_slice_mut())).unwrap();
        }
        assert!(x.download().unwrap().iter().all(|&visits| visits == 1), "{n} elements, grid {grid}, block {block}");
        assert_eq!(out.download().unwrap(), [n as u64], "{n} elements, grid {grid}, block {block}");
    }
}

#[test]
fn every_block_size_takes_each_element_once() {
    for device in devices() {
        let kernels = Kernels::new(device.stream().unwrap());
        for block in [33, 64, 96, 256, 768, 1024] {
            for n in [1, 1000, 1024, 1025, 4097] {
                let config = LaunchConfig::covering(n as u64, block).unwrap();
                let blocks = u64::from(config.grid[0]);
                assert!(blocks * u64::from(block) >= n as u64 && (blocks - 1) * u64::from(block) < n as u64);
                kernels.check(n, config.grid[0], block);
            }
        }
    }
}

#[test]
fn every_pair_of_grid_and_block_takes_each_element_once() {
    for device in devices() {
        let kernels = Kernels::new(device.stream().unwrap());
        for (grid, block) in [(1, 2), (2, 1), (31, 32), (32, 31), (32, 32), (1, 1024), (1000, 1)] {
            kernels.check(1000, grid, block);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_shape_takes_each_element_once(n in lengths(), block in block_sizes(), grid in 1u32..40) {
        // Few threads take long on the simulator.
        let grid = grid.max((n / 64) as u32 / block);
        for device in devices() {
            let kernels = Kernels::new(device.stream().unwrap());
            kernels.check(n, grid, block);
            if n > 0 {
                kernels.check(n, LaunchConfig::covering(n as u64, block).unwrap().grid[0], block);
            }
        }
    }
}

#[test]
fn covering_grids_have_no_block_too_many() {
    for block in [1u32, 32, 33, 96, 256, 768, 1024] {
        let size = u64::from(block);
        for items in [0, 1, size - 1, size, size + 1, 1024, 1025, (1 << 32) - 1, 1 << 32, (1 << 32) + 5] {
            match LaunchConfig::covering(items, block) {
                Ok(config) => {
                    let blocks = config.blocks();
                    assert!(blocks * size >= items && blocks.saturating_sub(1) * size <= items.saturating_sub(1));
                    assert_eq!((config.grid, blocks == 0), ([blocks as u32, 1, 1], items == 0));
                }
                Err(Error::TooLarge { asked, maximum, .. }) => {
                    assert_eq!((asked, maximum), (items.div_ceil(size), LaunchConfig::MAX_GRID_X));
                    assert!(asked > maximum);
                }
                Err(error) => panic!("{error:?}"),
            }
            let square = LaunchConfig::covering_square(items, block);
            match square {
                Ok(config) => assert!(config.blocks() * size >= items, "{items} {block}"),
                Err(Error::TooLarge { asked, .. }) => assert!(asked > LaunchConfig::MAX_GRID_YZ && block == 1),
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

#[test]
fn all_blocks_of_a_cooperative_grid_can_meet() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let [meet] = module::load_text(&stream, "shapes.ptx", PTX, ["meet"]).unwrap();
        for threads in [32, 256, 1024] {
            let most = meet.resident_blocks(threads, 0).unwrap();
            assert!(most >= device.properties().multiprocessors, "{most}");
            let run = |blocks: u32| -> Result<Vec<u32>> {
                let mut values = stream.alloc_zeros::<u32>(blocks as usize)?;
                let mut counter = stream.alloc_zeros::<u32>(1)?;
                let mut out = stream.alloc_zeros::<u32>(blocks as usize)?;
                let config = LaunchConfig::linear(blocks, threads).cooperative();
                let arguments = (values.as_slice_mut(), counter.as_slice_mut(), out.as_slice_mut());
                // SAFETY: there is a value and a result for each block, and all blocks are resident.
                unsafe { meet.launch(config, arguments)? };
                out.download()
            };
            for blocks in [1, 2, most] {
                let expected: Vec<u32> = (0..blocks).map(|block| (block + 1) % blocks + 100).collect();
                assert_eq!(run(blocks).unwrap(), expected, "{blocks} of {threads} threads");
            }
            match run(most + 1) {
                Err(Error::CooperativeTooLarge { asked, maximum, .. }) => {
                    assert_eq!((asked, maximum), (u64::from(most) + 1, u64::from(most)));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn occupancy_falls_with_threads_and_shared_memory() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let [visit] = module::load_text(&stream, "shapes.ptx", PTX, ["visit"]).unwrap();
        let properties = device.properties();
        let blocks = |threads, shared| visit.blocks_per_multiprocessor(threads, shared).unwrap();
        for threads in [32, 33, 256, 1024] {
            let found = blocks(threads, 0);
            assert!(found >= 1 && found * threads.next_multiple_of(32) <= properties.max_threads_per_multiprocessor);
            assert_eq!(visit.resident_blocks(threads, 0).unwrap(), found * properties.multiprocessors);
        }
        assert!(blocks(128, 0) > blocks(1024, 0));
        assert_eq!(blocks(128, properties.shared_per_block_optin), 1);
        assert!((1..=4).contains(&blocks(32, properties.shared_per_block_optin / 4)));
    }
}
