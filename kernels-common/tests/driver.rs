//! Drivers that are missing, broken, too old or only a stub: each a distinct error that says what to do, never a panic.
//!
//! Every test starts its own program again, with a library of its making in the place of the driver's.

#![cfg(all(feature = "cuda", feature = "sim", target_os = "linux"))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::process::{Command, Stdio};

use kernels_common::device::Device;
use kernels_common::error::{Error, Result};
use kernels_common::graph::Graph;
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{DeviceBuffer, PinnedBuffer, PinnedKind};
use kernels_common::module;
use kernels_common::stream::Stream;
use kernels_common::testing;
use tempfile::TempDir;

/// The system's allocator, which counts what each thread asks for.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is done by the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller says; it came from the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Tells the program that it is the child.
const CHILD: &str = "KERNELS_COMMON_DRIVER_TEST";
const SELECTORS: [&str; 4] = ["cuda", "cuda:7", "auto", "sim"];

/// Whether this is the child. If so, a panic ends it from now on as with panic=abort, even one that would be caught.
fn abort_if_child() -> bool {
    if std::env::var_os(CHILD).is_none() {
        return false;
    }
    std::panic::set_hook(Box::new(|panic| {
        println!("{panic}");
        std::process::abort();
    }));
    true
}

/// In the child, opens devices, prints what happened and returns true.
fn is_child() -> bool {
    if !abort_if_child() {
        return false;
    }
    for selector in SELECTORS {
        match Device::open(selector) {
            Ok(device) => {
                let opened = &device.properties().selector;
                let buffer = device.stream().and_then(|stream| stream.upload(&[1u8, 2]));
                assert_eq!(buffer.and_then(|buffer| buffer.download()).unwrap(), [1, 2]);
                println!("{selector}> Ok {opened}: {}", device.fallback_reason().unwrap_or("as asked"));
            }
            Err(error) => println!("{selector}> {error:?}\n{selector}> {error}"),
        }
    }
    let devices: Vec<String> = Device::list().into_iter().map(|device| device.selector).collect();
    println!("list> {}", devices.join(" "));
    true
}

/// What a child printed.
struct Report(String);

impl Report {
    /// The lines for one selector.
    fn of(&self, selector: &str) -> Vec<&str> {
        let prefix = format!("{selector}> ");
        let lines: Vec<&str> =
            self.0.lines().filter_map(|line| line.split_once(&prefix)).map(|(_, line)| line).collect();
        assert!(!lines.is_empty(), "nothing about `{selector}` in:\n{}", self.0);
        lines
    }

    /// The GPU cannot be had because of the error of that name, whose text has `advice` in it; the simulator takes its
    /// place only where that is allowed, and says why.
    fn expect(&self, error: &str, advice: &str) {
        for selector in ["cuda", "cuda:7"] {
            let [debug, text] = self.of(selector)[..] else { panic!("{}", self.0) };
            assert!(debug.starts_with(error), "{selector}: {debug}");
            assert!(text.contains(advice), "{selector}: {text}");
        }
        let [auto] = self.of("auto")[..] else { panic!("{}", self.0) };
        assert!(auto.starts_with("Ok sim: ") && auto.contains(advice), "{auto}");
        assert_eq!(self.of("sim"), ["Ok sim: as asked"]);
        assert_eq!(self.of("list"), ["sim"]);
    }
}

/// Runs the test `name` again as a child, which finds its libraries in `libraries` first.
fn run_child(name: &str, libraries: &Path) -> Report {
    run(name, |child| child.env("LD_LIBRARY_PATH", libraries).env_remove("LD_PRELOAD"))
}

/// Runs the test `name` again as a child, in an environment that `adapt` makes.
fn run(name: &str, adapt: impl FnOnce(&mut Command) -> &mut Command) -> Report {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    let output = adapt(command.env_remove(Device::SELECTOR_VARIABLE)).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}:\n{text}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    Report(text)
}

/// A folder with a driver library made from C. `None`, with a line that says so, where there is no C compiler.
fn driver(source: &str) -> Option<TempDir> {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("driver.c");
    std::fs::write(&file, source).unwrap();
    // The name that is tried first, so that a real driver is not found.
    let library = folder.path().join("libcuda.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    match Command::new(&compiler).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&file).output() {
        Ok(output) if output.status.success() => Some(folder),
        Ok(output) => panic!("{compiler}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            println!("skipped: {compiler}: {error}");
            None
        }
    }
}

/// A driver whose start ends with `status`, of CUDA version `version`, without any other function.
fn driver_with(status: u32, version: u32) -> Option<TempDir> {
    driver(&format!(
        "int cuInit(unsigned flags) {{ return {status}; }}\n\
         int cuDriverGetVersion(int *version) {{ *version = {version}; return 0; }}\n"
    ))
}

#[test]
fn files_that_are_no_libraries() {
    if is_child() {
        return;
    }
    let folder = TempDir::new().unwrap();
    for name in ["cuda", "nvcuda"].iter().flat_map(|library| cudarc::get_lib_name_candidates(library)) {
        std::fs::write(folder.path().join(name), "not a library, and longer than the header of one\n".repeat(9))
            .unwrap();
    }
    run_child("files_that_are_no_libraries", folder.path()).expect("NoDriver", "Install an NVIDIA driver");
}

#[test]
fn no_driver_library() {
    if is_child() {
        return;
    }
    // SAFETY: loads the driver's library if there is one, as the tests of the GPU do.
    if unsafe { cudarc::driver::sys::is_culib_present() } {
        println!("skipped: this machine has a driver");
        return;
    }
    let folder = TempDir::new().unwrap();
    let advice = "libcuda.so.1 (or libcuda.so) could not be loaded. Install an NVIDIA driver";
    run_child("no_driver_library", folder.path()).expect("NoDriver", advice);
}

#[test]
fn the_stub_for_linking() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(34, 13000) else { return };
    run_child("the_stub_for_linking", folder.path()).expect("StubDriver", "Take the toolkit's `stubs` folder out");
}

#[test]
fn a_driver_without_a_gpu() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(100, 13000) else { return };
    let report = run_child("a_driver_without_a_gpu", folder.path());
    report.expect("NoDevice", "there is no GPU here");
    assert!(report.of("cuda:7")[1].contains("`cuda:7`"), "{}", report.0);
}

#[test]
fn every_gpu_is_hidden() {
    if is_child() {
        return;
    }
    if testing::gpu().is_none() {
        return;
    }
    let report = run("every_gpu_is_hidden", |child| child.env("CUDA_VISIBLE_DEVICES", ""));
    report.expect("NoDevice", "is CUDA_VISIBLE_DEVICES set?");
}

#[test]
fn a_driver_that_is_too_old() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(0, 11000) else { return };
    let report = run_child("a_driver_that_is_too_old", folder.path());
    report.expect("DriverTooOld", "it supports CUDA 11.0, and 12.0 is needed");
}

#[test]
fn an_old_driver_that_fails_to_start() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(999, 11040) else { return };
    let report = run_child("an_old_driver_that_fails_to_start", folder.path());
    report.expect("DriverTooOld", "it supports CUDA 11.4, and 12.0 is needed");
}

#[test]
fn a_driver_that_fails_to_start() {
    if is_child() {
        return;
    }
    // 803: the library does not fit the kernel module, as after an update without a restart.
    let Some(folder) = driver_with(803, 13000) else { return };
    run_child("a_driver_that_fails_to_start", folder.path()).expect("Driver { code: 803", "restart the machine");
}

#[test]
fn a_driver_that_lacks_functions() {
    if is_child() {
        return;
    }
    let Some(folder) = driver_with(0, 13000) else { return };
    let report = run_child("a_driver_that_lacks_functions", folder.path());
    report.expect("DriverIncomplete", "Update or reinstall the NVIDIA driver");
}

#[test]
fn a_library_that_is_no_driver() {
    if is_child() {
        return;
    }
    let Some(folder) = driver("int unrelated(void) { return 0; }\n") else { return };
    run_child("a_library_that_is_no_driver", folder.path()).expect("DriverIncomplete", "lacks `cuInit`");
}

#[test]
fn a_gpu_that_is_not_there() {
    let error = Device::open("cuda:4000000000").unwrap_err();
    assert!(!error.to_string().is_empty());
    assert!(Device::open("sim").is_ok());
}

/// A driver with one GPU of compute capability 7.5, which takes all work and does none of it. It refuses modules with
/// the status in the variable `REFUSE`, and after a launch everything with status 700.
const OBLIGING: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define TAKE(name) int name(void) { return status; }
#define ASK(name, type, value) int name(type *out) { *out = (type)(value); return status; }

static int status = 0;

int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strncpy(name, "Obliging", size); return 0; }
int cuDeviceGetAttribute(int *value, unsigned attribute, int device) {
    /* Capability, and memory pools, of which it has none. */
    *value = attribute == 75 ? 7 : attribute == 76 ? 5 : attribute == 115 ? 0 : 1024;
    return 0;
}
ASK(cuDeviceGetCount, int, 1)
ASK(cuDeviceGet, int, 0)
ASK(cuDeviceTotalMem_v2, size_t, 1 << 30)
ASK(cuDevicePrimaryCtxRetain, void *, 64)
ASK(cuCtxGetCurrent, void *, 64)
ASK(cuStreamCreate, void *, 128)
ASK(cuEventCreate, void *, 192)
ASK(cuMemAlloc_v2, unsigned long long, 4096)
ASK(cuMemHostGetDevicePointer_v2, unsigned long long, 8192)
ASK(cuModuleGetFunction, void *, 256)
ASK(cuFuncGetAttribute, int, 1024)
int cuMemHostAlloc(void **host, size_t bytes, unsigned flags) { *host = calloc(bytes, 1); return status; }
int cuMemFreeHost(void *host) { free(host); return status; }
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, unsigned *options, void **values) {
    const char *refuse = getenv("REFUSE");
    for (unsigned i = 0; refuse && i < count; ++i) {
        if (options[i] == 5) {
            strcpy(values[i], "ptxas application ptx input, line 7; fatal   : Parsing error near '.wreck'");
        }
    }
    *module = (void *)320;
    return refuse ? atoi(refuse) : status;
}
int cuLaunchKernel(void) { status = 700; return 0; }
int cuLaunchKernelEx(void) { status = 700; return 0; }

TAKE(cuDevicePrimaryCtxRelease_v2) TAKE(cuCtxSetCurrent)
TAKE(cuStreamDestroy_v2) TAKE(cuStreamSynchronize) TAKE(cuStreamIsCapturing) TAKE(cuStreamWaitEvent)
TAKE(cuStreamAttachMemAsync) TAKE(cuEventDestroy_v2) TAKE(cuEventRecord) TAKE(cuEventSynchronize)
TAKE(cuEventElapsedTime) TAKE(cuMemGetInfo_v2) TAKE(cuMemFree_v2) TAKE(cuMemAllocFromPoolAsync)
TAKE(cuMemFreeAsync) TAKE(cuMemPoolCreate) TAKE(cuMemPoolDestroy) TAKE(cuMemPoolTrimTo)
TAKE(cuMemPoolSetAttribute) TAKE(cuMemPoolGetAttribute) TAKE(cuMemAllocManaged) TAKE(cuMemPrefetchAsync)
TAKE(cuMemcpyHtoDAsync_v2) TAKE(cuMemcpyDtoHAsync_v2) TAKE(cuMemcpyAsync) TAKE(cuMemsetD8Async)
TAKE(cuFuncSetAttribute) TAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
TAKE(cuLaunchCooperativeKernel) TAKE(cuGraphLaunch) TAKE(cuGraphDestroy)

/* A capture ends with the status in the variable CAPTURE, or 901 if anybody waited for the context meanwhile; an update
   of a graph with that in UPDATE; and the second graph is refused once with that in INSTANTIATE. */
static int variable(const char *name) { return getenv(name) ? atoi(getenv(name)) : status; }
static int capturing = 0, invalid = 0;
static long executables = 0, destroyed = 0;
int cuStreamBeginCapture_v2(void) { ++capturing; return status; }
int cuStreamEndCapture(void *stream, void **graph) {
    *graph = (void *)384;
    return --capturing, invalid ? 901 : variable("CAPTURE");
}
int cuCtxSynchronize(void) { return capturing ? (invalid = 1, 900) : status; }
int cuModuleUnload(void) { return puts("module> unloaded"), fflush(stdout), status; }
int cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
    if (executables == 1 && getenv("INSTANTIATE")) {
        int refused = variable("INSTANTIATE");
        unsetenv("INSTANTIATE");
        return refused;
    }
    *out = (void *)++executables;
    return status;
}
int cuGraphExecUpdate_v2(void *executable, void *graph, void *result) { return variable("UPDATE"); }
int cuGraphExecDestroy(void *executable) {
    /* In the order in which they were made. */
    return (long)executable == ++destroyed ? status : (abort(), 1);
}
"#;

const EMPTY_KERNEL: &str =
    ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry nothing(.param .u64 .ptr x) { ret; }\n";

#[test]
fn a_driver_that_refuses_a_module() {
    if abort_if_child() {
        let stream = Device::open("cuda").unwrap().stream().unwrap();
        match module::load_text(&stream, "nothing.ptx", EMPTY_KERNEL, ["nothing"]) {
            Err(error @ Error::PtxRejected { .. }) => println!("load> {}", error.to_string().replace('\n', " ")),
            other => panic!("{other:?}"),
        }
        return;
    }
    let Some(folder) = driver(OBLIGING) else { return };
    let of_device = "compute capability 7.5: compile the kernel for sm_75";
    for (status, cause) in [
        ("222", "this driver supports CUDA 12.4, which cannot read PTX 7.8 yet: update the NVIDIA driver"),
        ("218", "it is not valid PTX"),
        ("200", "it is not valid PTX"),
        ("209", of_device),
        ("221", "reinstall the NVIDIA driver"),
        ("223", "unset CUDA_DISABLE_PTX_JIT"),
    ] {
        let report = run("a_driver_that_refuses_a_module", |child| {
            child.env("LD_LIBRARY_PATH", folder.path()).env_remove("LD_PRELOAD").env("REFUSE", status)
        });
        let [text] = report.of("load")[..] else { panic!("{}", report.0) };
        let log = "The driver's compiler says: ptxas application ptx input, line 7; fatal";
        for part in ["`nothing.ptx`", "PTX 7.8", "target sm_75", cause, &format!("CUDA error {status}"), log] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

/// As on a GPU whose kernel has faulted: every call fails from then on, those of drops too.
#[test]
fn a_driver_that_fails_after_a_launch() {
    if abort_if_child() {
        let work = || -> Result<()> {
            let stream = Device::open("cuda")?.stream()?;
            let [kernel] = module::load_text(&stream, "nothing.ptx", EMPTY_KERNEL, ["nothing"])?;
            let mut x = stream.alloc_uninit::<f32>(10)?;
            let _pinned = PinnedBuffer::<f32>::zeros(&stream, 10, PinnedKind::Cached)?;
            let _event = stream.record()?;
            // SAFETY: nothing is launched, the driver only says so.
            unsafe { kernel.launch(LaunchConfig::linear(1, 1), (x.as_slice_mut(),))? };
            stream.scope(|_| Ok(()))
        };
        match work() {
            Err(error @ Error::Driver { code: 700, .. }) => println!("work> {error}"),
            other => panic!("{other:?}"),
        }
        println!("work> dropped");
        return;
    }
    let Some(folder) = driver(OBLIGING) else { return };
    let report = run_child("a_driver_that_fails_after_a_launch", folder.path());
    let [error, dropped] = report.of("work")[..] else { panic!("{}", report.0) };
    assert!(error.contains("CUDA error 700") && error.contains("on the device `sim`"), "{error}");
    assert_eq!(dropped, "dropped");
}

/// A graph with one copy in it.
fn copies(stream: &Stream) -> Result<Graph<(DeviceBuffer<u8>, DeviceBuffer<u8>)>> {
    let buffers = (stream.alloc_uninit(10)?, stream.alloc_uninit(10)?);
    Graph::capture(stream, buffers, |(x, y)| x.as_slice_mut().copy_from_slice(y.as_slice()))
}

/// As when something was done meanwhile that no capture allows.
#[test]
fn a_driver_that_invalidates_a_capture() {
    if abort_if_child() {
        let stream = Device::open("cuda").unwrap().stream().unwrap();
        match copies(&stream) {
            Err(error @ Error::Driver { code: 901, .. }) => println!("capture> {error}"),
            other => panic!("{other:?}"),
        }
        // The stream is not in a capture any more.
        stream.upload(&[1u8]).unwrap().download().unwrap();
        return;
    }
    let Some(folder) = driver(OBLIGING) else { return };
    let report = run("a_driver_that_invalidates_a_capture", |child| {
        child.env("LD_LIBRARY_PATH", folder.path()).env_remove("LD_PRELOAD").env("CAPTURE", "901")
    });
    let [error] = report.of("capture")[..] else { panic!("{}", report.0) };
    assert!(error.contains("cuStreamEndCapture") && error.contains("Capture it again"), "{error}");
}

/// Devices that are opened one by one are of one context.
#[test]
fn a_module_is_unloaded_when_no_device_captures() {
    if abort_if_child() {
        let [ours, theirs] = [0; 2].map(|_| Device::open("cuda").unwrap().stream().unwrap());
        let graph = Graph::capture(&ours, (), move |()| {
            module::load_text(&theirs, "nothing.ptx", EMPTY_KERNEL, ["nothing"]).map(drop)?;
            println!("module> dropped");
            Ok::<_, Error>(())
        });
        println!("module> {}", graph.map_or_else(|error| error.to_string(), |_| "captured".to_owned()));
        return;
    }
    let Some(folder) = driver(OBLIGING) else { return };
    let report = run_child("a_module_is_unloaded_when_no_device_captures", folder.path());
    assert_eq!(report.of("module"), ["dropped", "unloaded", "captured"]);
}

#[test]
fn a_driver_that_cannot_update_a_graph_makes_a_new_one() {
    if abort_if_child() {
        let stream = Device::open("cuda").unwrap().stream().unwrap();
        let mut graph = copies(&stream).unwrap();
        for _ in 0..3 {
            graph.update(|(x, _)| x.as_slice_mut().fill_zero()).unwrap();
            graph.launch().unwrap();
        }
        drop(graph);
        println!("update> dropped");
        return;
    }
    let Some(folder) = driver(OBLIGING) else { return };
    for status in ["0", "910", "801"] {
        let report = run("a_driver_that_cannot_update_a_graph_makes_a_new_one", |child| {
            child.env("LD_LIBRARY_PATH", folder.path()).env_remove("LD_PRELOAD").env("UPDATE", status)
        });
        assert_eq!(report.of("update"), ["dropped"]);
    }
}

/// What the driver leaves of the graph then is no graph that anybody captured.
#[test]
fn a_driver_that_fails_in_an_update_leaves_no_graph() {
    if abort_if_child() {
        let stream = Device::open("cuda").unwrap().stream().unwrap();
        let mut graph = copies(&stream).unwrap();
        let update = |graph: &mut Graph<(DeviceBuffer<u8>, _)>| graph.update(|(x, _)| x.as_slice_mut().fill_zero());
        assert!(matches!(update(&mut graph), Err(Error::Driver { code: 2, .. })));
        for _ in 0..2 {
            assert!(matches!(graph.launch(), Err(Error::GraphUpdate)));
        }
        update(&mut graph).unwrap();
        graph.launch().unwrap();
        println!("update> launched");
        return;
    }
    let Some(folder) = driver(OBLIGING) else { return };
    let report = run("a_driver_that_fails_in_an_update_leaves_no_graph", |child| {
        let child = child.env("LD_LIBRARY_PATH", folder.path()).env_remove("LD_PRELOAD");
        child.env("UPDATE", "910").env("INSTANTIATE", "2")
    });
    assert_eq!(report.of("update"), ["launched"]);
}

#[test]
fn a_launch_of_a_graph_allocates_nothing() {
    if abort_if_child() {
        let stream = Device::open("cuda").unwrap().stream().unwrap();
        let buffers = (stream.alloc_uninit(10).unwrap(), PinnedBuffer::zeros(&stream, 10, PinnedKind::Cached).unwrap());
        let mut graph = Graph::capture(&stream, buffers, |(x, y): &mut (DeviceBuffer<u8>, PinnedBuffer<u8>)| {
            y.as_slice_mut().copy_from_slice(x.as_slice())
        })
        .unwrap();
        let before = ALLOCATIONS.get();
        for _ in 0..10 {
            graph.launch().unwrap();
        }
        println!("launch> {}", ALLOCATIONS.get() - before);
        return;
    }
    let Some(folder) = driver(OBLIGING) else { return };
    assert_eq!(run_child("a_launch_of_a_graph_allocates_nothing", folder.path()).of("launch"), ["0"]);
}

/// What the tests' devices are, and why there are none, is found out once.
#[test]
fn a_misspelt_variable_is_named() {
    if std::env::var_os(CHILD).is_some() {
        for selector in ["auto", "sim"] {
            match Device::open(selector) {
                Ok(device) => println!("{selector}> {}", device.properties().selector),
                Err(error) => println!("{selector}> {error}"),
            }
        }
        for _ in 0..2 {
            let panic = std::panic::catch_unwind(testing::devices).unwrap_err();
            println!("devices> {}", panic.downcast_ref::<String>().unwrap());
            // SAFETY: there is no other thread but the one that waits for this test.
            unsafe { std::env::set_var(Device::SELECTOR_VARIABLE, "sim") };
        }
        return;
    }
    let report = run("a_misspelt_variable_is_named", |child| child.env(Device::SELECTOR_VARIABLE, "Sim"));
    let error = "the environment variable KERNELS_DEVICE is `Sim`: cannot read the device selector `Sim`: there is no \
                 such kind of device; selectors are in lower case: `sim`. Use `auto`";
    let [auto] = report.of("auto")[..] else { panic!("{}", report.0) };
    assert!(auto.starts_with(error), "{auto}");
    assert_eq!(report.of("sim"), ["sim"]);
    let [first, second] = report.of("devices")[..] else { panic!("{}", report.0) };
    assert!(first.starts_with(error), "{first}");
    assert_eq!(first, second);
}

#[test]
fn a_variable_that_names_an_absent_device_is_named() {
    if std::env::var_os(CHILD).is_some() {
        println!("auto> {}", Device::open("auto").unwrap_err());
        println!("cuda> {}", Device::open("cuda:99").unwrap_err());
        let panic = std::panic::catch_unwind(testing::gpu).unwrap_err();
        println!("gpu> {}", panic.downcast_ref::<String>().unwrap());
        return;
    }
    let report =
        run("a_variable_that_names_an_absent_device_is_named", |child| child.env(Device::SELECTOR_VARIABLE, "cuda:99"));
    let [of_variable, of_program, gpu] = ["auto", "cuda", "gpu"].map(|what| report.of(what)[0]);
    assert_eq!(of_variable, format!("the environment variable KERNELS_DEVICE is `cuda:99`: {of_program}"));
    assert_eq!(gpu, of_variable);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_named() {
    use std::os::unix::ffi::OsStrExt;

    if std::env::var_os(CHILD).is_some() {
        println!("auto> {}", Device::open("auto").unwrap_err());
        return;
    }
    let report = run("a_variable_that_is_no_text_is_named", |child| {
        child.env(Device::SELECTOR_VARIABLE, std::ffi::OsStr::from_bytes(b"sim\xff"))
    });
    let [error] = report.of("auto")[..] else { panic!("{}", report.0) };
    assert!(error.starts_with("the environment variable KERNELS_DEVICE is `sim\u{fffd}`: "), "{error}");
}
