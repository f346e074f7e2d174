//! Every kind of fault that a command line can bring about: exit code, message, lines of source, JSON.

use crate::{Folder, broken, foreign, module};

const FAULT: u8 = ptx_sim_cli::FAULT;

const STORE: &str = "mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [x];\ncvta.to.global.u64 %rd1, %rd1;\n\
                     mad.wide.u32 %rd2, %r1, 4, %rd1;\n";

/// Runs a kernel with one parameter, a pointer, and gives the JSON. The text on standard error is the same message.
fn fault(body: &str, words: &str) -> serde_json::Value {
    let folder = Folder::with(&module(&[("f", ".param .u64 x", &format!("{STORE}{body}"))]));
    let execution = folder.line(&format!("run k.ptx f {words} --json"));
    let text = execution.failure(FAULT);
    let json = execution.json();
    let message = json["fault"]["message"].as_str().unwrap();
    assert!(text.starts_with(&format!("error: {message}")), "{text}");
    assert_eq!(json["counters"], serde_json::Value::Null);
    json["fault"].clone()
}

#[test]
fn each_kind_has_its_name_and_message() {
    let spin = "SPIN:\nld.volatile.global.u32 %r2, [%rd1];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra SPIN;";
    let split = "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra LOW;\n";
    for (body, words, kind, says) in [
        ("st.global.u32 [%rd2], %r1;", "zeros:u32:8 --block 9", "out-of-bounds", "0 bytes past the end of `arg1`"),
        ("ld.global.u32 %r2, [%rd2];", "null --block 1", "null-pointer", "null pointer: load of 4 bytes"),
        ("ld.global.u64 %rd3, [%rd2];", "zeros:u32:8 --block 2", "misaligned", "not a multiple of 8"),
        ("ld.global.u32 %r2, [%rd2];", "uninit:u32:8,name=raw --block 2", "uninitialised-read", "`raw`"),
        ("st.global.u32 [%rd1], %r1;", "zeros:u32:1 --block 2", "race", "lanes of one instruction"),
        (
            &format!("{split}bar.sync 0;\nLOW:\nadd.u32 %r3, %r1, 1;"),
            "null --block 32",
            "divergent-barrier",
            "lanes 0xffff0000",
        ),
        (
            &format!("{split}bar.sync 0;\nret;\nLOW:"),
            "null --block 32 --check exited",
            "barrier-after-exit",
            "16 threads",
        ),
        ("shfl.sync.down.b32 %r2, %r1, 16, 31, -1;", "null --block 16", "absent-lane", "lane 16 is needed"),
        (
            "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra HIGH;\nbar.sync 1, 64;\nret;\nHIGH:\nbar.sync 2, 64;",
            "null --block 64",
            "deadlock",
            "no thread can go on",
        ),
        (spin, "zeros:u32:1 --block 1", "livelock", "looks at memory again and again"),
        (
            "SPIN:\nadd.u32 %r2, %r2, 1;\nbra SPIN;",
            "null --block 1 --budget 1000",
            "budget",
            "warp instructions executed",
        ),
        ("trap;", "null --block 1", "trap", "executed `trap`"),
        (
            "mov.u64 %rd3, 0x100000;\nalloca.u64 %rd4, %rd3;",
            "null --block 1",
            "stack-overflow",
            "`alloca` of 1048576 bytes",
        ),
        (
            ".shared .align 16 .b8 s[64];\nmov.u32 %r2, s;\ncp.async.ca.shared.global [%r2], [%rd1], 4;\n\
             ld.shared.u32 %r3, [%r2];",
            "ones:u32:1 --block 1",
            "copy-under-way",
            "wait for that first",
        ),
        (
            ".shared .align 16 .b8 s[64];\nmov.u32 %r2, s;\nst.shared.v4.u32 [%r2], {1, 1, 1, 1};\n\
             cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;\ncp.async.bulk.commit_group;",
            "zeros:u32:4 --block 1",
            "unfinished-copy",
            "before the last thread leaves",
        ),
        ("mov.u32 %r2, 17;\nbar.sync %r2;", "null --block 32", "bad-operand", "barrier 17"),
    ] {
        let fault = fault(body, words);
        assert_eq!(fault["kind"], kind, "{fault}");
        assert!(fault["message"].as_str().unwrap().contains(says), "{says}: {fault}");
    }
}

#[test]
fn a_hang_says_how_to_allow_more() {
    let folder = Folder::with(&module(&[("f", "", "SPIN:\nadd.u32 %r2, %r2, 1;\nbra SPIN;")]));
    let text = folder.line("run k.ptx --block 1 --budget 1000").failure(FAULT).to_owned();
    assert!(text.contains("--budget N allows N warp instructions"), "{text}");
}

#[test]
fn writes_to_constants_and_endless_recursion() {
    let head = ".version 7.0\n.target sm_75\n.address_size 64\n";
    let constant = format!(
        "{head}.const .align 4 .u32 table[2] = {{1, 2}};\n.visible .entry f()\n{{\n.reg .b64 %rd<2>;\n\
         mov.u64 %rd1, table;\nst.global.u32 [%rd1], 7;\nret;\n}}\n"
    );
    let recursion =
        format!("{head}.func g()\n{{\ncall.uni g;\nret;\n}}\n.visible .entry f()\n{{\ncall.uni g;\nret;\n}}\n");
    for (ptx, kind, says) in [
        (constant, "read-only", "write to read-only memory: store of 4 bytes"),
        (recursion, "call-depth", "the recursion is too deep, or does not end"),
    ] {
        let folder = Folder::with(&ptx);
        let execution = folder.line("run k.ptx --block 1 --json");
        assert!(execution.failure(FAULT).contains(says), "{execution:?}");
        assert_eq!(execution.json()["fault"]["kind"], kind);
    }
}

#[test]
fn checks_can_be_turned_off_one_by_one() {
    let folder = Folder::with(&module(&[
        ("read", ".param .u64 x", &format!("{STORE}ld.global.u32 %r2, [%rd2];")),
        ("same", ".param .u64 x", &format!("{STORE}st.global.u32 [%rd1], %r1;")),
        (
            "skip",
            ".param .u64 x",
            &format!("{STORE}setp.lt.u32 %p1, %r1, 16;\n@%p1 bra LOW;\nbar.sync 0;\nLOW:\nadd.u32 %r3, %r1, 1;"),
        ),
    ]));
    for (line, check) in [
        ("run k.ptx read uninit:u32:8 --block 8", "initialised"),
        ("run k.ptx read zeros:u32:8 --block 9", "bounds"),
        ("run k.ptx read null --block 9", "bounds"),
        ("run k.ptx skip null --block 32", "barriers"),
        ("run k.ptx same zeros:u32:1 --block 2", "races"),
    ] {
        folder.line(line).failure(FAULT);
        folder.line(&format!("{line} --no-check {check}")).fine();
        folder.line(&format!("{line} --no-check all")).fine();
    }
}

#[test]
fn a_fault_quotes_the_line_of_ptx_and_of_the_source() {
    let folder = Folder::new();
    let ptx = foreign("saxpy");
    let line = format!("run {ptx} f32=2 ones:f32:1000,name=x ones:f32:1000 i32=1001 --grid 4 --block 256");
    let execution = folder.line(&line);
    let text = execution.failure(FAULT);
    for part in [
        "out of bounds: load of 4 bytes",
        "0 bytes past the end of `x`, an allocation of 4000 bytes",
        "(saxpy.cu:6)",
        "block (3, 0, 0), thread (232, 0, 0)",
        " | ld.global.f32",
        "--> saxpy.cu:6",
        " 6 | if (i < n) y[i] = a * x[i] + y[i];",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // No table of what did not end.
    assert_eq!(execution.out, "");
    // Without the source beside it, and without line information, there is less to quote.
    std::fs::copy(&ptx, folder.path("saxpy.ptx")).unwrap();
    let text = folder.line(&line.replace(&ptx, "saxpy.ptx")).failure(FAULT).to_owned();
    assert!(
        text.contains("(saxpy.cu:6)") && text.contains("--> saxpy.ptx:") && !text.contains("--> saxpy.cu"),
        "{text}"
    );
}

#[test]
fn a_race_quotes_the_lines_of_both_accesses() {
    let ptx = broken("reverse");
    let line = "reverse_without_barrier iota:f32:96 zeros:f32:96 i32=96 --block 96";
    let execution = Folder::new().line(&format!("run {ptx} {line} --no-check initialised"));
    let text = execution.failure(FAULT);
    let mut rest = text;
    for part in [
        "data race at byte ",
        " of `tile` of `reverse_without_barrier`, 384 bytes of shared memory: nothing orders",
        "\n    first store of 4 bytes",
        "(line 123, reverse.cu:15)",
        "\n    then load of 4 bytes",
        "(line 129, reverse.cu:16)",
        "\n\n  first:\n  --> ",
        "reverse.sm_75.ptx:123\n  123 | st.shared.f32",
        "\n  --> reverse.cu:15\n   15 | if (t < count) tile[t] = x[first + t];",
        "\n\n  then:\n  --> ",
        "reverse.sm_75.ptx:129\n  129 | ld.shared.f32",
        "\n  --> reverse.cu:16\n   16 | if (t < count) y[first + t] = tile[count - 1 - t];",
    ] {
        let Some((_, behind)) = rest.split_once(part) else { panic!("{part} in {text}") };
        rest = behind;
    }
    // Two lanes at one instruction: a single line.
    let folder = Folder::with(&module(&[("f", ".param .u64 x", &format!("{STORE}st.global.u32 [%rd1], %r1;"))]));
    let execution = folder.line("run k.ptx zeros:u32:1 --block 2");
    let text = execution.failure(FAULT);
    assert!(text.matches("-->").count() == 1 && !text.contains("first:"), "{text}");
}

#[test]
fn messages_have_the_names_of_the_source_before_those_of_the_file() {
    let ptx = foreign("saxpy");
    let folder = Folder::new();
    let saxpy = "`saxpy(float, float const*, float*, int)` (`_Z5saxpyfPKfPfi`)";
    for (rest, code) in [("--block 9", FAULT), ("--block 2048", ptx_sim_cli::USAGE)] {
        let execution = folder.line(&format!("run {ptx} f32=2 ones:f32:8 ones:f32:9 i32=9 {rest}"));
        assert!(execution.failure(code).starts_with(&format!("error: kernel {saxpy}: ")), "{execution:?}");
    }
}

#[test]
fn several_threads_find_the_fault_of_one() {
    let folder = Folder::with(&module(&[(
        "f",
        ".param .u64 x",
        "mov.u32 %r1, %ctaid.x;\nld.param.u64 %rd1, [x];\nmad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r1;",
    )]));
    let line = "run k.ptx zeros:u32:64,name=x --block 1 --print x:64 --json";
    let threads = "--no-check races --threads";
    let (alone, together) = (format!("{line} --grid 64"), format!("{line} --grid 64 {threads} 4"));
    let (alone, together) = (folder.line(&alone).json(), folder.line(&together).json());
    for field in ["counters", "outputs", "fault"] {
        assert_eq!(alone[field], together[field], "{field}");
    }
    assert_eq!((&alone["launch"]["threads"], &together["launch"]["threads"]), (&1.into(), &4.into()));
    let fault = folder.line(&format!("{line} --grid 99 {threads} 4")).json()["fault"].clone();
    assert_eq!((&fault["kind"], &fault["block"][0]), (&"out-of-bounds".into(), &64.into()));
    folder.line(&format!("{line} --grid 64 {threads} all")).fine();
    let refused = folder.line(&format!("{line} --grid 64 --threads 4"));
    assert!(refused.failure(ptx_sim_cli::USAGE).contains("--no-check races"), "{refused:?}");
}

#[test]
fn after_a_fault_no_file_is_written_but_elements_are_printed() {
    let folder = Folder::with(&module(&[("f", ".param .u64 x", &format!("{STORE}st.global.u32 [%rd2], %r1;"))]));
    let execution = folder.line("run k.ptx zeros:u32:40,name=x,out=x.npy --block 64 --print x:40");
    execution.failure(FAULT);
    assert!(execution.out.contains("x: u32 (40) = [0, 1, 2, 3,"), "{execution:?}");
    assert!(!folder.path("x.npy").exists());
}

#[test]
fn launches_that_cannot_start_are_mistakes_of_the_command_line() {
    let folder = Folder::with(&module(&[("f", "", "")]));
    for (line, says) in [
        ("run k.ptx --block 2048", "block [2048, 1, 1] is larger than 1024 threads"),
        ("run k.ptx --block 32 --grid 1,65536", "is larger than"),
        ("run k.ptx --block 32 --shared 100000", "bytes of shared memory where a block has at most 65536"),
        ("run k.ptx --block 1024 --grid 17 --cooperative", "17 blocks where 16 can be resident"),
        ("run k.ptx", "the shape of a block is not known: say --block X"),
    ] {
        let execution = folder.line(line);
        assert!(execution.failure(ptx_sim_cli::USAGE).contains(says), "{line}: {execution:?}");
    }
    folder.line("run k.ptx --block 32 --shared 100000 --cc 9.0").fine();
    folder.line("run k.ptx --block 1024 --grid 17 --cooperative --sms 17").fine();
}
