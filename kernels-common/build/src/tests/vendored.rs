//! The crates as `cargo vendor` leaves them: each in a directory of its own, below that of the program.

use super::fixture::{SOURCE, Toy, says};
use crate::{Error, Origin};

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn committed_ptx_stays_right_wherever_the_library_is_vendored() {
    let versioned = |name: &str| format!("{name}-{VERSION}");
    let plain = ["kernels-build".to_owned(), "kernels-common".to_owned()];
    let numbered = ["kernels-build", "kernels-common"].map(versioned);
    // Beside the crate, as for one that is vendored itself; and below it, as for the program's own kernel.
    for vendor in [".", "toy/vendor"] {
        for [kernels_build, kernels_common] in [&plain, &numbered] {
            let mut toy = Toy::with_committed_ptx();
            toy.vendor(vendor, kernels_build, kernels_common);
            assert_eq!(toy.build().unwrap().variants[0].origin, Origin::Committed, "{vendor}/{kernels_common}");
        }
    }
}

#[test]
fn the_library_of_the_same_version_is_taken() {
    let mut toy = Toy::with_committed_ptx();
    toy.vendor("vendor", &format!("kernels-build-{VERSION}"), &format!("kernels-common-{VERSION}"));
    toy.write("vendor/kernels-common/include/library.cuh", "// a later version\n");
    assert_eq!(toy.build().unwrap().variants[0].origin, Origin::Committed);
}

#[test]
fn a_missing_library_is_not_taken_for_a_changed_one() {
    let mut toy = Toy::with_committed_ptx();
    toy.vendor("vendor", "kernels-build", "kernels-common");
    std::fs::remove_dir_all(toy.path("vendor/kernels-common")).unwrap();
    let error = toy.build().unwrap_err();
    assert!(matches!(error, Error::NoDeviceLibrary { .. }), "{error}");
    let place = toy.path("vendor/kernels-common/include");
    says(&error.to_string(), &["the device library", &place.display().to_string(), "[dependencies]"]);

    let toy = Toy::with_committed_ptx();
    std::fs::remove_dir_all(toy.path("kernels-common/include")).unwrap();
    says(&toy.failure(), &["the device library", &toy.path("kernels-common/include").display().to_string()]);
}

#[test]
fn the_advice_names_a_script_that_was_vendored_too() {
    let mut toy = Toy::with_committed_ptx();
    toy.vendor("vendor", "kernels-build", "kernels-common");
    toy.write("toy/src/toy.cu", &format!("{SOURCE}\n"));
    let script = toy.path("vendor/kernels-build/cuda-compiler.sh");
    says(&toy.failure(), &[&format!("bash {} {}", script.display(), toy.path("toy/.cuda").display())]);
    // The directory that the crate's package is made of has that script.
    assert!(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda-compiler.sh").is_file());
}
