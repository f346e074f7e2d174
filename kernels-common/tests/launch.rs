//! Modules, kernels and launches, on every device present, with a kernel written in PTX by hand.

use kernels_common::device::Device;
use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{PinnedBuffer, PinnedKind};
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;
use kernels_common::testing::devices;

/// `scale(x: *f32, n: u64, factor: f32)`: x[i] *= factor; `stray(x: *f32)`: writes one past what it was given by a
/// mile.
const SCALE: &str = "\
.version 6.3
.target sm_75
.address_size 64

.visible .entry scale(
    .param .u64 .ptr .align 4 x,
    .param .u64 n,
    .param .f32 factor
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<6>;

    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [n];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    cvt.u64.u32 %rd3, %r3;
    mad.wide.u32 %rd3, %r1, %r2, %rd3;
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra done;
    cvta.to.global.u64 %rd1, %rd1;
    shl.b64 %rd4, %rd3, 2;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.f32 %f2, [%rd5];
    mul.rn.f32 %f3, %f2, %f1;
    st.global.f32 [%rd5], %f3;
done:
    ret;
}

.visible .entry stray(
    .param .u64 .ptr .align 4 x
)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;

    ld.param.u64 %rd1, [x];
    cvta.to.global.u64 %rd2, %rd1;
    add.s64 %rd2, %rd2, 1099511627776;
    mov.u32 %r1, 7;
    st.global.u32 [%rd2], %r1;
    ret;
}
";

fn scale(stream: &Stream) -> Kernel {
    let [kernel] = module::load_text(stream, "scale.ptx", SCALE, ["scale"]).unwrap();
    kernel
}

#[test]
fn a_kernel_runs_with_checked_arguments() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let kernel = scale(&stream);
        let mut x = stream.upload(&[1.0f32, 2.0, 3.0]).unwrap();
        let config = LaunchConfig::covering(3, 64).unwrap();
        // SAFETY: x has 3 elements, and the kernel touches only those.
        unsafe { kernel.launch(config, (x.as_slice_mut(), 3u64, 2.0f32)).unwrap() };
        assert_eq!(x.download().unwrap(), [2.0, 4.0, 6.0]);

        let mut pinned = PinnedBuffer::<f32>::zeros(&stream, 2, PinnedKind::Cached).unwrap();
        pinned.host_mut().unwrap().copy_from_slice(&[1.5, -1.0]);
        // SAFETY: the buffer has 2 elements. The device reaches pinned memory across the bus.
        unsafe { kernel.launch(config, (pinned.as_slice_mut(), 2u64, 2.0f32)).unwrap() };
        assert_eq!(pinned.host().unwrap(), [3.0, -2.0]);
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused_before_the_driver_is_called() {
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let kernel = scale(&stream);
        let x = stream.upload(&[1.0f32]).unwrap();
        let elsewhere = other.upload(&[1.0f32]).unwrap();
        let config = LaunchConfig::linear(1, 1);
        let message = |result: Result<()>| match result {
            Err(error @ Error::ArgumentMismatch { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        };
        // SAFETY: none of these is launched; the last has no blocks.
        unsafe {
            let text = message(kernel.launch(config, (x.as_slice(), 1u64)));
            assert!(text.contains("`scale`") && text.contains("2 arguments for 3 parameters"), "{text}");
            let text = message(kernel.launch(config, (x.as_slice(), 1u64, 2.0f32, 0u32)));
            assert!(text.contains("4 arguments for 3 parameters"), "{text}");
            let text = message(kernel.launch(config, ()));
            assert!(text.contains("0 arguments for 3 parameters"), "{text}");
            let text = message(kernel.launch(config, (x.as_slice(), 1u64, 2.0f64)));
            assert!(text.contains("argument 2 is a float of 8 bytes, parameter 2 has 4 bytes"), "{text}");
            let text = message(kernel.launch(LaunchConfig::linear(0, 256), (x.as_slice(), 1u32, 2.0f32)));
            assert!(text.contains("argument 1 is an integer of 4 bytes"), "without blocks too: {text}");
            let text = message(kernel.launch(config, (x.as_slice(), 1u32, 2.0f32)));
            assert!(text.contains("argument 1 is an integer of 4 bytes, parameter 1 has 8 bytes"), "{text}");
            let text = message(kernel.launch(config, (1u64, 1u64, 2.0f32)));
            assert!(text.contains("argument 0 is an integer of 8 bytes, parameter 0 is a pointer"), "{text}");
            let text = message(kernel.launch(config, (x.as_slice(), x.as_slice(), 2.0f32)));
            assert!(text.contains("argument 1 is a slice, parameter 1 is no pointer"), "{text}");
            let text = message(kernel.launch(config, (x.as_slice(), 1u64, 2u32)));
            assert!(text.contains("parameter 2 is a float") && text.contains("u64 pointer, u64, f32"), "{text}");
            let foreign = kernel.launch(config, (elsewhere.as_slice(), 1u64, 2.0f32)).unwrap_err();
            assert!(foreign.to_string().contains("argument 0 of `scale`"), "{foreign}");
            assert!(matches!(foreign, Error::ArgumentStream { index: 0, .. }), "{foreign:?}");
            let foreign = kernel.launch(config, (x.as_slice(), elsewhere.as_slice(), 2.0f32)).unwrap_err();
            assert!(matches!(foreign, Error::ArgumentStream { index: 1, .. }), "{foreign:?}");
            kernel.launch(LaunchConfig::linear(0, 256), (x.as_slice(), 1u64, 2.0f32)).unwrap();
        }
        assert_eq!(x.download().unwrap(), [1.0]);
    }
}

#[test]
fn slices_and_numbers_are_told_apart_where_the_compiler_marks_no_pointers() {
    /// Made by nvcc: `vector_add(x, y, z, n)`, all of 8 bytes.
    const NVCC: &str = include_str!("../ptx-sim/tests/ptx/kernels.ptx");
    assert!(!NVCC.contains(".ptr"));
    for device in devices() {
        let stream = device.stream().unwrap();
        let [add] = module::load_text(&stream, "kernels.ptx", NVCC, ["vector_add"]).unwrap();
        let x = stream.upload(&[1.0f32, 2.0]).unwrap();
        let mut z = stream.alloc_zeros::<f32>(2).unwrap();
        let config = LaunchConfig::linear(1, 32);
        let message = |result: Result<()>| match result {
            Err(error @ Error::ArgumentMismatch { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        };
        // SAFETY: all have 2 elements; what does not fit is not launched.
        unsafe {
            add.launch(config, (x.as_slice(), x.as_slice(), z.as_slice_mut(), 2u64)).unwrap();
            let text = message(add.launch(config, (x.as_slice(), x.as_slice(), 2u64, z.as_slice_mut())));
            assert!(text.contains("argument 2 is an integer of 8 bytes, parameter 2 is a pointer"), "{text}");
            assert!(text.contains("(u64 pointer, u64 pointer, u64 pointer, u64)"), "{text}");
            let text = message(add.launch(config, (2u64, x.as_slice(), z.as_slice_mut(), x.as_slice())));
            assert!(text.contains("argument 0 is an integer of 8 bytes, parameter 0 is a pointer"), "{text}");
            let text = message(add.launch(config, (x.as_slice(), x.as_slice(), z.as_slice_mut(), 2.0f64)));
            assert!(text.contains("argument 3 is a float of 8 bytes, parameter 3 is an integer"), "{text}");
        }
        assert_eq!(z.download().unwrap(), [2.0, 4.0]);
    }
}

#[test]
fn shapes_past_a_limit_name_the_limit() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let kernel = scale(&stream);
        let x = stream.upload(&[1.0f32]).unwrap();
        let launch = |config: LaunchConfig| {
            // SAFETY: none of these is launched.
            match unsafe { kernel.launch(config, (x.as_slice(), 0u64, 1.0f32)) } {
                Err(error @ Error::InvalidLaunch { .. }) => error.to_string(),
                other => panic!("{config:?}: {other:?}"),
            }
        };
        assert!(launch(LaunchConfig::linear(1, 1025)).contains("the block along x is 1025, and the maximum is 1024"));
        assert!(launch(LaunchConfig::new([1; 3], [64, 32, 1])).contains("threads of a block is 2048"));
        assert!(launch(LaunchConfig::new([1, 65_536, 1], [1; 3])).contains("grid along y is 65536"));
        assert!(launch(LaunchConfig::linear(1, 0)).contains("threads of a block is 0, and must be from 1 to 1024"));
        let shared = LaunchConfig::linear(1, 1).shared::<f64>(1 << 20).unwrap();
        assert!(launch(shared).contains("shared memory of a block in bytes is 8388608"));
        assert!(matches!(LaunchConfig::linear(1, 1).shared::<f64>(u32::MAX), Err(Error::TooLarge { .. })));
    }
}

#[test]
fn a_cooperative_launch_that_does_not_fit_states_the_maximum() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let kernel = scale(&stream);
        let x = stream.upload(&[1.0f32]).unwrap();
        let maximum = kernel.resident_blocks(256, 0).unwrap();
        assert!(maximum >= device.properties().multiprocessors);
        let launch = |blocks| {
            // SAFETY: x has one element.
            unsafe { kernel.launch(LaunchConfig::linear(blocks, 256).cooperative(), (x.as_slice(), 1u64, 1.0f32)) }
        };
        launch(maximum).unwrap();
        match launch(maximum + 1) {
            Err(Error::CooperativeTooLarge { asked, maximum: stated, .. }) => {
                assert_eq!((asked, stated), (u64::from(maximum) + 1, maximum.into()));
            }
            other => panic!("{other:?}"),
        }
        stream.synchronize().unwrap();
    }
}

#[test]
fn an_unknown_kernel_is_named_and_the_known_ones_listed() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let error = module::load_text(&stream, "scale.ptx", SCALE, ["no_such"]).unwrap_err().to_string();
        assert!(error.starts_with("module `scale.ptx` has no kernel `no_such`; it has: scale, stray. "), "{error}");
    }
}

#[test]
fn ptx_that_does_not_load_says_why() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let load = |text: &str| module::load_text(&stream, "bad.ptx", text, ["scale"]).unwrap_err();
        let newer = load(&SCALE.replace("6.3", "99.0")).to_string();
        assert!(newer.contains("99.0"), "{newer}");
        let broken = load(&SCALE.replace("shl.b64 %rd4, %rd3, 2;", "shl.b64 %rd4, %nowhere, 2;")).to_string();
        assert!(broken.contains("nowhere") && broken.contains("27"), "{broken}");
        let empty = load("").to_string();
        assert!(empty.contains("bad.ptx"), "{empty}");
    }
}

#[test]
fn the_newest_variant_that_the_device_runs_is_taken() {
    // The variants share a kernel name but not its body, so the result tells which was taken.
    let newer: &'static str = Box::leak(SCALE.replace("mul.rn", "add.rn").replace("sm_75", "sm_80").into_boxed_str());
    let variants = [Ptx::new("scale", 75, SCALE), Ptx::new("scale", 80, newer)];
    for (selector, expected) in [("sim:cc=7.5", 15.0), ("sim:cc=8.0", 8.0), ("sim:cc=9.0", 8.0)] {
        let stream = Device::open(selector).unwrap().stream().unwrap();
        let [kernel] = module::load(&stream, &variants, ["scale"]).unwrap();
        let mut x = stream.upload(&[3.0f32]).unwrap();
        // SAFETY: x has one element.
        unsafe { kernel.launch(LaunchConfig::linear(1, 1), (x.as_slice_mut(), 1u64, 5.0f32)).unwrap() };
        assert_eq!(x.download().unwrap(), [expected], "{selector}");
    }
    let stream = Device::open("sim:cc=7.0").unwrap().stream().unwrap();
    let error = module::load(&stream, &variants, ["scale"]).unwrap_err();
    assert!(matches!(error, Error::NoVariant { .. }), "{error}");
    assert!(error.to_string().contains("7.0") && error.to_string().contains("7.5 or 8.0"), "{error}");
}

/// Only on the simulator: on a GPU such a fault ends the process's use of the device, see `tests/device_fault.rs`.
#[test]
fn a_fault_names_kernel_line_and_memory_and_leaves_the_device_usable() {
    let stream = Device::open("sim").unwrap().stream().unwrap();
    let [stray, scale] = module::load_text(&stream, "scale.ptx", SCALE, ["stray", "scale"]).unwrap();
    let mut x = stream.upload(&[1.0f32]).unwrap();
    // SAFETY: on the simulator a stray write is refused and reported.
    let error = unsafe { stray.launch(LaunchConfig::linear(1, 1), (x.as_slice_mut(),)) }.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Fault(_)), "{text}");
    assert!(text.contains("stray") && text.contains("47"), "{text}");
    // SAFETY: x has one element.
    unsafe { scale.launch(LaunchConfig::linear(1, 1), (x.as_slice_mut(), 1u64, 3.0f32)).unwrap() };
    assert_eq!(x.download().unwrap(), [3.0]);
}

#[test]
fn kernels_launch_from_any_thread() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let kernel = scale(&stream);
        let mut x = stream.upload(&[1.0f32; 100]).unwrap();
        let handle = std::thread::spawn(move || {
            // SAFETY: x has 100 elements.
            unsafe { kernel.launch(LaunchConfig::linear(1, 128), (x.as_slice_mut(), 100u64, 3.0f32)).unwrap() };
            x
        });
        assert_eq!(handle.join().unwrap().download().unwrap(), [3.0; 100]);
    }
}
