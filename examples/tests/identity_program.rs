//! The example `identity`, run as the command line does.

mod common;
#[allow(dead_code, reason = "the program's `main` is not called here")]
#[path = "../identity.rs"]
pub mod identity_program;

use common::execute;

#[test]
fn both_sides_agree_for_every_type() {
    for dtype in ["f32", "f64", "f16", "bf16", "i32", "u32", "i64", "u64"] {
        for n in ["0", "1", "4097", "70000"] {
            let json = execute(identity_program::run, &["--n", n, "--dtype", dtype, "--json"]).json();
            assert_eq!(json["ok"], true, "{dtype} {n}: {json}");
            assert_eq!(json["products"].as_array().unwrap().len(), 4);
            if n == "0" {
                assert_eq!(json["left"].as_f64(), Some(0.0), "{dtype}");
            }
        }
    }
}

#[test]
fn the_sides_are_not_the_same_number_by_construction() {
    let json = execute(identity_program::run, &["--n", "123457", "--json", "--device", "sim"]).json();
    let (left, right) = (json["left"].as_f64().unwrap(), json["right"].as_f64().unwrap());
    assert!(left > 0.0 && left != right && (left - right).abs() < 1.0, "{left} {right}");
}

#[test]
fn a_table_for_people() {
    let execution = execute(identity_program::run, &["--n", "1000", "--device", "sim"]);
    assert_eq!(execution.code, 0);
    for line in ["|x + y|²", "x·y", "difference", "ok", "five launches"] {
        assert!(execution.out.contains(line), "{line} in {}", execution.out);
    }
}
