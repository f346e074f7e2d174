//! Texts cut down to some of their kernels.

use ptx_sim::ptx::Module;

use super::module;

const TEXT: &str = r#"
    // used by all
    .global .u32 counter;
    .global .b8 unused[4];
    .file 1 "a.cu"

    .func declared;
    .func leaf() { ret; }
    .func middle() {
        call leaf, ();
        ret;
    }
    // about one
    .entry one() { .reg .b64 %a; mov.u64 %a, counter; call middle, (); ret; }
    .entry two() {
        .loc 1 2 3, function_name $L__info_string0, inlined_at 1 4 5
        call declared, (); ret;
    }
    .section .debug_str {
    $L__info_string0:
        .b8 97, 0
    }
    .section .debug_info { .b32 1 }
"#;

#[test]
fn only_what_is_named_stays_and_lines_keep_their_numbers() {
    let module = module(TEXT);
    let one = module.select(&["one"]).unwrap();
    for kept in
        ["used by all", "counter;", "leaf() { ret", "middle() {", "about one", ".entry one", "a.cu", ".address_size 64"]
    {
        assert!(one.contains(kept), "{kept}\n{one}");
    }
    for gone in ["unused", "declared", "two", "debug_str", "debug_info"] {
        assert!(!one.contains(gone), "{gone}\n{one}");
    }
    let again = Module::parse("one.ptx", &one).unwrap();
    again.parse_all().unwrap();
    assert_eq!(again.kernels().count(), 1);
    let spans = |module: &Module| module.function("one").unwrap().body.iter().map(|i| i.span).collect::<Vec<_>>();
    assert_eq!(spans(&again), spans(&module));
    assert_eq!(again.kernel("one").unwrap().span, module.kernel("one").unwrap().span);
    assert_eq!(again.function("middle").unwrap().span, module.function("middle").unwrap().span);

    // The name of an inlined function is a label in a section.
    let two = module.select(&["two"]).unwrap();
    for (text, there) in [(".func declared;", true), ("debug_str", true), ("debug_info", false), ("counter", false)] {
        assert_eq!(two.contains(text), there, "{text}\n{two}");
    }
    let label = |text: &str| text.lines().position(|line| line.contains("$L__info_string0:"));
    assert_eq!(label(&two), label(module.text()));
}

#[test]
fn everything_and_nothing() {
    let module = module(TEXT);
    let all = module.select(&["two", "one", "two"]).unwrap();
    assert!(all.contains(".entry one") && all.contains(".entry two") && !all.contains("unused"));
    assert_eq!(Module::parse("none.ptx", &module.select(&[]).unwrap()).unwrap().kernels().count(), 0);
    assert_eq!(
        module.select(&["one", "leaf"]).unwrap_err().to_string(),
        "m.ptx:1:1: the module has no kernel `leaf`; its kernels are `one`, `two`"
    );
}

#[test]
fn a_target_for_debugging_becomes_an_ordinary_one() {
    let text = ".version 7.0\n.target sm_80,\n debug, texmode_unified\n.entry f() { ret; }\n.section .debug_info { }";
    let selected = Module::parse("d.ptx", text).unwrap().select(&["f"]).unwrap();
    assert_eq!(selected, ".version 7.0\n.target sm_80\n, texmode_unified\n.entry f() { ret; }\n");
}
