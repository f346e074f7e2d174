//! Modules: the driver compiles PTX, and says why when it does not.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};

use cudarc::driver::sys::{CUfunction, CUmodule};

use super::driver::Driver;
use super::failure::{
    INVALID_IMAGE, INVALID_PTX, JIT_COMPILATION_DISABLED, JIT_COMPILER_NOT_FOUND, NO_BINARY_FOR_GPU,
    UNSUPPORTED_PTX_VERSION,
};
use crate::backend::KernelLimits;
use crate::device::Properties;
use crate::error::{Error, Result};

/// Compiles `text` for the current context; `name` is for messages.
pub(super) fn load(driver: &Driver, device: &Properties, name: &str, text: &str) -> Result<CUmodule> {
    const INFO_LOG: c_uint = 3;
    const INFO_LOG_SIZE: c_uint = 4;
    const ERROR_LOG: c_uint = 5;
    const ERROR_LOG_SIZE: c_uint = 6;

    let rejected = |reason| Error::PtxRejected {
        module: name.to_owned(),
        version: directive(text, ".version").to_owned(),
        target: directive(text, ".target").to_owned(),
        reason,
    };
    let image = CString::new(text).map_err(|_| rejected("the text contains a NUL byte".to_owned()))?;
    let mut errors = vec![0u8; 8 << 10];
    let mut infos = vec![0u8; 1 << 10];
    let mut options = [INFO_LOG, INFO_LOG_SIZE, ERROR_LOG, ERROR_LOG_SIZE];
    let mut values: [*mut c_void; 4] = [
        infos.as_mut_ptr().cast(),
        // Sizes are handed over in place of pointers.
        without_provenance_mut(infos.len()),
        errors.as_mut_ptr().cast(),
        without_provenance_mut(errors.len()),
    ];
    let mut module = null_mut();
    // SAFETY: the image is a terminated text; the options are as many as said, and the logs as long.
    let loaded = unsafe {
        driver.module_load(
            &mut module,
            image.as_ptr().cast(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    loaded.map(|()| module).map_err(|error| match error {
        Error::Driver { code, name, .. } if is_about_the_text(code) => {
            let mut reason = format!("{} (CUDA error {code}, {name})", cause(code, text, device));
            for log in [log_text(&errors), log_text(&infos)] {
                if !log.is_empty() {
                    reason.push_str(". The driver's compiler says:\n");
                    reason.push_str(&log);
                    break;
                }
            }
            rejected(reason)
        }
        error => error,
    })
}

fn is_about_the_text(code: c_uint) -> bool {
    matches!(
        code,
        INVALID_IMAGE
            | NO_BINARY_FOR_GPU
            | INVALID_PTX
            | JIT_COMPILER_NOT_FOUND
            | UNSUPPORTED_PTX_VERSION
            | JIT_COMPILATION_DISABLED
    )
}

/// What went wrong and what to do, in plain words.
fn cause(code: c_uint, text: &str, device: &Properties) -> String {
    let (major, minor) = device.driver;
    let (device_major, device_minor) = device.capability;
    match code {
        UNSUPPORTED_PTX_VERSION => format!(
            "this driver supports CUDA {major}.{minor}, which cannot read PTX {} yet: update the NVIDIA driver, or \
             compile the kernel for an older PTX version",
            directive(text, ".version")
        ),
        NO_BINARY_FOR_GPU => format!(
            "nothing in it can run on {}, of compute capability {device_major}.{device_minor}: compile the kernel for \
             sm_{device_major}{device_minor}, or an earlier target without `a` or `f`",
            device.name
        ),
        JIT_COMPILER_NOT_FOUND => "the driver's PTX compiler (libnvidia-ptxjitcompiler) was not found: reinstall the \
             NVIDIA driver; in a container, add the driver capability `compute`"
            .to_owned(),
        JIT_COMPILATION_DISABLED => {
            "the environment forbids compiling PTX: unset CUDA_DISABLE_PTX_JIT and CUDA_DISABLE_JIT".to_owned()
        }
        _ => "it is not valid PTX".to_owned(),
    }
}

/// The argument of the first line that starts with `name`.
fn directive<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines().find_map(|line| line.trim_start().strip_prefix(name)).map_or("missing", str::trim)
}

/// The text in a log buffer, without its blank lines.
fn log_text(log: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(log).map_or_else(|_| String::from_utf8_lossy(log), CStr::to_string_lossy);
    text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// A kernel of a module and its limits. Afterwards a launch may ask for all the shared memory that the device has.
pub(super) fn kernel(
    driver: &Driver,
    device: &Properties,
    module: CUmodule,
    name: &str,
) -> Result<(CUfunction, KernelLimits)> {
    const MAX_THREADS_PER_BLOCK: c_uint = 0;
    const STATIC_SHARED: c_uint = 1;
    const MAX_DYNAMIC_SHARED: c_uint = 8;

    let unknown = || Error::UnknownKernel {
        kernel: name.to_owned(),
        module: "the loaded module".to_owned(),
        available: "only names without NUL bytes".to_owned(),
    };
    let symbol = CString::new(name).map_err(|_| unknown())?;
    let mut function = null_mut();
    // SAFETY: the module is alive and the name is terminated.
    unsafe { driver.module_get_function(&mut function, module, symbol.as_ptr())? };
    let attribute = |attribute| {
        let mut value = 0;
        // SAFETY: the function is alive.
        unsafe { driver.function_get_attribute(&mut value, attribute, function)? };
        Ok::<_, Error>(u32::try_from(value).unwrap_or(0))
    };
    let static_shared = attribute(STATIC_SHARED)?;
    let dynamic_shared = device.shared_per_block_optin.saturating_sub(static_shared);
    // This only permits; how much of the cache becomes shared memory is decided by what a launch asks for.
    // SAFETY: the function is alive.
    unsafe { driver.function_set_attribute(function, MAX_DYNAMIC_SHARED, dynamic_shared as c_int)? };
    let threads_per_block = attribute(MAX_THREADS_PER_BLOCK)?;
    Ok((function, KernelLimits { threads_per_block, dynamic_shared }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_version_and_target() {
        let text = "//\n// Generated\n//\n.version 8.0\n.target sm_90a, debug // Hopper\n.address_size 64\n";
        assert_eq!(directive(text, ".version"), "8.0");
        assert_eq!(directive(text, ".target"), "sm_90a, debug // Hopper");
        assert_eq!(directive("nothing", ".version"), "missing");
    }

    #[test]
    fn logs_lose_their_padding() {
        assert_eq!(log_text(b"one\n\n two\n\0\0\0"), "one\n two");
        assert_eq!(log_text(b"cut off"), "cut off");
        assert_eq!(log_text(&[0; 4]), "");
    }
}
