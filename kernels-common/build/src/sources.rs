//! The source and the headers it includes: found, named without regard to where they lie, and copied
//! to where the compiler runs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::Error;

/// A directory that sources may lie in, and the name that stands for it in digests and copies.
#[derive(Debug)]
struct Root {
    label: String,
    directory: PathBuf,
}

/// A source file with everything it includes.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Where the source really is.
    pub(crate) path: PathBuf,
    /// The name of the source among `files`.
    pub(crate) main: String,
    /// The names of the include directories, in the order of the search.
    pub(crate) include_dirs: Vec<String>,
    /// Name (`crate/src/dot.cu`) → contents with line ends `\n`.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The real paths of all files.
    pub(crate) watched: Vec<PathBuf>,
    roots: Vec<Root>,
}

impl Sources {
    /// Reads `source` and follows its `#include`s. All paths may be relative to `crate_dir`.
    /// `library` is the include directory that is searched last.
    pub(crate) fn collect(
        crate_dir: &Path,
        source: &Path,
        include_dirs: &[PathBuf],
        headers: &[PathBuf],
        library: &Path,
    ) -> Result<Self, Error> {
        let crate_dir = absolute(crate_dir)?;
        let path = absolute(&crate_dir.join(source))?;
        if !path.is_file() {
            return Err(Error::MissingSource { path });
        }

        // The library comes first: `cargo vendor` puts it below the crate's directory, where its names stay the same.
        let library = absolute(library)?;
        let mut roots = vec![
            Root { label: "kernels-common".into(), directory: library.clone() },
            Root { label: "crate".into(), directory: crate_dir.clone() },
        ];
        let mut search = Vec::new();
        for directory in include_dirs {
            let directory = absolute(&crate_dir.join(directory))?;
            if !directory.is_dir() {
                return Err(Error::MissingIncludeDir { path: directory });
            }
            search.push(directory.clone());
            roots.push(Root { label: format!("include-{}", search.len()), directory });
        }
        search.push(library);
        if let Some(parent) = path.parent() {
            roots.push(Root { label: "source".into(), directory: parent.to_path_buf() });
        }

        let mut sources = Sources {
            main: String::new(),
            include_dirs: Vec::new(),
            files: BTreeMap::new(),
            watched: Vec::new(),
            path,
            roots,
        };
        sources.main = sources.name(&sources.path)?;
        for directory in &search {
            let name = sources.name(directory)?;
            sources.include_dirs.push(name);
        }

        let mut todo = vec![sources.path.clone()];
        for header in headers {
            todo.push(absolute(&crate_dir.join(header))?);
        }
        while let Some(file) = todo.pop() {
            todo.extend(sources.read(&file, &search)?);
        }
        sources.watched.sort();
        Ok(sources)
    }

    /// Takes in one file and returns what it includes.
    fn read(&mut self, path: &Path, search: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
        let name = self.name(path)?;
        if self.files.contains_key(&name) {
            return Ok(Vec::new());
        }
        let bytes = fs::read(path).map_err(file_error("read", path))?;
        let text = unix_line_ends(&bytes);
        let mut found = Vec::new();
        for include in includes(&String::from_utf8_lossy(&text)) {
            if let Some(header) = self.resolve(path, &name, &include, search)? {
                found.push(header);
            }
        }
        self.watched.push(path.to_path_buf());
        self.files.insert(name, text);
        Ok(found)
    }

    /// The file that a compiler would take for `include`; `None` for a header of the toolkit.
    fn resolve(
        &self,
        includer: &Path,
        includer_name: &str,
        include: &Include,
        search: &[PathBuf],
    ) -> Result<Option<PathBuf>, Error> {
        let beside = if include.quoted {
            includer.parent().zip(Path::new(includer_name).parent().map(Path::to_path_buf))
        } else {
            None
        };
        let searched = search.iter().zip(&self.include_dirs);
        let places =
            beside.into_iter().chain(searched.map(|(directory, name)| (directory.as_path(), PathBuf::from(name))));
        for (directory, named) in places {
            let path = clean(&directory.join(&include.path));
            if path.is_file() {
                // The compiler sees the copies: the same spelling has to lead to the same file there.
                if clean(&named.join(&include.path)) != Path::new(&self.name(&path)?) {
                    return Err(Error::HeaderOutside { path });
                }
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// The name of a file or directory: the label of the root it lies in, and the way from there.
    fn name(&self, path: &Path) -> Result<String, Error> {
        for root in &self.roots {
            if let Ok(inner) = path.strip_prefix(&root.directory) {
                let mut name = root.label.clone();
                for part in inner {
                    name.push('/');
                    name.push_str(&part.to_string_lossy());
                }
                return Ok(name);
            }
        }
        Err(Error::HeaderOutside { path: path.to_path_buf() })
    }

    /// The file name of the source.
    pub(crate) fn file_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The names of the files, those of the device library (`true`) or the others: `src/dot.cu`, `types.cuh`.
    pub(crate) fn listed(&self, library: bool) -> Vec<&str> {
        let names = self.files.keys().filter(|name| name.starts_with("kernels-common/") == library);
        names.map(|name| name.split_once('/').map_or(name.as_str(), |(_, inner)| inner)).collect()
    }

    /// Copies all files below `directory`, which is emptied first, under their names.
    pub(crate) fn copy_to(&self, directory: &Path) -> Result<(), Error> {
        if directory.exists() {
            fs::remove_dir_all(directory).map_err(file_error("removed", directory))?;
        }
        for (name, text) in &self.files {
            let path = directory.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(file_error("created", parent))?;
            }
            fs::write(&path, text).map_err(file_error("written", &path))?;
        }
        Ok(())
    }

    /// Puts real paths where a message of the compiler names the copies.
    pub(crate) fn with_real_paths(&self, message: &str) -> String {
        let mut message = message.to_owned();
        for name in self.files.keys() {
            for root in &self.roots {
                if let Some(inner) = name.strip_prefix(&format!("{}/", root.label)) {
                    let real = root.directory.join(inner);
                    message = message.replace(name.as_str(), &real.display().to_string());
                }
            }
        }
        message
    }
}

/// An `#include` line.
#[derive(Debug, PartialEq)]
struct Include {
    path: String,
    quoted: bool,
}

/// The `#include` lines of a text. Lines in comments and disabled parts count too: a header too many only
/// makes the digest stricter.
fn includes(text: &str) -> Vec<Include> {
    let joined = text.replace("\\\n", "");
    joined.lines().filter_map(include).collect()
}

fn include(line: &str) -> Option<Include> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = directive.strip_prefix("include_next").or(directive.strip_prefix("include"))?;
    let rest = rest.trim_start();
    let (quoted, rest) = match rest.strip_prefix('"') {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix('<')?),
    };
    let end = rest.find(if quoted { '"' } else { '>' })?;
    Some(Include { path: rest[..end].to_owned(), quoted })
}

fn unix_line_ends(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        if byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            text.push(byte);
        }
    }
    text
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map(|path| clean(&path)).map_err(file_error("located", path))
}

/// Resolves `.` and `..` by the names alone, as the copies have no links.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(cleaned.components().next_back(), Some(Component::Normal(_))) => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}

pub(crate) fn file_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::File { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_lines_are_found_in_every_spelling() {
        let text = "#include \"a.cuh\"\n  #  include <b/c.cuh> // why\n#include\\\n \"d.cuh\"\n\
                    // #include \"not\"\n#if 0\n#include \"e.cuh\"\n#endif\n#include MACRO\n#included \"no\"\n";
        let paths: Vec<_> = includes(text).into_iter().map(|i| (i.path, i.quoted)).collect();
        let expected = [("a.cuh", true), ("b/c.cuh", false), ("d.cuh", true), ("e.cuh", true)];
        assert_eq!(paths, expected.map(|(path, quoted)| (path.to_owned(), quoted)));
    }

    #[test]
    fn only_line_ends_are_normalised() {
        assert_eq!(unix_line_ends(b"a\r\nb\rc\n\r\n"), b"a\nb\rc\n\n");
    }

    #[test]
    fn dots_are_resolved_by_name() {
        assert_eq!(clean(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(clean(Path::new("../a")), Path::new("../a"));
        assert_eq!(clean(Path::new("a/../../b")), Path::new("../b"));
    }
}
