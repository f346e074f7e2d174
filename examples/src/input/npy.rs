//! Vectors from NumPy files (`.npy`), mapped into memory.

use std::fs::{self, File};
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use memmap2::Mmap;
use npyz::{DType, Endianness, NpyHeader, TypeChar, TypeStr};

use crate::dtype::{Dtype, Value};
use crate::program::UsageError;
use crate::report;

const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy reads no longer ones unless it is told to; that of a plain array has about 120 bytes.
const LONGEST_HEADER: usize = 10_000;

/// Deepest nesting of brackets in a header. Even a structured array needs only a few levels, and the parser recurses.
const DEEPEST_HEADER: usize = 32;

/// A file with one vector whose header makes sense and whose size agrees with it.
#[derive(Debug)]
pub struct NpyFile {
    path: PathBuf,
    map: Mmap,
    /// Where the elements start.
    offset: usize,
    len: usize,
    content: Content,
    endianness: Endianness,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Elements(Dtype),
    /// Two raw bytes each: how NumPy stores types that it does not know, such as `bfloat16`.
    RawHalves,
}

impl NpyFile {
    /// Opens a file, and checks all but its values.
    ///
    /// # Errors
    /// [`UsageError`] with the file's name, what is wrong with it, and what to do.
    pub fn open(path: &Path) -> Result<NpyFile, UsageError> {
        let refuse = |reason: String| UsageError(format!("{}: {reason}", path.display()));
        let map = map(path).map_err(refuse)?;
        let (header, offset) = read_header(&map).map_err(refuse)?;
        let (content, type_str) = content(&header.dtype()).map_err(refuse)?;
        let len = check_size(&header, &type_str, map.len() - offset).map_err(refuse)?;
        Ok(NpyFile { path: path.to_owned(), map, offset, len, content, endianness: type_str.endianness() })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The type of the elements, which must be `wanted` if that is given.
    ///
    /// # Errors
    /// [`UsageError`] for another type, and for raw bytes that nobody gives a type to.
    pub fn dtype(&self, wanted: Option<Dtype>) -> Result<Dtype, UsageError> {
        match (self.content, wanted) {
            (Content::Elements(dtype), None) => Ok(dtype),
            (Content::Elements(dtype), Some(wanted)) if dtype == wanted => Ok(dtype),
            (Content::Elements(dtype), Some(wanted)) => Err(self.refuse(format_args!(
                "holds {dtype}, but --dtype is {wanted}: leave --dtype out, or convert the array with \
                 `.astype({})` in NumPy",
                numpy_name(wanted)
            ))),
            (Content::RawHalves, Some(Dtype::Bf16)) => Ok(Dtype::Bf16),
            (Content::RawHalves, _) => Err(self.refuse(format_args!(
                "holds raw values of two bytes: if they are `bfloat16` of `ml_dtypes`, say --dtype bf16"
            ))),
        }
    }

    /// The elements, borrowed from the file if it holds them as this machine does, else converted.
    ///
    /// # Errors
    /// [`UsageError`] if the file holds another type than `T`.
    pub fn load<T: Value>(self) -> Result<Array<T>, UsageError> {
        self.dtype(Some(T::DTYPE))?;
        let bytes = &self.map[self.offset..];
        let swapped = self.endianness != Endianness::Irrelevant && self.endianness != Endianness::of_machine();
        if !swapped && bytemuck::try_cast_slice::<u8, T>(bytes).is_ok() {
            return Ok(Array::Mapped(Mapped { map: self.map, offset: self.offset, element: PhantomData }));
        }
        let mut elements: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
        if swapped {
            for element in &mut elements {
                bytemuck::bytes_of_mut(element).reverse();
            }
        }
        Ok(Array::Owned(elements.into()))
    }

    fn refuse(&self, reason: std::fmt::Arguments<'_>) -> UsageError {
        UsageError(format!("{}: {reason}", self.path.display()))
    }
}

/// The elements of a vector, in memory or in a file.
#[derive(Debug)]
pub enum Array<T> {
    /// In memory.
    Owned(Box<[T]>),
    /// In a file.
    Mapped(Mapped<T>),
}

/// Elements that are borrowed from a mapped file.
#[derive(Debug)]
pub struct Mapped<T> {
    map: Mmap,
    /// The rest of the file from here on is an aligned array of `T`.
    offset: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Array::Owned(elements) => elements,
            Array::Mapped(Mapped { map, offset, .. }) => bytemuck::cast_slice(&map[*offset..]),
        }
    }
}

fn map(path: &Path) -> Result<Mmap, String> {
    let cannot_read = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let metadata = fs::metadata(path).map_err(cannot_read)?;
    if metadata.is_dir() {
        return Err("is a directory: name a .npy file in it".to_owned());
    }
    if !metadata.is_file() {
        return Err("is not a regular file: save the array to disk first".to_owned());
    }
    if metadata.len() == 0 {
        return Err("is empty: write it again, with `numpy.save`".to_owned());
    }
    let file = File::open(path).map_err(cannot_read)?;
    // SAFETY: the map is only read, and any bytes are elements. The command line's help asks to leave the file alone
    // while the program runs.
    unsafe { Mmap::map(&file) }.map_err(cannot_read)
}

/// The header, and where the elements start.
fn read_header(bytes: &[u8]) -> Result<(NpyHeader, usize), String> {
    if !bytes.starts_with(MAGIC) {
        return Err(match bytes {
            [b'P', b'K', 3, 4, ..] => "is a NumPy archive (.npz): save one array of it, with `numpy.save`".to_owned(),
            _ => "is not a NumPy file (.npy): write the array with `numpy.save`".to_owned(),
        });
    }
    let cut_off = || "is cut off within its header: write it again, with `numpy.save`".to_owned();
    // Version 1 has a length of two bytes, later ones of four.
    let (start, length) = match bytes[MAGIC.len()..] {
        [1, 0, a, b, ..] => (10, u32::from(u16::from_le_bytes([a, b]))),
        [2 | 3, 0, a, b, c, d, ..] => (12, u32::from_le_bytes([a, b, c, d])),
        [] | [_] | [1..=3, 0, ..] => return Err(cut_off()),
        [major, minor, ..] => {
            return Err(format!(
                "has version {major}.{minor} of the .npy format, and 1.0, 2.0 and 3.0 are read: write the array with \
                 `numpy.save`"
            ));
        }
    };
    if length as usize > LONGEST_HEADER {
        return Err(format!(
            "says that its header has {} bytes, and at most {} are read: write it again, with `numpy.save`",
            report::count(length.into()),
            report::count(LONGEST_HEADER as u64)
        ));
    }
    let text = bytes[start..].get(..length as usize).ok_or_else(cut_off)?;
    let trimmed = text.trim_ascii();
    if !trimmed.starts_with(b"{") || !trimmed.ends_with(b"}") {
        return Err("has a header that is not between braces: write it again, with `numpy.save`".to_owned());
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
        return Err(
            "has a header unlike any that NumPy writes for a vector: write it again, with `numpy.save`".to_owned()
        );
    }
    let mut rest = bytes;
    let header = NpyHeader::from_reader(&mut rest).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().next().unwrap_or_default().trim_end_matches(':');
        format!("has a header that cannot be read: {reason}. Write it again, with `numpy.save`")
    })?;
    Ok((header, bytes.len() - rest.len()))
}

fn content(dtype: &DType) -> Result<(Content, TypeStr), String> {
    let DType::Plain(type_str) = dtype else {
        return Err("is a structured array: save one field of it, with `numpy.save(file, a['field'])`".to_owned());
    };
    let content = match (type_str.type_char(), type_str.size_field()) {
        (TypeChar::Float, 2) => Content::Elements(Dtype::F16),
        (TypeChar::Float, 4) => Content::Elements(Dtype::F32),
        (TypeChar::Float, 8) => Content::Elements(Dtype::F64),
        (TypeChar::Int, 4) => Content::Elements(Dtype::I32),
        (TypeChar::Int, 8) => Content::Elements(Dtype::I64),
        (TypeChar::Uint, 4) => Content::Elements(Dtype::U32),
        (TypeChar::Uint, 8) => Content::Elements(Dtype::U64),
        (TypeChar::RawData, 2) => Content::RawHalves,
        _ => {
            return Err(format!(
                "holds elements of type `{type_str}`, and only f32, f64, f16, bf16, i32, u32, i64 and u64 are \
                 possible: convert the array, for instance with `.astype(numpy.float32)`"
            ));
        }
    };
    Ok((content, type_str.clone()))
}

/// The number of elements, if the file has one dimension and `bytes` hold just that many.
fn check_size(header: &NpyHeader, type_str: &TypeStr, bytes: usize) -> Result<usize, String> {
    let &[len] = header.shape() else {
        let shape = header.shape().iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "has {} dimensions, its shape is ({shape}), and a vector is needed: save `a.ravel()` or one row",
            header.shape().len()
        ));
    };
    let size = type_str.num_bytes().unwrap_or(0);
    let expected = usize::try_from(len).ok().and_then(|len| len.checked_mul(size));
    if expected == Some(bytes) {
        return Ok(len as usize);
    }
    let (needed, found) =
        (expected.map_or("more".to_owned(), |n| report::count(n as u64)), report::count(bytes as u64));
    let what = if expected.is_some_and(|expected| expected < bytes) { "has bytes after its end" } else { "is cut off" };
    Err(format!(
        "{what}: {} elements need {needed} bytes, and {found} follow the header. Write it again, with `numpy.save`",
        report::count(len)
    ))
}

fn numpy_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "numpy.float32",
        Dtype::F64 => "numpy.float64",
        Dtype::F16 => "numpy.float16",
        Dtype::Bf16 => "ml_dtypes.bfloat16",
        Dtype::I32 => "numpy.int32",
        Dtype::U32 => "numpy.uint32",
        Dtype::I64 => "numpy.int64",
        Dtype::U64 => "numpy.uint64",
    }
}
