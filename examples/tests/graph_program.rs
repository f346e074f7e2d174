//! The example `graph`, run as the command line does.

mod common;
#[allow(dead_code, reason = "the program's `main` is not called here")]
#[path = "../graph.rs"]
pub mod graph_program;

use std::cell::RefCell;

use clap::Parser;
use common::{absent_gpu, execute};

#[test]
fn calls_and_graphs_have_the_bits_of_the_host_for_every_type() {
    for dtype in ["f32", "f64", "f16", "bf16", "i32", "u32", "i64", "u64"] {
        // Rows that do not all start at a multiple of 16 bytes, one virtual block and several; none at all.
        for (rows, cols) in [("3", "1001"), ("2", "70000"), ("0", "5"), ("5", "0"), ("1", "1")] {
            let arguments = ["--rows", rows, "--cols", cols, "--dtype", dtype, "--json"];
            let json = execute(graph_program::run, &arguments).json();
            assert_eq!((&json["ok"], &json["dtype"]), (&true.into(), &dtype.into()), "{json}");
            for times in [&json["calls"], &json["graph"]] {
                assert!(times["host_ms"].as_f64().unwrap() >= 0.0 && times["device_ms"].is_number(), "{json}");
            }
        }
    }
}

#[test]
fn a_table_for_people() {
    let execution = execute(graph_program::run, &["--rows", "4", "--cols", "100", "--device", "sim"]);
    assert_eq!(execution.code, 0);
    for line in ["4 × 100 f32", "call by call", "as a graph", "capture", "the same as on the host"] {
        assert!(execution.out.contains(line), "{line} in {}", execution.out);
    }
}

#[test]
fn mistakes_are_told() {
    let run = |arguments: &[&str]| execute(graph_program::run, arguments);
    assert!(run(&["--rows", "2^40", "--cols", "2^40"]).failure(2).contains("fits no memory"));
    assert!(!run(&["--device", &absent_gpu()]).failure(1).is_empty());
    // What is wrong with the command line comes before what is wrong with the device.
    let both = run(&["--rows", "2^40", "--cols", "2^40", "--device", &absent_gpu()]);
    assert!(both.failure(2).contains("fits no memory"));
    // It has no `--n`.
    let too_many = run(&["--rows", "2^30", "--cols", "2^30", "--device", "sim"]);
    let line = too_many.failure(1);
    assert!(line.contains("not enough memory") && !line.contains("--n"), "{line}");
}

#[test]
fn help_is_about_what_it_has() {
    let help = graph_program::Options::try_parse_from(["graph", "--help"]).unwrap_err().to_string();
    assert!(help.contains("--dtype") && help.contains("[default: f32]") && !help.contains("files"), "{help}");
}

#[test]
fn many_rows_show_how_far_they_are() {
    let options = ["graph", "--rows", "1000", "--cols", "1", "--device", "sim"];
    let options = graph_program::Options::try_parse_from(options).unwrap();
    let shown = RefCell::new(Vec::new());
    assert!(graph_program::run_with(&options, &|step| shown.borrow_mut().push(step)).unwrap().ok);
    let shown = shown.into_inner();
    for what in ["computing on the host", "computing call by call"] {
        for row in ["1", "501", "991"] {
            let step = format!("{what}: row {row} of 1_000");
            assert!(shown.contains(&step), "{step} in {shown:?}");
        }
    }
    let [.., first, second] = &shown[..] else { panic!("{shown:?}") };
    assert!(first.starts_with("computing as a graph, which took "), "{first}");
    assert_eq!(second, "computing as a graph, for another vector");
    // The host computes two products.
    assert!(shown.len() < 3 * 100 + 5, "{}", shown.len());
}
