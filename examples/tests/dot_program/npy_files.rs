//! NumPy files as input: those that work, and those that do not.

use std::path::Path;

use bytemuck::Pod;
use examples::dtype::{Dtype, Value, half};
use examples::for_dtype;
use examples::input::{Array, NpyFile, random};
use examples::json::hex;
use half::bf16;
use npyz::WriterBuilder;

use super::common::{Execution, Folder, execute, header, npy, npy_with_length};
use super::dot_program;

fn run(x: &Path, y: &Path, more: &[&str]) -> Execution {
    let arguments = ["--device", "sim", "--json", "--x", x.to_str().unwrap(), "--y", y.to_str().unwrap()];
    execute(dot_program::run, &[&arguments, more].concat())
}

/// Runs with a good file for x and `bytes` for y, which must be refused with a line that names the file.
#[track_caller]
fn refused(bytes: &[u8], more: &[&str], expected: &str) {
    let folder = Folder::new();
    let x = folder.write_vector("x.npy", "<f4", &[1.0f32, 2.0, 3.0]);
    let y = folder.write("y.npy", bytes);
    let execution = run(&x, &y, more);
    let line = execution.failure(2);
    assert!(line.contains("y.npy") && line.contains(expected), "{line}");
}

fn floats(shape: &str, elements: &[f32]) -> Vec<u8> {
    npy(&header("<f4", shape), bytemuck::cast_slice(elements))
}

#[test]
fn every_type_is_read() {
    let descriptions = ["<f4", "<f8", "<f2", "<V2", "<i4", "<u4", "<i8", "<u8"];
    let types = [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16, Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64];
    for (dtype, descr) in types.into_iter().zip(descriptions) {
        for_dtype!(dtype, T => {
            let (x, y) = (random::<T>(1000, 1, 0).unwrap(), random::<T>(1000, 1, 1).unwrap());
            let folder = Folder::new();
            let (x_path, y_path) = (folder.write_vector("x.npy", descr, &x), folder.write_vector("y.npy", descr, &y));
            // The type need not be said, but for the one that NumPy does not know.
            let more: &[&str] = if dtype == Dtype::Bf16 { &["--dtype", "bf16"] } else { &[] };
            let json = run(&x_path, &y_path, more).json();
            assert_eq!(json["dtype"], dtype.name());
            assert_eq!(json["n"], 1000);
            assert_eq!(json["x"], x_path.to_str().unwrap());
            assert!(json["seed"].is_null());
            assert_eq!(json["bits"], hex(dot::canonical(&x, &y).unwrap()), "{dtype}");
        });
    }
}

/// What `open` and `load` make of a file, which must be borrowed from it or not.
#[track_caller]
fn load<T: Value>(bytes: &[u8], borrowed: bool) -> Vec<T> {
    let folder = Folder::new();
    let file = NpyFile::open(&folder.write("a.npy", bytes)).unwrap();
    let array = file.load::<T>().unwrap();
    assert_eq!(matches!(array, Array::Mapped(_)), borrowed);
    array.to_vec()
}

#[test]
fn every_way_to_store_a_vector_is_read() {
    let elements = [1.5f64, -2.25, 1e300];
    let little: &[u8] = bytemuck::cast_slice(&elements);
    let big: Vec<u8> = elements.iter().flat_map(|element| element.to_be_bytes()).collect();
    let text = header("<f8", "(3,)");
    assert_eq!(load::<f64>(&npy(&text, little), true), elements);
    assert_eq!(load::<f64>(&npy(&header(">f8", "(3,)"), &big), false), elements);
    // In one dimension, both orders are the same.
    assert_eq!(load::<f64>(&npy(&text.replace("False", "True"), little), true), elements);
    // A header that leaves the elements at an odd address.
    assert_eq!(load::<f64>(&npy_with_length(&text, 73, little), false), elements);
    // Later versions have a longer length.
    for version in [2, 3] {
        let mut bytes = npy(&text, little);
        bytes[6] = version;
        bytes.splice(10..10, [0, 0]);
        assert_eq!(load::<f64>(&bytes, false), elements, "{version}");
    }
    assert!(load::<f64>(&npy(&header("<f8", "(0,)"), &[]), true).is_empty());
    let halves = [bf16::from_f32(1.5), bf16::from_f32(-3.0)];
    assert_eq!(load::<bf16>(&npy(&header("|V2", "(2,)"), bytemuck::cast_slice(&halves)), true), halves);
}

#[test]
fn empty_vectors_have_a_dot_product() {
    let folder = Folder::new();
    let x = folder.write_vector::<f32>("x.npy", "<f4", &[]);
    assert_eq!(run(&x, &x, &[]).json()["bits"], "0x00000000");
}

#[test]
fn special_values_are_written_as_strings() {
    let folder = Folder::new();
    let ones = folder.write_vector("ones.npy", "<f4", &[1.0f32; 3]);
    for (values, expected) in [
        ([1.0, f32::NAN, 2.0], "NaN"),
        ([1.0, f32::INFINITY, 2.0], "Infinity"),
        ([1.0, f32::NEG_INFINITY, 2.0], "-Infinity"),
        ([f32::INFINITY, f32::NEG_INFINITY, 2.0], "NaN"),
        ([f32::MAX, f32::MAX, f32::MAX], "Infinity"),
    ] {
        let x = folder.write_vector("x.npy", "<f4", &values);
        let json = run(&x, &ones, &[]).json();
        assert_eq!((&json["result"], &json["ok"]), (&expected.into(), &true.into()), "{values:?}");
    }
}

#[test]
fn a_file_that_is_none_is_refused() {
    let folder = Folder::new();
    let x = folder.write_vector("x.npy", "<f4", &[1.0f32]);
    let missing = run(&x, &folder.path().join("nowhere.npy"), &[]);
    assert!(missing.failure(2).contains("nowhere.npy: there is no such file"), "{missing:?}");
    let directory = run(folder.path(), &x, &[]);
    assert!(directory.failure(2).contains("is a directory"), "{directory:?}");
    refused(b"", &[], "is empty");
    refused(b"1.0 2.0 3.0\n", &[], "is not a NumPy file");
    refused(b"\x93NUMP", &[], "is not a NumPy file");
    refused(b"PK\x03\x04 and more", &[], "archive (.npz)");
}

#[cfg(unix)]
#[test]
fn a_device_file_is_refused() {
    let folder = Folder::new();
    let x = folder.write_vector("x.npy", "<f4", &[1.0f32]);
    let execution = run(&x, Path::new("/dev/null"), &[]);
    assert!(execution.failure(2).contains("/dev/null: is not a regular file"), "{execution:?}");
}

#[test]
fn a_damaged_header_is_refused() {
    let good = floats("(3,)", &[1.0, 2.0, 3.0]);
    for length in [6, 7, 9, 11, 60, 127] {
        refused(&good[..length], &[], "is cut off within its header");
    }
    for (version, says) in [
        ([9, 0], "has version 9.0 of the .npy format, and 1.0, 2.0 and 3.0 are read"),
        ([1, 1], "has version 1.1 of the .npy format"),
        ([0, 0], "has version 0.0 of the .npy format"),
    ] {
        let mut bytes = good.clone();
        bytes[6..8].copy_from_slice(&version);
        refused(&bytes, &[], says);
        // Also where the file ends there.
        refused(&bytes[..8], &[], says);
    }
    // The length of a later version's header, far past the file's end.
    let mut bytes = good.clone();
    bytes[6] = 2;
    bytes[8..12].fill(0xff);
    refused(&bytes, &[], "says that its header has 4_294_967_295 bytes, and at most 10_000 are read");
    refused(&npy("garbage", &[]), &[], "has a header that is not between braces");
    refused(&npy("", &[]), &[], "has a header that is not between braces");
    refused(&npy(&header("<f4", "(3,)").replace('}', " "), &[]), &[], "has a header that is not between braces");
    refused(&npy("{'descr': '<f4'}", &[]), &[], "has a header that cannot be read");
    refused(&npy(&header("<f4", "'three'"), &[]), &[], "has a header that cannot be read");
    refused(&npy(&header("<f4", "(-3,)"), &[]), &[], "has a header that cannot be read");
    refused(&npy(&header("<f4", "(99999999999999999999,)"), &[]), &[], "has a header that cannot be read");
    refused(&npy(&header("?", "(3,)"), &[]), &[], "has a header that cannot be read");
    refused(&npy(&header("<f4", &"(".repeat(9000)), &[]), &[], "has a header unlike any");
    refused(&npy(&header("<f4", &" ".repeat(20_000)), &[]), &[], "and at most 10_000 are read");
    let mut bytes = good.clone();
    bytes[12] = 0xff;
    refused(&bytes, &[], "has a header that cannot be read");
}

#[test]
fn a_wrong_size_is_refused() {
    let good = floats("(3,)", &[1.0, 2.0, 3.0]);
    refused(&good[..good.len() - 1], &[], "is cut off: 3 elements need 12 bytes, and 11 follow");
    refused(&good[..good.len() - 12], &[], "is cut off: 3 elements need 12 bytes, and 0 follow");
    refused(&floats("(3,)", &[1.0; 4]), &[], "has bytes after its end: 3 elements need 12 bytes, and 16 follow");
    refused(&floats("(18446744073709551615,)", &[1.0]), &[], "is cut off");
    refused(&floats("(4611686018427387905,)", &[1.0]), &[], "is cut off");
}

#[test]
fn another_shape_is_refused() {
    refused(&floats("()", &[1.0]), &[], "has 0 dimensions, its shape is ()");
    refused(&floats("(3, 1)", &[1.0; 3]), &[], "has 2 dimensions, its shape is (3, 1)");
    refused(&floats("(9223372036854775808, 4)", &[1.0; 3]), &[], "has 2 dimensions");
    refused(&floats("(2,)", &[1.0; 2]), &[], "both vectors must have the same length");
}

#[test]
fn another_type_is_refused() {
    refused(&npy(&header("<f8", "(3,)"), &[0; 24]), &[], "convert one of them");
    refused(&npy(&header("<f8", "(3,)"), &[0; 24]), &["--dtype", "f32"], "holds f64, but --dtype is f32");
    refused(&npy(&header("<V2", "(3,)"), &[0; 6]), &[], "say --dtype bf16");
    for descr in ["<i2", "|u1", "|b1", "<c8", "<f16", "|S4", "<U4", "|O", "<M8[ns]", "|V4"] {
        refused(&npy(&header(descr, "(3,)"), &[0; 24]), &[], &format!("holds elements of type `{descr}`"));
    }
    let structured = header("", "(3,)").replace("''", "[('a', '<f4'), ('b', '<f4')]");
    refused(&npy(&structured, &[0; 24]), &[], "is a structured array");
}

#[test]
fn options_must_agree_with_the_files() {
    let folder = Folder::new();
    let x = folder.write_vector("x.npy", "<f4", &[1.0f32, 2.0, 3.0]);
    assert_eq!(run(&x, &x, &["--n", "3", "--dtype", "f32"]).json()["result"], 14.0);
    let other_n = run(&x, &x, &["--n", "4"]);
    assert!(other_n.failure(2).contains("--n is 4"), "{other_n:?}");
    for option in ["--x", "--y"] {
        let alone = execute(dot_program::run, &[option, x.to_str().unwrap()]);
        assert_eq!((alone.code, alone.out.as_str()), (2, ""), "{}", alone.err);
    }
}

fn write_with_npyz<T: Pod + npyz::AutoSerialize>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = npyz::WriteOptions::new().default_dtype().shape(&[elements.len() as u64]).writer(&mut bytes);
    let mut writer = options.begin_nd().unwrap();
    writer.extend(elements.iter().copied()).unwrap();
    writer.finish().unwrap();
    bytes
}

#[test]
fn what_was_written_is_read() {
    for length in [0, 1, 2, 31, 1000, 2999] {
        // Multiples of an odd number near the golden ratio of the word's size: all exponents turn up, NaN among them.
        let bits: Vec<u32> = (0..length).map(|i: u32| i.wrapping_mul(0x9e37_79b9)).collect();
        let floats: Vec<f32> = bits.iter().copied().map(f32::from_bits).collect();
        let read = load::<f32>(&write_with_npyz(&floats), true);
        assert_eq!(read.into_iter().map(f32::to_bits).collect::<Vec<_>>(), bits);
        let integers: Vec<i64> = bits.iter().map(|&bits| i64::from(bits) << 31).collect();
        assert_eq!(load::<i64>(&write_with_npyz(&integers), true), integers);
    }
}

/// Every byte of a small file replaced by each of a few others, and the file cut at every length.
#[test]
fn no_damage_panics() {
    let good = floats("(3,)", &[1.0, 2.0, 3.0]);
    let replaced = (0..good.len()).flat_map(|position| {
        [0, 1, b'\'', b'(', b'9', b'\n', 0x7f, 0xff].map(|byte| {
            let mut bytes = floats("(3,)", &[1.0, 2.0, 3.0]);
            bytes[position] = byte;
            bytes
        })
    });
    let cut = (0..good.len()).map(|length| good[..length].to_vec());
    let folder = Folder::new();
    for bytes in replaced.chain(cut) {
        if let Err(error) = NpyFile::open(&folder.write("a.npy", &bytes)) {
            let line = error.to_string();
            assert!(line.lines().count() == 1 && line.contains("a.npy: "), "{line}");
        }
    }
}
