//! What needs a GPU and the backend itself. Each test says so and ends where there is none, unless `KERNELS_DEVICE`
//! asks for one.

use super::*;
use crate::testing;

/// Adds a x to y, one element a thread.
const SAXPY: &str = "\
.version 6.4
.target sm_75
.address_size 64

.visible .entry saxpy(
    .param .u64 x, .param .u64 y, .param .u64 n, .param .f32 a)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.wide.u32 %rd1, %r1, %r2, 0;
    cvt.u64.u32 %rd2, %r3;
    add.u64 %rd1, %rd1, %rd2;
    ld.param.u64 %rd3, [n];
    setp.ge.u64 %p1, %rd1, %rd3;
    @%p1 ret;
    ld.param.u64 %rd4, [x];
    ld.param.u64 %rd5, [y];
    ld.param.f32 %f1, [a];
    shl.b64 %rd6, %rd1, 2;
    add.u64 %rd4, %rd4, %rd6;
    add.u64 %rd5, %rd5, %rd6;
    ld.global.f32 %f2, [%rd4];
    ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%rd5], %f3;
    ret;
}
";

fn gpu() -> Option<Cuda> {
    let ordinal = testing::gpu()?.to_cudarc().unwrap().ordinal();
    Some(Cuda::open(ordinal).unwrap())
}

fn rejection(cuda: &Cuda, text: &str) -> String {
    match cuda.load("bad.ptx", text) {
        Err(error @ Error::PtxRejected { .. }) => {
            let error = error.to_string();
            println!("{error}\n");
            error
        }
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("the driver took\n{text}"),
    }
}

#[test]
fn properties_are_complete() {
    let Some(cuda) = gpu() else { return };
    let properties = cuda.properties();
    println!("{properties:#?}");
    assert!(!properties.name.is_empty());
    let ordinal = cuda.context().ordinal();
    assert_eq!(properties.selector, format!("cuda:{ordinal}"));
    assert!(properties.capability >= (5, 0) && properties.driver >= driver::NEEDED);
    assert!(properties.multiprocessors > 0 && properties.warp_size == 32);
    assert_eq!(u64::from(properties.max_grid[0]), LaunchConfig::MAX_GRID_X);
    assert_eq!(u64::from(properties.max_grid[1]), LaunchConfig::MAX_GRID_YZ);
    assert!(
        properties.shared_per_block_optin >= properties.shared_per_block && properties.shared_per_block >= 48 << 10
    );
    assert!(properties.bus_bandwidth().is_some_and(|bandwidth| bandwidth > 1e10));
    assert_eq!(list().unwrap()[ordinal], *properties);
}

#[test]
fn every_number_of_a_missing_gpu_is_refused() {
    let Some(_) = gpu() else { return };
    let found = list().unwrap().len();
    for ordinal in [found, found + 1, c_int::MAX as usize, usize::MAX] {
        let error = Cuda::open(ordinal).unwrap_err();
        assert!(matches!(error, Error::NoDevice { found: there, .. } if there == found), "{error:?}");
    }
}

#[test]
fn a_rejected_module_says_why() {
    let Some(cuda) = gpu() else { return };
    let error = rejection(&cuda, &SAXPY.replace("6.4", "99.0"));
    assert!(error.contains("PTX 99.0") && error.contains("update the NVIDIA driver"), "{error}");

    let bad_line = SAXPY.replace("    .reg .pred %p<2>;", "    .wreck %p<2>;");
    assert_eq!(bad_line.lines().position(|line| line.contains("wreck")), Some(7));
    let error = rejection(&cuda, &bad_line);
    assert!(error.contains("line 8") && error.contains("not valid PTX"), "{error}");

    let error = rejection(&cuda, "\0");
    assert!(error.contains("NUL"), "{error}");
}

#[test]
fn freed_memory_of_either_kind() {
    let Some(cuda) = gpu() else { return };
    let stream = cuda.create_stream().unwrap();
    let bytes = 1 << 30;
    let free = || cuda.memory_info().unwrap().0;
    // Whether the device's free memory went down by what was allocated, and up again.
    let is_seen = || {
        let before = free();
        let ours = cuda.allocate(stream, bytes).unwrap();
        assert_eq!(ours % 256, 0);
        // As a program may hand to `DeviceBuffer::from_raw`: memory that is not from a pool.
        let mut foreign = 0;
        // SAFETY: the argument can be written to; both allocations are given up unused.
        let between = unsafe {
            cuda.bind().unwrap().mem_alloc(&mut foreign, size(bytes)).unwrap();
            let between = free();
            cuda.free(stream, ours);
            cuda.free(stream, foreign);
            between
        };
        cuda.synchronize(stream).unwrap();
        between + 2 * bytes <= before + (64 << 20) && free() + (64 << 20) >= before
    };
    // Other programs may allocate and free memory meanwhile: it is enough to see it once.
    assert!((0..20).any(|_| is_seen()));
    // SAFETY: the stream is used no more.
    unsafe { cuda.destroy_stream(stream) };
}

#[test]
fn too_much_memory_is_a_typed_error() {
    let Some(cuda) = gpu() else { return };
    let stream = cuda.create_stream().unwrap();
    for bytes in [1 << 45, u64::MAX >> 1] {
        let error = cuda.allocate(stream, bytes).unwrap_err();
        println!("{error}");
        assert!(matches!(error, Error::OutOfMemory { memory: MemoryKind::Device, free: Some(_), .. }), "{error:?}");
    }
    let error = cuda.allocate_pinned(u64::MAX >> 1, false).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { memory: MemoryKind::Pinned, .. }), "{error:?}");
    // Nothing was broken by it.
    let address = cuda.allocate(stream, 1).unwrap();
    // SAFETY: both are given up.
    unsafe {
        cuda.free(stream, address);
        cuda.destroy_stream(stream);
    }
}

#[test]
fn all_shared_memory_is_open_to_a_launch() {
    let Some(cuda) = gpu() else { return };
    let module = cuda.load("saxpy.ptx", SAXPY).unwrap();
    let (kernel, limits) = cuda.kernel(module, "saxpy").unwrap();
    assert_eq!(limits.threads_per_block, 1024);
    assert_eq!(limits.dynamic_shared, cuda.properties().shared_per_block_optin);
    assert_eq!(cuda.blocks_per_multiprocessor(kernel, 128, limits.dynamic_shared).unwrap(), 1);
    assert!(cuda.blocks_per_multiprocessor(kernel, 128, 0).unwrap() > 1);
    for percent in [0, 23, 100, u32::MAX] {
        cuda.prefer_shared(kernel, percent).unwrap();
    }
    // It stays a hint.
    assert_eq!(cuda.blocks_per_multiprocessor(kernel, 128, limits.dynamic_shared).unwrap(), 1);
    // SAFETY: the kernel is used no more.
    unsafe { cuda.unload(module) };
}

/// Both wait for the whole context otherwise, which no capture survives.
#[test]
fn a_capture_survives_a_module_that_is_unloaded_and_memory_that_is_full() {
    let Some(cuda) = gpu() else { return };
    let stream = cuda.create_stream().unwrap();
    let captured = cuda.begin_capture().unwrap();
    let module = cuda.load("saxpy.ptx", SAXPY).unwrap();
    cuda.kernel(module, "saxpy").unwrap();
    // SAFETY: the kernel is used no more.
    unsafe { cuda.unload(module) };
    assert!(matches!(cuda.allocate(stream, 1 << 45), Err(Error::OutOfMemory { .. })));
    let graph = cuda.end_capture(captured).unwrap();
    let executable = cuda.instantiate(graph).unwrap();
    // SAFETY: the graph uses nothing; all three are used no more.
    unsafe {
        cuda.destroy_graph(graph);
        cuda.launch_graph(stream, executable).unwrap();
        cuda.destroy_executable(executable);
        cuda.destroy_stream(stream);
    }
}
