//! A crate outside this workspace, with a kernel of its own, built by Cargo as its author would.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SOURCE: &str = include_str!("outside/saxpy.cu");

/// What the stand-in for nvcc answers.
const PTX: &str = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry saxpy() { ret; }\n";

/// A crate in Cargo's directory for the temporary files of tests, with what was built there before.
struct Outside {
    directory: PathBuf,
}

impl Outside {
    fn new(name: &str) -> Self {
        let directory = temporary().join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory).unwrap();
        }
        let outside = Outside { directory };
        let kernels_build = env!("CARGO_MANIFEST_DIR");
        outside.write(
            "Cargo.toml",
            &format!(
                "[workspace]\n[package]\nname = \"saxpy\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                 [dependencies]\nkernels-common = {{ path = \"stub\" }}\n\
                 [build-dependencies]\nkernels-build = {{ path = {kernels_build:?} }}\n"
            ),
        );
        outside.write("build.rs", include_str!("outside/build.rs"));
        outside.write("src/saxpy.cu", SOURCE);
        outside.write("src/main.rs", include_str!("outside/program.rs"));
        let stub = "[package]\nname = \"kernels-common\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        outside.write("stub/Cargo.toml", stub);
        outside.write("stub/src/lib.rs", include_str!("outside/kernels_common.rs"));
        let macro_file = Path::new(kernels_build).join("../src/ptx.rs");
        fs::copy(macro_file, outside.path("stub/src/ptx.rs")).unwrap();
        // The versions of this workspace, which are at hand without a network.
        let lock = Path::new(kernels_build).join("../../Cargo.lock");
        fs::copy(lock, outside.path("Cargo.lock")).unwrap();
        outside
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn committed(&self) -> String {
        fs::read_to_string(self.path("ptx/saxpy.sm_75.ptx")).unwrap()
    }

    /// Cargo in the crate, with `NVCC` and further variables.
    fn cargo(&self, arguments: &[&str], nvcc: &Path, variables: &[(&str, &str)]) -> Output {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Command::new(cargo)
            .args(arguments)
            .arg("--offline")
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", temporary().join("target"))
            .env("NVCC", nvcc)
            .env_remove("KERNELS_WRITE_PTX")
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    /// A stand-in for the pinned nvcc.
    fn stand_in(&self) -> PathBuf {
        let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake");
        let pinned = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda-compiler.txt")).unwrap();
        let version = pinned.lines().find_map(|line| line.strip_prefix("nvidia-cuda-nvcc==")).unwrap();
        self.write("toolkit/version", version);
        self.write("toolkit/least", "6.3");
        self.write("toolkit/answer.ptx", PTX);
        for tool in ["nvcc", "ptxas"] {
            symlink(fake.join(format!("{tool}.sh")), self.path(&format!("toolkit/{tool}"))).unwrap();
        }
        self.path("toolkit/nvcc")
    }
}

fn temporary() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside")
}

/// The standard output of a command that has to succeed.
fn succeeded(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn from_the_first_kernel_to_a_build_without_a_compiler() {
    let outside = Outside::new("first-kernel");
    let none = outside.path("no/nvcc");

    // There is no compiler yet. The author is told what to do, and sees no panic.
    let output = outside.cargo(&["build"], &none, &[]);
    assert!(!output.status.success());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    // Within this workspace its own script is named, and elsewhere, as with CARGO_TARGET_DIR, the one of the build crate.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let script =
        if temporary().starts_with(workspace) { "bash scripts/cuda-compiler.sh" } else { "build/cuda-compiler.sh" };
    for part in ["saxpy.sm_75.ptx cannot be used: it does not exist", script, "KERNELS_WRITE_PTX=1"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("panicked"), "{message}");

    // With one, the PTX is written.
    let nvcc = outside.stand_in();
    succeeded(outside.cargo(&["build"], &nvcc, &[("KERNELS_WRITE_PTX", "1")]));
    let committed = outside.committed();
    assert!(committed.contains(".version 6.3\n.target sm_75"), "{committed}");

    // From then on none is needed, and Cargo finds nothing to do.
    let output = succeeded(outside.cargo(&["run", "--quiet"], &none, &[]));
    assert_eq!(output, format!("saxpy 75\n{committed}\n"));
    let output = outside.cargo(&["build", "-v"], &none, &[("PATH", &path_with("/elsewhere"))]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("Fresh saxpy v0.1.0"), "{message}");

    // A changed kernel is noticed, compiled for this build, and reported.
    outside.write("src/saxpy.cu", &format!("{SOURCE}// changed\n"));
    let output = outside.cargo(&["build"], &nvcc, &[]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && message.contains("is stale: the source"), "{message}");
    assert_eq!(outside.committed(), committed);
}

#[test]
fn mistakes_around_the_macro_are_explained_and_another_name_of_the_runtime_is_none() {
    let outside = Outside::new("macro");
    let nvcc = outside.stand_in();
    let change = |path: &str, from: &str, to: &str| {
        let text = fs::read_to_string(outside.path(path)).unwrap();
        assert!(text.contains(from), "{path}");
        outside.write(path, &text.replace(from, to));
    };
    change("Cargo.toml", "kernels-common = {", "kc = { package = \"kernels-common\",");
    change("src/main.rs", "kernels_common::", "kc::");
    succeeded(outside.cargo(&["check"], &nvcc, &[]));

    change("src/main.rs", "ptx!(\"saxpy\")", "ptx!(\"sax_py\")");
    let output = outside.cargo(&["check"], &nvcc, &[]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && message.contains("sax_py.ptx.rs"), "{message}");

    fs::remove_file(outside.path("build.rs")).unwrap();
    let output = outside.cargo(&["check"], &nvcc, &[]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && message.contains("needs a build script: a file build.rs"), "{message}");
}

/// `PATH` with one more directory.
fn path_with(directory: &str) -> String {
    format!("{}:{directory}", std::env::var("PATH").unwrap_or_default())
}

#[test]
fn dev_and_release_give_the_same_ptx() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let installed = workspace.join(".cuda/toolkit/bin/nvcc");
    let named = std::env::var_os("NVCC").map(PathBuf::from);
    let Some(nvcc) = named.into_iter().chain([installed]).find(|nvcc| nvcc.is_file()) else {
        println!("dev_and_release_give_the_same_ptx: skipped, as neither NVCC nor .cuda leads to an nvcc");
        return;
    };
    let outside = Outside::new("profiles");
    // cc adds -G in dev builds, and nvcc takes flags from these variables: neither may get in.
    let debug = [("NVCC_APPEND_FLAGS", "-G -lineinfo"), ("NVCC_PREPEND_FLAGS", "--fmad=true")];
    let dev = succeeded(outside.cargo(&["run", "--quiet"], &nvcc, &debug));
    let release = succeeded(outside.cargo(&["run", "--quiet", "--release"], &nvcc, &[]));
    assert_eq!(dev, release);
    assert!(dev.contains("mul.rn.f32") && dev.contains("add.rn.f32"), "{dev}");
}
