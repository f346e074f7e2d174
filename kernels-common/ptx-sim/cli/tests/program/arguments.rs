//! Arguments that do not fit, as the command line meets them.

use ptx_sim_cli::{INPUT, USAGE};

use crate::{Folder, foreign, module};

#[test]
fn a_mistake_names_the_argument_and_what_to_write() {
    let folder = Folder::new();
    let saxpy = foreign("saxpy");
    for (arguments, says) in [
        ("f32=2 zeros:f33:4 zeros:f32:4 i32=4", "argument 2, `zeros:f33:4`: there is no type `f33`"),
        ("saxpy f32=x null null i32=4", "argument 1, `f32=x`: `x` is no f32"),
        ("f32=2 null null i32=4 --buffer i32=3", "--buffer, `i32=3`: "),
        (
            "i32=2 null null i32=4",
            "parameter 1 of saxpy(float, float const*, float*, int) is a float of 4 bytes (.f32): \
          write f32=VALUE, not `i32=2`",
        ),
        ("zeros:f32:4 null null i32=4", "write f32=VALUE, not `zeros:f32:4`"),
        (
            "f32=2 f32=2 null i32=4",
            "parameter 2 of saxpy(float, float const*, float*, int) is a pointer (.u64): write a \
          buffer",
        ),
        (
            "f32=2 null zeros:f64:4 i32=4",
            "parameter 3 of saxpy(float, float const*, float*, int) is `float*`, and \
          `zeros:f64:4` has elements of f64: use f32",
        ),
        ("f32=2 null null", "takes 4 arguments, and 3 are given"),
        ("f32=2 null null i32=len:x", "there is no buffer `x`; none is given"),
        ("f32=2 zeros:f32:4,name=a zeros:f32:4,name=a i32=4", "two buffers are called `a`"),
        ("f32=2 null null i32=4 --print y", "--print y`: there is no buffer `y`"),
        (
            "f32=2 uninit:f32:2^40 null i32=4",
            "buffer `arg2`: 4398046511104 bytes are asked for, and 17179869184 are free \
          on the simulated device: take fewer elements, or raise --memory",
        ),
        (
            "f32=2 random:f32:1000 null i32=4 --memory 2000",
            "buffer `arg2`: 4000 bytes are asked for, and 2000 are free",
        ),
    ] {
        let execution = folder.line(&format!("run {saxpy} {arguments} --block 32"));
        assert!(execution.failure(USAGE).contains(says), "{arguments}: {execution:?}");
        assert_eq!(execution.out, "");
    }
}

/// The name in C++ says what pointers point to; who means it takes the bytes as they are.
#[test]
fn elements_of_another_type_need_to_be_meant() {
    let folder = Folder::new();
    folder.write("x.npy", &[4], &[1f64; 4]);
    let saxpy = foreign("saxpy");
    let execution = folder.line(&format!("run {saxpy} f32=0 x.npy zeros:f32:8 i32=8 --block 32"));
    assert!(execution.failure(USAGE).contains("`x.npy` has elements of f64: use f32, in NumPy by `.astype`"));
    let line = format!("run {saxpy} f32=2 @x zeros:f32:8,name=y i32=8 --block 32 --buffer x.npy --print y");
    // 1.0 in double precision: a lower half of zero, and an upper one that is 1.875 in single precision.
    assert!(folder.line(&line).fine().contains("[0.0, 3.75, 0.0, 3.75,"));
}

#[test]
fn the_kernel_is_found_by_a_name_that_is_clear() {
    let folder = Folder::new();
    let templates = foreign("templates");
    for (kernel, says) in [
        ("axpy_max", "several kernels of"),
        ("axpy_min", "has no kernel `axpy_min`; it has\n    axpy_max<signed char>("),
        ("", "has several kernels: name one of them after the file"),
    ] {
        let execution = folder.line(&format!("run {templates} {kernel} --block 1"));
        assert!(execution.failure(USAGE).contains(says), "{kernel}: {execution:?}");
    }
    // The right kernel, told by what it takes.
    let execution = folder.line(&format!("run {templates} conversions --block 1"));
    assert!(execution.failure(USAGE).contains("conversions takes 5 arguments"), "{execution:?}");
    let folder = Folder::with(&module(&[]));
    assert!(folder.line("run k.ptx --block 1").failure(INPUT).contains("k.ptx has no kernels"));
}

#[test]
fn a_required_shape_is_the_default() {
    let text = module(&[("f", "", "")]).replace("f()", "f() .reqntid 8, 4, 1");
    let folder = Folder::with(&text);
    assert!(folder.line("run k.ptx").fine().contains("block (8, 4, 1)"));
    let execution = folder.line("run k.ptx --block 32");
    assert!(execution.failure(USAGE).contains("the kernel requires [8, 4, 1]"), "{execution:?}");
}

#[test]
fn mistakes_in_options_are_mistakes_of_the_command_line() {
    let folder = Folder::with(&module(&[("f", "", "")]));
    for line in
        ["", "walk k.ptx", "run", "run k.ptx --gird 3", "run k.ptx --seed 1 --seeds 2", "run k.ptx --reproducible"]
    {
        folder.line(line);
        assert_eq!(folder.line(line).code, i32::from(USAGE), "{line}");
    }
}
