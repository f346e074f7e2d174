//! One build: which PTX is used, and what Cargo is told.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::committed::{self, Stale};
use crate::compiler::{self, Compiler, Search};
use crate::environment::Environment;
use crate::recipe::Recipe;
use crate::sources::{Sources, file_error};
use crate::{Error, Ptx, rounding, version};

/// Where a PTX text came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The committed file.
    Committed,
    /// Compiled in this build.
    Compiled {
        /// The compiler.
        nvcc: PathBuf,
        /// Its version, e.g. `13.0.88`.
        version: String,
    },
}

/// The PTX for one compute capability.
#[derive(Debug, Clone)]
pub struct Variant {
    /// `75` for 7.5.
    pub capability: u32,
    /// The file in `OUT_DIR`.
    pub path: PathBuf,
    /// Where it came from.
    pub origin: Origin,
}

/// What a build made. Its text (`Display`) is what the build script has to print for Cargo.
#[derive(Debug)]
pub struct Built {
    /// One for each compute capability, in ascending order.
    pub variants: Vec<Variant>,
    /// The file that `kernels_common::ptx!` includes: an array of tuples of the module's name, the compute capability
    /// (`75` for 7.5) and the text.
    pub expression: PathBuf,
    /// The files that the result depends on.
    pub watched_files: Vec<PathBuf>,
    /// The environment variables that the result depends on.
    pub watched_variables: Vec<&'static str>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl fmt::Display for Built {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for path in &self.watched_files {
            writeln!(f, "cargo::rerun-if-changed={}", path.display())?;
        }
        for variable in &self.watched_variables {
            writeln!(f, "cargo::rerun-if-env-changed={variable}")?;
        }
        for warning in self.warnings.iter().flat_map(|warning| warning.lines()) {
            writeln!(f, "cargo::warning={warning}")?;
        }
        Ok(())
    }
}

/// Everything that stays the same for the variants of a module.
struct Job<'a> {
    ptx: &'a Ptx,
    environment: &'a Environment,
    crate_dir: PathBuf,
    out_dir: PathBuf,
    sources: Sources,
    /// Searched for once, and only when needed.
    search: Option<Search>,
    warnings: Vec<String>,
}

pub(crate) fn run(ptx: &Ptx, environment: &Environment) -> Result<Built, Error> {
    let crate_dir = environment.directory("CARGO_MANIFEST_DIR")?;
    let out_dir = environment.directory("OUT_DIR")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if ptx.name.is_empty() || !ptx.name.chars().all(fits) {
        return Err(Error::BadName { name: ptx.name.clone() });
    }
    if ptx.capabilities.is_empty() {
        return Err(Error::NoCapability { name: ptx.name.clone() });
    }
    let sources =
        Sources::collect(&crate_dir, &ptx.source, &ptx.include_dirs, &ptx.headers, &environment.device_library()?)?;
    let watched = sources.watched.clone();
    let mut job = Job { ptx, environment, crate_dir, out_dir, sources, search: None, warnings: Vec::new() };

    let mut variants = Vec::new();
    let mut watched_files = watched;
    for &capability in &ptx.capabilities {
        variants.push(job.variant(capability)?);
        let committed = job.committed(capability);
        // Cargo takes a file that is not there for one that changes all the time.
        watched_files.extend(Some(committed).filter(|path| path.is_file()));
    }
    let expression = job.write_expression()?;

    let mut watched_variables = vec!["KERNELS_WRITE_PTX"];
    if job.search.is_some() {
        watched_variables.extend(["NVCC", "NVCC_CCBIN", "CUDA_HOME", "CUDA_PATH", "PATH"]);
    }
    Ok(Built { variants, expression, watched_files, watched_variables, warnings: job.warnings })
}

impl Job<'_> {
    fn file_name(&self, capability: u32) -> String {
        format!("{}.sm_{capability}.ptx", self.ptx.name)
    }

    fn committed(&self, capability: u32) -> PathBuf {
        self.crate_dir.join("ptx").join(self.file_name(capability))
    }

    fn variant(&mut self, capability: u32) -> Result<Variant, Error> {
        let recipe = Recipe::new(&self.sources, capability);
        let path = self.committed(capability);
        let (text, origin) = match committed::read(&path, &recipe, &self.sources)? {
            Ok(text) if !self.environment.writes() => (text, Origin::Committed),
            state => self.compiled(&recipe, &path, state.err())?,
        };
        let out = self.out_dir.join(self.file_name(capability));
        fs::write(&out, text).map_err(file_error("written", &out))?;
        Ok(Variant { capability, path: out, origin })
    }

    /// Compiles, and writes the committed file if that was asked for.
    fn compiled(&mut self, recipe: &Recipe, committed: &Path, stale: Option<Stale>) -> Result<(String, Origin), Error> {
        let writes = self.environment.writes();
        let install = self.install_command();
        let nvcc_set = self.environment.get("NVCC").is_some();
        let search = self.search.get_or_insert_with(|| compiler::find(self.environment, &self.crate_dir));
        let tried = search.tried.clone();
        let Some(compiler) = &search.found else {
            return Err(Error::NoCompiler { committed: committed.to_path_buf(), stale, tried, nvcc_set, install });
        };
        if writes && !compiler.is_pinned() {
            return Err(Error::NotPinned { committed: committed.to_path_buf(), tried, nvcc_set, install });
        }

        let directory = self.out_dir.join(format!("{}.sm_{}", self.ptx.name, recipe.capability));
        let (ptx, said) = compiler.compile(self.environment, &self.sources, recipe, &directory)?;
        let source = self.sources.file_name();
        let wrap = |ptx: &str| committed::with_first_line(ptx, recipe, &source, &compiler.version);
        let refused = directory.join("refused.ptx");
        let keep = |ptx: &str| fs::write(&refused, ptx).map_err(file_error("written", &refused));

        let text = wrap(&ptx);
        let found = rounding::unrounded(&text);
        if !found.is_empty() {
            keep(&text)?;
            let source_file = self.sources.path.clone();
            return Err(Error::Unrounded { source_file, ptx: refused, found });
        }

        let mut warnings: Vec<String> = Vec::new();
        if !said.is_empty() {
            warnings.push(said);
        }
        let text = match lower(compiler, recipe, &ptx, &directory) {
            Lowered::Ptx(ptx) => wrap(&ptx),
            Lowered::Refused(output) => {
                keep(&text)?;
                return Err(Error::Ptxas {
                    source_file: self.sources.path.clone(),
                    ptx: refused,
                    capability: recipe.capability,
                    output,
                });
            }
            Lowered::NoPtxas if writes => {
                return Err(Error::NoPtxas { path: compiler.ptxas(), install });
            }
            Lowered::NoPtxas => {
                warnings.push(format!(
                    "there is no working ptxas at {}: the PTX keeps the version that nvcc gave it, \
                     which older drivers refuse",
                    compiler.ptxas().display()
                ));
                text
            }
        };

        if writes {
            committed::write(committed, &text)?;
        } else if let Some(stale) = stale {
            warnings.push(format!(
                "{} is stale: {stale}. This build uses PTX compiled by nvcc {} ({}). Before you commit: \
                 KERNELS_WRITE_PTX=1 cargo build",
                committed.display(),
                compiler.version,
                compiler.nvcc.display(),
            ));
        }
        let origin = Origin::Compiled { nvcc: compiler.nvcc.clone(), version: compiler.version.clone() };
        self.warnings.append(&mut warnings);
        Ok((text, origin))
    }

    /// `include!`d by `kernels_common::ptx!`; the PTX is named relative to this file.
    fn write_expression(&self) -> Result<PathBuf, Error> {
        let name = &self.ptx.name;
        let variants = self.ptx.capabilities.iter().map(|&capability| {
            let file = self.file_name(capability);
            format!("    (\"{name}\", {capability}, include_str!(\"{file}\")),\n")
        });
        // Data alone: only the macro knows by which name the crate knows kernels-common.
        let text = format!("[\n{}]\n", variants.collect::<String>());
        let path = self.out_dir.join(format!("{name}.ptx.rs"));
        fs::write(&path, text).map_err(file_error("written", &path))?;
        Ok(path)
    }

    /// The command that installs the pinned compiler to where this crate's build finds it.
    fn install_command(&self) -> String {
        match self.environment.workspace() {
            Some(workspace) if self.crate_dir.starts_with(workspace) => "bash scripts/cuda-compiler.sh".to_owned(),
            _ => {
                let (installer, into) = (self.environment.installer(), self.crate_dir.join(".cuda"));
                format!("bash {} {}", quoted(&installer), quoted(&into))
            }
        }
    }
}

/// A path as a word of a shell's command line.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

enum Lowered {
    Ptx(String),
    Refused(String),
    NoPtxas,
}

fn lower(compiler: &Compiler, recipe: &Recipe, ptx: &str, directory: &Path) -> Lowered {
    let assemble = |text: &str| compiler::assemble(&compiler.ptxas(), recipe.capability, text, directory);
    let lowered = version::lowered(ptx, |text| Ok::<_, std::io::Error>(assemble(text)?.is_ok()));
    match lowered {
        Err(_) => Lowered::NoPtxas,
        Ok(lowered) => match assemble(&lowered) {
            Err(_) => Lowered::NoPtxas,
            Ok(Err(output)) => Lowered::Refused(output),
            Ok(Ok(())) => Lowered::Ptx(lowered),
        },
    }
}
