//! The example `ladder`, run as the command line does.

mod common;
#[allow(dead_code, reason = "the program's `main` is not called here")]
#[path = "../ladder.rs"]
pub mod ladder_program;

use common::{Execution, absent_gpu, execute};
use examples::program::{FAILURE, USAGE};
use serde_json::Value as Json;

fn run(arguments: &[&str]) -> Execution {
    execute(ladder_program::run, arguments)
}

/// The variants of a report, each with its crate and name.
fn variants(json: &Json) -> Vec<(&str, &str, &Json)> {
    json["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| (variant["crate"].as_str().unwrap(), variant["variant"].as_str().unwrap(), variant))
        .collect()
}

#[test]
fn every_variant_but_the_racy_one_is_right_for_every_type() {
    let expected = [
        ("atomic-reduce", 4),
        ("tree-reduce", 7),
        ("shuffle-reduce", 2),
        ("twopass", 2),
        ("grid-sync", 2),
        ("single-pass", 1),
    ];
    for dtype in ["f32", "f64", "f16", "bf16", "i32", "u32", "i64", "u64"] {
        let json = run(&["--n", "10007", "--dtype", dtype, "--json"]).json();
        for (of_crate, least) in expected {
            let found = variants(&json).iter().filter(|variant| variant.0 == of_crate).count();
            assert!(found >= least, "{of_crate}: {found}");
        }
        assert_eq!((&json["n"], &json["dtype"], &json["ok"]), (&10007.into(), &dtype.into(), &true.into()));
        for (of_crate, name, variant) in variants(&json) {
            assert_eq!(variant["ok"], name != "racy", "{of_crate} {name} {dtype}: {variant}");
        }
    }
}

#[test]
fn counters_tell_the_story() {
    let json = run(&["--n", "100003", "--device", "sim", "--json"]).json();
    assert_eq!((&json["backend"], &json["copy_ms"]), (&"sim".into(), &Json::Null));
    let counters = |of_crate: &str, name: &str| -> Json {
        let all = variants(&json);
        let found = all.iter().find(|(c, n, _)| (*c, *n) == (of_crate, name));
        found.unwrap_or_else(|| panic!("{of_crate} {name}")).2["counters"].clone()
    };
    let near = |figure: &Json, expected: f64| (figure.as_f64().unwrap() - expected).abs() < 0.01;
    let loads = "shared_load_wavefronts_per_request";
    assert!(near(&counters("tree-reduce", "sequential")[loads], 1.0));
    assert!(near(&counters("tree-reduce", "mirrored")[loads], 1.0));
    assert!(counters("tree-reduce", "strided")[loads].as_f64().unwrap() > 3.0);
    let divergent = |name: &str| counters("tree-reduce", name)["divergent_branches"].as_u64().unwrap();
    assert!(divergent("interleaved") > 4 * divergent("strided"));
    // One atomic addition for each warp with an element, whether every lane makes one or a leader makes it for them.
    assert_eq!(counters("atomic-reduce", "per-element")["atomics"], 100_003u64.div_ceil(32));
    assert_eq!(counters("atomic-reduce", "block-leader")["atomics"], 100_003u64.div_ceil(256));
    assert_eq!(counters("atomic-reduce", "per-element")["barriers"], 0);
}

#[test]
fn a_table_and_a_chart_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ladder.svg");
    let execution = run(&["--n", "1000", "--device", "sim", "--svg", file.to_str().unwrap()]);
    assert_eq!((execution.code, execution.err.as_str()), (0, ""));
    for text in [
        "--device sim asks for the simulator",
        "compute capability 7.5",
        "small integers",
        "racy",
        "WRONG",
        "warp-leader",
        "ok",
        "divergent",
    ] {
        assert!(execution.out.contains(text), "{text} in {}", execution.out);
    }
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.contains("atomic-reduce racy") && svg.contains("wrong result"));
}

#[test]
fn nothing_to_add_up_is_fine_and_a_bad_file_is_named() {
    let json = run(&["--n", "0", "--device", "sim", "--json"]).json();
    assert!(variants(&json).iter().all(|(_, _, variant)| variant["ok"] == true && variant["result"] == 0.0));
    let failed = run(&["--n", "10", "--device", "sim", "--svg", "no/such/folder/x.svg"]);
    assert!(failed.failure(USAGE).contains("no/such/folder/x.svg"));
    let failed = run(&["--device", &absent_gpu(), "--svg", "no/such/folder/x.svg"]);
    assert!(failed.failure(USAGE).contains("no/such/folder/x.svg"));
    // Nothing is left where there was nothing.
    let folder = common::Folder::new();
    let svg = folder.path().join("x.svg");
    run(&["--device", &absent_gpu(), "--svg", svg.to_str().unwrap()]).failure(FAILURE);
    assert!(!svg.exists());
    // Before any work: no memory holds so many elements, and the file is what is complained about.
    let failed = run(&["--n", "2^60", "--device", "sim", "--svg", "no/such/folder/x.svg"]);
    assert!(failed.failure(USAGE).contains("no/such/folder/x.svg"));
}

#[test]
fn numbers_that_are_none_are_named() {
    for (option, text, says) in [
        ("--n", "-1", "`-1` is not a number"),
        ("--n", "1e30", "does not fit 64 bits"),
        ("--repeat", "0", "a number from 1"),
        ("--repeat", "-3", "a number from 1"),
        ("--seed", "-1", "--seed"),
    ] {
        let execution = run(&[option, text]);
        assert_eq!(execution.code, USAGE, "{option} {text}");
        assert!(execution.err.contains("invalid value") && execution.err.contains(says), "{}", execution.err);
    }
}
