use crate::half::{bf16, f16, to_bf16, to_f16};
use crate::harness::*;

const INTEGERS: [(&str, u32, bool); 8] = [
    ("u8", 8, false),
    ("s8", 8, true),
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

fn integer(bits: u64, width: u32, signed: bool) -> i128 {
    let shift = 64 - width;
    if signed { i128::from((bits << shift) as i64 >> shift) } else { i128::from(bits << shift >> shift) }
}

fn range(width: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// A register that holds a value of `width` bits, which is extended to it.
fn register(width: u32) -> Ty {
    Int(width.max(16))
}

#[test]
fn between_integers() {
    for (to, to_width, to_signed) in INTEGERS {
        for (from, from_width, from_signed) in INTEGERS {
            check(&format!("cvt.{to}.{from}"), &[register(from_width)], register(to_width), |[a, ..]| {
                integer(integer(a, from_width, from_signed) as u64, to_width, to_signed) as u64
            });
            let (least, most) = range(to_width, to_signed);
            check(&format!("cvt.sat.{to}.{from}"), &[register(from_width)], register(to_width), |[a, ..]| {
                integer(a, from_width, from_signed).clamp(least, most) as u64
            });
        }
    }
    // A narrow result in a wide register is extended.
    check_text("cvt.s8.s32 {d}, {a};", &[Int(32)], Int(32), |[a, ..]| a as i8 as u64);
    check_text("cvt.u16.u32 {d}, {a};", &[Int(32)], Int(64), |[a, ..]| a & 0xffff);
    check_text("cvt.s16.s64 {d}, {a};", &[Int(64)], Int(64), |[a, ..]| a as i16 as u64);
}

fn round(x: f64, mode: &str) -> f64 {
    match mode {
        "rni" => x.round_ties_even(),
        "rzi" => x.trunc(),
        "rmi" => x.floor(),
        _ => x.ceil(),
    }
}

type Float = (&'static str, Ty, fn(u64) -> f64);

const FLOATS: [Float; 4] = [
    ("f16", F16, f16),
    ("bf16", BF16, bf16),
    ("f32", F32, |a| f64::from(f32::from_bits(a as u32))),
    ("f64", F64, f64::from_bits),
];

#[test]
fn floats_to_integers() {
    for (from, from_ty, value) in FLOATS {
        for (to, width, signed) in INTEGERS {
            let (least, most) = range(width, signed);
            for mode in ["rni", "rzi", "rmi", "rpi"] {
                check(&format!("cvt.{mode}.{to}.{from}"), &[from_ty], register(width), |[a, ..]| {
                    let x = value(a);
                    if x.is_nan() {
                        let long = from == "f64" || width == 64;
                        return if long { integer(1 << (width - 1), width, signed) as u64 } else { 0 };
                    }
                    (round(x, mode) as i128).clamp(least, most) as u64
                });
            }
        }
    }
    check("cvt.rzi.ftz.s32.f32", &[F32], Int(32), |[a, ..]| f32::from_bits(a as u32) as i32 as u64);
}

#[test]
fn integers_to_floats() {
    for (from, width, signed) in INTEGERS {
        let input = register(width);
        let value = move |a| integer(a, width, signed);
        check(&format!("cvt.rn.f32.{from}"), &[input], F32, |[a, ..]| u64::from((value(a) as f32).to_bits()));
        check(&format!("cvt.rn.f64.{from}"), &[input], F64, |[a, ..]| (value(a) as f64).to_bits());
        // Doubles hold 53 bits; 64-bit integers that do not fit are far beyond the range of f16.
        check(&format!("cvt.rn.f16.{from}"), &[input], F16, |[a, ..]| to_f16(value(a) as f64));
        check(&format!("cvt.rz.f32.{from}"), &[input], F32, |[a, ..]| {
            let near = value(a) as f32;
            let above = f64::from(near) as i128 > value(a).abs() || near.abs() as i128 > value(a).abs();
            u64::from(if above { f32::from_bits(near.to_bits() - 1) } else { near }.to_bits())
        });
    }
}

#[test]
fn between_floats() {
    let single = |x: f32| u64::from(if x.is_nan() { 0x7fff_ffff } else { x.to_bits() });
    check("cvt.f32.f16", &[F16], F32, |[a, ..]| single(f16(a) as f32));
    check("cvt.f32.bf16", &[BF16], F32, |[a, ..]| single(bf16(a) as f32));
    check("cvt.rn.f32.f64", &[F64], F32, |[a, ..]| single(f64::from_bits(a) as f32));
    check("cvt.f64.f32", &[F32], F64, |[a, ..]| {
        let x = f64::from(f32::from_bits(a as u32));
        if x.is_nan() { x.to_bits() | 1 << 51 } else { x.to_bits() }
    });
    check("cvt.rn.f16.f32", &[F32], F16, |[a, ..]| to_f16(f64::from(f32::from_bits(a as u32))));
    check("cvt.rn.bf16.f32", &[F32], BF16, |[a, ..]| to_bf16(f64::from(f32::from_bits(a as u32))));
    check("cvt.rn.f16.f64", &[F64], F16, |[a, ..]| to_f16(f64::from_bits(a)));
    check("cvt.rn.bf16.f16", &[F16], BF16, |[a, ..]| to_bf16(f16(a)));
    check("cvt.rz.f16.f32", &[F32], F16, |[a, ..]| {
        let x = f64::from(f32::from_bits(a as u32));
        let near = to_f16(x);
        let too_far = f16(near).abs() > x.abs();
        near - u64::from(too_far)
    });
    check("cvt.rp.f32.f64", &[F64], F32, |[a, ..]| {
        let x = f64::from_bits(a);
        let near = x as f32;
        single(if f64::from(near) < x { near.next_up() } else { near })
    });
    check("cvt.rm.f32.f64", &[F64], F32, |[a, ..]| {
        let x = f64::from_bits(a);
        let near = x as f32;
        single(if f64::from(near) > x { near.next_down() } else { near })
    });
    check("cvt.sat.f32.f32", &[F32], F32, |[a, ..]| {
        let x = f32::from_bits(a as u32);
        single(if x > 0.0 { x.min(1.0) } else { 0.0 })
    });
    check("cvt.ftz.f64.f32", &[F32], F64, |[a, ..]| {
        let x = f32::from_bits(a as u32);
        let x = f64::from(if x.is_subnormal() { 0f32.copysign(x) } else { x });
        if x.is_nan() { x.to_bits() | 1 << 51 } else { x.to_bits() }
    });
    for mode in ["rni", "rzi", "rmi", "rpi"] {
        check(&format!("cvt.{mode}.f32.f32"), &[F32], F32, |[a, ..]| {
            single(round(f64::from(f32::from_bits(a as u32)), mode) as f32)
        });
        check(&format!("cvt.{mode}.f64.f64"), &[F64], F64, |[a, ..]| {
            let x = f64::from_bits(a);
            if x.is_nan() { a | 1 << 51 } else { round(x, mode).to_bits() }
        });
        check(&format!("cvt.{mode}.f16.f16"), &[F16], F16, |[a, ..]| to_f16(round(f16(a), mode)));
    }
}

#[test]
fn packed() {
    let value = |a: u64| f64::from(f32::from_bits(a as u32));
    check("cvt.rn.f16x2.f32", &[F32; 2], Int(32), |[a, b, _]| to_f16(value(a)) << 16 | to_f16(value(b)));
    check("cvt.rn.bf16x2.f32", &[F32; 2], Int(32), |[a, b, _]| to_bf16(value(a)) << 16 | to_bf16(value(b)));
    check("cvt.rn.relu.f16x2.f32", &[F32; 2], Int(32), |[a, b, _]| {
        let relu = |a| if value(a).is_sign_negative() && !value(a).is_nan() { 0 } else { to_f16(value(a)) };
        relu(a) << 16 | relu(b)
    });
}

/// All 65536 values of both 16-bit formats, to single precision and back.
#[test]
fn every_half() {
    use crate::common::{Device, Params, kernel, launch};
    let body = "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %tid.x;\nmad.lo.u32 %r2, %r0, 256, %r1;\ncvt.u16.u32 %h0, %r2;\n\
                cvt.f32.NAME %f0, %h0;\ncvt.rn.NAME.f32 %h1, %f0;\nld.param.u64 %rd0, [wide];\n\
                mad.wide.u32 %rd1, %r2, 4, %rd0;\n\
                st.global.f32 [%rd1], %f0;\nld.param.u64 %rd0, [back];\nmad.wide.u32 %rd1, %r2, 2, %rd0;\n\
                st.global.u16 [%rd1], %h1;\n";
    for (name, load) in [("f16", f16 as fn(u64) -> f64), ("bf16", bf16)] {
        let ptx = kernel("test", ".param .u64 wide, .param .u64 back", &body.replace("NAME", name));
        let mut device = Device::new(&ptx);
        let (wide, back) = (device.allocate::<f32>(65536), device.allocate::<u16>(65536));
        device.launch("test", launch(256, 256), Params::new().add(wide).add(back));
        let (singles, halves) = (device.download::<f32>(wide, 65536), device.download::<u16>(back, 65536));
        for bits in 0..65536usize {
            let exact = load(bits as u64);
            if exact.is_nan() {
                assert_eq!((singles[bits].to_bits(), halves[bits]), (0x7fff_ffff, 0x7fff), "{name} {bits:#x}");
            } else {
                assert_eq!(f64::from(singles[bits]).to_bits(), exact.to_bits(), "{name} {bits:#x}");
                assert_eq!(halves[bits], bits as u16, "{name} {bits:#x}");
            }
        }
    }
}
