//! Drivers that are missing, broken, too old or only a stub: each a distinct error that says what to do, never a panic.
//!
//! Every test starts its own program again, with a library of its making in the place of the driver's.

#![cfg(all(feature = "cuda", feature = "sim", target_os = "linux"))]

use std::path::Path;
use std::process::{Command, Stdio};

use kernels_common::device::Device;
use tempfile::TempDir;

/// Tells the program that it is the child.
const CHILD: &str = "KERNELS_COMMON_DRIVER_TEST";
const SELECTORS: [&str; 4] = ["cuda", "cuda:7", "auto", "sim"];

/// In the child, opens devices, prints what happened and returns true.
fn is_child() -> bool {
    if std::env::var_os(CHILD).is_none() {
        return false;
    }
    // As with panic=abort: a panic ends the child, even one that would be caught.
    std::panic::set_hook(Box::new(|panic| {
        println!("{panic}");
        std::process::abort();
    }));
    for selector in SELECTORS {
        match Device::open(selector) {
            Ok(device) => {
                let opened = &device.properties().selector;
                println!("{selector}> Ok {opened}: {}", device.fallback_reason().unwrap_or("as asked"));
            }
            Err(error) => println!("{selector}> {error:?}\n{selector}> {error}"),
        }
    }
    let devices: Vec<String> = Device::list().into_iter().map(|device| device.selector).collect();
    println!("list> {}", devices.join(" "));
    true
}

/// What a child printed.
struct Report(String);

impl Report {
    /// The lines for one selector.
    fn of(&self, selector: &str) -> Vec<&str> {
        let prefix = format!("{selector}> ");
        let lines: Vec<&str> =
            self.0.lines().filter_map(|line| line.split_once(&prefix)).map(|(_, line)| line).collect();
        assert!(!lines.is_empty(), "nothing about `{selector}` in:\n{}", self.0);
        lines
    }

    /// The GPU cannot be had because of the error of that name, whose text has `advice` in it; the simulator takes its
    /// place only where that is allowed, and says why.
    fn expect(&self, error: &str, advice: &str) {
        for selector in ["cuda", "cuda:7"] {
            let [debug, text] = self.of(selector)[..] else { panic!("{}", self.0) };
            assert!(debug.starts_with(error), "{selector}: {debug}");
            assert!(text.contains(advice), "{selector}: {text}");
        }
        let [auto] = self.of("auto")[..] else { panic!("{}", self.0) };
        assert!(auto.starts_with("Ok sim: ") && auto.contains(advice), "{auto}");
        assert_eq!(self.of("sim"), ["Ok sim: as asked"]);
        assert_eq!(self.of("list"), ["sim"]);
    }
}

/// Runs the test `name` again as a child, which finds its libraries in `libraries` first.
fn run_child(name: &str, libraries: &Path) -> Report {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .env("LD_LIBRARY_PATH", libraries)
        .env_remove("LD_PRELOAD")
        .env_remove(Device::SELECTOR_VARIABLE)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}:\n{text}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    Report(text)
}

/// A folder with a driver library made from C. `None`, with a line that says so, where there is no C compiler.
fn driver(source: &str) -> Option<TempDir> {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("driver.c");
    std::fs::write(&file, source).unwrap();
    // The name that is tried first, so that a real driver is not found.
    let library = folder.path().join("libcuda.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    match Command::new(&compiler).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&file).output() {
        Ok(output) if output.status.success() => Some(folder),
        Ok(output) => panic!("{compiler}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            println!("skipped: {compiler}: {error}");
            None
        }
    }
}

/// A driver whose start ends with `status`, of CUDA version `version`, without any other function.
fn driver_with(status: u32, version: u32) -> Option<TempDir> {
    driver(&format!(
        "int cuInit(unsigned flags) {{ return {status}; }}\n\
         int cuDriverGetVersion(int *version) {{ *version = {version}; return 0; }}\n"
    ))
}

#[test]
fn files_that_are_no_libraries() {
    if is_child() {
        return;
    }
    let folder = TempDir::new().unwrap();
    for name in ["cuda", "nvcuda"].iter().flat_map(|library| cudarc::get_lib_name_candidates(library)) {
        std::fs::write(folder.path().join(name), "not a library, and longer than the header of one\n".repeat(9))
            .unwrap();
    }
    run_child("files_that_are_no_libraries", folder.path()).expect("NoDriver", "Install an NVIDIA driver");
}

#[test]
fn no_driver_library() {
    if is_child() {
        return;
    }
    // SAFETY: loads the driver's library if there is one, as the tests of the GPU do.
    if unsafe { cudarc::driver::sys::is_culib_present() } {
        println!("skipped: this machine has a driver");
        return;
    }
    let folder = TempDir::new().unwrap();
    run_child("no_driver_library", folder.path()).expect("NoDriver", "Install an NVIDIA driver");
}

#[test]
fn the_stub_for_linking() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(34, 13000) else { return };
    run_child("the_stub_for_linking", folder.path()).expect("StubDriver", "Take the toolkit's `stubs` folder out");
}

#[test]
fn a_driver_without_a_gpu() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(100, 13000) else { return };
    let report = run_child("a_driver_without_a_gpu", folder.path());
    report.expect("NoDevice", "there is no GPU here");
    assert!(report.of("cuda:7")[1].contains("`cuda:7`"), "{}", report.0);
}

#[test]
fn a_driver_that_is_too_old() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(0, 11000) else { return };
    let report = run_child("a_driver_that_is_too_old", folder.path());
    report.expect("DriverTooOld", "it supports CUDA 11.0, and 12.0 is needed");
}

#[test]
fn an_old_driver_that_fails_to_start() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(999, 11040) else { return };
    let report = run_child("an_old_driver_that_fails_to_start", folder.path());
    report.expect("DriverTooOld", "it supports CUDA 11.4, and 12.0 is needed");
}

#[test]
fn a_driver_that_fails_to_start() {
    if is_child() {
        return;
    }
    // 803: the library does not fit the kernel module, as after an update without a restart.
    let Some(folder) = driver_with(803, 13000) else { return };
    run_child("a_driver_that_fails_to_start", folder.path()).expect("Driver { code: 803", "restart the machine");
}

#[test]
fn a_driver_that_lacks_functions() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(0, 13000) else { return };
    let report = run_child("a_driver_that_lacks_functions", folder.path());
    report.expect("DriverIncomplete", "Update or reinstall the NVIDIA driver");
}

#[test]
fn a_library_that_is_no_driver() {
    if is_child() {
        return;
    }
    let Some(folder) = driver("int unrelated(void) { return 0; }\n") else { return };
    run_child("a_library_that_is_no_driver", folder.path()).expect("DriverIncomplete", "lacks `cuInit`");
}

#[test]
fn a_gpu_that_is_not_there() {
    let error = Device::open("cuda:4000000000").unwrap_err();
    assert!(!error.to_string().is_empty());
    assert!(Device::open("sim").is_ok());
}
