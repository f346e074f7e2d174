//! What is done to the compiler's output, and what is refused.

use super::fixture::{ANSWER, Toy, says};
use crate::{Origin, Ptx, pinned};

/// A crate with a stand-in for the pinned compiler.
fn toy() -> Toy {
    let mut toy = Toy::new();
    toy.environment.set("CUDA_HOME", toy.toolkit("pinned", pinned::NVCC));
    toy
}

#[test]
fn the_version_is_lowered_to_the_least_accepted() {
    let toy = toy();
    for (least, expected) in [("6.3", ".version 6.3\n"), ("7.8", ".version 7.8\n"), ("9.0", ".version 9.0\n")] {
        toy.write("pinned/bin/least", least);
        toy.write_ptx(&Ptx::new("toy")).unwrap();
        says(&toy.committed(), &[expected]);
    }
}

#[test]
fn the_rest_is_kept_as_it_is() {
    let toy = toy();
    toy.write_ptx(&Ptx::new("toy")).unwrap();
    let (_, expected) = ANSWER.split_once("\n.target").unwrap();
    let committed = toy.committed();
    let (_, kept) = committed.split_once("\n.target").unwrap();
    assert_eq!(kept.lines().collect::<Vec<_>>(), expected.lines().map(str::trim_end).collect::<Vec<_>>());
}

#[test]
fn each_capability_has_its_file() {
    let toy = toy();
    let ptx = Ptx::new("toy").hopper(true);
    let built = toy.write_ptx(&ptx).unwrap();
    assert_eq!(built.variants.iter().map(|variant| variant.capability).collect::<Vec<_>>(), [75, 90]);
    says(&toy.read("toy/ptx/toy.sm_90.ptx"), &[" compute=90\n"]);
    says(&toy.read("out/toy.ptx.rs"), &["\"toy\", 75, include_str!(\"toy.sm_75.ptx\")", "\"toy\", 90, include_str!"]);
    let built = toy.build_with(&ptx).unwrap();
    assert!(built.variants.iter().all(|variant| variant.origin == Origin::Committed));
    assert_ne!(toy.read("toy/ptx/toy.sm_90.ptx"), toy.committed());
}

#[test]
fn unrounded_arithmetic_is_refused_and_located() {
    let toy = toy();
    toy.write_ptx(&Ptx::new("toy")).unwrap();
    let committed = toy.committed();
    toy.write("pinned/bin/answer.ptx", &ANSWER.replace("add.rn.f32", "{mul.f16"));
    let error = toy.write_ptx(&Ptx::new("toy")).unwrap_err().to_string();
    let refused = toy.path("out/toy.sm_75/refused.ptx");
    let line = 1 + toy.read("out/toy.sm_75/refused.ptx").lines().position(|l| l.contains("mul.f16")).unwrap();
    let place = format!("{}:{line}: `mul.f16` in toy\n", refused.display());
    says(&error, &["src/toy.cu has floating-point", &place, "__hmul_rn", "fma"]);
    assert_eq!(toy.committed(), committed);
}

#[test]
fn many_findings_are_summed_up() {
    let toy = toy();
    toy.write("pinned/bin/answer.ptx", &ANSWER.replace("\tret;", &"\tadd.f32 a, b, c;\n".repeat(20)));
    says(&toy.failure(), &["and 12 more"]);
}

#[test]
fn what_is_not_ptx_is_refused() {
    let toy = toy();
    toy.write("pinned/bin/answer.ptx", "\u{7f}ELF");
    says(&toy.failure(), &["pinned/bin/nvcc wrote something that is not PTX"]);
}

#[test]
fn a_failing_compiler_is_quoted_with_the_real_paths() {
    let toy = toy();
    std::fs::remove_file(toy.path("pinned/bin/answer.ptx")).unwrap();
    let source = format!("{}(1): error: expected a declaration", toy.path("toy/src/toy.cu").display());
    says(&toy.failure(), &["nvcc failed on", "in a temporary directory", &source, "--fmad=false", "-arch=compute_75"]);
}

#[test]
fn what_ptxas_refuses_is_refused() {
    let toy = toy();
    toy.write("pinned/bin/least", "99.0");
    says(&toy.failure(), &["ptxas refused", "requires PTX ISA .version 99.0", "compute capability 75"]);
}

#[test]
fn without_ptxas_nothing_is_written() {
    let toy = toy();
    std::fs::remove_file(toy.path("pinned/bin/ptxas")).unwrap();
    let built = toy.build().unwrap();
    says(&built.warnings.join("\n"), &["no working ptxas at", "pinned/bin/ptxas"]);
    says(&toy.read("out/toy.sm_75.ptx"), &[".version 9.0\n"]);
    let error = toy.write_ptx(&Ptx::new("toy")).unwrap_err().to_string();
    says(&error, &["no working ptxas", "cuda-compiler.sh"]);
    assert!(!toy.path("toy/ptx").exists());
}
