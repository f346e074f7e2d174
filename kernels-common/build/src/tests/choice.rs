//! Committed PTX or a compiler, and which compiler.

use super::fixture::{ANSWER, LIBRARY, SOURCE, Toy, says};
use crate::{Origin, Ptx, Stale, pinned};

/// `OLD` is not the pinned version.
const OLD: &str = "12.4.131";

fn version(origin: &Origin) -> &str {
    match origin {
        Origin::Committed => "committed",
        Origin::Compiled { version, .. } => version,
    }
}

#[test]
fn committed_ptx_needs_no_compiler() {
    let toy = Toy::with_committed_ptx();
    let built = toy.build().unwrap();
    assert_eq!(built.variants.len(), 1);
    assert_eq!(built.variants[0].origin, Origin::Committed);
    assert_eq!(built.warnings, [""; 0]);
    assert_eq!(toy.read("out/toy.sm_75.ptx"), toy.committed());
    assert_eq!(toy.read("out/toy.ptx.rs"), "[\n    (\"toy\", 75, include_str!(\"toy.sm_75.ptx\")),\n]\n");
    let told = built.to_string();
    for path in ["toy/src/toy.cu", "toy/src/own.cuh", "kernels-common/include/library.cuh", "toy/ptx/toy.sm_75.ptx"] {
        says(&told, &[&format!("cargo::rerun-if-changed={}\n", toy.path(path).display())]);
    }
    says(&told, &["cargo::rerun-if-env-changed=KERNELS_WRITE_PTX\n"]);
    assert!(!told.contains("=PATH"), "a change of PATH cannot matter here");
}

#[test]
fn the_first_line_says_what_the_ptx_was_made_from() {
    let toy = Toy::with_committed_ptx();
    let committed = toy.committed();
    let first = committed.lines().next().unwrap();
    says(
        first,
        &["// rungs-ptx digest=", " text=", &format!(" nvcc={}", pinned::NVCC), " source=toy.cu", " compute=75"],
    );
}

#[test]
fn windows_line_ends_change_nothing() {
    let toy = Toy::with_committed_ptx();
    let unix = toy.committed();
    for path in ["toy/src/toy.cu", "kernels-common/include/library.cuh", "toy/src/own.cuh", "toy/ptx/toy.sm_75.ptx"] {
        toy.change(path, |text| text.replace('\n', "\r\n"));
    }
    assert_eq!(toy.build().unwrap().variants[0].origin, Origin::Committed);
    assert_eq!(toy.read("out/toy.sm_75.ptx"), unix);
}

#[test]
fn every_input_counts() {
    let toy = Toy::with_committed_ptx();
    toy.write("toy/src/unused.cuh", "int x;\n");
    toy.build().unwrap();

    for path in ["toy/src/toy.cu", "kernels-common/include/library.cuh", "toy/src/own.cuh"] {
        let before = toy.read(path);
        toy.write(path, &format!("{before}// changed\n"));
        says(&toy.failure(), &["the source, a header, the build script or kernels-build changed"]);
        toy.write(path, &before);
        toy.build().unwrap();
    }
    assert!(toy.build_with(&Ptx::new("toy").include_dir("src")).is_err(), "flags count");
    toy.change("toy/ptx/toy.sm_75.ptx", |text| text.replacen(pinned::NVCC, OLD, 1));
    says(&toy.failure(), &[&format!("it was written by nvcc {OLD}, and the pinned compiler is nvcc {}", pinned::NVCC)]);
}

#[test]
fn what_is_stale_is_told_where_it_can_be() {
    let toy = Toy::with_committed_ptx();
    toy.write("toy/src/toy.cu", &format!("{SOURCE}// changed\n"));
    let causes = [
        "the likeliest is first:\n    1. a file of the crate: src/own.cuh, src/toy.cu. Take the change back, or \
         compile\n",
        "    2. kernels-build and kernels-common are of another revision: the device library (library.cuh), the \
         compiler's",
        "`rev` in Cargo.toml",
        "    3. build.rs names other include directories",
    ];
    says(&toy.failure(), &causes);
    // Another pinned compiler and another source are told by the first line of the PTX.
    let told = |toy: &Toy, ptx: &Ptx, reason: &str| {
        let message = toy.build_with(ptx).unwrap_err().to_string();
        says(&message, &[reason]);
        assert!(!message.contains("likeliest"), "{message}");
    };
    toy.change("toy/ptx/toy.sm_75.ptx", |text| text.replacen(pinned::NVCC, OLD, 1));
    told(&toy, &Ptx::new("toy"), &format!("it was written by nvcc {OLD}"));
    let toy = Toy::with_committed_ptx();
    toy.write("toy/src/renamed.cu", SOURCE);
    told(&toy, &Ptx::new("toy").source("src/renamed.cu"), "it was made from a source named toy.cu");

    // A kernel that uses no header of the library is not told of any.
    toy.write("toy/src/toy.cu", "__global__ void toy() {}\n");
    says(&toy.failure(), &["1. a file of the crate: src/toy.cu.", "another revision: the compiler's flags"]);
}

#[test]
fn headers_of_headers_count() {
    let toy = Toy::new();
    toy.write("kernels-common/include/library.cuh", &format!("#include \"deep/er.cuh\"\n{LIBRARY}"));
    toy.write("kernels-common/include/deep/er.cuh", "#include \"est.cuh\"\n#include <cuda_fp16.h>\n");
    toy.write("kernels-common/include/deep/est.cuh", "#include \"er.cuh\" // a circle\n");
    let mut writer = toy.environment.clone();
    writer.set("CUDA_HOME", toy.toolkit("pinned", pinned::NVCC));
    writer.set("KERNELS_WRITE_PTX", "1");
    crate::run::run(&Ptx::new("toy"), &writer).unwrap();
    toy.build().unwrap();
    toy.change("kernels-common/include/deep/est.cuh", |text| text + "\n");
    says(&toy.failure(), &["a header"]);
}

#[test]
fn a_header_named_by_hand_counts() {
    let mut toy = Toy::with_committed_ptx();
    let ptx = Ptx::new("toy").header("src/by_macro.cuh");
    says(&toy.build_with(&ptx).unwrap_err().to_string(), &["by_macro.cuh cannot be read"]);
    toy.write("toy/src/by_macro.cuh", "int a;\n");
    toy.environment.set("CUDA_HOME", toy.path("pinned"));
    toy.write_ptx(&ptx).unwrap();
    assert_eq!(toy.build_with(&ptx).unwrap().variants[0].origin, Origin::Committed);
    toy.write("toy/src/by_macro.cuh", "int b;\n");
    assert_ne!(toy.build_with(&ptx).unwrap().variants[0].origin, Origin::Committed);
}

#[test]
fn stale_ptx_without_a_compiler_says_what_to_run() {
    let toy = Toy::with_committed_ptx();
    toy.write("toy/src/toy.cu", &format!("{SOURCE}\n"));
    says(
        &toy.failure(),
        &[
            "ptx/toy.sm_75.ptx cannot be used: the source, a header",
            "NVCC: not set",
            "CUDA_HOME: not set",
            "CUDA_PATH: not set",
            "PATH: no nvcc on it",
            ".cuda: not in the crate's directory, nor above it",
            "    bash scripts/cuda-compiler.sh\n",
            pinned::NVCC,
            "KERNELS_WRITE_PTX=1 cargo build",
        ],
    );
    assert!(!toy.failure().contains("NVCC is set"));
}

#[test]
fn absent_ptx_without_a_compiler_says_so() {
    says(&Toy::new().failure(), &["ptx/toy.sm_75.ptx cannot be used: it does not exist", "cuda-compiler.sh"]);
}

#[test]
fn damaged_ptx_is_not_used() {
    let toy = Toy::with_committed_ptx();
    let path = "toy/ptx/toy.sm_75.ptx";
    let right = toy.committed();
    let half = right[..right.len() / 2].to_owned();
    let cases = [
        (half, "it was cut off, merged or edited"),
        (right.replace("add.rn.f32", "sub.rn.f32"), "it was cut off, merged or edited"),
        (right.lines().next().unwrap().to_owned(), "it is not PTX that this build wrote"),
        (ANSWER.to_owned(), "it is not PTX that this build wrote"),
        (String::new(), "it is not PTX that this build wrote"),
        ("<<<<<<< HEAD\n".to_owned() + &right, "it is not PTX that this build wrote"),
    ];
    for (text, reason) in cases {
        toy.write(path, &text);
        says(&toy.failure(), &[reason, "cuda-compiler.sh"]);
    }
    std::fs::write(toy.path(path), [0x7f, b'E', b'L', b'F', 0xff]).unwrap();
    says(&toy.failure(), &["it is not PTX that this build wrote"]);
    std::fs::remove_file(toy.path(path)).unwrap();
    std::fs::create_dir(toy.path(path)).unwrap();
    says(&toy.failure(), &["toy.sm_75.ptx cannot be read"]);
}

#[test]
fn another_compiler_serves_this_build_and_warns() {
    let mut toy = Toy::with_committed_ptx();
    let committed = toy.committed();
    toy.write("toy/src/toy.cu", &format!("{SOURCE}\n"));
    toy.environment.set("NVCC", toy.toolkit("old", OLD).join("bin/nvcc"));
    let built = toy.build().unwrap();
    assert_eq!(version(&built.variants[0].origin), OLD);
    says(&built.warnings.join("\n"), &["is stale: the source", OLD, "KERNELS_WRITE_PTX=1 cargo build"]);
    says(&built.to_string(), &["cargo::warning=", "cargo::rerun-if-env-changed=NVCC\n", "=PATH\n"]);
    assert_eq!(toy.committed(), committed, "a build without KERNELS_WRITE_PTX writes nothing");
    says(&toy.read("out/toy.sm_75.ptx"), &[&format!("nvcc={OLD}")]);
}

#[test]
fn only_the_pinned_compiler_writes() {
    let mut toy = Toy::with_committed_ptx();
    let committed = toy.committed();
    toy.environment.set("NVCC", toy.toolkit("old", OLD).join("bin/nvcc"));
    let error = toy.write_ptx(&Ptx::new("toy")).unwrap_err().to_string();
    says(&error, &["only nvcc", pinned::NVCC, "old/bin/nvcc: nvcc 12.4.131", "bash scripts/cuda-compiler.sh"]);
    says(&error, &["NVCC is set", "unset it"]);
    assert_eq!(toy.committed(), committed);
}

#[test]
fn writing_without_any_compiler_fails_even_if_the_ptx_is_fresh() {
    let toy = Toy::with_committed_ptx();
    let error = toy.write_ptx(&Ptx::new("toy")).unwrap_err().to_string();
    says(&error, &["is to be written (KERNELS_WRITE_PTX is set)", "cuda-compiler.sh"]);
}

#[test]
fn writing_repairs_and_leaves_what_is_right_alone() {
    let mut toy = Toy::with_committed_ptx();
    toy.environment.set("CUDA_HOME", toy.path("pinned"));
    let right = toy.committed();
    let modified = |toy: &Toy| toy.path("toy/ptx/toy.sm_75.ptx").metadata().unwrap().modified().unwrap();
    let before = modified(&toy);
    toy.write_ptx(&Ptx::new("toy")).unwrap();
    assert_eq!(modified(&toy), before);
    toy.write("toy/ptx/toy.sm_75.ptx", "damaged");
    toy.write_ptx(&Ptx::new("toy")).unwrap();
    assert_eq!(toy.committed(), right);
    let files = std::fs::read_dir(toy.path("toy/ptx")).unwrap().count();
    assert_eq!(files, 1, "no half-written file is left");
}

#[test]
fn zero_means_do_not_write() {
    let mut toy = Toy::with_committed_ptx();
    toy.environment.set("KERNELS_WRITE_PTX", "0");
    assert_eq!(toy.build().unwrap().variants[0].origin, Origin::Committed);
}

#[test]
fn a_nonsense_cuda_home_is_passed_over() {
    let mut toy = Toy::new();
    toy.environment.set("CUDA_HOME", toy.path("nonsense"));
    let nonsense = format!("CUDA_HOME={}: ", toy.path("nonsense").display());
    says(&toy.failure(), &[&nonsense, "cannot be run"]);
    toy.environment.set("PATH", toy.toolkit("old", OLD).join("bin"));
    assert_eq!(version(&toy.build().unwrap().variants[0].origin), OLD);
}

#[test]
fn a_broken_nvcc_variable_is_not_passed_over() {
    let mut toy = Toy::new();
    toy.environment.set("CUDA_HOME", toy.toolkit("pinned", pinned::NVCC));
    toy.environment.set("NVCC", toy.path("nonsense/nvcc"));
    // Installing another one alone would not help.
    let advice = "NVCC is set, and then no other place is searched: correct it, or unset it";
    says(&toy.failure(), &["nonsense/nvcc cannot be run", "no working nvcc", advice]);
    // Something that runs and is not nvcc.
    toy.environment.set("NVCC", "/bin/echo");
    says(&toy.failure(), &["/bin/echo is not nvcc"]);
    toy.environment.set("NVCC", "/bin/false");
    says(&toy.failure(), &["/bin/false --version failed"]);
}

#[test]
fn the_pinned_compiler_is_preferred_wherever_it_is() {
    let mut toy = Toy::new();
    toy.environment.set("CUDA_HOME", toy.toolkit("old", OLD));
    toy.environment.set("CUDA_PATH", toy.toolkit("older", "11.8.89"));
    assert_eq!(version(&toy.build().unwrap().variants[0].origin), OLD);
    toy.toolkit(".cuda/toolkit", pinned::NVCC);
    assert_eq!(version(&toy.build().unwrap().variants[0].origin), pinned::NVCC);
    toy.write_ptx(&Ptx::new("toy")).unwrap();
    assert_eq!(toy.build().unwrap().variants[0].origin, Origin::Committed);
}

#[test]
fn cuda_directories_are_searched_from_the_crate_upwards_and_in_the_workspace() {
    for (directory, found) in [("toy/.cuda", true), (".cuda", true), ("kernels-common/.cuda", false)] {
        let toy = Toy::new();
        toy.toolkit(&format!("{directory}/toolkit"), OLD);
        assert_eq!(toy.build().is_ok(), found, "{directory}");
    }
    // A crate outside the workspace uses the workspace's compiler too, after its own.
    let outside = Toy::new();
    let mut toy = Toy::new();
    toy.environment.set("CARGO_MANIFEST_DIR", outside.path("toy"));
    assert!(toy.build().is_err());
    toy.toolkit(".cuda/toolkit", OLD);
    assert_eq!(version(&toy.build().unwrap().variants[0].origin), OLD);
    outside.toolkit("toy/.cuda/toolkit", "11.8.89");
    assert_eq!(version(&toy.build().unwrap().variants[0].origin), "11.8.89");
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let mut toy = Toy::new();
    toy.environment.set("NVCC", "");
    says(&toy.failure(), &["NVCC: not set"]);
}

#[test]
fn each_reason_is_told_apart() {
    let (version, name) = (OLD.to_owned(), "toy.cu".to_owned());
    let all = [Stale::Missing, Stale::Foreign, Stale::Damaged, Stale::Changed { causes: Vec::new() }];
    let all = all.into_iter().chain([Stale::Compiler { version }, Stale::Source { name }]);
    let texts: Vec<_> = all.map(|stale| stale.to_string()).collect();
    let different: std::collections::BTreeSet<_> = texts.iter().collect();
    assert_eq!(different.len(), texts.len());
}
