//! Barriers and operations between the lanes of a warp.

use super::opcode::Opcode;
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::collective::{
    ALL, ANY, ActiveMask, BALLOT, BUTTERFLY, DOWN, Elect, INDEX, Match, Redux, Shuffle, Together, UNIFORM, UP, Vote,
    WarpBarrier,
};
use crate::exec::control::Barrier;
use crate::rows::Row;
use crate::sched::barrier::{BarrierOp, CLUSTER_BARRIER, Kind, Reduction};

impl Lower<'_> {
    pub(super) fn warp(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let block_barrier = matches!(op.name, "bar" | "barrier");
        let warp_barrier = block_barrier && op.take("warp");
        let by_mask = warp_barrier || !(block_barrier || op.name == "activemask");
        if by_mask && !op.take("sync") {
            return Err("only the form with `.sync` is supported".into());
        }
        match op.name {
            "activemask" => {
                op.finish()?;
                let [d] = operands else { return Err("one operand is needed".into()) };
                let d = self.result(d, Type::B32)?;
                self.emit::<ActiveMask>([d], 0);
                Ok(())
            }
            "bar" | "barrier" if warp_barrier => {
                op.finish()?;
                let [members] = operands else { return Err("a member mask is needed".into()) };
                let members = self.value(members, Type::B32)?;
                self.emit::<Together<WarpBarrier>>([Row::default(), members, members, members, members], 0);
                Ok(())
            }
            "bar" | "barrier" => self.barrier(op, operands),
            "shfl" => self.shuffle(op, operands),
            "vote" => self.vote(op, operands),
            "match" => self.matching(op, operands),
            "elect" => self.elect(op, operands),
            _ => self.redux(op, operands),
        }
    }

    fn shuffle(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let mode = op.take_any(&["up", "down", "bfly", "idx"]).ok_or("the mode is missing")?;
        op.finish()?;
        let [d, a, b, c, members] = operands else { return Err("five operands are needed".into()) };
        let (d, p) = match d {
            Operand::Pair(d, p) => (&**d, Some(&**p)),
            _ => (d, None),
        };
        let [a, b] = [self.value(a, Type::B32)?, self.value(b, Type::B32)?];
        let [c, members] = [self.value(c, Type::B32)?, self.value(members, Type::B32)?];
        let d = self.result(d, Type::B32)?;
        let p = match p {
            Some(p) => Some(self.predicate_result(p)?),
            None => None,
        };
        let rows = [d, a, b, c, members, p.unwrap_or_default()];
        let extra = u64::from(p.is_some());
        match mode {
            "up" => self.emit::<Together<Shuffle<UP>>>(rows, extra),
            "down" => self.emit::<Together<Shuffle<DOWN>>>(rows, extra),
            "bfly" => self.emit::<Together<Shuffle<BUTTERFLY>>>(rows, extra),
            _ => self.emit::<Together<Shuffle<INDEX>>>(rows, extra),
        }
        Ok(())
    }

    fn vote(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let mode = op.take_any(&["all", "any", "uni", "ballot"]).ok_or("the mode is missing")?;
        op.finish()?;
        let [d, a, members] = operands else { return Err("three operands are needed".into()) };
        let (a, flip) = self.predicate(a)?;
        let members = self.value(members, Type::B32)?;
        let extra = if flip { u64::from(u32::MAX) } else { 0 };
        if mode == "ballot" {
            let d = self.result(d, Type::B32)?;
            self.emit::<Together<Vote<BALLOT>>>([d, a, a, a, members], extra);
            return Ok(());
        }
        let p = self.predicate_result(d)?;
        let rows = [Row::default(), a, a, a, members, p];
        match mode {
            "all" => self.emit::<Together<Vote<ALL>>>(rows, extra),
            "any" => self.emit::<Together<Vote<ANY>>>(rows, extra),
            _ => self.emit::<Together<Vote<UNIFORM>>>(rows, extra),
        }
        Ok(())
    }

    fn matching(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let all = op.take_any(&["any", "all"]) == Some("all");
        op.finish()?;
        let [d, a, members] = operands else { return Err("three operands are needed".into()) };
        let (d, p) = match d {
            Operand::Pair(d, p) => (&**d, Some(&**p)),
            _ => (d, None),
        };
        let a = self.value(a, ty)?;
        let members = self.value(members, Type::B32)?;
        let d = self.result(d, Type::B32)?;
        let p = match p {
            Some(p) => Some(self.predicate_result(p)?),
            None => None,
        };
        let rows = [d, a, a, a, members, p.unwrap_or_default()];
        let extra = u64::from(p.is_some());
        match (types::is_wide(ty), all) {
            (false, false) => self.emit::<Together<Match<u32, ANY>>>(rows, extra),
            (false, true) => self.emit::<Together<Match<u32, ALL>>>(rows, extra),
            (true, false) => self.emit::<Together<Match<u64, ANY>>>(rows, extra),
            (true, true) => self.emit::<Together<Match<u64, ALL>>>(rows, extra),
        }
        Ok(())
    }

    /// `elect.sync d|p, members`
    fn elect(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        op.finish()?;
        let [Operand::Pair(d, p), members] = operands else {
            return Err("a register, a predicate and a member mask are needed".into());
        };
        let members = self.value(members, Type::B32)?;
        let d = self.result(d, Type::B32)?;
        let p = self.predicate_result(p)?;
        self.emit::<Together<Elect>>([d, members, members, members, members, p], 0);
        Ok(())
    }

    fn redux(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let name = op.take_any(&["add", "min", "max", "and", "or", "xor"]).ok_or("the operation is missing")?;
        op.finish()?;
        let index = match (name, ty) {
            ("add", Type::U32 | Type::S32) => 0,
            ("min", Type::U32) => 1,
            ("max", Type::U32) => 2,
            ("min", Type::S32) => 3,
            ("max", Type::S32) => 4,
            ("and", Type::B32) => 5,
            ("or", Type::B32) => 6,
            ("xor", Type::B32) => 7,
            _ => return Err("this operation is not supported for this type".into()),
        };
        let [d, a, members] = operands else { return Err("three operands are needed".into()) };
        let a = self.value(a, ty)?;
        let members = self.value(members, Type::B32)?;
        let d = self.result(d, ty)?;
        self.emit::<Together<Redux>>([d, a, a, a, members], index);
        Ok(())
    }

    /// `barrier.cluster.arrive` and `barrier.cluster.wait`, in two steps, for a cluster of one block.
    fn cluster_barrier(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        op.ignore(|modifier| matches!(modifier, "release" | "relaxed" | "acquire"));
        let aligned = op.take("aligned");
        let kind = op.take_any(&["arrive", "wait"]).ok_or("the kind of barrier is missing")?;
        op.finish()?;
        let [] = operands else { return Err("no operands are needed".into()) };
        let number = self.bits_row(CLUSTER_BARRIER as u64, false);
        let always = self.bits_row(u64::from(u32::MAX), false);
        let index = self.code.barriers.len() as u64;
        self.code.barriers.push(BarrierOp {
            number,
            threads: None,
            kind: if kind == "arrive" { Kind::Arrive } else { Kind::Wait },
            aligned,
            reduction: Reduction::None,
            source: (always, false),
            result: Row::default(),
        });
        self.emit::<Barrier>([], index);
        Ok(())
    }

    fn barrier(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        if op.take("cluster") {
            return self.cluster_barrier(op, operands);
        }
        let _ = op.take("cta");
        // `bar` is the aligned form of `barrier`.
        let aligned = op.take("aligned") || op.name == "bar";
        let kind = op.take_any(&["sync", "arrive", "red"]).ok_or("the kind of barrier is not supported")?;
        let reduction = match kind {
            "red" => match op.take_any(&["popc", "and", "or"]) {
                Some("popc") => Reduction::Count,
                Some("and") => Reduction::And,
                Some(_) => Reduction::Or,
                None => return Err("the reduction is missing".into()),
            },
            _ => Reduction::None,
        };
        op.finish()?;
        let (result, number, threads, source) = match (kind, operands) {
            ("red", [d, number, p]) => (Some(d), number, None, Some(p)),
            ("red", [d, number, threads, p]) => (Some(d), number, Some(threads), Some(p)),
            ("sync", [number]) => (None, number, None, None),
            ("sync" | "arrive", [number, threads]) => (None, number, Some(threads), None),
            _ => return Err("the number of operands is wrong".into()),
        };
        let number = self.value(number, Type::U32)?;
        let threads = match threads {
            Some(threads) => Some(self.value(threads, Type::U32)?),
            None => None,
        };
        let always = self.bits_row(u64::from(u32::MAX), false);
        let source = match source {
            Some(source) => self.predicate(source)?,
            None => (always, false),
        };
        let result = match (result, reduction) {
            (Some(d), Reduction::Count) => self.result(d, Type::U32)?,
            (Some(d), _) => self.predicate_result(d)?,
            (None, _) => Row::default(),
        };
        let index = self.code.barriers.len() as u64;
        let kind = if kind == "arrive" { Kind::Arrive } else { Kind::Sync };
        self.code.barriers.push(BarrierOp { number, threads, kind, aligned, reduction, source, result });
        self.emit::<Barrier>([], index);
        Ok(())
    }
}
