//! Blocks on several host threads do what they do on one.

mod common;

use common::{Device, KERNELS, Params, kernel, launch};
use ptx_sim::{Checks, Config, Counters, Fault, FaultKind, Launch};

const THREADS: usize = 4;

/// Without the search for races, which takes one thread.
fn config(threads: usize, mut checks: Checks) -> Config {
    checks.races = false;
    Config { threads, checks, ..Config::default() }
}

/// What `run` gives with one thread, after it has given the same with several, with checks and without.
fn same<T: PartialEq + std::fmt::Debug>(ptx: &str, run: impl Fn(&mut Device) -> T) -> T {
    let [first, others @ ..] = [(1, Checks::ALL), (THREADS, Checks::ALL), (1, Checks::NONE), (THREADS, Checks::NONE)]
        .map(|(threads, checks)| run(&mut Device::with(config(threads, checks), ptx)));
    for other in others {
        assert_eq!(other, first);
    }
    first
}

/// Runs a kernel around `body` on `bytes` bytes of ones and zeros, whose address is in `%rd0`; `%r0` is the number of
/// the thread in the grid. Gives memory and counters.
fn run_body(device: &mut Device, shape: Launch, bytes: usize) -> Result<(Vec<u8>, Counters), Fault> {
    let values: Vec<u8> = (0..bytes).map(|index| (index % 3 == 0).into()).collect();
    let x = device.upload(&values);
    let counters = device.try_launch("test", shape, Params::new().add(x))?;
    Ok((device.download(x, bytes), counters))
}

fn around(body: &str) -> String {
    let body = format!(
        "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmad.lo.u32 %r0, %r1, %r2, %r0;\n\
         ld.param.u64 %rd0, [x];\n{body}"
    );
    kernel("test", ".param .u64 x", &body)
}

#[test]
fn whole_kernels() {
    let n = 1 << 16;
    let x: Vec<f32> = (0..n).map(|i| (i % 97) as f32 / 7.0).collect();
    same(KERNELS, |device| {
        let (dx, dy) = (device.upload(&x), device.upload(&x));
        let z = device.allocate::<f32>(n);
        let sums = device.allocate::<f32>(n / 256);
        let add = device.launch("vector_add", launch(256, 256), Params::new().add(dx).add(dy).add(z).add(n as u64));
        let tree = device.launch("tree_sequential", launch(256, 256), Params::new().add(z).add(sums));
        let shape = Launch { grid: [8, 8, 1], block: [32, 8, 1], ..Launch::default() };
        let turn = device.launch("transpose_33", shape, Params::new().add(dx).add(dy).add(256u32).add(256u32));
        let bits = |address, count| device.download::<u32>(address, count);
        (bits(z, n), bits(sums, n / 256), bits(dy, n), [add, tree, turn])
    });
}

/// Loads and stores of every size, next to those of other threads, in runs, strides and from one place.
#[test]
fn every_width() {
    for (ty, register, bytes) in [("u8", "%r3", 1), ("u16", "%h3", 2), ("u32", "%r3", 4), ("u64", "%rd3", 8)] {
        // Each thread turns around the bits of its own element of a neighbour's block of 33, all of them together
        // every byte.
        for stride in [1, 3] {
            let wide = if bytes == 8 {
                "b64"
            } else if bytes == 2 {
                "b16"
            } else {
                "b32"
            };
            let body = format!(
                "mul.lo.u32 %r4, %r0, {stride};\nmul.wide.u32 %rd1, %r4, {bytes};\nadd.u64 %rd1, %rd0, %rd1;\n\
                 ld.global.{ty} {register}, [%rd1];\nnot.{wide} {register}, {register};\n\
                 st.global.{ty} [%rd1], {register};"
            );
            let (memory, _) =
                same(&around(&body), |device| run_body(device, launch(40, 33), 40 * 33 * stride * bytes)).unwrap();
            let turned = memory.iter().enumerate().filter(|(at, byte)| **byte != u8::from(at % 3 == 0)).count();
            assert_eq!(turned, 40 * 33 * bytes, "{ty} with stride {stride}");
        }
    }
    let body = "mul.wide.u32 %rd1, %r0, 16;\nadd.u64 %rd1, %rd0, %rd1;\n\
                ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1];\nst.global.v4.u32 [%rd1], {%r6, %r5, %r4, %r3};";
    same(&around(body), |device| run_body(device, launch(40, 64), 40 * 64 * 16)).unwrap();
}

/// Integer atomics of every size on few addresses, from all blocks.
#[test]
fn atomics() {
    let body = "and.b32 %r3, %r0, 3;\nmul.wide.u32 %rd1, %r3, 8;\nadd.u64 %rd1, %rd0, %rd1;\n\
                cvt.u64.u32 %rd2, %r0;\nred.global.add.u64 [%rd1], %rd2;\nred.global.xor.b32 [%rd1+32], %r0;\n\
                red.global.max.u32 [%rd1+36], %r0;\natom.global.inc.u32 %r4, [%rd1+64], -1;\n\
                setp.gt.u32 %p0, %r4, 2000000000;\n@%p0 trap;";
    let (memory, counters) = same(&around(body), |device| run_body(device, launch(64, 96), 128)).unwrap();
    // The pattern has a one in the third byte.
    assert_eq!(memory[64..68], (64 * 96 / 4 + (1u32 << 16)).to_le_bytes());
    assert_eq!((counters.blocks, counters.global_atomics), (64, 64 * 3));
}

/// The last block to finish reads what the others have written before they took a number.
#[test]
fn the_last_block_sees_all_others() {
    let blocks = if cfg!(miri) { 6u32 } else { 3000 };
    let body = format!(
        "mov.u32 %r5, %tid.x;\nsetp.ne.u32 %p0, %r5, 0;\n@%p0 exit;\nmul.wide.u32 %rd1, %r1, 4;\n\
         add.u64 %rd1, %rd0, %rd1;\nst.global.u32 [%rd1+8], %r1;\nmembar.gl;\n\
         atom.global.add.u32 %r3, [%rd0], 1;\nsetp.ne.u32 %p1, %r3, {};\n@%p1 exit;\n\
         mov.u32 %r4, 0;\nmov.u32 %r6, 0;\nLOOP:\nld.global.u32 %r7, [%rd0+8];\nadd.u32 %r6, %r6, %r7;\n\
         add.u64 %rd0, %rd0, 4;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, {blocks};\n@%p2 bra LOOP;\n\
         ld.param.u64 %rd0, [x];\nst.global.u32 [%rd0+4], %r6;",
        blocks - 1
    );
    for threads in [1, THREADS] {
        let mut device = Device::with(config(threads, Checks::ALL), &around(&body));
        // What blocks have not written yet is not initialised.
        let x = device.allocate::<u32>(blocks as usize + 2);
        device.simulator.fill(x, 8, &[0]).unwrap();
        device.launch("test", launch(blocks, 64), Params::new().add(x));
        assert_eq!(device.download::<u32>(x, 2), [blocks, (blocks - 1) * blocks / 2], "{threads} threads");
    }
}

/// What blocks of several threads write byte by byte counts as written, and nothing else does.
#[test]
fn initialised_memory() {
    let body = "cvt.u64.u32 %rd1, %r0;\nadd.u64 %rd1, %rd0, %rd1;\nst.global.u8 [%rd1], %r0;\nbar.sync 0;\n\
                ld.global.u8 %r3, [%rd1+OFFSET];";
    for threads in [1, THREADS] {
        for (offset, sound) in [("0", true), ("1", false)] {
            let mut device = Device::with(config(threads, Checks::ALL), &around(&body.replace("OFFSET", offset)));
            let x = device.allocate::<u8>(4097);
            let outcome = device.try_launch("test", launch(64, 64), Params::new().add(x));
            assert_eq!(outcome.is_ok(), sound, "offset {offset}, {threads} threads: {outcome:?}");
            if let Err(fault) = outcome {
                assert!(matches!(fault.kind, FaultKind::UninitialisedRead { .. }), "{fault}");
            } else {
                let expected: Vec<u8> = (0..4096).map(|index| index as u8).collect();
                assert_eq!(device.download::<u8>(x, 4096), expected);
            }
        }
    }
}

/// Of many blocks that meet a fault, the first in order is reported, whichever thread finds one first.
#[test]
fn the_first_fault_is_reported() {
    // Blocks from 100 on leave the allocation, the later the sooner.
    let body = "mov.u32 %r5, 2000;\nsub.u32 %r5, %r5, %r1;\nLOOP:\nsub.u32 %r5, %r5, 1;\nsetp.ne.u32 %p0, %r5, 0;\n\
                @%p0 bra LOOP;\nsetp.lt.u32 %p1, %r1, 100;\n@%p1 exit;\nld.global.u32 %r3, [%rd0+4096];";
    let fault = same(&around(body), |device| {
        let fault = run_body(device, launch(1000, 32), 4096);
        // Without checks there is nothing to see.
        fault.err().map_or((Some([100, 0, 0]), Some([0, 0, 0]), true), |fault| {
            (fault.block, fault.thread, matches!(fault.kind, FaultKind::OutOfBounds { .. }))
        })
    });
    assert_eq!(fault, (Some([100, 0, 0]), Some([0, 0, 0]), true));
    for _ in 0..20 {
        let mut device = Device::with(config(THREADS, Checks::ALL), &around(body));
        assert_eq!(run_body(&mut device, launch(1000, 32), 4096).unwrap_err().block, Some([100, 0, 0]));
    }
}

/// A launch has its instructions in all, not for each thread.
#[test]
fn hangs_are_found() {
    let body = "setp.eq.u32 %p0, %r1, 17;\nLOOP:\n@%p0 bra LOOP;";
    for threads in [1, THREADS] {
        let config = Config { budget: 1_000_000, ..config(threads, Checks::ALL) };
        let mut device = Device::with(config, &around(body));
        let fault = run_body(&mut device, launch(64, 32), 64).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Budget { .. }), "{fault}");
        assert_eq!(fault.block, Some([17, 0, 0]));
    }
}

/// A block that waits for one that comes after it in the grid, by an atomic that changes nothing.
#[test]
fn a_block_may_wait_for_a_later_one() {
    let body = "setp.ne.u32 %p0, %r1, 0;\n@%p0 bra LATER;\nLOOK:\natom.global.or.b32 %r3, [%rd0], 0;\n\
                setp.lt.u32 %p1, %r3, 63;\n@%p1 bra LOOK;\nst.global.u32 [%rd0+4], 5;\nexit;\nLATER:\n\
                red.global.add.u32 [%rd0], 1;";
    for threads in [1, THREADS] {
        let mut device = Device::with(config(threads, Checks::ALL), &around(body));
        let x = device.upload(&[0u32; 2]);
        device.launch("test", launch(64, 1), Params::new().add(x));
        assert_eq!(device.download::<u32>(x, 2), [63, 5], "{threads} threads");
    }
}
