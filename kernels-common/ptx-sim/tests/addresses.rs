//! Addresses that are sums of a register and an offset.

mod common;

use common::{Device, Params, kernel, launch};
use ptx_sim::{Fault, FaultKind};

/// Runs `body` for 32 threads, with their numbers in `%r0` and 128 bytes of shared memory, and gives their `%r9`.
fn run(body: &str) -> Result<Vec<u32>, Fault> {
    let ptx = kernel(
        "test",
        ".param .u64 out",
        &format!(
            ".shared .align 16 .b8 s[128];\nld.param.u64 %rd0, [out];\nmov.u32 %r0, %tid.x;\n\
             mad.wide.u32 %rd1, %r0, 4, %rd0;\nmov.u32 %r9, 0;\n{body}\nst.global.u32 [%rd1], %r9;"
        ),
    );
    let mut device = Device::new(&ptx);
    let out = device.upload(&[0u32; 32]);
    device.try_launch("test", launch(1, 32), Params::new().add(out))?;
    Ok(device.download(out, 32))
}

/// nvcc takes a large constant out of an index, and what is left in the register may be negative: only the sum, of 32
/// bits, is an address.
#[test]
fn a_register_of_32_bits_and_an_offset_wrap() {
    let below = "mov.u32 %r1, s;\nmad.lo.u32 %r2, %r0, 4, %r1;\nsub.u32 %r2, %r2, 2044;\nadd.u32 %r3, %r0, 100;\n";
    let numbers: Vec<u32> = (100..132).collect();
    for access in [
        "st.shared.u32 [%r2+2044], %r3;\nld.shared.u32 %r9, [%r2+2044];",
        "st.shared.u32 [%r2+2044], 0;\nred.shared.add.u32 [%r2+2044], %r3;\nld.shared.u32 %r9, [%r2+2044];",
        "st.shared.u32 [%r2+2044], %r3;\natom.shared.exch.b32 %r9, [%r2+2044], 0;",
        "st.volatile.shared.u16 [%r2+2044], %r3;\nld.volatile.shared.u16 %r9, [%r2+2044];",
    ] {
        assert_eq!(run(&format!("{below}{access}")).unwrap(), numbers, "{access}");
    }
    let pairs = "mov.u32 %r1, s;\nand.b32 %r2, %r0, 15;\nmad.lo.u32 %r2, %r2, 8, %r1;\nsub.u32 %r2, %r2, 2048;\n\
                 setp.lt.u32 %p1, %r0, 16;\n@%p1 st.shared.v2.u32 [%r2+2048], {%r0, 7};\nbar.sync 0;\n\
                 ld.shared.v2.u32 {%r3, %r4}, [%r2+2048];\nadd.u32 %r9, %r3, %r4;";
    let expected: Vec<u32> = (0..32).map(|thread| thread % 16 + 7).collect();
    assert_eq!(run(pairs).unwrap(), expected);
    // Below the start as well: a positive register and a negative offset.
    let above = "mov.u32 %r1, s;\nmad.lo.u32 %r2, %r0, 4, %r1;\nadd.u32 %r2, %r2, 2044;\n\
                 st.shared.u32 [%r2+-2044], %r0;\nld.shared.u32 %r9, [%r2+-2044];";
    assert_eq!(run(above).unwrap(), (0..32).collect::<Vec<u32>>());
}

#[test]
fn a_sum_outside_is_reported_by_its_32_bits() {
    for (body, expected) in [
        ("mov.u32 %r2, -8;\nst.shared.u32 [%r2+4], %r0;", 0xffff_fffc),
        ("mov.u32 %r2, -8;\nst.shared.u32 [%r2+136], %r0;", 128),
    ] {
        let fault = run(body).unwrap_err();
        let FaultKind::OutOfBounds { access, .. } = &fault.kind else { panic!("{fault}") };
        assert_eq!(access.address, expected, "{fault}");
    }
}
