//! What a build reads from its surroundings, in one value, so that tests can supply their own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::Error;

/// Every variable that decides anything.
const VARIABLES: [&str; 9] = [
    "CARGO_MANIFEST_DIR",
    "OUT_DIR",
    "HOST",
    "NVCC",
    "NVCC_CCBIN",
    "CUDA_HOME",
    "CUDA_PATH",
    "PATH",
    "KERNELS_WRITE_PTX",
];

#[derive(Debug, Clone)]
pub(crate) struct Environment {
    variables: BTreeMap<&'static str, OsString>,
    /// The directory of this crate: the device library and the scripts are found from it.
    home: PathBuf,
}

impl Environment {
    pub(crate) fn of_process() -> Self {
        let variables = VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
        Environment { variables, home: PathBuf::from(env!("CARGO_MANIFEST_DIR")) }
    }

    #[cfg(test)]
    pub(crate) fn of(home: PathBuf, variables: &[(&'static str, &OsStr)]) -> Self {
        let variables = variables.iter().map(|&(name, value)| (name, value.to_os_string())).collect();
        Environment { variables, home }
    }

    #[cfg(test)]
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        assert!(VARIABLES.contains(&name), "{name} is not read");
        self.variables.insert(name, value.into());
    }

    #[cfg(test)]
    pub(crate) fn set_home(&mut self, home: PathBuf) {
        self.home = home;
    }

    /// The value of a variable; an empty one counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        debug_assert!(VARIABLES.contains(&name), "{name} is not in the list");
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// A directory that Cargo names for build scripts.
    pub(crate) fn directory(&self, variable: &'static str) -> Result<PathBuf, Error> {
        self.get(variable).map(PathBuf::from).ok_or(Error::NotABuildScript { variable })
    }

    /// Whether the committed files are to be written.
    pub(crate) fn writes(&self) -> bool {
        self.get("KERNELS_WRITE_PTX").is_some_and(|value| value != "0")
    }

    /// The root of this workspace, if this crate lies in it. `cargo vendor` takes each crate out of it by itself.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        if self.home.ends_with("kernels-common/build") { self.home.parent()?.parent() } else { None }
    }

    /// The device library: in this workspace, or in the crate that holds it where both were vendored.
    pub(crate) fn device_library(&self) -> Result<PathBuf, Error> {
        let around = self.home.parent().unwrap_or(&self.home);
        let candidates = match self.workspace() {
            Some(_) => vec![around.join("include")],
            // The plain name is that of the newest version alone. All crates of the workspace have one version.
            None => [concat!("kernels-common-", env!("CARGO_PKG_VERSION")), "kernels-common"]
                .map(|name| around.join(name).join("include"))
                .into(),
        };
        match candidates.iter().find(|path| path.is_dir()) {
            Some(found) => Ok(found.clone()),
            None => Err(Error::NoDeviceLibrary { searched: candidates }),
        }
    }

    /// The script that installs the pinned compiler.
    pub(crate) fn installer(&self) -> PathBuf {
        self.home.join("cuda-compiler.sh")
    }
}
