//! Build-script support: committed PTX, or nvcc when a kernel changed.
//!
//! A crate with a kernel in `src/dot.cu` has this build script:
//!
//! ```no_run
//! // build.rs
//! kernels_build::Ptx::new("dot").build();
//! ```
//!
//! and picks up the result with `kernels_common::ptx!("dot")`, an expression of type
//! `&'static [kernels_common::module::Ptx]`, which includes the file `$OUT_DIR/dot.ptx.rs`. The name is the same in
//! both, letter by letter.
//!
//! # Which PTX
//!
//! `ptx/dot.sm_75.ptx` is generated and committed. Its first line carries a digest of all that it was
//! made from: the source, the headers that the source includes, the flags and the pinned compiler.
//!
//! - The digest agrees: the committed PTX is used. Neither a CUDA toolkit nor a C++ compiler is needed.
//! - It does not: the kernel is compiled into `OUT_DIR`, with a warning that the committed PTX is stale.
//!   The compiler is `NVCC` if that is set, and no other. Otherwise these places are searched, and the
//!   pinned version is preferred to the first one found: `CUDA_HOME`, `CUDA_PATH`, `PATH`, and `.cuda/`
//!   (which `cuda-compiler.sh` fills) in the crate's directory, in one above it, or at the root of this
//!   workspace, wherever the crate lies.
//! - It does not, and there is no nvcc: the build ends with an [`Error`] that says what to run.
//!
//! `KERNELS_WRITE_PTX=1 cargo build` compiles in any case and writes the committed file, which only the
//! pinned compiler may do: then everyone who runs it gets the same file, byte for byte.
//!
//! # What is done to the PTX
//!
//! - The flags are fixed and contain `--fmad=false`. PTX with a floating-point `add`, `sub` or `mul` that
//!   names no rounding is refused: the assembler would be free to fuse such a pair, and a GPU and the
//!   simulator would differ in the last bit. A fused step is written `fma` in the source.
//! - `.version` is lowered to the least that `ptxas` accepts, so that older drivers load it too.
//! - Nothing in it depends on where the crate lies: the sources are compiled from a copy, by relative names.
//!
//! # Headers
//!
//! The device library of this workspace (`kernels-common/include`) is on the include path. Headers are found
//! by reading the `#include` lines, also those in conditional or commented-out parts; those of the CUDA
//! toolkit belong to the compiler. Only what was found is visible to the compiler, so that the digest
//! cannot miss a header. One that is included through a macro is named with [`Ptx::header`].

mod committed;
mod compiler;
mod environment;
mod error;
mod pinned;
mod postprocess;
mod recipe;
mod rounding;
mod run;
mod sources;
mod version;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;

pub use committed::Stale;
pub use error::Error;
pub use rounding::Unrounded;
pub use run::{Built, Origin, Variant};

use environment::Environment;

/// The PTX of one CUDA source file: what to compile, and for which GPUs.
#[derive(Debug, Clone)]
#[must_use = "call `build` or `try_build`"]
pub struct Ptx {
    name: String,
    source: PathBuf,
    capabilities: BTreeSet<u32>,
    include_dirs: Vec<PathBuf>,
    headers: Vec<PathBuf>,
}

impl Ptx {
    /// The PTX of `src/<name>.cu`, for compute capability 7.5 and everything after it.
    ///
    /// `name` becomes part of file names: letters, digits, `_` and `-`.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Ptx {
            source: PathBuf::from(format!("src/{name}.cu")),
            name,
            capabilities: BTreeSet::from([75]),
            include_dirs: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Compiles `path`, relative to the crate's directory, instead of `src/<name>.cu`.
    pub fn source(mut self, path: impl Into<PathBuf>) -> Self {
        self.source = path.into();
        self
    }

    /// With `true`, also makes `ptx/<name>.sm_90.ptx`, for a path that needs Hopper's instructions.
    pub fn hopper(mut self, yes: bool) -> Self {
        if yes {
            self.capabilities.insert(90);
        } else {
            self.capabilities.remove(&90);
        }
        self
    }

    /// Makes PTX for exactly these compute capabilities (`75` means 7.5) instead of 7.5 alone.
    ///
    /// `__CUDA_ARCH__` tells them apart in the source: it is ten times the number given here.
    pub fn compute(mut self, capabilities: impl IntoIterator<Item = u32>) -> Self {
        self.capabilities = capabilities.into_iter().collect();
        self
    }

    /// Adds a directory, relative to the crate's, to the include path; it is searched before this
    /// workspace's device library.
    pub fn include_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.include_dirs.push(path.into());
        self
    }

    /// Names a header, relative to the crate's directory, that the source includes by other means than a
    /// plain `#include "…"` line. It must lie in the crate's directory or in one on the include path.
    pub fn header(mut self, path: impl Into<PathBuf>) -> Self {
        self.headers.push(path.into());
        self
    }

    /// For a build script: makes the PTX and tells Cargo what it depends on. On failure prints what
    /// to do and ends the process with status 1.
    pub fn build(self) {
        match self.try_build() {
            Ok(built) => print!("{built}"),
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
    }

    /// As [`build`](Self::build), but leaves printing and failing to the caller. Only a build script
    /// has the environment that this needs.
    ///
    /// # Errors
    ///
    /// See [`Error`]; the text of each says what to do.
    pub fn try_build(&self) -> Result<Built, Error> {
        run::run(self, &Environment::of_process())
    }
}
