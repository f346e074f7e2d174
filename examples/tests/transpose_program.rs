//! The example `transpose`, run as the command line does.

mod common;
#[allow(dead_code, reason = "the program's `main` is not called here")]
#[path = "../transpose.rs"]
pub mod transpose_program;

use common::{Execution, absent_gpu, execute};
use examples::dtype::Dtype;
use serde_json::Value as Json;
use transpose_padding::Variant;

fn run(arguments: &[&str]) -> Execution {
    execute(transpose_program::run, arguments)
}

fn on_simulator(arguments: &[&str]) -> Json {
    run(&[&["--device", "sim", "--json"], arguments].concat()).json()
}

#[test]
fn every_variant_transposes_every_type() {
    let types = [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16, Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64];
    for dtype in types {
        for (rows, cols) in [("0", "5"), ("1", "1"), ("100", "33")] {
            let json = on_simulator(&["--rows", rows, "--cols", cols, "--dtype", dtype.name(), "--repeat", "2"]);
            assert_eq!((&json["ok"], &json["dtype"]), (&true.into(), &dtype.name().into()));
            let variants = json["variants"].as_array().unwrap();
            assert!(variants.iter().all(|entry| entry["ok"] == true));
            let names: Vec<_> = variants.iter().map(|entry| &entry["variant"]).collect();
            assert_eq!(names, Variant::ALL.map(Variant::name));
        }
    }
}

#[test]
fn json_says_everything_and_shows_bank_conflicts() {
    let json = on_simulator(&["--rows", "1024", "--cols", "1024"]);
    let of = |name: &str| {
        let variants = json["variants"].as_array().unwrap();
        variants.iter().find(|entry| entry["variant"] == name).unwrap()
    };
    assert!(json["device"].is_string() && json["copy_gbps"].is_null());
    assert_eq!((&json["backend"], &json["dtype"]), (&"sim".into(), &"f32".into()));
    assert_eq!((&json["selector"], &json["fallback_reason"]), (&"sim".into(), &Json::Null));
    assert_eq!((&json["n"], &of("naive")["mismatch"]), (&(1024 * 1024).into(), &Json::Null));
    assert_eq!((&json["rows"], &json["cols"], &json["seed"]), (&1024.into(), &1024.into(), &0.into()));
    assert_eq!((&json["repeat"], &json["ok"]), (&1.into(), &true.into()));
    for variant in Variant::ALL {
        let entry = of(variant.name());
        assert_eq!((&entry["crate"], &entry["reproducible"]), (&"transpose-padding".into(), &true.into()));
        assert!(entry["kernel_ms"].as_f64().unwrap() > 0.0 && entry["gbps"].is_null());
        // Of one launch: eight warps a block, one barrier.
        let barriers = if variant == Variant::Naive { 0 } else { 8 * (1024 / 32) * (1024 / 32) };
        let barriers = if variant == Variant::Packets { barriers / 4 } else { barriers };
        assert_eq!(entry["counters"]["barriers"], barriers);
        assert_eq!((&entry["counters"]["atomics"], &entry["counters"]["divergent_branches"]), (&0.into(), &0.into()));
    }
    let loads = |name| &of(name)["counters"]["shared_load_wavefronts_per_request"];
    assert_eq!([loads("naive"), loads("tile"), loads("padded")], [0.0, 32.0, 1.0]);
    assert_eq!([loads("swizzled"), loads("packets")], [1.0, 4.0]);
    assert_eq!(of("naive")["counters"]["global_sectors_per_request"], (4.0 + 32.0) / 2.0);
    assert_eq!(of("padded")["counters"]["global_sectors_per_request"], 4.0);
    assert_eq!(of("padded")["counters"]["shared_store_wavefronts_per_request"], 1.0);
}

#[test]
fn the_table_is_for_people() {
    let execution = run(&["--device", "sim", "--rows", "64", "--cols", "2^5"]);
    assert_eq!((execution.code, execution.err.as_str()), (0, ""));
    for text in
        ["no GPU", "64 × 32 f32", "naive", "tile", "padded", "swizzled", "packets", "shared ld wf", "32.00", "ok"]
    {
        assert!(execution.out.contains(text), "{text} is not in\n{}", execution.out);
    }
    assert!(!execution.out.contains("WRONG"), "{}", execution.out);
}

#[test]
fn the_device_at_hand_is_used() {
    let json = run(&["--rows", "131", "--cols", "67", "--variant", "packets", "--json"]).json();
    let variants = json["variants"].as_array().unwrap();
    assert_eq!((variants.len(), &variants[0]["ok"]), (1, &true.into()));
    let on_gpu = json["backend"] == "cuda";
    assert_eq!((variants[0]["counters"].is_null(), variants[0]["gbps"].is_f64()), (on_gpu, on_gpu));
}

#[test]
fn an_absent_gpu_is_an_error_and_mistakes_have_code_2() {
    let gpu = absent_gpu();
    assert!(run(&["--rows", "10", "--device", &gpu]).failure(1).contains("device"));
    assert_eq!(run(&["--variant", "fast"]).code, 2);
    assert_eq!(run(&["--rows", "x"]).code, 2);
    assert!(run(&["--rows", "2^40", "--cols", "2^40"]).failure(2).contains("fits no memory"));
}
