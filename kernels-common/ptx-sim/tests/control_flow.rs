//! Branches, loops, calls, and what happens when lanes part.

mod common;

use common::{Device, Params, kernel, launch};
use ptx_sim::ptx::Module;
use ptx_sim::{Config, Fault, FaultKind, Launch, LoadError, Simulator};

fn seeds() -> impl Iterator<Item = Config> {
    [None, Some(1), Some(2), Some(3), Some(4)].into_iter().map(|seed| Config { seed, ..Config::default() })
}

/// Runs the kernel `test` of a module, whose parameter is an array of `count` words, one for each thread.
fn run_module(config: Config, ptx: &str, threads: u32) -> Result<Vec<u32>, Fault> {
    let mut device = Device::with(config, ptx);
    let out = device.upload(&vec![0u32; threads as usize]);
    device.try_launch("test", launch(1, threads), Params::new().add(out))?;
    Ok(device.download(out, threads as usize))
}

fn around(body: &str) -> String {
    kernel(
        "test",
        ".param .u64 out",
        &format!(
            "ld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\nmad.wide.u32 %rd1, %r0, 4, %rd0;\n{body}\n\
             st.global.u32 [%rd1], %r9;"
        ),
    )
}

#[track_caller]
fn check(threads: u32, body: &str, expected: impl Fn(u32) -> u32) {
    for config in seeds() {
        let seed = config.seed;
        let result = run_module(config, &around(body), threads).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(result, (0..threads).map(&expected).collect::<Vec<u32>>(), "seed {seed:?}");
    }
}

#[test]
fn if_else_nested() {
    let body = "and.b32 %r1, %r0, 1;\nand.b32 %r2, %r0, 2;\nsetp.eq.u32 %p0, %r1, 0;\nsetp.eq.u32 %p1, %r2, 0;\n\
                @%p0 bra A;\n@%p1 bra B;\nmov.u32 %r9, 3;\nbra M;\nB:\nmov.u32 %r9, 1;\nM:\nadd.u32 %r9, %r9, 100;\n\
                bra END;\n\
                A:\nmov.u32 %r9, 0;\n@%p1 bra END;\nmov.u32 %r9, 2;\nEND:\nadd.u32 %r9, %r9, 1000;";
    check(64, body, |thread| 1000 + thread % 4 + if thread % 2 == 1 { 100 } else { 0 });
}

fn collatz(mut n: u32) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[test]
fn loops_of_different_length() {
    let body = "add.u32 %r1, %r0, 1;\nmov.u32 %r9, 0;\nLOOP:\nsetp.eq.u32 %p0, %r1, 1;\n@%p0 bra END;\n\
                and.b32 %r2, %r1, 1;\nsetp.ne.u32 %p1, %r2, 0;\n\
                @%p1 bra ODD;\nshr.u32 %r1, %r1, 1;\nbra NEXT;\nODD:\nmad.lo.u32 %r1, %r1, 3, 1;\nNEXT:\n\
                add.u32 %r9, %r9, 1;\nbra LOOP;\nEND:";
    check(200, body, |thread| collatz(thread + 1));
    // Guarded instructions instead of branches.
    let body = "add.u32 %r1, %r0, 1;\nmov.u32 %r9, 0;\nsetp.eq.u32 %p0, %r1, 1;\n@%p0 bra END;\nLOOP:\n\
                and.b32 %r2, %r1, 1;\nsetp.ne.u32 %p1, %r2, 0;\n\
                @!%p1 shr.u32 %r1, %r1, 1;\n@%p1 mad.lo.u32 %r1, %r1, 3, 1;\nadd.u32 %r9, %r9, 1;\n\
                setp.ne.u32 %p0, %r1, 1;\n@%p0 bra LOOP;\nEND:";
    check(200, body, |thread| collatz(thread + 1));
}

#[test]
fn lanes_meet_again() {
    // After an if without else, and after a loop that lanes leave one by one, the whole warp is active.
    let body = "setp.lt.u32 %p0, %r0, 7;\n@%p0 bra A;\nmov.u32 %r1, 1;\nA:\nactivemask.b32 %r9;";
    check(32, body, |_| u32::MAX);
    let body =
        "mov.u32 %r1, 0;\nLOOP:\nadd.u32 %r1, %r1, 1;\nsetp.le.u32 %p0, %r1, %r0;\n@%p0 bra LOOP;\nactivemask.b32 %r9;";
    check(32, body, |_| u32::MAX);
    // Also when some have returned under the branch.
    let body = "mov.u32 %r9, 5;\nst.global.u32 [%rd1], %r9;\nsetp.gt.u32 %p0, %r0, 15;\n@%p0 bra JOIN;\n\
        setp.lt.u32 %p1, %r0, 4;\n@%p1 ret;\nJOIN:\nactivemask.b32 %r9;";
    check(32, body, |thread| if thread < 4 { 5 } else { 0xffff_fff0 });
}

#[test]
fn early_returns_before_a_barrier() {
    let body = "mov.u32 %r9, 5;\nst.global.u32 [%rd1], %r9;\nand.b32 %r1, %r0, 3;\nsetp.eq.u32 %p0, %r1, 0;\n\
                @%p0 bra SOME;\nbra GO;\n\
                SOME:\nsetp.gt.u32 %p1, %r0, 40;\n@%p1 exit;\nGO:\nbar.sync 0;\nmov.u32 %r9, 6;";
    check(96, body, |thread| if thread % 4 == 0 && thread > 40 { 5 } else { 6 });
}

/// Both ways to write a lock that lanes of one warp compete for.
#[test]
fn spin_locks() {
    let module = |body: &str| {
        format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.global .align 4 .u32 lock;\n.global .align 4 .u32 sum;\n\
             .visible .entry test(.param .u64 out)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<4>;\n\
             ld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\nmad.wide.u32 %rd1, %r0, 4, %rd0;\n{body}\n\
             st.global.u32 [%rd1], %r9;\nret;\n}}\n"
        )
    };
    // The winner waits behind the loop for those who spin: it must be let go.
    let outside = "SPIN:\natom.global.cas.b32 %r1, [lock], 0, 1;\nsetp.ne.u32 %p0, %r1, 0;\n@%p0 bra SPIN;\n\
                   ld.volatile.global.u32 %r9, [sum];\nadd.u32 %r2, %r9, 1;\nst.volatile.global.u32 [sum], %r2;\n\
                   membar.gl;\natom.global.exch.b32 %r3, [lock], 0;";
    // The winner works inside the loop.
    let inside = "SPIN:\natom.global.cas.b32 %r1, [lock], 0, 1;\nsetp.ne.u32 %p0, %r1, 0;\n@%p0 bra NEXT;\n\
                  ld.volatile.global.u32 %r9, [sum];\nadd.u32 %r2, %r9, 1;\nst.volatile.global.u32 [sum], %r2;\n\
                  membar.gl;\nst.volatile.global.u32 [lock], 0;\nNEXT:\n@%p0 bra SPIN;";
    for body in [outside, inside] {
        for config in seeds() {
            let mut tickets = run_module(config, &module(body), 100).unwrap_or_else(|fault| panic!("{fault}"));
            tickets.sort_unstable();
            assert_eq!(tickets, (0..100).collect::<Vec<u32>>());
        }
    }
}

/// A warp waits for a flag that another warp sets.
#[test]
fn waiting_for_another_warp() {
    let body = ".shared .align 4 .b8 flag[4];\nmov.u32 %r1, flag;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra READY;\n\
                st.volatile.shared.u32 [%r1], 0;\nREADY:\nbar.sync 0;\n\
                setp.lt.u32 %p1, %r0, 32;\n@!%p1 bra SET;\nWAIT:\nld.volatile.shared.u32 %r9, [%r1];\n\
                setp.eq.u32 %p2, %r9, 0;\n@%p2 bra WAIT;\nbra END;\n\
                SET:\nmov.u32 %r9, 7;\nst.volatile.shared.u32 [%r1], %r9;\nEND:";
    check(64, body, |_| 7);
}

/// Warps that wait for a flag that nobody sets, and for a lock that nobody gives back.
#[test]
fn waiting_for_what_does_not_come() {
    let start = ".shared .align 4 .b8 flag[4];\nmov.u32 %r1, flag;\nmov.u32 %r2, 1;\nst.volatile.shared.u32 [%r1], %r2;\n\
                 bar.sync 0;\n";
    let flag = "WAIT:\nld.volatile.shared.u32 %r9, [%r1];\nsetp.eq.u32 %p2, %r9, 1;\n@%p2 bra WAIT;";
    let lock = "WAIT:\natom.shared.cas.b32 %r9, [%r1], 0, 1;\nsetp.eq.u32 %p2, %r9, 1;\n@%p2 bra WAIT;";
    for (wait, line) in [(flag, "ld.volatile"), (lock, "atom.shared.cas")] {
        let text = around(&format!("{start}{wait}"));
        let fault = run_module(Config::default(), &text, 64).unwrap_err();
        let FaultKind::Livelock { waiting } = &fault.kind else { panic!("{fault}") };
        assert!(!waiting.is_empty() && fault.to_string().contains("livelock"), "{fault}");
        assert!(text.contains(line) && fault.site.is_some(), "{fault}");
    }
}

#[test]
fn branch_tables() {
    let body = "rem.u32 %r1, %r0, 3;\nts: .branchtargets L0, L1, L2;\nbrx.idx %r1, ts;\nL0:\nmov.u32 %r9, 10;\n\
        bra END;\nL1:\nmov.u32 %r9, 20;\nbra END;\nL2:\nmov.u32 %r9, 30;\nEND:\nadd.u32 %r9, %r9, 1;";
    check(64, body, |thread| thread % 3 * 10 + 11);
}

#[test]
fn hangs_and_traps() {
    let config = || Config { budget: 10_000, ..Config::default() };
    let fault = run_module(config(), &around("LOOP:\nadd.u32 %r9, %r9, 1;\nbra LOOP;"), 32).unwrap_err();
    let FaultKind::Budget { instructions } = fault.kind else { panic!("{fault}") };
    assert!((9_000..=10_300).contains(&instructions), "{instructions}");
    let trap = "mov.u32 %r9, 1;\nsetp.eq.u32 %p0, %r0, 45;\n@%p0 trap;";
    assert_eq!(run_module(config(), &around(trap), 40).unwrap(), [1; 40]);
    let fault = run_module(config(), &around(trap), 64).unwrap_err();
    assert_eq!((&fault.kind, fault.thread), (&FaultKind::Trap, Some([45, 0, 0])));
}

/// Where a budget runs out: in the loop that does not end, not before or behind it. A budget that is larger by one
/// stops at another instruction of the loop, and each kind of turn's end comes up.
#[test]
fn an_exhausted_budget_names_an_instruction_of_the_loop() {
    let before = "xor.b32 %r7, %r0, 1;\nxor.b32 %r7, %r7, 1;\n";
    let after = "\nEND:\nxor.b32 %r8, %r0, 1;";
    for (body, inside) in [
        ("LOOP:\nadd.u32 %r9, %r9, 1;\nbra LOOP;", &["add.u32", "bra"][..]),
        ("LOOP:\nadd.u32 %r9, %r9, 1;\nsetp.ne.u32 %p1, %r0, 99;\n@%p1 bra LOOP;", &["add.u32", "setp.ne.u32", "bra"]),
        // Half of the lanes leave.
        ("LOOP:\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p1, %r0, 16;\n@%p1 bra LOOP;", &["add.u32", "setp.lt.u32", "bra"]),
        ("LOOP:\nnanosleep.u32 20;\nadd.u32 %r9, %r9, 1;\nbra LOOP;", &["nanosleep.u32", "add.u32", "bra"]),
        ("LOOP:\nadd.u32 %r9, %r9, 1;\nnanosleep.u32 20;\nbra LOOP;", &["nanosleep.u32", "add.u32", "bra"]),
        ("LOOP:\nadd.u32 %r9, %r9, 1;\nbar.sync 0;\nbra LOOP;", &["add.u32", "bar.sync", "bra"]),
    ] {
        let text = around(&format!("{before}{body}{after}"));
        for (seed, budget) in [(None, 10_000), (None, 10_001), (None, 10_002), (Some(1), 10_000), (Some(2), 10_001)] {
            let fault = run_module(Config { budget, seed, ..Config::default() }, &text, 32).unwrap_err();
            assert!(matches!(fault.kind, FaultKind::Budget { .. }), "{fault}");
            let site = fault.site.as_ref().unwrap();
            assert!(inside.contains(&&*site.opcode), "seed {seed:?}, budget {budget}, {body}: {fault}");
        }
    }
    // The kernel's first instruction is that of the loop.
    let text = kernel("test", ".param .u64 out", "LOOP:\nadd.u32 %r9, %r9, 1;\nbra LOOP;");
    let fault = run_module(Config { budget: 10_000, ..Config::default() }, &text, 32).unwrap_err();
    assert_eq!(fault.site.as_ref().map(|site| &*site.opcode), Some("add.u32"), "{fault}");
    // Nothing follows.
    let text = ".version 7.0\n.target sm_75\n.address_size 64\n\
                .visible .entry test(.param .u64 out)\n{\nnanosleep.u32 20;\n}\n";
    let fault = run_module(Config { budget: 1, ..Config::default() }, text, 32).unwrap_err();
    assert_eq!(fault.site.as_ref().map(|site| &*site.opcode), Some("nanosleep.u32"), "{fault}");
}

const FUNCTIONS: &str = ".version 7.0\n.target sm_75\n.address_size 64\n\
    .func (.param .b32 result) power(.param .b32 base, .param .b32 exponent)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<5>;\n\
    ld.param.u32 %r0, [base];\nld.param.u32 %r1, [exponent];\nmov.u32 %r2, 1;\nLOOP:\nsetp.eq.u32 %p0, %r1, 0;\n\
    @%p0 bra DONE;\n\
    mul.lo.u32 %r2, %r2, %r0;\nsub.u32 %r1, %r1, 1;\nbra LOOP;\nDONE:\nst.param.b32 [result], %r2;\nret;\n}\n\
    .func (.param .b32 result) fibonacci(.param .b32 n)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<6>;\n\
    ld.param.u32 %r0, [n];\nst.param.b32 [result], %r0;\nsetp.lt.u32 %p0, %r0, 2;\n@%p0 ret;\nsub.u32 %r1, %r0, 1;\n\
    {\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\ncall.uni (b), fibonacci, (a);\nld.param.b32 %r2, [b];\n\
    }\n\
    sub.u32 %r1, %r0, 2;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\ncall.uni (b), fibonacci, (a);\n\
    ld.param.b32 %r3, [b];\n}\n\
    add.u32 %r4, %r2, %r3;\nst.param.b32 [result], %r4;\nret;\n}\n\
    .func (.param .b32 result) endless(.param .b32 n)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r0, [n];\n\
    {\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r0;\ncall.uni (b), endless, (a);\nld.param.b32 %r1, [b];\n}\n\
    st.param.b32 [result], %r1;\nret;\n}\n\
    .func (.param .align 16 .b8 result[32]) table(.param .align 16 .b8 values[32], .param .b32 at)\n{\n\
    .reg .b32 %r<12>;\n.reg .b64 %rd<3>;\n.local .align 4 .b8 l[16];\n\
    ld.param.v4.u32 {%r0, %r1, %r2, %r3}, [values+16];\nld.param.u32 %r4, [at];\nmov.u64 %rd0, l;\n\
    st.local.u32 [l], %r0;\nst.local.u32 [l+4], %r1;\nst.local.u32 [l+8], %r2;\nst.local.u32 [l+12], %r3;\n\
    mad.wide.u32 %rd1, %r4, 4, %rd0;\nld.local.u32 %r5, [%rd1];\ncvta.local.u64 %rd2, %rd0;\nld.u32 %r6, [%rd2+4];\n\
    st.param.v2.b32 [result+8], {%r5, %r6};\nret;\n}\n\
    .visible .entry test(.param .u64 out, .param .u32 which)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<16>;\n\
    .reg .b64 %rd<4>;\n\
    ld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\nmad.wide.u32 %rd1, %r0, 4, %rd0;\nld.param.u32 %r1, [which];\n\
    setp.eq.u32 %p0, %r1, 1;\n@%p0 bra FIBONACCI;\nsetp.eq.u32 %p0, %r1, 2;\n@%p0 bra ENDLESS;\n\
    setp.eq.u32 %p0, %r1, 3;\n@%p0 bra TABLE;\n\
    and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p1, %r2, 0;\nmov.u32 %r9, 0;\n@%p1 bra END;\n\
    {\n.param .b32 a;\n.param .b32 b;\n.param .b32 c;\nst.param.b32 [a], 3;\nst.param.b32 [b], %r0;\n\
    call (c), power, (a, b);\nld.param.b32 %r9, [c];\n}\nbra END;\n\
    FIBONACCI:\n{\n.param .b32 a;\n.param .b32 b;\nrem.u32 %r3, %r0, 12;\nst.param.b32 [a], %r3;\n\
    call.uni (b), fibonacci, (a);\nld.param.b32 %r9, [b];\n}\nbra END;\n\
    ENDLESS:\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r0;\ncall.uni (b), endless, (a);\n\
    ld.param.b32 %r9, [b];\n}\nbra END;\n\
    TABLE:\n{\n.param .align 16 .b8 a[32];\n.param .b32 b;\n.param .align 16 .b8 c[32];\nmul.lo.u32 %r3, %r0, 10;\n\
    add.u32 %r4, %r3, 1;\nadd.u32 %r5, %r3, 2;\nadd.u32 %r6, %r3, 3;\n\
    st.param.v4.b32 [a+16], {%r3, %r4, %r5, %r6};\nand.b32 %r7, %r0, 3;\nst.param.b32 [b], %r7;\n\
    call.uni (c), table, (a, b);\nld.param.v2.b32 {%r10, %r11}, [c+8];\n}\nmad.lo.u32 %r9, %r11, 10000, %r10;\n\
    END:\nst.global.u32 [%rd1], %r9;\nret;\n}\n";

fn call(config: Config, which: u32, threads: u32) -> Result<Vec<u32>, Fault> {
    let mut device = Device::with(config, FUNCTIONS);
    let out = device.upload(&vec![0u32; threads as usize]);
    device.try_launch("test", launch(1, threads), Params::new().add(out).add(which))?;
    Ok(device.download(out, threads as usize))
}

#[test]
fn calls() {
    fn fibonacci(n: u32) -> u32 {
        if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
    }
    for config in seeds() {
        let powers: Vec<u32> =
            (0..48).map(|thread| if thread % 2 == 0 { 0 } else { 3u32.wrapping_pow(thread) }).collect();
        assert_eq!(call(config.clone(), 0, 48).unwrap(), powers);
        let numbers: Vec<u32> = (0..48).map(|thread| fibonacci(thread % 12)).collect();
        assert_eq!(call(config.clone(), 1, 48).unwrap(), numbers);
        let picked: Vec<u32> = (0..48).map(|thread| (thread * 10 + 1) * 10000 + thread * 10 + thread % 4).collect();
        assert_eq!(call(config, 3, 48).unwrap(), picked);
    }
    let fault = call(Config::default(), 2, 48).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::CallDepth { .. }), "{fault}");
    assert_eq!(fault.site.as_ref().unwrap().function.as_deref(), Some("endless"));
}

#[test]
fn variables() {
    let ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.global .align 8 .u64 big = 0x1122334455667788;\n\
               .global .align 2 .b8 bytes[6] = {1, 2, 3, 4};\n\
               .const .align 4 .f32 pi = 0f40490FDB;\n.extern .shared .align 16 .b8 dynamic[];\n\
               .visible .entry test(.param .u64 out)\n{\n.reg .b32 %r<12>;\n.reg .b64 %rd<8>;\n\
               .shared .align 4 .b8 fixed[20];\nld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\n\
               ld.global.u64 %rd1, [big];\nst.global.u64 [%rd0], %rd1;\nld.global.u8 %r1, [bytes+3];\n\
               ld.global.u16 %r2, [bytes+4];\nst.global.u32 [%rd0+8], %r1;\nst.global.u32 [%rd0+12], %r2;\n\
               ld.const.u32 %r3, [pi];\nst.global.u32 [%rd0+16], %r3;\nmov.u32 %r4, dynamic;\n\
               st.global.u32 [%rd0+20], %r4;\nst.shared.u32 [dynamic+12], 77;\nld.shared.u32 %r5, [%r4+12];\n\
               st.global.u32 [%rd0+24], %r5;\nmov.u32 %r6, %dynamic_smem_size;\nst.global.u32 [%rd0+28], %r6;\n\
               mov.u32 %r7, fixed;\nst.shared.u32 [%r7], 1;\nret;\n}\n";
    let mut device = Device::new(ptx);
    let out = device.upload(&[0u32; 8]);
    let shape = Launch { dynamic_shared: 16, ..launch(1, 1) };
    device.launch("test", shape, Params::new().add(out));
    let words: Vec<u32> = device.download(out, 8);
    assert_eq!(words[..2], [0x5566_7788, 0x1122_3344]);
    // The dynamic part starts behind the fixed one, aligned.
    assert_eq!(words[2..], [4, 0, 0x4049_0fdb, 32, 77, 16]);
    let kernel = device.kernel("test");
    assert_eq!((kernel.static_shared_bytes(), kernel.local_bytes()), (20, 0));
    let big = device.program.variable("big").unwrap();
    assert_eq!(device.download::<u64>(big, 1), [0x1122_3344_5566_7788]);
    // Without dynamic memory there is nothing at `dynamic`.
    let fault = device.try_launch("test", launch(1, 1), Params::new().add(out)).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
    device.simulator.unload(&device.program.clone());
    assert!(device.simulator.read(big, &mut [0; 8]).is_err());
}

#[test]
fn special_registers() {
    let registers = [
        "%tid.x",
        "%tid.y",
        "%tid.z",
        "%ntid.y",
        "%ctaid.x",
        "%ctaid.y",
        "%nctaid.x",
        "%laneid",
        "%warpid",
        "%lanemask_lt",
        "%lanemask_ge",
        "%nsmid",
        "WARP_SZ",
    ];
    let stores: String = (registers.iter().enumerate())
        .map(|(index, name)| format!("mov.u32 %r1, {name};\nst.global.u32 [%rd1+{}], %r1;\n", 4 * index))
        .collect();
    let bytes = 4 * registers.len();
    let body = format!(
        "ld.param.u64 %rd0, [out];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %tid.y;\nmov.u32 %r4, %tid.z;\n\
         mad.lo.u32 %r5, %r4, 3, %r3;\nmad.lo.u32 %r5, %r5, 5, %r2;\n\
         mov.u32 %r6, %ctaid.x;\nmov.u32 %r7, %ctaid.y;\nmad.lo.u32 %r8, %r7, 2, %r6;\nmad.lo.u32 %r5, %r8, 60, %r5;\n\
         mad.wide.u32 %rd1, %r5, {bytes}, %rd0;\n{stores}"
    );
    let mut device = Device::new(&kernel("test", ".param .u64 out", &body));
    let threads = 60 * 6;
    let out = device.upload(&vec![0u32; threads * registers.len()]);
    let shape = Launch { grid: [2, 3, 1], block: [5, 3, 4], ..Launch::default() };
    device.launch("test", shape, Params::new().add(out));
    let words: Vec<u32> = device.download(out, threads * registers.len());
    for (index, words) in words.chunks(registers.len()).enumerate() {
        let (block, thread) = (index as u32 / 60, index as u32 % 60);
        let lane = thread % 32;
        let expected = [
            thread % 5,
            thread / 5 % 3,
            thread / 15,
            3,
            block % 2,
            block / 2,
            2,
            lane,
            thread / 32,
            (1u32 << lane) - 1,
            u32::MAX << lane,
            16,
            32,
        ];
        assert_eq!(words, expected, "thread {index}");
    }
}

#[test]
fn an_unknown_instruction_fails_its_kernel_only() {
    let ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry good()\n{\nret;\n}\n\
               .visible .entry bad()\n{\n.reg .b32 %r<4>;\n  frobnicate.u32 %r0, %r1;\nret;\n}\n\
               .visible .entry worse()\n{\n.reg .b32 %r<4>;\nadd.rz.u32 %r0, %r1, %r2;\nret;\n}\n";
    let mut device = Device::new(ptx);
    device.launch("good", launch(1, 1), Params::new());
    let error = device.simulator.kernel(&device.program, "bad").unwrap_err();
    let LoadError::Unsupported { opcode, span, .. } = &error else { panic!("{error}") };
    assert_eq!((&**opcode, span.line, span.column), ("frobnicate.u32", 11, 3));
    assert!(error.to_string().starts_with("test.ptx:11:3: `frobnicate.u32` in `bad`"), "{error}");
    let error = device.simulator.kernel(&device.program, "worse").unwrap_err();
    assert!(error.to_string().contains("`.rz`"), "{error}");
    let error = device.simulator.kernel(&device.program, "missing").unwrap_err();
    assert_eq!(error.to_string(), "module `test.ptx` has no kernel `missing`; it has good, bad, worse");
}

#[test]
fn handles_can_cross_threads() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<Simulator>();
    is_send::<ptx_sim::Program>();
    is_send::<ptx_sim::Kernel>();
    is_sync::<ptx_sim::Kernel>();
    is_sync::<Module>();
}

#[test]
fn occupancy() {
    let device = Device::new(common::KERNELS);
    let kernel = device.kernel("tree_sequential");
    let config = Config::default();
    assert_eq!(kernel.occupancy(&config, 256, 0), 4);
    assert_eq!(kernel.occupancy(&config, 33, 0), 16);
    assert_eq!(kernel.occupancy(&config, 256, 30 << 10), 2);
    assert_eq!(kernel.occupancy(&config, 256, 64 << 10), 0);
    assert_eq!(kernel.occupancy(&config, 0, 0), 0);
    assert_eq!(kernel.occupancy(&Config { capability: (9, 0), ..config }, 256, 0), 8);
}
