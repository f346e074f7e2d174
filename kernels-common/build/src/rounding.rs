//! Finds floating-point arithmetic that names no rounding.
//!
//! In PTX, `mul.f32` and `mul.rn.f32` round alike, but only the second is final: the assembler may
//! fuse the first with a following `add.f32`, on one GPU and not on another. (PTX ISA, "Floating Point
//! Instructions: add", on the absence of a rounding modifier.)

use std::fmt;

/// A floating-point instruction without a rounding modifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrounded {
    /// The line in the PTX, from 1.
    pub line: usize,
    /// The instruction, e.g. `mul.f32`.
    pub instruction: String,
    /// The kernel or function that it stands in.
    pub function: String,
}

impl fmt::Display for Unrounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` in {}", self.line, self.instruction, self.function)
    }
}

/// The unrounded arithmetic of a PTX text.
pub(crate) fn unrounded(ptx: &str) -> Vec<Unrounded> {
    let mut found = Vec::new();
    let mut function = String::from("no function");
    let mut names_follow = false;
    let text = without_comments_and_strings(ptx);
    for (index, line) in text.lines().enumerate() {
        for word in line.split(|c: char| !(c.is_alphanumeric() || "._$%".contains(c))) {
            if word == ".entry" || word == ".func" {
                names_follow = true;
            } else if names_follow && is_identifier(word) && !word.starts_with("func_retval") {
                function = word.to_owned();
                names_follow = false;
            } else if is_unrounded(word) {
                found.push(Unrounded { line: index + 1, instruction: word.to_owned(), function: function.clone() });
            }
        }
    }
    found
}

/// Whether a word is the name of a function, not a directive (`.param`), type (`.b32`) or number.
fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || "_$".contains(c))
}

/// Whether an opcode adds, subtracts or multiplies floating-point numbers and leaves the rounding open.
fn is_unrounded(opcode: &str) -> bool {
    let mut parts = opcode.split('.');
    if !matches!(parts.next(), Some("add" | "sub" | "mul" | "mad")) {
        return false;
    }
    let mut float = false;
    for part in parts {
        match part {
            "rn" | "rz" | "rm" | "rp" | "rna" => return false,
            _ => float |= is_float(part),
        }
    }
    float
}

/// `f16`, `bf16x2`, `f32`, `tf32`, `e4m3`, …: every floating-point type, also those to come.
fn is_float(part: &str) -> bool {
    let digits = ["tf", "bf", "f"].iter().find_map(|prefix| part.strip_prefix(prefix));
    let narrow = part.starts_with('e') && part.contains('m');
    narrow || digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Blanks out comments and strings; lines and columns stay.
fn without_comments_and_strings(text: &str) -> String {
    #[derive(PartialEq)]
    enum In {
        Code,
        Line,
        Block,
        Text,
    }
    let mut state = In::Code;
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let (after, blank) = match (state, c, next) {
            (In::Code, '/', Some('/')) => (In::Line, true),
            (In::Code, '/', Some('*')) => {
                // The star is taken too, so that `/*/` does not end the comment it opens.
                rest.next();
                clean.push(' ');
                (In::Block, true)
            }
            (In::Code, '"', _) => (In::Text, true),
            (In::Code, ..) | (In::Line, '\n', _) => (In::Code, false),
            (In::Line, ..) => (In::Line, true),
            (In::Block, '*', Some('/')) => {
                rest.next();
                clean.push(' ');
                (In::Code, true)
            }
            (In::Block, ..) => (In::Block, true),
            // PTX strings hold no line ends: an unclosed one must not hide the lines after it.
            (In::Text, '"' | '\n', _) => (In::Code, true),
            (In::Text, ..) => (In::Text, true),
        };
        state = after;
        clean.push(if blank && c != '\n' { ' ' } else { c });
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(ptx: &str) -> Vec<String> {
        unrounded(ptx).into_iter().map(|found| found.instruction).collect()
    }

    #[test]
    fn every_unrounded_form_is_found() {
        for opcode in [
            "add.f32",
            "sub.f32",
            "mul.f32",
            "add.f64",
            "sub.f64",
            "mul.f64",
            "add.ftz.f32",
            "mul.ftz.sat.f32",
            "add.sat.f32",
            "add.f16",
            "sub.f16x2",
            "mul.f16",
            "add.ftz.f16x2",
            "add.bf16",
            "mul.bf16x2",
            "sub.bf16",
            "mad.f32",
            "mad.ftz.f64",
            "add.f32x2",
            "add.sat.f32.bf16",
            "add.noftz.bf16",
        ] {
            assert_eq!(instructions(&format!("\t{opcode} \t%a, %b, %c;")), [opcode]);
        }
    }

    #[test]
    fn rounded_integer_and_other_instructions_pass() {
        for opcode in [
            "add.rn.f32",
            "sub.rz.f32",
            "mul.rm.f64",
            "add.rp.ftz.f32",
            "mul.rn.ftz.sat.f32",
            "add.rn.f16",
            "mul.rn.bf16x2",
            "mad.rn.f32",
            "fma.rn.f32",
            "fma.rn.relu.f16x2",
            "add.s32",
            "add.u64",
            "sub.s16",
            "mul.lo.s32",
            "mul.wide.u32",
            "mul.hi.u64",
            "mad.lo.s32",
            "mad.wide.u32",
            "mul24.lo.s32",
            "add.cc.u32",
            "addc.u32",
            "add.s16x2",
            "div.rn.f32",
            "neg.f32",
            "abs.f16",
            "max.f32",
            "red.global.add.f32",
            "atom.global.add.f64",
            "atom.add.noftz.f16",
            "ex2.approx.ftz.f32",
            "cvt.f32.f16",
            "redux.sync.add.s32",
            "ld.global.f32",
        ] {
            assert_eq!(instructions(&format!("\t{opcode} \t%a, %b, %c;")), [""; 0], "{opcode}");
        }
    }

    #[test]
    fn instructions_are_found_wherever_they_stand_on_a_line() {
        assert_eq!(instructions("{add.f16 %h,%h,%h;}"), ["add.f16"]);
        assert_eq!(instructions("{ mul.bf16 %h,%h,%h; sub.bf16 %h,%h,%h; }").len(), 2);
        assert_eq!(instructions("@%p1 add.f32 %a,%b,%c;"), ["add.f32"]);
        assert_eq!(instructions("@!%p1\tadd.f32\t%a,%b,%c;"), ["add.f32"]);
        assert_eq!(instructions("$L__BB0_2:mul.f64 %a,%b,%c;"), ["mul.f64"]);
        assert_eq!(instructions("/* rounded: */add.f32 %a,%b,%c;"), ["add.f32"]);
    }

    #[test]
    fn comments_and_strings_are_no_instructions() {
        assert_eq!(instructions("// add.f32\n/* mul.f32\nadd.f64 /*/ .pragma \"add.f32\";"), [""; 0]);
        assert_eq!(instructions(".pragma \"open\nadd.f32 %a,%b,%c;"), ["add.f32"]);
    }

    #[test]
    fn the_line_and_the_function_are_named() {
        let ptx = ".version 6.3\n.visible .entry dot_f32(\n\t.param .u64 p\n)\n{\nret;\n}\n\
                   .func  (.param .b32 func_retval0) helper(\n\t.param .b32 q\n)\n{\n\tmul.f32 %a, %b, %c;\n}\n";
        let expected = Unrounded { line: 12, instruction: "mul.f32".into(), function: "helper".into() };
        assert_eq!(unrounded(ptx), [expected]);
    }
}
