//! Local memory that is allocated while the kernel runs: `alloca`, `stacksave`, `stackrestore`.

use super::opcode::Opcode;
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::local::{Allocate, RestoreStack, SaveStack};
use crate::rows::Row;

/// What `alloca` aligns to if it does not say.
const DEFAULT_ALIGN: u64 = 8;
/// What it can align to at most.
const MAX_ALIGN: i64 = 1 << 23;

impl Lower<'_> {
    pub(super) fn stack(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        op.finish()?;
        if !matches!(ty, Type::U32 | Type::U64) {
            return Err("this type is not supported here".into());
        }
        match (op.name, operands) {
            ("alloca", [d, size, rest @ ..]) => {
                let align = match rest {
                    [] => DEFAULT_ALIGN,
                    [Operand::Int(align @ 1..=MAX_ALIGN)] if align.count_ones() == 1 => *align as u64,
                    _ => return Err("the alignment must be a power of two".into()),
                };
                let size = self.value(size, ty)?;
                let size = self.widened(size, ty);
                self.stack_result::<Allocate>(d, ty, &[size], align)
            }
            ("stacksave", [d]) => self.stack_result::<SaveStack>(d, ty, &[], 0),
            ("stackrestore", [from]) => {
                let from = self.value(from, ty)?;
                let from = self.widened(from, ty);
                self.emit::<RestoreStack>([from], 0);
                Ok(())
            }
            _ => Err("the number of operands is wrong".into()),
        }
    }

    /// An address or a size as a 64-bit row.
    fn widened(&mut self, row: Row, ty: Type) -> Row {
        if types::is_wide(ty) {
            return row;
        }
        let wide = self.fresh(true);
        self.emit_exec(self.extend(false), &[wide, row], 0);
        wide
    }

    /// Emits an operation that gives an address, which is a 64-bit row.
    fn stack_result<T: crate::exec::level::Run>(
        &mut self,
        d: &Operand,
        ty: Type,
        operands: &[Row],
        extra: u64,
    ) -> Result<()> {
        let d = self.result(d, ty)?;
        let address = if types::is_wide(ty) { d } else { self.fresh(true) };
        let mut rows = vec![address];
        rows.extend(operands);
        self.emit::<T>(rows, extra);
        if !types::is_wide(ty) {
            self.emit_exec(self.narrow(), &[d, address], 0);
        }
        Ok(())
    }
}
