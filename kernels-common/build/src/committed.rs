//! The committed PTX: its first line, and whether it still belongs to the sources.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::recipe::{Recipe, sha256};
use crate::sources::file_error;
use crate::{Error, pinned};

const MARK: &str = "// rungs-ptx";

/// Why a committed PTX file cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stale {
    /// There is no such file.
    Missing,
    /// It does not start as the files of this crate do, or is not text.
    Foreign,
    /// Its text is not the text that was written: it was cut off, merged or edited.
    Damaged,
    /// It was made from other sources, with other flags or another compiler.
    Changed,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stale::Missing => "it does not exist",
            Stale::Foreign => "it is not PTX that this build wrote",
            Stale::Damaged => "it was cut off, merged or edited after it was written",
            Stale::Changed => "the source, a header, the flags or the pinned compiler changed since it was written",
        })
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
pub(crate) fn read(path: &Path, recipe: &Recipe) -> Result<Result<String, Stale>, Error> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Err(Stale::Missing)),
        Err(error) => return Err(file_error("read", path)(error)),
    };
    Ok(match String::from_utf8(bytes) {
        Ok(text) => check(text.replace("\r\n", "\n"), recipe),
        Err(_) => Err(Stale::Foreign),
    })
}

fn check(text: String, recipe: &Recipe) -> Result<String, Stale> {
    let Some((first, rest)) = text.split_once('\n') else {
        return Err(Stale::Foreign);
    };
    let Some(fields) = first.strip_prefix(MARK) else {
        return Err(Stale::Foreign);
    };
    let field = |name: &str| fields.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    if field("digest") != Some(&recipe.digest) || field("nvcc") != Some(pinned::NVCC) {
        return Err(Stale::Changed);
    }
    if field("text") != Some(&sha256(rest)) {
        return Err(Stale::Damaged);
    }
    Ok(text)
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
