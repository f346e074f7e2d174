use crate::common::{Device, Params, kernel, launch};
use crate::harness::*;

#[test]
fn copies() {
    check("mov.b16", &[Int(16)], Int(16), |[a, ..]| a);
    check("mov.b32", &[Int(32)], Int(32), |[a, ..]| a);
    check("mov.f64", &[F64], F64, |[a, ..]| a);
    check_text("mov.f32 {d}, 0f3F800000;", &[Int(32)], Int(32), |_| 0x3f80_0000);
    check_text("mov.f64 {d}, 0dBFF8000000000000;", &[Int(32)], Int(64), |_| 0xbff8_0000_0000_0000);
    check_text("mov.u64 {d}, 0x123456789abcdef0;", &[Int(32)], Int(64), |_| 0x1234_5678_9abc_def0);
    check_text("mov.u16 {d}, 65535;", &[Int(32)], Int(16), |_| 0xffff);
}

#[test]
fn packing() {
    check_text("mov.b32 {d}, {{a}, {b}};", &[Int(16); 2], Int(32), |[a, b, _]| a | b << 16);
    check_text("mov.b64 {d}, {{a}, {b}};", &[Int(32); 2], Int(64), |[a, b, _]| a | b << 32);
    check_text("mov.b64 {d}, {{a}, {b}, {b}, {a}};", &[Int(16); 2], Int(64), |[a, b, _]| {
        a | b << 16 | b << 32 | a << 48
    });
    check_text("mov.b32 {%h0, {d}}, {a};", &[Int(32)], Int(16), |[a, ..]| a >> 16);
    check_text("mov.b32 {{d}, %h0}, {a};", &[Int(32)], Int(16), |[a, ..]| a);
    check_text("mov.b64 {{d}, %r0}, {a};", &[Int(64)], Int(32), |[a, ..]| a);
    check_text("mov.b64 {%r0, {d}}, {a};", &[Int(64)], Int(32), |[a, ..]| a >> 32);
    check_text("mov.b64 {_, {d}}, {a};", &[Int(64)], Int(32), |[a, ..]| a >> 32);
    check_text("mov.b64 {%h0, %h1, {d}, %h3}, {a};", &[Int(64)], Int(16), |[a, ..]| a >> 32);
}

#[test]
fn variables_that_hold_addresses() {
    let variables = ".global .align 8 .u64 list[3] = {7, generic(words)+4, list+16};\n\
                     .const .align 8 .b64 place = words-4;\n\
                     .global .align 4 .u32 words[3] = {10, 20, 30};\n";
    let body = "ld.global.u64 %rd1, [list+8];\nld.u32 %r1, [%rd1];\nld.const.u64 %rd2, [place];\n\
                ld.global.u32 %r2, [%rd2+12];\nld.global.u64 %rd3, [list+16];\nld.param.u64 %rd4, [out];\n\
                st.global.v2.u32 [%rd4], {%r1, %r2};\nst.global.u64 [%rd4+8], %rd3;";
    let ptx = kernel("test", ".param .u64 out", body).replacen(".visible", &format!("{variables}.visible"), 1);
    let mut device = Device::new(&ptx);
    let out = device.allocate::<u64>(2);
    device.launch("test", launch(1, 1), Params::new().add(out));
    let list = device.program.variable("list").unwrap();
    assert_eq!(device.download::<u64>(out, 2), [30 << 32 | 20, list + 16]);
    assert_eq!(device.download::<u64>(list, 1), [7]);
}
