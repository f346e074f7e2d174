//! The driver without the runtime: what the runtime is compared with.

use std::ffi::{CString, c_void};
use std::ptr::{null_mut, without_provenance_mut};

use anyhow::{Context, Result};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUfunction, CUjit_option, CUmodule, CUstream};
use kernels_common::module::{Ptx, newest};
use kernels_common::stream::Stream;

/// An option of the driver's compiler.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JitOption {
    /// How far to optimise, 0 to 4; the driver's default is 4.
    Level(usize),
    /// With line numbers for debuggers and profilers.
    LineInfo,
    /// With buffers for its messages, as the runtime asks for.
    Logs,
}

/// A module that the driver loaded. Its context must be current wherever it is used and dropped.
#[derive(Debug)]
pub(crate) struct Module(CUmodule);

impl Module {
    /// Loads a PTX text into the current context, with options of the driver's compiler.
    pub(crate) fn load(text: &str, options: &[JitOption]) -> Result<Module> {
        let image = CString::new(text)?;
        let mut logs = [[0u8; 8 << 10]; 2];
        let [info, error] = &mut logs;
        let number = |value: usize| without_provenance_mut::<c_void>(value);
        let mut names = Vec::new();
        let mut values = Vec::new();
        for option in options {
            match option {
                JitOption::Level(level) => {
                    names.push(CUjit_option::CU_JIT_OPTIMIZATION_LEVEL);
                    values.push(number(*level));
                }
                JitOption::LineInfo => {
                    names.push(CUjit_option::CU_JIT_GENERATE_LINE_INFO);
                    values.push(number(1));
                }
                JitOption::Logs => {
                    names.extend([
                        CUjit_option::CU_JIT_INFO_LOG_BUFFER,
                        CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
                        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                    ]);
                    values.extend([info.as_mut_ptr().cast(), number(info.len())]);
                    values.extend([error.as_mut_ptr().cast(), number(error.len())]);
                }
            }
        }
        let mut module = null_mut();
        // SAFETY: the text is terminated; names and values are as many as said, and the logs as long.
        let status = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                image.as_ptr().cast(),
                names.len() as u32,
                names.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        status.result().context("cuModuleLoadDataEx")?;
        Ok(Module(module))
    }

    /// A kernel of the module, which is valid for as long as the module.
    pub(crate) fn function(&self, name: &str) -> Result<CUfunction> {
        // SAFETY: the module is loaded.
        unsafe { result::module::get_function(self.0, CString::new(name)?) }.with_context(|| format!("kernel `{name}`"))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: nobody has the module's functions any more, and those who launched them have waited. A failure
        // leaves the module to the end of the process.
        let _ = unsafe { result::module::unload(self.0) };
    }
}

/// What the runtime gives to the driver for kernels of a crate on the device of `stream`.
pub(crate) fn text_of(stream: &Stream, variants: &[Ptx], kernels: &[&str]) -> Result<String> {
    let ptx = newest(variants, stream.device().properties().capability)?;
    Ok(ptx_sim::ptx::Module::parse(ptx.module(), ptx.text())?.select(kernels)?)
}

/// A kernel `nothing`, which does nothing, in PTX of the same version and for the same target as `text`.
pub(crate) fn nothing(text: &str) -> String {
    let settings = [".version", ".target", ".address_size"];
    let head = text.lines().filter(|line| settings.iter().any(|setting| line.starts_with(setting)));
    let head: String = head.flat_map(|line| [line, "\n"]).collect();
    head + ".visible .entry nothing()\n{\n    ret;\n}\n"
}

/// A kernel with its shape and arguments, all prepared.
#[derive(Debug)]
pub(crate) struct Bare {
    function: CUfunction,
    /// Keeps the function.
    _module: Module,
    stream: CUstream,
    blocks: u32,
    threads: u32,
    parameters: Vec<*mut c_void>,
    /// What the parameters point to.
    _values: Vec<u64>,
}

impl Bare {
    /// Prepares a launch of `blocks` blocks of `threads` threads. Each value is a pointer, a `u64`, or a `u32` in its
    /// lower half.
    pub(crate) fn new(
        stream: &Stream,
        text: &str,
        kernel: &str,
        (blocks, threads): (u32, u32),
        mut values: Vec<u64>,
    ) -> Result<Bare> {
        let device = stream.device();
        let (context, handle) = device.to_cudarc().zip(stream.cu_stream()).context("the stream is not a GPU's")?;
        context.bind_to_thread()?;
        let module = Module::load(text, &[])?;
        let function = module.function(kernel)?;
        let parameters = values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
        Ok(Bare { function, _module: module, stream: handle, blocks, threads, parameters, _values: values })
    }

    /// Launches it: one call of the driver and nothing else.
    ///
    /// # Safety
    /// The values fit the kernel's parameters, the memory that they point to is there until the stream is done, and
    /// the kernel stays within it. The stream is alive and its context current.
    #[inline]
    pub(crate) unsafe fn launch(&mut self) -> Result<()> {
        // SAFETY: as above; the module is loaded.
        let status = unsafe {
            sys::cuLaunchKernel(
                self.function,
                self.blocks,
                1,
                1,
                self.threads,
                1,
                1,
                0,
                self.stream,
                self.parameters.as_mut_ptr(),
                null_mut(),
            )
        };
        Ok(status.result()?)
    }
}
