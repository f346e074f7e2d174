//! What stands at module scope.

use ptx_sim::ast::{Space, Type};
use ptx_sim::ptx::Module;

use super::{HEAD, module};

#[test]
fn version_and_target() {
    for (line, capability, suffix) in [
        ("sm_75", (7, 5), None),
        ("sm_90a", (9, 0), Some('a')),
        ("sm_103f", (10, 3), Some('f')),
        ("sm_121", (12, 1), None),
        ("sm_80, debug", (8, 0), None),
        ("sm_50, texmode_independent, debug", (5, 0), None),
    ] {
        let module = Module::parse("v.ptx", &format!("// comment\n.version 8.7 .target {line}")).unwrap();
        assert_eq!(module.name(), "v.ptx");
        assert_eq!(module.version(), (8, 7));
        assert_eq!((module.target().capability, module.target().suffix), (capability, suffix), "{line}");
    }
}

#[test]
fn signatures_of_kernels() {
    let module = module(
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b) ;
         .visible .entry first(
             .param .u8 a,
             .param .u64 .ptr .global .align 16 b,
             .param .f16 c,
             .param .align 8 .b8 d[12],
             .param .v2 .f32 e,
             .param .u32 g[3]
         )
         .maxntid 128, 2
         .minnctapersm 3
         .pragma \"nounroll\";
         { ret; }
         .func helper { ret; }
         .weak .entry second .reqntid 64 .maxnreg 32 .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
         .entry third() { ret; }",
    );
    let names: Vec<&str> = module.kernels().map(|kernel| &*kernel.name).collect();
    assert_eq!(names, ["first", "second", "third"]);

    let first = module.kernel("first").unwrap();
    assert_eq!((first.span.line, first.span.column), (6, 10));
    let params: Vec<_> = first.params.iter().map(|p| (&*p.name, p.ty, p.size, p.align, p.offset, p.pointer)).collect();
    assert_eq!(
        params,
        [
            ("a", Type::U8, 1, 1, 0, false),
            ("b", Type::U64, 8, 8, 8, true),
            ("c", Type::F16, 2, 2, 16, false),
            ("d", Type::B8, 12, 8, 24, false),
            ("e", Type::F32, 8, 8, 40, false),
            ("g", Type::U32, 12, 4, 48, false),
        ]
    );
    assert_eq!((first.max_threads, first.required_threads), (Some([128, 2, 1]), None));
    let second = module.kernel("second").unwrap();
    assert_eq!((second.max_threads, second.required_threads), (None, Some([64, 1, 1])));
    assert!(second.params.is_empty());

    assert!(module.kernel("helper").is_none());
    assert!(module.kernel("vprintf").is_none());
    assert!(!module.function("helper").unwrap().is_entry);
    assert!(module.function("first").unwrap().is_entry);
}

#[test]
fn pointers_that_the_header_does_not_mark_are_found_in_the_body() {
    let pointers = |body: &str| -> String {
        let module = module(&format!(
            ".entry k(.param .u64 a, .param .u64 b, .param .u64 n) {{
                 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
                 {body}
                 ret;
             }}
             .entry other(.param .u64 n) {{ .reg .b64 %rd<9>; ld.param.u64 %rd3, [n]; cvta.to.global.u64 %rd4, %rd3; }}"
        ));
        let kernel = module.kernel("k").unwrap();
        assert!(!kernel.marks_pointers);
        kernel.params.iter().filter(|param| param.pointer).map(|param| &*param.name).collect()
    };
    let loads = "ld.param.u64 %rd1, [a]; ld.param.b64 %rd2, [b]; ld.param.u64 %rd3, [n];";
    for (more, found) in [
        ("cvta.to.global.u64 %rd4, %rd1; cvta.to.global.u64 %rd5, %rd2;", "ab"),
        ("L: { @%p1 cvta.to.global.u64 %rd4, %rd2; }", "b"),
        (".loc 1 2 3\n cvta.to.global.u64 %rd4, %rd1; st.global.u64 [%rd4], %rd3;", "a"),
        ("st.u64 [%rd1], %rd3;", ""),
        ("cvta.to.shared.u64 %rd4, %rd1;", ""),
        ("cvta.global.u64 %rd4, %rd1;", ""),
        // In comments nothing happens.
        ("// cvta.to.global.u64 %rd4, %rd1;\n /* ; cvta.to.global.u64 %rd4, %rd1; */", ""),
        // A register that is written elsewhere too need not hold the parameter.
        ("add.s64 %rd3, %rd3, %rd1; cvta.to.global.u64 %rd4, %rd3;", ""),
        ("cvta.to.global.u64 %rd4, %rd3; @%p1 mov.u64 %rd3, %rd1;", ""),
        ("cvta.to.global.u64 %rd4, %rd3; ld.v2.u64 {%rd5, %rd3}, [%rd1];", ""),
        ("mov.b64 {%r1, %r2}, %rd3; mov.b64 %rd5, {%r1, %r2}; cvta.to.global.u64 %rd4, %rd3;", "n"),
        ("ld.param.u64 %rd3, [a]; cvta.to.global.u64 %rd4, %rd3;", ""),
    ] {
        assert_eq!(pointers(&format!("{loads} {more}")), found, "{more}");
    }
    // Part of a parameter is not the parameter.
    assert_eq!(pointers("ld.param.u64 %rd1, [a+8]; cvta.to.global.u64 %rd4, %rd1;"), "");

    // What the header marks is all there is.
    let module = module(
        ".entry k(.param .u64 .ptr a, .param .u64 n) {
             .reg .b64 %rd<9>; ld.param.u64 %rd1, [n]; cvta.to.global.u64 %rd2, %rd1;
         }",
    );
    let kernel = module.kernel("k").unwrap();
    assert!(kernel.marks_pointers && kernel.params[0].pointer && !kernel.params[1].pointer);
}

#[test]
fn variables_and_their_initial_values() {
    let module = module(
        ".visible .global .align 8 .u32 five = 5;
         .const .f32 c[2] = {1.5, 0f40000000}, d = -1.0;
         .global .b8 bytes[4] = {-1, 0xFF, 07, 0b11};
         .global .b8 open[] = {1, 2, 3};
         .global .u16 matrix[2][3] = {{1}, {2, 3, 4}};
         .global .v2 .u8 pairs[3] = {{1, 2}, {3}};
         .global .f64 half = 0d3FE0000000000000;
         .global .b64 big = 0xFFFFFFFFFFFFFFFF;
         .global .b128 wide = -2;
         .extern .shared .align 16 .b8 dynamic[];
         .shared .b64 fixed[2 * WARP_SZ];
         .global .attribute(.managed) .align 4 .u32 managed;
         .extern .global .u32 later;
         .global .u32 later = 7;
         .global .texref texture;",
    );
    let found: Vec<_> = module.variables().iter().map(|v| (&*v.name, v.space, v.size, v.align, &v.init[..])).collect();
    let one_and_a_half_two = [0, 0, 0xc0, 0x3f, 0, 0, 0, 0x40];
    assert_eq!(
        found,
        [
            ("five", Space::Global, 4, 8, &[5, 0, 0, 0][..]),
            ("c", Space::Const, 8, 4, &one_and_a_half_two),
            ("d", Space::Const, 4, 4, &[0, 0, 0x80, 0xbf]),
            ("bytes", Space::Global, 4, 1, &[255, 255, 7, 3]),
            ("open", Space::Global, 3, 1, &[1, 2, 3]),
            ("matrix", Space::Global, 12, 2, &[1, 0, 0, 0, 0, 0, 2, 0, 3, 0, 4, 0]),
            ("pairs", Space::Global, 6, 2, &[1, 2, 3, 0]),
            ("half", Space::Global, 8, 8, &[0, 0, 0, 0, 0, 0, 0xe0, 0x3f]),
            ("big", Space::Global, 8, 8, &[255; 8]),
            (
                "wide",
                Space::Global,
                16,
                16,
                &[254, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]
            ),
            ("dynamic", Space::Shared, 0, 16, &[]),
            ("fixed", Space::Shared, 512, 8, &[]),
            ("managed", Space::Global, 4, 4, &[]),
            ("later", Space::Global, 4, 4, &[7, 0, 0, 0]),
            ("texture", Space::Global, 8, 8, &[]),
        ]
    );
    let external: Vec<&str> = module.variables().iter().filter(|v| v.external).map(|v| &*v.name).collect();
    assert_eq!(external, ["dynamic"]);
}

#[test]
fn bodies_are_read_on_demand() {
    let module = module(
        ".entry good() { ret; }
         .entry bad() { .reg .b32 %r; mov.u32 %r; mov.u32 %q, 1; }
         .section .debug_info { .b8 1, { nothing \"}\" /* } */ here } # is not read }
         .func declared;",
    );
    let good = module.function("good").unwrap();
    assert!(std::sync::Arc::ptr_eq(good, module.function("good").unwrap()), "parsed once");
    let first = module.function("bad").unwrap_err();
    assert_eq!(first.to_string(), "m.ptx:6:59: register `%q` is not declared");
    assert_eq!(module.function("bad").unwrap_err(), first, "the same every time");
    assert_eq!(module.parse_all().unwrap_err(), first);
    assert_eq!(
        module.function("declared").unwrap_err().to_string(),
        "m.ptx:8:16: `declared` is declared here but the module does not define it"
    );
    assert_eq!(
        module.function("other").unwrap_err().to_string(),
        "m.ptx:1:1: the module has no function `other`; its kernels are `good`, `bad`"
    );
}

#[test]
fn modules_cross_threads() {
    fn shareable<T: Send + Sync>() {}
    shareable::<Module>();
    let module = module(".entry f() { ret; } .entry g() { exit; }");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| module.parse_all().unwrap());
        }
    });
}

#[test]
fn line_ends_of_every_kind() {
    let text = HEAD.replace('\n', "\r\n") + ".entry f() {\r\n ret;\r\n\tex 5 it; }";
    let module = Module::parse("crlf.ptx", &text).unwrap();
    assert_eq!(module.function("f").unwrap_err().to_string(), "crlf.ptx:7:7: expected `,` or `;`, found `it`");
}
