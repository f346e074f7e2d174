use crate::harness::*;

macro_rules! arithmetic {
    ($($test:ident: $T:ident, $name:literal, $bits:literal;)+) => {
        $(#[test]
        fn $test() {
            let int = Int($bits);
            let two = |f: fn($T, $T) -> $T| move |[a, b, _]: [u64; 3]| f(a as $T, b as $T) as u64;
            let opcode = |name: &str| format!("{name}.{}", $name);
            check(&opcode("add"), &[int; 2], int, two(|a, b| a.wrapping_add(b)));
            check(&opcode("sub"), &[int; 2], int, two(|a, b| a.wrapping_sub(b)));
            check(&opcode("mul.lo"), &[int; 2], int, two(|a, b| a.wrapping_mul(b)));
            check(&opcode("mul.hi"), &[int; 2], int, two(|a, b| ((a as i128 * b as i128) >> $bits) as $T));
            check(&opcode("min"), &[int; 2], int, two(|a, b| a.min(b)));
            check(&opcode("max"), &[int; 2], int, two(|a, b| a.max(b)));
            check(&opcode("div"), &[int; 2], int, two(|a, b| if b == 0 { !0 } else { a.wrapping_div(b) }));
            check(&opcode("rem"), &[int; 2], int, two(|a, b| if b == 0 { a } else { a.wrapping_rem(b) }));
            check(&opcode("mad.lo"), &[int; 3], int, |[a, b, c]| {
                (a as $T).wrapping_mul(b as $T).wrapping_add(c as $T) as u64
            });
            check(&opcode("mad.hi"), &[int; 3], int, |[a, b, c]| {
                (((a as $T as i128 * b as $T as i128) >> $bits) as $T).wrapping_add(c as $T) as u64
            });
            check(&opcode("sad"), &[int; 3], int, |[a, b, c]| {
                (c as $T).wrapping_add((a as $T).abs_diff(b as $T) as $T) as u64
            });
        })+
    };
}

arithmetic! {
    u16s: u16, "u16", 16;
    s16s: i16, "s16", 16;
    u32s: u32, "u32", 32;
    s32s: i32, "s32", 32;
    s64s: i64, "s64", 64;
}

#[test]
fn u64s() {
    let int = Int(64);
    check("add.u64", &[int; 2], int, |[a, b, _]| a.wrapping_add(b));
    check("mul.hi.u64", &[int; 2], int, |[a, b, _]| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check("div.u64", &[int; 2], int, |[a, b, _]| a.checked_div(b).unwrap_or(u64::MAX));
    check("rem.u64", &[int; 2], int, |[a, b, _]| a.checked_rem(b).unwrap_or(a));
    check("min.u64", &[int; 2], int, |[a, b, _]| a.min(b));
    check("max.u64", &[int; 2], int, |[a, b, _]| a.max(b));
    check("sad.u64", &[int; 3], int, |[a, b, c]| c.wrapping_add(a.abs_diff(b)));
}

#[test]
fn signs() {
    check("neg.s16", &[Int(16)], Int(16), |[a, ..]| (a as i16).wrapping_neg() as u64);
    check("neg.s32", &[Int(32)], Int(32), |[a, ..]| (a as i32).wrapping_neg() as u64);
    check("neg.s64", &[Int(64)], Int(64), |[a, ..]| (a as i64).wrapping_neg() as u64);
    check("abs.s16", &[Int(16)], Int(16), |[a, ..]| (a as i16).wrapping_abs() as u64);
    check("abs.s32", &[Int(32)], Int(32), |[a, ..]| (a as i32).wrapping_abs() as u64);
    check("abs.s64", &[Int(64)], Int(64), |[a, ..]| (a as i64).wrapping_abs() as u64);
}

#[test]
fn wide_products() {
    check("mul.wide.u16", &[Int(16); 2], Int(32), |[a, b, _]| a * b);
    check("mul.wide.s16", &[Int(16); 2], Int(32), |[a, b, _]| (i64::from(a as i16) * i64::from(b as i16)) as u64);
    check("mul.wide.u32", &[Int(32); 2], Int(64), |[a, b, _]| a * b);
    check("mul.wide.s32", &[Int(32); 2], Int(64), |[a, b, _]| (i64::from(a as i32) * i64::from(b as i32)) as u64);
    check("mad.wide.u16", &[Int(16), Int(16), Int(32)], Int(32), |[a, b, c]| (a * b).wrapping_add(c));
    check("mad.wide.u32", &[Int(32), Int(32), Int(64)], Int(64), |[a, b, c]| (a * b).wrapping_add(c));
    check("mad.wide.s32", &[Int(32), Int(32), Int(64)], Int(64), |[a, b, c]| {
        (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
    });
}

#[test]
fn saturation() {
    check("add.sat.s32", &[Int(32); 2], Int(32), |[a, b, _]| (a as i32).saturating_add(b as i32) as u64);
    check("sub.sat.s32", &[Int(32); 2], Int(32), |[a, b, _]| (a as i32).saturating_sub(b as i32) as u64);
    check("mad.hi.sat.s32", &[Int(32); 3], Int(32), |[a, b, c]| {
        (((i64::from(a as i32) * i64::from(b as i32)) >> 32) as i32).saturating_add(c as i32) as u64
    });
}

#[test]
fn products_of_24_bits() {
    let unsigned = |x: u64| x & 0xff_ffff;
    let signed = |x: u64| i64::from((x as i32) << 8 >> 8);
    check("mul24.lo.u32", &[Int(32); 2], Int(32), |[a, b, _]| unsigned(a) * unsigned(b));
    check("mul24.hi.u32", &[Int(32); 2], Int(32), |[a, b, _]| (unsigned(a) * unsigned(b)) >> 16);
    check("mul24.lo.s32", &[Int(32); 2], Int(32), |[a, b, _]| (signed(a) * signed(b)) as u64);
    check("mul24.hi.s32", &[Int(32); 2], Int(32), |[a, b, _]| ((signed(a) * signed(b)) >> 16) as u64);
    check("mad24.lo.s32", &[Int(32); 3], Int(32), |[a, b, c]| (signed(a) * signed(b)).wrapping_add(c as i64) as u64);
}

#[test]
fn carries() {
    let wide = |a: u64, b: u64, carry: bool| u128::from(a) + u128::from(b) + u128::from(carry);
    check_text("add.cc.u32 %r0, {a}, {b};\naddc.u32 {d}, {c}, 0;", &[Int(32); 3], Int(32), |[a, b, c]| {
        c + ((a + b) >> 32)
    });
    check_text("sub.cc.u32 %r0, {a}, {b};\nsubc.u32 {d}, {c}, 0;", &[Int(32); 3], Int(32), |[a, b, c]| {
        c.wrapping_sub(u64::from(a < b))
    });
    check_text(
        "add.cc.u64 %rd0, {a}, {b};\naddc.cc.u64 %rd0, {c}, {c};\naddc.u64 {d}, 0, 0;",
        &[Int(64); 3],
        Int(64),
        |[a, b, c]| (wide(c, c, wide(a, b, false) >> 64 != 0) >> 64) as u64,
    );
    // The 128-bit product plus c, upper half.
    check_text(
        "mad.lo.cc.u64 %rd0, {a}, {b}, {c};\nmadc.hi.u64 {d}, {a}, {b}, 0;",
        &[Int(64); 3],
        Int(64),
        |[a, b, c]| (u128::from(a) * u128::from(b)).wrapping_add(u128::from(c)).wrapping_shr(64) as u64,
    );
    check_text(
        "mad.lo.cc.u32 %r0, {a}, {b}, {c};\nmadc.hi.u32 {d}, {a}, {b}, 0;",
        &[Int(32); 3],
        Int(32),
        |[a, b, c]| a.wrapping_mul(b).wrapping_add(c) >> 32,
    );
}

#[test]
fn dot_products_of_bytes() {
    check("dp4a.u32.u32", &[Int(32); 3], Int(32), |[a, b, c]| {
        (0..4).fold(c, |sum, place| sum.wrapping_add((a >> (8 * place) & 0xff) * (b >> (8 * place) & 0xff)))
    });
    check("dp4a.s32.u32", &[Int(32); 3], Int(32), |[a, b, c]| {
        (0..4).fold(c as i64, |sum, place| {
            sum + i64::from((a >> (8 * place)) as i8) * i64::from((b >> (8 * place)) as u8)
        }) as u64
    });
    // Halves of a with bytes of the lower or the upper half of b.
    check("dp2a.lo.s32.s32", &[Int(32); 3], Int(32), |[a, b, c]| {
        let product = |place: u32| i64::from((a >> (16 * place)) as i16) * i64::from((b >> (8 * place)) as i8);
        c.wrapping_add((product(0) + product(1)) as u64)
    });
    check("dp2a.hi.u32.s32", &[Int(32); 3], Int(32), |[a, b, c]| {
        let product = |place: u32| i64::from((a >> (16 * place)) as u16) * i64::from((b >> (16 + 8 * place)) as i8);
        c.wrapping_add((product(0) + product(1)) as u64)
    });
}

#[test]
fn differences_of_bytes() {
    let byte = |x: u64, place: u32| (x >> (8 * place) & 0xff) as i64;
    check("vabsdiff4.u32.u32.u32", &[Int(32); 3], Int(32), |[a, b, _]| {
        (0..4).map(|place| ((byte(a, place) - byte(b, place)).unsigned_abs()) << (8 * place)).sum()
    });
    check("vabsdiff4.u32.u32.u32.add", &[Int(32); 3], Int(32), |[a, b, c]| {
        (0..4).fold(c, |sum, place| sum + (byte(a, place) - byte(b, place)).unsigned_abs())
    });
}

#[test]
fn immediates_and_wide_registers() {
    check_text("add.s32 {d}, {a}, -5;", &[Int(32)], Int(32), |[a, ..]| a.wrapping_sub(5));
    check_text("add.s64 {d}, {a}, -5;", &[Int(64)], Int(64), |[a, ..]| a.wrapping_sub(5));
    check_text("mul.lo.u16 {d}, {a}, 300;", &[Int(16)], Int(16), |[a, ..]| a * 300);
    // An instruction uses the low bits of a wider register.
    check_text("cvt.u16.u32 {d}, {a};", &[Int(64)], Int(16), |[a, ..]| a);
}

#[test]
fn carries_of_subtractions() {
    // The carry is set where nothing is borrowed, and that is what an addition after it takes.
    check_text("{ .reg .u32 t; sub.cc.u32 t, {a}, {b}; addc.u32 {d}, 0, 0; }", &[Int(32); 2], Int(32), |[a, b, _]| {
        u64::from(a >= b)
    });
    check_text(
        "{ .reg .u32 t; add.cc.u32 t, {a}, {b}; subc.u32 {d}, {a}, {c}; }",
        &[Int(32); 3],
        Int(32),
        |[a, b, c]| a.wrapping_sub(c).wrapping_sub(u64::from(a + b < 1 << 32)),
    );
    check_text(
        "{ .reg .u64 t; sub.cc.u64 t, {a}, {b}; subc.u64 {d}, {c}, {a}; }",
        &[Int(64); 3],
        Int(64),
        |[a, b, c]| c.wrapping_sub(a).wrapping_sub(u64::from(a < b)),
    );
}
