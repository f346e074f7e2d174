//! Logic, shifts and bit fields.

use super::arithmetic::by_type;
use super::opcode::Opcode;
use super::work::{rare1, rare2, rare3};
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::alu::{Logic, Lop3, compare, op1, op2};

/// Truth tables over (a, b, c): the value for (a, b, c) is bit 4a + 2b + c.
const A: u64 = 0xf0;
const B: u64 = 0xcc;

impl Lower<'_> {
    pub(super) fn bits(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let level = self.level;
        let ty = op.ty()?;
        if ty == Type::Pred {
            op.finish()?;
            return self.predicate_logic(op.name, operands);
        }
        match op.name {
            "and" => {
                op.finish()?;
                self.binary(by_type!(level, ty, op2, [B16 B32 B64], |a, b| a & b), [ty; 3], operands)
            }
            "or" => {
                op.finish()?;
                self.binary(by_type!(level, ty, op2, [B16 B32 B64], |a, b| a | b), [ty; 3], operands)
            }
            "xor" => {
                op.finish()?;
                self.binary(by_type!(level, ty, op2, [B16 B32 B64], |a, b| a ^ b), [ty; 3], operands)
            }
            "not" => {
                op.finish()?;
                self.unary(by_type!(level, ty, op1, [B16 B32 B64], |a| !a), (ty, ty), operands)
            }
            "cnot" => {
                op.finish()?;
                let exec = by_type!(level, ty, rare1, [B16 B32 B64], |a| if a == 0 { 1 } else { 0 });
                self.unary(exec, (ty, ty), operands)
            }
            "lop3" => self.lop3(op, operands),
            "shl" => {
                op.finish()?;
                let exec = match ty {
                    Type::B16 => op2(level, |a: u16, b: u32| if b < 16 { a << b } else { 0 }),
                    Type::B32 => op2(level, |a: u32, b: u32| if b < 32 { a << b } else { 0 }),
                    Type::B64 => op2(level, |a: u64, b: u32| if b < 64 { a << b } else { 0 }),
                    _ => return Err("this type is not supported here".into()),
                };
                self.binary(Some(exec), [ty, ty, Type::U32], operands)
            }
            "shr" => {
                op.finish()?;
                let exec = match ty {
                    Type::B16 | Type::U16 => op2(level, |a: u16, b: u32| if b < 16 { a >> b } else { 0 }),
                    Type::B32 | Type::U32 => op2(level, |a: u32, b: u32| if b < 32 { a >> b } else { 0 }),
                    Type::B64 | Type::U64 => op2(level, |a: u64, b: u32| if b < 64 { a >> b } else { 0 }),
                    Type::S16 => op2(level, |a: i16, b: u32| a >> b.min(15)),
                    Type::S32 => op2(level, |a: i32, b: u32| a >> b.min(31)),
                    Type::S64 => op2(level, |a: i64, b: u32| a >> b.min(63)),
                    _ => return Err("this type is not supported here".into()),
                };
                self.binary(Some(exec), [ty, ty, Type::U32], operands)
            }
            "shf" => self.funnel(op, operands),
            "bfe" => {
                op.finish()?;
                let exec = match ty {
                    Type::U32 => rare3(level, |a: u32, b: u32, c: u32| extract(u64::from(a), b, c, 32, false) as u32),
                    Type::S32 => rare3(level, |a: u32, b: u32, c: u32| extract(u64::from(a), b, c, 32, true) as u32),
                    Type::U64 => rare3(level, |a: u64, b: u32, c: u32| extract(a, b, c, 64, false)),
                    Type::S64 => rare3(level, |a: u64, b: u32, c: u32| extract(a, b, c, 64, true)),
                    _ => return Err("this type is not supported here".into()),
                };
                self.ternary(Some(exec), [ty, ty, Type::U32, Type::U32], operands)
            }
            "bfi" => self.insert(op, operands, ty),
            "bfind" => {
                let shift = op.take("shiftamt");
                op.finish()?;
                let exec = match (ty, shift) {
                    (Type::U32, false) => rare1(level, |a: u32| highest(u64::from(a))),
                    (Type::U64, false) => rare1(level, highest),
                    (Type::S32, false) => rare1(level, |a: u32| highest(u64::from(if a >> 31 != 0 { !a } else { a }))),
                    (Type::S64, false) => rare1(level, |a: u64| highest(if a >> 63 != 0 { !a } else { a })),
                    (Type::U32, true) => rare1(level, |a: u32| to_shift(highest(u64::from(a)), 31)),
                    (Type::U64, true) => rare1(level, |a: u64| to_shift(highest(a), 63)),
                    (Type::S32, true) => {
                        rare1(level, |a: u32| to_shift(highest(u64::from(if a >> 31 != 0 { !a } else { a })), 31))
                    }
                    (Type::S64, true) => {
                        rare1(level, |a: u64| to_shift(highest(if a >> 63 != 0 { !a } else { a }), 63))
                    }
                    _ => return Err("this type is not supported here".into()),
                };
                self.unary(Some(exec), (Type::U32, ty), operands)
            }
            "brev" => {
                op.finish()?;
                self.unary(by_type!(level, ty, rare1, [B32 B64], |a| a.reverse_bits()), (ty, ty), operands)
            }
            "popc" | "clz" => {
                op.finish()?;
                let exec = match (op.name, ty) {
                    ("popc", Type::B32) => rare1(level, |a: u32| a.count_ones()),
                    ("popc", Type::B64) => rare1(level, |a: u64| a.count_ones()),
                    ("clz", Type::B32) => rare1(level, |a: u32| a.leading_zeros()),
                    ("clz", Type::B64) => rare1(level, |a: u64| a.leading_zeros()),
                    _ => return Err("this type is not supported here".into()),
                };
                self.unary(Some(exec), (Type::U32, ty), operands)
            }
            "prmt" => self.permute(op, operands),
            "fns" => {
                op.finish()?;
                self.ternary(Some(rare3(level, nth_set)), [Type::B32, Type::B32, Type::U32, Type::S32], operands)
            }
            "bmsk" => {
                let clamp = op.take_any(&["clamp", "wrap"]) == Some("clamp");
                op.finish()?;
                let exec = if clamp {
                    rare2(level, |a: u32, b: u32| ones(a.min(32), b.min(32)))
                } else {
                    rare2(level, |a: u32, b: u32| ones(a & 31, b & 31))
                };
                self.binary(Some(exec), [Type::B32, Type::U32, Type::U32], operands)
            }
            "szext" => {
                let clamp = op.take_any(&["clamp", "wrap"]) == Some("clamp");
                op.finish()?;
                let exec = match (ty, clamp) {
                    (Type::U32, true) => {
                        rare2(level, |a: u32, b: u32| extract(u64::from(a), 0, b.min(32), 32, false) as u32)
                    }
                    (Type::S32, true) => {
                        rare2(level, |a: u32, b: u32| extract(u64::from(a), 0, b.min(32), 32, true) as u32)
                    }
                    (Type::U32, false) => {
                        rare2(level, |a: u32, b: u32| extract(u64::from(a), 0, b & 31, 32, false) as u32)
                    }
                    (Type::S32, false) => {
                        rare2(level, |a: u32, b: u32| extract(u64::from(a), 0, b & 31, 32, true) as u32)
                    }
                    _ => return Err("this type is not supported here".into()),
                };
                self.binary(Some(exec), [ty, ty, Type::U32], operands)
            }
            _ => Err("this form is not supported".into()),
        }
    }

    fn predicate_logic(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let (d, a, b) = match operands {
            [d, a] if name == "not" => (d, a, a),
            [d, a, b] if name != "not" => (d, a, b),
            _ => return Err("the number of operands is wrong".into()),
        };
        let table = match name {
            "and" => A & B,
            "or" => A | B,
            "xor" => A ^ B,
            "not" => 0xff ^ A,
            _ => return Err("predicates are not supported here".into()),
        };
        let (a, flip_a) = self.predicate(a)?;
        let (b, flip_b) = self.predicate(b)?;
        let d = self.predicate_result(d)?;
        self.emit::<Logic>([d, a, b, b], flip_inputs(table, flip_a, flip_b));
        Ok(())
    }

    fn lop3(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let level = self.level;
        let combine = op.take_any(&["and", "or"]);
        op.finish()?;
        let (d, a, b, c, table, predicates) = match (operands, combine) {
            ([d, a, b, c, Operand::Int(table)], None) => (d, a, b, c, table, None),
            ([Operand::Pair(d, p), a, b, c, Operand::Int(table), q], Some(how)) => {
                (&**d, a, b, c, table, Some((&**p, q, how)))
            }
            _ => return Err("a result, three operands and a literal table are needed".into()),
        };
        let [a, b, c] = [self.value(a, Type::B32)?, self.value(b, Type::B32)?, self.value(c, Type::B32)?];
        let d = self.result(d, Type::B32)?;
        self.emit::<Lop3>([d, a, b, c], (*table & 0xff) as u64);
        let Some((p, q, how)) = predicates else { return Ok(()) };
        // The predicate is whether any bit is set, combined with another one.
        let holds = self.fresh_predicate();
        let zero = self.bits_row(0, false);
        self.emit_exec(compare(level, |a: u32, b: u32| a != b), &[holds, d, zero], 0);
        let (q, flip) = self.predicate(q)?;
        let p = self.predicate_result(p)?;
        self.emit::<Logic>([p, holds, q, q], flip_inputs(if how == "and" { A & B } else { A | B }, false, flip));
        Ok(())
    }

    fn funnel(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let level = self.level;
        let left = op.take_any(&["l", "r"]) == Some("l");
        let clamp = op.take_any(&["clamp", "wrap"]) == Some("clamp");
        op.finish()?;
        let exec = match (left, clamp) {
            (true, true) => rare3(level, |a: u32, b: u32, c: u32| ((pair(a, b) << c.min(32)) >> 32) as u32),
            (true, false) => rare3(level, |a: u32, b: u32, c: u32| ((pair(a, b) << (c & 31)) >> 32) as u32),
            (false, true) => rare3(level, |a: u32, b: u32, c: u32| (pair(a, b) >> c.min(32)) as u32),
            (false, false) => rare3(level, |a: u32, b: u32, c: u32| (pair(a, b) >> (c & 31)) as u32),
        };
        self.ternary(Some(exec), [Type::B32, Type::B32, Type::B32, Type::U32], operands)
    }

    fn insert(&mut self, op: &mut Opcode<'_>, operands: &[Operand], ty: Type) -> Result<()> {
        op.finish()?;
        let [d, a, b, start, length] = operands else { return Err("five operands are needed".into()) };
        let wide = types::is_wide(ty);
        let [a, b] = [self.value(a, ty)?, self.value(b, ty)?];
        let [start, length] = [self.value(start, Type::U32)?, self.value(length, Type::U32)?];
        let d = self.result(d, ty)?;
        // Position and length, of which only eight bits count, travel in one row.
        let field = self.fresh(false);
        self.emit_exec(
            op2(self.level, |start: u32, length: u32| start & 0xff | (length & 0xff) << 8),
            &[field, start, length],
            0,
        );
        let exec = if wide {
            rare3(self.level, |a: u64, b: u64, field: u32| {
                let mask = field_mask(field & 0xff, field >> 8, 64);
                let moved = if field & 0xff < 64 { a << (field & 0xff) } else { 0 };
                b & !mask | moved & mask
            })
        } else {
            rare3(self.level, |a: u32, b: u32, field: u32| {
                let mask = field_mask(field & 0xff, field >> 8, 32) as u32;
                let moved = if field & 0xff < 32 { a << (field & 0xff) } else { 0 };
                b & !mask | moved & mask
            })
        };
        self.emit_work(exec, &[d, a, b, field], &[ty, ty, ty, Type::U32]);
        Ok(())
    }

    fn permute(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let level = self.level;
        let mode = op.take_any(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]);
        op.finish()?;
        let exec = match mode {
            None => rare3(level, |a: u32, b: u32, c: u32| {
                let bytes = u64::from(a) | u64::from(b) << 32;
                let mut result = 0;
                for place in 0..4 {
                    let selector = c >> (4 * place);
                    let byte = (bytes >> (8 * (selector & 7))) as u8;
                    let byte = if selector & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
                    result |= u32::from(byte) << (8 * place);
                }
                result
            }),
            Some("f4e") => rare3(level, |a: u32, b: u32, c: u32| picked(a, b, |i, c| (c + i) & 7, c)),
            Some("b4e") => rare3(level, |a: u32, b: u32, c: u32| picked(a, b, |i, c| (c.wrapping_sub(i)) & 7, c)),
            Some("rc8") => rare3(level, |a: u32, b: u32, c: u32| picked(a, b, |_, c| c, c)),
            Some("ecl") => rare3(level, |a: u32, b: u32, c: u32| picked(a, b, std::cmp::Ord::max, c)),
            Some("ecr") => rare3(level, |a: u32, b: u32, c: u32| picked(a, b, std::cmp::Ord::min, c)),
            Some(_) => rare3(level, |a: u32, b: u32, c: u32| picked(a, b, |i, c| i & 1 | (c & 1) << 1, c)),
        };
        self.ternary(Some(exec), [Type::B32; 4], operands)
    }
}

/// A truth table with its first and second input negated.
pub(crate) fn flip_inputs(table: u64, first: bool, second: bool) -> u64 {
    let table = if first { (table & 0xf0) >> 4 | (table & 0x0f) << 4 } else { table };
    if second { (table & 0xcc) >> 2 | (table & 0x33) << 2 } else { table }
}

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The four bytes of `a` and `b` that `place` picks by the place in the result and the low two bits of `c`.
#[inline(always)]
fn picked(a: u32, b: u32, place: impl Fn(u32, u32) -> u32, c: u32) -> u32 {
    let bytes = pair(a, b);
    let byte = |index: u32| u32::from((bytes >> (8 * place(index, c & 3))) as u8) << (8 * index);
    byte(0) | byte(1) | byte(2) | byte(3)
}

/// The field of `length` bits at `start`; a signed field is extended by its top bit, or by that of `a` where the field
/// reaches past it.
#[inline(always)]
fn extract(a: u64, start: u32, length: u32, width: u32, signed: bool) -> u64 {
    let (start, length) = (start & 0xff, length & 0xff);
    let top = width - 1;
    let sign_at = if length == 0 { 0 } else { (start + length - 1).min(top) };
    let sign = signed && length != 0 && a >> sign_at & 1 != 0;
    let field = if start > top { 0 } else { a >> start };
    // Bits of the field that lie within `a`.
    let within = if start > top { 0 } else { length.min(width - start) };
    let mask = if within >= 64 { u64::MAX } else { (1 << within) - 1 };
    field & mask | if sign { !mask } else { 0 }
}

/// Ones in the field of `length` bits at `start` of `width` bits.
#[inline(always)]
fn field_mask(start: u32, length: u32, width: u32) -> u64 {
    let end = (start + length).min(width);
    if start >= end {
        return 0;
    }
    let ones = end - start;
    (if ones >= 64 { u64::MAX } else { (1 << ones) - 1 }) << start
}

/// `length` ones from bit `start` on, cut off at 32 bits.
#[inline(always)]
fn ones(start: u32, length: u32) -> u32 {
    field_mask(start, length, 32) as u32
}

/// Place of the |`offset`|-th one from bit `base` on, upwards or, if `offset` is negative, downwards; of the one at
/// `base` if it is 0. All ones if there is none.
fn nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let is_set = |place: &i64| mask >> place & 1 != 0;
    let base = i64::from(base);
    let mut places: Box<dyn Iterator<Item = i64>> = match offset {
        _ if base >= 32 => return u32::MAX,
        0 => Box::new(base..=base),
        1.. => Box::new(base..32),
        _ => Box::new((0..=base).rev()),
    };
    let skip = offset.unsigned_abs().saturating_sub(1) as usize;
    let found = places.by_ref().filter(is_set).nth(skip);
    found.map_or(u32::MAX, |place| place as u32)
}

/// Place of the highest one, or all ones if there is none.
#[inline(always)]
fn highest(a: u64) -> u32 {
    if a == 0 { u32::MAX } else { 63 - a.leading_zeros() }
}

#[inline(always)]
fn to_shift(place: u32, top: u32) -> u32 {
    if place == u32::MAX { place } else { top - place }
}
