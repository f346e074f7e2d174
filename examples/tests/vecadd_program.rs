//! The example `vecadd`, run as the command line does.

mod common;
#[allow(dead_code, reason = "the program's `main` is not called here")]
#[path = "../vecadd.rs"]
pub mod vecadd_program;

use common::{Execution, Folder, absent_gpu, execute};
use examples::dtype::Dtype;
use serde_json::Value as Json;
use vecadd::Variant;

fn run(arguments: &[&str]) -> Execution {
    execute(vecadd_program::run, arguments)
}

fn on_simulator(arguments: &[&str]) -> Json {
    run(&[&["--device", "sim", "--json"], arguments].concat()).json()
}

#[test]
fn every_variant_adds_every_type() {
    let types = [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16, Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64];
    for dtype in types {
        for n in ["0", "1", "4097"] {
            // Three repetitions: what the three-term form adds up depends on their number.
            let json = on_simulator(&["--n", n, "--dtype", dtype.name(), "--variant", "all", "--repeat", "3"]);
            assert_eq!((&json["variant"], &json["ok"]), (&"all".into(), &true.into()));
            let names: Vec<_> = json["variants"].as_array().unwrap().iter().map(|report| &report["variant"]).collect();
            assert_eq!(names, Variant::ALL.map(Variant::name));
        }
    }
}

#[test]
fn json_says_everything() {
    let json = on_simulator(&["--n", "1024", "--seed", "3", "--repeat", "2"]);
    assert_eq!((&json["n"], &json["dtype"], &json["seed"]), (&1024.into(), &"f32".into(), &3.into()));
    assert_eq!((&json["backend"], &json["variant"], &json["repeat"]), (&"sim".into(), &"packets".into(), &2.into()));
    assert_eq!(json["ok"], true);
    for field in ["load_ms", "total_ms"] {
        assert!(json[field].as_f64().unwrap() >= 0.0, "{field}");
    }
    for operation in [&json, &json["accumulate"]] {
        assert!(operation["mismatch"].is_null());
        for field in ["kernel_ms", "kernel_total_ms", "host_loop_ms", "host_total_ms", "speedup", "gbps"] {
            assert!(operation[field].as_f64().unwrap() >= 0.0, "{field}");
        }
    }
    assert_eq!(
        (&json["operation"], &json["accumulate"]["operation"]),
        (&"z = x + y".into(), &"z = (x + y) + z".into())
    );
    // Counted over one launch, and over both repetitions of the three-term form.
    let sectors = 1024 * 4 / 32;
    assert_eq!(json["counters"]["global_load_sectors"], 2 * sectors);
    assert_eq!(json["counters"]["global_store_sectors"], sectors);
    assert_eq!(json["accumulate"]["counters"]["global_load_sectors"], 2 * 3 * sectors);
}

#[test]
fn vectors_come_from_files_too() {
    let folder = Folder::new();
    let x = folder.write_vector("x.npy", "<f4", &[1.0f32, f32::NAN, f32::INFINITY]);
    let y = folder.write_vector("y.npy", "<f4", &[2.0f32, 1.0, f32::NEG_INFINITY]);
    let json = on_simulator(&["--x", x.to_str().unwrap(), "--y", y.to_str().unwrap()]);
    assert_eq!((&json["n"], &json["ok"]), (&3.into(), &true.into()));
}

#[test]
fn the_table_is_for_people() {
    let execution = run(&["--device", "sim", "--n", "10_000", "--variant", "all"]);
    assert_eq!((execution.code, execution.err.as_str()), (0, ""));
    for text in ["no GPU", "2 × 10_000 f32", "speed-up", "grid-1d", "grid-2d", "stride", "packets", "z = x + y", "ok"]
    {
        assert!(execution.out.contains(text), "{text} is not in\n{}", execution.out);
    }
    assert!(!execution.out.contains("WRONG"), "{}", execution.out);
}

#[test]
fn the_device_at_hand_is_used() {
    assert_eq!(run(&["--n", "10^4+7", "--json"]).json()["ok"], true);
}

#[test]
fn an_absent_gpu_is_an_error_and_mistakes_have_code_2() {
    let gpu = absent_gpu();
    assert!(run(&["--n", "10", "--device", &gpu]).failure(1).contains("device"));
    assert_eq!(run(&["--variant", "canonical"]).code, 2);
    assert_eq!(run(&["--n", "x"]).code, 2);
}
