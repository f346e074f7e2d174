//! Running programs as the command line does, and files for them to read.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::fs;
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use clap::Parser;
use examples::program::{self, Output};
use kernels_common::device::{BackendKind, Device};
use serde_json::Value as Json;
use tempfile::TempDir;

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Execution {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Execution {
    /// The report as JSON, of a run that must have gone well.
    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        assert_eq!(self.out.lines().count(), 1, "{}", self.out);
        serde_json::from_str(&self.out).unwrap()
    }

    /// The one line about what went wrong, of a run that must have failed with `code`.
    #[track_caller]
    pub(crate) fn failure(&self, code: u8) -> &str {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        self.err.trim_end()
    }
}

/// Runs a program with these arguments.
pub(crate) fn execute<O: Parser>(run: fn(&O) -> anyhow::Result<Output>, arguments: &[&str]) -> Execution {
    let options = match O::try_parse_from([&["program"], arguments].concat()) {
        Ok(options) => options,
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap();
            return Execution { code, out: String::new(), err: error.to_string() };
        }
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = program::deliver(run(&options), &mut out, &mut err);
    Execution { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

/// The devices to test on: the one that `KERNELS_DEVICE` names, or else every one that there is. As
/// `kernels_common::testing::devices`, whose feature would be built for every example too.
pub(crate) fn devices() -> Vec<Device> {
    let is_named = std::env::var_os(Device::SELECTOR_VARIABLE).is_some_and(|named| !named.is_empty());
    let every = || Device::list().into_iter().map(|device| device.selector).collect();
    let selectors: Vec<String> = if is_named { vec!["auto".to_owned()] } else { every() };
    selectors.iter().map(|selector| Device::open(selector).unwrap()).collect()
}

/// The first GPU that this machine does not have.
pub(crate) fn absent_gpu() -> String {
    format!("cuda:{}", Device::list().iter().filter(|device| device.backend == BackendKind::Cuda).count())
}

/// A folder for files, removed when it goes out of scope.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes a NumPy file with one dimension.
    pub(crate) fn write_vector<T: Pod>(&self, name: &str, descr: &str, elements: &[T]) -> PathBuf {
        let shape = format!("({},)", elements.len());
        self.write(name, &npy(&header(descr, &shape), bytemuck::cast_slice(elements)))
    }
}

/// The text of a header, as NumPy writes it.
pub(crate) fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
}

/// A NumPy file of version 1.0. The header is padded so that the elements start at a multiple of 64.
pub(crate) fn npy(header: &str, elements: &[u8]) -> Vec<u8> {
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    npy_with_length(header, length, elements)
}

/// A NumPy file of version 1.0 with a header of `length` bytes.
pub(crate) fn npy_with_length(header: &str, length: usize, elements: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(length).unwrap().to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = length - 1).as_bytes());
    bytes.extend(elements);
    bytes
}
