//! Counters of whole kernels against what a profiler reported for them on an H200.
//!
//! Measured with Nsight Compute (CUDA 13.0, driver 580, 2026-11-29) for 2^22 single-precision elements in blocks of
//! 256, transposes of 2048 × 2048. Global requests and sectors, reductions and atomics were equal. The hardware's
//! totals of shared wavefronts include arbitration; beside each figure here stands what it reported. Launches that
//! are large only by their number of blocks run on a part of the grid here, and the figures are divided likewise.

mod common;

use common::{Device, KERNELS, Params, launch};
use ptx_sim::{Counters, Launch};

const N: usize = 1 << 22;

fn ones(device: &mut Device, n: usize) -> u64 {
    device.upload(&vec![1f32; n])
}

#[track_caller]
fn assert_global(
    counters: &Counters,
    part: u64,
    [load_requests, load_sectors, store_requests, store_sectors]: [u64; 4],
) {
    assert_eq!(counters.global_load_requests, load_requests / part, "load requests");
    assert_eq!(counters.global_load_sectors, load_sectors / part, "load sectors");
    assert_eq!(counters.global_store_requests, store_requests / part, "store requests");
    assert_eq!(counters.global_store_sectors, store_sectors / part, "store sectors");
}

#[test]
fn vector_add() {
    const PART: usize = 16;
    let mut device = Device::new(KERNELS);
    let n = N / PART;
    let (x, y, z) = (ones(&mut device, n), ones(&mut device, n), ones(&mut device, n));
    let params = |n: usize| Params::new().add(x).add(y).add(z).add(n as u64);
    let counters = device.launch("vector_add", launch(n as u32 / 256, 256), params(n));
    assert_global(&counters, PART as u64, [262144, 1048576, 131072, 524288]);
    let counters = device.launch("vector_add_packets", launch(n as u32 / 1024, 256), params(n / 4));
    assert_global(&counters, PART as u64, [65536, 1048576, 32768, 524288]);
    assert_eq!((counters.blocks, counters.warps, counters.threads), (256, 2048, 65536));
}

#[test]
fn trees() {
    const PART: usize = 64;
    let mut device = Device::new(KERNELS);
    let n = N / PART;
    let (x, out) = (ones(&mut device, n), ones(&mut device, n / 256));
    for (name, [loads, stores]) in [
        // 1580299 and 902201 on the hardware.
        ("tree_interleaved", [1556480, 901120]),
        // 1589301 and 902538.
        ("tree_strided", [1556480, 901120]),
        // 418118 and 328621.
        ("tree_sequential", [409600, 327680]),
    ] {
        let counters = device.launch(name, launch(n as u32 / 256, 256), Params::new().add(x).add(out));
        assert_global(&counters, PART as u64, [131072, 524288, 16384, 16384]);
        assert_eq!(counters.shared_load_wavefronts, loads / PART as u64, "{name}: shared loads");
        assert_eq!(counters.shared_store_wavefronts, stores / PART as u64, "{name}: shared stores");
        // One barrier before the loop and one in each of its eight rounds.
        assert_eq!(counters.barriers, counters.warps * 9, "{name}");
    }
}

#[test]
fn shuffle_sum() {
    let mut device = Device::new(KERNELS);
    let (x, out) = (ones(&mut device, N), device.upload(&[0f32]));
    let counters = device.launch("shuffle_sum", launch(64, 256), Params::new().add(x).add(out).add(N as u64));
    assert_global(&counters, 1, [131072, 524288, 0, 0]);
    // The result of the atomic is not used: a reduction.
    assert_eq!((counters.global_reductions, counters.global_atomics), (64, 0));
    assert_eq!((counters.shared_load_wavefronts, counters.shared_store_wavefronts), (64, 512));
    assert_eq!(counters.shuffles, 64 * (8 + 1) * 5);
    assert_eq!(device.download::<f32>(out, 1), [N as f32]);
}

#[test]
fn atomics() {
    const PART: usize = 32;
    let mut device = Device::new(KERNELS);
    let n = N / PART;
    let (x, out) = (ones(&mut device, n), device.upload(&[0f32]));
    let params = || Params::new().add(x).add(out);
    let counters = device.launch("one_atomic_per_element", launch(n as u32 / 256, 256), params());
    assert_global(&counters, PART as u64, [131072, 524288, 0, 0]);
    assert_eq!((counters.global_reductions, counters.global_atomics), (131072 / PART as u64, 0));
    let counters = device.launch("warp_leader", launch(n as u32 / 256, 256), params());
    assert_global(&counters, PART as u64, [4194304, 4194304, 0, 0]);
    assert_eq!((counters.global_reductions, counters.global_atomics), (131072 / PART as u64, 0));
}

#[test]
fn grids_that_meet() {
    let mut device = Device::new(KERNELS);
    let n = 1 << 16;
    let (x, partials, out) = (ones(&mut device, n), device.allocate::<f32>(64), device.allocate::<f32>(1));
    let counter = device.upload(&[0u32]);
    let params = Params::new().add(x).add(partials).add(counter).add(out).add(n as u64);
    let counters = device.launch("last_block_sum", launch(64, 256), params);
    // Its elements; 64 partial sums that one thread loads; and one store each of partials and result.
    assert_global(&counters, 1, [2048 + 64, 8192 + 64, 65, 65]);
    assert_eq!((counters.global_reductions, counters.global_atomics), (0, 64));
    let cooperative = Launch { cooperative: true, ..launch(64, 256) };
    let params = Params::new().add(x).add(partials).add(out).add(n as u64);
    let counters = device.launch("grid_barrier_sum", cooperative, params);
    // Loads depend on how long the blocks spin.
    assert_eq!((counters.global_reductions, counters.global_atomics), (0, 64));
    assert!(counters.global_load_requests >= 2048 + 64 + 64);
}

#[test]
fn transposes() {
    const PART: u64 = 16;
    let mut device = Device::new(KERNELS);
    let size = 512u32;
    let (x, out) = (ones(&mut device, (size * size) as usize), ones(&mut device, (size * size) as usize));
    // 4242663 and 132803 on the hardware, and 143953 and 135075 for the padded tile.
    for (name, loads) in [("transpose_32", 4194304), ("transpose_33", 131072)] {
        let shape = Launch { grid: [16, 16, 1], block: [32, 8, 1], ..Launch::default() };
        let counters = device.launch(name, shape, Params::new().add(x).add(out).add(size).add(size));
        assert_global(&counters, PART, [131072, 524288, 131072, 524288]);
        assert_eq!(counters.shared_load_wavefronts, loads / PART, "{name}");
        assert_eq!(counters.shared_store_wavefronts, 131072 / PART, "{name}");
    }
}

/// Instructions count as written, lanes as active, whether or not they were executed as copies of constants.
#[test]
fn instructions() {
    let ptx = common::kernel(
        "test",
        ".param .u64 out",
        "ld.param.u64 %rd0, [out];\ncvta.to.global.u64 %rd1, %rd0;\nmov.u32 %r0, %tid.x;\nsetp.gt.u32 %p0, %r0, 9;\n\
         @%p0 bra SKIP;\nadd.u32 %r1, %r0, 1;\nmul.wide.u32 %rd2, %r0, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
         st.global.u32 [%rd3], %r1;\nSKIP:",
    );
    let mut device = Device::new(&ptx);
    let out = device.allocate::<u32>(10);
    let counters = device.launch("test", launch(1, 48), Params::new().add(out));
    // Warp 0 runs five instructions with 32 lanes and four with 10, and its lanes leave in two groups, since nothing is
    // gained by meeting only to leave. Warp 1 has 16 lanes, which all jump.
    assert_eq!(counters.instructions, 5 + 4 + 2 + 6);
    assert_eq!(counters.lane_instructions, 6 * 32 + 4 * 10 + 6 * 16);
    assert_eq!((counters.branches, counters.divergent_branches), (2, 1));
    assert_eq!(device.download::<u32>(out, 10), (1..=10).collect::<Vec<u32>>());
    let both = counters + counters;
    assert_eq!(both.instructions, 2 * counters.instructions);
    assert!(counters.to_string().contains("lane_instructions"));
    assert!(!counters.to_string().contains("barriers"));
}

/// Sectors and wavefronts of accesses with a stride, and of vectors.
#[test]
fn strides() {
    let body = |space: &str, access: &str| {
        format!(
            ".shared .align 16 .b8 s[16384];\nld.param.u64 %rd0, [x];\nld.param.u32 %r0, [stride];\n\
             mov.u32 %r1, %tid.x;\n\
             mul.lo.u32 %r2, %r1, %r0;\ncvt.u64.u32 %rd1, %r2;\n{}\nadd.s64 %rd3, %rd2, %rd1;\n{access}.{space}",
            if space == "global" { "mov.u64 %rd2, %rd0;" } else { "mov.u64 %rd2, s;" }
        )
    };
    let run = |space: &str, access: &str, operands: &str, stride: u32| {
        let ptx =
            common::kernel("test", ".param .u64 x, .param .u32 stride", &format!("{}.{operands}", body(space, access)));
        let mut config = ptx_sim::Config::default();
        config.checks.initialised = false;
        let mut device = Device::with(config, &ptx);
        let x = device.upload(&vec![0u8; 16384]);
        device.launch("test", launch(1, 32), Params::new().add(x).add(stride))
    };
    for (stride, sectors) in [(0, 1), (4, 4), (8, 8), (16, 16), (32, 32), (128, 32)] {
        let counters = run("global", "ld", "u32 %r3, [%rd3];", stride);
        assert_eq!((counters.global_load_requests, counters.global_load_sectors), (1, sectors), "stride {stride}");
        let counters = run("global", "st", "u32 [%rd3], %r0;", stride);
        assert_eq!((counters.global_store_requests, counters.global_store_sectors), (1, sectors), "stride {stride}");
    }
    let counters = run("global", "ld", "v4.u32 {%r3, %r4, %r5, %r6}, [%rd3];", 16);
    assert_eq!(counters.global_load_sectors, 16);
    for (stride, wavefronts) in [(0, 1), (4, 1), (8, 2), (12, 1), (16, 4), (64, 16), (128, 32), (132, 1), (256, 32)] {
        let counters = run("shared", "ld", "u32 %r3, [%rd3];", stride);
        assert_eq!(
            (counters.shared_load_requests, counters.shared_load_wavefronts),
            (1, wavefronts),
            "stride {stride}"
        );
        let counters = run("shared", "st", "u32 [%rd3], %r0;", stride);
        assert_eq!(counters.shared_store_wavefronts, wavefronts, "stride {stride}");
    }
    // Half-warps and quarter-warps.
    for (operands, stride, wavefronts) in [
        ("u64 %rd4, [%rd3];", 8, 2),
        ("u64 %rd4, [%rd3];", 16, 4),
        ("u64 %rd4, [%rd3];", 128, 32),
        ("v2.u32 {%r3, %r4}, [%rd3];", 8, 2),
        ("v4.u32 {%r3, %r4, %r5, %r6}, [%rd3];", 16, 4),
        ("v4.u32 {%r3, %r4, %r5, %r6}, [%rd3];", 32, 8),
    ] {
        assert_eq!(run("shared", "ld", operands, stride).shared_load_wavefronts, wavefronts, "{operands} {stride}");
    }
}
