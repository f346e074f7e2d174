//! Data races and what orders accesses, by small programs: the sound ones are silent and the broken ones are caught in
//! whatever order they run.

mod common;

use common::{Device, Params, kernel, launch};
use ptx_sim::{Checks, Config, Counters, Fault, FaultKind, Launch, Missing, Operation, Scope, Strength};

/// Orders in which a sound program runs, and in which a broken one is caught at least once.
const SEEDS: u64 = 64;

/// Runs a body that finds global memory of 64 zeroed words at `%rd0`, the thread in `%r0` and the block in `%r1`. The
/// shared variable `s` has 512 bytes.
fn run(config: Config, launch: Launch, body: &str) -> Result<Counters, Fault> {
    let body = format!(
        ".shared .align 16 .b8 s[512];\nld.param.u64 %rd0, [x];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n\
         setp.eq.u32 %p8, %r0, 0;\nsetp.eq.u32 %p9, %r1, 0;\n{body}"
    );
    let mut device = Device::with(config, &kernel("test", ".param .u64 x", &body));
    let x = device.upload(&[0u32; 64]);
    device.simulator.label(x, "x");
    device.try_launch("test", launch, Params::new().add(x))
}

fn configs() -> impl Iterator<Item = Config> {
    let mut checks = Checks::default();
    // A read that comes too early is to be a race.
    checks.initialised = false;
    let seeds = std::iter::once(None).chain((0..SEEDS).map(Some));
    seeds.map(move |seed| Config { seed, checks, ..Config::default() })
}

/// Runs under every seed without a fault.
#[track_caller]
fn sound(launch: Launch, body: &str) {
    for config in configs() {
        let seed = config.seed;
        if let Err(fault) = run(config, launch, body) {
            panic!("seed {seed:?}: {fault}\n{body}");
        }
    }
}

/// The first race that some seed finds; other faults are none.
#[track_caller]
fn broken(launch: Launch, body: &str) -> Fault {
    for config in configs() {
        match run(config, launch, body) {
            Err(fault) if matches!(fault.kind, FaultKind::Race { .. }) => return fault,
            Err(fault) => panic!("{fault}\n{body}"),
            Ok(_) => {}
        }
    }
    panic!("no race in\n{body}");
}

#[track_caller]
fn broken_for_want_of(missing: Missing, launch: Launch, body: &str) {
    let fault = broken(launch, body);
    let FaultKind::Race { missing: found, .. } = fault.kind else { unreachable!() };
    assert_eq!(found, missing, "{fault}\n{body}");
}

/// Lanes 0 and 1 of one warp, or threads 0 and 32 of two, write and read one place, with something between.
fn exchange(other: u32, space: &str, between: &str) -> String {
    let base = if space == "shared" { "mov.u64 %rd1, s;" } else { "mov.u64 %rd1, %rd0;" };
    format!(
        "{base}\nsetp.eq.u32 %p1, %r0, {other};\nmov.u32 %r9, 5;\n@%p8 st.{space}.u32 [%rd1+8], %r9;\n{between}\n\
         @%p1 ld.{space}.u32 %r10, [%rd1+8];"
    )
}

#[test]
fn barriers_order_threads_of_a_block() {
    for space in ["shared", "global"] {
        for (other, barriers, missing) in [
            (
                1,
                &["bar.warp.sync -1;", "setp.lt.u32 %p2, %r0, 2;\n@%p2 bar.warp.sync 3;", "bar.sync 0;"][..],
                Missing::WarpBarrier,
            ),
            (
                32,
                &["bar.sync 0;", "barrier.sync 3;", "bar.sync 1, 64;", "bar.red.popc.u32 %r11, 0, %p1;"],
                Missing::BlockBarrier,
            ),
        ] {
            for barrier in barriers {
                sound(launch(1, 64), &exchange(other, space, barrier));
            }
            let none =
                ["", "membar.gl;", "shfl.sync.idx.b32 %r11, %r0, 0, 31, -1;", "vote.sync.any.pred %p3, %p1, -1;"];
            for nothing in none {
                broken_for_want_of(missing, launch(1, 64), &exchange(other, space, nothing));
            }
        }
        // A barrier of other lanes, and one of the warps one by one.
        broken(launch(1, 64), &exchange(2, space, "setp.lt.u32 %p2, %r0, 2;\n@%p2 bar.warp.sync 3;"));
        broken(launch(1, 64), &exchange(32, space, "bar.warp.sync -1;"));
        // Read first, written then; written twice.
        let text = exchange(1, space, "");
        broken(launch(1, 32), &text.replace("@%p8 st", "@%p1 st").replace("@%p1 ld", "@%p8 ld"));
        broken(launch(1, 32), &format!("{text}\n@%p1 st.{space}.u32 [%rd1+8], %r0;").replace("@%p1 ld", "@%p7 ld"));
    }
}

#[test]
fn a_report_names_both_accesses() {
    let fault = broken(
        launch(2, 64),
        "setp.eq.u32 %p1, %r0, 33;\n@%p1 st.shared.v2.u32 [s+8], {%r0, %r1};\n\
                                       setp.eq.u32 %p1, %r0, 2;\n@%p1 ld.shared.u16 %h1, [s+14];",
    );
    let FaultKind::Race { first, second, place, missing } = &fault.kind else { panic!("{fault}") };
    assert_eq!((fault.block, fault.thread), (Some(second.block), Some(second.thread)));
    let (store, load) = if first.access.operation == Operation::Store { (first, second) } else { (second, first) };
    assert_eq!((store.access.address, store.access.bytes, store.thread), (8, 8, [33, 0, 0]));
    assert_eq!((load.access.operation, load.access.address, load.access.bytes), (Operation::Load, 14, 2));
    assert_eq!((load.thread, first.block, *missing), ([2, 0, 0], second.block, Missing::BlockBarrier));
    assert_eq!((first.strength, second.strength), (Strength::Weak, Strength::Weak));
    let place = place.as_ref().unwrap();
    assert_eq!((place.label.as_deref(), place.offset, place.size), (Some("s"), 14, 512));
    assert_eq!(&*store.site.as_ref().unwrap().opcode, "st.shared.v2.u32");
    let text = fault.to_string();
    for part in
        ["data race", "__syncthreads", "thread (33, 0, 0)", "thread (2, 0, 0)", "byte 14 of `s`", "`ld.shared.u16`"]
    {
        assert!(text.contains(part), "{text}");
    }
    let fault = broken(launch(2, 32), "@%p8 st.global.u32 [%rd0+4], %r1;");
    let FaultKind::Race { place: Some(place), missing: Missing::Release, .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!((place.label.as_deref(), place.offset), (Some("x"), 4));
    assert!(fault.to_string().contains(" at byte 4 of `x`, an allocation of "), "{fault}");
    let fault =
        broken(launch(2, 32), "@%p8 atom.global.cta.add.u32 %r2, [%rd0], 1;\n@%p8 st.global.u32 [%rd0+16], %r2;");
    let FaultKind::Race { first, missing: Missing::Scope, .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!((first.access.operation, first.strength), (Operation::Atomic, Strength::Strong(Scope::Block)));
}

/// A producer writes data and raises a flag; a consumer, thread 0 of block 1 or of warp 1, polls it and reads the data.
fn message(between_blocks: bool, produce: &str, consume: &str) -> String {
    let consumer = if between_blocks {
        "@!%p8 bra END;\n@!%p9 bra CONSUME;"
    } else {
        "setp.eq.u32 %p2, %r0, 32;\n@%p2 bra CONSUME;\n@!%p8 bra END;"
    };
    format!(
        "{consumer}\nmov.u32 %r9, 7;\nst.global.u32 [%rd0+128], %r9;\nmov.u32 %r8, 1;\n{produce}\nbra END;\nCONSUME:\n\
         WAIT:\n{consume}\nsetp.eq.u32 %p3, %r7, 0;\n@%p3 bra WAIT;\nAFTER\nld.global.u32 %r10, [%rd0+128];\nEND:"
    )
}

#[test]
fn message_passing() {
    let raise = [
        ("st.release.SCOPE.global.u32 [%rd0], %r8;", true),
        ("FENCE\nst.relaxed.SCOPE.global.u32 [%rd0], %r8;", true),
        ("FENCE\nst.volatile.global.u32 [%rd0], %r8;", true),
        ("FENCE\natom.global.SCOPE.exch.b32 %r6, [%rd0], %r8;", true),
        ("FENCE\nred.global.SCOPE.add.u32 [%rd0], 1;", true),
        ("atom.release.SCOPE.global.add.u32 %r6, [%rd0], 1;", true),
        ("red.release.SCOPE.global.add.u32 [%rd0], 1;", true),
        ("atom.acq_rel.SCOPE.global.cas.b32 %r6, [%rd0], 0, 1;", true),
        ("st.relaxed.SCOPE.global.u32 [%rd0], %r8;", false),
        ("st.volatile.global.u32 [%rd0], %r8;", false),
        ("st.relaxed.SCOPE.global.u32 [%rd0], %r8;\nFENCE", false),
        ("atom.acquire.SCOPE.global.exch.b32 %r6, [%rd0], %r8;", false),
        ("red.global.SCOPE.add.u32 [%rd0], 1;", false),
        // A swap in vain releases nothing, so the flag that follows has to.
        ("atom.release.SCOPE.global.cas.b32 %r6, [%rd0], 9, 9;\nst.relaxed.SCOPE.global.u32 [%rd0], %r8;", false),
        // Data after the fence.
        ("FENCE\nst.global.u32 [%rd0+128], %r8;\nst.relaxed.SCOPE.global.u32 [%rd0], %r8;", false),
    ];
    let look = [
        ("ld.acquire.SCOPE.global.u32 %r7, [%rd0];", "", true),
        ("ld.relaxed.SCOPE.global.u32 %r7, [%rd0];", "FENCE", true),
        ("ld.volatile.global.u32 %r7, [%rd0];", "FENCE", true),
        ("atom.acquire.SCOPE.global.or.b32 %r7, [%rd0], 0;", "", true),
        ("atom.global.SCOPE.cas.b32 %r7, [%rd0], 1, 2;", "FENCE", true),
        ("ld.relaxed.SCOPE.global.u32 %r7, [%rd0];", "", false),
        ("ld.volatile.global.u32 %r7, [%rd0];", "", false),
        ("atom.release.SCOPE.global.or.b32 %r7, [%rd0], 0;", "", false),
    ];
    for (produce, releases) in raise {
        for (consume, after, acquires) in look {
            for (between_blocks, scope, fence, reaches) in [
                (true, "gpu", "membar.gl;", true),
                (true, "sys", "fence.acq_rel.sys;", true),
                (false, "cta", "membar.cta;", true),
                (false, "gpu", "fence.sc.gpu;", true),
            ] {
                let with = |text: &str| text.replace("SCOPE", scope).replace("FENCE", fence);
                let body = message(between_blocks, &with(produce), &with(consume)).replace("AFTER", &with(after));
                let shape = if between_blocks { launch(2, 32) } else { launch(1, 64) };
                if releases && acquires && reaches {
                    for config in configs().step_by(8) {
                        run(config, shape, &body).unwrap_or_else(|fault| panic!("{fault}\n{body}"));
                    }
                } else {
                    broken(shape, &body);
                }
            }
        }
    }
}

#[test]
fn scopes_of_one_block_do_not_reach_another() {
    let passes = |produce: &str, consume: &str, after: &str| message(true, produce, consume).replace("AFTER", after);
    let wait = "ld.volatile.global.u32 %r7, [%rd0];";
    let raise = "st.volatile.global.u32 [%rd0], %r8;";
    sound(launch(2, 32), &passes(&format!("membar.gl;\n{raise}"), wait, "membar.gl;"));
    broken_for_want_of(Missing::Scope, launch(2, 32), &passes(&format!("membar.cta;\n{raise}"), wait, "membar.gl;"));
    broken_for_want_of(Missing::Acquire, launch(2, 32), &passes(&format!("membar.gl;\n{raise}"), wait, "membar.cta;"));
    broken_for_want_of(Missing::Acquire, launch(2, 32), &passes(&format!("membar.gl;\n{raise}"), wait, ""));
    broken_for_want_of(
        Missing::Scope,
        launch(2, 32),
        &passes("st.release.cta.global.u32 [%rd0], %r8;", "ld.acquire.gpu.global.u32 %r7, [%rd0];", ""),
    );
}

#[test]
fn threads_of_a_block_that_use_atomics_are_not_just_told_of_barriers() {
    let flag = message(false, "st.volatile.global.u32 [%rd0], %r8;", "ld.volatile.global.u32 %r7, [%rd0];");
    broken_for_want_of(Missing::BarrierOrRelease, launch(1, 64), &flag.replace("AFTER", ""));
    for pair in ["@%p8 atom.shared.add.u32 %r2, [s], 1;\nSTORE", "STORE\n@%p8 atom.shared.add.u32 %r2, [s], 1;"] {
        let body = pair.replace("STORE", "setp.eq.u32 %p1, %r0, 32;\n@%p1 st.shared.u32 [s], %r0;");
        broken_for_want_of(Missing::BarrierOrRelease, launch(1, 64), &body);
    }
}

/// The last block to finish adds up what all have stored.
fn last_block(fence: &str, atomic: &str, after: &str, reset: &str) -> String {
    format!(
        "setp.lt.u32 %p1, %r0, 4;\nmad.lo.u32 %r2, %r1, 4, %r0;\nmad.wide.u32 %rd1, %r2, 4, %rd0;\n\
         mov.u32 %r12, 0;\n@%p1 st.global.u32 [%rd1+64], %r2;\n{fence}\n@%p8 {atomic}\n{after}\n@%p8 st.shared.u32 [s], %r12;\nbar.sync 0;\n\
         ld.shared.u32 %r12, [s];\nsetp.ne.u32 %p2, %r12, 3;\n@%p2 bra END;\nand.b32 %r3, %r0, 15;\n\
         mad.wide.u32 %rd2, %r3, 4, %rd0;\nld.global.u32 %r4, [%rd2+64];\n{reset}\nEND:"
    )
}

#[test]
fn the_last_block_sees_all_partial_results() {
    let count = "atom.global.add.u32 %r12, [%rd0], 1;";
    let shape = launch(4, 64);
    // Each thread has its fence before the barrier, or thread 0 one after it.
    for fence in ["membar.gl;\nbar.sync 0;", "bar.sync 0;\nmembar.gl;", "bar.sync 0;\n@%p8 membar.gl;"] {
        for after in ["membar.gl;", "@%p8 fence.acq_rel.gpu;"] {
            sound(shape, &last_block(fence, count, after, ""));
        }
    }
    let ordered = "atom.acq_rel.gpu.global.add.u32 %r12, [%rd0], 1;";
    sound(shape, &last_block("bar.sync 0;", ordered, "", ""));
    // The counter is made ready for the next launch, by the thread that has read it or by another one.
    sound(shape, &last_block("bar.sync 0;", ordered, "", "@%p8 st.global.u32 [%rd0], 0;"));
    let another = "setp.eq.u32 %p3, %r0, 40;\n@%p3 st.global.u32 [%rd0], 0;";
    sound(shape, &last_block("membar.gl;\nbar.sync 0;", count, "membar.gl;", another));

    broken_for_want_of(Missing::Release, shape, &last_block("bar.sync 0;", count, "membar.gl;", ""));
    broken_for_want_of(Missing::Scope, shape, &last_block("bar.sync 0;\nmembar.cta;", count, "membar.gl;", ""));
    broken_for_want_of(Missing::Acquire, shape, &last_block("bar.sync 0;\nmembar.gl;", count, "", ""));
    broken(shape, &last_block("membar.gl;", ordered, "", ""));
    broken(shape, &last_block("bar.sync 0;", &ordered.replace("gpu", "cta"), "", ""));
}

#[test]
fn release_sequences_pass_through_atomics() {
    // Block 0 releases; block 1 adds without order; block 2 acquires what block 1 left.
    let chain = |middle: &str| {
        format!(
            "@!%p8 bra END;\nsetp.eq.u32 %p1, %r1, 1;\nsetp.eq.u32 %p2, %r1, 2;\nmov.u32 %r8, 1;\n\
             @%p1 bra MIDDLE;\n@%p2 bra LAST;\nst.global.u32 [%rd0+64], %r8;\nst.release.gpu.global.u32 [%rd0], %r8;\nbra END;\n\
             MIDDLE:\nld.relaxed.gpu.global.u32 %r2, [%rd0];\nsetp.eq.u32 %p3, %r2, 0;\n@%p3 bra MIDDLE;\n{middle}\nbra END;\n\
             LAST:\nld.acquire.gpu.global.u32 %r2, [%rd0];\nsetp.ne.u32 %p3, %r2, 2;\n@%p3 bra LAST;\n\
             ld.global.u32 %r4, [%rd0+64];\nEND:"
        )
    };
    sound(launch(3, 32), &chain("red.global.add.u32 [%rd0], 1;"));
    broken(launch(3, 32), &chain("mov.u32 %r8, 2;\nst.relaxed.gpu.global.u32 [%rd0], %r8;"));
}

#[test]
fn store_buffering_is_no_race_but_plain_flags_are() {
    let flags = |store: &str, load: &str| {
        format!(
            "@!%p8 bra END;\nmov.u32 %r2, 1;\nmul.wide.u32 %rd1, %r1, 4;\nadd.u64 %rd2, %rd0, %rd1;\nsub.u64 %rd3, %rd0, %rd1;\n\
             {store}.global.u32 [%rd2], %r2;\nmembar.gl;\n{load}.global.u32 %r3, [%rd3+4];\nEND:"
        )
    };
    sound(launch(2, 32), &flags("st.relaxed.gpu", "ld.relaxed.gpu"));
    sound(launch(2, 32), &flags("st.volatile", "ld.volatile"));
    broken(launch(2, 32), &flags("st", "ld.relaxed.gpu"));
    broken(launch(2, 32), &flags("st.volatile", "ld"));
    broken(launch(2, 32), &flags("st.relaxed.cta", "ld.relaxed.gpu"));
}

#[test]
fn producers_and_consumers_at_named_barriers() {
    // Warp 0 produces for warp 1, and may go on; then warp 1 hands the buffer back.
    let body = |first: &str, second: &str| {
        format!(
            "setp.lt.u32 %p1, %r0, 32;\nmul.lo.u32 %r2, %r0, 4;\nand.b32 %r2, %r2, 127;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\n\
             @!%p1 bra CONSUMER;\nst.shared.u32 [%r2], %r0;\n{first}\nbar.sync 2, 64;\nst.shared.u32 [%r2], %r1;\nbra END;\n\
             CONSUMER:\nbar.sync 1, 64;\nld.shared.u32 %r4, [%r2];\n{second}\nEND:"
        )
    };
    sound(launch(1, 64), &body("bar.arrive 1, 64;", "bar.arrive 2, 64;"));
    sound(launch(1, 64), &body("bar.sync 1, 64;", "bar.sync 2, 64;"));
    // What is read after the arrival is not covered by it.
    broken(launch(1, 64), &body("bar.arrive 1, 64;", "bar.arrive 2, 64;\nld.shared.u32 %r5, [%r2];"));
    broken(launch(1, 64), &body("bar.arrive 1, 64;\nst.shared.u32 [%r2], %r1;", "bar.arrive 2, 64;"));
    // A barrier of two of three warps.
    let two = "setp.ge.u32 %p1, %r0, 64;\nsetp.eq.u32 %p2, %r0, READER;\nmov.u32 %r2, 3;\n@%p8 st.shared.u32 [s], %r2;\n\
               @%p1 bra READ;\nbar.sync 1, 64;\nREAD:\n@%p2 ld.shared.u32 %r3, [s];";
    sound(launch(1, 96), &two.replace("READER", "32"));
    broken_for_want_of(Missing::BlockBarrier, launch(1, 96), &two.replace("READER", "64"));
}

#[test]
fn threads_that_have_left_have_arrived() {
    let body = "setp.eq.u32 %p1, %r0, 32;\nmov.u32 %r2, 3;\n@%p1 st.shared.u32 [s], %r2;\n@%p1 exit;\nBARRIER\n@%p8 ld.shared.u32 %r3, [s];";
    sound(launch(1, 64), &body.replace("BARRIER", "bar.sync 0;"));
    broken(launch(1, 64), &body.replace("BARRIER", "bar.warp.sync -1;"));
}

#[test]
fn bytes_are_told_apart() {
    // Neighbours of every width, in both memories; then the same with one byte in common.
    for (space, base) in [("shared", "mov.u64 %rd1, s;"), ("global", "mov.u64 %rd1, %rd0;")] {
        for (ty, register, bytes) in [("u8", "%h1", 1), ("u16", "%h1", 2), ("u32", "%r1", 4), ("u64", "%rd0", 8)] {
            let store = |stride: u32| {
                format!(
                    "{base}\ncvt.u16.u32 %h1, %r0;\nmul.wide.u32 %rd2, %r0, {stride};\nadd.u64 %rd1, %rd1, %rd2;\n\
                     add.u64 %rd3, %rd0, %rd2;\nst.{space}.{ty} [%rd1], {register};"
                )
            };
            sound(launch(1, 32), &store(bytes));
            if bytes < 8 {
                broken(launch(1, 32), &store(0).replace("%r1;", "%r0;"));
            }
        }
        let mixed = |offset: u32| {
            format!(
                "{base}\nsetp.eq.u32 %p1, %r0, 1;\nmov.u16 %h1, 0x1234;\n@%p8 st.{space}.v2.u32 [%rd1+16], {{%r9, %r9}};\n\
                 @%p1 st.{space}.u16 [%rd1+{offset}], %h1;"
            )
        };
        let mixed = |offset| format!("mov.u32 %r9, 0x01020304;\n{}", mixed(offset));
        for offset in [14, 24] {
            sound(launch(1, 32), &mixed(offset));
        }
        for offset in [16, 18, 22] {
            broken(launch(1, 32), &mixed(offset));
        }
    }
}

#[test]
fn generic_addresses_lead_to_the_same_memory() {
    let body = |between: &str| {
        format!(
            "mov.u64 %rd1, s;\ncvta.shared.u64 %rd2, %rd1;\nsetp.eq.u32 %p1, %r0, 1;\nmov.u32 %r2, 3;\n\
             @%p8 st.u32 [%rd2+4], %r2;\n{between}\n@%p1 ld.shared.u32 %r3, [%rd1+4];"
        )
    };
    sound(launch(1, 32), &body("bar.warp.sync -1;"));
    broken(launch(1, 32), &body(""));
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    let both = "atom.global.add.u32 %r2, [%rd0], 1;\nred.global.max.u32 [%rd0], %r0;";
    sound(launch(4, 64), both);
    sound(
        launch(4, 64),
        &format!("{both}\nld.volatile.global.u32 %r3, [%rd0];\nld.relaxed.gpu.global.u32 %r3, [%rd0];"),
    );
    broken(launch(1, 64), &format!("{both}\nld.global.u32 %r3, [%rd0];"));
    broken(launch(4, 32), &format!("{both}\n@%p8 st.global.u32 [%rd0], %r0;"));
    // Within a block, ordered by its barrier.
    sound(
        launch(4, 64),
        "@%p8 st.shared.u32 [s], 0;\nbar.sync 0;\natom.shared.add.u32 %r2, [s], 1;\nbar.sync 0;\nld.shared.u32 %r3, [s];",
    );
    broken(
        launch(4, 64),
        "@%p8 st.shared.u32 [s], 0;\nbar.sync 0;\natom.shared.add.u32 %r2, [s], 1;\nld.shared.u32 %r3, [s];",
    );
    broken(launch(4, 64), "@%p8 st.shared.u32 [s], 0;\natom.shared.add.u32 %r2, [s], 1;");
    // The block's scope does within a block.
    sound(launch(1, 64), "red.global.cta.add.u32 [%rd0], 1;");
    broken_for_want_of(Missing::Scope, launch(2, 64), "red.global.cta.add.u32 [%rd0], 1;");
}

#[test]
fn a_look_before_a_swap_is_allowed() {
    let by_value = "ld.global.u32 %r2, [%rd0];\nAGAIN:\nadd.u32 %r3, %r2, 1;\nmov.u32 %r4, %r2;\n\
                    atom.global.cas.b32 %r2, [%rd0], %r4, %r3;\nsetp.ne.u32 %p1, %r2, %r4;\n@%p1 bra AGAIN;";
    sound(launch(4, 64), by_value);
    let by_address = "add.u64 %rd1, %rd0, 4;\nld.global.u32 %r2, [%rd1];\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra END;\n\
                      atom.global.cas.b32 %r3, [%rd1], 0, 1;\nEND:";
    sound(launch(4, 64), by_address);
    broken(launch(4, 64), &by_address.replace("ld.global.u32 %r2, [%rd1]", "ld.global.u32 %r2, [%rd0+4]"));
}

#[test]
fn volatile_does_not_make_lanes_run_in_lock_step() {
    // The end of many a reduction of old: the last warp goes without barriers.
    let step = |barrier: &str| {
        let mut body = "mul.lo.u32 %r2, %r0, 4;\nmov.u32 %r3, s;\nadd.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2], %r0;\n\
                        add.u32 %r6, %r0, 32;\nst.shared.u32 [%r2+128], %r6;\nbar.warp.sync -1;\n"
            .to_owned();
        for stride in [16, 8, 4, 2, 1] {
            body += &format!(
                "ld.volatile.shared.u32 %r4, [%r2];\nld.volatile.shared.u32 %r5, [%r2+{}];\nadd.u32 %r4, %r4, %r5;\n{barrier}\n\
                 st.volatile.shared.u32 [%r2], %r4;\n{barrier}\n",
                4 * stride
            );
        }
        body
    };
    sound(launch(1, 32), &step("bar.warp.sync -1;"));
    broken_for_want_of(Missing::WarpBarrier, launch(1, 32), &step(""));
    broken_for_want_of(Missing::WarpBarrier, launch(1, 32), &step("membar.cta;"));
}

#[test]
fn stores_of_what_is_there_are_none() {
    sound(launch(4, 64), "mov.u32 %r2, 1;\nst.global.u32 [%rd0], %r2;");
    sound(launch(4, 64), "mov.u32 %r2, 1;\nst.shared.u32 [s], %r2;");
    broken(launch(2, 32), "st.global.u32 [%rd0], %r1;");
    broken_for_want_of(Missing::Nothing, launch(1, 32), "st.global.u32 [%rd0], %r0;");
    // But a read that has not been ordered before the first of them may miss it.
    broken(launch(1, 64), "mov.u32 %r2, 1;\nld.global.u32 %r3, [%rd0];\nst.global.u32 [%rd0], %r2;");
}

#[test]
fn launches_and_host_accesses_are_ordered() {
    let body = "ld.param.u64 %rd0, [x];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r0, %r1, 32, %r0;\n\
                xor.b32 %r0, %r0, 1;\nmul.wide.u32 %rd1, %r0, 4;\nadd.u64 %rd1, %rd0, %rd1;\nld.global.u32 %r2, [%rd1];\n\
                add.u32 %r2, %r2, 1;\nst.global.u32 [%rd1], %r2;";
    for config in configs().step_by(16) {
        let mut device = Device::with(config, &kernel("test", ".param .u64 x", body));
        for _ in 0..3 {
            let x = device.upload(&[0u32; 64]);
            for round in 0..4 {
                device.launch("test", launch(2, 32), Params::new().add(x));
                assert_eq!(device.download::<u32>(x, 64), [2 * round + 1; 64]);
                device.simulator.write(x, &[0; 4]).unwrap();
                device.simulator.fill(x, 256, &(2 * round + 2).to_le_bytes()).unwrap();
            }
            device.simulator.free(x).unwrap();
        }
    }
}

#[test]
fn grid_barriers_order_blocks() {
    // As cooperative groups do it, and without the part that orders.
    let barrier = |release: &str, acquire: &str| {
        format!(
            "bar.sync 0;\n@!%p8 bra JOIN;\n{release}.global.add.u32 %r4, [%rd0], 1;\nSPIN:\n{acquire}.global.u32 %r5, [%rd0];\n\
             setp.lt.u32 %p4, %r5, 4;\n@%p4 bra SPIN;\nJOIN:\nbar.sync 0;\n"
        )
    };
    let body = |barrier: &str| {
        format!(
            "mad.lo.u32 %r2, %r1, 8, %r0;\nsetp.lt.u32 %p1, %r0, 8;\nmul.wide.u32 %rd1, %r2, 4;\nadd.u64 %rd1, %rd0, %rd1;\n\
             @%p1 st.global.u32 [%rd1+32], %r2;\n{barrier}\nxor.b32 %r2, %r2, 8;\nmul.wide.u32 %rd2, %r2, 4;\n\
             add.u64 %rd2, %rd0, %rd2;\n@%p1 ld.global.u32 %r3, [%rd2+32];"
        )
    };
    let shape = Launch { cooperative: true, ..launch(4, 64) };
    sound(shape, &body(&barrier("atom.release.gpu", "ld.acquire.gpu")));
    sound(shape, &body(&barrier("membar.gl;\natom", "ld.volatile").replace("JOIN:", "membar.gl;\nJOIN:")));
    broken(shape, &body(&barrier("atom", "ld.acquire.gpu")));
    broken(shape, &body(&barrier("atom.release.gpu", "ld.relaxed.gpu")));
    broken(shape, &body(""));
}

#[test]
fn barriers_that_are_passed_in_two_steps() {
    // Arrive and wait, what has to come before, and the other thread of the exchange.
    let cluster = ("", "barrier.cluster.arrive;", "barrier.cluster.wait;");
    let mbarrier = (
        "@%p8 mbarrier.init.shared.b64 [s], 64;\nbar.sync 0;",
        "mbarrier.arrive.shared.b64 %rd5, [s];",
        "WAIT:\nmbarrier.test_wait.shared.b64 %p5, [s], %rd5;\n@!%p5 bra WAIT;",
    );
    for ((before, arrive, wait), of_block) in [(cluster, Missing::BlockBarrier), (mbarrier, Missing::BarrierOrRelease)]
    {
        for (other, missing) in [(1, Missing::WarpBarrier), (32, of_block)] {
            for space in ["shared", "global"] {
                let between = exchange(other, space, &format!("{arrive}\n{wait}"));
                sound(launch(1, 64), &format!("{before}\n{between}"));
                // What a thread does after it has arrived is not ordered before what others do after they have waited.
                let late = exchange(other, space, wait);
                broken_for_want_of(missing, launch(1, 64), &format!("{before}\n{arrive}\n{late}"));
            }
        }
    }
}

#[test]
fn a_lane_tells_its_warp_what_it_has_read() {
    // Lane 0 of warp 1 waits for warp 0, and all its lanes read the data.
    let body = |look: &str, tell: &str| {
        format!(
            "setp.lt.u32 %p2, %r0, 32;\n@!%p2 bra CONSUME;\n@!%p8 bra END;\nmov.u32 %r9, 7;\n\
             st.global.u32 [%rd0+128], %r9;\nst.release.cta.global.u32 [%rd0], %r9;\nbra END;\nCONSUME:\n\
             setp.ne.u32 %p3, %r0, 32;\n@%p3 bra TOLD;\nWAIT:\n{look}.global.u32 %r7, [%rd0];\n\
             setp.eq.u32 %p4, %r7, 0;\n@%p4 bra WAIT;\nTOLD:\n{tell}\nld.global.u32 %r10, [%rd0+128];\nEND:"
        )
    };
    let tells = ["shfl.sync.idx.b32 %r11, %r7, 0, 31, -1;", "vote.sync.any.pred %p5, %p3, -1;", "bar.warp.sync -1;"];
    for tell in tells {
        sound(launch(1, 64), &body("ld.acquire.cta", tell));
        sound(launch(1, 64), &body("ld.relaxed.cta", &format!("{tell}\nmembar.cta;")));
        broken(launch(1, 64), &body("ld.relaxed.cta", tell));
    }
    broken(launch(1, 64), &body("ld.acquire.cta", ""));
    // Only half of the warp is told.
    let half = "setp.lt.u32 %p6, %r0, 48;\n@%p6 bar.warp.sync 0xffff;";
    broken(launch(1, 64), &body("ld.acquire.cta", half));
}

#[test]
fn without_the_check_nothing_is_said() {
    let mut others = Checks::ALL;
    others.races = false;
    for checks in [Checks::NONE, others] {
        run(Config { checks, ..Config::default() }, launch(2, 64), "st.global.u32 [%rd0], %r0;").unwrap();
    }
}
