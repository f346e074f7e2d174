//! What is refused, where, and in what words.

use ptx_sim::ptx::Module;

use super::HEAD;

/// The place and message of the error in `text`.
fn refused(text: &str) -> String {
    let error = Module::parse("e", text).and_then(|module| module.parse_all()).expect_err(text);
    error.to_string().strip_prefix("e:").expect("the name of the module").to_owned()
}

/// Compares the error of each text, put into its place by `around`, and shows all differences.
#[track_caller]
fn check(around: impl Fn(&str) -> String, table: &[(&str, &str)]) {
    let found: Vec<(&str, String)> = table.iter().map(|(text, _)| (*text, refused(&around(text)))).collect();
    let differ: Vec<_> = found.iter().zip(table).filter(|((_, found), (_, expected))| found != expected).collect();
    assert!(differ.is_empty(), "{differ:#?}");
}

#[test]
fn head() {
    check(
        str::to_owned,
        &[
            ("", "1:1: expected `.version`, found the end of the text"),
            ("\n  .target sm_75", "2:3: expected `.version`, found `.target`"),
            (".version six", "1:10: expected a version such as `6.3`, found `six`"),
            (".version 99.0", "1:10: PTX version 99.0 is not supported; 3.0 to 9.5 are"),
            (".version 2.3", "1:10: PTX version 2.3 is not supported; 3.0 to 9.5 are"),
            (".version 6.3 .entry", "1:14: expected `.target`, found `.entry`"),
            (".version 6.3 .target gfx90", "1:22: expected a target such as `sm_75`, found `gfx90`"),
            (".version 6.3 .target sm_75x", "1:22: expected a target such as `sm_75`, found `sm_75x`"),
            (".version 6.3 .target sm_999", "1:22: target `sm_999` is not supported; targets up to `sm_121` are"),
            (".version 6.3 .target sm_75 .address_size 32", "1:42: only 64-bit addresses are supported, not 32"),
            (".version 6.3 .target sm_75 .version 6.3", "1:28: a module has only one `.version`"),
        ],
    );
}

/// The places count from the start of `text`, which stands at line 5.
#[test]
fn module_scope() {
    check(
        |text| format!("{HEAD}{text}"),
        &[
            ("entry f", "5:1: expected a directive such as `.entry` or `.global`, found `entry`"),
            (";", "5:1: expected a directive such as `.entry` or `.global`, found `;`"),
            (".visible f", "5:10: expected a directive such as `.entry`, `.func` or `.global`, found `f`"),
            (".reg .b32 %r;", "5:1: expected a directive such as `.entry`, `.func` or `.global`, found `.reg`"),
            (".alias a, b;", "5:1: `.alias` is not supported"),
            (".entry () {}", "5:8: expected the name of an entry, found `(`"),
            (".func (.param .b32 r) 7", "5:23: expected the name of a function, found `7`"),
            (".func (.reg .b32 r) f ()", "5:8: parameters in registers (`.reg`) are not supported"),
            (".entry f(.global .b32 r)", "5:10: expected `.param`, found `.global`"),
            (".entry f(.param x)", "5:17: expected a type such as `.u32`, found `x`"),
            (".entry f(.param .b32)", "5:21: expected the name of a parameter, found `)`"),
            (".entry f(.param .b32 a .param .b32 b)", "5:24: expected `,` or `)`, found `.param`"),
            (".entry f(.param .b8 a[2000000])", "5:21: the parameters take more than 1048576 bytes"),
            (".entry f(.param .b32 a, .param .b32 a) {}", "5:37: `a` is declared twice in this scope, first at 5:22"),
            (".entry f() .maxntid 0 {}", "5:21: a number of threads must be from 1 to 4294967295, not 0"),
            (
                ".entry f() .maxnblocks 3 {}",
                "5:12: expected `{`, `;` or a directive such as `.maxntid`, found `.maxnblocks`",
            ),
            (".entry f() ret;", "5:12: expected `{`, `;` or a directive such as `.maxntid`, found `ret`"),
            (".entry f() { {\n ret; }", "6:8: expected `}` for the `{` at 5:12, found the end of the text"),
            (".entry f() { \"ab", "5:14: this string does not end on its line: `\"`"),
            (".entry f() {} /* }", "5:15: this comment does not end: `/*`"),
            (".entry f() {} .entry f() {}", "5:22: `f` is defined twice, first at 5:8"),
            (".global .b32 f; .func f() {}", "5:23: `f` is defined twice, first at 5:14"),
            (".global .b32 f, f;", "5:17: `f` is defined twice, first at 5:14"),
            (".global .b32 %r.x;", "5:14: expected the name of a variable, found `%r.x`"),
            (".global .pred p;", "5:9: a variable in memory cannot have type `.pred`"),
            (".global .v3 .b32 p;", "5:9: expected a type such as `.u32`, found `.v3`"),
            (".global .align 3 .b32 p;", "5:16: an alignment must be a power of two, not 3"),
            (".global .align 2097152 .b32 p;", "5:16: an alignment must be from 1 to 1048576, not 2097152"),
            (".global .b32 x[-1];", "5:16: the length of an array must be from 1 to 1099511627776, not -1"),
            (
                ".global .b8 x[99999999999999];",
                "5:15: the length of an array must be from 1 to 1099511627776, not 99999999999999",
            ),
            (".global .b8 x[18446744073709551616];", "5:15: `18446744073709551616` does not fit in 64 bits"),
            (".global .b32 x[999999999999];", "5:14: `x` is larger than 1099511627776 bytes"),
            (".global .b32 x[4294967296][4294967296];", "5:14: `x` is larger than 1099511627776 bytes"),
            (".global .b32 x[];", "5:14: `x` needs a length: it is not `.extern` and has no initial value"),
            (".global .b32 x[2][];", "5:19: expected a constant, found `]`"),
            (".global .b32 x[2;", "5:17: expected `]`, found `;`"),
            (".global .b32 x y;", "5:16: expected `,` or `;`, found `y`"),
            (".shared .b32 x = 3;", "5:16: only `.global` and `.const` variables can have an initial value"),
            (
                ".global .b64 y; .global .b32 x = y;",
                "5:34: the initial value names `y`; an address needs an integer of 64 bits",
            ),
            (
                ".global .b64 x = generic(y);",
                "5:26: the initial value names `y`, which is no function and no `.global` or `.const` variable of the module",
            ),
            (
                ".shared .b64 f; .global .b64 x[2] = {0, f};",
                "5:41: the initial value names `f`, which is no function and no `.global` or `.const` variable of the module",
            ),
            (".global .b64 x = generic(3);", "5:26: expected the name of a variable, found `3`"),
            (".global .b64 x = x+y;", "5:20: expected a constant, found `y`"),
            (".global .f32 x = 1;", "5:18: the initial value must be a fraction such as `1.0` or `0f3F800000`"),
            (".global .u32 x = 1.5;", "5:18: the initial value must be an integer"),
            (".global .u32 x[2] = 1;", "5:21: expected `{`, found `1`"),
            (".global .u32 x[2] = {1, 2, 3};", "5:21: more than 2 initial values"),
            (".global .u32 x[2] = {1 2};", "5:24: expected `,` or `}`, found `2`"),
            (
                ".global .b8 x[2][1000000000] = {{1}, {2}};",
                "5:33: short rows of initial values need more than 67108864 bytes of zeros",
            ),
            (".file one", "5:7: expected a constant, found `one`"),
            (".file 1 one", "5:9: expected a string, found `one`"),
            (".section debug {}", "5:10: expected a section such as `.debug_str`, found `debug`"),
            (".pragma nounroll;", "5:9: expected a string, found `nounroll`"),
            ("\u{fc}", "5:1: unexpected character: `\u{fc}`"),
        ],
    );
}

/// The places count from the start of `body`, which stands at line 6.
#[test]
fn bodies() {
    let around = |body: &str| {
        format!("{HEAD}.entry f(.param .u64 x) {{ .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;\n{body}\n}}")
    };
    check(
        around,
        &[
            // Statements.
            (";", "6:1: expected an instruction, directive or label, found `;`"),
            ("5;", "6:1: expected an instruction, directive or label, found `5`"),
            ("ret", "7:1: expected an operand or `;`, found `}`"),
            ("bra x", "7:1: expected `,` or `;`, found `}`"),
            ("%r1;", "6:1: expected an instruction, found `%r1`"),
            ("@%p1 {}", "6:6: expected an instruction, found `{`"),
            ("@%p1 L: ret;", "6:7: expected an operand or `;`, found `:`"),
            ("@%r1 ret;", "6:2: a guard must be a predicate, and `%r1` has type B32"),
            ("@5 ret;", "6:2: expected a register, found `5`"),
            ("@x ret;", "6:2: expected a register, found `x`"),
            ("@%q ret;", "6:2: register `%q` is not declared"),
            (".version 7.0", "6:1: expected an instruction, declaration or label, found `.version`"),
            ("mov.u32 %r1, \u{e9};", "6:14: unexpected character: `\u{e9}`"),
            // Declarations.
            (".reg %x;", "6:6: expected a type such as `.b32`, found `%x`"),
            (".reg .b33 %x;", "6:6: `.b33` is not the type of a register"),
            (".reg .b32 5;", "6:11: expected a register, found `5`"),
            (".reg .b32 %x", "7:1: expected `,` or `;`, found `}`"),
            (
                ".reg .b32 %x<4000000000>;",
                "6:14: the number of registers in `%x<\u{2026}>` must be from 0 to 16777216, not 4000000000",
            ),
            (".reg .b32 %x<5;", "6:15: expected `>`, found `;`"),
            (".reg .b32 %r1;", "6:11: `%r1` is declared twice in this scope, first at 5:55"),
            (".reg .b32 %r<4>;", "6:11: `%r` is declared twice in this scope, first at 5:55"),
            (".reg .b32 %x1, %x<4>;", "6:16: `%x` is declared twice in this scope, first at 6:11"),
            (".reg .b32 x;", "6:11: `x` is declared twice in this scope, first at 5:22"),
            (".shared .b32 s; .local .b32 s;", "6:29: `s` is declared twice in this scope, first at 6:14"),
            (".local .b32 s = 5;", "6:15: only `.global` and `.const` variables can have an initial value"),
            ("L: ret; L: ret;", "6:9: `L` is declared twice in this scope, first at 6:1"),
            (".reg .b32 L; L: ret;", "6:14: `L` is declared twice in this scope, first at 6:11"),
            ("%L: ret;", "6:1: `%L` is not the name of a label"),
            ("a.b: ret;", "6:1: `a.b` is not the name of a label"),
            (".loc 1 2", "7:1: expected a constant, found `}`"),
            (".loc 1 2 3, inlined_at 1 2 3", "6:13: expected `function_name`, found `inlined_at`"),
            (".loc 1 2 3, function_name L, at 1 2 3", "6:30: expected `inlined_at`, found `at`"),
            (".pragma 5;", "6:9: expected a string, found `5`"),
            ("T: .branchtargets L;", "6:19: label `L` is not declared"),
            ("T: .branchtargets x;", "6:19: label `x` is not declared"),
            ("T: .branchtargets 5;", "6:19: expected a label, found `5`"),
            ("T: .branchtargets L L: ret;", "6:21: expected `,` or `;`, found `L`"),
            ("T: .branchtargets T;", "6:19: label `T` is not declared"),
            (
                "P: .callprototype _ (.param .b32 _)",
                "7:1: expected `{`, `;` or a directive such as `.maxntid`, found `}`",
            ),
            ("P: .callprototype _ (.reg .b32 _);", "6:22: parameters in registers (`.reg`) are not supported"),
            ("T: .calltargets x;", "6:17: function `x` is not declared"),
            ("T: .calltargets 5;", "6:17: expected a function, found `5`"),
            // Operands.
            ("mov.u32 %r1 %r2;", "6:13: expected `,` or `;`, found `%r2`"),
            ("mov.u32 %r1,;", "6:13: expected an operand, found `;`"),
            ("mov.u32 %r1, %r9;", "6:14: register `%r9` is not declared"),
            ("mov.u32 %r1, %r01;", "6:14: register `%r01` is not declared"),
            ("mov.u32 %r1, %tid.u;", "6:14: register `%tid.u` is not declared"),
            ("mov.u32 %r1, y;", "6:14: label or name `y` is not declared"),
            ("bra y;", "6:5: label or name `y` is not declared"),
            ("{ y: ret; } bra y;", "6:17: label or name `y` is not declared"),
            ("{ .reg .b32 y; } mov.u32 %r1, y;", "6:31: label or name `y` is not declared"),
            ("mov.u32 %r1, \"s\";", "6:14: expected an operand, found `\"s\"`"),
            ("mov.u32 %r1, (1;", "6:16: expected `)`, found `;`"),
            ("mov.u32 %r1, 1/0;", "6:15: division by zero"),
            ("mov.u32 %r1, 0x;", "6:14: `0x` has no digits"),
            ("mov.u32 %r1, %r2+4;", "6:17: expected `,` or `;`, found `+`"),
            ("mov.u64 %rd1, x+;", "6:17: expected a constant, found `;`"),
            ("mov.u64 %rd1, x+1.5;", "6:17: expected an integer, found the fraction `1.5`"),
            ("setp.eq.u32 %p1|5, %r1, %r2;", "6:17: expected a register, found `5`"),
            ("setp.eq.u32 %p1|%q, %r1, %r2;", "6:17: expected a register, found `%q`"),
            ("and.pred %p1, !5a;", "6:16: `a` is not a digit of a number to base 10"),
            ("and.pred %p1, !y;", "6:16: name `y` is not declared"),
            ("ld.u32 %r1, [];", "6:14: expected a register, name or constant, found `]`"),
            ("ld.u32 %r1, [%rd1;", "6:18: expected `+`, `,` or `]`, found `;`"),
            ("ld.u32 %r1, [%rd1-4];", "6:18: expected `+`, `,` or `]`, found `-`"),
            ("ld.u32 %r1, [%rd1+%r1];", "6:19: expected a constant, found `%r1`"),
            ("ld.u32 %r1, [%rd1+1.5];", "6:19: expected an integer, found the fraction `1.5`"),
            ("ld.u32 %r1, [1.5];", "6:14: expected a register, variable or integer as address, found `1.5`"),
            ("ld.u32 %r1, [%tid.x];", "6:14: expected a register, variable or integer as address, found `%tid.x`"),
            ("ld.u32 %r1, [L]; L:", "6:14: name `L` is not declared"),
            ("ld.v2.u32 {}, [%rd1];", "6:11: a vector operand needs an element"),
            ("ld.v2.u32 {%r1 %r2}, [%rd1];", "6:16: expected `,` or `}`, found `%r2`"),
            ("ld.v2.u32 {%r1, {%r2}}, [%rd1];", "6:17: expected a register, name or constant, found `{`"),
            ("call (%r1), f, (%r2;", "6:20: expected `,` or `)`, found `;`"),
            ("add (%r1), %r1, %r2;", "6:6: expected a constant, found `%r1`"),
        ],
    );
}

#[test]
fn long_names_are_cut() {
    let name = "n".repeat(100);
    let text = format!("{HEAD}.entry f() {{ mov.u32 {name}, 1; }}");
    let error = Module::parse("e", &text).unwrap().parse_all().unwrap_err();
    assert_eq!(error.text, format!("{}\u{2026}", "n".repeat(40)));
    assert_eq!(error.message, format!("label or name `{}` is not declared", error.text));
}

#[test]
fn too_deep() {
    let text = format!("{HEAD}.entry f() {{\n{}\n{} }}", "{".repeat(300), "}".repeat(300));
    assert_eq!(refused(&text), "6:256: scopes nested more than 256 deep");
}
