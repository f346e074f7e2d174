//! Mistakes in a build script or in the layout of a crate.

use std::ffi::OsStr;

use super::fixture::{SOURCE, Toy, says};
use crate::environment::Environment;
use crate::{Error, Ptx, run};

#[test]
fn outside_a_build_script_the_missing_variable_is_named() {
    let nothing = Environment::of("/nowhere/kernels-common/build".into(), &[]);
    let error = run::run(&Ptx::new("toy"), &nothing).unwrap_err();
    assert!(matches!(error, Error::NotABuildScript { variable: "CARGO_MANIFEST_DIR" }));
    let half =
        Environment::of("/nowhere/kernels-common/build".into(), &[("CARGO_MANIFEST_DIR", OsStr::new("/nowhere"))]);
    let error = run::run(&Ptx::new("toy"), &half).unwrap_err();
    says(&error.to_string(), &["OUT_DIR is not set", "build.rs"]);
}

#[test]
fn a_missing_source_is_named() {
    let toy = Toy::new();
    let error = toy.build_with(&Ptx::new("other")).unwrap_err().to_string();
    says(&error, &["toy/src/other.cu does not exist", ".source("]);
    let error = toy.build_with(&Ptx::new("toy").source("src")).unwrap_err().to_string();
    says(&error, &["toy/src does not exist"]);
}

#[test]
fn a_missing_include_directory_is_named() {
    let error = Toy::new().build_with(&Ptx::new("toy").include_dir("inc")).unwrap_err().to_string();
    says(&error, &["toy/inc does not exist", ".include_dir("]);
}

#[test]
fn a_name_must_fit_into_file_names() {
    for name in ["", "a/b", "..", "a b", "a\"b", "ä"] {
        let error = Toy::new().build_with(&Ptx::new(name)).unwrap_err();
        assert!(matches!(error, Error::BadName { .. }), "{name}: {error}");
    }
}

#[test]
fn an_empty_list_of_capabilities_is_refused() {
    let error = Toy::new().build_with(&Ptx::new("toy").compute([])).unwrap_err();
    says(&error.to_string(), &["no compute capability", ".compute([75])"]);
}

#[test]
fn hopper_adds_and_takes_away() {
    let of = |ptx: Ptx| ptx.capabilities.into_iter().collect::<Vec<_>>();
    assert_eq!(of(Ptx::new("toy")), [75]);
    assert_eq!(of(Ptx::new("toy").hopper(true)), [75, 90]);
    assert_eq!(of(Ptx::new("toy").hopper(true).hopper(false)), [75]);
    assert_eq!(of(Ptx::new("toy").compute([90, 80, 80])), [80, 90]);
}

#[test]
fn a_header_outside_the_crate_is_refused() {
    let toy = Toy::new();
    toy.write("shared/outside.cuh", "\n");
    toy.write("toy/src/toy.cu", &format!("#include \"../../shared/outside.cuh\"\n{SOURCE}"));
    says(&toy.failure(), &["shared/outside.cuh is reached from outside", ".include_dir("]);
    // Naming the directory is not enough: the compiler would still follow the spelled path.
    let error = toy.build_with(&Ptx::new("toy").include_dir("../shared")).unwrap_err().to_string();
    says(&error, &["shared/outside.cuh is reached from outside", "include it by its name there"]);
}
