//! The instructions that the simulator has, by what lowers them.

/// Instructions that are lowered alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Arithmetic,
    Video,
    Bits,
    Compare,
    Move,
    Convert,
    Memory,
    Stack,
    Copy,
    Mbarrier,
    Warp,
    Control,
    Cluster,
    CachePolicy,
    NoEffect,
}

/// The names of all instructions, without modifiers. `docs/simulator-instructions.md` lists the same, with the forms that
/// there are.
const INSTRUCTIONS: [(Family, &[&str]); 15] = [
    (
        Family::Arithmetic,
        &[
            "add", "sub", "mul", "mad", "fma", "div", "rem", "abs", "neg", "min", "max", "sad", "mul24", "mad24",
            "addc", "subc", "madc", "rcp", "sqrt", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh", "copysign", "dp4a",
            "dp2a",
        ],
    ),
    (
        Family::Video,
        &[
            "vadd2",
            "vadd4",
            "vsub2",
            "vsub4",
            "vavrg2",
            "vavrg4",
            "vabsdiff2",
            "vabsdiff4",
            "vmin2",
            "vmin4",
            "vmax2",
            "vmax4",
        ],
    ),
    (
        Family::Bits,
        &[
            "and", "or", "xor", "not", "cnot", "lop3", "shl", "shr", "shf", "bfe", "bfi", "bfind", "brev", "popc",
            "clz", "prmt", "bmsk", "szext", "fns",
        ],
    ),
    (Family::Compare, &["setp", "set", "selp", "slct", "testp"]),
    (Family::Move, &["mov"]),
    (Family::Convert, &["cvt"]),
    (
        Family::Memory,
        &["cvta", "isspacep", "ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu", "discard", "applypriority"],
    ),
    (Family::Stack, &["alloca", "stacksave", "stackrestore"]),
    (Family::Copy, &["cp"]),
    (Family::Mbarrier, &["mbarrier"]),
    (Family::Warp, &["shfl", "vote", "match", "redux", "elect", "activemask", "bar", "barrier"]),
    (
        Family::Control,
        &["bra", "brx", "call", "ret", "exit", "trap", "membar", "fence", "nanosleep", "brkpt", "pmevent"],
    ),
    (Family::Cluster, &["mapa", "getctarank"]),
    (Family::CachePolicy, &["createpolicy"]),
    (Family::NoEffect, &["griddepcontrol", "setmaxnreg"]),
];

/// The family of the instruction `name`, if there is such an instruction.
pub(super) fn of(name: &str) -> Option<Family> {
    INSTRUCTIONS.iter().find(|(_, names)| names.contains(&name)).map(|(family, _)| *family)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::ptx::Module;
    use crate::{Config, LoadError, Simulator};

    const BOOK: &str = include_str!("../../../../docs/simulator-instructions.md");

    /// The rows of the table below a heading of the book, by their cells.
    fn table(heading: &str) -> Vec<Vec<&'static str>> {
        let (_, section) = BOOK.split_once(heading).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
    }

    /// What stands in a cell as code.
    fn code(cell: &'static str) -> impl Iterator<Item = &'static str> {
        cell.split('`').skip(1).step_by(2)
    }

    #[test]
    fn the_book_lists_what_there_is() {
        let listed: BTreeSet<&str> = table("## What there is").iter().flat_map(|row| code(row[0])).collect();
        let names: BTreeSet<&str> = INSTRUCTIONS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(listed, names);
    }

    /// Each example of the book is an instruction of a kernel; those that are there lower, the others are refused with
    /// their line.
    #[test]
    fn the_examples_of_the_book_are_right() {
        let mut checked = 0;
        for (heading, there) in [("## What there is", true), ("## What is refused", false)] {
            for row in table(heading) {
                for example in code(row[row.len() - 1]) {
                    // A bar would end the cell.
                    let example = example.replace("\\|", "|");
                    let text = format!(
                        ".version 9.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[64];\n\
                         .entry kernel(.param .u64 x) {{\n.reg .pred p, q; .reg .b16 h<4>; .reg .b32 r<8>; .reg .f32 f<8>; \
                         .reg .b64 d<4>; .reg .f64 e<4>; .reg .b128 w<4>;\nL: ld.param.u64 d0, [x];\n{example}\nret;\n}}\n\
                         .entry other() {{ ret; }}\n"
                    );
                    let module =
                        Arc::new(Module::parse("book.ptx", &text).unwrap_or_else(|error| panic!("{example}: {error}")));
                    let mut simulator = Simulator::new(Config::default());
                    let program = simulator.load(module).unwrap();
                    match simulator.kernel(&program, "kernel") {
                        Ok(_) => assert!(there, "`{example}` is there"),
                        Err(LoadError::Unsupported { span, .. }) if !there => assert_eq!(span.line, 8, "{example}"),
                        Err(error) => panic!("`{example}`: {error}"),
                    }
                    // What one kernel lacks does not keep the others from running.
                    assert!(simulator.kernel(&program, "other").is_ok());
                    checked += 1;
                }
            }
        }
        assert!(checked > 80, "only {checked} examples were found");
    }
}
