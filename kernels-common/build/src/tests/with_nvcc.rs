//! What only the real compiler can show. Without one (CI installs it) each test says that it was skipped.

use std::path::Path;

use super::fixture::{Toy, says};
use crate::environment::Environment;
use crate::{Ptx, compiler};

/// Puts the pinned compiler into the environment of `toy`, or says that there is none.
fn with_pinned_compiler(toy: &mut Toy, test: &str) -> bool {
    let process = Environment::of_process();
    let search = compiler::find(&process, Path::new(env!("CARGO_MANIFEST_DIR")));
    match search.found.filter(compiler::Compiler::is_pinned) {
        Some(found) => {
            toy.environment.set("NVCC", found.nvcc);
            toy.environment.set("PATH", process.get("PATH").unwrap_or_default());
            true
        }
        None => {
            println!("{test}: skipped, as the pinned nvcc was not found ({})", search.tried.join("; "));
            false
        }
    }
}

/// Everything that nvcc derives from a path: names with internal linkage and the file names in `assert`.
const PATHS: &str = "#include <cassert>\n#include \"library.cuh\"\n#include \"own.cuh\"\n\
    namespace { __device__ int hidden; }\nstatic __device__ int counter;\n\
    extern \"C\" __global__ void toy(int* x) {\n\
        x[0] = atomicAdd(&counter, 1) + hidden; hidden = x[1]; assert(x[2] == 3); check(x);\n}\n";
const OWN: &str = "__device__ inline void check(int* x) { assert(x[1] == 4); }\n";

#[test]
fn the_place_of_the_crate_leaves_no_trace() {
    let mut texts = Vec::new();
    for prefix in ["a", "another-longer-one"] {
        let mut toy = Toy::in_directory(tempfile::Builder::new().prefix(prefix).tempdir().unwrap());
        if !with_pinned_compiler(&mut toy, "the_place_of_the_crate_leaves_no_trace") {
            return;
        }
        toy.write("toy/src/toy.cu", PATHS);
        toy.write("toy/src/own.cuh", OWN);
        toy.write_ptx(&Ptx::new("toy")).unwrap();
        texts.push(toy.committed());
    }
    assert_eq!(texts[0], texts[1]);
    says(&texts[0], &["_INTERNAL_"]);
}

#[test]
fn sums_and_products_are_rounded_one_by_one() {
    let mut toy = Toy::new();
    if !with_pinned_compiler(&mut toy, "sums_and_products_are_rounded_one_by_one") {
        return;
    }
    toy.write_ptx(&Ptx::new("toy").hopper(true)).unwrap();
    for path in ["toy/ptx/toy.sm_75.ptx", "toy/ptx/toy.sm_90.ptx"] {
        let ptx = toy.read(path);
        says(&ptx, &["mul.rn.f32", "add.rn.f32"]);
        assert!(!ptx.contains("fma"), "{ptx}");
    }
}

#[test]
fn the_version_is_the_least_for_the_code() {
    let mut toy = Toy::new();
    if !with_pinned_compiler(&mut toy, "the_version_is_the_least_for_the_code") {
        return;
    }
    toy.write_ptx(&Ptx::new("toy").compute([75, 80, 90])).unwrap();
    says(&toy.committed(), &[".version 6.3\n.target sm_75\n"]);
    says(&toy.read("toy/ptx/toy.sm_80.ptx"), &[".version 7.0\n.target sm_80\n"]);
    says(&toy.read("toy/ptx/toy.sm_90.ptx"), &[".version 7.8\n.target sm_90\n"]);
    // abs.f16 came with PTX 6.5.
    toy.write("toy/src/toy.cu", "#include <cuda_fp16.h>\n__global__ void toy(__half* x) { *x = __habs(*x); }\n");
    toy.write_ptx(&Ptx::new("toy")).unwrap();
    says(&toy.committed(), &[".version 6.5\n"]);
}

#[test]
fn the_operators_of_half_are_refused() {
    let mut toy = Toy::new();
    if !with_pinned_compiler(&mut toy, "the_operators_of_half_are_refused") {
        return;
    }
    let kernel = |body: &str| {
        format!("#include <cuda_fp16.h>\nextern \"C\" __global__ void toy(__half* x) {{ x[0] = {body}; }}\n")
    };
    toy.write("toy/src/toy.cu", &kernel("x[1] * x[2] + x[3]"));
    says(&toy.failure(), &["`mul.f16` in toy", "`add.f16` in toy", "__hadd_rn"]);
    toy.write("toy/src/toy.cu", &kernel("__hadd_rn(__hmul_rn(x[1], x[2]), x[3])"));
    toy.build().unwrap();
}

#[test]
fn only_headers_that_the_digest_covers_are_visible() {
    let mut toy = Toy::new();
    if !with_pinned_compiler(&mut toy, "only_headers_that_the_digest_covers_are_visible") {
        return;
    }
    toy.write("toy/src/by_macro.cuh", "#define VALUE 1\n");
    toy.write(
        "toy/src/toy.cu",
        "#define HEADER \"by_macro.cuh\"\n#include HEADER\n__global__ void toy(int* x) { *x = VALUE; }\n",
    );
    says(&toy.failure(), &["by_macro.cuh", ".header("]);
    toy.build_with(&Ptx::new("toy").header("src/by_macro.cuh")).unwrap();
}

#[test]
fn include_directories_are_searched_in_order() {
    let mut toy = Toy::new();
    if !with_pinned_compiler(&mut toy, "include_directories_are_searched_in_order") {
        return;
    }
    toy.write("first/value.cuh", "#define VALUE 11\n");
    toy.write("toy/second/value.cuh", "#define VALUE 22\n");
    toy.write("toy/src/toy.cu", "#include <value.cuh>\n__global__ void toy(int* x) { *x = VALUE; }\n");
    for (directories, value) in [(["../first", "second"], "11"), (["second", "../first"], "22")] {
        let [a, b] = directories;
        let built = toy.build_with(&Ptx::new("toy").include_dir(a).include_dir(b)).unwrap();
        says(&std::fs::read_to_string(&built.variants[0].path).unwrap(), &[&format!(", {value};")]);
    }
}

#[test]
fn errors_of_the_compiler_name_the_real_file() {
    let mut toy = Toy::new();
    if !with_pinned_compiler(&mut toy, "errors_of_the_compiler_name_the_real_file") {
        return;
    }
    toy.write("toy/src/own.cuh", "\nnonsense\n");
    says(&toy.failure(), &[&format!("{}(2): error", toy.path("toy/src/own.cuh").display())]);
}

#[test]
fn a_missing_host_compiler_is_named() {
    let mut toy = Toy::new();
    if !with_pinned_compiler(&mut toy, "a_missing_host_compiler_is_named") {
        return;
    }
    toy.environment.set("NVCC_CCBIN", "no-such-compiler");
    says(&toy.failure(), &["nvcc failed", "NVCC_CCBIN"]);
}
