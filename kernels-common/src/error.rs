//! The one error type of the runtime and of every kernel crate.

use std::fmt;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A kind of memory, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Memory of the device.
    Device,
    /// Page-locked host memory.
    Pinned,
    /// Memory that host and device share.
    Unified,
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemoryKind::Device => "device memory",
            MemoryKind::Pinned => "pinned host memory",
            MemoryKind::Unified => "unified memory",
        })
    }
}

/// Whether this build has the simulator.
const SIMULATOR: bool = cfg!(feature = "sim");

/// The end of the advice where there is no GPU.
fn or_simulate(simulator: bool) -> &'static str {
    if simulator { ", or open the device `sim`" } else { " (this build leaves out the simulator: feature `sim`)" }
}

/// Everything that can go wrong, each with what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver library could not be loaded.
    #[error(
        "no CUDA driver: the library {library} could not be loaded. Install an NVIDIA driver to use a GPU{}",
        or_simulate(SIMULATOR)
    )]
    NoDriver {
        /// The names that were tried.
        library: String,
    },

    /// The driver library is the toolkit's link-time stub.
    #[error(
        "the CUDA driver library that was found is a stub, which only serves for linking. Take the toolkit's `stubs` \
         folder out of LD_LIBRARY_PATH so that the real libcuda is found{}",
        or_simulate(SIMULATOR)
    )]
    StubDriver,

    /// The driver is older than this crate supports.
    #[error(
        "the CUDA driver is too old: it supports CUDA {}.{}, and {}.{} is needed. Update the NVIDIA driver{}",
        found.0, found.1, needed.0, needed.1, or_simulate(SIMULATOR)
    )]
    DriverTooOld {
        /// CUDA version that the driver supports: major, minor.
        found: (u32, u32),
        /// Least CUDA version that is needed: major, minor.
        needed: (u32, u32),
    },

    /// The driver lacks a function although its version says otherwise.
    #[error("the CUDA driver lacks `{function}`. Update or reinstall the NVIDIA driver{}", or_simulate(SIMULATOR))]
    DriverIncomplete {
        /// The missing function.
        function: &'static str,
    },

    /// There is no such GPU.
    #[error(
        "no device `{wanted}`: {}. `Device::list()` shows what there is{}",
        match found { 0 => "there is no GPU here (is CUDA_VISIBLE_DEVICES set?)".to_owned(),
                      1 => "there is one GPU, cuda:0".to_owned(),
                      n => format!("there are {n} GPUs, cuda:0 to cuda:{}", n - 1) },
        if SIMULATOR { "; the device `sim` is always there" } else { "" }
    )]
    NoDevice {
        /// The selector that was asked for.
        wanted: String,
        /// How many GPUs the driver shows.
        found: usize,
    },

    /// A device selector that cannot be read.
    #[error(
        "cannot read the device selector `{selector}`: {reason}. Use `auto`, `cuda`, `cuda:N`, `sim` or \
         `sim:OPTION=VALUE,…`"
    )]
    BadSelector {
        /// The text that was given.
        selector: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A device that an environment variable asks for cannot be had.
    #[error("the environment variable {variable} is `{value}`: {reason}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// The selector in it.
        value: String,
        /// Why there is no such device.
        reason: Box<Error>,
    },

    /// The backend was left out when the program was compiled.
    #[error(
        "the device `{wanted}` needs the feature `{feature}` of kernels-common, which this build leaves out. Enable it \
         in Cargo.toml, or open another device"
    )]
    BackendDisabled {
        /// The selector that was asked for.
        wanted: String,
        /// The cargo feature that would bring it.
        feature: &'static str,
    },

    /// An allocation does not fit.
    #[error(
        "out of memory: {bytes} bytes of {memory} were asked for{}. Use smaller inputs or free some buffers",
        free.map(|free| format!(", {free} bytes are free")).unwrap_or_default()
    )]
    OutOfMemory {
        /// Which memory.
        memory: MemoryKind,
        /// Bytes asked for.
        bytes: u64,
        /// Bytes free, where that is known.
        free: Option<u64>,
    },

    /// A number of elements whose size in bytes, or whose launch, cannot be represented.
    #[error(
        "too large: {what} is {asked}, and at most {maximum} is possible. Split the work into parts, or take a variant \
         whose threads take several elements each"
    )]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// What was asked for.
        asked: u64,
        /// The largest possible.
        maximum: u64,
    },

    /// Two things that must have equal lengths have not.
    #[error(
        "length mismatch: {what} has {found} elements where {expected} are needed. Pass a slice of that length: \
         `buffer.slice(range)` takes a part of a longer one"
    )]
    LengthMismatch {
        /// Which argument.
        what: &'static str,
        /// Elements needed.
        expected: usize,
        /// Elements found.
        found: usize,
    },

    /// A sub-range that does not lie within its slice.
    #[error("{what} does not lie within {len} {unit}. Neither end may lie past {len}, nor the start past the end")]
    OutOfRange {
        /// The range as it was asked for, such as `the range 2..=7`.
        what: String,
        /// How many there are.
        len: usize,
        /// Of what, such as `elements of type f32`, or `rows`.
        unit: String,
    },

    /// A matrix that does not fit its slice, or whose rows overlap.
    #[error(
        "no matrix of {rows} rows and {columns} columns with a pitch of {pitch} elements lies in a slice of {len} \
         elements: {}",
        misfit(*rows, *columns, *pitch)
    )]
    MatrixShape {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
        /// Elements from the start of one row to the start of the next.
        pitch: usize,
        /// Elements in the slice.
        len: usize,
    },

    /// A matrix has other rows and columns than are needed.
    #[error(
        "shape mismatch: {what} has {} rows and {} columns where {} rows and {} columns are needed. Pass a matrix of \
         that shape",
        found.0, found.1, expected.0, expected.1
    )]
    ShapeMismatch {
        /// Which argument.
        what: &'static str,
        /// Rows and columns needed.
        expected: (usize, usize),
        /// Rows and columns found.
        found: (usize, usize),
    },

    /// Elements of a size that no kernel is there for.
    #[error("no kernel moves elements of {size} bytes: there are kernels for {supported}. Use a type of such a size")]
    ElementSize {
        /// Bytes of an element.
        size: usize,
        /// The sizes that there are kernels for.
        supported: &'static str,
    },

    /// A buffer belongs to another stream than the operation.
    #[error(
        "stream mismatch: {what} belongs to another stream than the operation. Allocate it on this stream, or call \
         `move_to(&stream)` on its buffer first"
    )]
    StreamMismatch {
        /// Which argument.
        what: &'static str,
    },

    /// An argument of a launch belongs to another stream than the kernel.
    #[error(
        "stream mismatch: argument {index} of `{kernel}` (the first is 0) belongs to another stream than the kernel. \
         Allocate it on that stream, or call `move_to(&stream)` on its buffer first"
    )]
    ArgumentStream {
        /// The kernel.
        kernel: String,
        /// Which argument; the first is 0.
        index: usize,
    },

    /// Something of another [`Device`](crate::device::Device) than the operation's.
    #[error(
        "device mismatch: {what} belongs to another `Device` than the operation. Two calls of `Device::open` make two \
         devices, also of one GPU: open it once and clone the `Device`. Between devices, copy through the host"
    )]
    DeviceMismatch {
        /// What belongs elsewhere.
        what: String,
    },

    /// Something of another CUDA context than the device's.
    #[error(
        "context mismatch: {what} does not belong to the CUDA context of the device `{device}`. Make the device from \
         that context with `Device::from_cudarc`"
    )]
    ContextMismatch {
        /// What belongs elsewhere.
        what: &'static str,
        /// The device's selector.
        device: String,
    },

    /// Host code holds a reference into unified memory, and this device cannot run kernels meanwhile.
    #[error(
        "the host is using a unified buffer of this stream, and {device} cannot run kernels at the same time (no \
         concurrent managed access). Drop the host view first"
    )]
    HostAccess {
        /// The device's name.
        device: String,
    },

    /// An operation that cannot be part of a graph, on a stream whose work is being captured into one.
    #[error("the work of the stream is being captured into a graph, of which {what} cannot be a part. {instead}")]
    Capturing {
        /// The operation.
        what: &'static str,
        /// What to do instead, as a sentence without its full stop.
        instead: &'static str,
    },

    /// Memory that a graph uses, in an operation after which the graph could not use it.
    #[error(
        "a graph uses this memory, which rules out {what}. Drop the graph first, take the buffer out with \
         `into_resources`, or copy it to another buffer"
    )]
    InGraph {
        /// The operation.
        what: &'static str,
    },

    /// The host has a view of memory that a graph uses.
    #[error(
        "the host is using a pinned or unified buffer that the graph uses too. Drop the host view, then launch the \
         graph"
    )]
    GraphHostAccess,

    /// A graph that an update in which the driver failed has left without work.
    #[error(
        "the driver failed in an update of the graph, which has no work since then. Update it again, or capture another"
    )]
    GraphUpdate,

    /// A launch that breaks a limit of the device or of the kernel.
    #[error(
        "cannot launch `{kernel}`: {limit} is {asked}, and {} {maximum}. Change the launch configuration",
        if *asked == 0 { "must be from 1 to" } else { "the maximum is" }
    )]
    InvalidLaunch {
        /// The kernel.
        kernel: String,
        /// Which limit.
        limit: &'static str,
        /// What the launch asks for.
        asked: u64,
        /// The largest possible.
        maximum: u64,
    },

    /// A block size that a variant of a kernel is not made for.
    #[error(
        "`{variant}` cannot run with {block} threads in a block: it takes {takes}. Choose such a block, or another \
         variant"
    )]
    InvalidBlock {
        /// The variant.
        variant: &'static str,
        /// Threads of a block that were asked for.
        block: u32,
        /// The block sizes that it takes.
        takes: &'static str,
    },

    /// An element type that a variant of a kernel is not made for.
    #[error("`{variant}` cannot take elements of type {element}: it takes {takes}. Choose another variant")]
    InvalidElement {
        /// The variant.
        variant: &'static str,
        /// The element type that was asked for.
        element: &'static str,
        /// The element types that it takes.
        takes: &'static str,
    },

    /// A cooperative launch whose blocks cannot all be resident at once.
    #[error(
        "cannot launch `{kernel}` cooperatively: {asked} blocks were asked for, and at most {maximum} can be resident \
         at once on this device. Launch at most {maximum} blocks and let each do more work"
    )]
    CooperativeTooLarge {
        /// The kernel.
        kernel: String,
        /// Blocks asked for.
        asked: u64,
        /// Blocks that can be resident.
        maximum: u64,
    },

    /// The PTX text cannot be read.
    #[error("cannot read PTX: {0}. Correct that place, or compile the kernel again")]
    PtxSyntax(#[from] ptx_sim::ptx::ParseError),

    /// The device, or its driver, refused the PTX.
    #[error("module `{module}` (PTX {version}, target {target}) was rejected: {reason}")]
    PtxRejected {
        /// The module.
        module: String,
        /// Its `.version`.
        version: String,
        /// Its `.target`.
        target: String,
        /// The reason and what to do, and the driver's JIT log where there is one.
        reason: String,
    },

    /// No PTX variant of the module can run on the device.
    #[error(
        "module `{module}` has no PTX for compute capability {}.{}: its variants need {needed}. Use a newer device, or \
         the device `sim` (with an option `cc=…` that is high enough, if it has one)",
        capability.0, capability.1
    )]
    NoVariant {
        /// The module.
        module: String,
        /// The device's compute capability.
        capability: (u32, u32),
        /// The capabilities of the variants.
        needed: String,
    },

    /// The module has no such kernel.
    #[error(
        "module `{module}` has no kernel `{kernel}`; it has: {available}. Ask for a name as it stands in the PTX; \
         `extern \"C\"` keeps that of the source"
    )]
    UnknownKernel {
        /// The kernel that was asked for.
        kernel: String,
        /// The module.
        module: String,
        /// The kernels that it has.
        available: String,
    },

    /// The arguments of a launch do not fit the kernel's parameters.
    #[error(
        "cannot launch `{kernel}`: {reason}. Its parameters are ({parameters}): pass one value for each, of that size, \
         and a slice for a pointer"
    )]
    ArgumentMismatch {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        reason: String,
        /// The kernel's parameters, as its PTX declares them.
        parameters: String,
    },

    /// What was asked for is not possible on this device.
    #[error("{device} does not support {what}. {instead}")]
    Unsupported {
        /// The device's name.
        device: String,
        /// What was asked for.
        what: &'static str,
        /// What to do instead, as a sentence without its full stop.
        instead: &'static str,
    },

    /// The simulator found a fault in a kernel.
    ///
    /// The stream goes on: later work runs, on memory as the fault left it. A GPU reports a fault as [`Error::Driver`]
    /// from a call that waits or comes later, and from then on runs nothing in this process: every call fails with that
    /// error until the process ends.
    #[error("{0}")]
    Fault(#[from] Box<ptx_sim::Fault>),

    /// The simulator cannot run a kernel.
    #[error("the simulator cannot load the kernel: {0}")]
    SimulatorLoad(String),

    /// An access of the host to simulated memory went wrong. Safe code does not get here.
    #[error(
        "simulated memory: {0}. Check what was passed to `DeviceBuffer::from_raw`, and that nothing is used after \
         `DeviceBuffer::into_raw`"
    )]
    SimulatorMemory(String),

    /// Any other error of the CUDA driver.
    #[error("CUDA error {code} ({name}) from {call}: {meaning}")]
    Driver {
        /// The driver's error number.
        code: u32,
        /// Its name, such as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        name: String,
        /// The driver function that returned it.
        call: &'static str,
        /// What the driver says about it, and what to do.
        meaning: String,
    },
}

/// Why a matrix does not fit, and what would.
fn misfit(rows: usize, columns: usize, pitch: usize) -> String {
    if pitch < columns {
        return format!("its rows overlap. Pass a pitch of at least {columns}");
    }
    // In 128 bits, since what asks for too much may not fit 64.
    let span = (rows.max(1) - 1) as u128 * pitch as u128 + columns as u128;
    format!("it takes {span}. Pass a slice that long, or fewer rows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulator_is_advised_where_there_is_one() {
        assert!(or_simulate(true).contains("open the device `sim`"));
        assert!(!or_simulate(false).contains("open") && or_simulate(false).contains("feature `sim`"));
        let error = Error::NoDriver { library: "libcuda.so.1".to_owned() }.to_string();
        assert!(error.ends_with(or_simulate(cfg!(feature = "sim"))), "{error}");
    }

    #[test]
    fn every_text_names_the_thing_and_says_what_to_do() {
        let name = |name: &str| name.to_owned();
        let table: [(Error, &[&str]); 31] = [
            (Error::NoDriver { library: name("libcuda.so") }, &["libcuda.so", "Install an NVIDIA driver"]),
            (Error::StubDriver, &["stub", "out of LD_LIBRARY_PATH"]),
            (Error::DriverTooOld { found: (11, 4), needed: (12, 0) }, &["CUDA 11.4", "12.0 is needed", "Update"]),
            (Error::DriverIncomplete { function: "cuInit" }, &["`cuInit`", "reinstall"]),
            (
                Error::NoDevice { wanted: name("cuda:7"), found: 2 },
                &["`cuda:7`", "cuda:0 to cuda:1", "`Device::list()`"],
            ),
            (Error::BadSelector { selector: name("gpu"), reason: name("why") }, &["`gpu`", "why", "Use `auto`"]),
            (
                Error::Variable { variable: "THERE", value: name("sim"), reason: Box::new(Error::StubDriver) },
                &["variable THERE is `sim`: the CUDA driver library", "out of LD_LIBRARY_PATH"],
            ),
            (Error::BackendDisabled { wanted: name("sim"), feature: "sim" }, &["`sim`", "Enable it in Cargo.toml"]),
            (
                Error::OutOfMemory { memory: MemoryKind::Unified, bytes: 10, free: Some(5) },
                &["10 bytes of unified memory", "5 bytes are free", "smaller inputs"],
            ),
            (Error::TooLarge { what: "the side", asked: 9, maximum: 8 }, &["the side is 9", "at most 8", "Split"]),
            (Error::LengthMismatch { what: "y", expected: 3, found: 4 }, &["y has 4", "3 are needed", "Pass a slice"]),
            (
                Error::OutOfRange { what: name("the range 1..5"), len: 4, unit: name("elements of type f32") },
                &["the range 1..5 does", "4 elements of type f32", "may lie past 4"],
            ),
            (
                Error::MatrixShape { rows: 3, columns: 4, pitch: 5, len: 13 },
                &["3 rows", "4 columns", "pitch of 5", "13 elements", "takes 14. Pass a slice"],
            ),
            (
                Error::MatrixShape { rows: 3, columns: 4, pitch: 3, len: 13 },
                &["pitch of 3", "overlap. Pass a pitch of at least 4"],
            ),
            (
                Error::ShapeMismatch { what: "the output", expected: (3, 2), found: (2, 5) },
                &["the output has 2 rows and 5 columns", "3 rows and 2 columns", "Pass a matrix"],
            ),
            (Error::ElementSize { size: 3, supported: "1 and 2 bytes" }, &["3 bytes", "1 and 2 bytes", "Use a type"]),
            (Error::StreamMismatch { what: "x" }, &["x belongs to another stream", "move_to"]),
            (Error::ArgumentStream { kernel: name("k"), index: 2 }, &["argument 2 of `k`", "move_to"]),
            (Error::DeviceMismatch { what: name("x") }, &["x belongs to another `Device`", "open it once"]),
            (Error::ContextMismatch { what: "the view", device: name("sim") }, &["the view", "`sim`", "from_cudarc"]),
            (Error::Capturing { what: "an event", instead: "Do that" }, &["captured", "an event cannot", "Do that"]),
            (Error::InGraph { what: "a move" }, &["a graph", "rules out a move", "into_resources"]),
            (Error::GraphHostAccess, &["the host is using", "Drop the host view"]),
            (Error::GraphUpdate, &["an update of the graph", "Update it again"]),
            (Error::HostAccess { device: name("GPU") }, &["GPU cannot run", "Drop the host view"]),
            (
                Error::InvalidLaunch { kernel: name("k"), limit: "the grid", asked: 9, maximum: 8 },
                &["`k`", "the grid is 9", "maximum is 8", "Change"],
            ),
            (
                Error::CooperativeTooLarge { kernel: name("k"), asked: 9, maximum: 8 },
                &["`k`", "9 blocks", "Launch at most 8"],
            ),
            (
                Error::UnknownKernel { kernel: name("k"), module: name("m"), available: name("a, b") },
                &["`m`", "`k`", "it has: a, b", "Ask for a name"],
            ),
            (
                Error::ArgumentMismatch { kernel: name("k"), reason: name("why"), parameters: name("u64") },
                &["`k`", "why", "(u64)", "pass one value for each"],
            ),
            (Error::Unsupported { device: name("GPU"), what: "this", instead: "Do that" }, &["GPU", "this. Do that"]),
            (
                Error::NoVariant { module: name("m"), capability: (7, 0), needed: name("7.5") },
                &["`m`", "7.0", "need 7.5", "newer device"],
            ),
        ];
        for (error, parts) in table {
            let text = error.to_string();
            for part in parts {
                assert!(text.contains(part), "{part} in {text}");
            }
            assert!(!text.ends_with('.') && !text.contains("  "), "{text}");
        }
    }
}
