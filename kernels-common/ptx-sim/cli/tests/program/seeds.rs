//! Many seeds, each from the same start.

use crate::{Folder, foreign, module};

/// Positive elements, in the order in which warps come.
fn collect(rest: &str) -> crate::Execution {
    let ptx = foreign("compact");
    let line = "collect iota:i32:512 uninit:i32:512,name=found zeros:u32:1,name=count i32=512 --grid 8 --block 64";
    Folder::new().line(&format!("run {ptx} {line} {rest}"))
}

#[test]
fn buffers_that_depend_on_the_order_are_named_with_two_seeds() {
    let execution = collect("--seeds 8");
    let text = execution.fine();
    assert!(text.contains(", 8 of 8 seeds; ") && text.contains("counters of seed 0:"), "{text}");
    assert!(text.contains("`found` differs: element ") && text.contains(" under seed 0 and "), "{text}");
    assert!(!text.contains("`count` differs"), "{text}");
    let execution = collect("--seeds 8 --reproducible --json");
    assert!(execution.failure(ptx_sim_cli::FAULT).contains("differ between seeds"));
    let json = execution.json();
    assert_eq!((&json["seeds"]["run"], &json["seeds"]["asked"]), (&8.into(), &8.into()));
    let [difference] = json["seeds"]["differences"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!((&difference["buffer"], &difference["seeds"][0]), (&"found".into(), &0.into()));
    // Each of the two seeds gives, alone, what the difference says.
    let element = difference["element"].as_u64().unwrap();
    for place in 0..2 {
        let seed = &difference["seeds"][place];
        let alone = collect(&format!("--seed {seed} --print found:512 --json")).json();
        assert_eq!(alone["outputs"][0]["values"][element as usize], difference["values"][place], "{difference}");
    }
    assert_ne!(difference["values"][0], difference["values"][1]);
}

#[test]
fn buffers_that_do_not_are_the_same() {
    let ptx = foreign("saxpy");
    let line =
        format!("run {ptx} f32=2 iota:f32:512 ones:f32:512 i32=512 --grid 8 --block 64 --seeds 4 --reproducible");
    assert!(Folder::new().line(&line).fine().contains("every buffer has the same bits under all 4 seeds"));
}

/// The first block to come takes the buffer's only place, so that some seeds fault and some do not.
#[test]
fn the_first_fault_ends_it_with_the_seed_that_runs_it_again() {
    let body = "ld.param.u64 %rd1, [x];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r1, %ctaid.x;\n\
                atom.global.add.u32 %r2, [%rd1], 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra END;\n\
                setp.ne.u32 %p2, %r1, 3;\n@%p2 bra END;\ntrap;\nEND:";
    let folder = Folder::with(&module(&[("f", ".param .u64 x", body)]));
    let line = "run k.ptx zeros:u32:1 --grid 4 --block 1";
    folder.line(line).fine();
    let execution = folder.line(&format!("{line} --seeds 100 --json"));
    let seed = execution.json()["fault"]["seed"].as_u64().unwrap();
    let text = execution.failure(ptx_sim_cli::FAULT);
    assert!(
        text.contains("trap") && text.ends_with(&format!("  under seed {seed}: --seed {seed} runs it again\n")),
        "{text}"
    );
    assert_eq!(execution.json()["seeds"]["run"], seed + 1);
    assert!(folder.line(&format!("{line} --seed {seed}")).failure(ptx_sim_cli::FAULT).contains("trap"));
    for earlier in 0..seed {
        folder.line(&format!("{line} --seed {earlier}")).fine();
    }
}

/// Ctrl-C ends a long run at once.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_it() {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let folder = Folder::with(&module(&[("f", "", "SPIN:\nadd.u32 %r2, %r2, 1;\nbra SPIN;")]));
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptx-sim"))
        .args(["run", "k.ptx", "--block", "1", "--budget", "2^60"])
        .current_dir(folder.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    let begin = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert!(begin.elapsed() < Duration::from_secs(10));
}
