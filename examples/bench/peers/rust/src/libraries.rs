//! What a peer needs of CUDA, found before it asks for it: the peers panic where something is missing.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use cudarc::driver::{result, sys};
use libloading::Library;

use crate::Peer;

/// Where CUDA is by default.
const CUDA: &str = "/usr/local/cuda";

/// Looks for a device, and for what a peer needs. No other thread may run yet.
///
/// # Errors
/// What is missing, and what to do.
pub fn find(peer: Peer) -> Result<()> {
    if peer == Peer::Cubek {
        find_headers()?;
    }
    open(&["libcuda.so.1"], "", &[]).context("there is no NVIDIA driver here")?;
    result::init().context("the driver does not start")?;
    let mut version = 0;
    // SAFETY: it writes one integer.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    let wanted = sys::CUDA_VERSION as i32;
    ensure!(version >= wanted, "the driver is for CUDA {}, and this for {} or later", spell(version), spell(wanted));
    ensure!(result::device::get_count()? > 0, "the driver has no device");

    let needed: &[(&[&str], &str)] = match peer {
        Peer::Candle => &[(&["libcublas.so.13", "libcublas.so.12"], "libcublasLt.so."), (&["libcurand.so.10"], "")],
        Peer::Cubek => &[(&["libnvrtc.so.13", "libnvrtc.so.12"], "libnvrtc-builtins.so.")],
    };
    let folders: Vec<PathBuf> = roots().map(|root| root.join("lib64")).collect();
    for (names, companion) in needed {
        open(names, companion, &folders).context("add the folder of CUDA's libraries to LD_LIBRARY_PATH")?;
    }
    Ok(())
}

/// Sees to it that the kernels of cubecl find the header that they include: in the toolkit, or else beside this
/// program.
///
/// # Errors
/// That it is in neither.
fn find_headers() -> Result<()> {
    let has_it = |root: &Path| root.join("include/cuda_runtime.h").exists();
    // Where cubecl looks.
    let toolkit = env::var_os("CUDA_PATH").map_or_else(|| PathBuf::from(CUDA), PathBuf::from);
    if has_it(&toolkit) {
        return Ok(());
    }
    let program = env::current_exe()?;
    let beside = program.parent().context("this program is in no folder")?;
    if !has_it(beside) {
        bail!(
            "no include/cuda_runtime.h in {} or {}: set CUDA_PATH to a CUDA toolkit, or build with \
             scripts/rust-peers.sh, which puts it beside this program",
            toolkit.display(),
            beside.display()
        );
    }
    // SAFETY: this program has one thread so far.
    unsafe { env::set_var("CUDA_PATH", beside) };
    Ok(())
}

/// Folders of CUDA toolkits.
fn roots() -> impl Iterator<Item = PathBuf> {
    let variables = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    variables.chain([PathBuf::from(CUDA)])
}

/// Loads the first of `names` that there is, where the system looks or in `folders`, and keeps it: a library that is
/// loaded is found by its name from then on. In a folder, what `companion` is the beginning of goes before: the library
/// asks for it by its name alone.
fn open(names: &[&str], companion: &str, folders: &[PathBuf]) -> Result<()> {
    let mut reasons = Vec::new();
    for name in names {
        match keep(Path::new(name)) {
            Ok(()) => return Ok(()),
            Err(reason) => reasons.push(reason),
        }
    }
    for folder in folders {
        for file in names.iter().map(|name| folder.join(name)).filter(|file| file.exists()) {
            for entry in folder.read_dir()?.flatten() {
                let is_companion = entry.file_name().to_str().is_some_and(|name| name.starts_with(companion));
                if !companion.is_empty() && is_companion {
                    // What becomes of it shows when the library is used.
                    let _ = keep(&entry.path());
                }
            }
            match keep(&file) {
                Ok(()) => return Ok(()),
                Err(reason) => reasons.push(reason),
            }
        }
    }
    bail!("cannot load {}: {}", names.join(" or "), reasons.join("; "))
}

/// Loads a library for as long as the program runs, or says why it cannot.
fn keep(file: &Path) -> Result<(), String> {
    // SAFETY: libraries of NVIDIA's, whose initialisers are sound.
    let library = unsafe { Library::new(file) }.map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
    std::mem::forget(library);
    Ok(())
}

/// `13000` as `13.0`.
fn spell(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_the_reason() {
        let text = format!("{:#}", open(&["libabsent.so.2", "libabsent.so.1"], "", &[]).unwrap_err());
        assert!(text.starts_with("cannot load libabsent.so.2 or libabsent.so.1: "), "{text}");
        // What the system's loader says of each name.
        assert!(text.contains("libabsent.so.1: cannot open"), "{text}");
    }

    #[test]
    fn a_file_that_is_no_library_is_named() {
        let folder = env::temp_dir().join(format!("rust-peers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libabsent.so.1"), "no library").unwrap();
        let text = format!("{:#}", open(&["libabsent.so.1"], "libabsent", std::slice::from_ref(&folder)).unwrap_err());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(text.contains(folder.to_str().unwrap()), "{text}");
    }

    #[test]
    fn versions_are_spelled_with_a_dot() {
        assert_eq!((spell(13000), spell(12080)), ("13.0".to_owned(), "12.8".to_owned()));
    }
}
