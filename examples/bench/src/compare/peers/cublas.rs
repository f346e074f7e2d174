//! cuBLAS: dot products and transposes.

use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::null_mut;

use anyhow::{Context, Result, bail};
use cudarc::driver::sys::CUstream;
use examples::dtype::{Dtype, Value};
use kernels_common::memory::{Matrix, MatrixMut, Slice, SliceMut};
use kernels_common::stream::Stream;
use libloading::Library;

use super::library::{handle, pointer, text};

/// A handle of cuBLAS, an opaque pointer.
type Handle = *mut c_void;

const POINTER_MODE_HOST: c_int = 0;
const POINTER_MODE_DEVICE: c_int = 1;
const NO_TRANSPOSE: c_int = 0;
const TRANSPOSE: c_int = 1;

type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, CUstream) -> c_int;
type SetPointerMode = unsafe extern "C" fn(Handle, c_int) -> c_int;
type GetVersion = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type StatusText = unsafe extern "C" fn(c_int) -> *const c_char;
type Dot32 = unsafe extern "C" fn(Handle, c_int, *mut c_void, c_int, *mut c_void, c_int, *mut c_void) -> c_int;
type Dot64 = unsafe extern "C" fn(Handle, i64, *mut c_void, i64, *mut c_void, i64, *mut c_void) -> c_int;
type Geam = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    *mut c_void,
    c_int,
) -> c_int;

/// How wide the integers are that a function of cuBLAS takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Width {
    /// `int`
    Bits32,
    /// `int64_t`, since CUDA 12
    Bits64,
}

/// The functions for one element type.
#[derive(Debug)]
struct Functions {
    dot: Dot32,
    /// Not in every version.
    dot_64: Option<Dot64>,
    geam: Geam,
}

/// cuBLAS with its handles, on one stream.
#[derive(Debug)]
pub(crate) struct Cublas {
    /// Results go to the device, and scalars come from there.
    on_device: Handle,
    /// Results go to the host, so that calls wait for them.
    on_host: Handle,
    f32: Functions,
    f64: Functions,
    status_text: StatusText,
    version: c_int,
    stream: Stream,
    /// Keeps the functions.
    _library: Library,
}

impl Cublas {
    /// Loads cuBLAS, of which the newest version is looked for first, and makes handles in the current context.
    ///
    /// # Errors
    /// Why it cannot be had, and what to do.
    pub(super) fn load(places: &[PathBuf], stream: &Stream) -> Result<Cublas, String> {
        let remedy = "install cuBLAS of CUDA 12 or 13, or name its folder with --peers";
        let library = super::open(&["libcublas.so.13", "libcublas.so.12", "libcublas.so"], places, true);
        let library = library.map_err(|reason| format!("{reason}: {remedy}"))?;
        Self::take(library, stream).map_err(|reason| format!("cuBLAS: {reason:#}: {remedy}"))
    }

    fn take(library: Library, stream: &Stream) -> Result<Cublas> {
        // SAFETY: the types are those of the library's header, and the functions are kept no longer than the library.
        unsafe {
            let functions = |letter: char| -> Result<Functions> {
                let name = |rest: &str| format!("cublas{letter}{rest}");
                Ok(Functions {
                    dot: *library.get(name("dot_v2").as_str())?,
                    dot_64: library.get(name("dot_v2_64").as_str()).ok().map(|function| *function),
                    geam: *library.get(name("geam").as_str())?,
                })
            };
            let (f32, f64) = (functions('S')?, functions('D')?);
            let create = *library.get::<Create>("cublasCreate_v2")?;
            let set_stream = *library.get::<SetStream>("cublasSetStream_v2")?;
            let set_pointer_mode = *library.get::<SetPointerMode>("cublasSetPointerMode_v2")?;
            let get_version = *library.get::<GetVersion>("cublasGetVersion_v2")?;
            let status_text = *library.get::<StatusText>("cublasGetStatusString")?;
            let check = |call: &str, status: c_int| check(status_text, call, status);
            let make = |mode: c_int| -> Result<Handle> {
                let mut made = null_mut();
                check("cublasCreate", create(&mut made))?;
                check("cublasSetStream", set_stream(made, handle(stream)?))?;
                check("cublasSetPointerMode", set_pointer_mode(made, mode))?;
                Ok(made)
            };
            let (on_device, on_host) = (make(POINTER_MODE_DEVICE)?, make(POINTER_MODE_HOST)?);
            let mut version = 0;
            check("cublasGetVersion", get_version(on_device, &mut version))?;
            let stream = stream.clone();
            Ok(Cublas { on_device, on_host, f32, f64, status_text, version, stream, _library: library })
        }
    }

    /// Its name and version.
    pub(crate) fn description(&self) -> String {
        let version = self.version;
        format!("cuBLAS {}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }

    fn functions(&self, dtype: Dtype) -> Result<&Functions> {
        match dtype {
            Dtype::F32 => Ok(&self.f32),
            Dtype::F64 => Ok(&self.f64),
            _ => bail!("cuBLAS has it for f32 and f64"),
        }
    }

    /// Whether there is a dot product for a type.
    ///
    /// # Errors
    /// That there is none.
    pub(crate) fn check_dot(&self, dtype: Dtype, width: Width) -> Result<()> {
        let functions = self.functions(dtype)?;
        if width == Width::Bits64 {
            functions.dot_64.context("this version has no 64-bit form; CUDA 12 has")?;
        }
        Ok(())
    }

    /// Whether there is a transpose for a type.
    ///
    /// # Errors
    /// That there is none.
    pub(crate) fn check_transpose(&self, dtype: Dtype) -> Result<()> {
        self.functions(dtype).map(drop)
    }

    /// Starts the dot product of `x` and `y` into the one element of `out`.
    ///
    /// # Errors
    /// Lengths or streams that do not fit, more elements than `width` can count, an error of cuBLAS.
    pub(crate) fn dot<T: Value>(
        &self,
        width: Width,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
        out: SliceMut<'_, T::Sum>,
    ) -> Result<()> {
        out.check(&self.stream, "the output")?;
        out.check_len(1, "the output")?;
        // SAFETY: the output is one element on the device, as this handle expects it.
        unsafe { self.dot_to(self.on_device, width, x, y, pointer(out.address())) }
    }

    /// The dot product of `x` and `y`, in the host's memory when this returns.
    ///
    /// # Errors
    /// As [`Cublas::dot`].
    pub(crate) fn dot_value<T: Value>(&self, width: Width, x: Slice<'_, T>, y: Slice<'_, T>) -> Result<T::Sum> {
        let mut value = T::Sum::default();
        let to: *mut T::Sum = &mut value;
        // SAFETY: the result goes to one element on the host, as this handle expects it, which waits for it.
        unsafe { self.dot_to(self.on_host, width, x, y, to.cast())? };
        Ok(value)
    }

    /// The types that there are functions for are the types of their own sums.
    ///
    /// # Safety
    /// The result is one value of `T::Sum` where the handle expects it.
    unsafe fn dot_to<T: Value>(
        &self,
        handle: Handle,
        width: Width,
        x: Slice<'_, T>,
        y: Slice<'_, T>,
        result: *mut c_void,
    ) -> Result<()> {
        let functions = self.functions(T::DTYPE)?;
        x.check(&self.stream, "x")?;
        y.check(&self.stream, "y")?;
        y.check_len(x.len(), "y")?;
        let (x_at, y_at) = (pointer(x.address()), pointer(y.address()));
        // SAFETY: both have so many elements of the function's type, one after the other, and belong to the handle's
        // stream; the result as above.
        let status = unsafe {
            match width {
                Width::Bits32 => {
                    let n = c_int::try_from(x.len()).context("more elements than an int counts")?;
                    (functions.dot)(handle, n, x_at, 1, y_at, 1, result)
                }
                Width::Bits64 => {
                    let dot = functions.dot_64.context("this version has no 64-bit form")?;
                    dot(handle, x.len() as i64, x_at, 1, y_at, 1, result)
                }
            }
        };
        check(self.status_text, "cublas dot", status)
    }

    /// Starts writing the transpose of `input` to `output`, both without gaps between their rows.
    ///
    /// # Errors
    /// Shapes or streams that do not fit, sides that no `int` can count, an error of cuBLAS.
    pub(crate) fn transpose<T: Value>(&self, input: Matrix<'_, T>, output: MatrixMut<'_, T>) -> Result<()> {
        let functions = self.functions(T::DTYPE)?;
        let fits = (output.rows(), output.columns()) == (input.columns(), input.rows());
        let dense = input.pitch() == input.columns() && output.pitch() == output.columns();
        if !(fits && dense) {
            bail!("the output has to be of the transposed shape, and no row may be padded");
        }
        let side = |side: usize| c_int::try_from(side).context("more rows or columns than an int counts");
        let (rows, columns) = (side(input.rows())?, side(input.columns())?);
        let (input, output) = (input.into_slice(), output.into_slice());
        input.check(&self.stream, "the input")?;
        output.check(&self.stream, "the output")?;
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        let (one, zero): (*const T, *const T) = (&one, &zero);
        let (from, to) = (pointer(input.address()), pointer(output.address()));
        // To cuBLAS the input is a matrix of `columns` × `rows`, column by column, and the output its transpose:
        // 1 · inputᵀ + 0 · output.
        // SAFETY: both have rows · columns elements of the function's type and belong to the handle's stream. This
        // handle takes the factors from the host, before the call returns.
        let status = unsafe {
            (functions.geam)(
                self.on_host,
                TRANSPOSE,
                NO_TRANSPOSE,
                rows,
                columns,
                one.cast(),
                from,
                columns,
                zero.cast(),
                to,
                rows,
                to,
                rows,
            )
        };
        check(self.status_text, "cublas geam", status)
    }
}

fn check(status_text: StatusText, call: &str, status: c_int) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: it takes any number and returns a text that stays.
    bail!("{call}: {} (status {status})", unsafe { text(status_text(status)) })
}
