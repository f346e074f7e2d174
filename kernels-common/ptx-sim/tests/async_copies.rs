//! Copies that go on while the kernel does, and the barriers that count their bytes.

mod common;

use common::{Device, Params, launch};
use ptx_sim::{Checks, Config, Counters, Fault, FaultKind, MemorySpace, Operation};

/// Seeds to try: none, then some.
fn seeds() -> impl Iterator<Item = Option<u64>> {
    std::iter::once(None).chain((0..24).map(Some))
}

/// A kernel `test(x, y)` with 4 KiB of shared memory at `buffer`, mbarriers at `bar` and `bar+8`, whose body uses
/// `%p0`–`%p3`, `%r0`–`%r15` and `%rd0`–`%rd15`; `%rd0` and `%rd1` are x and y, `%r0` the thread, `%r1` four times it.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry test(.param .u64 x, .param .u64 y)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.shared .align 128 .b8 buffer[4096];\n\
         .shared .align 8 .b64 bar[2];\n\
         ld.param.u64 %rd0, [x];\nld.param.u64 %rd1, [y];\nmov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 2;\n\
         cvt.u64.u32 %rd2, %r1;\nadd.u64 %rd3, %rd0, %rd2;\nadd.u64 %rd4, %rd1, %rd2;\n\
         mov.u32 %r2, buffer;\nadd.u32 %r3, %r2, %r1;\n{body}\nret;\n}}\n"
    )
}

/// Runs `body` with `threads` threads on x = 100, 101, … and y, `threads` zeros, and gives y.
fn run(body: &str, threads: u32, seed: Option<u64>) -> Result<(Vec<u32>, Counters), Fault> {
    let mut device = Device::with(Config { seed, ..Config::default() }, &kernel(body));
    let x: Vec<u32> = (0..1024).map(|i| 100 + i).collect();
    let (x, y) = (device.upload(&x), device.upload(&vec![0u32; threads as usize]));
    let counters = device.try_launch("test", launch(1, threads), Params::new().add(x).add(y))?;
    Ok((device.download(y, threads as usize), counters))
}

#[track_caller]
fn gives(body: &str, threads: u32, expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..threads).map(expected).collect();
    for seed in seeds() {
        let (y, _) = run(body, threads, seed).unwrap_or_else(|fault| panic!("seed {seed:?}: {fault}"));
        assert_eq!(y, expected, "seed {seed:?}");
    }
}

#[track_caller]
fn faults(body: &str, threads: u32) -> Fault {
    match run(body, threads, None) {
        Ok((y, _)) => panic!("no fault, but {y:?}"),
        Err(fault) => fault,
    }
}

#[track_caller]
fn is_bad_operand(body: &str, threads: u32, words: &str) {
    let fault = faults(body, threads);
    assert!(matches!(&fault.kind, FaultKind::BadOperand(text) if text.contains(words)), "{fault}");
}

/// Copies a word for each thread, and reads that of the next thread.
const WORDS: &str = "cp.async.ca.shared.global [%r3], [%rd3], 4;\ncp.async.commit_group;\n";
const NEXT: &str =
    "xor.b32 %r4, %r1, 4;\nadd.u32 %r4, %r2, %r4;\nld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd4], %r5;\n";

#[test]
fn a_group_is_there_when_it_was_waited_for() {
    for wait in ["cp.async.wait_group 0;", "cp.async.wait_all;"] {
        gives(&format!("{WORDS}{wait}\nbar.sync 0;\n{NEXT}"), 64, |i| 100 + (i ^ 1));
    }
}

#[test]
fn a_read_that_does_not_wait_is_found() {
    let body = format!("{WORDS}ld.shared.u32 %r5, [%r3];\nst.global.u32 [%rd4], %r5;\n");
    let fault = faults(&body, 32);
    let FaultKind::CopyUnderWay { access } = fault.kind else { panic!("{fault}") };
    assert_eq!((access.operation, access.space, access.bytes), (Operation::Load, MemorySpace::Shared, 4));
    assert_eq!(&*fault.site.as_ref().unwrap().opcode, "ld.shared.u32");
    // In some orders the copy happens to be done; if not, it is this fault.
    let outcomes: Vec<bool> = (0..64)
        .map(|seed| match run(&body, 1, Some(seed)) {
            Ok((y, _)) => y == [100],
            Err(fault) => !matches!(fault.kind, FaultKind::CopyUnderWay { .. }),
        })
        .collect();
    assert!(outcomes.contains(&false), "no seed found it");
}

#[test]
fn what_was_there_before_the_copy_is_gone() {
    let body = format!("st.shared.u32 [%r3], %r0;\n{WORDS}ld.shared.u32 %r5, [%r3];\n");
    assert!(matches!(faults(&body, 32).kind, FaultKind::CopyUnderWay { .. }));
}

#[test]
fn a_wait_may_leave_groups_under_way() {
    let two = format!(
        "{WORDS}cp.async.ca.shared.global [%r3+256], [%rd3+256], 4;\ncp.async.commit_group;\ncp.async.wait_group 1;\n"
    );
    let read = |offset: u32| format!("ld.shared.u32 %r5, [%r3+{offset}];\nst.global.u32 [%rd4], %r5;\n");
    gives(&format!("{two}{}", read(0)), 64, |i| 100 + i);
    assert!(matches!(faults(&format!("{two}{}", read(256)), 64).kind, FaultKind::CopyUnderWay { .. }));
    gives(&format!("{two}cp.async.wait_group 0;\n{}", read(256)), 64, |i| 164 + i);
    // What was not committed is no group.
    let open = "cp.async.ca.shared.global [%r3], [%rd3], 4;\ncp.async.wait_group 0;\n";
    assert!(matches!(faults(&format!("{open}{}", read(0)), 64).kind, FaultKind::CopyUnderWay { .. }));
}

#[test]
fn another_threads_copies_are_not_waited_for() {
    let fault = faults(&format!("{WORDS}bar.sync 0;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 cp.async.wait_all;\n{NEXT}"), 64);
    assert!(matches!(fault.kind, FaultKind::CopyUnderWay { .. }), "{fault}");
}

#[test]
fn short_sources_are_filled_with_zeros() {
    let read = "cp.async.wait_all;\nshl.b32 %r6, %r0, 4;\nadd.u32 %r6, %r2, %r6;\nld.shared.v4.u32 {%r7, %r8, %r9, %r10}, \
                [%r6];\nshl.b32 %r8, %r8, 8;\nshl.b32 %r10, %r10, 16;\nadd.u32 %r7, %r7, %r8;\nadd.u32 %r7, %r7, %r9;\n\
                add.u32 %r7, %r7, %r10;\nst.global.u32 [%rd4], %r7;\n";
    let copy = |rest: &str| {
        format!(
            "shl.b32 %r6, %r0, 4;\nadd.u32 %r5, %r2, %r6;\ncvt.u64.u32 %rd6, %r6;\nadd.u64 %rd6, %rd0, %rd6;\n\
             mov.u32 %r11, %r0;\nmul.lo.u32 %r11, %r11, 4;\nmin.u32 %r11, %r11, 16;\nsetp.gt.u32 %p0, %r0, 1;\n\
             cp.async.cg.shared.global.L2::128B [%r5], [%rd6], 16{rest};\n{read}"
        )
    };
    let word = |i: u32, part: u32| (100 + 4 * i + part) << [0, 8, 0, 16][part as usize];
    gives(&copy(""), 32, |i| (0..4).map(|part| word(i, part)).sum());
    gives(&copy(", %r11"), 32, |i| (0..i.min(4)).map(|part| word(i, part)).sum());
    gives(&copy(", %p0"), 32, |i| if i > 1 { 0 } else { (0..4).map(|part| word(i, part)).sum() });
}

#[test]
fn small_copies_are_checked_when_they_are_issued() {
    let fault = faults("cp.async.ca.shared.global [%r3], [%rd3+4096], 4;", 32);
    assert!(
        matches!(&fault.kind, FaultKind::OutOfBounds { access, .. } if access.operation == Operation::Load),
        "{fault}"
    );
    let fault = faults("cp.async.ca.shared.global [%r3+8192], [%rd3], 4;", 32);
    assert!(
        matches!(&fault.kind, FaultKind::OutOfBounds { access, .. } if access.operation == Operation::Store),
        "{fault}"
    );
    let fault = faults("cp.async.ca.shared.global [%r3], [%rd3], 8;", 32);
    assert!(matches!(fault.kind, FaultKind::Misaligned { align: 8, .. }), "{fault}");
    assert_eq!(fault.thread, Some([1, 0, 0]));
}

/// Thread 0 makes a barrier for one arrival; all threads see it.
const INIT: &str = "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra READY;\nmbarrier.init.shared::cta.b64 [bar], 1;\n\
                    fence.mbarrier_init.release.cluster;\nREADY:\nbar.sync 0;\n";

/// Thread 0 issues a copy of `bytes` bytes and announces `announced`.
fn bulk_load(bytes: u32, announced: u32) -> String {
    format!(
        "{INIT}@%p0 bra ISSUED;\nmbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], {announced};\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buffer], [%rd0], {bytes}, [bar];\nISSUED:\n"
    )
}

fn wait(parity: u32) -> String {
    format!("LOOP{parity}:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], {parity};\n@!%p1 bra LOOP{parity};\n")
}

#[test]
fn bulk_loads_complete_a_phase() {
    gives(&format!("{}{}{NEXT}", bulk_load(1024, 1024), wait(0)), 256, |i| 100 + (i ^ 1));
}

#[test]
fn phases_follow_each_other() {
    // The second load goes to the same buffer, from the second half of x, after all have read the first.
    let second = "ld.shared.u32 %r6, [%r3];\nbar.sync 0;\n@%p0 bra AGAIN;\nfence.proxy.async.shared::cta;\n\
                  mbarrier.arrive.expect_tx.shared.b64 %rd7, [bar], 512;\n\
                  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [buffer], [%rd0+2048], 512, [bar];\n\
                  AGAIN:\n";
    let sum = "ld.shared.u32 %r7, [%r3];\nadd.u32 %r7, %r7, %r6;\nst.global.u32 [%rd4], %r7;\n";
    gives(&format!("{}{}{second}{}{sum}", bulk_load(512, 512), wait(0), wait(1)), 128, |i| 100 + i + 612 + i);
}

#[test]
fn a_read_before_the_phase_is_complete_is_found() {
    let fault = faults(&format!("{}bar.sync 0;\n{NEXT}", bulk_load(256, 256)), 64);
    assert!(matches!(fault.kind, FaultKind::CopyUnderWay { .. }), "{fault}");
    // To wait for the phase before is not to wait.
    let fault = faults(&format!("{}{}{NEXT}", bulk_load(128, 128), wait(1)), 32);
    assert!(matches!(fault.kind, FaultKind::CopyUnderWay { .. }), "{fault}");
}

#[test]
fn a_block_must_not_end_before_its_bulk_copies() {
    let fault = faults(&bulk_load(256, 256), 64);
    assert_eq!(fault.kind, FaultKind::UnfinishedCopy);
    assert!(fault.site.as_ref().unwrap().opcode.starts_with("cp.async.bulk"), "{fault}");
    assert_eq!(fault.thread, Some([0, 0, 0]));
    // Others may be left.
    gives(WORDS, 64, |_| 0);
}

#[test]
fn bytes_that_never_come_are_a_hang() {
    let fault = faults(&format!("{}{}", bulk_load(256, 272), wait(0)), 32);
    assert!(matches!(fault.kind, FaultKind::Livelock { .. }), "{fault}");
}

#[test]
fn bulk_copies_are_checked_when_they_are_issued() {
    let load = |to: &str, from: &str, bytes: u32, barrier: &str| {
        format!(
            "mbarrier.init.shared.b64 [bar], 1;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes \
             [{to}], [{from}], {bytes}, [{barrier}];\n"
        )
    };
    is_bad_operand(&load("buffer", "%rd0", 24, "bar"), 1, "24 bytes");
    is_bad_operand(&load("buffer", "%rd0", 16, "bar+8"), 1, "no mbarrier");
    let fault = faults(&load("buffer", "%rd0+4", 16, "bar"), 1);
    assert!(matches!(fault.kind, FaultKind::Misaligned { align: 16, .. }), "{fault}");
    let fault = faults(&load("buffer+8", "%rd0", 16, "bar"), 1);
    assert!(matches!(fault.kind, FaultKind::Misaligned { align: 16, .. }), "{fault}");
    let fault = faults(&load("buffer", "%rd0+4080", 32, "bar"), 1);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
    let fault = faults(&load("buffer+4064", "%rd0", 1024, "bar"), 1);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
    let store = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [buffer], 64;\n";
    assert!(matches!(faults(store, 32).kind, FaultKind::UninitialisedRead { .. }));
}

/// All threads fill the buffer with 1000 + thread, and thread 0 goes on.
const FILL: &str = "add.u32 %r4, %r0, 1000;\nst.shared.u32 [%r3], %r4;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n\
                    setp.ne.u32 %p0, %r0, 0;\n@%p0 bra DONE;\n";
const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [buffer], 256;\ncp.async.bulk.commit_group;\n";

#[test]
fn bulk_stores_reach_global_memory() {
    for wait in ["cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 0;"] {
        gives(&format!("{FILL}{STORE}{wait}\nDONE:\n"), 64, |i| 1000 + i);
    }
    let reduce = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [buffer], 128;\n\
                  cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
    let before = "mov.u32 %r5, 5;\nst.global.u32 [%rd4], %r5;\n";
    for (operation, result) in [("add.u32", 1005u32), ("max.s32", 1000), ("min.u32", 5)] {
        let reduce = reduce.replace("add.u32", operation);
        gives(&format!("{before}{FILL}{reduce}DONE:\n"), 64, |i| if i >= 32 || result == 5 { 5 } else { result + i });
    }
}

#[test]
fn a_store_is_late_and_its_source_is_free_once_it_was_read() {
    let look = "ld.global.u32 %r6, [%rd1];\n";
    let note = "st.global.u32 [%rd1+64], %r6;\nDONE:\n";
    let at = |body: &str| run(body, 64, None).unwrap().0;
    // Without a wait the old value is still there, and also if only the reading was waited for.
    let all = "cp.async.bulk.wait_group 0;\n";
    let short = STORE.replace("256", "64");
    assert_eq!(at(&format!("{FILL}{short}{look}{all}{note}"))[16], 0);
    assert_eq!(at(&format!("{FILL}{short}cp.async.bulk.wait_group.read 0;\n{look}{note}"))[16], 0);
    assert_eq!(at(&format!("{FILL}{short}{all}{look}{note}"))[16], 1000);
    // Overwritten after the reading, the source has no effect; before, it has.
    let overwrite = "mov.u32 %r7, 7;\nst.shared.u32 [buffer], %r7;\n";
    assert_eq!(at(&format!("{FILL}{STORE}cp.async.bulk.wait_group.read 0;\n{overwrite}DONE:\n"))[0], 1000);
    assert_eq!(at(&format!("{FILL}{STORE}{overwrite}{all}DONE:\n"))[0], 7);
    let fault = faults(&format!("{FILL}{STORE}DONE:\n"), 64);
    assert_eq!(fault.kind, FaultKind::UnfinishedCopy);
}

#[test]
fn copies_within_the_block_count_bytes_too() {
    let body = "add.u32 %r4, %r0, 1000;\nst.shared.u32 [%r3], %r4;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra READY;\n\
                mbarrier.init.shared.b64 [bar], 1;\nREADY:\nbar.sync 0;\n@%p0 bra ISSUED;\n\
                mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 128;\n\
                cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [buffer+2048], [buffer], 128, [bar];\n\
                mbarrier.arrive.shared.b64 _, [bar];\nISSUED:\n";
    let read = "ld.shared.u32 %r5, [%r3+2048];\nst.global.u32 [%rd4], %r5;\n";
    gives(&format!("{body}{}{read}", wait(0)), 32, |i| 1000 + i);
}

#[test]
fn arrivals_by_all_threads() {
    // Each thread arrives, waits by the state it got, and sees what the others stored.
    let body = "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra READY;\nmov.u32 %r6, %ntid.x;\nmbarrier.init.shared.b64 [bar], %r6;\n\
                READY:\nbar.sync 0;\nmov.u32 %r9, 0;\nmov.u32 %r10, 0;\nROUND:\n\
                add.u32 %r4, %r0, %r9;\nst.shared.u32 [%r3], %r4;\nmbarrier.arrive.shared.b64 %rd7, [bar];\n\
                mbarrier.pending_count.b64 %r11, %rd7;\nLOOP:\nmbarrier.test_wait.shared.b64 %p1, [bar], %rd7;\n\
                @!%p1 bra LOOP;\nxor.b32 %r5, %r1, 128;\nadd.u32 %r5, %r2, %r5;\nld.shared.u32 %r8, [%r5];\n\
                add.u32 %r10, %r10, %r8;\nmbarrier.arrive.shared.b64 %rd7, [bar], 1;\nLOOP2:\n\
                mbarrier.try_wait.shared.b64 %p1, [bar], %rd7, 1000;\n@!%p1 bra LOOP2;\nadd.u32 %r9, %r9, 1;\n\
                setp.lt.u32 %p2, %r9, 3;\n@%p2 bra ROUND;\nst.global.u32 [%rd4], %r10;\n";
    gives(body, 128, |i| 3 * (i ^ 32) + 3);
    let missing = body.replace("st.global.u32 [%rd4], %r10;", "st.global.u32 [%rd4], %r11;");
    let mut seen = run(&missing, 128, Some(3)).unwrap().0;
    seen.sort_unstable();
    assert_eq!(seen, (1..=128).collect::<Vec<u32>>());
}

#[test]
fn threads_can_drop_out() {
    // The upper half arrives once and for good; the lower half goes on by itself.
    let body = "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra READY;\nmbarrier.init.shared.b64 [bar], 64;\nREADY:\nbar.sync 0;\n\
                setp.ge.u32 %p2, %r0, 32;\n@%p2 bra LEAVE;\nmbarrier.arrive.shared.b64 %rd7, [bar];\nA:\n\
                mbarrier.try_wait.shared.b64 %p1, [bar], %rd7;\n@!%p1 bra A;\nmbarrier.arrive.shared.b64 %rd7, [bar];\nB:\n\
                mbarrier.try_wait.shared.b64 %p1, [bar], %rd7;\n@!%p1 bra B;\nst.global.u32 [%rd4], 1;\nret;\nLEAVE:\n\
                mbarrier.arrive_drop.shared.b64 _, [bar];\n";
    gives(body, 64, |i| u32::from(i < 32));
    let fault = faults(&body.replace("arrive_drop", "arrive"), 64);
    assert!(matches!(fault.kind, FaultKind::Livelock { .. }), "{fault}");
}

#[test]
fn an_arrival_can_follow_the_copies() {
    for (noinc, count) in [("", 65), (".noinc", 64)] {
        let arrive = if noinc.is_empty() { "mbarrier.arrive.shared.b64 _, [bar];\n" } else { "" };
        // Without `.noinc` the arrivals at the end of copies come on top of those that were announced.
        let body = format!(
            "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra READY;\nmbarrier.init.shared.b64 [bar], {};\nREADY:\nbar.sync 0;\n\
             cp.async.ca.shared.global [%r3], [%rd3], 4;\ncp.async.mbarrier.arrive{noinc}.shared::cta.b64 [bar];\n{arrive}",
            count.min(64)
        );
        gives(&format!("{body}{}{NEXT}", wait(0)), 64, |i| 100 + (i ^ 1));
        assert!(matches!(faults(&format!("{body}bar.sync 0;\n{NEXT}"), 64).kind, FaultKind::CopyUnderWay { .. }));
    }
}

#[test]
fn barriers_are_checked() {
    is_bad_operand("mbarrier.init.shared.b64 [bar], 0;", 1, "0 arrivals");
    is_bad_operand("mbarrier.init.shared.b64 [bar], 1;\nmbarrier.init.shared.b64 [bar], 1;", 1, "already");
    is_bad_operand("mbarrier.arrive.shared.b64 _, [bar];", 1, "no mbarrier");
    is_bad_operand(
        "mbarrier.init.shared.b64 [bar], 1;\nmbarrier.inval.shared.b64 [bar];\nmbarrier.arrive.shared.b64 _, [bar];",
        1,
        "no mbarrier",
    );
    is_bad_operand("mbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.shared.b64 _, [bar], 2;", 1, "lacks only 1");
    is_bad_operand(
        "mbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.noComplete.shared.b64 _, [bar], 1;",
        1,
        "noComplete",
    );
    is_bad_operand(
        "mbarrier.init.shared.b64 [bar], 1;\nmbarrier.expect_tx.shared.b64 [bar], 1048576;",
        1,
        "1048576 bytes",
    );
    is_bad_operand("mbarrier.init.b64 [%rd0], 1;", 1, "shared memory");
    let fault = faults("mbarrier.init.shared.b64 [bar+4], 1;", 1);
    assert!(matches!(fault.kind, FaultKind::Misaligned { align: 8, .. }), "{fault}");
    gives(
        "mbarrier.init.shared.b64 [bar], 1;\nmbarrier.inval.shared.b64 [bar];\nmbarrier.init.shared.b64 [bar], 2;",
        1,
        |_| 0,
    );
}

/// Without the check of bounds such a barrier is no more than a wrong operand, but nothing comes of it either.
#[test]
fn mbarriers_outside_shared_memory() {
    let init = "mbarrier.init.shared.b64 [bar+16], 1;";
    assert!(matches!(faults(init, 1).kind, FaultKind::OutOfBounds { .. }));
    let mut checks = Checks::ALL;
    checks.bounds = false;
    for body in [init, "mbarrier.init.shared.b64 [bar+9], 1;", "mbarrier.arrive.shared.b64 %rd5, [bar+8192];"] {
        let mut device = Device::with(Config { checks, ..Config::default() }, &kernel(body));
        let fault = device.try_launch("test", launch(1, 1), Params::new().add(0u64).add(0u64)).unwrap_err();
        assert!(
            matches!(&fault.kind, FaultKind::BadOperand(text) if text.contains("where a block has 4112 bytes")),
            "{fault}"
        );
    }
}

/// Copies that nobody waits for do not fill the host's memory: when there are more than a block can have use for, they
/// are done.
#[test]
fn copies_do_not_pile_up() {
    let body = |times: u32| {
        format!(
            "cp.async.ca.shared.global [%r3], [%rd3], 4;\nmov.u32 %r4, 0;\nAGAIN:\n\
             cp.async.ca.shared.global [%r3+128], [%rd3], 4;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p0, %r4, {times};\n\
             @%p0 bra AGAIN;\nld.shared.u32 %r5, [%r3];\nst.global.u32 [%rd4], %r5;"
        )
    };
    assert!(matches!(faults(&body(1000), 32).kind, FaultKind::CopyUnderWay { .. }));
    let (y, _) = run(&body(2048), 32, None).unwrap();
    assert_eq!(y, (100..132).collect::<Vec<_>>());
}
