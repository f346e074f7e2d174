//! Atomics and reductions, in every space.

mod common;

use common::{Device, Params, kernel, launch};

/// One atomic a thread on the word `thread % words`; operands are `b[thread]` and `c[thread]`.
struct Case {
    name: &'static str,
    ty: &'static str,
    bytes: usize,
    initial: u64,
    operand: fn(u64) -> u64,
    /// For `cas`: the replacement.
    other: Option<fn(u64) -> u64>,
    /// New value from old, operand and replacement.
    update: fn(u64, u64, u64) -> u64,
}

fn half(x: f32) -> u64 {
    // Small whole numbers: sign, exponent and the top ten bits of the fraction.
    let bits = x.to_bits();
    if x == 0.0 { 0 } else { u64::from((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | bits >> 13 & 0x3ff) }
}

fn from_half(bits: u64) -> f32 {
    let bits = bits as u32 & 0xffff;
    if bits & 0x7fff == 0 {
        0.0
    } else {
        f32::from_bits((bits & 0x8000) << 16 | ((bits >> 10 & 31) + 112) << 23 | (bits & 0x3ff) << 13)
    }
}

fn bfloat(x: f32) -> u64 {
    u64::from(x.to_bits() >> 16)
}

fn from_bfloat(bits: u64) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

const THREADS: usize = 96;

fn cases() -> Vec<Case> {
    macro_rules! case {
        ($name:literal, $ty:literal, $bytes:literal, $initial:expr, $operand:expr, $update:expr) => {
            Case {
                name: $name,
                ty: $ty,
                bytes: $bytes,
                initial: $initial,
                operand: $operand,
                other: None,
                update: $update,
            }
        };
    }
    let f32s = |x: f32| u64::from(x.to_bits());
    vec![
        case!("add", "u32", 4, 0xffff_fff0, |t| t, |a, b, _| (a + b) & 0xffff_ffff),
        case!("add", "s32", 4, 5, |t| 0u64.wrapping_sub(t) & 0xffff_ffff, |a, b, _| (a + b) & 0xffff_ffff),
        case!("add", "u64", 8, u64::MAX - 3, |t| t << 33, |a, b, _| a.wrapping_add(b)),
        case!("add", "f32", 4, f32s(0.5), |t| u64::from((t as f32).to_bits()), |a, b, _| {
            u64::from((f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits())
        }),
        case!("add", "f64", 8, 0.25f64.to_bits(), |t| (t as f64).to_bits(), |a, b, _| {
            (f64::from_bits(a) + f64::from_bits(b)).to_bits()
        }),
        case!("add.noftz", "f16", 2, half(1.0), |t| half((t % 8) as f32), |a, b, _| half(from_half(a) + from_half(b))),
        case!("add.noftz", "bf16", 2, bfloat(1.0), |t| bfloat((t % 4) as f32), |a, b, _| {
            bfloat(from_bfloat(a) + from_bfloat(b))
        }),
        case!(
            "add.noftz",
            "f16x2",
            4,
            half(1.0) << 16 | half(2.0),
            |t| half((t % 8) as f32) << 16 | half(1.0),
            |a, b, _| { half(from_half(a >> 16) + from_half(b >> 16)) << 16 | half(from_half(a) + from_half(b)) }
        ),
        case!("min", "u32", 4, 1000, |t| 0xffff_ff00 ^ (t * 37), |a, b, _| a.min(b)),
        case!("min", "s32", 4, 1000, |t| 0xffff_ff00 ^ (t * 37), |a, b, _| u64::from((a as i32).min(b as i32) as u32)),
        case!("max", "u32", 4, 1000, |t| 0xffff_ff00 ^ (t * 37), |a, b, _| a.max(b)),
        case!("max", "s32", 4, 1000, |t| 0xffff_ff00 ^ (t * 37), |a, b, _| u64::from((a as i32).max(b as i32) as u32)),
        case!("min", "u64", 8, 1 << 40, |t| (t * 37) << 36, |a, b, _| a.min(b)),
        case!("max", "u64", 8, 1 << 40, |t| (t * 37) << 58, |a, b, _| a.max(b)),
        case!("min", "s64", 8, 1 << 40, |t| (t * 37) << 58, |a, b, _| (a as i64).min(b as i64) as u64),
        case!("max", "s64", 8, 1 << 40, |t| (t * 37) << 58, |a, b, _| (a as i64).max(b as i64) as u64),
        case!("and", "b32", 4, 0xffff_ffff, |t| !(1 << (t % 32)) & 0xffff_ffff, |a, b, _| a & b),
        case!("or", "b32", 4, 0, |t| 1 << (t % 32), |a, b, _| a | b),
        case!("xor", "b64", 8, 0x5555, |t| t << 40 | t, |a, b, _| a ^ b),
        case!("exch", "b32", 4, 7, |t| t + 100, |_, b, _| b),
        case!("exch", "b64", 8, 7, |t| t << 40, |_, b, _| b),
        case!("inc", "u32", 4, 0, |_| 5, |a, b, _| if a >= b { 0 } else { a + 1 }),
        case!("dec", "u32", 4, 3, |_| 5, |a, b, _| if a == 0 || a > b { b } else { a - 1 }),
        Case {
            name: "cas",
            ty: "b16",
            bytes: 2,
            initial: 0,
            operand: |t| t / 4,
            other: Some(|t| t / 4 + 1),
            update: |a, b, c| if a == b { c } else { a },
        },
        Case {
            name: "cas",
            ty: "b32",
            bytes: 4,
            initial: 0,
            operand: |t| t / 4,
            other: Some(|t| t / 4 + 1),
            update: |a, b, c| if a == b { c } else { a },
        },
        Case {
            name: "cas",
            ty: "b64",
            bytes: 8,
            initial: 0,
            operand: |t| t / 4,
            other: Some(|t| t / 4 + 1),
            update: |a, b, c| if a == b { c } else { a },
        },
    ]
}

fn register(bytes: usize, number: usize) -> String {
    let class = match bytes {
        2 => "h",
        4 => "r",
        _ => "rd",
    };
    format!("%{class}{number}")
}

fn bytes_of(values: impl Iterator<Item = u64>, bytes: usize) -> Vec<u8> {
    values.flat_map(|value| value.to_le_bytes()[..bytes].to_vec()).collect()
}

/// Lanes take turns in ascending order. The warp that completes the barrier before the atomics, the last one, goes on
/// at once; then the others follow.
fn expected(case: &Case, words: usize) -> (Vec<u64>, Vec<u64>) {
    let mut memory = vec![case.initial; words];
    let last_warp = THREADS as u64 - 32;
    let mut old = vec![0; THREADS];
    for thread in (last_warp..THREADS as u64).chain(0..last_warp) {
        let word = &mut memory[thread as usize % words];
        old[thread as usize] = *word;
        *word = (case.update)(*word, (case.operand)(thread), case.other.map_or(0, |other| other(thread)));
    }
    (memory, old)
}

#[test]
fn every_operation_in_every_space() {
    for case in cases() {
        let Case { name, ty, bytes, .. } = case;
        let (b, c, d) = (register(bytes, 1), register(bytes, 2), register(bytes, 3));
        let third = if case.other.is_some() { format!(", {c}") } else { String::new() };
        for words in [1usize, 4, 32] {
            for space in ["global", "shared", "generic global", "generic shared"] {
                let shared = space.ends_with("shared");
                let dot_space = if space.starts_with("generic") { String::new() } else { format!(".{space}") };
                let to_memory = match space {
                    "global" | "generic global" => "mov.u64 %rd10, %rd9;".to_owned(),
                    "shared" => "mov.u64 %rd10, s;".to_owned(),
                    _ => "mov.u64 %rd10, s;\ncvta.shared.u64 %rd10, %rd10;".to_owned(),
                };
                let width = 8 * bytes;
                let body = format!(
                    ".shared .align 8 .b8 s[256];\nmov.u32 %r10, %tid.x;\nrem.u32 %r11, %r10, {words};\n\
                     ld.param.u64 %rd9, [memory];\n\
                     ld.param.u64 %rd8, [b];\nmad.wide.u32 %rd8, %r10, {bytes}, %rd8;\n\
                     ld.global.b{width} {b}, [%rd8];\n\
                     ld.param.u64 %rd8, [c];\nmad.wide.u32 %rd8, %r10, {bytes}, %rd8;\n\
                     ld.global.b{width} {c}, [%rd8];\n\
                     {to_memory}\nmad.wide.u32 %rd11, %r11, {bytes}, %rd10;\nmad.wide.u32 %rd12, %r11, {bytes}, %rd9;\n\
                     setp.ge.u32 %p0, %r10, {words};\n@%p0 bra START;\nld.global.b{width} {d}, [%rd12];\n\
                     st.b{width} [%rd11], {d};\nSTART:\nbar.sync 0;\n\
                     atom{dot_space}.{name}.{ty} {d}, [%rd11], {b}{third};\n\
                     ld.param.u64 %rd8, [old];\nmad.wide.u32 %rd8, %r10, {bytes}, %rd8;\n\
                     st.global.b{width} [%rd8], {d};\n\
                     bar.sync 0;\n@%p0 bra END;\nld.b{width} {d}, [%rd11];\nst.global.b{width} [%rd12], {d};\nEND:"
                );
                // Plain generic accesses need generic addresses.
                let body = if space == "shared" {
                    body.replace(&format!("st.b{width} [%rd11]"), &format!("st.shared.b{width} [%rd11]"))
                        .replace(&format!("ld.b{width} {d}, [%rd11]"), &format!("ld.shared.b{width} {d}, [%rd11]"))
                } else {
                    body
                };
                let ptx = kernel("test", ".param .u64 memory, .param .u64 b, .param .u64 c, .param .u64 old", &body);
                let mut device = Device::new(&ptx);
                let memory = device.upload(&bytes_of((0..words).map(|_| case.initial), bytes));
                let operands = |f: fn(u64) -> u64| bytes_of((0..THREADS as u64).map(f), bytes);
                let b = device.upload(&operands(case.operand));
                let c = device.upload(&operands(case.other.unwrap_or(case.operand)));
                let old = device.allocate::<u8>(THREADS * bytes);
                let params = Params::new().add(memory).add(b).add(c).add(old);
                let counters = device.launch("test", launch(1, THREADS as u32), params);
                let (end, olds) = expected(&case, words);
                let label = format!("{name}.{ty} {space}, {words} words");
                assert_eq!(device.download::<u8>(memory, words * bytes), bytes_of(end.into_iter(), bytes), "{label}");
                assert_eq!(
                    device.download::<u8>(old, THREADS * bytes),
                    bytes_of(olds.into_iter(), bytes),
                    "{label}: old values"
                );
                let atomics = if shared { counters.shared_atomics } else { counters.global_atomics };
                assert_eq!(atomics, 3, "{label}");
            }
        }
    }
}

#[test]
fn reductions() {
    let body = "ld.param.u64 %rd0, [x];\nred.global.add.u32 [%rd0], 3;\nred.global.max.s32 [%rd0+4], -7;\n\
                red.release.gpu.global.add.f32 [%rd0+8], 0f3FC00000;\n\
                atom.global.add.u32 %r0, [%rd0+12], 1;\natom.global.add.u32 _, [%rd0+12], 1;\n\
                atom.global.add.u32 %r1, [%rd0+12], 1;\nsetp.eq.u32 %p0, %r1, -1;\n\
                @%p0 st.global.u32 [%rd0+16], %r1;";
    let mut device = Device::new(&kernel("test", ".param .u64 x", body));
    let x = device.upload(&[0u32, (-9i32) as u32, 0, 0, 0]);
    let counters = device.launch("test", launch(2, 64), Params::new().add(x));
    let result: Vec<u32> = device.download(x, 5);
    assert_eq!(result[..4], [3 * 128, (-7i32) as u32, 192f32.to_bits(), 3 * 128]);
    // Two warps in each of two blocks; results that nothing reads make reductions.
    assert_eq!((counters.global_reductions, counters.global_atomics), (5 * 4, 4));
}

#[test]
fn guarded_lanes_only() {
    let body = "ld.param.u64 %rd0, [x];\nmov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 5;\n\
        @%p0 red.global.add.u32 [%rd0], 1;\n@!%p0 red.global.add.u32 [%rd0+4], 1;";
    let mut device = Device::new(&kernel("test", ".param .u64 x", body));
    let x = device.upload(&[0u32; 2]);
    device.launch("test", launch(1, 64), Params::new().add(x));
    assert_eq!(device.download::<u32>(x, 2), [5, 59]);
}
