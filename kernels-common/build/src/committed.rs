//! The committed PTX: its first line, and whether it still belongs to the sources.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::recipe::{Recipe, sha256};
use crate::sources::{Sources, file_error};
use crate::{Error, pinned};

const MARK: &str = "// rungs-ptx";

/// Why a committed PTX file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stale {
    /// There is no such file.
    Missing,
    /// It does not start as the files of this crate do, or is not text.
    Foreign,
    /// Its text is not the text that was written: it was cut off, merged or edited.
    Damaged,
    /// It was written by another nvcc than the one that is pinned.
    Compiler {
        /// The version that wrote it.
        version: String,
    },
    /// It was made from a source file of another name.
    Source {
        /// The name of that file.
        name: String,
    },
    /// It was made from other sources, with other flags or other packages of the compiler; which of them is not known.
    Changed {
        /// What it can have been, the likeliest first, and what to do about each.
        causes: Vec<String>,
    },
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stale::Missing => f.write_str("it does not exist"),
            Stale::Foreign => f.write_str("it is not PTX that this build wrote"),
            Stale::Damaged => f.write_str("it was cut off, merged or edited after it was written"),
            Stale::Compiler { version } => {
                write!(f, "it was written by nvcc {version}, and the pinned compiler is nvcc {}", pinned::NVCC)
            }
            Stale::Source { name } => write!(f, "it was made from a source named {name}"),
            Stale::Changed { .. } => {
                f.write_str("the source, a header, the build script or kernels-build changed since it was written")
            }
        }
    }
}

/// The text of a PTX file: what was compiled, under a first line that says from what.
pub(crate) fn with_first_line(ptx: &str, recipe: &Recipe, source: &str, nvcc: &str) -> String {
    let rest = format!("// Generated; do not edit. KERNELS_WRITE_PTX=1 cargo build writes it.\n\n{ptx}");
    format!(
        "{MARK} digest={} text={} nvcc={nvcc} source={source} compute={}\n{rest}",
        recipe.digest,
        sha256(&rest),
        recipe.capability,
    )
}

/// Reads a committed file, with `\n` line ends, or says why it cannot be used.
pub(crate) fn read(path: &Path, recipe: &Recipe, sources: &Sources) -> Result<Result<String, Stale>, Error> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Err(Stale::Missing)),
        Err(error) => return Err(file_error("read", path)(error)),
    };
    Ok(match String::from_utf8(bytes) {
        Ok(text) => check(text.replace("\r\n", "\n"), recipe, sources),
        Err(_) => Err(Stale::Foreign),
    })
}

fn check(text: String, recipe: &Recipe, sources: &Sources) -> Result<String, Stale> {
    let Some((first, rest)) = text.split_once('\n') else {
        return Err(Stale::Foreign);
    };
    let Some(fields) = first.strip_prefix(MARK) else {
        return Err(Stale::Foreign);
    };
    let field = |name: &str| fields.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    // A digest does not say what differs. What the other fields say does not depend on it.
    match field("nvcc") {
        Some(pinned::NVCC) => {}
        Some(version) => return Err(Stale::Compiler { version: version.to_owned() }),
        None => return Err(Stale::Foreign),
    }
    if field("digest") != Some(&recipe.digest) {
        return Err(match field("source") {
            Some(name) if name != sources.file_name() => Stale::Source { name: name.to_owned() },
            _ => Stale::Changed { causes: causes(sources) },
        });
    }
    if field("text") != Some(&sha256(rest)) {
        return Err(Stale::Damaged);
    }
    Ok(text)
}

/// What can have changed if the digest alone differs, the likeliest first, and what to do.
fn causes(sources: &Sources) -> Vec<String> {
    let (own, library) = (sources.listed(false).join(", "), sources.listed(true).join(", "));
    let library = if library.is_empty() { String::new() } else { format!("the device library ({library}), ") };
    vec![
        format!("a file of the crate: {own}. Take the change back, or compile"),
        format!(
            "kernels-build and kernels-common are of another revision: {library}the compiler's flags or its packages. \
             Go back to the revision that the PTX was committed with (`rev` in Cargo.toml), or compile"
        ),
        "build.rs names other include directories or headers. Take that back, or compile".to_owned(),
    ]
}

/// Writes a committed file if its contents differ, all at once.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(file_error("created", parent))?;
    }
    // Builds of two profiles may write at the same time; neither may see half a file.
    let half = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&half, text).map_err(file_error("written", &half))?;
    fs::rename(&half, path).map_err(file_error("written", path))
}
