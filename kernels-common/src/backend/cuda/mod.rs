//! NVIDIA GPUs, through the driver.
//!
//! The context is cudarc's, so that it can be shared with other users of cudarc; see [`crate::interop`]. All calls go
//! through the table in [`driver`].

mod compile;
mod driver;
mod failure;
mod graph;
mod pool;
mod properties;

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{NonNull, null_mut, with_exposed_provenance_mut};
use std::sync::Arc;

use cudarc::driver::sys::{CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule, CUstream};
use cudarc::driver::{CudaContext, DriverError};
use ptx_sim::Counters;

use self::driver::{Driver, LaunchAttribute, LaunchExConfig, driver};
use self::graph::{Captures, Resource};
use self::pool::Pool;
use super::{Backend, HostMemory, KernelLimits, RawEvent, RawExecutable, RawGraph, RawKernel, RawModule, RawStream};
use crate::argument::Argument;
use crate::device::Properties;
use crate::error::{Error, MemoryKind, Result};
use crate::launch::LaunchConfig;

/// Most arguments of a launch; [`crate::launch::Arguments`] has fewer.
const MAX_ARGUMENTS: usize = 16;

/// The least CUDA version of the driver for launches that overlap: since then they can be captured, too.
const OVERLAPPING_DRIVER: (u32, u32) = (12, 3);

/// The properties of every GPU that the driver shows.
pub(crate) fn list() -> Result<Vec<Properties>> {
    let driver = driver("cuda")?;
    let device = |ordinal| properties::read(driver, properties::handle(driver, ordinal)?, ordinal);
    (0..properties::count(driver)?).map(device).collect()
}

/// An error of cudarc's.
pub(crate) fn cudarc_error(error: DriverError, call: &'static str) -> Error {
    failure::error(error.0 as c_uint, call)
}

/// A GPU.
#[derive(Debug)]
pub(crate) struct Cuda {
    driver: &'static Driver,
    context: Arc<CudaContext>,
    properties: Properties,
    /// `None` if the device has no memory pools.
    pool: Option<Pool>,
    managed_memory: bool,
    captures: Arc<Captures>,
}

impl Cuda {
    /// Opens a GPU with its primary context, which all users in the process share.
    pub(crate) fn open(ordinal: usize) -> Result<Cuda> {
        let driver = driver(&format!("cuda:{ordinal}"))?;
        // This finds a device that does not exist before cudarc does.
        properties::handle(driver, ordinal)?;
        let context = CudaContext::new(ordinal).map_err(|error| cudarc_error(error, "cuDevicePrimaryCtxRetain"))?;
        Self::with_context(context)
    }

    /// Opens the GPU of a context.
    pub(crate) fn with_context(context: Arc<CudaContext>) -> Result<Cuda> {
        let ordinal = context.ordinal();
        let driver = driver(&format!("cuda:{ordinal}"))?;
        let device = context.cu_device();
        let properties = properties::read(driver, device, ordinal)?;
        let managed_memory = properties::has_managed_memory(driver, device)?;
        let captures = Captures::of(context.cu_ctx());
        let mut cuda = Cuda { driver, context, properties, pool: None, managed_memory, captures };
        cuda.bind()?;
        if cuda.properties.memory_pools {
            cuda.pool = Some(Pool::create(driver, device)?);
        }
        Ok(cuda)
    }

    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Makes the context current on this thread, if it is not, and returns the driver's functions.
    #[inline]
    fn bind(&self) -> Result<&'static Driver> {
        let mut current = null_mut();
        // SAFETY: the argument can be written to.
        unsafe { self.driver.context_get_current(&mut current)? };
        if current != self.context.cu_ctx() {
            // SAFETY: the context is alive for as long as `self` is.
            unsafe { self.driver.context_set_current(self.context.cu_ctx())? };
        }
        Ok(self.driver)
    }

    fn unsupported(&self, what: &'static str, instead: &'static str) -> Error {
        Error::Unsupported { device: self.properties.name.clone(), what, instead }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if let (Ok(driver), Some(pool)) = (self.bind(), &self.pool) {
            // SAFETY: this is the last use of the pool. Memory that was given to cudarc may outlive it.
            let _ = unsafe { pool.destroy(driver) };
        }
    }
}

// The driver's handles are addresses; the trait speaks in numbers.

pub(crate) fn stream(raw: RawStream) -> CUstream {
    with_exposed_provenance_mut(raw.0 as usize)
}

fn event(raw: RawEvent) -> CUevent {
    with_exposed_provenance_mut(raw.0 as usize)
}

fn module(raw: RawModule) -> CUmodule {
    with_exposed_provenance_mut(raw.0 as usize)
}

fn function(raw: RawKernel) -> CUfunction {
    with_exposed_provenance_mut(raw.0 as usize)
}

fn graph_of(raw: RawGraph) -> CUgraph {
    with_exposed_provenance_mut(raw.0 as usize)
}

fn executable(raw: RawExecutable) -> CUgraphExec {
    with_exposed_provenance_mut(raw.0 as usize)
}

/// The number of a handle.
pub(crate) fn number<T>(handle: *mut T) -> u64 {
    handle.expose_provenance() as u64
}

/// A number of bytes for the driver. The sizes come from memory that exists, so that they fit.
fn size(bytes: u64) -> usize {
    bytes as usize
}

impl Backend for Cuda {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory_info(&self) -> Result<(u64, u64)> {
        pool::memory_info(self.bind()?, self.pool.as_ref())
    }

    fn create_stream(&self) -> Result<RawStream> {
        /// Not held up by the default stream, which other parts of a program may use.
        const NON_BLOCKING: c_uint = 1;
        let mut stream = null_mut();
        // SAFETY: the argument can be written to.
        unsafe { self.bind()?.stream_create(&mut stream, NON_BLOCKING)? };
        Ok(RawStream(number(stream)))
    }

    unsafe fn destroy_stream(&self, raw: RawStream) {
        if let Ok(driver) = self.bind() {
            // SAFETY: the caller uses the stream no more; the driver finishes its work first. After a fault it fails,
            // and the stream goes with the process.
            let _ = unsafe { driver.stream_destroy(stream(raw)) };
        }
    }

    fn synchronize(&self, raw: RawStream) -> Result<()> {
        // SAFETY: the stream is alive.
        unsafe { self.bind()?.stream_synchronize(stream(raw)) }
    }

    fn is_capturing(&self, raw: RawStream) -> Result<bool> {
        let mut status = 0;
        // SAFETY: the stream is alive, and the argument can be written to.
        unsafe { self.bind()?.stream_is_capturing(stream(raw), &mut status)? };
        Ok(status != 0)
    }

    fn begin_capture(&self) -> Result<RawStream> {
        let raw = self.create_stream()?;
        // SAFETY: the stream is alive, and the context current since it was created.
        if let Err(error) = unsafe { self.captures.begin(self.driver, stream(raw)) } {
            // SAFETY: nobody knows the stream.
            unsafe { self.destroy_stream(raw) };
            return Err(error);
        }
        Ok(raw)
    }

    fn end_capture(&self, raw: RawStream) -> Result<RawGraph> {
        // Without its context the capture cannot be ended, nor anything else done.
        let driver = self.bind()?;
        // SAFETY: the stream is alive, and used no more after the capture.
        let graph = unsafe {
            let graph = self.captures.end(driver, stream(raw));
            self.destroy_stream(raw);
            graph
        };
        graph.map(|graph| RawGraph(number(graph)))
    }

    fn instantiate(&self, graph: RawGraph) -> Result<RawExecutable> {
        let mut executable = null_mut();
        // SAFETY: the graph is alive, and the argument can be written to.
        unsafe { self.bind()?.graph_instantiate(&mut executable, graph_of(graph), 0)? };
        Ok(RawExecutable(number(executable)))
    }

    fn update(&self, raw: RawExecutable, graph: RawGraph) -> Result<bool> {
        // SAFETY: both are alive.
        unsafe { graph::update(self.bind()?, executable(raw), graph_of(graph)) }
    }

    unsafe fn launch_graph(&self, raw: RawStream, graph: RawExecutable) -> Result<()> {
        // SAFETY: both are alive, and the caller keeps what the graph uses.
        unsafe { self.bind()?.graph_launch(executable(graph), stream(raw)) }
    }

    unsafe fn destroy_graph(&self, graph: RawGraph) {
        if let Ok(driver) = self.bind() {
            // SAFETY: the caller uses the graph no more.
            let _ = unsafe { driver.graph_destroy(graph_of(graph)) };
        }
    }

    unsafe fn destroy_executable(&self, raw: RawExecutable) {
        if let Ok(driver) = self.bind() {
            // SAFETY: the caller uses it no more. What is queued runs to its end, and is freed then.
            let _ = unsafe { driver.graph_exec_destroy(executable(raw)) };
        }
    }

    fn create_event(&self) -> Result<RawEvent> {
        let mut event = null_mut();
        // SAFETY: the argument can be written to. Flags 0: with timing.
        unsafe { self.bind()?.event_create(&mut event, 0)? };
        Ok(RawEvent(number(event)))
    }

    unsafe fn destroy_event(&self, raw: RawEvent) {
        if let Ok(driver) = self.bind() {
            // SAFETY: the caller uses the event no more.
            let _ = unsafe { driver.event_destroy(event(raw)) };
        }
    }

    fn record(&self, raw: RawEvent, on: RawStream) -> Result<()> {
        // SAFETY: both are alive.
        unsafe { self.bind()?.event_record(event(raw), stream(on)) }
    }

    fn wait(&self, raw: RawStream, until: RawEvent) -> Result<()> {
        // SAFETY: both are alive.
        unsafe { self.bind()?.stream_wait_event(stream(raw), event(until), 0) }
    }

    fn synchronize_event(&self, raw: RawEvent) -> Result<()> {
        // SAFETY: the event is alive.
        unsafe { self.bind()?.event_synchronize(event(raw)) }
    }

    fn elapsed_ms(&self, start: RawEvent, end: RawEvent) -> Result<f32> {
        let driver = self.bind()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are alive, and the argument can be written to.
        unsafe {
            driver.event_synchronize(event(start))?;
            driver.event_synchronize(event(end))?;
            driver.event_elapsed_time(&mut milliseconds, event(start), event(end))?;
        }
        Ok(milliseconds)
    }

    fn allocate(&self, raw: RawStream, bytes: u64) -> Result<u64> {
        let (driver, stream) = (self.bind()?, stream(raw));
        // SAFETY: the stream is alive.
        let wait = || unsafe { self.captures.synchronize(driver, stream) };
        pool::allocate(driver, self.pool.as_ref(), stream, bytes, wait)
    }

    unsafe fn free(&self, raw: RawStream, address: u64) {
        if let Ok(driver) = self.bind() {
            // SAFETY: the caller gives up the memory.
            unsafe { pool::free(driver, &self.captures, self.pool.is_some(), stream(raw), address) }
        }
    }

    fn allocate_pinned(&self, bytes: u64, write_combined: bool) -> Result<HostMemory> {
        const PORTABLE: c_uint = 1;
        const DEVICE_MAP: c_uint = 2;
        const WRITE_COMBINED: c_uint = 4;
        let driver = self.bind()?;
        let flags = PORTABLE | DEVICE_MAP | if write_combined { WRITE_COMBINED } else { 0 };
        let mut pointer: *mut c_void = null_mut();
        // SAFETY: the argument can be written to.
        unsafe { driver.mem_host_alloc(&mut pointer, size(bytes), flags) }
            .map_err(|error| pool::named(error, MemoryKind::Pinned, bytes, None))?;
        let host =
            NonNull::new(pointer.cast()).ok_or(Error::OutOfMemory { memory: MemoryKind::Pinned, bytes, free: None })?;
        let mut device = 0;
        // SAFETY: the allocation is mapped. If it cannot be named, nobody knows it and it is freed.
        unsafe {
            if let Err(error) = driver.mem_host_get_device_pointer(&mut device, pointer, 0) {
                let _ = driver.mem_free_host(pointer);
                return Err(error);
            }
        }
        Ok(HostMemory { host, device })
    }

    unsafe fn free_pinned(&self, memory: HostMemory) {
        if let Ok(driver) = self.bind() {
            // SAFETY: the caller gives up the memory.
            unsafe { self.captures.release(driver, Resource::Host(memory.host.as_ptr().cast())) };
        }
    }

    fn allocate_unified(&self, bytes: u64, attach_host: bool) -> Result<HostMemory> {
        const ATTACH_GLOBAL: c_uint = 1;
        const ATTACH_HOST: c_uint = 2;
        if !self.managed_memory {
            return Err(self.unsupported("unified memory", "Use pinned memory, or copy to device memory"));
        }
        let driver = self.bind()?;
        let flags = if attach_host { ATTACH_HOST } else { ATTACH_GLOBAL };
        let mut device = 0;
        // SAFETY: the argument can be written to.
        unsafe { driver.mem_alloc_managed(&mut device, size(bytes), flags) }
            .map_err(|error| pool::named(error, MemoryKind::Unified, bytes, None))?;
        // Unified memory has one address on both sides.
        let host = NonNull::new(with_exposed_provenance_mut(size(device))).ok_or(Error::OutOfMemory {
            memory: MemoryKind::Unified,
            bytes,
            free: None,
        })?;
        Ok(HostMemory { host, device })
    }

    unsafe fn free_unified(&self, memory: HostMemory) {
        if let Ok(driver) = self.bind() {
            // SAFETY: the caller gives up the memory.
            unsafe { self.captures.release(driver, Resource::Device(memory.device)) };
        }
    }

    fn attach_to_stream(&self, raw: RawStream, memory: HostMemory) -> Result<()> {
        const ATTACH_SINGLE: c_uint = 4;
        // The default stream's handles are null and 1. The driver cannot tie memory to it; where the host may use the
        // memory at any time, it need not.
        if raw.0 <= 1 {
            if self.properties.concurrent_managed_access {
                return Ok(());
            }
            return Err(self.unsupported("unified memory on the default stream", "Allocate it on another stream"));
        }
        // SAFETY: the stream and the memory are alive. Length 0: all of it.
        unsafe { self.bind()?.stream_attach(stream(raw), memory.device, 0, ATTACH_SINGLE) }
    }

    fn prefetch(&self, raw: RawStream, memory: HostMemory, bytes: u64, to_device: bool) -> Result<()> {
        const HOST: c_int = -1;
        let destination = if to_device { self.context.cu_device() } else { HOST };
        // SAFETY: the stream and the memory are alive.
        unsafe { self.bind()?.mem_prefetch(memory.device, size(bytes), destination, stream(raw)) }
    }

    unsafe fn copy_to_device(&self, raw: RawStream, to: u64, from: *const u8, bytes: u64) -> Result<()> {
        // SAFETY: the caller keeps both ranges.
        unsafe { self.bind()?.memcpy_to_device(to, from.cast(), size(bytes), stream(raw)) }
    }

    unsafe fn copy_to_host(&self, raw: RawStream, to: *mut u8, from: u64, bytes: u64) -> Result<()> {
        // SAFETY: the caller keeps both ranges.
        unsafe { self.bind()?.memcpy_to_host(to.cast(), from, size(bytes), stream(raw)) }
    }

    unsafe fn copy(&self, raw: RawStream, to: u64, from: u64, bytes: u64) -> Result<()> {
        // SAFETY: the caller keeps both ranges; the driver knows from the addresses where they are.
        unsafe { self.bind()?.memcpy(to, from, size(bytes), stream(raw)) }
    }

    unsafe fn fill_bytes(&self, raw: RawStream, address: u64, value: u8, bytes: u64) -> Result<()> {
        // SAFETY: the caller keeps the range.
        unsafe { self.bind()?.memset(address, value, size(bytes), stream(raw)) }
    }

    fn load(&self, name: &str, text: &str) -> Result<RawModule> {
        compile::load(self.bind()?, &self.properties, name, text).map(|module| RawModule(number(module)))
    }

    unsafe fn unload(&self, raw: RawModule) {
        if let Ok(driver) = self.bind() {
            // SAFETY: the caller uses no kernel of the module any more.
            unsafe { self.captures.release(driver, Resource::Module(module(raw))) };
        }
    }

    fn kernel(&self, raw: RawModule, name: &str) -> Result<(RawKernel, KernelLimits)> {
        let (function, limits) = compile::kernel(self.bind()?, &self.properties, module(raw), name)?;
        Ok((RawKernel(number(function)), limits))
    }

    fn blocks_per_multiprocessor(&self, kernel: RawKernel, threads: u32, dynamic_shared: u32) -> Result<u32> {
        let mut blocks = 0;
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        // SAFETY: the kernel is alive, and the argument can be written to.
        unsafe { self.bind()?.occupancy(&mut blocks, function(kernel), threads, dynamic_shared as usize)? };
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    fn prefer_shared(&self, kernel: RawKernel, percent: u32) -> Result<()> {
        const PREFERRED_SHARED: c_uint = 9;
        let percent = c_int::try_from(percent.min(100)).unwrap_or(100);
        // SAFETY: the kernel is alive.
        unsafe { self.bind()?.function_set_attribute(function(kernel), PREFERRED_SHARED, percent) }
    }

    unsafe fn launch(
        &self,
        raw: RawStream,
        kernel: RawKernel,
        config: &LaunchConfig,
        arguments: &[Argument],
    ) -> Result<()> {
        // On the stack: a launch allocates nothing.
        let mut parameters: [*mut c_void; MAX_ARGUMENTS] = [null_mut(); MAX_ARGUMENTS];
        if arguments.len() > MAX_ARGUMENTS {
            return Err(Error::TooLarge {
                what: "the number of arguments of a launch",
                asked: arguments.len() as u64,
                maximum: MAX_ARGUMENTS as u64,
            });
        }
        for (parameter, argument) in parameters.iter_mut().zip(arguments) {
            // Where the value is; the driver takes pointers to what it may change and only reads.
            *parameter = (&raw const argument.bytes).cast_mut().cast();
        }
        let driver = self.bind()?;
        let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (config.grid, config.block);
        let (function, stream, shared, parameters) =
            (function(kernel), stream(raw), config.shared_bytes, parameters.as_mut_ptr());
        // SAFETY: kernel and stream are alive; the caller's arguments fit the parameters, and the driver copies them
        // before it returns.
        unsafe {
            if config.cooperative {
                driver.launch_cooperative(
                    function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters,
                )
            } else if config.overlapping && driver.version() >= OVERLAPPING_DRIVER {
                let config = LaunchExConfig {
                    grid: config.grid,
                    block: config.block,
                    shared_bytes: shared,
                    stream,
                    attributes: &LaunchAttribute::OVERLAPPING,
                    attribute_count: 1,
                };
                driver.launch_ex(&raw const config, function, parameters, null_mut())
            } else {
                driver.launch(
                    function,
                    grid_x,
                    grid_y,
                    grid_z,
                    block_x,
                    block_y,
                    block_z,
                    shared,
                    stream,
                    parameters,
                    null_mut(),
                )
            }
        }
    }

    fn take_counters(&self) -> Option<Counters> {
        None
    }
}

#[cfg(test)]
mod tests;
