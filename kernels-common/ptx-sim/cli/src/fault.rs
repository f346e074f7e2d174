//! Faults with the lines of source that they are about.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use ptx_sim::ast::SourceLocation;
use ptx_sim::ptx::Module;
use ptx_sim::{Fault, FaultKind};
use serde::Serialize;

/// A fault as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct FaultReport {
    /// One word or more, with dashes, that does not change.
    kind: &'static str,
    /// The whole message.
    message: String,
    /// The seed of the launch.
    seed: Option<u64>,
    block: Option<[u32; 3]>,
    thread: Option<[u32; 3]>,
    opcode: Option<String>,
    /// The device function, where it is not the kernel itself.
    function: Option<String>,
    /// The line in the PTX file.
    ptx: Option<Quote>,
    /// The line in the CUDA source, where the kernel has line information.
    source: Option<Quote>,
}

/// A line of a file.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Quote {
    file: String,
    line: u32,
    /// What stands there, if the file can be read.
    text: Option<String>,
}

/// The name of a kind of fault, for programs.
fn kind(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::OutOfBounds { .. } => "out-of-bounds",
        FaultKind::Null { .. } => "null-pointer",
        FaultKind::Freed { .. } => "use-after-free",
        FaultKind::Misaligned { .. } => "misaligned",
        FaultKind::UninitialisedRead { .. } => "uninitialised-read",
        FaultKind::ReadOnly { .. } => "read-only",
        FaultKind::Race { .. } => "race",
        FaultKind::DivergentBarrier { .. } => "divergent-barrier",
        FaultKind::ExitedThreads { .. } => "barrier-after-exit",
        FaultKind::AbsentLane { .. } => "absent-lane",
        FaultKind::Deadlock { .. } => "deadlock",
        FaultKind::Livelock { .. } => "livelock",
        FaultKind::Budget { .. } => "budget",
        FaultKind::Trap => "trap",
        FaultKind::CallDepth { .. } => "call-depth",
        FaultKind::CopyUnderWay { .. } => "copy-under-way",
        FaultKind::UnfinishedCopy => "unfinished-copy",
        FaultKind::StackOverflow { .. } => "stack-overflow",
        FaultKind::BadCall { .. } => "bad-call",
        FaultKind::BadFree { .. } => "bad-free",
        FaultKind::Assertion { .. } => "assertion",
        FaultKind::BadOperand(_) => "bad-operand",
        FaultKind::BadLaunch(_) => "bad-launch",
        _ => "other",
    }
}

impl FaultReport {
    pub(crate) fn new(fault: &Fault, module: &Module, seed: Option<u64>) -> FaultReport {
        let site = fault.site.as_ref();
        FaultReport {
            kind: kind(&fault.kind),
            message: fault.to_string(),
            seed,
            block: fault.block,
            thread: fault.thread,
            opcode: site.map(|site| site.opcode.to_string()),
            function: site.and_then(|site| site.function.as_ref()).map(ToString::to_string),
            ptx: site.map(|site| ptx_line(module, site.span.line)),
            source: site.and_then(|site| site.source.as_ref()).map(|place| source_line(module, place)),
        }
    }

    /// The message with the lines quoted below it.
    pub(crate) fn text(&self) -> String {
        let mut text = self.message.clone();
        let quotes: Vec<&Quote> = [&self.ptx, &self.source].into_iter().flatten().collect();
        let width = quotes.iter().map(|quote| quote.line.to_string().len()).max().unwrap_or_default();
        for (place, quote) in quotes.into_iter().enumerate() {
            if let Some(line) = &quote.text {
                let gap = if place == 0 { "\n" } else { "" };
                // Writing to a string does not fail.
                let _ = write!(text, "\n{gap}  --> {}:{}\n  {:>width$} | {line}", quote.file, quote.line, quote.line);
            }
        }
        if self.kind == kind(&FaultKind::Budget { instructions: 0 }) {
            text += "\n\n  --budget N allows N warp instructions";
        }
        if let Some(seed) = self.seed {
            let _ = write!(text, "\n\n  under seed {seed}: --seed {seed} runs it again");
        }
        text
    }
}

fn nth(text: &str, line: u32) -> Option<String> {
    let line = text.lines().nth(line.checked_sub(1)? as usize)?;
    Some(line.trim().replace('\t', " "))
}

fn ptx_line(module: &Module, line: u32) -> Quote {
    Quote { file: module.name().to_owned(), line, text: nth(module.text(), line) }
}

/// The line of CUDA source, from the file that the PTX names, or one of that name beside the PTX.
fn source_line(module: &Module, place: &SourceLocation) -> Quote {
    let named = Path::new(&*place.file);
    let folder = Path::new(module.name()).parent().unwrap_or(Path::new(""));
    let beside = named.file_name().map(|name| folder.join(name));
    let candidates = [Some(named.to_owned()), beside];
    let text = candidates.into_iter().flatten().find_map(|path| fs::read(path).ok());
    let text = text.and_then(|bytes| nth(&String::from_utf8_lossy(&bytes), place.line));
    Quote { file: place.file.to_string(), line: place.line, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one_and_may_be_missing() {
        assert_eq!(nth("a\n\tb\tc\n", 2).as_deref(), Some("b c"));
        assert_eq!(nth("a", 1).as_deref(), Some("a"));
        assert_eq!((nth("a", 0), nth("a", 2)), (None, None));
    }

    #[test]
    fn source_is_looked_for_where_the_ptx_says_and_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let ptx = folder.path().join("k.ptx").to_str().unwrap().to_owned();
        let module = Module::parse(&ptx, ".version 7.0\n.target sm_75\n.address_size 64\n").unwrap();
        let place = SourceLocation { file: "/nowhere/k.cu".into(), line: 2, inlined_at: None };
        assert_eq!(source_line(&module, &place).text, None);
        fs::write(folder.path().join("k.cu"), "one\n  two;\n").unwrap();
        assert_eq!(source_line(&module, &place).text.as_deref(), Some("two;"));
        let elsewhere = folder.path().join("other.cu");
        fs::write(&elsewhere, "first\nsecond\n").unwrap();
        let place = SourceLocation { file: elsewhere.to_str().unwrap().into(), line: 2, inlined_at: None };
        assert_eq!(source_line(&module, &place).text.as_deref(), Some("second"));
        // A file that has changed since.
        let place = SourceLocation { file: "k.cu".into(), line: 7, inlined_at: None };
        assert_eq!(source_line(&module, &place).text, None);
    }
}
