//! Integer operations on the bytes or halves of a register side by side: `vadd4`, `vabsdiff2` and their like.

use super::opcode::Opcode;
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};

/// An operation on one pair of parts.
type PartOp = fn(i64, i64) -> i64;

impl Lower<'_> {
    /// `vop4.d.a.b{.sat} d, a, b, c`: the operation on four pairs of bytes (or two of halves), or with `.add` the sum of
    /// the four results and c. Operands are taken as a whole, without masks and selectors.
    pub(super) fn video(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let (name, parts) = op.name.split_at(op.name.len() - 1);
        let operation: PartOp = match name {
            "vadd" => |a, b| a + b,
            "vsub" => |a, b| a - b,
            "vavrg" => |a, b| (a + b + 1) >> 1,
            "vabsdiff" => |a, b| (a - b).abs(),
            "vmin" => |a, b| a.min(b),
            "vmax" => |a, b| a.max(b),
            _ => return Err("the simulator does not have this instruction".into()),
        };
        let bits = if parts == "2" { 16 } else { 8 };
        let (saturate, sum) = (op.take("sat"), op.take("add"));
        op.finish()?;
        let &[to, of_a, of_b] = &op.types[..] else { return Err("three types are needed".into()) };
        if [to, of_a, of_b].iter().any(|ty| !matches!(ty, Type::U32 | Type::S32)) {
            return Err("this type is not supported here".into());
        }
        let [d, a, b, c] = operands else { return Err("four operands are needed".into()) };
        let [a, b, c] = [self.value(a, Type::B32)?, self.value(b, Type::B32)?, self.value(c, Type::B32)?];
        let d = self.result(d, Type::B32)?;
        let part = move |x: u64, place: u32, ty: Type| {
            let top = x << (64 - bits * (place + 1));
            if types::is_signed(ty) { top as i64 >> (64 - bits) } else { (top >> (64 - bits)) as i64 }
        };
        let (least, greatest) =
            if types::is_signed(to) { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        self.emit_per_lane(
            (d, false),
            &[(a, false), (b, false), (c, false)],
            Box::new(move |[a, b, c]| {
                let results = (0..32 / bits).map(|place| {
                    let result = operation(part(a, place, of_a), part(b, place, of_b));
                    if saturate { result.clamp(least, greatest) } else { result }
                });
                let result = match sum {
                    true => results.fold(c as i64, i64::wrapping_add) as u64,
                    false => results.enumerate().fold(0, |packed, (place, result)| {
                        packed | (result as u64 & ((1 << bits) - 1)) << (bits * place as u32)
                    }),
                };
                result & 0xffff_ffff
            }),
        );
        Ok(())
    }
}
