//! Barriers of blocks and warps, and operations between lanes.

mod common;

use common::{Device, Params, kernel, launch};
use ptx_sim::{Checks, Config, FaultKind};

/// Runs `body`, which leaves each thread's result in `%r9`, and gives the results.
fn run_with(config: Config, threads: u32, body: &str) -> Result<Vec<u32>, ptx_sim::Fault> {
    let body = format!(
        "mov.u32 %r0, %tid.x;\n{body}\nld.param.u64 %rd0, [out];\nmad.wide.u32 %rd1, %r0, 4, %rd0;\n\
         st.global.u32 [%rd1], %r9;"
    );
    let mut device = Device::with(config, &kernel("test", ".param .u64 out", &body));
    let out = device.upload(&vec![u32::MAX; threads as usize]);
    device.try_launch("test", launch(1, threads), Params::new().add(out))?;
    Ok(device.download(out, threads as usize))
}

fn run(threads: u32, body: &str) -> Result<Vec<u32>, ptx_sim::Fault> {
    let result = run_with(Config::default(), threads, body);
    for seed in 0..4 {
        let other = run_with(Config { seed: Some(seed), ..Config::default() }, threads, body);
        match (&result, other) {
            (Ok(result), Ok(other)) => assert_eq!(*result, other, "seed {seed}"),
            (Err(_), Err(_)) => {}
            (result, other) => panic!("seed {seed}: {result:?} and {other:?}"),
        }
    }
    result
}

/// Every thread stores to shared memory and reads what another has stored.
const EXCHANGE: &str = ".shared .align 4 .b8 s[4096];\nmov.u32 %r1, s;\nshl.b32 %r2, %r0, 2;\nadd.u32 %r2, %r2, %r1;\n\
                        st.shared.u32 [%r2], %r0;\nBARRIER\nmov.u32 %r3, %ntid.x;\nsub.u32 %r3, %r3, %r0;\n\
                        sub.u32 %r3, %r3, 1;\n\
                        shl.b32 %r3, %r3, 2;\nadd.u32 %r3, %r3, %r1;\nld.shared.u32 %r9, [%r3];";

#[test]
fn block_barriers_order_shared_memory() {
    for barrier in
        ["bar.sync 0;", "barrier.sync 0;", "barrier.sync.aligned 3;", "bar.cta.sync 15;", "bar.sync 0, 1024;"]
    {
        let result = run(1024, &EXCHANGE.replace("BARRIER", barrier)).unwrap();
        assert_eq!(result, (0..1024).rev().collect::<Vec<u32>>(), "{barrier}");
    }
    // 48 threads: half a warp counts as a whole one.
    let result = run(48, &EXCHANGE.replace("BARRIER", "bar.sync 0;")).unwrap();
    assert_eq!(result, (0..48).rev().collect::<Vec<u32>>());
    let fault = run(1024, &EXCHANGE.replace("BARRIER", "")).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::UninitialisedRead { .. }), "{fault}");
}

#[test]
fn barrier_reductions() {
    let body = |reduce: &str| format!("setp.lt.u32 %p0, %r0, 70;\n{reduce}");
    let all = |value| vec![value; 96];
    assert_eq!(run(96, &body("bar.red.popc.u32 %r9, 0, %p0;")).unwrap(), all(70));
    assert_eq!(run(96, &body("bar.red.popc.u32 %r9, 0, !%p0;")).unwrap(), all(26));
    assert_eq!(run(96, &body("barrier.red.popc.u32 %r9, 0, 96, %p0;")).unwrap(), all(70));
    assert_eq!(run(96, &body("bar.red.and.pred %p1, 0, %p0;\nselp.b32 %r9, 1, 0, %p1;")).unwrap(), all(0));
    assert_eq!(run(64, &body("bar.red.and.pred %p1, 0, %p0;\nselp.b32 %r9, 1, 0, %p1;")).unwrap(), vec![1; 64]);
    assert_eq!(run(96, &body("bar.red.or.pred %p1, 0, %p0;\nselp.b32 %r9, 1, 0, %p1;")).unwrap(), all(1));
    assert_eq!(run(96, &body("bar.red.or.pred %p1, 0, 0;\nselp.b32 %r9, 1, 0, %p1;")).unwrap(), all(0));
}

/// One warp produces, another consumes; the producer does not wait.
#[test]
fn arrive_and_sync() {
    let body = ".shared .align 4 .b8 s[128];\nmov.u32 %r1, s;\nand.b32 %r2, %r0, 31;\nshl.b32 %r3, %r2, 2;\n\
                add.u32 %r3, %r3, %r1;\nmov.u32 %r9, 0;\n\
                setp.ge.u32 %p0, %r0, 32;\n@%p0 bra CONSUMER;\nmul.lo.u32 %r4, %r2, 10;\nst.shared.u32 [%r3], %r4;\n\
                bar.arrive 1, 64;\nbra END;\n\
                CONSUMER:\nbar.sync 1, 64;\nld.shared.u32 %r9, [%r3];\nEND:";
    let result = run(64, body).unwrap();
    assert_eq!(result[..32], [0; 32]);
    assert_eq!(result[32..], (0..32).map(|lane| lane * 10).collect::<Vec<u32>>());
}

#[test]
fn threads_that_left_have_arrived() {
    let body = "mov.u32 %r9, 1;\nsetp.lt.u32 %p0, %r0, 40;\n@%p0 exit;\nbar.sync 0;\nmov.u32 %r9, 2;";
    let result = run(96, body).unwrap();
    assert_eq!((&result[..40], &result[40..]), (&[u32::MAX; 40][..], &[2; 56][..]));
    // Unless one asks.
    let fault = run_with(Config { checks: Checks::ALL, ..Config::default() }, 96, body).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::ExitedThreads { exited: 40 }), "{fault}");
}

#[test]
fn barrier_under_a_divergent_branch() {
    // Half a warp.
    let body = "mov.u32 %r9, 1;\nsetp.ge.u32 %p0, %r0, 16;\n@%p0 bra END;\nbar.sync 0;\nEND:\nmov.u32 %r9, 2;";
    let fault = run(32, body).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::DivergentBarrier { lanes: 0xffff, .. }), "{fault}");
    assert!(fault.to_string().contains("bar.sync"), "{fault}");
    // The unaligned form may be reached by some lanes: the others arrive elsewhere.
    let both = "mov.u32 %r9, 1;\nsetp.ge.u32 %p0, %r0, 16;\n@%p0 bra OTHER;\nBARRIER\nmov.u32 %r9, 3;\nbra END;\n\
        OTHER:\nBARRIER\nEND:";
    let result = run(64, &both.replace("BARRIER", "barrier.sync 0;")).unwrap();
    assert_eq!((&result[..16], &result[16..]), (&[3; 16][..], &[1; 48][..]));
    let fault = run(64, &both.replace("BARRIER", "bar.sync 0;")).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::DivergentBarrier { .. }), "{fault}");
    // Whole warps at different instructions.
    let fault = run(64, &both.replace("BARRIER", "bar.sync 0;").replace("%r0, 16", "%r0, 32")).unwrap_err();
    let FaultKind::DivergentBarrier { lanes: u32::MAX, others } = &fault.kind else { panic!("{fault}") };
    assert_eq!((others.len(), others[0].warp, others[0].lanes), (1, 1, u32::MAX));
    // One warp skips the barrier and waits at the next.
    let body = "mov.u32 %r9, 1;\nsetp.ge.u32 %p0, %r0, 32;\n@%p0 bra NEXT;\nbar.sync 0;\nNEXT:\nbar.sync 0;";
    let fault = run(128, body).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::DivergentBarrier { .. }), "{fault}");
    // A whole warp alone, as by `if (threadIdx.x < 32) __syncthreads();`, while the others wait at the next barrier.
    let body =
        "mov.u32 %r9, 1;\nsetp.ge.u32 %p0, %r0, 32;\n@%p0 bra NEXT;\nbar.sync 0;\nNEXT:\nmov.u32 %r9, 2;\nbar.sync 0;";
    let fault = run(128, body).unwrap_err();
    let FaultKind::DivergentBarrier { lanes: u32::MAX, others } = &fault.kind else { panic!("{fault}") };
    let (site, text) = (fault.site.as_ref().unwrap(), fault.to_string());
    assert_eq!((&*site.opcode, fault.thread), ("bar.sync", Some([0, 0, 0])));
    assert_eq!(
        others.iter().map(|other| (other.warp, other.lanes)).collect::<Vec<_>>(),
        [(1, u32::MAX), (2, u32::MAX), (3, u32::MAX)]
    );
    assert!(others.iter().all(|other| other.span.line == site.span.line + 3), "{text}");
    for part in [
        format!("test.ptx:{}:", site.span.line),
        format!("warp 3 lanes 0xffffffff at `bar.sync` (line {})", site.span.line + 3),
    ] {
        assert!(text.contains(&part), "{part} in {text}");
    }
    // Unchecked, the hardware's count of arrivals is all there is.
    run_with(Config { checks: Checks::NONE, ..Config::default() }, 64, &both.replace("BARRIER", "bar.sync 0;"))
        .unwrap();
}

#[test]
fn deadlock_says_who_waits_where() {
    let body = "setp.ge.u32 %p0, %r0, 32;\n@%p0 bra OTHER;\nbar.sync 1, 64;\nbra END;\nOTHER:\nbar.sync 2, 64;\nEND:\n\
        mov.u32 %r9, 0;";
    let fault = run(64, body).unwrap_err();
    let FaultKind::Deadlock { waiting } = &fault.kind else { panic!("{fault}") };
    let lines: Vec<u32> = waiting.iter().map(|group| group.span.line).collect();
    assert_eq!(
        waiting.iter().map(|group| (group.warp, group.lanes)).collect::<Vec<_>>(),
        [(0, u32::MAX), (1, u32::MAX)]
    );
    assert_eq!(lines[1] - lines[0], 3);
}

#[test]
fn bad_barriers() {
    let fault = run(32, "mov.u32 %r9, 16;\nbar.sync %r9;").unwrap_err();
    assert!(matches!(fault.kind, FaultKind::BadOperand(_)), "{fault}");
    let fault = run(32, "mov.u32 %r9, 0;\nbar.sync 0, 33;").unwrap_err();
    assert!(matches!(fault.kind, FaultKind::BadOperand(_)), "{fault}");
}

/// The source lane and whether it is in range, as the manual defines them.
fn shuffle(mode: &str, lane: i32, b: i32, c: i32) -> (usize, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let (highest, lowest) = (lane & segment | clamp & !segment, lane & segment);
    let (source, inside) = match mode {
        "up" => (lane - b, lane - b >= highest),
        "down" => (lane + b, lane + b <= highest),
        "bfly" => (lane ^ b, lane ^ b <= highest),
        _ => (lowest | b & !segment, lowest | b & !segment <= highest),
    };
    (if inside { source } else { lane } as usize, inside)
}

#[test]
fn shuffles() {
    for mode in ["up", "down", "bfly", "idx"] {
        for width in [32, 16, 8, 4, 2] {
            let c = (32 - width) << 8 | if mode == "up" { 0 } else { 31 };
            for b in [0, 1, 3, 7, 16, 31, 33] {
                let body = format!(
                    "mad.lo.u32 %r1, %r0, 7, 100;\nshfl.sync.{mode}.b32 %r2|%p0, %r1, {b}, {c}, -1;\n\
                     selp.b32 %r3, 1000000, 0, %p0;\nadd.u32 %r9, %r2, %r3;"
                );
                let result = run_with(Config::default(), 64, &body).unwrap();
                for thread in 0..64 {
                    let (source, inside) = shuffle(mode, thread % 32, b, c);
                    let value = (thread as u32 / 32 * 32 + source as u32) * 7 + 100;
                    let expected = value + if inside { 1_000_000 } else { 0 };
                    assert_eq!(result[thread as usize], expected, "{mode} {b} {c:#x}, thread {thread}");
                }
            }
        }
    }
    // The lane operand may differ between lanes.
    let result = run(32, "not.b32 %r1, %r0;\nshfl.sync.idx.b32 %r9, %r0, %r1, 31, -1;").unwrap();
    assert_eq!(result, (0..32).rev().collect::<Vec<u32>>());
}

/// Lanes that come to one operation on different paths, or at different instructions, wait for each other.
#[test]
fn lanes_gather() {
    // Two sides of a branch, each with the whole warp's mask.
    let body = "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 bra EVEN;\nadd.u32 %r2, %r0, 100;\n\
                shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1;\nbra END;\nEVEN:\nadd.u32 %r3, %r0, 200;\n\
                shfl.sync.bfly.b32 %r9, %r3, 1, 31, -1;\nEND:";
    let result = run(32, body).unwrap();
    let expected: Vec<u32> = (0..32).map(|lane| (lane ^ 1) + if lane % 2 == 0 { 100 } else { 200 }).collect();
    assert_eq!(result, expected);
    // Each side among its own.
    let body = "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 bra EVEN;\n\
                shfl.sync.bfly.b32 %r9, %r0, 2, 31, 0xaaaaaaaa;\nbra END;\nEVEN:\n\
                shfl.sync.bfly.b32 %r9, %r0, 4, 31, 0x55555555;\nEND:";
    let result = run(32, body).unwrap();
    assert_eq!(result, (0..32).map(|lane| lane ^ if lane % 2 == 1 { 2 } else { 4 }).collect::<Vec<u32>>());
    // A warp barrier in a loop with as many rounds on each side.
    let body = ".shared .align 4 .b8 s[128];\nmov.u32 %r1, s;\nshl.b32 %r2, %r0, 2;\nadd.u32 %r2, %r2, %r1;\n\
                xor.b32 %r3, %r2, 4;\nst.shared.u32 [%r2], 0;\n\
                bar.warp.sync -1;\nand.b32 %r5, %r0, 1;\nsetp.eq.u32 %p0, %r5, 0;\nmov.u32 %r4, 0;\n@%p0 bra EVEN;\n\
                ODD:\nst.shared.u32 [%r3], %r4;\nbar.warp.sync -1;\nbar.warp.sync -1;\nadd.u32 %r4, %r4, 1;\n\
                setp.lt.u32 %p1, %r4, 5;\n@%p1 bra ODD;\nmov.u32 %r9, 7;\nbra END;\n\
                EVEN:\nmov.u32 %r9, 0;\nAGAIN:\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r2];\nadd.u32 %r9, %r9, %r6;\n\
                bar.warp.sync -1;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 5;\n@%p1 bra AGAIN;\nEND:";
    let result = run(32, body).unwrap();
    assert_eq!(result, (0..32).map(|lane| if lane % 2 == 0 { 10 } else { 7 }).collect::<Vec<u32>>());
}

/// The tiles of a warp shuffle at the same time, each with its own member mask.
#[test]
fn tiles() {
    let masks = "and.b32 %r1, %r0, 31;\nand.b32 %r2, %r1, 24;\nmov.u32 %r3, 255;\nshl.b32 %r3, %r3, %r2;\n";
    let result = run(64, &format!("{masks}shfl.sync.bfly.b32 %r9, %r0, 5, 0x181f, %r3;")).unwrap();
    assert_eq!(result, (0..64).map(|thread| thread ^ 5).collect::<Vec<u32>>());
    let result = run(64, &format!("{masks}redux.sync.add.u32 %r9, %r0, %r3;")).unwrap();
    assert_eq!(result, (0..64u32).map(|thread| (thread / 8 * 8..).take(8).sum()).collect::<Vec<u32>>());
    // Half of each tile comes on another path.
    let body = format!(
        "{masks}and.b32 %r4, %r0, 4;\nsetp.eq.u32 %p0, %r4, 0;\n@%p0 bra LOW;\n\
         shfl.sync.bfly.b32 %r9, %r0, 4, 0x181f, %r3;\nbra END;\n\
         LOW:\nshfl.sync.bfly.b32 %r9, %r0, 4, 0x181f, %r3;\nEND:"
    );
    assert_eq!(run(64, &body).unwrap(), (0..64).map(|thread| thread ^ 4).collect::<Vec<u32>>());
    // The lanes of one tile leave before; the others are complete without them.
    let body = format!(
        "{masks}mov.u32 %r9, 99;\nsetp.lt.u32 %p0, %r0, 8;\n@%p0 bra END;\n\
         shfl.sync.bfly.b32 %r9, %r0, 1, 0x181f, %r3;\nEND:"
    );
    let expected: Vec<u32> = (0..64).map(|thread| if thread < 8 { 99 } else { thread ^ 1 }).collect();
    assert_eq!(run(64, &body).unwrap(), expected);
}

#[test]
fn absent_lanes() {
    // 48 threads: the second warp has 16 lanes.
    let fault = run(48, "shfl.sync.down.b32 %r9, %r0, 16, 31, -1;").unwrap_err();
    assert!(matches!(fault.kind, FaultKind::AbsentLane { lane: 16, present: 0xffff, .. }), "{fault}");
    assert_eq!(fault.thread, Some([32, 0, 0]));
    // Nobody reads what is not there.
    let result = run(48, "shfl.sync.bfly.b32 %r9, %r0, 1, 31, -1;").unwrap();
    assert_eq!(result, (0..48).map(|thread| thread ^ 1).collect::<Vec<u32>>());
    // A lane that is not in its own mask.
    let fault = run(32, "shfl.sync.bfly.b32 %r9, %r0, 1, 31, 0xffff;").unwrap_err();
    assert!(matches!(fault.kind, FaultKind::BadOperand(_)), "{fault}");
    // A lane that waits elsewhere for good.
    let body = "setp.eq.u32 %p0, %r0, 3;\n@%p0 bra ALONE;\nbar.warp.sync -1;\nbra END;\nALONE:\n\
        vote.sync.any.pred %p1, %p0, -1;\nEND:\nmov.u32 %r9, 0;";
    let fault = run(32, body).unwrap_err();
    let FaultKind::Deadlock { waiting } = &fault.kind else { panic!("{fault}") };
    assert_eq!(waiting.len(), 2);
}

#[test]
fn votes() {
    let vote = |text: &str| run(64, &format!("setp.lt.u32 %p0, %r0, 40;\n{text}")).unwrap();
    let by_warp = |first: u32, second: u32| [vec![first; 32], vec![second; 32]].concat();
    let flag = |mode: &str| format!("vote.sync.{mode}.pred %p1, %p0, -1;\nselp.b32 %r9, 1, 0, %p1;");
    assert_eq!(vote(&flag("all")), by_warp(1, 0));
    assert_eq!(vote(&flag("any")), by_warp(1, 1));
    assert_eq!(vote(&flag("uni")), by_warp(1, 0));
    assert_eq!(vote("vote.sync.ballot.b32 %r9, %p0, -1;"), by_warp(u32::MAX, 0xff));
    assert_eq!(vote("vote.sync.ballot.b32 %r9, !%p0, -1;"), by_warp(0, !0xff));
    assert_eq!(vote("activemask.b32 %r9;"), by_warp(u32::MAX, u32::MAX));
    assert_eq!(
        vote("mov.u32 %r9, 0;\n@%p0 activemask.b32 %r9;"),
        [vec![u32::MAX; 32], vec![0xff; 8], vec![0; 24]].concat()
    );
    // Over a part of the warp.
    let body = "setp.ge.u32 %p0, %r0, 8;\nmov.u32 %r9, 0;\n@%p0 bra END;\nand.b32 %r1, %r0, 1;\n\
        setp.ne.u32 %p1, %r1, 0;\nvote.sync.ballot.b32 %r9, %p1, 0xff;\nEND:";
    assert_eq!(run(32, body).unwrap(), [vec![0xaa; 8], vec![0; 24]].concat());
}

#[test]
fn matches_and_reductions() {
    let result = run(32, "rem.u32 %r1, %r0, 5;\nmatch.any.sync.b32 %r9, %r1, -1;").unwrap();
    for (lane, &mask) in result.iter().enumerate() {
        let same = (0..32).filter(|other| other % 5 == lane % 5).fold(0u32, |sum, other| sum | 1 << other);
        assert_eq!(mask, same);
    }
    let result = run(32, "cvt.u64.u32 %rd5, %r0;\nshl.b64 %rd5, %rd5, 60;\nmatch.any.sync.b64 %r9, %rd5, -1;").unwrap();
    assert_eq!(result[3], 0x0008_0008);
    let all = "match.all.sync.b32 %r1|%p0, %r2, -1;\nselp.b32 %r3, 1, 0, %p0;\nxor.b32 %r9, %r1, %r3;";
    assert_eq!(run(32, &format!("mov.u32 %r2, 9;\n{all}")).unwrap(), [u32::MAX ^ 1; 32]);
    assert_eq!(run(32, &format!("mov.u32 %r2, %r0;\n{all}")).unwrap(), [0; 32]);
    for (name, expected) in [
        ("add.u32", (0..32).map(|lane| lane * 3).sum::<u32>()),
        ("add.s32", (0..32).map(|lane| lane * 3).sum()),
        ("min.u32", 0),
        ("max.s32", 93),
        ("and.b32", 0),
        ("or.b32", 127),
        ("xor.b32", (0..32).fold(0, |sum, lane| sum ^ (lane * 3))),
    ] {
        let result = run(32, &format!("mul.lo.u32 %r1, %r0, 3;\nredux.sync.{name} %r9, %r1, -1;")).unwrap();
        assert_eq!(result, vec![expected; 32], "{name}");
    }
    let result = run(32, "sub.u32 %r1, %r0, 16;\nredux.sync.min.s32 %r9, %r1, -1;").unwrap();
    assert_eq!(result, vec![(-16i32) as u32; 32]);
}
