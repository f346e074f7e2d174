//! The two backends behind one trait. Nothing outside this folder asks which one it talks to.
//!
//! The trait speaks in plain handles and addresses; the public types own those handles, keep their backend alive and
//! hold the rules that make the safe interface sound. Each backend only has to do what it is told.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "sim")]
pub(crate) mod sim;

use std::any::Any;
use std::fmt::Debug;
use std::ptr::NonNull;

use ptx_sim::Counters;

use crate::argument::Argument;
use crate::device::Properties;
use crate::error::Result;
use crate::launch::LaunchConfig;

/// A stream of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawStream(pub(crate) u64);

/// An event of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawEvent(pub(crate) u64);

/// A loaded module of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawModule(pub(crate) u64);

/// A kernel within a loaded module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawKernel(pub(crate) u64);

/// Memory that host and device can both address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostMemory {
    /// Where the host sees it.
    pub(crate) host: NonNull<u8>,
    /// Where the device sees it.
    pub(crate) device: u64,
}

// SAFETY: two addresses; who uses the memory answers for how.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

/// A graph of work that was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawGraph(pub(crate) u64);

/// A graph made ready to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawExecutable(pub(crate) u64);

/// What a backend knows about a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelLimits {
    /// Most threads per block that the kernel's registers allow.
    pub(crate) threads_per_block: u32,
    /// Most bytes of dynamic shared memory that a launch may ask for.
    pub(crate) dynamic_shared: u32,
}

/// One device and all that can be done with it.
///
/// Handles and addresses passed in must come from the same backend and still be alive; operations on a stream happen
/// in the order they are given. Functions may be called from any thread.
pub(crate) trait Backend: Any + Debug + Send + Sync {
    fn properties(&self) -> &Properties;

    /// Free and total bytes of device memory.
    fn memory_info(&self) -> Result<(u64, u64)>;

    fn create_stream(&self) -> Result<RawStream>;
    /// # Safety
    /// The stream is not used afterwards. Work already on it is still done.
    unsafe fn destroy_stream(&self, stream: RawStream);
    /// Waits until all work on the stream is done, and reports an error that it met.
    fn synchronize(&self, stream: RawStream) -> Result<()>;

    /// Whether somebody else is capturing the work on the stream into a graph, instead of having it done.
    fn is_capturing(&self, stream: RawStream) -> Result<bool>;

    /// A new stream whose work is captured into a graph. It takes launches, copies within device-visible memory and
    /// fills, nothing else. Other streams are not affected.
    fn begin_capture(&self) -> Result<RawStream>;
    /// Ends a capture and destroys its stream, also where it fails.
    fn end_capture(&self, stream: RawStream) -> Result<RawGraph>;
    /// Makes a graph ready to launch; the graph itself is then no longer needed.
    fn instantiate(&self, graph: RawGraph) -> Result<RawExecutable>;
    /// Gives the work of `executable` the arguments, shapes and addresses of `graph`. `false` if the two are too
    /// different; what `executable` then does is a mixture of both. Launches that are queued already are not affected.
    fn update(&self, executable: RawExecutable, graph: RawGraph) -> Result<bool>;
    /// Queues all work of a graph, in its order.
    ///
    /// # Safety
    /// Kernels and memory that the graph uses are there until it is done.
    unsafe fn launch_graph(&self, stream: RawStream, executable: RawExecutable) -> Result<()>;
    /// # Safety
    /// The graph is not used afterwards.
    unsafe fn destroy_graph(&self, graph: RawGraph);
    /// # Safety
    /// It is not used afterwards. Launches that are queued already are still done.
    unsafe fn destroy_executable(&self, executable: RawExecutable);

    fn create_event(&self) -> Result<RawEvent>;
    /// # Safety
    /// The event is not used afterwards.
    unsafe fn destroy_event(&self, event: RawEvent);
    fn record(&self, event: RawEvent, stream: RawStream) -> Result<()>;
    /// Makes later work on the stream wait for the event.
    fn wait(&self, stream: RawStream, event: RawEvent) -> Result<()>;
    /// Makes the host wait for the event.
    fn synchronize_event(&self, event: RawEvent) -> Result<()>;
    /// Milliseconds from one recorded event to another; waits for both.
    fn elapsed_ms(&self, start: RawEvent, end: RawEvent) -> Result<f32>;

    /// Allocates at least one byte, in stream order where the device has a memory pool. 256-byte aligned.
    fn allocate(&self, stream: RawStream, bytes: u64) -> Result<u64>;
    /// # Safety
    /// The memory is not used by work that is given to any stream afterwards, nor by work on other streams that this
    /// stream has not waited for.
    unsafe fn free(&self, stream: RawStream, address: u64);
    fn allocate_pinned(&self, bytes: u64, write_combined: bool) -> Result<HostMemory>;
    /// # Safety
    /// No work uses the memory any more.
    unsafe fn free_pinned(&self, memory: HostMemory);
    /// Attached to the host if `attach_host`, else to all streams.
    fn allocate_unified(&self, bytes: u64, attach_host: bool) -> Result<HostMemory>;
    /// # Safety
    /// No work uses the memory any more.
    unsafe fn free_unified(&self, memory: HostMemory);
    /// Ties unified memory to a stream, so that the host may use it while other streams run.
    fn attach_to_stream(&self, stream: RawStream, memory: HostMemory) -> Result<()>;
    /// Moves unified memory to the device, or to the host, ahead of its use.
    fn prefetch(&self, stream: RawStream, memory: HostMemory, bytes: u64, to_device: bool) -> Result<()>;

    /// # Safety
    /// `to` is a device-visible range of `bytes`; `from` stays readable and unchanged until the copy is done.
    unsafe fn copy_to_device(&self, stream: RawStream, to: u64, from: *const u8, bytes: u64) -> Result<()>;
    /// # Safety
    /// `from` is a device-visible range of `bytes`; `to` stays writable, and untouched by others, until it is done.
    unsafe fn copy_to_host(&self, stream: RawStream, to: *mut u8, from: u64, bytes: u64) -> Result<()>;
    /// # Safety
    /// Both are device-visible ranges of `bytes` that do not overlap: device, pinned or unified memory.
    unsafe fn copy(&self, stream: RawStream, to: u64, from: u64, bytes: u64) -> Result<()>;
    /// # Safety
    /// `address` is a device-visible range of `bytes`.
    unsafe fn fill_bytes(&self, stream: RawStream, address: u64, value: u8, bytes: u64) -> Result<()>;

    /// Loads a PTX text. `name` and the texts' version and target are for messages.
    fn load(&self, name: &str, text: &str) -> Result<RawModule>;
    /// Waits for kernels of the module that are running.
    ///
    /// # Safety
    /// No kernel of the module is used afterwards.
    unsafe fn unload(&self, module: RawModule);
    /// A kernel of the module, which is known to have it.
    fn kernel(&self, module: RawModule, name: &str) -> Result<(RawKernel, KernelLimits)>;
    /// Blocks of that many threads that fit on one multiprocessor at once.
    fn blocks_per_multiprocessor(&self, kernel: RawKernel, threads: u32, dynamic_shared: u32) -> Result<u32>;
    /// Which share of the memory that is either first-level cache or shared memory should be the latter, in percent.
    fn prefer_shared(&self, kernel: RawKernel, percent: u32) -> Result<()>;
    /// # Safety
    /// `arguments` fit the kernel's parameters, the configuration keeps its limits, and the kernel touches only memory
    /// that is there for it until the launch is done.
    unsafe fn launch(
        &self,
        stream: RawStream,
        kernel: RawKernel,
        config: &LaunchConfig,
        arguments: &[Argument],
    ) -> Result<()>;

    /// Counters of all launches since the last call, where the device counts.
    fn take_counters(&self) -> Option<Counters>;
}
