use crate::harness::*;

#[test]
fn logic() {
    for bits in [16, 32, 64] {
        let int = Int(bits);
        check(&format!("and.b{bits}"), &[int; 2], int, |[a, b, _]| a & b);
        check(&format!("or.b{bits}"), &[int; 2], int, |[a, b, _]| a | b);
        check(&format!("xor.b{bits}"), &[int; 2], int, |[a, b, _]| a ^ b);
        check(&format!("not.b{bits}"), &[int], int, |[a, ..]| !a);
        check(&format!("cnot.b{bits}"), &[int], int, |[a, ..]| u64::from(a == 0));
    }
}

#[test]
fn lop3() {
    for table in [0x00u64, 0x96, 0xe8, 0x1b, 0xca, 0xff, 0x80] {
        check_text(&format!("lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};"), &[Int(32); 3], Int(32), |[a, b, c]| {
            (0..32).fold(0, |sum, bit| {
                let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1;
                sum | (table >> index & 1) << bit
            })
        });
    }
}

#[test]
fn shifts_clamp() {
    check("shl.b16", &[Int(16), Small], Int(16), |[a, b, _]| if b < 16 { a << b } else { 0 });
    check("shl.b32", &[Int(32), Small], Int(32), |[a, b, _]| if b < 32 { a << b } else { 0 });
    check("shl.b64", &[Int(64), Small], Int(64), |[a, b, _]| if b < 64 { a << b } else { 0 });
    check("shr.u16", &[Int(16), Small], Int(16), |[a, b, _]| if b < 16 { a >> b } else { 0 });
    check("shr.u32", &[Int(32), Small], Int(32), |[a, b, _]| if b < 32 { a >> b } else { 0 });
    check("shr.b32", &[Int(32), Small], Int(32), |[a, b, _]| if b < 32 { a >> b } else { 0 });
    check("shr.u64", &[Int(64), Small], Int(64), |[a, b, _]| if b < 64 { a >> b } else { 0 });
    check("shr.s16", &[Int(16), Small], Int(16), |[a, b, _]| (a as i16 >> b.min(15)) as u64);
    check("shr.s32", &[Int(32), Small], Int(32), |[a, b, _]| (a as i32 >> b.min(31)) as u64);
    check("shr.s64", &[Int(64), Small], Int(64), |[a, b, _]| (a as i64 >> b.min(63)) as u64);
}

#[test]
fn funnel_shifts() {
    let both = |a: u64, b: u64| b << 32 | a;
    check("shf.l.clamp.b32", &[Int(32), Int(32), Small], Int(32), |[a, b, c]| both(a, b) << c.min(32) >> 32);
    check("shf.l.wrap.b32", &[Int(32), Int(32), Small], Int(32), |[a, b, c]| both(a, b) << (c % 32) >> 32);
    check("shf.r.clamp.b32", &[Int(32), Int(32), Small], Int(32), |[a, b, c]| both(a, b) >> c.min(32));
    check("shf.r.wrap.b32", &[Int(32), Int(32), Small], Int(32), |[a, b, c]| both(a, b) >> (c % 32));
}

/// `bfe`, bit by bit as the manual describes it.
fn extract(a: u64, start: u64, length: u64, bits: u64, signed: bool) -> u64 {
    let (start, length) = (start & 0xff, length & 0xff);
    let sign = if signed && length != 0 { a >> (start + length - 1).min(bits - 1) & 1 } else { 0 };
    (0..bits).fold(0, |sum, bit| {
        let value = if bit < length && start + bit < bits { a >> (start + bit) & 1 } else { sign };
        sum | value << bit
    })
}

/// `bfi`, bit by bit.
fn insert(a: u64, b: u64, start: u64, length: u64, bits: u64) -> u64 {
    (0..bits).fold(0, |sum, bit| {
        let inside = (start..start + length).contains(&bit);
        sum | (if inside { a >> (bit - start) } else { b >> bit } & 1) << bit
    })
}

#[test]
fn fields() {
    for (opcode, bits, signed) in
        [("bfe.u32", 32, false), ("bfe.s32", 32, true), ("bfe.u64", 64, false), ("bfe.s64", 64, true)]
    {
        check(opcode, &[Int(bits), Small, Small], Int(bits), |[a, b, c]| extract(a, b, c, u64::from(bits), signed));
    }
    for (start, length) in [(0, 0), (0, 32), (3, 7), (16, 16), (20, 60), (31, 1), (32, 4), (255, 255), (40, 8)] {
        let text = |bits| format!("bfi.b{bits} {{d}}, {{a}}, {{b}}, {start}, {length};");
        check_text(&text(32), &[Int(32); 2], Int(32), |[a, b, _]| insert(a, b, start, length, 32));
        check_text(&text(64), &[Int(64); 2], Int(64), |[a, b, _]| insert(a, b, start, length, 64));
    }
}

#[test]
fn counting() {
    check("popc.b32", &[Int(32)], Int(32), |[a, ..]| u64::from(a.count_ones()));
    check("popc.b64", &[Int(64)], Int(32), |[a, ..]| u64::from(a.count_ones()));
    check("clz.b32", &[Int(32)], Int(32), |[a, ..]| u64::from((a as u32).leading_zeros()));
    check("clz.b64", &[Int(64)], Int(32), |[a, ..]| u64::from(a.leading_zeros()));
    check("brev.b32", &[Int(32)], Int(32), |[a, ..]| u64::from((a as u32).reverse_bits()));
    check("brev.b64", &[Int(64)], Int(64), |[a, ..]| a.reverse_bits());
    let highest = |a: u64| if a == 0 { u64::from(u32::MAX) } else { 63 - u64::from(a.leading_zeros()) };
    check("bfind.u32", &[Int(32)], Int(32), |[a, ..]| highest(a));
    check("bfind.u64", &[Int(64)], Int(32), |[a, ..]| highest(a));
    check("bfind.s32", &[Int(32)], Int(32), |[a, ..]| {
        highest(u64::from(if (a as i32) < 0 { !(a as u32) } else { a as u32 }))
    });
    check("bfind.s64", &[Int(64)], Int(32), |[a, ..]| highest(if (a as i64) < 0 { !a } else { a }));
    check("bfind.shiftamt.u32", &[Int(32)], Int(32), |[a, ..]| if a == 0 { highest(a) } else { 31 - highest(a) });
    check("bfind.shiftamt.s64", &[Int(64)], Int(32), |[a, ..]| {
        let place = highest(if (a as i64) < 0 { !a } else { a });
        if place == u64::from(u32::MAX) { place } else { 63 - place }
    });
}

#[test]
fn permutations() {
    let byte = |a: u64, b: u64, selector: u64| {
        let byte = (b << 32 | a) >> (8 * (selector & 7)) & 0xff;
        if selector & 8 == 0 { byte } else { (byte >> 7) * 0xff }
    };
    let all = |a, b, places: [u64; 4]| (0..4).fold(0, |sum, place| sum | byte(a, b, places[place]) << (8 * place));
    check("prmt.b32", &[Int(32); 3], Int(32), |[a, b, c]| all(a, b, [0, 1, 2, 3].map(|place| c >> (4 * place) & 15)));
    check("prmt.b32.f4e", &[Int(32); 3], Int(32), |[a, b, c]| all(a, b, [0, 1, 2, 3].map(|place| (c & 3) + place)));
    check("prmt.b32.b4e", &[Int(32); 3], Int(32), |[a, b, c]| {
        all(a, b, [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]][c as usize & 3])
    });
    check("prmt.b32.rc8", &[Int(32); 3], Int(32), |[a, b, c]| all(a, b, [c & 3; 4]));
    check("prmt.b32.ecl", &[Int(32); 3], Int(32), |[a, b, c]| {
        all(a, b, [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]][c as usize & 3])
    });
    check("prmt.b32.ecr", &[Int(32); 3], Int(32), |[a, b, c]| {
        all(a, b, [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]][c as usize & 3])
    });
    check("prmt.b32.rc16", &[Int(32); 3], Int(32), |[a, b, c]| {
        all(a, b, [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]][c as usize & 3])
    });
}

#[test]
fn masks() {
    let mask =
        |start: u64, length: u64| (start..start + length).filter(|&bit| bit < 32).fold(0, |sum, bit| sum | 1 << bit);
    check("bmsk.clamp.b32", &[Small; 2], Int(32), |[a, b, _]| mask(a.min(32), b.min(32)));
    check("bmsk.wrap.b32", &[Small; 2], Int(32), |[a, b, _]| mask(a % 32, b % 32));
    check("szext.clamp.u32", &[Int(32), Small], Int(32), |[a, b, _]| extract(a, 0, b.min(32), 32, false));
    check("szext.wrap.s32", &[Int(32), Small], Int(32), |[a, b, _]| extract(a, 0, b % 32, 32, true));
}

#[test]
fn nth_bit() {
    // As the manual writes it down.
    let fns = |mask: u64, base: u64, offset: i64| -> u64 {
        let is_set = |place: i64| mask >> place & 1 == 1;
        if offset == 0 {
            return if base < 32 && is_set(base as i64) { base } else { 0xffff_ffff };
        }
        let (mut place, mut count, step) = (base as i64, offset.abs() - 1, offset.signum());
        while (0..32).contains(&place) {
            if is_set(place) {
                if count == 0 {
                    return place as u64;
                }
                count -= 1;
            }
            place += step;
        }
        0xffff_ffff
    };
    for offset in [0, 1, 2, 5, 31, -1, -3, -32] {
        check_text(&format!("fns.b32 {{d}}, {{a}}, {{b}}, {offset};"), &[Int(32), Small], Int(32), |[a, b, _]| {
            fns(a, b, offset)
        });
    }
    check("fns.b32", &[Int(32), Small, Int(32)], Int(32), |[a, b, c]| fns(a, b, i64::from(c as i32)));
}

#[test]
fn lop3_with_a_predicate() {
    for (how, combine) in [("or", (|p, q| p || q) as fn(bool, bool) -> bool), ("and", |p, q| p && q)] {
        for (q, negated) in [("q", false), ("!q", true)] {
            let text = format!(
                "{{ .reg .pred p, q; .reg .b32 t; setp.gt.u32 q, {{c}}, 99; lop3.{how}.b32 t|p, {{a}}, {{b}}, {{c}}, 0x80, \
                 {q}; selp.u32 {{d}}, t, 0xffffffff, p; }}"
            );
            check_text(&text, &[Int(32); 3], Int(32), move |[a, b, c]| {
                let result = a & b & c;
                if combine(result != 0, (c > 99) != negated) { result } else { 0xffff_ffff }
            });
        }
    }
}
