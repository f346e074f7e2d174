//! Comparisons and what chooses by them.

use std::num::FpCategory;

use super::bits::flip_inputs;
use super::opcode::Opcode;
use super::work::{rare1, unsigned};
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::Exec;
use crate::exec::alu::{Logic, Select, compare};
use crate::rows::Row;

/// The comparisons.
const RELATIONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

/// The truth table of a comparison's outcome combined with another predicate: that of the outcome alone, if it is not.
fn combination(how: Option<&str>) -> u64 {
    match how {
        None => 0xf0,
        Some("and") => 0xf0 & 0xcc,
        Some("or") => 0xf0 | 0xcc,
        Some(_) => 0xf0 ^ 0xcc,
    }
}

/// A comparison made of one that there is code for.
#[derive(Clone, Copy)]
struct Relation {
    exec: Exec,
    /// The operands change places.
    swap: bool,
    /// The outcome is negated.
    negate: bool,
}

/// What `setp` and `set` are told beside their types.
#[derive(Clone, Copy)]
struct Comparison<'a> {
    relation: &'a str,
    /// How the outcome is combined with the predicate `c`, if it is.
    combine: Option<&'a str>,
    ftz: bool,
    d: &'a Operand,
    a: &'a Operand,
    b: &'a Operand,
    c: Option<&'a Operand>,
}

impl<'a> Comparison<'a> {
    /// Takes the last of the modifiers, and the operands.
    fn parse(op: &mut Opcode<'_>, operands: &'a [Operand]) -> Result<Self> {
        let relation = op.take_any(&RELATIONS).ok_or("the comparison is missing")?;
        let combine = op.take_any(&["and", "or", "xor"]);
        let ftz = op.take("ftz");
        op.finish()?;
        let (d, a, b, c) = match (operands, combine) {
            ([d, a, b], None) => (d, a, b, None),
            ([d, a, b, c], Some(_)) => (d, a, b, Some(c)),
            _ => return Err("the number of operands is wrong".into()),
        };
        Ok(Self { relation, combine, ftz, d, a, b, c })
    }
}

/// The instances of the basic comparisons for a type.
macro_rules! basic {
    ($level:expr, $basic:expr, $T:ty) => {
        match $basic {
            "eq" => compare($level, |a: $T, b: $T| a == b),
            "lt" => compare($level, |a: $T, b: $T| a < b),
            "le" => compare($level, |a: $T, b: $T| a <= b),
            // Ordered and not equal: a NaN is neither.
            _ => compare($level, |a: $T, b: $T| (a < b) | (a > b)),
        }
    };
}

impl Lower<'_> {
    pub(super) fn compare(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        match op.name {
            "setp" => self.setp(op, operands),
            "set" => self.set(op, operands),
            "selp" => self.selp(op, operands),
            "slct" => self.slct(op, operands),
            _ => self.testp(op, operands),
        }
    }

    /// How the comparison `name` of numbers of type `ty` is made; f16 and bf16 are compared in single precision.
    fn relation(&self, name: &str, ty: Type) -> Result<Relation> {
        let float = types::is_float(ty);
        let untyped = matches!(ty, Type::B16 | Type::B32 | Type::B64);
        let signed_or_float = float || types::is_signed(ty);
        let unknown = || format!("the comparison `.{name}` is not supported for this type");
        let (basic, swap, negate) = match name {
            "eq" => ("eq", false, false),
            "ne" if float => ("differs", false, false),
            "ne" => ("eq", false, true),
            _ if untyped => return Err(unknown().into()),
            "lo" | "ls" | "hi" | "hs" if signed_or_float => return Err(unknown().into()),
            "lt" | "lo" => ("lt", false, false),
            "gt" | "hi" => ("lt", true, false),
            "le" | "ls" if float => ("le", false, false),
            "ge" | "hs" if float => ("le", true, false),
            "le" | "ls" => ("lt", true, true),
            "ge" | "hs" => ("lt", false, true),
            _ if !float => return Err(unknown().into()),
            "equ" => ("differs", false, true),
            "neu" => ("eq", false, true),
            "ltu" => ("le", true, true),
            "leu" => ("lt", true, true),
            "gtu" => ("le", false, true),
            "geu" => ("lt", false, true),
            "num" => ("nan", false, true),
            _ => ("nan", false, false),
        };
        let level = self.level;
        let exec = match unsigned(ty) {
            Type::F32 | Type::F16 | Type::BF16 if basic == "nan" => {
                compare(level, |a: f32, b: f32| a.is_nan() || b.is_nan())
            }
            Type::F64 if basic == "nan" => compare(level, |a: f64, b: f64| a.is_nan() || b.is_nan()),
            Type::F32 | Type::F16 | Type::BF16 => basic!(level, basic, f32),
            Type::F64 => basic!(level, basic, f64),
            Type::U16 if basic == "eq" => compare(level, |a: u16, b: u16| a == b),
            Type::U32 if basic == "eq" => compare(level, |a: u32, b: u32| a == b),
            Type::U64 if basic == "eq" => compare(level, |a: u64, b: u64| a == b),
            _ => match ty {
                Type::U16 => compare(level, |a: u16, b: u16| a < b),
                Type::U32 => compare(level, |a: u32, b: u32| a < b),
                Type::U64 => compare(level, |a: u64, b: u64| a < b),
                Type::S16 => compare(level, |a: i16, b: i16| a < b),
                Type::S32 => compare(level, |a: i32, b: i32| a < b),
                Type::S64 => compare(level, |a: i64, b: i64| a < b),
                _ => return Err(unknown().into()),
            },
        };
        Ok(Relation { exec, swap, negate })
    }

    fn emit_relation(&mut self, relation: Relation, d: Row, a: Row, b: Row) {
        let (a, b) = if relation.swap { (b, a) } else { (a, b) };
        self.emit_exec(relation.exec, &[d, a, b], if relation.negate { u64::from(u32::MAX) } else { 0 });
    }

    /// An operand of a comparison, in single precision if it is narrower.
    fn comparable(&mut self, row: Row, ty: Type, ftz: bool) -> Row {
        match ty {
            Type::F16 | Type::BF16 => {
                let single = self.fresh(false);
                let widen = self.widen_half(ty);
                self.emit_exec(widen, &[single, row], 0);
                single
            }
            Type::F32 if ftz => self.flushed(row),
            _ => row,
        }
    }

    /// Compares two operands into the predicate `d`.
    fn compare_into(&mut self, d: Row, name: &str, ty: Type, ftz: bool, a: &Operand, b: &Operand) -> Result<()> {
        let relation = self.relation(name, ty)?;
        let (a, b) = (self.value(a, ty)?, self.value(b, ty)?);
        let (a, b) = (self.comparable(a, ty, ftz), self.comparable(b, ty, ftz));
        self.emit_relation(relation, d, a, b);
        Ok(())
    }

    /// Compares two operands into a fresh predicate.
    fn compared(&mut self, name: &str, ty: Type, ftz: bool, a: &Operand, b: &Operand) -> Result<Row> {
        let d = self.fresh_predicate();
        self.compare_into(d, name, ty, ftz, a, b)?;
        Ok(d)
    }

    fn setp(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let comparison = Comparison::parse(op, operands)?;
        let Comparison { relation, combine, ftz, d, a, b, c } = comparison;
        if matches!(ty, Type::F16x2 | Type::BF16x2) {
            return self.setp_packed(ty, comparison);
        }
        // The plain case needs no second step.
        if let (Operand::Reg(_), None) = (d, combine) {
            let d = self.predicate_result(d)?;
            return self.compare_into(d, relation, ty, ftz, a, b);
        }
        let holds = self.compared(relation, ty, ftz, a, b)?;
        let other = self.other_predicate(holds, c)?;
        match d {
            Operand::Pair(p, q) => {
                self.combine(p, holds, false, combine, other)?;
                self.combine(q, holds, true, combine, other)
            }
            _ => self.combine(d, holds, false, combine, other),
        }
    }

    /// The predicate that a comparison is combined with, in a row that the first of two results does not overwrite.
    fn other_predicate(&mut self, holds: Row, c: Option<&Operand>) -> Result<Row> {
        let Some(c) = c else { return Ok(holds) };
        let (c, flip) = self.predicate(c)?;
        let other = self.fresh_predicate();
        self.copy_predicate(other, c, flip);
        Ok(other)
    }

    pub(crate) fn copy_predicate(&mut self, to: Row, from: Row, flip: bool) {
        self.emit::<Logic>([to, from, from, from], if flip { 0x0f } else { 0xf0 });
    }

    /// Writes the predicate `holds`, negated if `flip`, combined with another.
    fn combine(&mut self, d: &Operand, holds: Row, flip: bool, how: Option<&str>, other: Row) -> Result<()> {
        let d = self.predicate_result(d)?;
        self.emit::<Logic>([d, holds, other, other], flip_inputs(combination(how), flip, false));
        Ok(())
    }

    /// `setp` of packed numbers: a predicate for the low, and one for the high halves.
    fn setp_packed(&mut self, ty: Type, comparison: Comparison<'_>) -> Result<()> {
        let Comparison { relation, combine, d, a, b, c, .. } = comparison;
        let Operand::Pair(p, q) = d else { return Err("two predicates are needed".into()) };
        let single = if ty == Type::F16x2 { Type::F16 } else { Type::BF16 };
        let relation = self.relation(relation, single)?;
        let (a, b) = (self.value(a, ty)?, self.value(b, ty)?);
        let (high_a, high_b) = (self.high_half(a), self.high_half(b));
        let mut halves = Vec::new();
        for (a, b) in [(a, b), (high_a, high_b)] {
            let holds = self.fresh_predicate();
            let (a, b) = (self.comparable(a, single, false), self.comparable(b, single, false));
            self.emit_relation(relation, holds, a, b);
            halves.push(holds);
        }
        let other = self.other_predicate(halves[0], c)?;
        self.combine(p, halves[0], false, combine, other)?;
        self.combine(q, halves[1], false, combine, other)
    }

    fn high_half(&mut self, row: Row) -> Row {
        let high = self.fresh(false);
        self.emit_exec(crate::exec::alu::op1(self.level, |a: u32| a >> 16), &[high, row], 0);
        high
    }

    fn set(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let &[to, from] = &op.types[..] else { return Err("two types are needed".into()) };
        let comparison = Comparison::parse(op, operands)?;
        let Comparison { relation, combine, ftz, d, a, b, c } = comparison;
        let yes = match to {
            Type::F32 => 0x3f80_0000,
            Type::F16 | Type::F16x2 => 0x3c00,
            Type::BF16 | Type::BF16x2 => 0x3f80,
            Type::U16 | Type::S16 => 0xffff,
            Type::U32 | Type::S32 => 0xffff_ffff,
            _ => return Err("this type of result is not supported".into()),
        };
        if matches!(from, Type::F16x2 | Type::BF16x2) {
            return self.set_packed([to, from], comparison);
        }
        let mut holds = self.compared(relation, from, ftz, a, b)?;
        if combine.is_some() {
            let combined = self.fresh_predicate();
            let (c, flip) = self.predicate(c.ok_or("a predicate is missing")?)?;
            self.emit::<Logic>([combined, holds, c, c], flip_inputs(combination(combine), false, flip));
            holds = combined;
        }
        let (yes, no) = (self.bits_row(yes, false), self.bits_row(0, false));
        let d = self.result(d, to)?;
        self.emit::<Select<u32>>([d, yes, no, holds], 0);
        Ok(())
    }

    /// `set` of packed numbers: 1 or 0 in each half, or all ones or zeros for an integer result.
    fn set_packed(&mut self, [to, from]: [Type; 2], comparison: Comparison<'_>) -> Result<()> {
        let Comparison { relation, combine, d, a, b, .. } = comparison;
        if combine.is_some() {
            return Err("packed numbers cannot be combined with a predicate here".into());
        }
        let single = if from == Type::F16x2 { Type::F16 } else { Type::BF16 };
        let relation = self.relation(relation, single)?;
        let (a, b) = (self.value(a, from)?, self.value(b, from)?);
        let yes = match to {
            Type::F16x2 => 0x3c00,
            Type::BF16x2 => 0x3f80,
            _ => 0xffff,
        };
        let (high_a, high_b) = (self.high_half(a), self.high_half(b));
        let zero = self.bits_row(0, false);
        let mut halves = [zero; 2];
        for (half, (yes, [a, b])) in halves.iter_mut().zip([(yes, [a, b]), (yes << 16, [high_a, high_b])]) {
            let (a, b) = (self.comparable(a, single, false), self.comparable(b, single, false));
            let holds = self.fresh_predicate();
            self.emit_relation(relation, holds, a, b);
            let yes = self.bits_row(yes, false);
            *half = self.fresh(false);
            self.emit::<Select<u32>>([*half, yes, zero, holds], 0);
        }
        let d = self.result(d, to)?;
        self.emit_exec(crate::exec::alu::op2(self.level, |a: u32, b: u32| a | b), &[d, halves[0], halves[1]], 0);
        Ok(())
    }

    fn selp(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        op.finish()?;
        let [d, a, b, p] = operands else { return Err("four operands are needed".into()) };
        let (a, b) = (self.value(a, ty)?, self.value(b, ty)?);
        let (p, flip) = self.predicate(p)?;
        let d = self.result(d, ty)?;
        self.select(ty, [d, a, b, p], flip);
        Ok(())
    }

    fn select(&mut self, ty: Type, rows: [Row; 4], flip: bool) {
        let extra = if flip { u64::from(u32::MAX) } else { 0 };
        if types::is_wide(ty) {
            self.emit::<Select<u64>>(rows, extra);
        } else {
            self.emit::<Select<u32>>(rows, extra);
        }
    }

    /// `slct.dtype.ctype d, a, b, c`: a if c ≥ 0, else b.
    fn slct(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let &[ty, by] = &op.types[..] else { return Err("two types are needed".into()) };
        let ftz = op.take("ftz");
        op.finish()?;
        let [d, a, b, c] = operands else { return Err("four operands are needed".into()) };
        let p = self.compared("ge", by, ftz, c, &Operand::Int(0))?;
        let (a, b) = (self.value(a, ty)?, self.value(b, ty)?);
        let d = self.result(d, ty)?;
        self.select(ty, [d, a, b, p], false);
        Ok(())
    }

    fn testp(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let test = op
            .take_any(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"])
            .ok_or("the test is missing")?;
        op.finish()?;
        let [d, a] = operands else { return Err("two operands are needed".into()) };
        let class = match test {
            "finite" => |class| !matches!(class, FpCategory::Nan | FpCategory::Infinite),
            "infinite" => |class| class == FpCategory::Infinite,
            "number" => |class| class != FpCategory::Nan,
            "notanumber" => |class| class == FpCategory::Nan,
            "normal" => |class| class == FpCategory::Normal,
            _ => |class: FpCategory| class == FpCategory::Subnormal,
        };
        let work = match ty {
            Type::F32 => rare1(self.level, move |a: f32| u32::from(class(a.classify()))),
            Type::F64 => rare1(self.level, move |a: f64| u32::from(class(a.classify()))),
            _ => return Err("this type is not supported here".into()),
        };
        let a = self.value(a, ty)?;
        let d = self.predicate_result(d)?;
        let holds = self.fresh(false);
        self.emit_work(work, &[holds, a], &[Type::U32, ty]);
        let (relation, zero) = (self.relation("ne", Type::U32)?, self.bits_row(0, false));
        self.emit_relation(relation, d, holds, zero);
        Ok(())
    }
}
