//! Why no PTX could be made, and what to do about it.

use std::fmt::{Display, Write as _};
use std::path::PathBuf;

use crate::{Stale, Unrounded, pinned};

/// Why no PTX could be made. Every text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A variable that Cargo sets for build scripts is absent.
    #[error("{variable} is not set. kernels_build is to be called from a build script (build.rs), where Cargo sets it")]
    NotABuildScript {
        /// The variable.
        variable: &'static str,
    },

    /// The name cannot be part of a file name.
    #[error("`{name}` cannot name a PTX module: use letters, digits, `_` and `-`, as in Ptx::new(\"dot\")")]
    BadName {
        /// The name given.
        name: String,
    },

    /// The list of compute capabilities is empty.
    #[error(
        "no compute capability was asked of the PTX module `{name}`: leave out `.compute(…)` for 7.5, or name one, as \
         in .compute([75])"
    )]
    NoCapability {
        /// The module.
        name: String,
    },

    /// There is no source file.
    #[error(
        "the CUDA source {} does not exist. Create it, or name the right file with `.source(\"…\")`, relative to the \
         crate's directory",
        path.display()
    )]
    MissingSource {
        /// Where it was looked for.
        path: PathBuf,
    },

    /// An include directory is not there.
    #[error(
        "the include directory {} does not exist. Create it, or correct `.include_dir(\"…\")`, which is relative to \
         the crate's directory",
        path.display()
    )]
    MissingIncludeDir {
        /// Where it was looked for.
        path: PathBuf,
    },

    /// The headers of the device library are not where they belong.
    #[error(
        "the device library, which comes with the crate kernels-common, was not found:\n{}\n\
         A crate that is vendored or copied needs kernels-common beside kernels-build: name it in [dependencies] and \
         vendor again, or restore the directory",
        indented(searched.iter().map(|path| path.display()))
    )]
    NoDeviceLibrary {
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },

    /// A header lies outside the crate and the include path, or is reached by a way that leaves them.
    #[error(
        "the header {} is reached from outside the crate's directory and the include directories. Add its directory \
         with `.include_dir(\"…\")` and include it by its name there",
        path.display()
    )]
    HeaderOutside {
        /// The header.
        path: PathBuf,
    },

    /// A file could not be read or written.
    #[error(
        "{} cannot be {action}: {source}. Check that its directory exists and that its permissions allow it",
        path.display()
    )]
    File {
        /// "read", "written", …
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// The committed PTX cannot be used as it is, and no working nvcc was found.
    #[error("{}", no_compiler(committed, stale.as_ref(), tried, *nvcc_set, install))]
    NoCompiler {
        /// The committed file.
        committed: PathBuf,
        /// Why it cannot be used; `None` if it could, but is to be written anew.
        stale: Option<Stale>,
        /// The places searched, and what was found there.
        tried: Vec<String>,
        /// `NVCC` is set, so that no other place was searched.
        nvcc_set: bool,
        /// The command that installs the pinned compiler.
        install: String,
    },

    /// `KERNELS_WRITE_PTX` is set and there is another nvcc than the pinned one.
    #[error(
        "only nvcc {} may write committed PTX (KERNELS_WRITE_PTX is set), and it was not found:\n{}\n\
         {}A build without KERNELS_WRITE_PTX uses any nvcc, and leaves {} alone",
        pinned::NVCC, indented(tried), remedy(*nvcc_set, install), committed.display()
    )]
    NotPinned {
        /// The committed file.
        committed: PathBuf,
        /// The places searched, and what was found there.
        tried: Vec<String>,
        /// `NVCC` is set, so that no other place was searched.
        nvcc_set: bool,
        /// The command that installs the pinned compiler.
        install: String,
    },

    /// The `cc` crate supplied no compiler.
    #[error("nvcc cannot be prepared: {0}. Check the variables CXX and NVCC_CCBIN")]
    Tool(#[from] cc::Error),

    /// nvcc refused the source.
    #[error(
        "nvcc failed on {} ({status}); it ran in a temporary directory, on copies of the sources:\n{command}\n\
         {output}\n{}",
        source_file.display(), nvcc_hint(output)
    )]
    Compile {
        /// The source.
        source_file: PathBuf,
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it printed.
        output: String,
    },

    /// What nvcc wrote is not PTX.
    #[error(
        "{} wrote something that is not PTX (no `.version` at its start). Check that NVCC, CUDA_HOME and PATH lead to \
         the real compiler",
        nvcc.display()
    )]
    NotPtx {
        /// The compiler.
        nvcc: PathBuf,
    },

    /// The PTX has floating-point arithmetic that the assembler is free to fuse.
    #[error("{}", unrounded(source_file, ptx, found))]
    Unrounded {
        /// The source.
        source_file: PathBuf,
        /// The PTX, kept for inspection.
        ptx: PathBuf,
        /// Where.
        found: Vec<Unrounded>,
    },

    /// ptxas does not accept the PTX.
    #[error(
        "ptxas refused the PTX of {} (kept as {}):\n{output}\n\
         The kernel asks for something that compute capability {capability} does not have; change it, or ask for \
         another with `.compute([…])`",
        source_file.display(), ptx.display()
    )]
    Ptxas {
        /// The source.
        source_file: PathBuf,
        /// The PTX, kept for inspection.
        ptx: PathBuf,
        /// The target, `75` for 7.5.
        capability: u32,
        /// What it printed.
        output: String,
    },

    /// There is no ptxas beside the nvcc that is to write committed PTX.
    #[error(
        "there is no working ptxas at {}, which is needed to find the least PTX version. The installation is \
         incomplete: install it anew with\n    {install}",
        path.display()
    )]
    NoPtxas {
        /// Where it should be.
        path: PathBuf,
        /// The command that installs the pinned compiler.
        install: String,
    },
}

/// Lines, each set in.
fn indented(lines: impl IntoIterator<Item = impl Display>) -> String {
    let lines: Vec<_> = lines.into_iter().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

fn no_compiler(
    committed: &std::path::Path,
    stale: Option<&Stale>,
    tried: &[String],
    nvcc_set: bool,
    install: &str,
) -> String {
    let committed = committed.display();
    let mut reason = match stale {
        Some(stale) => format!("{committed} cannot be used: {stale}."),
        None => format!("{committed} is to be written (KERNELS_WRITE_PTX is set)."),
    };
    if let Some(Stale::Changed { causes }) = stale {
        let numbered = causes.iter().enumerate().map(|(at, cause)| format!("{}. {cause}", at + 1));
        reason =
            format!("{reason} Which of these it was cannot be told; the likeliest is first:\n{}", indented(numbered));
    }
    format!(
        "{reason}\nIt has to be compiled, and no working nvcc was found:\n{}\n{}\
         To renew the committed file: KERNELS_WRITE_PTX=1 cargo build",
        indented(tried),
        remedy(nvcc_set, install),
    )
}

/// How to come by the pinned compiler.
fn remedy(nvcc_set: bool, install: &str) -> String {
    let pinned = pinned::NVCC;
    if nvcc_set {
        format!(
            "NVCC is set, and then no other place is searched: correct it, or unset it and build again. If that finds \
             none, this installs nvcc {pinned} (no root and no GPU needed):\n    {install}\n"
        )
    } else {
        format!(
            "Do this, then build again:\n    {install}\n\
             (it installs nvcc {pinned}; no root and no GPU needed). Or set NVCC to the path of another nvcc.\n"
        )
    }
}

fn unrounded(source: &std::path::Path, ptx: &std::path::Path, found: &[Unrounded]) -> String {
    const SHOWN: usize = 8;
    let mut text = format!(
        "{} has floating-point arithmetic without a stated rounding, which the assembler may fuse; \
         results would then differ between GPUs and the simulator:\n",
        source.display()
    );
    for one in found.iter().take(SHOWN) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "    {}:{one}", ptx.display());
    }
    if found.len() > SHOWN {
        let _ = writeln!(text, "    and {} more", found.len() - SHOWN);
    }
    text.push_str(
        "The operators of __half and __nv_bfloat16 and hand-written asm do this. Compute in float, or write \
         __hadd_rn, __hsub_rn and __hmul_rn (asm: add.rn, sub.rn, mul.rn); write a fused step as fmaf, fma or __hfma",
    );
    text
}

/// What to do about the failures that are not the source's fault.
fn nvcc_hint(output: &str) -> &'static str {
    if output.contains("host compiler") {
        "nvcc needs a C++ compiler to read the source: install one (g++ or clang), or name it in NVCC_CCBIN"
    } else if output.contains("cannot open source file") || output.contains("No such file") {
        "A header that nvcc does not find is added with `.include_dir(\"…\")`; one that is included \
         through a macro also has to be named with `.header(\"…\")`"
    } else if output.contains("Unsupported gpu architecture") || output.contains("unsupported gpu architecture") {
        "This nvcc does not know that compute capability: use the pinned one (scripts/cuda-compiler.sh)"
    } else {
        "Correct the source and build again"
    }
}
