//! The fields of the JSON objects: programs rely on them.

use ptx_sim::Counters;
use serde_json::{Value as Json, json};

use crate::{Folder, broken, foreign};

/// The fields of an object, in order.
fn fields(object: &Json) -> Vec<&str> {
    object.as_object().unwrap_or_else(|| panic!("{object}")).keys().map(String::as_str).collect()
}

fn saxpy(rest: &str) -> Json {
    let ptx = foreign("saxpy");
    Folder::new().line(&format!("run {ptx} f32=2 iota:f32:100 ones:f32:10x10,name=y {rest} --block 64 --json")).json()
}

#[test]
fn a_run() {
    let json = saxpy("i32=100 --grid 2 --print y:3");
    let mut all = vec![
        "format",
        "file",
        "kernel",
        "signature",
        "launch",
        "seconds",
        "counters",
        "ratios",
        "fault",
        "printed",
        "seeds",
        "outputs",
    ];
    all.sort_unstable();
    assert_eq!(fields(&json), all);
    assert_eq!((&json["format"], &json["fault"], &json["seeds"]), (&json!(1), &Json::Null, &Json::Null));
    assert_eq!(json["kernel"], "_Z5saxpyfPKfPfi");
    assert_eq!(json["signature"], "saxpy(float, float const*, float*, int)");
    assert!(json["seconds"].as_f64().unwrap() >= 0.0);
    let launch = json!({
        "grid": [2, 1, 1], "block": [64, 1, 1], "dynamic_shared": 0, "cooperative": false, "seed": null,
        "capability": "7.5", "multiprocessors": 16, "threads": 1,
    });
    assert_eq!(json["launch"], launch);
    let mut counters: Vec<&str> = Counters::default().iter().map(|(name, _)| name).collect();
    counters.sort_unstable();
    assert_eq!(fields(&json["counters"]), counters);
    assert_eq!((&json["counters"]["blocks"], &json["counters"]["global_store_requests"]), (&json!(2), &json!(4)));
    assert_eq!(
        fields(&json["ratios"]),
        [
            "divergent_branch_share",
            "global_load_sectors_per_request",
            "global_store_sectors_per_request",
            "lanes_per_instruction",
            "shared_load_wavefronts_per_request",
            "shared_store_wavefronts_per_request",
        ]
    );
    // Three full warps and four lanes: 13 sectors in 4 requests.
    assert_eq!(json["ratios"]["global_store_sectors_per_request"], 3.25);
    assert_eq!(json["ratios"]["shared_load_wavefronts_per_request"], Json::Null);
    let output = json!({"name": "y", "dtype": "f32", "shape": [10, 10], "file": null, "values": [1.0, 3.0, 5.0]});
    assert_eq!(json["outputs"], json!([output]));
}

#[test]
fn a_fault() {
    let json = saxpy("i32=128 --grid 2 --seed 5");
    let fault = &json["fault"];
    assert_eq!(
        fields(fault),
        ["accesses", "block", "function", "kind", "message", "missing", "opcode", "ptx", "seed", "source", "thread",]
    );
    assert_eq!((&fault["accesses"], &fault["missing"]), (&Json::Null, &Json::Null));
    assert_eq!((&fault["kind"], &fault["seed"], &fault["function"]), (&json!("out-of-bounds"), &json!(5), &Json::Null));
    assert_eq!((&fault["block"], &fault["thread"]), (&json!([1, 0, 0]), &json!([36, 0, 0])));
    assert_eq!(fault["opcode"], "ld.global.f32");
    assert_eq!(fields(&fault["ptx"]), ["file", "line", "text"]);
    assert!(fault["ptx"]["text"].as_str().unwrap().starts_with("ld.global.f32"));
    let source = json!({"file": "saxpy.cu", "line": 6, "text": "if (i < n) y[i] = a * x[i] + y[i];"});
    assert_eq!(fault["source"], source);
    assert_eq!((&json["counters"], &json["ratios"], &json["outputs"]), (&Json::Null, &Json::Null, &json!([])));
}

#[test]
fn a_race() {
    let ptx = broken("reverse");
    let line = "reverse_without_barrier iota:f32:96 zeros:f32:96 i32=96 --block 96 --no-check initialised --json";
    let json = Folder::new().line(&format!("run {ptx} {line}")).json();
    let fault = &json["fault"];
    assert_eq!((&fault["kind"], &fault["missing"]), (&json!("race"), &json!("warp-barrier")));
    let [first, second] = fault["accesses"].as_array().unwrap().as_slice() else { panic!("{fault}") };
    let names = ["address", "block", "bytes", "function", "opcode", "operation", "ptx", "source", "space", "thread"];
    for (access, operation) in [(first, "store"), (second, "load")] {
        assert_eq!(fields(access), names);
        assert_eq!((&access["operation"], &access["space"]), (&json!(operation), &json!("shared")));
        assert_eq!((&access["bytes"], &access["block"]), (&json!(4), &json!([0, 0, 0])));
    }
    assert_eq!(first["address"], second["address"]);
    assert_eq!((&first["opcode"], &second["opcode"]), (&json!("st.shared.f32"), &json!("ld.shared.f32")));
    assert_eq!((&first["source"]["line"], &second["source"]["line"]), (&json!(15), &json!(16)));
    // The fault is that of the second access.
    for field in ["block", "thread", "opcode", "ptx", "source"] {
        assert_eq!(fault[field], second[field], "{field}");
    }
}

#[test]
fn a_list() {
    let ptx = foreign("structs");
    let json = Folder::new().line(&format!("list {ptx} --json")).json();
    assert_eq!(fields(&json), ["file", "format", "kernels", "target", "version"]);
    assert_eq!((&json["format"], &json["version"], &json["target"]), (&json!(1), &json!("9.0"), &json!("sm_75")));
    let prefix = json["kernels"].as_array().unwrap().iter().find(|kernel| kernel["name"] == "prefix").unwrap();
    assert_eq!(
        fields(prefix),
        ["max_block", "name", "parameters", "required_block", "signature", "static_shared", "unsupported",]
    );
    assert_eq!(prefix["static_shared"], 3072);
    let rule = json!({"type": ".b8[32]", "size": 32, "align": 8, "offset": 24, "pointer": false});
    assert_eq!(prefix["parameters"][3], rule);
    assert_eq!(prefix["parameters"][0]["pointer"], true);
}
