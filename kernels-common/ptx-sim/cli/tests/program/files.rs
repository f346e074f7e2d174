//! Files that cannot be used, and files that are not what they seem.

use ptx_sim_cli::{FAULT, INPUT};

use crate::{Folder, foreign, module};

#[test]
fn ptx_files_that_are_none() {
    let folder = Folder::with("this is no PTX");
    std::fs::write(folder.path("bytes.ptx"), [0xff, 0xfe, 0]).unwrap();
    std::fs::write(folder.path("body.ptx"), module(&[("f", "", "add.u32 %r1, %r2")])).unwrap();
    let unknown = [("f", "", "frobnicate.b32 %r1, %r2;"), ("g", "", "")];
    std::fs::write(folder.path("unknown.ptx"), module(&unknown)).unwrap();
    for (file, says) in [
        ("missing.ptx", "missing.ptx: there is no such file"),
        (".", "cannot be read"),
        ("bytes.ptx", "bytes.ptx: is no text: name a .ptx file"),
        ("k.ptx", "k.ptx:1:1: "),
        ("body.ptx", "body.ptx:"),
        ("unknown.ptx", "`frobnicate.b32` in `f`"),
    ] {
        let execution = folder.line(&format!("run {file} f --block 1"));
        assert!(execution.failure(INPUT).contains(says), "{file}: {execution:?}");
    }
    // The other kernels of that file are not affected, and the list says which is which.
    folder.line("run unknown.ptx g --block 1").fine();
    let execution = folder.line("list unknown.ptx");
    assert!(execution.fine().contains("f\n    cannot be run: unknown.ptx:"), "{execution:?}");
    assert!(folder.line("list missing.ptx").failure(INPUT).contains("there is no such file"));
}

#[test]
fn arrays_that_are_none() {
    let folder = Folder::new();
    std::fs::write(folder.path("text.npy"), "1, 2, 3").unwrap();
    folder.write("x.npy", &[10], &[0f32; 10]);
    let whole = std::fs::read(folder.path("x.npy")).unwrap();
    std::fs::write(folder.path("cut.npy"), &whole[..whole.len() - 1]).unwrap();
    let later = [&whole[..6], &[9, 0], &whole[8..]].concat();
    std::fs::write(folder.path("later.npy"), later).unwrap();
    let saxpy = foreign("saxpy");
    for (file, says) in [
        ("later.npy", "later.npy: has version 9.0 of the .npy format, and 1.0, 2.0 and 3.0 are read"),
        ("missing.npy", "missing.npy: there is no such file"),
        ("text.npy", "text.npy: is not a NumPy file"),
        ("cut.npy", "cut.npy: is cut off: 40 bytes of elements by its header, and 39 are there"),
    ] {
        let execution = folder.line(&format!("run {saxpy} f32=1 {file} null i32=0 --block 1"));
        assert!(execution.failure(INPUT).contains(says), "{file}: {execution:?}");
    }
    let execution = folder.line(&format!("run {saxpy} f32=1 x.npy,out=no/such/y.npy null i32=0 --block 1"));
    assert!(execution.failure(INPUT).contains("no/such/y.npy: cannot be written"), "{execution:?}");
    // Before the launch, which would end in a fault; and then no file is left where there was none.
    let execution = folder.line(&format!("run {saxpy} f32=1 x.npy,out=no/such/y.npy null i32=10 --block 32"));
    assert!(execution.failure(INPUT).contains("no/such/y.npy: cannot be written"), "{execution:?}");
    folder.line(&format!("run {saxpy} f32=1 x.npy,out=new.npy null i32=10 --block 32")).failure(FAULT);
    assert!(!folder.path("new.npy").exists());
    folder.line(&format!("run {saxpy} f32=1 x.npy,out=cut.npy null i32=10 --block 32")).failure(FAULT);
    assert_eq!(std::fs::read(folder.path("cut.npy")).unwrap(), whole[..whole.len() - 1]);
}

#[test]
fn lists_say_what_each_kernel_takes() {
    let folder = Folder::new();
    let structs = foreign("structs");
    let listed = folder.line(&format!("list {structs}"));
    let prefix: Vec<&str> =
        listed.fine().split("\n\n").find(|part| part.starts_with("prefix")).unwrap().lines().collect();
    assert_eq!(
        prefix[1],
        "     1  pointer  .u64       8 bytes   a buffer such as zeros:f32:1000 or x.npy, @NAME or null"
    );
    assert_eq!(prefix[3], "     3  value    .u32       4 bytes   i32=VALUE or u32=VALUE");
    assert!(prefix[4].starts_with("     4  value    .b8[32]   32 bytes   the fields of 32 bytes"), "{}", prefix[4]);
    assert_eq!(prefix[5], "    static shared memory: 3072 bytes");
    let templates = foreign("templates");
    let listed = folder.line(&format!("list {templates}"));
    assert!(listed.fine().contains("\n    entry _Z8axpy_maxIaEvT_PKS0_S2_PS0_S3_i\n"));
    let matmul = foreign("matmul");
    assert!(folder.line(&format!("list {matmul}")).fine().contains("    block: at most 256 threads\n"));
    let empty = Folder::with(&module(&[]));
    assert_eq!(empty.line("list k.ptx").fine(), "k.ptx: PTX 7.0 for sm_75, no kernels\n");
    let listed = Folder::with(&module(&[("f", "", "")]).replace("f()", "f() .reqntid 8, 4, 1")).line("list k.ptx");
    assert!(listed.fine().contains("block: (8, 4, 1) is required"), "{listed:?}");
}
