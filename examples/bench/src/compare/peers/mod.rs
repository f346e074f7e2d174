//! Other libraries, loaded while the program runs: nothing of CUDA is needed to build it, and a library that is not
//! there leaves a note in the report.

mod cublas;
mod library;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kernels_common::device::Device;
use kernels_common::stream::Stream;
use libloading::Library;

pub(crate) use cublas::{Cublas, Width};
pub(crate) use library::{PeerLibrary, Reading, Reduction};

/// What there is to compare with. The reason where something is missing says what to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peers {
    /// CUB, and kernels that only read.
    pub(crate) library: Result<&'static PeerLibrary, &'static str>,
    /// cuBLAS.
    pub(crate) cublas: Result<&'static Cublas, &'static str>,
}

impl Peers {
    /// Looks for libraries in `directories`, beside the program, and where the system keeps libraries. They work on
    /// `stream` and stay loaded until the program ends: unloading one that holds a CUDA runtime is not worth its risks.
    ///
    /// # Errors
    /// That the stream's context cannot be made current.
    pub(crate) fn load(directories: &[PathBuf], stream: &Stream) -> Result<Peers> {
        bind(stream.device())?;
        let mut places: Vec<PathBuf> = directories.to_vec();
        places.extend(beside_the_program());
        let keep = |reason: String| &*Box::leak(reason.into_boxed_str());
        Ok(Peers {
            library: PeerLibrary::load(&places).map(|library| &*Box::leak(Box::new(library))).map_err(keep),
            cublas: Cublas::load(&places, stream).map(|cublas| &*Box::leak(Box::new(cublas))).map_err(keep),
        })
    }

    /// No library, for `reason`.
    #[cfg(test)]
    pub(crate) fn none(reason: &'static str) -> Peers {
        Peers { library: Err(reason), cublas: Err(reason) }
    }
}

/// Makes the device's context current on this thread, for libraries that work in whichever is.
fn bind(device: &Device) -> Result<()> {
    let context = device.to_cudarc().context("the device is no GPU")?;
    context.bind_to_thread().context("cuCtxSetCurrent")
}

/// The folder `peers` beside that of the program: `target/peers` for `target/release/bench`, and that of a bundle.
fn beside_the_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    Some(program.parent()?.parent()?.join("peers"))
}

/// The first of `names` that loads: from the folders first, then, if `system` says so, from where the system looks.
fn open(names: &[&str], places: &[PathBuf], system: bool) -> Result<Library, String> {
    let mut tried = Vec::new();
    let files = places.iter().flat_map(|place| names.iter().map(|name| place.join(name)));
    let files = files.filter(|file| file.exists());
    let others = names.iter().map(PathBuf::from).filter(|_| system);
    for file in files.chain(others) {
        match load(file.as_os_str()) {
            Ok(library) => return Ok(library),
            Err(error) => tried.push(format!("{:#}", anyhow::Error::from(error))),
        }
    }
    let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
    let places = if places.is_empty() { String::new() } else { format!(", not in {}", places.join(", ")) };
    let tried = if tried.is_empty() { String::new() } else { format!(" ({})", tried.join("; ")) };
    Err(format!("no {}{places}{tried}", names.join(" or ")))
}

fn load(file: &OsStr) -> Result<Library, libloading::Error> {
    // cuBLAS asks for a library that lies beside it; where it does not say where, it has to be loaded already.
    if let Some(companion) = companion(Path::new(file)) {
        // SAFETY: as below. What becomes of it shows when the library itself is loaded.
        if let Ok(companion) = unsafe { Library::new(companion) } {
            std::mem::forget(companion);
        }
    }
    // SAFETY: libraries of NVIDIA's, or the one that scripts/peers.sh makes: what their initialisers do is sound.
    unsafe { Library::new(file) }
}

/// `libcublasLt.so.N` beside `libcublas.so.N`, if it is there.
fn companion(file: &Path) -> Option<PathBuf> {
    let version = file.file_name()?.to_str()?.strip_prefix("libcublas.so")?;
    let companion = file.with_file_name(format!("libcublasLt.so{version}"));
    companion.exists().then_some(companion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_named_with_the_places() {
        let folder = tempfile::tempdir().unwrap();
        let reason = open(&["libabsent.so.2", "libabsent.so.1"], &[folder.path().to_owned()], true).unwrap_err();
        assert!(reason.starts_with("no libabsent.so.2 or libabsent.so.1, not in "), "{reason}");
        assert!(reason.contains(folder.path().to_str().unwrap()), "{reason}");
        // What the system's loader says of each name.
        assert!(reason.contains("libabsent.so.1: cannot open"), "{reason}");
    }

    #[test]
    fn what_is_no_library_says_why() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("librungs_peers.so"), "no library").unwrap();
        let reason = PeerLibrary::load(&[folder.path().to_owned()]).unwrap_err();
        assert!(reason.contains("librungs_peers.so"), "{reason}");
        assert!(reason.contains("bash scripts/peers.sh"), "{reason}");
    }

    /// Compiles C to the peers' library in a folder; `None` where there is no compiler.
    fn compile(folder: &Path, source: &str) -> Option<()> {
        std::fs::write(folder.join("peers.c"), source).unwrap();
        let arguments = ["-shared", "-fPIC", "peers.c", "-o", "librungs_peers.so"];
        let compiler = std::process::Command::new("cc").args(arguments).current_dir(folder).status();
        let Ok(status) = compiler else {
            println!("skipped: there is no C compiler");
            return None;
        };
        assert!(status.success());
        Some(())
    }

    #[test]
    fn another_version_of_the_interface_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let source = "unsigned rungs_peers_version(void) { return 99; }";
        if compile(folder.path(), source).is_some() {
            let reason = PeerLibrary::load(&[folder.path().to_owned()]).unwrap_err();
            assert!(reason.contains("its interface has version 99 instead of 1"), "{reason}");
        }
    }

    #[test]
    fn a_library_is_taken_from_the_first_folder_that_has_it() {
        let (empty, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let source = r#"
            unsigned rungs_peers_version(void) { return 1; }
            const char *rungs_peers_description(void) { return "made up"; }
            const char *rungs_error_text(int error) { return error == 7 ? "seven" : "another"; }
            int rungs_read_prepare(int reading) { return reading == 1 ? 7 : 0; }
            int rungs_reduce(void) { return 7; }
            int rungs_add(void) { return 7; }
            int rungs_read(void) { return 7; }
            int rungs_fetch(void) { return 7; }
        "#;
        if compile(folder.path(), source).is_some() {
            let library = PeerLibrary::load(&[empty.path().to_owned(), folder.path().to_owned()]).unwrap();
            assert_eq!(library.description(), "made up");
            assert!(library.prepare(Reading::Loads).is_ok());
            let error = library.prepare(Reading::Bulk).unwrap_err().to_string();
            assert_eq!(error, "a kernel that reads: seven (CUDA error 7)");
        }
    }

    #[test]
    fn a_companion_has_the_same_version() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("libcublasLt.so.13"), "").unwrap();
        assert_eq!(companion(&place("libcublas.so.13")), Some(place("libcublasLt.so.13")));
        assert_eq!(companion(&place("libcublas.so.12")), None);
        assert_eq!(companion(&place("librungs_peers.so")), None);
    }
}
