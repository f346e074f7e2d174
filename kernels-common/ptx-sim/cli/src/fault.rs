//! Faults with the lines of source that they are about.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use ptx_sim::ast::SourceLocation;
use ptx_sim::ptx::Module;
use ptx_sim::{Fault, FaultKind, FaultSite, Missing, Operation, RaceAccess};
use serde::Serialize;

use crate::names::with_cpp_names;

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
    #[serde(flatten)]
    site: SiteReport,
    /// Of a race: the access that was made before, and the one that met it, which is the fault's.
    accesses: Option<[AccessReport; 2]>,
    /// Of a race: what would have ordered the accesses.
    missing: Option<&'static str>,
}

/// An instruction, if there is one.
#[derive(Debug, Serialize)]
struct SiteReport {
    opcode: Option<String>,
    /// The device function, where it is not the kernel itself.
    function: Option<String>,
    /// The line in the PTX file.
    ptx: Option<Quote>,
    /// The line in the CUDA source, where the kernel has line information.
    source: Option<Quote>,
}

/// One access of a race.
#[derive(Debug, Serialize)]
struct AccessReport {
    operation: &'static str,
    space: String,
    address: u64,
    bytes: u32,
    block: [u32; 3],
    thread: [u32; 3],
    #[serde(flatten)]
    site: SiteReport,
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

/// The name of what is missing between the accesses of a race, for programs.
fn missing(missing: Missing) -> &'static str {
    match missing {
        Missing::Nothing => "nothing",
        Missing::WarpBarrier => "warp-barrier",
        Missing::BlockBarrier => "block-barrier",
        Missing::Release => "release",
        Missing::Acquire => "acquire",
        Missing::Scope => "scope",
        _ => "other",
    }
}

impl SiteReport {
    fn new(site: Option<&FaultSite>, module: &Module) -> SiteReport {
        SiteReport {
            opcode: site.map(|site| site.opcode.to_string()),
            function: site.and_then(|site| site.function.as_ref()).map(ToString::to_string),
            ptx: site.map(|site| ptx_line(module, site.span.line)),
            source: site.and_then(|site| site.source.as_ref()).map(|place| source_line(module, place)),
        }
    }

    fn quotes(&self) -> impl Iterator<Item = &Quote> {
        [&self.ptx, &self.source].into_iter().flatten()
    }
}

impl AccessReport {
    fn new(access: &RaceAccess, module: &Module) -> AccessReport {
        let RaceAccess { access, site, block, thread, .. } = access;
        AccessReport {
            operation: match access.operation {
                Operation::Load => "load",
                Operation::Store => "store",
                Operation::Atomic => "atomic",
            },
            space: access.space.to_string(),
            address: access.address,
            bytes: access.bytes,
            block: *block,
            thread: *thread,
            site: SiteReport::new(site.as_ref(), module),
        }
    }
}

impl FaultReport {
    pub(crate) fn new(fault: &Fault, module: &Module, seed: Option<u64>) -> FaultReport {
        let (accesses, missing) = match &fault.kind {
            FaultKind::Race { first, second, missing: what, .. } => {
                (Some([first, second].map(|access| AccessReport::new(access, module))), Some(missing(*what)))
            }
            _ => (None, None),
        };
        FaultReport {
            kind: kind(&fault.kind),
            message: with_cpp_names(&fault.to_string()),
            seed,
            block: fault.block,
            thread: fault.thread,
            site: SiteReport::new(fault.site.as_ref(), module),
            accesses,
            missing,
        }
    }

    /// What is quoted, each under a heading.
    fn places(&self) -> Vec<(&'static str, &SiteReport)> {
        match &self.accesses {
            Some([first, second]) if first.site.ptx != second.site.ptx => {
                vec![("\n  first:", &first.site), ("\n  then:", &second.site)]
            }
            _ => vec![("", &self.site)],
        }
    }

    /// The message with the lines quoted below it.
    pub(crate) fn text(&self) -> String {
        let mut text = self.message.clone();
        let places = self.places();
        let lines = places.iter().flat_map(|(_, site)| site.quotes()).map(|quote| quote.line);
        let width = lines.max().unwrap_or_default().to_string().len();
        for (heading, site) in places {
            let gap = format!("\n{heading}");
            let mut before = gap.as_str();
            for Quote { file, line, text: quoted } in site.quotes() {
                if let Some(quoted) = quoted {
                    // Writing to a string does not fail.
                    let _ = write!(text, "{before}\n  --> {file}:{line}\n  {line:>width$} | {quoted}");
                    before = "";
                }
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
