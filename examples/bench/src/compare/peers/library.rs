//! `librungs_peers.so`, which `scripts/peers.sh` makes of `peers/*.cu`: CUB, and kernels that only read.

use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;
use std::ptr::{null_mut, with_exposed_provenance_mut};

use anyhow::{Context, Result, bail, ensure};
use cudarc::driver::sys::CUstream;
use examples::dtype::{Dtype, Value};
use kernels_common::element::Element;
use kernels_common::memory::{DeviceBuffer, Slice, SliceMut};
use kernels_common::stream::Stream;
use libloading::Library;

const NAME: &str = "librungs_peers.so";

/// The version of the interface, as in `peers/peers.h`.
const VERSION: u32 = 1;

/// A reduction that CUB has; the numbers are those of `peers.h`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
pub(crate) enum Reduction {
    Sum = 0,
    Minimum = 1,
    Maximum = 2,
}

/// A way to read memory and do next to nothing with it; the numbers are those of `peers.h`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
pub(crate) enum Reading {
    /// Loads of 16 bytes.
    Loads = 0,
    /// Bulk copies to shared memory.
    Bulk = 1,
}

type Reduce = unsafe extern "C" fn(i32, i32, *const c_void, *mut c_void, u64, *mut c_void, *mut usize, CUstream) -> i32;
type Add = unsafe extern "C" fn(i32, *const c_void, *const c_void, *mut c_void, u64, CUstream) -> i32;
type ReadPrepare = unsafe extern "C" fn(i32) -> i32;
type Read = unsafe extern "C" fn(i32, *const c_void, *const c_void, u64, *mut u32, CUstream) -> i32;
type Fetch = unsafe extern "C" fn(*mut c_void, *const c_void, usize, CUstream) -> i32;
type ErrorText = unsafe extern "C" fn(i32) -> *const c_char;

/// The functions of the library.
#[derive(Debug)]
pub(crate) struct PeerLibrary {
    reduce: Reduce,
    add: Add,
    read_prepare: ReadPrepare,
    read: Read,
    fetch: Fetch,
    error_text: ErrorText,
    description: String,
    /// Keeps the functions.
    _library: Library,
}

/// The number of an element type in `peers.h`.
fn type_number(dtype: Dtype) -> Result<i32> {
    Ok(match dtype {
        Dtype::F32 => 0,
        Dtype::F64 => 1,
        Dtype::F16 => 2,
        Dtype::Bf16 => 3,
        Dtype::I32 => 4,
        Dtype::I64 => 5,
        Dtype::U32 | Dtype::U64 => bail!("{NAME} has no {dtype}"),
    })
}

/// What C calls a pointer, of a device address.
pub(super) fn pointer(address: u64) -> *mut c_void {
    // It is the device's, and nothing here follows it.
    with_exposed_provenance_mut(address as usize)
}

pub(super) fn handle(stream: &Stream) -> Result<CUstream> {
    stream.cu_stream().context("the stream is no GPU's")
}

impl PeerLibrary {
    /// Loads the library from the first folder that has it.
    ///
    /// # Errors
    /// Why it cannot be had, and what to do.
    pub(super) fn load(places: &[PathBuf]) -> Result<PeerLibrary, String> {
        let remedy = "build it with `bash scripts/peers.sh`, or name its folder with --peers";
        let library = super::open(&[NAME], places, false).map_err(|reason| format!("{reason}: {remedy}"))?;
        Self::take(library).map_err(|reason| format!("{NAME}: {reason:#}: {remedy}"))
    }

    fn take(library: Library) -> Result<PeerLibrary> {
        // SAFETY: the types are those of `peers.h` at this version, which is asked for before anything else is called,
        // and the functions are kept no longer than the library.
        unsafe {
            let version = *library.get::<unsafe extern "C" fn() -> u32>("rungs_peers_version")?;
            let version = version();
            ensure!(version == VERSION, "its interface has version {version} instead of {VERSION}");
            let description = *library.get::<unsafe extern "C" fn() -> *const c_char>("rungs_peers_description")?;
            Ok(PeerLibrary {
                reduce: *library.get("rungs_reduce")?,
                add: *library.get("rungs_add")?,
                read_prepare: *library.get("rungs_read_prepare")?,
                read: *library.get("rungs_read")?,
                fetch: *library.get("rungs_fetch")?,
                error_text: *library.get("rungs_error_text")?,
                description: text(description()),
                _library: library,
            })
        }
    }

    /// What is in it, with versions.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }

    fn check(&self, call: &str, error: i32) -> Result<()> {
        if error == 0 {
            return Ok(());
        }
        // SAFETY: it takes any number and returns a text that stays.
        bail!("{call}: {} (CUDA error {error})", unsafe { text((self.error_text)(error)) })
    }

    /// Whether it has a type.
    ///
    /// # Errors
    /// That it has not.
    pub(crate) fn check_type(&self, dtype: Dtype) -> Result<()> {
        type_number(dtype).map(drop)
    }

    /// The workspace that a reduction of `n` elements needs, made on `stream`.
    ///
    /// # Errors
    /// A type that the library does not know; an error of CUDA's.
    pub(crate) fn workspace<T: Value>(
        &self,
        stream: &Stream,
        reduction: Reduction,
        n: u64,
    ) -> Result<DeviceBuffer<u8>> {
        let (type_number, stream_handle) = (type_number(T::DTYPE)?, handle(stream)?);
        let mut bytes = 0;
        let nothing = null_mut();
        // SAFETY: without a workspace it touches no memory but `bytes`.
        let error = unsafe {
            (self.reduce)(reduction as i32, type_number, nothing, nothing, n, nothing, &mut bytes, stream_handle)
        };
        self.check("the size of CUB's workspace", error)?;
        // A workspace of no bytes has no address, which would ask for the size again.
        Ok(stream.alloc_uninit(bytes.max(1))?)
    }

    /// Starts reducing `x` into the one element of `out`. The workspace has to be one for this reduction of as many
    /// elements.
    ///
    /// # Errors
    /// An output that does not fit; an error of CUDA's.
    pub(crate) fn reduce<T: Value, R: Element>(
        &self,
        reduction: Reduction,
        x: Slice<'_, T>,
        out: SliceMut<'_, R>,
        workspace: &mut DeviceBuffer<u8>,
    ) -> Result<()> {
        let output = if reduction == Reduction::Sum { <T::Sum as Element>::NAME } else { T::NAME };
        ensure!(R::NAME == output && out.len() == 1, "the output is one {output}");
        out.check(x.stream(), "the output")?;
        let workspace = workspace.as_slice_mut();
        workspace.check(x.stream(), "the workspace")?;
        let mut bytes = workspace.len();
        // SAFETY: x has so many elements of that type, the output one of the sum's or the element's; CUB refuses a
        // workspace of fewer bytes than it needs. All of them belong to the stream, and so does the work.
        let error = unsafe {
            (self.reduce)(
                reduction as i32,
                type_number(T::DTYPE)?,
                pointer(x.address()),
                pointer(out.address()),
                x.len() as u64,
                pointer(workspace.address()),
                &mut bytes,
                handle(x.stream())?,
            )
        };
        self.check("cub::DeviceReduce", error)
    }

    /// Starts z = x + y.
    ///
    /// # Errors
    /// Lengths or streams that differ; an error of CUDA's.
    pub(crate) fn add<T: Value>(&self, x: Slice<'_, T>, y: Slice<'_, T>, z: SliceMut<'_, T>) -> Result<()> {
        y.check(x.stream(), "y")?;
        z.check(x.stream(), "z")?;
        y.check_len(x.len(), "y")?;
        z.check_len(x.len(), "z")?;
        let (x_at, y_at, z_at) = (pointer(x.address()), pointer(y.address()), pointer(z.address()));
        // SAFETY: all three have as many elements of that type, and belong to the stream.
        let error =
            unsafe { (self.add)(type_number(T::DTYPE)?, x_at, y_at, z_at, x.len() as u64, handle(x.stream())?) };
        self.check("cub::DeviceTransform", error)
    }

    /// Makes a way to read ready.
    ///
    /// # Errors
    /// That the device has no such way.
    pub(crate) fn prepare(&self, reading: Reading) -> Result<()> {
        // SAFETY: it takes any number, in whichever context is current.
        self.check("a kernel that reads", unsafe { (self.read_prepare)(reading as i32) })
    }

    /// Starts adding the 32-bit words of all inputs, one or two, to the one word of `out`, modulo 2³²: those of whole
    /// packets of 16 bytes. [`prepare`](Self::prepare) has to come first.
    ///
    /// # Errors
    /// Inputs that are not alike, or do not start at a multiple of 16 bytes; an error of CUDA's.
    pub(crate) fn read<T: Value>(
        &self,
        reading: Reading,
        inputs: &[Slice<'_, T>],
        out: SliceMut<'_, u32>,
    ) -> Result<()> {
        let (x, y) = match inputs {
            [x] => (x, None),
            [x, y] => (x, Some(y)),
            _ => bail!("one or two inputs are read"),
        };
        ensure!(inputs.iter().all(|input| input.address().is_multiple_of(16)), "an input is not aligned");
        if let Some(y) = y {
            y.check(x.stream(), "y")?;
            y.check_len(x.len(), "y")?;
        }
        out.check(x.stream(), "the output")?;
        out.check_len(1, "the output")?;
        let (x_at, y_at) = (pointer(x.address()), y.map_or(null_mut(), |y| pointer(y.address())));
        let (bytes, out) = (size_of_val(x), pointer(out.address()).cast());
        // SAFETY: each input has so many bytes and is aligned, the output is a word, and all belong to the stream.
        let error = unsafe { (self.read)(reading as i32, x_at, y_at, bytes, out, handle(x.stream())?) };
        self.check("a kernel that reads", error)
    }

    /// Copies one element to the host, and waits for the stream.
    ///
    /// # Errors
    /// An error of CUDA's, also of earlier work.
    pub(crate) fn fetch<R: Element>(&self, from: Slice<'_, R>) -> Result<R> {
        from.check_len(1, "the result")?;
        let mut value = R::default();
        let to: *mut R = &mut value;
        // SAFETY: both have the size of one element, and the copy is over when this returns.
        let error = unsafe { (self.fetch)(to.cast(), pointer(from.address()), size_of::<R>(), handle(from.stream())?) };
        self.check("cudaMemcpyAsync", error)?;
        Ok(value)
    }
}

/// The bytes of a slice.
fn size_of_val<T>(slice: &Slice<'_, T>) -> u64 {
    (slice.len() * size_of::<T>()) as u64
}

/// A text of C's, copied.
///
/// # Safety
/// It is null, or ends with a zero byte.
pub(super) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return "no text".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_header() {
        let header = include_str!("../../../peers/peers.h");
        assert!(header.contains(&format!("#define RUNGS_PEERS_VERSION {VERSION}\n")));
        for (name, enumeration) in [
            ("RungsType", "RUNGS_F32, RUNGS_F64, RUNGS_F16, RUNGS_BF16, RUNGS_I32, RUNGS_I64"),
            ("RungsReduction", "RUNGS_SUM, RUNGS_MINIMUM, RUNGS_MAXIMUM"),
            ("RungsReading", "RUNGS_READ_LOADS, RUNGS_READ_BULK"),
        ] {
            assert!(header.contains(&format!("enum {name} : int32_t {{ {enumeration} }};")), "{name}");
        }
        let types = [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16, Dtype::I32, Dtype::I64];
        for (number, dtype) in types.into_iter().enumerate() {
            assert_eq!(type_number(dtype).unwrap(), number as i32, "{dtype}");
        }
        assert!(type_number(Dtype::U32).unwrap_err().to_string().contains("u32"));
    }
}
