//! nvcc: finding it, and running it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::environment::Environment;
use crate::recipe::Recipe;
use crate::sources::{Sources, file_error};
use crate::{Error, pinned, postprocess};

/// An nvcc that ran, and said what it is.
#[derive(Debug)]
pub(crate) struct Compiler {
    pub(crate) nvcc: PathBuf,
    /// E.g. `13.0.88`.
    pub(crate) version: String,
}

/// The outcome of the search.
#[derive(Debug)]
pub(crate) struct Search {
    /// The pinned compiler if it was found, else the first that works.
    pub(crate) found: Option<Compiler>,
    /// One line for each place, for messages.
    pub(crate) tried: Vec<String>,
}

/// Looks for nvcc: where `NVCC` says, and only there; else in the places that are usual.
pub(crate) fn find(environment: &Environment, crate_dir: &Path) -> Search {
    let mut search = Search { found: None, tried: Vec::new() };
    if let Some(nvcc) = environment.get("NVCC") {
        search.consider(&format!("NVCC={}", nvcc.display()), Path::new(nvcc));
        return search;
    }
    search.tried.push("NVCC: not set".to_owned());

    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        match environment.get(variable) {
            Some(root) => {
                let nvcc = Path::new(root).join("bin").join(executable("nvcc"));
                search.consider(&format!("{variable}={}", root.display()), &nvcc);
            }
            None => search.tried.push(format!("{variable}: not set")),
        }
    }

    let path = environment.get("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(path).map(|directory| directory.join(executable("nvcc")));
    match on_path.into_iter().find(|nvcc| nvcc.is_file()) {
        Some(nvcc) => search.consider("PATH", &nvcc),
        None => search.tried.push("PATH: no nvcc on it".to_owned()),
    }

    let above = crate_dir.ancestors().chain(environment.workspace());
    let installed = above.map(|directory| directory.join(".cuda").join("toolkit").join("bin").join(executable("nvcc")));
    match installed.into_iter().find(|nvcc| nvcc.is_file()) {
        Some(nvcc) => search.consider(".cuda", &nvcc),
        None => search.tried.push(".cuda: not in the crate's directory, nor above it, nor in rungs".to_owned()),
    }
    search
}

impl Search {
    fn consider(&mut self, place: &str, nvcc: &Path) {
        match probe(nvcc) {
            Ok(version) => {
                self.tried.push(format!("{place}: nvcc {version}"));
                let better = match &self.found {
                    None => true,
                    Some(found) => found.version != pinned::NVCC && version == pinned::NVCC,
                };
                if better {
                    self.found = Some(Compiler { nvcc: nvcc.to_path_buf(), version });
                }
            }
            Err(reason) => self.tried.push(format!("{place}: {reason}")),
        }
    }
}

/// Runs `nvcc --version`. That a file is there says little: toolkits are moved and half removed.
fn probe(nvcc: &Path) -> Result<String, String> {
    let output = Command::new(nvcc)
        .arg("--version")
        .output()
        .map_err(|error| format!("{} cannot be run ({error})", nvcc.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{} --version failed ({})", nvcc.display(), output.status));
    }
    version_in(&text)
        .map(str::to_owned)
        .ok_or_else(|| format!("{} is not nvcc (no version in its answer)", nvcc.display()))
}

/// `13.0.88` in `Cuda compilation tools, release 13.0, V13.0.88`.
fn version_in(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    words
        .filter_map(|word| word.strip_prefix('V'))
        .find(|version| version.contains('.') && version.split('.').all(|part| part.parse::<u32>().is_ok()))
}

fn executable(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

impl Compiler {
    pub(crate) fn is_pinned(&self) -> bool {
        self.version == pinned::NVCC
    }

    /// Compiles the copies of the sources in `directory` and returns tidy PTX, and what nvcc warned of.
    pub(crate) fn compile(
        &self,
        environment: &Environment,
        sources: &Sources,
        recipe: &Recipe,
        directory: &Path,
    ) -> Result<(String, String), Error> {
        sources.copy_to(directory)?;
        let out = directory.join("out.ptx");
        let mut command = Command::new(&self.nvcc);
        command
            .args(host_arguments(environment, directory)?)
            .args(&recipe.flags)
            .arg(&sources.main)
            .args(["-o", "out.ptx"])
            .current_dir(directory)
            // Flags from the surroundings would change the result without changing the digest.
            .env_remove("NVCC_PREPEND_FLAGS")
            .env_remove("NVCC_APPEND_FLAGS");
        let output = command.output().map_err(file_error("run", &self.nvcc))?;
        let said = sources.with_real_paths(&said(&output));
        if !output.status.success() {
            return Err(Error::Compile {
                source_file: sources.path.clone(),
                command: shown(&command),
                status: output.status.to_string(),
                output: said,
            });
        }
        let bytes = fs::read(&out).map_err(file_error("read", &out))?;
        let ptx = String::from_utf8_lossy(&bytes);
        match postprocess::tidied(&ptx, &recipe.digest) {
            Some(ptx) => Ok((ptx, said)),
            None => Err(Error::NotPtx { nvcc: self.nvcc.clone() }),
        }
    }

    /// The assembler that belongs to this compiler.
    pub(crate) fn ptxas(&self) -> PathBuf {
        self.nvcc.with_file_name(executable("ptxas"))
    }
}

/// The arguments that the `cc` crate supplies: the host compiler, which reads the source before nvcc does.
///
/// Its default flags are left out: in dev builds they contain `-G`, which turns optimisation off. The target
/// is the host's also in cross builds, as only the device half is compiled.
fn host_arguments(environment: &Environment, directory: &Path) -> Result<Vec<OsString>, Error> {
    let host =
        environment.get("HOST").map(OsStr::to_string_lossy).ok_or(Error::NotABuildScript { variable: "HOST" })?;
    let mut build = cc::Build::new();
    build
        .cuda(true)
        .no_default_flags(true)
        .warnings(false)
        .debug(false)
        .opt_level(3)
        .host(&host)
        .target(&host)
        .out_dir(directory)
        .cargo_metadata(false)
        .cargo_warnings(false);
    // cc does not read nvcc's own variable.
    let named = environment.get("NVCC_CCBIN");
    let mut arguments = build.ccbin(named.is_none()).try_get_compiler()?.args().to_vec();
    arguments.extend(named.into_iter().flat_map(|compiler| [OsString::from("-ccbin"), compiler.to_owned()]));
    Ok(arguments)
}

/// Asks ptxas whether it takes a PTX text. `Ok(Err(…))` is its refusal.
pub(crate) fn assemble(
    ptxas: &Path,
    capability: u32,
    ptx: &str,
    directory: &Path,
) -> Result<Result<(), String>, std::io::Error> {
    let text = directory.join("candidate.ptx");
    fs::write(&text, ptx)?;
    let output = Command::new(ptxas)
        // Whether a text is accepted does not depend on the optimisation; the time does.
        .args(["-O0", &format!("-arch=sm_{capability}"), "candidate.ptx", "-o", "candidate.cubin"])
        .current_dir(directory)
        .output()?;
    Ok(if output.status.success() { Ok(()) } else { Err(said(&output)) })
}

fn said(output: &Output) -> String {
    let both = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    both.concat().trim().to_owned()
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn the_version_is_read_from_the_banner() {
        let banner = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n";
        assert_eq!(version_in(banner), Some("13.0.88"));
        assert_eq!(version_in("gcc (Debian 12.2.0) 12.2.0"), None);
        assert_eq!(version_in("Version 3"), None);
        assert_eq!(version_in(""), None);
    }
}
