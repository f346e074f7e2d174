//! Branches, calls, exits, fences.

use std::sync::Arc;

use super::opcode::Opcode;
use super::{Fixup, Lower, Refusal, Result, UNRESOLVED};
use crate::ast::{Instruction, Operand, Type, Variable};
use crate::code::{Call, IndirectCall, Passing};
use crate::exec::control::{self as flow, NOWHERE};
use crate::exec::system::{CallSystem, SystemCall, SystemFunction};
use crate::rows::Row;

impl Lower<'_> {
    pub(super) fn control(
        &mut self,
        op: &mut Opcode<'_>,
        operands: &[Operand],
        guard: Option<(Row, bool)>,
    ) -> Result<()> {
        match op.name {
            "bra" => {
                let _ = op.take("uni");
                op.finish()?;
                let [Operand::Label(target)] = operands else { return Err("a label is needed".into()) };
                let meet = self.f.meets[self.f.index];
                match guard {
                    Some((row, negated)) => self.branch(row, negated, *target, meet, true),
                    None => self.jump(*target),
                }
                Ok(())
            }
            "brx" => self.indexed_branch(op, operands),
            "call" => self.call(op, operands),
            "ret" => {
                let _ = op.take("uni");
                op.finish()?;
                let source = self.source().clone();
                if source.is_entry {
                    self.emit::<flow::Exit>([], 0);
                    return Ok(());
                }
                let end = source.body.len() as u32;
                match guard {
                    Some((row, negated)) => self.branch(row, negated, end, self.f.meets[self.f.index], true),
                    None => self.jump(end),
                }
                Ok(())
            }
            "exit" => {
                op.finish()?;
                self.emit::<flow::Exit>([], 0);
                Ok(())
            }
            "trap" => {
                op.finish()?;
                self.emit::<flow::Trap>([], 0);
                Ok(())
            }
            "membar" | "fence" => {
                // A fence between proxies orders accesses of one thread.
                let scope = match op.take_any(&["proxy", "cta"]) {
                    Some("proxy") => 0,
                    Some(_) => 1,
                    None => 2,
                };
                self.emit::<flow::Fence>([], scope);
                Ok(())
            }
            "nanosleep" => {
                self.emit::<flow::Sleep>([], 0);
                Ok(())
            }
            // For debuggers and profilers.
            _ => {
                self.emit::<flow::Nothing>([], 0);
                Ok(())
            }
        }
    }

    fn jump(&mut self, target: u32) {
        self.f.fixups.push(Fixup { ins: self.code.ins.len(), target, meet: None });
        self.emit::<flow::Jump>([], 0);
    }

    fn indexed_branch(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let _ = op.take("uni");
        if !op.take("idx") {
            return Err("only `brx.idx` is supported".into());
        }
        op.finish()?;
        let [index, Operand::Symbol(table)] = operands else { return Err("an index and a table are needed".into()) };
        let index = self.value(index, Type::U32)?;
        let source = self.source().clone();
        let Some((_, targets)) = source.branch_targets.iter().find(|(name, _)| name == table) else {
            return Err(format!("there is no branch table `{table}`").into());
        };
        let number = self.code.tables.len() as u64;
        self.code.tables.push(targets.iter().map(|target| target | UNRESOLVED).collect());
        let meet = self.f.meets[self.f.index];
        self.f.fixups.push(Fixup { ins: self.code.ins.len(), target: NOWHERE, meet });
        self.emit::<flow::Indexed>([index], number);
        Ok(())
    }

    /// `call (results), function, (arguments)`, or with a register and a prototype or list of targets a call by address.
    fn call(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let _ = op.take("uni");
        op.finish()?;
        let (results, rest) = match operands {
            [Operand::List(results), rest @ ..] => (&results[..], rest),
            _ => (&[][..], operands),
        };
        let (function, rest) = rest.split_first().ok_or("the function is missing")?;
        let (arguments, rest) = match rest {
            [Operand::List(arguments), rest @ ..] => (&arguments[..], rest),
            _ => (&[][..], rest),
        };
        match (function, rest) {
            (Operand::Symbol(name), []) => {
                if let Some(system) = SystemFunction::named(name)
                    && self.loaded.module.only_declares(name)
                {
                    return self.system_call(name, system, results, arguments);
                }
                let function = self.function_index(name)?;
                let call = self.direct_call(function, results, arguments)?;
                self.emit::<flow::Call>([], call);
                Ok(())
            }
            (Operand::Reg(_), [Operand::Symbol(table)]) => {
                let targets = self.targets(table)?;
                self.indirect_call(function, &targets, results, arguments)
            }
            (Operand::Reg(_), []) => Err("a call by address needs a prototype or a list of targets".into()),
            _ => Err("this form of call is not supported".into()),
        }
    }

    /// The entry of [`Code::calls`](crate::code::Code::calls) for a call of a function.
    fn direct_call(&mut self, function: u32, results: &[Operand], arguments: &[Operand]) -> Result<u64> {
        let callee = self.sources[function as usize].clone();
        if callee.is_entry {
            return Err("a kernel cannot be called".into());
        }
        if callee.results.len() != results.len() || callee.params.len() != arguments.len() {
            return Err(format!("the call does not fit the parameters of `{}`", callee.name).into());
        }
        let offsets = super::layout(&callee).0;
        let pass = |list: &[Operand], variables: &[Variable]| -> Result<Vec<Passing>> {
            list.iter()
                .zip(variables)
                .map(|(operand, variable)| {
                    let caller = self.passed(operand)?;
                    let callee = offsets[&variable.name];
                    Ok(Passing { caller, callee, bytes: variable.size as u32 })
                })
                .collect()
        };
        let results = pass(results, &callee.results)?;
        let arguments = pass(arguments, &callee.params)?;
        let index = self.code.calls.len() as u64;
        self.code.calls.push(Call { function, arguments, results });
        Ok(index)
    }

    /// Where a parameter that is passed is in the caller's local memory.
    fn passed(&self, operand: &Operand) -> Result<u32> {
        let Operand::Symbol(name) = operand else { return Err("only parameters can be passed in a call".into()) };
        self.f.locals.get(name).copied().ok_or_else(|| format!("there is no parameter `{name}`").into())
    }

    /// A call of a function that the device provides.
    fn system_call(
        &mut self,
        name: &str,
        (function, params, result): (SystemFunction, &[u64], Option<u64>),
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<()> {
        let size = |operand: &Operand| {
            let variables = &self.source().variables;
            let Operand::Symbol(name) = operand else { return None };
            variables.iter().find(|variable| variable.name == *name).map(|variable| variable.size)
        };
        if !arguments.iter().map(size).eq(params.iter().copied().map(Some))
            || !results.iter().map(size).eq(result.iter().copied().map(Some))
        {
            return Err(format!("the call does not fit the parameters of the device's `{name}`").into());
        }
        let arguments = arguments.iter().map(|operand| self.passed(operand)).collect::<Result<_>>()?;
        let result = results.first().map(|operand| self.passed(operand)).transpose()?;
        let index = self.code.system_calls.len() as u64;
        self.code.system_calls.push(SystemCall { function, arguments, result });
        self.emit::<CallSystem>([], index);
        Ok(())
    }

    /// The functions that a call by address can reach: those of a list, or those of the module whose address is taken
    /// somewhere and whose parameters and results are as large as those of the prototype.
    fn targets(&self, table: &str) -> Result<Vec<Arc<str>>> {
        let source = self.source().clone();
        if let Some((_, targets)) = source.call_targets.iter().find(|(name, _)| **name == *table) {
            return Ok(targets.clone());
        }
        let Some(prototype) = source.prototypes.iter().find(|prototype| *prototype.name == *table) else {
            return Err(format!("there is no prototype `{table}`").into());
        };
        let sizes = |list: &[Variable]| list.iter().map(|variable| variable.size).collect::<Vec<_>>();
        let wanted = (sizes(&prototype.results), sizes(&prototype.params));
        let mut targets = Vec::new();
        for name in self.loaded.module.called_by_address() {
            let function = self.loaded.module.function(name).map_err(Refusal::Parse)?;
            if (sizes(&function.results), sizes(&function.params)) == wanted {
                targets.push(name.clone());
            }
        }
        Ok(targets)
    }

    /// A call by address: a switch to one direct call for each target, behind which all meet.
    fn indirect_call(
        &mut self,
        address: &Operand,
        targets: &[Arc<str>],
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<()> {
        let address = self.value(address, Type::B64)?;
        let after = self.f.index as u32 + 1;
        let index = self.code.indirect_calls.len();
        self.code.indirect_calls.push(IndirectCall::default());
        self.f.fixups.push(Fixup { ins: self.code.ins.len(), target: NOWHERE, meet: Some(after) });
        self.emit::<flow::CallIndirect>([address], index as u64);
        let always = self.bits_row(u64::from(u32::MAX), false);
        for target in targets {
            let function = self.function_index(target)?;
            let call = self.direct_call(function, results, arguments)?;
            if let Some(address) = self.loaded.function_address(target) {
                let pc = self.code.ins.len() as u32;
                self.code.indirect_calls[index].targets.push((address, pc));
            }
            self.emit::<flow::Call>([], call);
            self.branch(always, false, after, None, false);
        }
        Ok(())
    }
}

/// Whether an instruction calls a function by its address.
pub(super) fn is_indirect_call(instruction: &Instruction) -> bool {
    let is_call = instruction.opcode.split('.').next() == Some("call");
    is_call && instruction.operands.iter().any(|operand| matches!(operand, Operand::Reg(_)))
}
