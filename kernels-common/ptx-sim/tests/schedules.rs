//! What the schedules of a few seeds show of kernels that depend on them.

mod common;

use std::collections::BTreeMap;

use common::{Device, Params, kernel, launch};
use ptx_sim::{Checks, Config, Counters, Fault, Launch};

/// Enough for every outcome that these tests ask for.
const SEEDS: u64 = 64;

/// Runs `body` on `words` words of zeros, whose address is in `%rd0`, and gives them. `%r0` is the thread's index in
/// its block, `%r1` the block's in the grid, and lane 0 of each warp alone runs if `leaders`.
fn run(seed: Option<u64>, shape: Launch, words: usize, body: &str) -> Result<(Vec<u32>, Counters), Fault> {
    let body = format!("mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nld.param.u64 %rd0, [x];\n{body}");
    let mut config = Config { seed, checks: Checks::ALL, ..Config::default() };
    // What these kernels show is what races come to.
    config.checks.races = false;
    let mut device = Device::with(config, &kernel("test", ".param .u64 x", &body));
    let x = device.upload(&vec![0u32; words]);
    let counters = device.try_launch("test", shape, Params::new().add(x))?;
    Ok((device.download(x, words), counters))
}

/// How often each outcome occurs under the seeds.
fn outcomes<T: Ord>(shape: Launch, words: usize, body: &str, outcome: impl Fn(Vec<u32>) -> T) -> BTreeMap<T, u32> {
    let mut seen = BTreeMap::new();
    for seed in 0..SEEDS {
        let (memory, _) = run(Some(seed), shape, words, body).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        *seen.entry(outcome(memory)).or_default() += 1;
    }
    seen
}

/// Leaves the kernel in all lanes but the first of each warp, so that a warp is one thread.
const ONE_LANE: &str = "and.b32 %r2, %r0, 31;\nsetp.ne.u32 %p0, %r2, 0;\n@%p0 exit;\n";

#[test]
fn a_seed_gives_the_same_schedule_again() {
    let body = format!(
        "{ONE_LANE} atom.global.add.u32 %r3, [%rd0], 1;\nadd.u32 %r4, %r1, 1;\nshl.b32 %r3, %r3, 2;\n\
                        cvt.u64.u32 %rd1, %r3;\nadd.u64 %rd1, %rd0, %rd1;\nst.global.u32 [%rd1+4], %r4;"
    );
    for seed in 0..8 {
        let first = run(Some(seed), launch(5, 96), 16, &body).unwrap();
        assert_eq!(run(Some(seed), launch(5, 96), 16, &body).unwrap(), first, "seed {seed}");
    }
}

/// Two warps each in two blocks add 1 to a counter without atomics: anything from 1 to 4 can come out.
#[test]
fn lost_updates() {
    let body = format!("{ONE_LANE} ld.global.u32 %r3, [%rd0];\nadd.u32 %r3, %r3, 1;\nst.global.u32 [%rd0], %r3;");
    let seen = outcomes(launch(2, 64), 1, &body, |memory| memory[0]);
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4], "{seen:?}");
    // In order there is nothing to see.
    assert_eq!(run(None, launch(2, 64), 1, &body).unwrap().0, [4]);
    // The warps of one block alone do it too, and so do blocks of one warp.
    for shape in [launch(1, 64), launch(2, 32)] {
        let seen = outcomes(shape, 1, &body, |memory| memory[0]);
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [1, 2], "{shape:?}: {seen:?}");
    }
}

/// One block stores a value and then a flag, the other reads the flag and then the value: all that an interleaving of
/// the four can give, and nothing else.
#[test]
fn message_passing() {
    let body = "setp.ne.u32 %p0, %r1, 0;\n@%p0 bra READ;\nst.volatile.global.u32 [%rd0], 1;\n\
                st.volatile.global.u32 [%rd0+4], 1;\nexit;\nREAD:\nld.volatile.global.u32 %r3, [%rd0+4];\n\
                ld.volatile.global.u32 %r4, [%rd0];\nst.global.u32 [%rd0+8], %r3;\nst.global.u32 [%rd0+12], %r4;";
    let seen = outcomes(launch(2, 1), 4, body, |memory| (memory[2], memory[3]));
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 1)], "(flag, value): {seen:?}");
}

/// Each of two blocks stores to its own word and then reads the other's: at least one of them sees a 1.
#[test]
fn store_buffering() {
    let body = "shl.b32 %r2, %r1, 2;\nxor.b32 %r3, %r2, 4;\ncvt.u64.u32 %rd1, %r2;\nadd.u64 %rd1, %rd0, %rd1;\n\
                cvt.u64.u32 %rd2, %r3;\nadd.u64 %rd2, %rd0, %rd2;\nst.volatile.global.u32 [%rd1], 1;\n\
                ld.volatile.global.u32 %r4, [%rd2];\nst.global.u32 [%rd1+8], %r4;";
    let seen = outcomes(launch(2, 1), 4, body, |memory| (memory[2], memory[3]));
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 1)], "{seen:?}");
}

/// The four warps of two blocks draw numbers: of the 24 orders most come up, and every warp is first and last.
#[test]
fn every_order_of_warps() {
    let body = format!(
        "{ONE_LANE} shr.u32 %r2, %r0, 5;\nmad.lo.u32 %r2, %r1, 2, %r2;\n\
                        atom.global.add.u32 %r3, [%rd0], 1;\nmad.wide.u32 %rd1, %r3, 4, %rd0;\n\
                        st.global.u32 [%rd1+4], %r2;"
    );
    let seen = outcomes(launch(2, 64), 5, &body, |memory| memory[1..].to_vec());
    assert!(seen.len() >= 16, "{} orders: {seen:?}", seen.len());
    for place in [0, 3] {
        assert!((0..4).all(|warp| seen.keys().any(|order| order[place] == warp)), "{seen:?}");
    }
}

/// Lanes that part go through the two sides of a branch in either order, and one side can stop in the middle.
#[test]
fn both_sides_of_a_branch_go_on_by_turns() {
    let body = "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra ELSE;\nst.global.u32 [%rd0], 1;\nld.global.u32 %r3, [%rd0+4];\n\
                bra END;\nELSE:\nst.global.u32 [%rd0+4], 1;\nld.global.u32 %r3, [%rd0];\nEND:\n\
                mad.wide.u32 %rd1, %r0, 4, %rd0;\nst.global.u32 [%rd1+8], %r3;";
    let seen = outcomes(launch(1, 2), 4, body, |memory| (memory[2], memory[3]));
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 1)], "{seen:?}");
}

/// Which of the lanes that store to one address wins, and which lane of an atomic comes first and last.
#[test]
fn every_lane_can_win() {
    let shared = ".shared .align 4 .b8 s[4];\nmov.u32 %r5, s;\n";
    for (what, body) in [
        ("a store to global memory", "st.global.u32 [%rd0], %r0;".to_owned()),
        (
            "a store to shared memory",
            format!(
                "{shared} st.shared.u32 [%r5], %r0;\nbar.warp.sync -1;\n\
                                              ld.shared.u32 %r6, [%r5];\nst.global.u32 [%rd0], %r6;"
            ),
        ),
        ("the last of an exchange", "atom.global.exch.b32 %r3, [%rd0], %r0;\nst.global.u32 [%rd0+4], %r3;".to_owned()),
        (
            "the first of an addition",
            "atom.global.add.u32 %r3, [%rd0+4], 1;\nsetp.eq.u32 %p0, %r3, 0;\n\
                                      @%p0 st.global.u32 [%rd0], %r0;"
                .to_owned(),
        ),
    ] {
        let seen = outcomes(launch(1, 32), 2, &body, |memory| memory[0]);
        assert!(seen.len() >= 20 && seen.keys().all(|&lane| lane < 32), "{what}: {seen:?}");
    }
    // Not all lanes are there: only those that are can win.
    let body = "and.b32 %r2, %r0, 9;\nsetp.ne.u32 %p0, %r2, 8;\n@%p0 exit;\nst.global.u32 [%rd0], %r0;";
    let seen = outcomes(launch(1, 32), 1, body, |memory| memory[0]);
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [8, 10, 12, 14, 24, 26, 28, 30], "{seen:?}");
}

/// Every part of a vector is that of one lane.
#[test]
fn vectors_are_stored_whole() {
    let body = "add.u32 %r3, %r0, 100;\nst.global.v2.u32 [%rd0], {%r0, %r3};";
    let seen = outcomes(launch(1, 32), 2, body, |memory| (memory[0], memory[1]));
    assert!(seen.len() >= 20 && seen.keys().all(|(low, high)| low + 100 == *high), "{seen:?}");
}

/// A value goes from one warp to the other through shared memory. With a barrier between, it arrives; without, it
/// arrives under some seeds only.
#[test]
fn a_missing_barrier() {
    let body = |barrier: &str| {
        format!(
            ".shared .align 4 .b8 s[4];\nmov.u32 %r5, s;\nmov.u32 %r6, 0;\nsetp.eq.u32 %p0, %r0, 0;\n\
             @%p0 st.shared.u32 [%r5], %r6;\nbar.sync 0;\n@%p0 st.shared.u32 [%r5], 7;\n{barrier}\n\
             setp.eq.u32 %p1, %r0, 32;\n@%p1 ld.shared.u32 %r6, [%r5];\n@%p1 st.global.u32 [%rd0], %r6;"
        )
    };
    let seen = outcomes(launch(1, 64), 1, &body("bar.sync 0;"), |memory| memory[0]);
    assert_eq!(seen, BTreeMap::from([(7, SEEDS as u32)]));
    let seen = outcomes(launch(1, 64), 1, &body(""), |memory| memory[0]);
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [0, 7], "{seen:?}");
}

/// Two blocks meet twice at a barrier made of a counter, which the last to come sets back to zero. A block that is
/// still looking while the other is at the second meeting already sees 1 there, and waits in vain. (It gives up in the
/// end, and says so.) With a counter that only grows this cannot happen.
#[test]
fn an_overtaken_barrier() {
    let meet = |round: u32, resets: bool| {
        let (last, done) = if resets {
            (1, "setp.eq.u32 %p2, %r4, 0;".to_owned())
        } else {
            (u32::MAX, format!("setp.ge.u32 %p2, %r4, {};", 2 * (round + 1)))
        };
        format!(
            "atom.global.add.u32 %r3, [%rd0], 1;\nsetp.ne.u32 %p0, %r3, {last};\n@%p0 bra WAIT{round};\n\
             st.volatile.global.u32 [%rd0], 0;\nbra MET{round};\nWAIT{round}:\nmov.u32 %r5, 0;\nLOOK{round}:\n\
             ld.volatile.global.u32 %r4, [%rd0];\n{done}\n@%p2 bra MET{round};\nadd.u32 %r5, %r5, 1;\n\
             setp.lt.u32 %p3, %r5, 5000;\n@%p3 bra LOOK{round};\nst.global.u32 [%rd0+4], 1;\nMET{round}:\n"
        )
    };
    let both = |resets| meet(0, resets) + &meet(1, resets);
    let seen = outcomes(launch(2, 1), 2, &both(true), |memory| memory[1]);
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [0, 1], "gave up: {seen:?}");
    let seen = outcomes(launch(2, 1), 2, &both(false), |memory| memory[1]);
    assert_eq!(seen, BTreeMap::from([(0, SEEDS as u32)]));
}

/// A barrier of the grid that one block passes without waiting: what the others wrote before it may be missing after.
#[test]
fn an_unequal_grid_barrier() {
    // Block 0 adds up what the others have written, once it has seen `arrivals` of them.
    let body = |arrivals: u32| {
        format!(
            "setp.eq.u32 %p0, %r1, 0;\n@%p0 bra WAIT;\nmad.wide.u32 %rd1, %r1, 4, %rd0;\nst.global.u32 [%rd1], 1;\n\
             membar.gl;\nred.global.add.u32 [%rd0], 1;\nexit;\nWAIT:\nld.volatile.global.u32 %r3, [%rd0];\n\
             setp.lt.u32 %p1, %r3, {arrivals};\n@%p1 bra WAIT;\nld.volatile.global.u32 %r4, [%rd0+4];\n\
             ld.volatile.global.u32 %r5, [%rd0+8];\nld.volatile.global.u32 %r6, [%rd0+12];\nadd.u32 %r4, %r4, %r5;\n\
             add.u32 %r4, %r4, %r6;\nst.global.u32 [%rd0+16], %r4;"
        )
    };
    for shape in [launch(4, 1), Launch { cooperative: true, ..launch(4, 1) }] {
        let seen = outcomes(shape, 5, &body(3), |memory| memory[4]);
        assert_eq!(seen, BTreeMap::from([(3, SEEDS as u32)]));
        let seen = outcomes(shape, 5, &body(2), |memory| memory[4]);
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [2, 3], "{shape:?}: {seen:?}");
    }
}

/// However long a schedule puts the holder of a lock off, it gets its turns.
#[test]
fn every_schedule_ends() {
    // Every thread of four warps takes a lock that is not fair.
    let body = "mov.u32 %r3, 0;\nLOOP:\natom.global.cas.b32 %r4, [%rd0], 0, 1;\nsetp.ne.u32 %p0, %r4, 0;\n\
                @%p0 bra LOOP;\nld.volatile.global.u32 %r5, [%rd0+4];\nadd.u32 %r5, %r5, 1;\n\
                st.volatile.global.u32 [%rd0+4], %r5;\nmembar.gl;\natom.global.exch.b32 %r6, [%rd0], 0;";
    let seen = outcomes(launch(2, 64), 2, body, |memory| memory[1]);
    assert_eq!(seen, BTreeMap::from([(128, SEEDS as u32)]));
}
