//! Clusters, of which the simulator has those of one block; and what only helps the scheduling of launches and warps.

use super::opcode::Opcode;
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::control::{MapRank, Nothing};

impl Lower<'_> {
    /// `mapa d, a, rank` and `getctarank d, a`: the address that the block `rank` of the cluster has for a variable of
    /// the own one, and the rank of the block that an address belongs to.
    pub(super) fn cluster_address(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let _ = op.take_space();
        op.finish()?;
        match operands {
            [d, a, rank] if op.name == "mapa" => {
                let (a, rank) = (self.value(a, ty)?, self.value(rank, Type::U32)?);
                let d = self.result(d, ty)?;
                self.emit::<MapRank>([rank], 0);
                self.copy(d, a, types::is_wide(ty));
                Ok(())
            }
            [d, _] if op.name == "getctarank" => self.write_zero(d, Type::U32),
            _ => Err("the number of operands is wrong".into()),
        }
    }

    /// `createpolicy`: how caches treat data, of which there are none. Policies are not looked at.
    pub(super) fn cache_policy(&mut self, operands: &[Operand]) -> Result<()> {
        let [d, ..] = operands else { return Err("a register is needed".into()) };
        self.write_zero(d, Type::B64)
    }

    fn write_zero(&mut self, d: &Operand, ty: Type) -> Result<()> {
        let wide = types::is_wide(ty);
        let zero = self.bits_row(0, wide);
        let d = self.result(d, ty)?;
        self.copy(d, zero, wide);
        Ok(())
    }

    /// `griddepcontrol`, `setmaxnreg`: earlier launches are done already, and registers do not run out.
    pub(super) fn no_effect(&mut self) -> Result<()> {
        self.emit::<Nothing>([], 0);
        Ok(())
    }
}
