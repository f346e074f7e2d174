//! What a launch reports about memory, and what it leaves behind.

mod common;

use common::{Device, Params, kernel, launch};
use ptx_sim::{Checks, Config, Fault, FaultKind, Launch, MemorySpace, Operation};

/// Loads `x[thread + offset]` and stores it to `y[thread]`.
const COPY: &str = "ld.param.u64 %rd0, [x];\nld.param.u64 %rd1, [y];\nld.param.s32 %r0, [offset];\n\
                    mov.u32 %r1, %ctaid.x;\n\
                    mov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\n\
                    add.s32 %r5, %r4, %r0;\n\
                    mad.wide.s32 %rd2, %r5, 4, %rd0;\nld.global.u32 %r6, [%rd2];\nmad.wide.s32 %rd3, %r4, 4, %rd1;\n\
                    st.global.u32 [%rd3], %r6;\n";

fn copy_kernel() -> String {
    kernel("copy", ".param .u64 x, .param .u64 y, .param .s32 offset", COPY)
}

fn copy(device: &mut Device, x: u64, y: u64, offset: i32) -> Result<ptx_sim::Counters, Fault> {
    device.try_launch("copy", launch(2, 64), Params::new().add(x).add(y).add(offset))
}

#[test]
fn out_of_bounds() {
    let mut device = Device::new(&copy_kernel());
    let (x, y) = (device.upload(&[1u32; 128]), device.upload(&[0u32; 128]));
    device.simulator.label(x, "x");
    let fault = copy(&mut device, x, y, 3).unwrap_err();
    let FaultKind::OutOfBounds { access, place: Some(place) } = &fault.kind else { panic!("{fault}") };
    assert_eq!((access.operation, access.space), (Operation::Load, MemorySpace::Global));
    assert_eq!((access.address, access.bytes), (x + 512, 4));
    assert_eq!((place.start, place.size, place.offset), (x, 512, 512));
    // 125 + 3 is the first element that is not there: block 1, thread 61.
    assert_eq!((fault.block, fault.thread), (Some([1, 0, 0]), Some([61, 0, 0])));
    let site = fault.site.as_ref().unwrap();
    assert_eq!(&*site.opcode, "ld.global.u32");
    let text = fault.to_string();
    for part in
        ["copy", "test.ptx:", "block (1, 0, 0)", "thread (61, 0, 0)", "0 bytes past the end of `x`", "512 bytes"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    // What was written stays, and the simulator goes on.
    let written: Vec<u32> = device.download(y, 128);
    assert!(written[..64].iter().all(|&value| value == 1) && written[96..].iter().all(|&value| value == 0));
    copy(&mut device, x, y, 0).unwrap();
    assert_eq!(device.download::<u32>(y, 128), [1; 128]);

    let fault = copy(&mut device, x, y, -1).unwrap_err();
    let FaultKind::OutOfBounds { place: Some(place), .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!(place.offset, -4);
    assert_eq!(fault.thread, Some([0, 0, 0]));
}

#[test]
fn a_store_faults_as_a_load_does() {
    let mut device = Device::new(&copy_kernel());
    let (x, y) = (device.upload(&[1u32; 128]), device.upload(&[0u32; 100]));
    let fault = copy(&mut device, x, y, 0).unwrap_err();
    let FaultKind::OutOfBounds { access, .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!((access.operation, access.address), (Operation::Store, y + 400));
    assert_eq!(fault.thread, Some([36, 0, 0]));
}

#[test]
fn null_freed_and_nowhere() {
    let mut device = Device::new(&copy_kernel());
    let (x, y) = (device.upload(&[1u32; 128]), device.upload(&[0u32; 128]));
    let fault = copy(&mut device, 0, y, 5).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Null { access } if access.address == 20), "{fault}");
    device.simulator.free(x).unwrap();
    let fault = copy(&mut device, x, y, 0).unwrap_err();
    assert!(matches!(&fault.kind, FaultKind::Freed { place, .. } if place.start == x), "{fault}");
    assert!(fault.to_string().contains("use after free: load of 4 bytes"), "{fault}");
    let (kept, freed) = (device.upload(&[1u32; 128]), device.upload(&[0u32; 128]));
    device.simulator.label(freed, "freed");
    device.simulator.free(freed).unwrap();
    let fault = copy(&mut device, kept, freed, 0).unwrap_err();
    let FaultKind::Freed { access, place } = &fault.kind else { panic!("{fault}") };
    assert_eq!((access.operation, access.address, place.start), (Operation::Store, freed, freed));
    let text = fault.to_string();
    assert!(text.contains("use after free: store of 4 bytes") && text.contains("`freed`"), "{text}");
    let fault = copy(&mut device, 1 << 60, y, 0).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
    // A host address, say.
    let fault = copy(&mut device, 0x7fff_1234_5678, y, 0).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
}

#[test]
fn misaligned() {
    let mut device = Device::new(&copy_kernel());
    let (x, y) = (device.upload(&[1u32; 130]), device.upload(&[0u32; 128]));
    let fault = copy(&mut device, x + 2, y, 0).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Misaligned { align: 4, access } if access.address == x + 2), "{fault}");
    let ptx =
        kernel("wide", ".param .u64 x", "ld.param.u64 %rd0, [x];\nld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd0+8];");
    let mut device = Device::new(&ptx);
    let x = device.upload(&[1u32; 8]);
    let fault = device.try_launch("wide", launch(1, 1), Params::new().add(x)).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Misaligned { align: 16, .. }), "{fault}");
}

#[test]
fn uninitialised_global_memory() {
    let mut device = Device::new(&copy_kernel());
    let (x, y) = (device.allocate::<u32>(128), device.allocate::<u32>(128));
    device.simulator.write(x, &[0; 400]).unwrap();
    let fault = copy(&mut device, x, y, 0).unwrap_err();
    let FaultKind::UninitialisedRead { access, place: Some(_) } = &fault.kind else { panic!("{fault}") };
    assert_eq!(access.address, x + 400);
    assert_eq!((fault.block, fault.thread), (Some([1, 0, 0]), Some([36, 0, 0])));
    let text = fault.to_string();
    assert!(
        text.contains("uninitialised read: load of 4 bytes") && text.contains("which nothing has written"),
        "{text}"
    );
    // What the kernel has stored is initialised; the rest of y is not.
    let y2 = device.allocate::<u32>(128);
    device.simulator.write(x, &[0; 512]).unwrap();
    copy(&mut device, x, y, 0).unwrap();
    copy(&mut device, y, y2, 0).unwrap();
    // A copy of unwritten memory stays unwritten.
    let (a, b) = (device.allocate::<u32>(128), device.allocate::<u32>(128));
    device.simulator.copy(b, a, 512).unwrap();
    assert!(matches!(copy(&mut device, b, y, 0).unwrap_err().kind, FaultKind::UninitialisedRead { .. }));
    device.simulator.host_pointer(b).unwrap();
    copy(&mut device, b, y, 0).unwrap();
    // Without the check unwritten memory reads as zeros.
    let mut config = Config::default();
    config.checks.initialised = false;
    let mut device = Device::with(config, &copy_kernel());
    let (x, y) = (device.allocate::<u32>(128), device.upload(&[7u32; 128]));
    copy(&mut device, x, y, 0).unwrap();
    assert_eq!(device.download::<u32>(y, 128), [0; 128]);
}

#[test]
fn shared_memory() {
    let body = |store: &str, load: &str| {
        kernel(
            "test",
            ".param .u64 y",
            &format!(
                ".shared .align 4 .b8 s[128];\nmov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 2;\nmov.u32 %r2, s;\n\
                 add.u32 %r3, %r2, %r1;\n\
                 {store}\nbar.sync 0;\n{load}\nld.param.u64 %rd0, [y];\nmad.wide.u32 %rd1, %r0, 4, %rd0;\n\
                 st.global.u32 [%rd1], %r4;"
            ),
        )
    };
    let run = |store: &str, load: &str, checks: Checks| {
        let mut device = Device::with(Config { checks, ..Config::default() }, &body(store, load));
        let y = device.upload(&[0u32; 64]);
        let outcome = device.try_launch("test", launch(1, 32), Params::new().add(y));
        outcome.map(|_| device.download::<u32>(y, 32))
    };
    let store = "st.shared.u32 [%r3], %r0;";
    let load = "ld.shared.u32 %r4, [%r3];";
    assert_eq!(run(store, load, Checks::default()).unwrap(), (0..32).collect::<Vec<u32>>());
    // The half that was not written.
    let fault = run("setp.lt.u32 %p0, %r0, 16;\n@%p0 st.shared.u32 [%r3], %r0;", load, Checks::default()).unwrap_err();
    assert!(
        matches!(fault.kind, FaultKind::UninitialisedRead { access, .. } if access.space == MemorySpace::Shared),
        "{fault}"
    );
    assert_eq!(fault.thread, Some([16, 0, 0]));
    let text = fault.to_string();
    assert!(text.contains("uninitialised read: load of 4 bytes at shared address"), "{text}");
    // Unchecked, it is filled with what nobody would take for a value.
    let poisoned = run("", load, Checks::NONE).unwrap();
    assert_eq!(poisoned, [0xbad5_bad5; 32]);
    // Past the end.
    let fault = run(store, "ld.shared.u32 %r4, [%r3+8];", Checks::default()).unwrap_err();
    assert!(matches!(&fault.kind, FaultKind::OutOfBounds { access, .. } if access.address == 128), "{fault}");
    assert_eq!(fault.thread, Some([30, 0, 0]));
    let fault = run(store, "ld.shared.u16 %r4, [%r3+1];", Checks::default()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Misaligned { align: 2, .. }), "{fault}");
}

#[test]
fn each_block_starts_with_unwritten_shared_memory() {
    let ptx = kernel(
        "test",
        "",
        ".shared .align 4 .b8 s[4];\nmov.u32 %r0, %ctaid.x;\nsetp.eq.u32 %p0, %r0, 0;\nmov.u32 %r1, s;\n\
         @%p0 st.shared.u32 [%r1], 5;\nld.shared.u32 %r2, [%r1];",
    );
    let mut device = Device::new(&ptx);
    let fault = device.try_launch("test", launch(2, 1), Params::new()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::UninitialisedRead { .. }), "{fault}");
    assert_eq!(fault.block, Some([1, 0, 0]));
}

#[test]
fn read_only() {
    let mut device = Device::new(&copy_kernel());
    let (x, y) = (device.upload(&[1u32; 128]), device.upload(&[0u32; 128]));
    device.simulator.set_read_only(y, true).unwrap();
    let fault = copy(&mut device, x, y, 0).unwrap_err();
    assert!(matches!(&fault.kind, FaultKind::ReadOnly { place, .. } if place.start == y), "{fault}");
    assert!(fault.to_string().contains("write to read-only memory: store of 4 bytes"), "{fault}");
    assert_eq!(device.download::<u32>(y, 128), [0; 128]);
    device.simulator.set_read_only(y, false).unwrap();
    copy(&mut device, x, y, 0).unwrap();

    let ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.const .align 4 .u32 table[4] = {1, 2, 3, 4};\n\
               .visible .entry test(.param .u64 y)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<3>;\nmov.u64 %rd0, table;\n\
               ld.const.u32 %r0, [table+8];\nld.param.u64 %rd1, [y];\nst.global.u32 [%rd1], %r0;\n\
               st.global.u32 [%rd0], %r0;\nret;\n}\n";
    let mut device = Device::new(ptx);
    let y = device.upload(&[0u32]);
    let fault = device.try_launch("test", launch(1, 1), Params::new().add(y)).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::ReadOnly { .. }), "{fault}");
    assert!(fault.to_string().contains("`table`"), "{fault}");
    assert_eq!(device.download::<u32>(y, 1), [3]);
}

/// An atomic reads and writes: it meets whatever either would.
#[test]
fn atomics_fault_as_loads_and_stores_do() {
    for atomic in ["atom.global.add.u32 %r0, [%rd0], 1;", "red.global.add.u32 [%rd0], 1;"] {
        let mut device = Device::new(&kernel("add", ".param .u64 x", &format!("ld.param.u64 %rd0, [x];\n{atomic}")));
        let (x, unwritten) = (device.upload(&[5u32, 6]), device.allocate::<u32>(1));
        let mut run = |simulate: &mut dyn FnMut(&mut Device), address: u64| {
            simulate(&mut device);
            device.try_launch("add", launch(1, 1), Params::new().add(address)).map(|_| device.download::<u32>(x, 2))
        };
        let kind = |outcome: Result<Vec<u32>, Fault>| outcome.unwrap_err().kind.clone();
        assert_eq!(run(&mut |_| {}, x).unwrap(), [6, 6]);
        assert!(matches!(kind(run(&mut |_| {}, x + 8)), FaultKind::OutOfBounds { access, .. }
            if access.operation == Operation::Atomic));
        assert!(matches!(kind(run(&mut |_| {}, x + 2)), FaultKind::Misaligned { .. }), "{atomic}");
        assert!(matches!(kind(run(&mut |_| {}, unwritten)), FaultKind::UninitialisedRead { .. }), "{atomic}");
        let read_only = &mut |device: &mut Device| device.simulator.set_read_only(x, true).unwrap();
        assert!(matches!(kind(run(read_only, x)), FaultKind::ReadOnly { .. }), "{atomic}");
        let freed = &mut |device: &mut Device| device.simulator.free(unwritten).unwrap();
        assert!(matches!(kind(run(freed, unwritten)), FaultKind::Freed { .. }), "{atomic}");
    }
}

#[test]
fn unchecked_accesses_do_no_harm() {
    let mut device = Device::with(Config { checks: Checks::NONE, ..Config::default() }, &copy_kernel());
    let (x, y) = (device.upload(&[1u32; 100]), device.upload(&[9u32; 100]));
    // Loads past the end give zeros, stores past the end are dropped.
    copy(&mut device, x, y, 10).unwrap();
    let result: Vec<u32> = device.download(y, 100);
    assert_eq!(result[..90], [1; 90]);
    assert_eq!(result[90..], [0; 10]);
    // A misaligned access is carried out.
    copy(&mut device, x + 2, y, 0).unwrap();
    assert_eq!(device.download::<u32>(y, 1), [0x10000]);
    copy(&mut device, 0, y, 0).unwrap();
    assert_eq!(device.download::<u32>(y, 100), [0; 100]);
}

#[test]
fn local_memory() {
    let body = ".local .align 4 .b8 l[16];\nmov.u32 %r0, %tid.x;\nmov.u64 %rd0, l;\nmad.wide.u32 %rd1, %r0, 4, %rd0;\n\
        st.local.u32 [%rd1], %r0;";
    let mut device = Device::new(&kernel("test", "", body));
    device.launch("test", launch(1, 4), Params::new());
    let fault = device.try_launch("test", launch(1, 8), Params::new()).unwrap_err();
    assert!(
        matches!(fault.kind, FaultKind::OutOfBounds { access, .. } if access.space == MemorySpace::Local),
        "{fault}"
    );
    assert_eq!(fault.thread, Some([4, 0, 0]));
}

#[test]
fn bad_launches() {
    let mut device = Device::new(&copy_kernel());
    let (x, y) = (device.upload(&[1u32; 128]), device.upload(&[0u32; 128]));
    let good = || Params::new().add(x).add(y).add(0i32);
    let mut refused = |launch: Launch, params: Params, part: &str| {
        let fault = device.try_launch("copy", launch, params).unwrap_err();
        assert!(matches!(&fault.kind, FaultKind::BadLaunch(text) if text.contains(part)), "{fault}");
        assert!(fault.site.is_none());
    };
    refused(launch(0, 64), good(), "no threads");
    refused(launch(1, 0), good(), "no threads");
    refused(launch(1, 1025), good(), "1024 threads");
    refused(Launch { block: [1, 1, 65], ..launch(1, 1) }, good(), "larger");
    refused(Launch { grid: [1, 65536, 1], ..launch(1, 1) }, good(), "grid");
    refused(Launch { dynamic_shared: 65537, ..launch(1, 1) }, good(), "65537 bytes of shared memory");
    refused(launch(1, 64), Params::new().add(x).add(y), "16 bytes where the kernel takes 20");
    refused(Launch { cooperative: true, ..launch(100_000, 256) }, good(), "64 can be resident");
    device.launch("copy", launch(2, 64), good());
}
