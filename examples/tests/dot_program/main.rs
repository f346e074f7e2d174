//! The example `dot`, run as the command line does.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "the program's `main` is not called here")]
#[path = "../../dot.rs"]
pub mod dot_program;
mod npy_files;

use common::{Execution, absent_gpu, execute};
use dot::Variant;
use examples::dtype::Dtype;
use examples::for_dtype;
use examples::input::random;
use examples::json::hex;
use serde_json::Value as Json;

fn run(arguments: &[&str]) -> Execution {
    execute(dot_program::run, arguments)
}

fn on_simulator(arguments: &[&str]) -> Json {
    run(&[&["--device", "sim", "--json"], arguments].concat()).json()
}

#[test]
fn every_type_has_the_bits_of_the_host() {
    let types = [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16, Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64];
    for dtype in types {
        for n in [0u64, 1, 31, 4097] {
            let expected = for_dtype!(dtype, T => {
                let (x, y) = (random::<T>(n, 5, 0).unwrap(), random::<T>(n, 5, 1).unwrap());
                hex(dot::canonical(&x, &y).unwrap())
            });
            let json = on_simulator(&["--n", &n.to_string(), "--dtype", dtype.name(), "--seed", "5"]);
            assert_eq!(json["bits"], expected, "{dtype} {n}");
            assert_eq!(json["canonical_bits"], expected, "{dtype} {n}");
            assert_eq!((&json["canonical_equal"], &json["ok"]), (&true.into(), &true.into()), "{dtype} {n}");
        }
    }
}

#[test]
fn the_device_at_hand_is_used_and_named() {
    let json = run(&["--n", "10^4+7", "--json"]).json();
    match json["backend"].as_str().unwrap() {
        "cuda" => assert!(json["counters"].is_null() && json["bus_share"].is_f64()),
        "sim" => assert!(json["counters"].is_object() && json["bus_share"].is_null()),
        other => panic!("{other}"),
    }
}

#[test]
fn json_says_everything() {
    let json = on_simulator(&["--n", "1000", "--seed", "3", "--repeat", "2"]);
    assert_eq!((&json["n"], &json["dtype"], &json["seed"]), (&1000.into(), &"f32".into(), &3.into()));
    assert_eq!((&json["backend"], &json["variant"], &json["repeat"]), (&"sim".into(), &"canonical".into(), &2.into()));
    assert_eq!((&json["ok"], &json["repeatable"]), (&true.into(), &true.into()));
    assert_eq!(json["selector"], "sim");
    assert!(json["device"].is_string());
    // The simulator was asked for, and not fallen back to.
    assert!(json["fallback_reason"].is_null() && json["x"].is_null() && json["y"].is_null());
    for field in ["host_loop_ms", "load_ms", "kernel_ms", "total_ms", "gbps"] {
        assert!(json[field].as_f64().unwrap() >= 0.0, "{field}");
    }
    // Every one of the 2 × 1000 elements is read once, in warps of packets.
    let counters = &json["counters"];
    assert_eq!(counters["global_load_sectors"], 2 * 1000 * 4 / 32);
    assert!(counters["instructions"].as_u64() > Some(0));

    let result = f32::from_bits(u32::from_str_radix(&json["bits"].as_str().unwrap()[2..], 16).unwrap());
    assert_eq!(json["result"].as_f64(), Some(f64::from(result)));
    let (reference, error) = (json["reference"].as_f64().unwrap(), json["error"].as_f64().unwrap());
    // The reference is the exact value rounded to f64, the error is taken from the exact one.
    assert!(((f64::from(result) - reference).abs() - error).abs() <= reference.abs() * f64::EPSILON);
    assert!(error > 0.0 && error <= json["bound"].as_f64().unwrap());
}

#[test]
fn the_seed_decides() {
    let bits = |seed: &str, device: &str| {
        run(&["--n", "70000", "--json", "--device", device, "--seed", seed]).json()["bits"].clone()
    };
    assert_eq!(bits("1", "sim"), bits("1", "sim:seed=9,sms=3"));
    assert_ne!(bits("1", "sim"), bits("2", "sim"));
}

#[test]
fn every_variant_is_run() {
    let json = on_simulator(&["--n", "70000", "--variant", "all"]);
    assert_eq!((&json["variant"], &json["ok"]), (&"all".into(), &true.into()));
    let variants = json["variants"].as_array().unwrap();
    assert_eq!(variants.len(), Variant::ALL.len());
    for (report, variant) in variants.iter().zip(Variant::ALL) {
        assert_eq!((&report["variant"], &report["ok"]), (&variant.name().into(), &true.into()));
        assert_eq!(report["canonical_bits"].is_string(), variant == Variant::Canonical);
        let alone = on_simulator(&["--n", "70000", "--variant", variant.name()]);
        assert_eq!(alone["bits"], report["bits"]);
    }
}

#[test]
fn the_table_is_for_people() {
    let execution = run(&["--device", "sim", "--n", "1_000_000", "--variant", "all"]);
    assert_eq!((execution.code, execution.err.as_str()), (0, ""));
    for text in [
        "no GPU",
        "2 × 1_000_000 f32, random from seed 0",
        "canonical",
        "three-stage",
        "bits 0x",
        ": ok",
        "the same",
        "kernel",
        "end to end",
        "host loop",
    ] {
        assert!(execution.out.contains(text), "{text} is not in\n{}", execution.out);
    }
    assert!(!execution.out.contains("WRONG") && !execution.out.contains("of the bus limit"), "{}", execution.out);
}

#[test]
fn an_absent_gpu_is_an_error_and_no_reason_to_simulate() {
    let gpu = absent_gpu();
    let execution = run(&["--n", "10", "--json", "--device", &gpu]);
    assert!(execution.failure(1).contains("device"), "{execution:?}");
}

#[test]
fn mistakes_have_code_2() {
    for arguments in [
        &["--n", "-1"][..],
        &["--n", "many"],
        &["--n", "2^64"],
        &["--dtype", "f8"],
        &["--variant", "fastest"],
        &["--seed", "x"],
        &["--repeat", "0"],
        &["--device", "gpu"],
        &["--device", "sim:speed=9"],
        &["--frobnicate"],
        &["extra"],
    ] {
        let execution = run(arguments);
        assert_eq!((execution.code, execution.out.as_str()), (2, ""), "{arguments:?}");
        assert!(execution.err.starts_with("error: "), "{}", execution.err);
    }
}

#[test]
fn more_elements_than_memory_is_an_error() {
    let execution = run(&["--device", "sim", "--n", "2^60", "--dtype", "f64"]);
    assert!(execution.failure(1).contains("1_152_921_504_606_846_976 elements of f64: use fewer"), "{execution:?}");
}
