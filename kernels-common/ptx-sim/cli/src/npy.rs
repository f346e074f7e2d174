//! NumPy files (`.npy`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriteOptions, WriterBuilder};

use crate::dtype::Dtype;

const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy reads no longer ones unless it is told to; that of a plain array has about 120 bytes.
const LONGEST_HEADER: usize = 10_000;

/// Deepest nesting of brackets in a header. Even a structured array needs only a few levels, and the parser recurses.
const DEEPEST_HEADER: usize = 32;

/// An array with its elements in C order, little endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
}

/// Why a file could not be read or written, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub(crate) struct NpyError {
    path: String,
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error("there is no such file")]
    NotFound,
    #[error("cannot be read: {0}")]
    Read(io::Error),
    #[error("cannot be written: {0}")]
    Write(io::Error),
    #[error("is no regular file: name a .npy file, as `numpy.save` writes it")]
    NotAFile,
    #[error("has {bytes} bytes, and the simulated device {memory}: save a part of the array")]
    TooLarge { bytes: u64, memory: u64 },
    #[error("is a NumPy archive (.npz): save one array of it, with `numpy.save`")]
    Archive,
    #[error("is not a NumPy file (.npy): write the array with `numpy.save`")]
    NotNpy,
    #[error("is cut off within its header: write it again, with `numpy.save`")]
    CutOffHeader,
    #[error("has version {0}.{1} of the .npy format, and 1.0, 2.0 and 3.0 are read: write the array with `numpy.save`")]
    Version(u8, u8),
    #[error(
        "says that its header has {0} bytes, and at most {LONGEST_HEADER} are read: write it again, with `numpy.save`"
    )]
    LongHeader(u32),
    #[error("has a header that is not between braces: write it again, with `numpy.save`")]
    NoBraces,
    #[error("has a header unlike any that NumPy writes for a plain array: write it again, with `numpy.save`")]
    StrangeHeader,
    #[error("has a header that cannot be read: {0}. Write it again, with `numpy.save`")]
    Header(String),
    #[error("is a structured array: save one field of it, with `numpy.save(file, a['field'])`")]
    Structured,
    #[error("holds big-endian values: convert the array with `a.astype(a.dtype.newbyteorder('<'))`")]
    BigEndian,
    #[error(
        "holds elements of type `{0}`, and f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 and bool are possible (and V2, taken for \
         bfloat16): convert the array, for instance with `.astype(numpy.float32)`, or with `.view` to one of them"
    )]
    ElementType(String),
    #[error("is in Fortran order: save `numpy.ascontiguousarray(a)`, or `a.T` if the kernel wants its columns")]
    FortranOrder,
    #[error("is cut off: {expected} bytes of elements by its header, and {found} are there. Write it again")]
    CutOff { expected: u64, found: u64 },
    #[error(
        "has bytes after its end: {expected} bytes of elements by its header, and {found} are there. Write it again"
    )]
    Surplus { expected: u64, found: u64 },
    #[error("has a shape of more elements than 64 bits count")]
    TooManyElements,
}

/// Reads an array of at most `memory` bytes.
///
/// # Errors
/// If there is no such file, or it does not hold such an array.
pub(crate) fn read(path: &str, memory: u64) -> Result<Array, NpyError> {
    read_file(path, memory).map_err(|reason| NpyError { path: path.to_owned(), reason })
}

fn read_file(path: &str, memory: u64) -> Result<Array, Reason> {
    let cannot_read = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Reason::NotFound,
        _ => Reason::Read(error),
    };
    let metadata = fs::metadata(path).map_err(cannot_read)?;
    if !metadata.is_file() {
        return Err(Reason::NotAFile);
    }
    if metadata.len() > memory.saturating_add(LONGEST_HEADER as u64) {
        return Err(Reason::TooLarge { bytes: metadata.len(), memory });
    }
    parse(fs::read(path).map_err(cannot_read)?)
}

fn parse(mut file: Vec<u8>) -> Result<Array, Reason> {
    let (header, start) = header(&file)?;
    let DType::Plain(element) = header.dtype() else { return Err(Reason::Structured) };
    let dtype = dtype(&element)?;
    if element.endianness() == Endianness::Big && dtype.size() > 1 {
        return Err(Reason::BigEndian);
    }
    let shape = header.shape().to_vec();
    if header.order() == Order::Fortran && shape.iter().filter(|&&count| count != 1).count() > 1 {
        return Err(Reason::FortranOrder);
    }
    let bytes = shape.iter().try_fold(dtype.size() as u64, |bytes, &count| bytes.checked_mul(count));
    let expected = bytes.ok_or(Reason::TooManyElements)?;
    let found = (file.len() - start) as u64;
    if found < expected {
        return Err(Reason::CutOff { expected, found });
    }
    if found > expected {
        return Err(Reason::Surplus { expected, found });
    }
    file.drain(..start);
    Ok(Array { dtype, shape, bytes: file })
}

/// The header, and where the elements start.
fn header(bytes: &[u8]) -> Result<(NpyHeader, usize), Reason> {
    if !bytes.starts_with(MAGIC) {
        return Err(if bytes.starts_with(b"PK\x03\x04") { Reason::Archive } else { Reason::NotNpy });
    }
    // Version 1 has a length of two bytes, later ones of four.
    let (start, length) = match bytes[MAGIC.len()..] {
        [1, 0, a, b, ..] => (10, u32::from(u16::from_le_bytes([a, b]))),
        [2 | 3, 0, a, b, c, d, ..] => (12, u32::from_le_bytes([a, b, c, d])),
        [] | [_] | [1..=3, 0, ..] => return Err(Reason::CutOffHeader),
        [major, minor, ..] => return Err(Reason::Version(major, minor)),
    };
    if length as usize > LONGEST_HEADER {
        return Err(Reason::LongHeader(length));
    }
    let text = bytes[start..].get(..length as usize).ok_or(Reason::CutOffHeader)?;
    let trimmed = text.trim_ascii();
    if !trimmed.starts_with(b"{") || !trimmed.ends_with(b"}") {
        return Err(Reason::NoBraces);
    }
    let mut depth = 0usize;
    let deepest = text.iter().map(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth
    });
    if deepest.max() > Some(DEEPEST_HEADER) {
        return Err(Reason::StrangeHeader);
    }
    let mut rest = bytes;
    let header = NpyHeader::from_reader(&mut rest).map_err(|error| {
        let reason = error.to_string();
        Reason::Header(reason.lines().next().unwrap_or_default().trim_end_matches(':').to_owned())
    })?;
    Ok((header, bytes.len() - rest.len()))
}

fn dtype(element: &TypeStr) -> Result<Dtype, Reason> {
    Ok(match (element.type_char(), element.size_field()) {
        (TypeChar::Float, 2) => Dtype::F16,
        (TypeChar::Float, 4) => Dtype::F32,
        (TypeChar::Float, 8) => Dtype::F64,
        (TypeChar::Int, 1) => Dtype::I8,
        (TypeChar::Int, 2) => Dtype::I16,
        (TypeChar::Int, 4) => Dtype::I32,
        (TypeChar::Int, 8) => Dtype::I64,
        (TypeChar::Uint, 1) => Dtype::U8,
        (TypeChar::Uint, 2) => Dtype::U16,
        (TypeChar::Uint, 4) => Dtype::U32,
        (TypeChar::Uint, 8) => Dtype::U64,
        (TypeChar::Bool, 1) => Dtype::Bool,
        // How NumPy stores `bfloat16` of `ml_dtypes`.
        (TypeChar::RawData, 2) => Dtype::Bf16,
        _ => return Err(Reason::ElementType(element.to_string())),
    })
}

fn type_string(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F16 => "<f2",
        Dtype::Bf16 => "|V2",
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
        Dtype::I8 => "|i1",
        Dtype::U8 => "|u1",
        Dtype::I16 => "<i2",
        Dtype::U16 => "<u2",
        Dtype::I32 => "<i4",
        Dtype::U32 => "<u4",
        Dtype::I64 => "<i8",
        Dtype::U64 => "<u8",
        Dtype::Bool => "|b1",
    }
}

/// Finds out whether a file can be written, before the launch whose results go there. Leaves what it holds, and none
/// where there was none.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn check_writable(path: &str) -> Result<(), NpyError> {
    let is_new = !Path::new(path).exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    let checked = opened.and_then(|_| if is_new { fs::remove_file(path) } else { Ok(()) });
    checked.map_err(|error| NpyError { path: path.to_owned(), reason: Reason::Write(error) })
}

/// Writes an array.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(path: &str, array: &Array) -> Result<(), NpyError> {
    write_file(path, array).map_err(|error| NpyError { path: path.to_owned(), reason: Reason::Write(error) })
}

fn write_file(path: &str, array: &Array) -> io::Result<()> {
    let element: TypeStr = type_string(array.dtype).parse().map_err(io::Error::other)?;
    let file = BufWriter::new(File::create(path)?);
    // The elements have the file's byte order already, so that only the header is left to the crate.
    let options = WriteOptions::new_header_only().dtype(DType::Plain(element)).shape(&array.shape).writer(file);
    let mut file = options.write_header_only()?;
    file.write_all(&array.bytes)?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(element: &str, fortran: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{element}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
        bytes.extend(elements);
        bytes
    }

    fn refused(file: Vec<u8>) -> String {
        parse(file).unwrap_err().to_string()
    }

    #[test]
    fn every_type_and_shape_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy").to_str().unwrap().to_owned();
        for dtype in Dtype::ALL {
            for shape in [vec![], vec![0], vec![6], vec![2, 3], vec![1, 3, 2]] {
                let count: u64 = shape.iter().product();
                let bytes = (0..count * dtype.size() as u64).map(|byte| byte as u8 % 2).collect();
                let array = Array { dtype, shape, bytes };
                write(&path, &array).unwrap();
                assert_eq!(read(&path, 1 << 20).unwrap(), array);
            }
        }
    }

    #[test]
    fn what_is_no_such_array_is_refused() {
        for (bytes, says) in [
            (b"hello".to_vec(), "is not a NumPy file"),
            (vec![], "is not a NumPy file"),
            (b"PK\x03\x04zip".to_vec(), "is a NumPy archive (.npz)"),
            (MAGIC.to_vec(), "is cut off within its header"),
            (file("<f4", "False", "(2,)", &[0; 8])[..40].to_vec(), "is cut off within its header"),
            (file("<f4", "False", &"(".repeat(100), &[]), "a header unlike any"),
            (b"\x93NUMPY\x09\x00".to_vec(), "has version 9.0 of the .npy format, and 1.0, 2.0 and 3.0 are read"),
            (b"\x93NUMPY\x01\x01\x0a\x00".to_vec(), "has version 1.1 of the .npy format"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}".to_vec(), "has 4294967295 bytes, and at most 10000 are read"),
            (b"\x93NUMPY\x01\x00\x04\x00{'a'".to_vec(), "is not between braces"),
            (b"\x93NUMPY\x01\x00\x00\x00".to_vec(), "is not between braces"),
            (file("<f4", "Perhaps", "(2,)", &[0; 8]), "a header that cannot be read"),
            (file("<c8", "False", "(1,)", &[0; 8]), "elements of type `<c8`"),
            (file("|O", "False", "(1,)", &[0; 8]), "elements of type `|O`"),
            (file(">f4", "False", "(2,)", &[0; 8]), "big-endian"),
            (file("<f4", "True", "(2, 2)", &[0; 16]), "Fortran order: save `numpy.ascontiguousarray(a)`"),
            (file("<f4", "False", "(2,)", &[0; 7]), "is cut off: 8 bytes of elements by its header, and 7"),
            (file("<f4", "False", "(2,)", &[0; 9]), "has bytes after its end"),
            (file("<f8", "False", "(4294967296, 4294967296)", &[]), "more elements than 64 bits count"),
        ] {
            assert!(refused(bytes.clone()).contains(says), "{says}: {}", refused(bytes));
        }
        // An array of one row is in both orders.
        assert_eq!(parse(file("<f4", "True", "(1, 2)", &[0; 8])).unwrap().shape, [1, 2]);
        let structured = b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n";
        let bytes = [MAGIC, &[1, 0, structured.len() as u8, 0], structured, &[0; 4]].concat();
        assert!(refused(bytes).contains("structured array"));
    }

    #[test]
    fn files_that_are_none_or_too_large_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let missing = read(&path("a.npy"), 1 << 20).unwrap_err().to_string();
        assert!(missing.contains("a.npy: there is no such file"), "{missing}");
        assert!(read(&path(""), 1 << 20).unwrap_err().to_string().contains("is no regular file"));
        fs::write(path("b.npy"), vec![0; 20_000]).unwrap();
        assert!(read(&path("b.npy"), 5000).unwrap_err().to_string().contains("has 20000 bytes, and the simulated"));
        let array = Array { dtype: Dtype::U8, shape: vec![1], bytes: vec![1] };
        assert!(write(&path("no/c.npy"), &array).unwrap_err().to_string().contains("c.npy: cannot be written"));
    }
}
