//! From the driver's status numbers to errors that say what to do.

use std::ffi::{CStr, c_char, c_uint};
use std::ptr::null;

use super::driver::function;
use crate::error::{Error, Result};

pub(super) const INVALID_VALUE: c_uint = 1;
pub(super) const OUT_OF_MEMORY: c_uint = 2;
pub(super) const STUB_LIBRARY: c_uint = 34;
pub(super) const NO_DEVICE: c_uint = 100;
pub(super) const INVALID_IMAGE: c_uint = 200;
pub(super) const NO_BINARY_FOR_GPU: c_uint = 209;
pub(super) const INVALID_PTX: c_uint = 218;
pub(super) const JIT_COMPILER_NOT_FOUND: c_uint = 221;
pub(super) const UNSUPPORTED_PTX_VERSION: c_uint = 222;
pub(super) const JIT_COMPILATION_DISABLED: c_uint = 223;
pub(super) const GRAPH_UPDATE_FAILURE: c_uint = 910;

/// The status of a call of the driver's function `call`.
#[inline]
pub(super) fn check(code: c_uint, call: &'static str) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(error(code, call)) }
}

/// The error for status `code` of the driver's function `call`.
#[cold]
pub(super) fn error(code: c_uint, call: &'static str) -> Error {
    let name = describe("cuGetErrorName", code).unwrap_or_else(|| "unknown to this driver".to_owned());
    let mut meaning = describe("cuGetErrorString", code).unwrap_or_else(|| "no description".to_owned());
    if let Some(advice) = advice(code) {
        meaning.push_str(". ");
        meaning.push_str(advice);
    }
    Error::Driver { code, name, call, meaning }
}

/// What the driver says about a status.
fn describe(function_name: &'static str, code: c_uint) -> Option<String> {
    type Describe = unsafe extern "C" fn(c_uint, *mut *const c_char) -> c_uint;
    // SAFETY: both functions that describe a status have this type. They are looked up anew because they also have to
    // work where the start failed.
    let describe: Describe = unsafe { function(function_name) }?;
    let mut text = null();
    // SAFETY: the argument can be written to; any number may be asked for.
    if unsafe { describe(code, &mut text) } != 0 || text.is_null() {
        return None;
    }
    // SAFETY: the driver returns a terminated string that lives as long as the library.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// What to do about a status; `None` where the driver's own text must do.
fn advice(code: c_uint) -> Option<&'static str> {
    Some(match code {
        3 => "The driver was started in a process that has forked since: open devices in the child only",
        4 => "The driver is shutting down: finish GPU work before the program's exit handlers run",
        46 => "Another program holds the GPU in exclusive mode: end it, or open another device",
        700 => {
            "A kernel used an address outside its buffers. Run it on the device `sim` to find the line. The GPU is \
             lost to this process: start it again"
        }
        714 | 715 | 717 | 718 => {
            "A kernel went wrong. Run it on the device `sim` to find the line. The GPU is lost to this process: start \
             it again"
        }
        716 => {
            "A kernel used an address that is no multiple of the access's size. Run it on the device `sim` to find the \
             line. The GPU is lost to this process: start it again"
        }
        710 => "An assertion in a kernel failed. The GPU is lost to this process: start it again",
        719 => {
            "A kernel went wrong, perhaps by a bad shared-memory access. Run it on the device `sim` to find the line. \
             The GPU is lost to this process: start it again"
        }
        702 => {
            "The system stopped a kernel that took too long, as it does on a GPU that also drives a display. Give it \
             less work per launch. The GPU is lost to this process: start it again"
        }
        701 => "The launch asks for more registers or shared memory than a block can have: use fewer threads per block",
        802 => {
            "The GPUs of this machine are not ready yet; on machines with NVSwitch the service nvidia-fabricmanager \
             must run"
        }
        803 => {
            "The driver library does not fit the kernel module that is loaded: restart the machine after a driver \
             update, or remove the compatibility library from the search path"
        }
        804 => {
            "The compatibility library on the search path does not support this GPU: remove it, or update the NVIDIA \
             driver"
        }
        901 => {
            "Something was done during the capture that rules it out, such as waiting for the whole device. Capture it \
             again"
        }
        900..=907 => "The stream is being captured into a graph, in which this operation is not possible",
        214 | 220 | 226 | 999 => {
            "If it happens again: look for `NVRM` in the system log, and run the kernel on the device `sim`"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_name_the_simulator() {
        for code in [700, 714, 715, 716, 717, 718, 719, 999] {
            assert!(advice(code).unwrap().contains("device `sim`"), "{code}");
        }
        assert_eq!(advice(1), None);
    }
}
