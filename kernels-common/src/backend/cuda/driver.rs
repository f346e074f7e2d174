//! The functions of the driver library, each looked up once.
//!
//! The library is the one that cudarc loads. Its own bindings look a function up when it is first called and panic if
//! it is missing, and they read every status as one of the enum values of their CUDA version, which a newer driver
//! need not keep to. Here a missing function is an error at the start, and a status is a number.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmemoryPool, CUmodule, CUstream,
    culib, is_culib_present,
};

use super::failure::{self, check};
use super::graph::UpdateResult;
use super::pool::PoolProperties;
use crate::error::{Error, Result};

/// The least CUDA version that the driver must support.
///
/// All functions below are older; the PTX of the newest kernels needs it. Nobody is left out: every GPU that can run
/// the kernels has a driver for it.
pub(super) const NEEDED: (u32, u32) = (12, 0);

/// What cudarc calls for a context, beside the functions below; it would panic where they are missing.
const USED_BY_CUDARC: [&str; 2] = ["cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2"];

/// The driver's library, for messages.
const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1 (or libcuda.so)" };

/// Why there is no driver to work with.
#[derive(Clone, Copy, Debug)]
enum Unavailable {
    NoLibrary,
    Stub,
    NoDevice,
    TooOld { found: (u32, u32) },
    Lacks { function: &'static str },
    Failed { code: c_uint, call: &'static str },
}

impl Unavailable {
    /// The error for somebody who wants the device `wanted`.
    fn error(self, wanted: &str) -> Error {
        match self {
            Unavailable::NoLibrary => Error::NoDriver { library: LIBRARY.to_owned() },
            Unavailable::Stub => Error::StubDriver,
            Unavailable::NoDevice => Error::NoDevice { wanted: wanted.to_owned(), found: 0 },
            Unavailable::TooOld { found } => Error::DriverTooOld { found, needed: NEEDED },
            Unavailable::Lacks { function } => Error::DriverIncomplete { function },
            Unavailable::Failed { code, call } => failure::error(code, call),
        }
    }
}

/// The driver, started and found fit; `wanted` names the device that it is for, in messages.
pub(super) fn driver(wanted: &str) -> Result<&'static Driver> {
    // What is wrong with a driver stays wrong for as long as the process lives.
    static DRIVER: OnceLock<Result<Driver, Unavailable>> = OnceLock::new();
    DRIVER.get_or_init(start).as_ref().map_err(|unavailable| unavailable.error(wanted))
}

fn start() -> Result<Driver, Unavailable> {
    // SAFETY: loading a library runs its initialisers; the driver's have no requirements.
    if !unsafe { is_culib_present() } {
        return Err(Unavailable::NoLibrary);
    }
    let failed = |code, call| Err(Unavailable::Failed { code, call });
    type Init = unsafe extern "C" fn(c_uint) -> c_uint;
    // SAFETY: that is the function's type.
    let init: Init = unsafe { function("cuInit") }.ok_or(Unavailable::Lacks { function: "cuInit" })?;
    // SAFETY: flags must be 0.
    let status = unsafe { init(0) };
    match status {
        failure::STUB_LIBRARY => return Err(Unavailable::Stub),
        failure::NO_DEVICE => return Err(Unavailable::NoDevice),
        _ => {}
    }
    // The version comes before the other functions and before other failures of the start: an old driver lacks some and
    // may fail for its age.
    type Version = unsafe extern "C" fn(*mut c_int) -> c_uint;
    // SAFETY: that is the function's type.
    let get_version: Version =
        unsafe { function("cuDriverGetVersion") }.ok_or(Unavailable::Lacks { function: "cuDriverGetVersion" })?;
    let mut version = 0;
    // SAFETY: the argument can be written to, and the function works without a successful start too.
    match unsafe { get_version(&mut version) } {
        0 => {}
        code => return failed(if status == 0 { code } else { status }, "cuDriverGetVersion"),
    }
    let found = version_pair(version);
    if found < NEEDED {
        return Err(Unavailable::TooOld { found });
    }
    match status {
        0 => Driver::load(found),
        code => failed(code, "cuInit"),
    }
}

/// Major and minor of a CUDA version as the driver writes it: 12040 is 12.4.
fn version_pair(version: c_int) -> (u32, u32) {
    let version = u32::try_from(version).unwrap_or(0);
    (version / 1000, version % 1000 / 10)
}

/// A function of the library, which must be present.
///
/// # Safety
/// `F` is the type of the function of that name.
pub(super) unsafe fn function<F: Copy>(name: &str) -> Option<F> {
    // SAFETY: the caller answers for the type. The library is never unloaded, so the pointer stays valid.
    unsafe { culib().get::<F>(name).ok().map(|symbol| *symbol) }
}

/// The driver's `CUlaunchConfig`, which not every CUDA version that cudarc can be compiled for has.
#[repr(C)]
#[derive(Debug)]
pub(super) struct LaunchExConfig {
    pub(super) grid: [c_uint; 3],
    pub(super) block: [c_uint; 3],
    pub(super) shared_bytes: c_uint,
    pub(super) stream: CUstream,
    pub(super) attributes: *const LaunchAttribute,
    pub(super) attribute_count: c_uint,
}

/// The driver's `CUlaunchAttribute`: a number that says which, and a value.
#[repr(C)]
#[derive(Debug)]
pub(super) struct LaunchAttribute {
    id: c_uint,
    padding: c_uint,
    /// A union of 64 bytes.
    value: [u64; 8],
}

impl LaunchAttribute {
    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`, set.
    pub(super) const OVERLAPPING: LaunchAttribute =
        LaunchAttribute { id: 6, padding: 0, value: [1, 0, 0, 0, 0, 0, 0, 0] };
}

macro_rules! functions {
    ($(fn $method:ident = $symbol:literal($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// Every function that this backend calls, and the CUDA version that the driver supports.
        ///
        /// Each method calls the function of the driver that it is named for; its safety requirements are those of
        /// that function: handles and addresses are alive, the context is current, ranges are as long as said.
        #[derive(Debug)]
        pub(super) struct Driver {
            version: (u32, u32),
            $($method: unsafe extern "C" fn($($type),*) -> c_uint,)*
        }

        impl Driver {
            fn load(version: (u32, u32)) -> Result<Driver, Unavailable> {
                for function in USED_BY_CUDARC {
                    // SAFETY: the pointer is only compared with nothing, not called.
                    unsafe { self::function::<*const c_void>(function) }.ok_or(Unavailable::Lacks { function })?;
                }
                Ok(Driver {
                    version,
                    // SAFETY: the types below are those of the driver's interface, which never change under a name.
                    $($method: unsafe { function($symbol) }.ok_or(Unavailable::Lacks { function: $symbol })?,)*
                })
            }

            $(
                #[inline]
                #[allow(clippy::too_many_arguments, reason = "as the driver has them")]
                pub(super) unsafe fn $method(&self, $($argument: $type),*) -> Result<()> {
                    // SAFETY: the caller keeps the requirements of the driver's function.
                    check(unsafe { (self.$method)($($argument),*) }, $symbol)
                }
            )*
        }
    };
}

impl Driver {
    /// The CUDA version that the driver supports: major, minor.
    pub(super) fn version(&self) -> (u32, u32) {
        self.version
    }
}

functions! {
    fn device_get_count = "cuDeviceGetCount"(count: *mut c_int);
    fn device_get = "cuDeviceGet"(device: *mut CUdevice, ordinal: c_int);
    fn device_get_name = "cuDeviceGetName"(name: *mut c_char, size: c_int, device: CUdevice);
    fn device_total_mem = "cuDeviceTotalMem_v2"(bytes: *mut usize, device: CUdevice);
    fn device_get_attribute = "cuDeviceGetAttribute"(value: *mut c_int, attribute: c_uint, device: CUdevice);

    fn context_get_current = "cuCtxGetCurrent"(context: *mut CUcontext);
    fn context_set_current = "cuCtxSetCurrent"(context: CUcontext);
    fn context_synchronize = "cuCtxSynchronize"();

    fn stream_create = "cuStreamCreate"(stream: *mut CUstream, flags: c_uint);
    fn stream_destroy = "cuStreamDestroy_v2"(stream: CUstream);
    fn stream_synchronize = "cuStreamSynchronize"(stream: CUstream);
    fn stream_begin_capture = "cuStreamBeginCapture_v2"(stream: CUstream, mode: c_uint);
    fn stream_end_capture = "cuStreamEndCapture"(stream: CUstream, graph: *mut CUgraph);
    fn stream_is_capturing = "cuStreamIsCapturing"(stream: CUstream, status: *mut c_uint);
    fn stream_wait_event = "cuStreamWaitEvent"(stream: CUstream, event: CUevent, flags: c_uint);
    fn stream_attach = "cuStreamAttachMemAsync"(stream: CUstream, address: CUdeviceptr, length: usize, flags: c_uint);

    fn graph_instantiate = "cuGraphInstantiateWithFlags"(
        executable: *mut CUgraphExec,
        graph: CUgraph,
        flags: c_ulonglong,
    );
    fn graph_launch = "cuGraphLaunch"(executable: CUgraphExec, stream: CUstream);
    fn graph_exec_update = "cuGraphExecUpdate_v2"(executable: CUgraphExec, graph: CUgraph, result: *mut UpdateResult);
    fn graph_destroy = "cuGraphDestroy"(graph: CUgraph);
    fn graph_exec_destroy = "cuGraphExecDestroy"(executable: CUgraphExec);

    fn event_create = "cuEventCreate"(event: *mut CUevent, flags: c_uint);
    fn event_destroy = "cuEventDestroy_v2"(event: CUevent);
    fn event_record = "cuEventRecord"(event: CUevent, stream: CUstream);
    fn event_synchronize = "cuEventSynchronize"(event: CUevent);
    fn event_elapsed_time = "cuEventElapsedTime"(milliseconds: *mut f32, start: CUevent, end: CUevent);

    fn mem_get_info = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
    fn mem_alloc = "cuMemAlloc_v2"(address: *mut CUdeviceptr, bytes: usize);
    fn mem_free = "cuMemFree_v2"(address: CUdeviceptr);
    fn mem_alloc_from_pool = "cuMemAllocFromPoolAsync"(
        address: *mut CUdeviceptr,
        bytes: usize,
        pool: CUmemoryPool,
        stream: CUstream,
    );
    fn mem_free_async = "cuMemFreeAsync"(address: CUdeviceptr, stream: CUstream);
    fn pool_create = "cuMemPoolCreate"(pool: *mut CUmemoryPool, properties: *const PoolProperties);
    fn pool_destroy = "cuMemPoolDestroy"(pool: CUmemoryPool);
    fn pool_trim = "cuMemPoolTrimTo"(pool: CUmemoryPool, keep: usize);
    fn pool_set_attribute = "cuMemPoolSetAttribute"(pool: CUmemoryPool, attribute: c_uint, value: *mut c_void);
    fn pool_get_attribute = "cuMemPoolGetAttribute"(pool: CUmemoryPool, attribute: c_uint, value: *mut c_void);
    fn mem_host_alloc = "cuMemHostAlloc"(host: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn mem_host_get_device_pointer = "cuMemHostGetDevicePointer_v2"(
        address: *mut CUdeviceptr,
        host: *mut c_void,
        flags: c_uint,
    );
    fn mem_free_host = "cuMemFreeHost"(host: *mut c_void);
    fn mem_alloc_managed = "cuMemAllocManaged"(address: *mut CUdeviceptr, bytes: usize, flags: c_uint);
    fn mem_prefetch = "cuMemPrefetchAsync"(
        address: CUdeviceptr,
        bytes: usize,
        destination: CUdevice,
        stream: CUstream,
    );

    fn memcpy_to_device = "cuMemcpyHtoDAsync_v2"(
        to: CUdeviceptr,
        from: *const c_void,
        bytes: usize,
        stream: CUstream,
    );
    fn memcpy_to_host = "cuMemcpyDtoHAsync_v2"(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn memcpy = "cuMemcpyAsync"(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    fn memset = "cuMemsetD8Async"(address: CUdeviceptr, value: c_uchar, bytes: usize, stream: CUstream);

    fn module_load = "cuModuleLoadDataEx"(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut c_uint,
        values: *mut *mut c_void,
    );
    fn module_unload = "cuModuleUnload"(module: CUmodule);
    fn module_get_function = "cuModuleGetFunction"(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    fn function_get_attribute = "cuFuncGetAttribute"(value: *mut c_int, attribute: c_uint, function: CUfunction);
    fn function_set_attribute = "cuFuncSetAttribute"(function: CUfunction, attribute: c_uint, value: c_int);
    fn occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"(
        blocks: *mut c_int,
        function: CUfunction,
        threads: c_int,
        dynamic_shared: usize,
    );
    fn launch = "cuLaunchKernel"(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    fn launch_ex = "cuLaunchKernelEx"(
        config: *const LaunchExConfig,
        function: CUfunction,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );
    fn launch_cooperative = "cuLaunchCooperativeKernel"(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
    );
}

#[cfg(test)]
mod tests {
    use super::version_pair;

    #[test]
    fn reads_versions() {
        assert_eq!(version_pair(11000), (11, 0));
        assert_eq!(version_pair(12040), (12, 4));
        assert_eq!(version_pair(13010), (13, 1));
        assert_eq!(version_pair(-1), (0, 0));
    }
}
