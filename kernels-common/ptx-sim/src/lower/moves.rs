//! `mov`: copies, addresses, packing and unpacking.

use super::opcode::Opcode;
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::alu::op2;

impl Lower<'_> {
    pub(super) fn mov(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        op.finish()?;
        let [d, a] = operands else { return Err("two operands are needed".into()) };
        if ty == Type::Pred {
            let (a, flip) = self.predicate(a)?;
            let d = self.predicate_result(d)?;
            self.copy_predicate(d, a, flip);
            return Ok(());
        }
        if ty == Type::B128 {
            return self.move_128(d, a);
        }
        match (d, a) {
            (Operand::Vector(parts), _) => self.unpack(parts, a, ty),
            (_, Operand::Vector(parts)) => self.pack(d, parts, ty),
            _ => {
                let a = self.value(a, ty)?;
                let d = self.result(d, ty)?;
                self.copy(d, a, types::is_wide(ty));
                Ok(())
            }
        }
    }

    /// `mov.b128`: between 128-bit registers, or to or from two halves.
    fn move_128(&mut self, d: &Operand, a: &Operand) -> Result<()> {
        let from = match a {
            Operand::Vector(parts) => match &parts[..] {
                [low, high] => [self.value(low, Type::B64)?, self.value(high, Type::B64)?],
                _ => return Err("this way of packing is not supported".into()),
            },
            _ => self.halves(a)?,
        };
        let to = match d {
            Operand::Vector(parts) => match &parts[..] {
                [low, high] => [self.result(low, Type::B64)?, self.result(high, Type::B64)?],
                _ => return Err("this way of packing is not supported".into()),
            },
            _ => self.halves(d)?,
        };
        // A half that is written may be the other half that is read.
        let high = self.fresh(true);
        self.copy(high, from[1], true);
        self.copy(to[0], from[0], true);
        self.copy(to[1], high, true);
        Ok(())
    }

    /// `mov.b64 {lo, hi}, x` and its like.
    fn unpack(&mut self, parts: &[Operand], source: &Operand, ty: Type) -> Result<()> {
        let part = part_type(ty, parts.len())?;
        let source = self.value(source, ty)?;
        for (index, target) in parts.iter().enumerate() {
            if matches!(target, Operand::Sink) {
                continue;
            }
            let shift = self.bits_row(8 * u64::from(types::bytes(part)) * index as u64, false);
            let target = self.result(target, part)?;
            let exec = if types::is_wide(ty) {
                op2(self.level, |a: u64, shift: u32| (a >> (shift & 63)) as u32)
            } else {
                op2(self.level, |a: u32, shift: u32| a >> (shift & 31))
            };
            // What stands above a narrow part does not matter.
            self.emit_exec(exec, &[target, source, shift], 0);
        }
        Ok(())
    }

    /// `mov.b64 x, {lo, hi}` and its like.
    fn pack(&mut self, target: &Operand, parts: &[Operand], ty: Type) -> Result<()> {
        let level = self.level;
        let part = part_type(ty, parts.len())?;
        let mut rows = Vec::new();
        for source in parts {
            rows.push(self.value(source, part)?);
        }
        let d = self.result(target, ty)?;
        match (ty, &rows[..]) {
            (Type::B16, &[a, b]) => {
                self.emit_exec(op2(level, |a: u8, b: u8| u16::from(a) | u16::from(b) << 8), &[d, a, b], 0);
            }
            (Type::B32, &[a, b]) => {
                self.emit_exec(op2(level, |a: u16, b: u16| u32::from(a) | u32::from(b) << 16), &[d, a, b], 0);
            }
            (Type::B32, &[a, b, c, e]) => {
                let (low, high) = (self.fresh(false), self.fresh(false));
                let join = op2(level, |a: u8, b: u8| u32::from(a) | u32::from(b) << 8);
                self.emit_exec(join, &[low, a, b], 0);
                self.emit_exec(join, &[high, c, e], 0);
                self.emit_exec(op2(level, |a: u16, b: u16| u32::from(a) | u32::from(b) << 16), &[d, low, high], 0);
            }
            (_, &[a, b]) => {
                self.emit_exec(op2(level, |a: u32, b: u32| u64::from(a) | u64::from(b) << 32), &[d, a, b], 0);
            }
            (_, &[a, b, c, e]) => {
                let (low, high) = (self.fresh(false), self.fresh(false));
                let join = op2(level, |a: u16, b: u16| u32::from(a) | u32::from(b) << 16);
                self.emit_exec(join, &[low, a, b], 0);
                self.emit_exec(join, &[high, c, e], 0);
                self.emit_exec(op2(level, |a: u32, b: u32| u64::from(a) | u64::from(b) << 32), &[d, low, high], 0);
            }
            _ => return Err("this way of packing is not supported".into()),
        }
        Ok(())
    }
}

/// The type of each of `count` parts.
fn part_type(ty: Type, count: usize) -> Result<Type> {
    match (ty, count) {
        (Type::B32, 2) | (Type::B64, 4) => Ok(Type::B16),
        (Type::B64, 2) => Ok(Type::B32),
        (Type::B32, 4) | (Type::B16, 2) => Ok(Type::B8),
        _ => Err("this way of packing is not supported".into()),
    }
}
