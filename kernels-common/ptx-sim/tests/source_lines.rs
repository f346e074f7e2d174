//! Faults of kernels that nvcc compiled with line information name the line of the CUDA source.

mod common;

use common::{Device, Params, launch};
use ptx_sim::ast::SourceLocation;
use ptx_sim::{Fault, FaultKind, Operation};

const LINE_INFO: &str = include_str!("ptx/saxpy.lineinfo.ptx");
const DEBUG: &str = include_str!("ptx/saxpy.debug.ptx");
const SOURCE: &str = include_str!("ptx/saxpy.cu");

/// y += 2 x on vectors of 100 and `len_y` elements, as if both had `n`.
fn saxpy(ptx: &str, len_y: usize, n: u32) -> Result<Vec<f32>, Fault> {
    let mut device = Device::new(ptx);
    let (x, y) = (device.upload(&[3f32; 100]), device.upload(&vec![1f32; len_y]));
    device.try_launch("saxpy", launch(4, 64), Params::new().add(2f32).add(x).add(y).add(n))?;
    Ok(device.download(y, len_y))
}

#[test]
fn a_fault_names_file_and_line_of_the_cuda_source() {
    let line = SOURCE.lines().position(|line| line.contains("scaled(a, x[i])")).unwrap() as u32 + 1;
    assert_eq!(line, 12);
    for ptx in [LINE_INFO, DEBUG] {
        assert_eq!(saxpy(ptx, 100, 100).unwrap(), [7.0; 100]);
        // Past the end of x, then of y.
        for (len_y, n, thread) in [(200, 101, [36, 0, 0]), (70, 100, [6, 0, 0])] {
            let fault = saxpy(ptx, len_y, n).unwrap_err();
            let FaultKind::OutOfBounds { access, .. } = &fault.kind else { panic!("{fault}") };
            assert_eq!((access.operation, fault.block, fault.thread), (Operation::Load, Some([1, 0, 0]), Some(thread)));
            let site = fault.site.as_ref().unwrap();
            assert_eq!(site.source, Some(SourceLocation { file: "/src/saxpy.cu".into(), line, inlined_at: None }));
            let text = fault.to_string();
            assert!(text.contains("saxpy.cu:12"), "{text}");
            // The line of the PTX is there too.
            let ptx_line = ptx.lines().nth(site.span.line as usize - 1).unwrap();
            assert!(ptx_line.contains(&*site.opcode), "{ptx_line}");
        }
    }
}

/// Two warps wait at barriers of different numbers, in a function that the kernel calls at different lines.
#[test]
fn who_waits_is_named_with_the_line_and_with_the_call() {
    let ptx = "
        .version 7.0
        .target sm_75
        .address_size 64
        .visible .entry apart() {
            .reg .pred %p;
            .reg .b32 %r;
            .loc 1 10 5
            mov.u32 %r, %tid.x;
            setp.lt.u32 %p, %r, 32;
            @%p bra FIRST;
            .loc 2 3 1, function_name names, inlined_at 1 12 5
            bar.sync 2, 64;
            bra END;
        FIRST:
            .loc 2 3 1, function_name names, inlined_at 1 11 5
            bar.sync 1, 64;
        END:
            ret;
        }
        .file 1 \"apart.cu\"
        .file 2 \"meet.h\"
        .section .debug_str { names: .b8 0 }";
    let fault = Device::new(ptx).try_launch("apart", launch(1, 64), Params::new()).unwrap_err();
    let FaultKind::Deadlock { waiting } = &fault.kind else { panic!("{fault}") };
    let places: Vec<String> = waiting.iter().map(|group| group.source.as_ref().unwrap().to_string()).collect();
    assert_eq!(places, ["meet.h:3, inlined at apart.cu:11", "meet.h:3, inlined at apart.cu:12"]);
    let text = fault.to_string();
    for place in places {
        assert!(text.contains(&format!(", {place})")), "{place} in {text}");
    }
    assert!(text.contains("`bar.sync` (meet.h:3, inlined at apart.cu:11)"), "{text}");
}

#[test]
fn without_line_information_there_is_only_the_ptx() {
    let bare: String =
        LINE_INFO.lines().filter(|line| !line.trim().starts_with(".loc")).map(|l| l.to_owned() + "\n").collect();
    let fault = saxpy(&bare, 70, 100).unwrap_err();
    assert_eq!(fault.site.as_ref().unwrap().source, None);
    assert!(!fault.to_string().contains(".cu"), "{fault}");
}
