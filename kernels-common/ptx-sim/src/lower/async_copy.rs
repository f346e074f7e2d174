//! Asynchronous copies and the barriers that count them: `cp.async`, `cp.async.bulk`, `mbarrier`.

use super::memory::{is_hint, update};
use super::opcode::Opcode;
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::alu::op1;
use crate::exec::async_copy::{ArriveAfterCopies, Commit, Copy, CopyOp, WAIT_ALL, WaitGroup};
use crate::exec::control::Nothing;
use crate::exec::mbarrier::{Action, MbarrierOp, OnMbarrier, pending_count};
use crate::exec::memory::{Addressing, EXTRA_SHIFT, Space};
use crate::rows::Row;

/// Groups that a wait may leave under way, at most.
const MOST_GROUPS: i64 = u32::MAX as i64;

impl Lower<'_> {
    /// `cp.async…` and `cp.reduce.async…`.
    pub(super) fn copy_async(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let reduces = op.take("reduce");
        if !op.take("async") {
            return Err("only asynchronous copies are supported".into());
        }
        if op.take("mbarrier") {
            return self.arrive_after_copies(op, operands);
        }
        let bulk = op.take("bulk");
        if op.has("tensor") {
            return Err("copies by tensor map are not supported".into());
        }
        match op.take_any(&["commit_group", "wait_group", "wait_all", "prefetch"]) {
            Some("commit_group") => {
                op.finish()?;
                self.emit::<Commit>([], u64::from(bulk));
                Ok(())
            }
            Some("wait_all") => {
                op.finish()?;
                self.emit::<WaitGroup>([], WAIT_ALL << 2);
                Ok(())
            }
            Some("wait_group") => {
                let reading = op.take("read");
                op.finish()?;
                let [Operand::Int(left @ 0..=MOST_GROUPS)] = *operands else {
                    return Err("a number of groups is needed".into());
                };
                self.emit::<WaitGroup>([], u64::from(bulk) | u64::from(reading) << 1 | (left as u64) << 2);
                Ok(())
            }
            // A hint to caches, which there are none of.
            Some(_) => {
                self.emit::<Nothing>([], 0);
                Ok(())
            }
            None if bulk => self.bulk_copy(op, reduces, operands),
            None => self.small_copy(op, operands),
        }
    }

    /// `cp.async.ca.shared.global [d], [s], bytes{, bytes to read or predicate}`
    fn small_copy(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let operands = op.without_cache_policy(operands);
        op.ignore(is_hint);
        let (to, from) = (op.take_space(), op.take_space());
        op.finish()?;
        if (to, from) != (Space::Shared, Space::Global) {
            return Err("these copies go from global to shared memory".into());
        }
        let [to_operand, from_operand, Operand::Int(bytes @ (4 | 8 | 16)), rest @ ..] = operands else {
            return Err("two addresses and a size of 4, 8 or 16 bytes are needed".into());
        };
        let (to_row, to) = self.address(to_operand, to)?;
        let (from_row, from) = self.address(from_operand, from)?;
        let mut rows = [to_row, from_row, Row::default(), Row::default(), Row::default()];
        let (mut source_bytes, mut ignore_source) = (false, false);
        match rest {
            [] => {}
            [Operand::Reg(id)] if self.register_type(*id) == Type::Pred => {
                rows[4] = self.predicate_register(*id)?;
                ignore_source = true;
            }
            [count] => {
                rows[3] = self.value(count, Type::U32)?;
                source_bytes = true;
            }
            _ => return Err("the number of operands is wrong".into()),
        }
        let bytes = *bytes as u32;
        let copy = CopyOp { to, from, mbarrier: None, bulk: false, bytes, source_bytes, ignore_source, update: None };
        self.emit_copy(copy, rows);
        Ok(())
    }

    /// `cp.async.bulk.TO.FROM.COMPLETION [d], [s], bytes{, [mbarrier]}`, or with an operation `cp.reduce.async.bulk`.
    fn bulk_copy(&mut self, op: &mut Opcode<'_>, reduces: bool, operands: &[Operand]) -> Result<()> {
        let operands = op.without_cache_policy(operands);
        if op.has("multicast::cluster") {
            return Err("copies to several blocks of a cluster are not supported".into());
        }
        let (to, from) = (op.take_space(), op.take_space());
        let by_bytes = op.take_any(&["mbarrier::complete_tx::bytes", "bulk_group"]);
        let by_bytes = by_bytes.ok_or("how the copy is waited for is missing")? == "mbarrier::complete_tx::bytes";
        let update = match reduces {
            true => {
                let ty = op.ty()?;
                let name = op.take_any(&["add", "min", "max", "inc", "dec", "and", "or", "xor"]);
                let name = name.ok_or("the operation is missing")?;
                let _ = op.take("noftz");
                let update = update(name, ty).ok_or("this operation is not supported for this type")?;
                Some((update, types::bytes(ty)))
            }
            false => None,
        };
        op.finish()?;
        match (to, from, by_bytes) {
            (Space::Shared, Space::Global | Space::Shared, true) | (Space::Global, Space::Shared, false) => {}
            _ => return Err("a bulk copy between these spaces is not waited for in this way".into()),
        }
        let (to_operand, from_operand, size, mbarrier) = match operands {
            [to, from, size, mbarrier] if by_bytes => (to, from, size, Some(mbarrier)),
            [to, from, size] if !by_bytes => (to, from, size, None),
            _ => return Err("the number of operands is wrong".into()),
        };
        let (to_row, to) = self.address(to_operand, to)?;
        let (from_row, from) = self.address(from_operand, from)?;
        let size = self.value(size, Type::U32)?;
        let (barrier_row, mbarrier) = match mbarrier {
            Some(operand) => {
                let (row, how) = self.address(operand, Space::Shared)?;
                (row, Some(how))
            }
            None => (Row::default(), None),
        };
        let copy =
            CopyOp { to, from, mbarrier, bulk: true, bytes: 0, source_bytes: false, ignore_source: false, update };
        self.emit_copy(copy, [to_row, from_row, barrier_row, size, Row::default()]);
        Ok(())
    }

    fn emit_copy(&mut self, copy: CopyOp, rows: [Row; 5]) {
        let index = self.code.copies.len() as u64;
        self.code.copies.push(copy);
        self.emit::<Copy>(rows, index);
    }

    /// `cp.async.mbarrier.arrive{.noinc}.shared.b64 [a]`
    fn arrive_after_copies(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        if !op.take("arrive") {
            return Err("this form is not supported".into());
        }
        let counted = op.take("noinc");
        let space = op.take_space();
        op.finish()?;
        let [address] = operands else { return Err("an address is needed".into()) };
        let (row, how) = self.address(address, space)?;
        self.emit::<ArriveAfterCopies>([row], how.pack() | u64::from(counted) << EXTRA_SHIFT);
        Ok(())
    }

    pub(super) fn mbarrier(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let choices = [
            "init",
            "inval",
            "arrive",
            "arrive_drop",
            "test_wait",
            "try_wait",
            "expect_tx",
            "complete_tx",
            "pending_count",
        ];
        let name = op.take_any(&choices).ok_or("the operation is missing")?;
        if name == "pending_count" {
            op.finish()?;
            return self.unary(Some(op1(self.level, pending_count)), (Type::B32, Type::B64), operands);
        }
        op.ignore(is_hint);
        let space = op.take_space();
        let parity = op.take("parity");
        let no_complete = op.take("noComplete");
        let expect = op.take("expect_tx");
        op.finish()?;
        let (result, address, operand) = match (name, operands) {
            ("inval", [address]) => (None, address, None),
            ("init" | "expect_tx" | "complete_tx", [address, operand]) => (None, address, Some(operand)),
            ("arrive" | "arrive_drop", [result, address]) if !expect => (Some(result), address, None),
            ("arrive" | "arrive_drop", [result, address, operand]) => (Some(result), address, Some(operand)),
            // The last operand of a `try_wait` says how long to suspend the thread.
            ("test_wait", [result, address, operand])
            | ("try_wait", [result, address, operand] | [result, address, operand, _]) => {
                (Some(result), address, Some(operand))
            }
            _ => return Err("the number of operands is wrong".into()),
        };
        let action = match name {
            "init" => Action::Init,
            "inval" => Action::Invalidate,
            "expect_tx" => Action::ExpectBytes,
            "complete_tx" => Action::CompleteBytes,
            "arrive" | "arrive_drop" => Action::Arrive { expect, for_good: name == "arrive_drop", no_complete },
            _ => Action::Wait { parity, suspends: name == "try_wait" },
        };
        let (row, how) = self.address(address, space)?;
        let waits = matches!(action, Action::Wait { .. });
        let wide_operand = waits && !parity;
        let operand = match operand {
            Some(operand) => self.value(operand, if wide_operand { Type::B64 } else { Type::U32 })?,
            None => self.bits_row(1, false),
        };
        let mut gives_state = false;
        let result = match result {
            Some(result) if waits => self.predicate_result(result)?,
            Some(Operand::Sink) | None => Row::default(),
            Some(result) => {
                gives_state = true;
                self.result(result, Type::B64)?
            }
        };
        let index = self.code.mbarriers.len() as u64;
        if index > u64::from(u16::MAX) {
            return Err("there are too many instructions on mbarriers".into());
        }
        self.code.mbarriers.push(MbarrierOp { action, gives_state, wide_operand });
        self.emit::<OnMbarrier>([row, result, operand], Addressing::pack(how) | index << EXTRA_SHIFT);
        Ok(())
    }
}
