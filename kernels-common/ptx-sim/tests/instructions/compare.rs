use crate::harness::*;

/// Checks every relation of a type; `value` orders the operands.
fn relations<T: PartialOrd>(name: &str, ty: Ty, list: &[&str], value: impl Fn(u64) -> T) {
    for relation in list {
        let text = format!("setp.{relation}.{name} %p0, {{a}}, {{b}};\nselp.b32 {{d}}, 1, 0, %p0;");
        check_text(&text, &[ty; 2], Int(32), |[a, b, _]| {
            let (a, b) = (value(a), value(b));
            let ordered = a.partial_cmp(&b).is_some();
            u64::from(match *relation {
                "eq" => a == b,
                "ne" => ordered && a != b,
                "lt" | "lo" => a < b,
                "le" | "ls" => a <= b,
                "gt" | "hi" => a > b,
                "ge" | "hs" => a >= b,
                "equ" => !ordered || a == b,
                "neu" => a != b,
                "ltu" => !ordered || a < b,
                "leu" => !ordered || a <= b,
                "gtu" => !ordered || a > b,
                "geu" => !ordered || a >= b,
                "num" => ordered,
                _ => !ordered,
            })
        });
    }
}

const SIGNED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const UNSIGNED: [&str; 10] = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"];
const FLOAT: [&str; 14] = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

#[test]
fn integers() {
    relations("u16", Int(16), &UNSIGNED, |a| a);
    relations("u32", Int(32), &UNSIGNED, |a| a);
    relations("u64", Int(64), &UNSIGNED, |a| a);
    relations("s16", Int(16), &SIGNED, |a| a as i16);
    relations("s32", Int(32), &SIGNED, |a| a as i32);
    relations("s64", Int(64), &SIGNED, |a| a as i64);
    relations("b16", Int(16), &SIGNED[..2], |a| a);
    relations("b32", Int(32), &SIGNED[..2], |a| a);
    relations("b64", Int(64), &SIGNED[..2], |a| a);
}

#[test]
fn floats() {
    relations("f32", F32, &FLOAT, |a| f32::from_bits(a as u32));
    relations("f64", F64, &FLOAT, f64::from_bits);
    relations("f16", F16, &FLOAT, crate::half::f16);
    relations("bf16", BF16, &FLOAT, crate::half::bf16);
    let z = |a: u64| {
        let x = f32::from_bits(a as u32);
        if x.is_subnormal() { 0.0 } else { x }
    };
    relations("ftz.f32", F32, &FLOAT, z);
}

#[test]
fn combinations() {
    for (how, f) in [("and", (|a, b| a & b) as fn(bool, bool) -> bool), ("or", |a, b| a | b), ("xor", |a, b| a ^ b)] {
        for negated in [false, true] {
            let not = if negated { "!" } else { "" };
            let text = format!(
                "setp.ne.s32 %p2, {{c}}, 0;\nsetp.lt.{how}.s32 %p0|%p1, {{a}}, {{b}}, {not}%p2;\n\
                 selp.b32 %r0, 1, 0, %p0;\nselp.b32 {{d}}, 2, 0, %p1;\nor.b32 {{d}}, {{d}}, %r0;"
            );
            check_text(&text, &[Int(32); 3], Int(32), |[a, b, c]| {
                let (less, other) = ((a as i32) < b as i32, (c != 0) ^ negated);
                u64::from(f(less, other)) | u64::from(f(!less, other)) << 1
            });
        }
    }
    check_text(
        "setp.lt.s32 %p0|%p1, {a}, {b};\nselp.b32 %r0, 1, 0, %p0;\nselp.b32 {d}, 2, 0, %p1;\nor.b32 {d}, {d}, %r0;",
        &[Int(32); 2],
        Int(32),
        |[a, b, _]| if (a as i32) < b as i32 { 1 } else { 2 },
    );
    check_text(
        "setp.gt.f16x2 %p0|%p1, {a}, {b};\nselp.b32 %r0, 1, 0, %p0;\nselp.b32 {d}, 2, 0, %p1;\nor.b32 {d}, {d}, %r0;",
        &[Packed; 2],
        Int(32),
        |[a, b, _]| {
            let greater = |a: u64, b: u64| u64::from(crate::half::f16(a & 0xffff) > crate::half::f16(b & 0xffff));
            greater(a, b) | greater(a >> 16, b >> 16) << 1
        },
    );
}

/// A result may be one of the operands, or the guard.
#[test]
fn predicates_that_are_overwritten() {
    let both = "selp.b32 %r0, 1, 0, %p0;\nselp.b32 {d}, 2, 0, %p1;\nor.b32 {d}, {d}, %r0;";
    let text = format!("setp.ne.s32 %p0, {{c}}, 0;\nsetp.lt.and.s32 %p0|%p1, {{a}}, {{b}}, %p0;\n{both}");
    check_text(&text, &[Int(32); 3], Int(32), |[a, b, c]| match (c != 0, (a as i32) < b as i32) {
        (false, _) => 0,
        (true, less) => {
            if less {
                1
            } else {
                2
            }
        }
    });
    let text = format!(
        "setp.ne.s32 %p0, {{c}}, 0;\nsetp.ne.s32 %p1, {{c}}, 0;\n@%p0 setp.lt.s32 %p0|%p1, {{a}}, {{b}};\n{both}"
    );
    check_text(&text, &[Int(32); 3], Int(32), |[a, b, c]| match (c != 0, (a as i32) < b as i32) {
        (false, _) => 0,
        (true, less) => {
            if less {
                1
            } else {
                2
            }
        }
    });
}

#[test]
fn packed() {
    let half = |x: u64, high: bool| crate::half::f16(if high { x >> 16 } else { x & 0xffff });
    let both = |a: u64, b: u64, one: u64, f: fn(f64, f64) -> bool| {
        (if f(half(a, false), half(b, false)) { one } else { 0 })
            | if f(half(a, true), half(b, true)) { one << 16 } else { 0 }
    };
    check("set.lt.f16x2.f16x2", &[Packed; 2], Packed, |[a, b, _]| both(a, b, 0x3c00, |a, b| a < b));
    check("set.neu.u32.f16x2", &[Packed; 2], Packed, |[a, b, _]| both(a, b, 0xffff, |a, b| a != b));
    check("set.ge.f16.f16", &[F16; 2], F16, |[a, b, _]| if half(a, false) >= half(b, false) { 0x3c00 } else { 0 });
    let shorts = |a: u64, b: u64, f: fn(i16, i16) -> i16| {
        u64::from(f(a as i16, b as i16) as u16) | u64::from(f((a >> 16) as i16, (b >> 16) as i16) as u16) << 16
    };
    check("max.s16x2", &[Int(32); 2], Int(32), |[a, b, _]| shorts(a, b, i16::max));
    check("min.relu.s16x2", &[Int(32); 2], Int(32), |[a, b, _]| shorts(a, b, |a, b| a.min(b).max(0)));
    check("add.u16x2", &[Int(32); 2], Int(32), |[a, b, _]| shorts(a, b, i16::wrapping_add));
    check("min.u16x2", &[Int(32); 2], Int(32), |[a, b, _]| shorts(a, b, |a, b| (a as u16).min(b as u16) as i16));
}

#[test]
fn predicate_logic() {
    let prepare = "setp.gt.s32 %p0, {a}, 0;\nsetp.gt.s32 %p1, {b}, 0;\n";
    for (text, f) in [
        ("and.pred %p2, %p0, %p1;", (|a, b| a & b) as fn(bool, bool) -> bool),
        ("or.pred %p2, %p0, %p1;", |a, b| a | b),
        ("xor.pred %p2, %p0, %p1;", |a, b| a ^ b),
        ("or.pred %p2, %p0, !%p1;", |a, b| a | !b),
        ("and.pred %p2, !%p0, !%p1;", |a, b| !a & !b),
        ("not.pred %p2, %p1;", |_, b| !b),
        ("mov.pred %p2, %p0;", |a, _| a),
        ("mov.pred %p2, -1;", |_, _| true),
        ("mov.pred %p2, 0;", |_, _| false),
    ] {
        check_text(&format!("{prepare}{text}\nselp.b32 {{d}}, 1, 0, %p2;"), &[Int(32); 2], Int(32), |[a, b, _]| {
            u64::from(f(a as i32 > 0, b as i32 > 0))
        });
    }
}

#[test]
fn selection() {
    for bits in [16, 32, 64] {
        let text = format!("setp.lt.s32 %p0, {{c}}, 0;\nselp.b{bits} {{d}}, {{a}}, {{b}}, %p0;");
        check_text(&text, &[Int(bits), Int(bits), Int(32)], Int(bits), |[a, b, c]| if (c as i32) < 0 { a } else { b });
    }
    check_text("setp.lt.s32 %p0, {c}, 0;\nselp.b32 {d}, {a}, {b}, !%p0;", &[Int(32); 3], Int(32), |[a, b, c]| {
        if (c as i32) < 0 { b } else { a }
    });
    check("slct.u32.s32", &[Int(32); 3], Int(32), |[a, b, c]| if c as i32 >= 0 { a } else { b });
    check(
        "slct.b64.f32",
        &[Int(64), Int(64), F32],
        Int(64),
        |[a, b, c]| if f32::from_bits(c as u32) >= 0.0 { a } else { b },
    );
    check("set.lt.u32.f32", &[F32; 2], Int(32), |[a, b, _]| {
        if f32::from_bits(a as u32) < f32::from_bits(b as u32) { u64::from(u32::MAX) } else { 0 }
    });
    check("set.ge.f32.s32", &[Int(32); 2], F32, |[a, b, _]| if a as i32 >= b as i32 { 0x3f80_0000 } else { 0 });
}

#[test]
fn properties_of_numbers() {
    for (test, f) in [
        ("finite", (|a| a.is_finite()) as fn(f64) -> bool),
        ("infinite", |a| a.is_infinite()),
        ("number", |a| !a.is_nan()),
        ("notanumber", |a| a.is_nan()),
    ] {
        let text = |ty| format!("testp.{test}.{ty} %p0, {{a}};\nselp.b32 {{d}}, 1, 0, %p0;");
        check_text(&text("f32"), &[F32], Int(32), |[a, ..]| u64::from(f(f64::from(f32::from_bits(a as u32)))));
        check_text(&text("f64"), &[F64], Int(32), |[a, ..]| u64::from(f(f64::from_bits(a))));
    }
    check_text("testp.subnormal.f32 %p0, {a};\nselp.b32 {d}, 1, 0, %p0;", &[F32], Int(32), |[a, ..]| {
        u64::from(f32::from_bits(a as u32).is_subnormal())
    });
    check_text("testp.normal.f64 %p0, {a};\nselp.b32 {d}, 1, 0, %p0;", &[F64], Int(32), |[a, ..]| {
        u64::from(f64::from_bits(a).is_normal())
    });
}
