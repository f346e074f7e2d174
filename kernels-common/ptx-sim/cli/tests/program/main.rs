//! The program as the command line runs it, on files.

mod arguments;
mod examples;
mod faults;
mod files;
mod grammar;
mod json;
mod kernels;
mod printed;
mod seeds;

use std::path::{Path, PathBuf};
use std::process::Command;

use npyz::{AutoSerialize, Deserialize, NpyFile, WriterBuilder};
use serde_json::Value as Json;

/// A folder in which the program runs.
struct Folder(tempfile::TempDir);

/// What the program said.
#[derive(Debug)]
struct Execution {
    code: i32,
    out: String,
    err: String,
}

impl Execution {
    /// Standard output of a program that ended well.
    #[track_caller]
    fn fine(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        &self.out
    }

    /// Standard error of a program that ended with `code`.
    #[track_caller]
    fn failure(&self, code: u8) -> &str {
        assert_eq!(self.code, i32::from(code), "{self:?}");
        assert!(self.err.starts_with("error: "), "{self:?}");
        &self.err
    }

    #[track_caller]
    fn json(&self) -> Json {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// A folder with a PTX file.
    fn with(ptx: &str) -> Folder {
        let folder = Folder::new();
        std::fs::write(folder.path("k.ptx"), ptx).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the program with these words.
    fn words(&self, words: &[&str]) -> Execution {
        run_in(self.0.path(), words)
    }

    /// Runs the program with a line of words that spaces separate.
    fn line(&self, line: &str) -> Execution {
        self.words(&line.split_whitespace().collect::<Vec<_>>())
    }

    fn write<T: AutoSerialize>(&self, name: &str, shape: &[u64], elements: &[T]) {
        let mut bytes = Vec::new();
        let options = npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut bytes);
        let mut writer = options.begin_nd().unwrap();
        for element in elements {
            writer.push(element).unwrap();
        }
        writer.finish().unwrap();
        std::fs::write(self.path(name), bytes).unwrap();
    }

    #[track_caller]
    fn read<T: Deserialize>(&self, name: &str) -> (Vec<u64>, Vec<T>) {
        let file = NpyFile::new(std::fs::File::open(self.path(name)).unwrap()).unwrap();
        (file.shape().to_vec(), file.into_vec().unwrap())
    }
}

fn run_in(folder: &Path, words: &[&str]) -> Execution {
    let output = Command::new(env!("CARGO_BIN_EXE_ptx-sim")).args(words).current_dir(folder).output().unwrap();
    Execution {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The PTX of a CUDA file among the simulator's tests.
fn foreign(name: &str) -> String {
    format!("{}/../tests/foreign/{name}.sm_75.ptx", env!("CARGO_MANIFEST_DIR"))
}

/// The PTX of a CUDA file with broken kernels.
fn broken(name: &str) -> String {
    format!("{}/../tests/broken/{name}.sm_75.ptx", env!("CARGO_MANIFEST_DIR"))
}

/// A module with these entries. Each is its name, its parameters and its body, which may use the registers `%p0` to
/// `%p9`, `%r0` to `%r9` and `%rd0` to `%rd9`.
fn module(entries: &[(&str, &str, &str)]) -> String {
    let entry = |(name, params, body): &(&str, &str, &str)| {
        format!(
            ".visible .entry {name}({params})\n{{\n.reg .pred %p<10>;\n.reg .b32 %r<10>;\n.reg .f32 %f<10>;\n\
             .reg .b64 %rd<10>;\n{body}\nret;\n}}\n"
        )
    };
    let entries: String = entries.iter().map(entry).collect();
    format!(".version 7.0\n.target sm_75\n.address_size 64\n{entries}")
}
