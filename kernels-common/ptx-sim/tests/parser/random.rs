//! Nothing makes the parser panic, hang or use much memory, and what it refuses it can place.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use ptx_sim::ptx::Module;

use super::HEAD;
use super::nvcc::{CALLS, DEBUG, GRID};

/// Parses all of `text` and selects from it. An error must lie inside the text and show what stands there.
fn try_all(text: &str) {
    let result = Module::parse("random.ptx", text).and_then(|module| {
        module.parse_all()?;
        for kernel in module.kernels() {
            let alone = Module::parse("selected.ptx", &module.select(&[&kernel.name])?)?;
            assert_eq!(alone.function(&kernel.name)?.body, module.function(&kernel.name)?.body);
        }
        Ok(())
    });
    let Err(error) = result else { return };
    assert!(!error.message.is_empty());
    let line = text.split('\n').nth(error.span.line as usize - 1).unwrap_or_else(|| panic!("no such line: {error}"));
    let rest: String = line.chars().skip(error.span.column as usize - 1).collect();
    let found = error.text.strip_suffix('…').unwrap_or(&error.text);
    assert!(rest.starts_with(found), "{error}: `{found}` is not at the start of `{rest}`");
}

/// Pieces that PTX is made of, and some that it is not.
const PIECES: &[&str] = &[
    ".reg",
    ".b32",
    ".pred",
    ".v4",
    "%r<9>",
    "%r",
    "%r1",
    "%p1",
    "<",
    ">",
    "4000000000",
    ";",
    ",",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "@",
    "!",
    "|",
    "+",
    "-",
    "*",
    "<<",
    ":",
    "L",
    "L:",
    "bra",
    "bra L",
    "ret;",
    "mov.u32",
    "%tid.x",
    "ld.global.f32",
    "_",
    "0f3F800000",
    "1.5",
    "0x1F",
    ".loc 1 2 3",
    ".param",
    ".shared",
    ".align",
    "16",
    ".b8",
    "x",
    "x[4]",
    "= {1, 2}",
    ".entry",
    ".func",
    "f",
    ".global",
    ".section",
    ".branchtargets",
    ".callprototype",
    "call",
    ".pragma",
    "\"s\"",
    "\"",
    "//",
    "/*",
    "*/",
    "\n",
    "é",
    "\\",
    ".extern",
    ".maxntid",
    ".file",
    "function_name",
    "inlined_at",
    "WARP_SZ",
    "%",
    "$",
    "~",
    ".",
    "::",
];

fn pieces(most: usize) -> impl Strategy<Value = String> {
    vec(select(PIECES), 0..most).prop_map(|pieces| pieces.join(" "))
}

/// Replaces, drops, doubles or swaps bytes or lines of PTX that nvcc wrote.
fn mutated() -> impl Strategy<Value = String> {
    let change = (0u8..5, any::<u32>(), any::<u32>(), select(PIECES));
    (select(&[CALLS, GRID, DEBUG][..]), vec(change, 1..8)).prop_map(|(text, changes)| {
        let mut text = text.to_owned();
        for (kind, a, b, piece) in changes {
            let cut = |at: u32| {
                let at = at as usize % (text.len() + 1);
                (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
            };
            let (from, to) = (cut(a), cut(b));
            let (from, near) = (from.min(to), cut((from.min(to) + b as usize % 20) as u32).max(from.min(to)));
            match kind {
                0 => text.insert_str(from, piece),
                1 => text.replace_range(from..near, piece),
                2 => text.replace_range(from..near, ""),
                3 => text.truncate(from.max(text.len() / 2)),
                _ => {
                    let copy = text[from..near].to_owned();
                    text.insert_str(from, &copy);
                }
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes(bytes in vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        try_all(&text);
        try_all(&format!("{HEAD}{text}"));
        try_all(&format!("{HEAD}.entry f() {{ {text} }}"));
    }

    #[test]
    fn tokens_at_module_scope(text in pieces(60)) {
        try_all(&format!("{HEAD}{text}"));
    }

    #[test]
    fn tokens_in_a_body(text in pieces(60)) {
        try_all(&format!("{HEAD}.entry f(.param .u64 x) {{ .reg .b32 %r<9>; .reg .pred %p<2>; {text} }}"));
    }

    #[test]
    fn mutated_ptx(text in mutated()) {
        try_all(&text);
    }
}

/// Texts that would cost a careless parser its stack, its memory or minutes.
#[test]
fn texts_that_grow_on_paper_only() {
    let body = |body: &str| format!("{HEAD}.entry f() {{ .reg .b32 %r<9>; {body} }}");
    let many = 200_000;
    for text in [
        "{".repeat(many),
        format!("{HEAD}{}", "{".repeat(many)),
        body(&"{".repeat(many)),
        body(&format!("{}{}", "{".repeat(many), "}".repeat(many))),
        body(&format!("mov.u32 %r1, {}1;", "(".repeat(many))),
        body(&format!("mov.u32 %r1, {}1;", "-".repeat(many))),
        body(&format!("mov.u32 %r1, {}1;", "1+".repeat(many))),
        body(&format!("mov.u32 %r1, {};", "[".repeat(many))),
        body(&format!("mov.u32 %r1, {};", "{".repeat(many))),
        body(&format!("mov.u32 {}%r1;", "%r1, ".repeat(many))),
        body(&format!(".local .b8 x{};", "[1]".repeat(many))),
        body(".reg .b32 %x<16777216>, %y<16777216>; mov.u32 %x16777215, %y16777214;"),
        body(&(0..many / 10).map(|i| format!("L{i}: @%p bra L{};", i / 2)).collect::<String>()),
        format!("{HEAD}.global .b8 x{} = {}1;", "[2]".repeat(16), "{".repeat(many)),
        format!("{HEAD}.global .b8 x[99999][99999] = {{{{1}}, {{2}}}};"),
        format!("{HEAD}.global .b8 x[2][1000000000] = {{{{1}}, {{2}}}};"),
        format!("{HEAD}.entry f({}) {{ }}", ".param .align 1048576 .b8 a, ".repeat(many / 10)),
        format!("{HEAD}.global .attribute{}", "(".repeat(many)),
        format!("{HEAD}/*{}", "/*".repeat(many)),
        format!("{HEAD}{}", ".global .b8 ".repeat(many)),
    ] {
        try_all(&text);
    }
}
