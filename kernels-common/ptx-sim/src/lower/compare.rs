//! Comparisons and what chooses by them.

use super::bits::flip_inputs;
use super::opcode::Opcode;
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::Exec;
use crate::exec::alu::{Logic, Select, compare};
use crate::num::half::{bf16_to_f32, f16_to_f32};
use crate::rows::Row;

/// The comparisons.
const RELATIONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

/// The instances of a relation for integers.
macro_rules! ordered {
    ($level:expr, $relation:expr, $T:ty) => {
        match $relation {
            "eq" => Some(compare($level, |a: $T, b: $T| a == b)),
            "ne" => Some(compare($level, |a: $T, b: $T| a != b)),
            "lt" | "lo" => Some(compare($level, |a: $T, b: $T| a < b)),
            "le" | "ls" => Some(compare($level, |a: $T, b: $T| a <= b)),
            "gt" | "hi" => Some(compare($level, |a: $T, b: $T| a > b)),
            "ge" | "hs" => Some(compare($level, |a: $T, b: $T| a >= b)),
            _ => None,
        }
    };
}

/// The instances of a relation for floating numbers, which `$load` makes of `$T`.
macro_rules! floating {
    ($level:expr, $relation:expr, $T:ty, $load:expr) => {
        match $relation {
            "eq" => Some(compare($level, |a: $T, b: $T| $load(a) == $load(b))),
            "ne" => Some(compare($level, |a: $T, b: $T| $load(a) < $load(b) || $load(a) > $load(b))),
            "lt" => Some(compare($level, |a: $T, b: $T| $load(a) < $load(b))),
            "le" => Some(compare($level, |a: $T, b: $T| $load(a) <= $load(b))),
            "gt" => Some(compare($level, |a: $T, b: $T| $load(a) > $load(b))),
            "ge" => Some(compare($level, |a: $T, b: $T| $load(a) >= $load(b))),
            "equ" => Some(compare($level, |a: $T, b: $T| !($load(a) < $load(b) || $load(a) > $load(b)))),
            "neu" => Some(compare($level, |a: $T, b: $T| $load(a) != $load(b))),
            "ltu" => Some(compare($level, |a: $T, b: $T| !($load(a) >= $load(b)))),
            "leu" => Some(compare($level, |a: $T, b: $T| !($load(a) > $load(b)))),
            "gtu" => Some(compare($level, |a: $T, b: $T| !($load(a) <= $load(b)))),
            "geu" => Some(compare($level, |a: $T, b: $T| !($load(a) < $load(b)))),
            "num" => Some(compare($level, |a: $T, b: $T| !$load(a).is_nan() && !$load(b).is_nan())),
            "nan" => Some(compare($level, |a: $T, b: $T| $load(a).is_nan() || $load(b).is_nan())),
            _ => None,
        }
    };
}

/// The bits, as they are.
#[inline(always)]
fn id<T>(x: T) -> T {
    x
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

    fn relation(&self, relation: &str, ty: Type) -> Result<Exec> {
        let level = self.level;
        let exec = match ty {
            Type::B16 | Type::B32 | Type::B64 if !matches!(relation, "eq" | "ne") => None,
            Type::B16 | Type::U16 => ordered!(level, relation, u16),
            Type::B32 | Type::U32 => ordered!(level, relation, u32),
            Type::B64 | Type::U64 => ordered!(level, relation, u64),
            Type::S16 => ordered!(level, relation, i16),
            Type::S32 => ordered!(level, relation, i32),
            Type::S64 => ordered!(level, relation, i64),
            Type::F32 => floating!(level, relation, f32, id),
            Type::F64 => floating!(level, relation, f64, id),
            Type::F16 => floating!(level, relation, u16, f16_to_f32),
            Type::BF16 => floating!(level, relation, u16, bf16_to_f32),
            _ => None,
        };
        exec.ok_or_else(|| format!("the comparison `.{relation}` is not supported for this type").into())
    }

    /// Compares two operands into a fresh predicate.
    fn compared(&mut self, relation: &str, ty: Type, ftz: bool, a: &Operand, b: &Operand) -> Result<Row> {
        let exec = self.relation(relation, ty)?;
        let (mut a, mut b) = (self.value(a, ty)?, self.value(b, ty)?);
        if ftz && ty == Type::F32 {
            (a, b) = (self.flushed(a), self.flushed(b));
        }
        let p = self.fresh_predicate();
        self.emit_exec(exec, &[p, a, b], 0);
        Ok(p)
    }

    fn setp(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let relation = op.take_any(&RELATIONS).ok_or("the comparison is missing")?;
        let combine = op.take_any(&["and", "or", "xor"]);
        let ftz = op.take("ftz");
        op.finish()?;
        let (d, a, b, c) = match (operands, combine) {
            ([d, a, b], None) => (d, a, b, None),
            ([d, a, b, c], Some(_)) => (d, a, b, Some(c)),
            _ => return Err("the number of operands is wrong".into()),
        };
        if matches!(ty, Type::F16x2 | Type::BF16x2) {
            return self.setp_packed(relation, ty, combine, d, a, b, c);
        }
        // The plain case needs no second step.
        if let (Operand::Reg(_), None) = (d, combine) {
            let exec = self.relation(relation, ty)?;
            let (mut a, mut b) = (self.value(a, ty)?, self.value(b, ty)?);
            if ftz && ty == Type::F32 {
                (a, b) = (self.flushed(a), self.flushed(b));
            }
            let d = self.predicate_result(d)?;
            self.emit_exec(exec, &[d, a, b], 0);
            return Ok(());
        }
        let holds = self.compared(relation, ty, ftz, a, b)?;
        let (p, q) = match d {
            Operand::Pair(p, q) => (&**p, Some(&**q)),
            _ => (d, None),
        };
        self.combine(p, holds, false, combine, c)?;
        if let Some(q) = q {
            self.combine(q, holds, true, combine, c)?;
        }
        Ok(())
    }

    /// Writes the predicate `holds`, negated if `flip`, combined with another.
    fn combine(&mut self, d: &Operand, holds: Row, flip: bool, how: Option<&str>, c: Option<&Operand>) -> Result<()> {
        let (c, flip_c) = match c {
            Some(c) => self.predicate(c)?,
            None => (holds, false),
        };
        let table = match how {
            None => 0xf0,
            Some("and") => 0xf0 & 0xcc,
            Some("or") => 0xf0 | 0xcc,
            _ => 0xf0 ^ 0xcc,
        };
        let d = self.predicate_result(d)?;
        self.emit::<Logic>([d, holds, c, c], flip_inputs(table, flip, flip_c));
        Ok(())
    }

    /// `setp` of packed numbers: a predicate for the low, and one for the high halves.
    #[allow(clippy::too_many_arguments)] // the parts of one instruction
    fn setp_packed(
        &mut self,
        relation: &str,
        ty: Type,
        combine: Option<&str>,
        d: &Operand,
        a: &Operand,
        b: &Operand,
        c: Option<&Operand>,
    ) -> Result<()> {
        let Operand::Pair(p, q) = d else { return Err("two predicates are needed".into()) };
        let single = if ty == Type::F16x2 { Type::F16 } else { Type::BF16 };
        let exec = self.relation(relation, single)?;
        let (a, b) = (self.value(a, ty)?, self.value(b, ty)?);
        let (high_a, high_b) = (self.high_half(a), self.high_half(b));
        for (d, a, b) in [(p, a, b), (q, high_a, high_b)] {
            let holds = self.fresh_predicate();
            self.emit_exec(exec, &[holds, a, b], 0);
            self.combine(d, holds, false, combine, c)?;
        }
        Ok(())
    }

    fn high_half(&mut self, row: Row) -> Row {
        let high = self.fresh(false);
        self.emit_exec(crate::exec::alu::op1(self.level, |a: u32| a >> 16), &[high, row], 0);
        high
    }

    fn set(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let &[to, from] = &op.types[..] else { return Err("two types are needed".into()) };
        let relation = op.take_any(&RELATIONS).ok_or("the comparison is missing")?;
        let combine = op.take_any(&["and", "or", "xor"]);
        let ftz = op.take("ftz");
        op.finish()?;
        let (d, a, b, c) = match (operands, combine) {
            ([d, a, b], None) => (d, a, b, None),
            ([d, a, b, c], Some(_)) => (d, a, b, Some(c)),
            _ => return Err("the number of operands is wrong".into()),
        };
        let yes = match to {
            Type::F32 => 0x3f80_0000,
            Type::U32 | Type::S32 => 0xffff_ffff,
            _ => return Err("this type of result is not supported".into()),
        };
        let mut holds = self.compared(relation, from, ftz, a, b)?;
        if combine.is_some() {
            let combined = self.fresh_predicate();
            let (c, flip) = self.predicate(c.ok_or("a predicate is missing")?)?;
            let table = match combine {
                Some("and") => 0xf0 & 0xcc,
                Some("or") => 0xf0 | 0xcc,
                _ => 0xf0 ^ 0xcc,
            };
            self.emit::<Logic>([combined, holds, c, c], flip_inputs(table, false, flip));
            holds = combined;
        }
        let (yes, no) = (self.bits_row(yes, false), self.bits_row(0, false));
        let d = self.result(d, to)?;
        self.emit::<Select<u32>>([d, yes, no, holds], 0);
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
        let level = self.level;
        let ty = op.ty()?;
        let test = op
            .take_any(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"])
            .ok_or("the test is missing")?;
        op.finish()?;
        let [d, a] = operands else { return Err("two operands are needed".into()) };
        let exec = match (ty, test) {
            (Type::F32, "finite") => compare(level, |a: f32, _| a.is_finite()),
            (Type::F32, "infinite") => compare(level, |a: f32, _| a.is_infinite()),
            (Type::F32, "number") => compare(level, |a: f32, _| !a.is_nan()),
            (Type::F32, "notanumber") => compare(level, |a: f32, _| a.is_nan()),
            (Type::F32, "normal") => compare(level, |a: f32, _| a.is_normal()),
            (Type::F32, _) => compare(level, |a: f32, _| a.is_subnormal()),
            (Type::F64, "finite") => compare(level, |a: f64, _| a.is_finite()),
            (Type::F64, "infinite") => compare(level, |a: f64, _| a.is_infinite()),
            (Type::F64, "number") => compare(level, |a: f64, _| !a.is_nan()),
            (Type::F64, "notanumber") => compare(level, |a: f64, _| a.is_nan()),
            (Type::F64, "normal") => compare(level, |a: f64, _| a.is_normal()),
            (Type::F64, _) => compare(level, |a: f64, _| a.is_subnormal()),
            _ => return Err("this type is not supported here".into()),
        };
        let a = self.value(a, ty)?;
        let d = self.predicate_result(d)?;
        self.emit_exec(exec, &[d, a, a], 0);
        Ok(())
    }
}
