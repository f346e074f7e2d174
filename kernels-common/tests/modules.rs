//! What becomes of PTX texts of every kind: those that load, and those that do not and why.

use kernels_common::device::{BackendKind, Device};
use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;
use kernels_common::testing::devices;

/// Made by nvcc from `ptx-sim/tests/ptx/saxpy.cu`: with line information, and without optimisation for debugging.
const LINE_INFO: &str = include_str!("../ptx-sim/tests/ptx/saxpy.lineinfo.ptx");
const DEBUG: &str = include_str!("../ptx-sim/tests/ptx/saxpy.debug.ptx");

/// `rotate(x: *u32, by: u32)`: rotates the bits of one element to the left, by a funnel shift. Line 7 is its first.
const ROTATE: &str = "\
.version 6.4
.target sm_75
.address_size 64

.visible .entry rotate(.param .u64 .ptr .global .align 4 x, .param .u32 by)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [by];
    ld.global.u32 %r2, [%rd1];
    shf.l.wrap.b32 %r2, %r2, %r2, %r1;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

fn load(stream: &Stream, text: &str) -> Result<Kernel> {
    module::load_text(stream, "rotate.ptx", text, ["rotate"]).map(|[kernel]| kernel)
}

/// Streams of every device, and of a simulator of compute capability 9.0.
fn streams() -> Vec<Stream> {
    let newer = Device::open("sim:cc=9.0").unwrap();
    devices().iter().chain([&newer]).map(|device| device.stream().unwrap()).collect()
}

#[test]
fn aligned_pointers_and_funnel_shifts_load_and_run() {
    for stream in streams() {
        let mut x = stream.upload(&[0x8000_0001u32]).unwrap();
        // SAFETY: x has one element.
        unsafe {
            load(&stream, ROTATE).unwrap().launch(LaunchConfig::linear(1, 1), (x.as_slice_mut(), 36u32)).unwrap();
        }
        assert_eq!(x.download().unwrap(), [0x18]);
    }
}

#[test]
fn line_information_and_debug_sections_load_and_run() {
    for stream in streams() {
        for text in [LINE_INFO, DEBUG] {
            let [saxpy] = module::load_text(&stream, "saxpy.ptx", text, ["saxpy"]).unwrap();
            let x = stream.upload(&[3f32; 100]).unwrap();
            let mut y = stream.upload(&[1f32; 100]).unwrap();
            // SAFETY: both have 100 elements.
            unsafe {
                saxpy.launch(LaunchConfig::linear(2, 64), (2f32, x.as_slice(), y.as_slice_mut(), 100i32)).unwrap();
            }
            assert_eq!(y.download().unwrap(), [7.0; 100]);
        }
    }
}

/// Only on the simulator: on a GPU a fault ends the process's use of the device.
#[test]
fn a_fault_names_the_line_of_the_cuda_source() {
    let stream = Device::open("sim").unwrap().stream().unwrap();
    for text in [LINE_INFO, DEBUG] {
        let [saxpy] = module::load_text(&stream, "saxpy.ptx", text, ["saxpy"]).unwrap();
        let x = stream.upload(&[3f32; 99]).unwrap();
        let mut y = stream.upload(&[1f32; 100]).unwrap();
        // SAFETY: on the simulator the read past the end of x is refused and reported.
        let launched =
            unsafe { saxpy.launch(LaunchConfig::linear(2, 64), (2f32, x.as_slice(), y.as_slice_mut(), 100i32)) };
        let Err(Error::Fault(fault)) = launched else { panic!("{launched:?}") };
        let source = fault.site.as_ref().and_then(|site| site.source.as_ref()).unwrap();
        assert_eq!((&*source.file, source.line), ("/src/saxpy.cu", 12));
        assert!(Error::Fault(fault).to_string().contains("saxpy.cu:12"));
    }
}

#[test]
fn a_version_that_nobody_knows_is_shown() {
    for stream in streams() {
        let error = load(&stream, &ROTATE.replace("6.4", "99.0")).unwrap_err();
        assert!(matches!(error, Error::PtxSyntax(_)), "{error:?}");
        assert!(error.to_string().contains("rotate.ptx:1:10: PTX version 99.0 is not supported; 3.0 to "), "{error}");
    }
}

#[test]
fn a_target_above_the_device_is_shown_beside_what_the_device_has() {
    for stream in streams() {
        let (major, minor) = stream.device().properties().capability;
        let above = format!("sm_{}", (major + 1) * 10);
        let error = load(&stream, &ROTATE.replace("sm_75", &above)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("rotate.ptx") && text.contains(&above), "{text}");
        // Of the newest device there is nothing above that the parser knows.
        if major < 12 {
            assert!(matches!(error, Error::PtxRejected { .. }), "{error:?}");
            let advice = format!("has {major}.{minor}: compile the kernel for sm_{major}{minor} or less");
            assert!(text.contains("PTX 6.4") && text.contains(&advice), "{text}");
        }
        // That of the device itself loads.
        let own = ROTATE
            .replace("sm_75", &format!("sm_{major}{minor}"))
            .replace("6.4", if major < 10 { "7.8" } else { "8.8" });
        load(&stream, &own).unwrap();
    }
}

#[test]
fn a_bad_line_is_shown_with_its_number() {
    assert!(ROTATE.lines().nth(6).unwrap().contains(".reg .b32 %r<3>;"));
    for stream in streams() {
        for bad in [".wreck .b32 %r<3>;", ".reg .b33 %r<3>;", "mov.u32 %r1, %nowhere;"] {
            let error = load(&stream, &ROTATE.replace(".reg .b32 %r<3>;", bad)).unwrap_err();
            assert!(matches!(error, Error::PtxSyntax(_) | Error::PtxRejected { .. }), "{error:?}");
            let text = error.to_string();
            // The parser writes line:column, the driver's compiler "line 7".
            assert!(text.contains("rotate.ptx:7:") || text.contains("line 7"), "{text}");
        }
        // Outside the bodies the parser meets it first, on every device.
        let error = load(&stream, &ROTATE.replace(".address_size 64", ".address_size 32")).unwrap_err();
        assert!(error.to_string().contains("rotate.ptx:3:15: only 64-bit addresses"), "{error}");
    }
}

#[test]
fn an_instruction_that_the_simulator_lacks_is_named_with_its_line() {
    for stream in streams().iter().filter(|stream| stream.device().properties().backend == BackendKind::Sim) {
        let error =
            load(stream, &ROTATE.replace("shf.l.wrap.b32 %r2, %r2, %r2, %r1;", "frob.b32 %r2, %r2;")).unwrap_err();
        assert!(matches!(error, Error::SimulatorLoad(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("rotate.ptx:12:5: `frob.b32` in `rotate`") && text.contains("on a GPU"), "{text}");
    }
}

#[test]
fn a_missing_kernel_is_named_with_its_module_and_what_there_is() {
    for stream in streams() {
        let message = |result: Result<[Kernel; 1]>| match result {
            Err(error @ Error::UnknownKernel { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        };
        let text = message(module::load_text(&stream, "rotate.ptx", ROTATE, ["no_such"]));
        assert!(text.contains("module `rotate.ptx` has no kernel `no_such`; it has: rotate."), "{text}");
        // As the crates load.
        let text = message(module::load(&stream, &[Ptx::new("rotate", 75, ROTATE)], ["no_such"]));
        assert!(text.contains("module `rotate.sm_75.ptx` has no kernel `no_such`; it has: rotate."), "{text}");
        let head = ROTATE.lines().take(3).collect::<Vec<_>>().join("\n");
        let text = message(module::load_text(&stream, "empty.ptx", &head, ["no_such"]));
        assert!(text.contains("module `empty.ptx` has no kernel `no_such`; it has: none."), "{text}");
        // One name of several is enough.
        let error = module::load_text(&stream, "rotate.ptx", ROTATE, ["rotate", "no_such"]).unwrap_err();
        assert!(matches!(&error, Error::UnknownKernel { kernel, .. } if kernel == "no_such"), "{error:?}");
    }
}
