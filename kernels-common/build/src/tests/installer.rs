//! The command that a build advises to install the compiler with, and the script that it runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use super::fixture::{Toy, says};
use crate::{Origin, pinned};

/// A crate outside the workspace, in a directory of this name, and the command that its build advises.
fn advised(toy: &mut Toy, directory: &str) -> String {
    toy.write(&format!("{directory}/src/toy.cu"), "");
    toy.environment.set("CARGO_MANIFEST_DIR", toy.path(directory));
    toy.vendor("vendor", "kernels-build", "kernels-common");
    for file in ["cuda-compiler.sh", "cuda-compiler.txt"] {
        let real = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        symlink(real, toy.path("vendor/kernels-build").join(file)).unwrap();
    }
    let message = toy.failure();
    let command = message.lines().find_map(|line| line.strip_prefix("    bash "));
    format!("bash {}", command.expect(&message))
}

/// Runs a command with a stand-in for Python, which needs no network.
fn run(toy: &Toy, command: &str) -> Output {
    let bin = toy.path("python");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/python3.sh");
        symlink(fake, bin.join("python3")).unwrap();
        toy.toolkit("packages", pinned::NVCC);
    }
    let path = std::env::var("PATH").unwrap();
    Command::new("bash")
        .args(["-c", command])
        .current_dir(toy.path("nothing"))
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("FAKE_TOOLKIT", toy.path("packages"))
        .output()
        .unwrap()
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_advised_command_installs_where_the_build_looks() {
    for directory in ["plain", "it's a \"strange\" $place"] {
        let mut toy = Toy::new();
        let command = advised(&mut toy, directory);
        assert_eq!(command.contains('\''), directory != "plain", "{command}");
        says(&succeeded(&run(&toy, &command)), &["Installing", &format!("nvcc {}: ", pinned::NVCC)]);
        let built = toy.build().unwrap();
        assert!(matches!(&built.variants[0].origin, Origin::Compiled { version, .. } if version == pinned::NVCC));
        assert_eq!(toy.read(&format!("{directory}/.cuda/.gitignore")), "*\n", "nobody commits a compiler");
        let again = succeeded(&run(&toy, &command));
        assert!(!again.contains("Installing"), "{again}");
    }
}

#[test]
fn an_unfinished_installation_is_replaced_and_other_directories_are_left_alone() {
    let mut toy = Toy::new();
    let command = advised(&mut toy, "outside");
    toy.write("outside/.cuda/mine", "");
    let output = run(&toy, &command);
    assert!(!output.status.success());
    says(&String::from_utf8_lossy(&output.stderr), &["is not an installation of this script"]);
    toy.write("outside/.cuda/incomplete", "");
    says(&succeeded(&run(&toy, &command)), &["Installing"]);
    assert!(!toy.path("outside/.cuda/mine").exists());
}

#[test]
fn the_script_asks_for_one_directory() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda-compiler.sh");
    for arguments in [&[][..], &[""], &["--help"], &["a", "b"]] {
        let output = Command::new("bash").arg(&script).args(arguments).output().unwrap();
        assert!(!output.status.success());
        says(&String::from_utf8_lossy(&output.stderr), &["usage: bash cuda-compiler.sh DIRECTORY"]);
    }
}
