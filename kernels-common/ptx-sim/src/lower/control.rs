//! Branches, calls, exits, fences.

use super::opcode::Opcode;
use super::{Fixup, Lower, Result, UNRESOLVED};
use crate::ast::{Operand, Type};
use crate::code::{Call, Passing};
use crate::exec::control::{self as flow, NOWHERE};
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

    /// `call (results), function, (arguments)`.
    fn call(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let _ = op.take("uni");
        op.finish()?;
        let empty = Vec::new();
        let (results, name, arguments) = match operands {
            [Operand::List(results), Operand::Symbol(name), Operand::List(arguments)] => (results, name, arguments),
            [Operand::List(results), Operand::Symbol(name)] => (results, name, &empty),
            [Operand::Symbol(name), Operand::List(arguments)] => (&empty, name, arguments),
            [Operand::Symbol(name)] => (&empty, name, &empty),
            _ => return Err("only direct calls are supported".into()),
        };
        let function = self.function_index(name)?;
        let callee = self.sources[function as usize].clone();
        if callee.is_entry {
            return Err("a kernel cannot be called".into());
        }
        if callee.results.len() != results.len() || callee.params.len() != arguments.len() {
            return Err(format!("the call does not fit the parameters of `{name}`").into());
        }
        let offsets = super::layout(&callee).0;
        let pass = |list: &[Operand], variables: &[crate::ast::Variable]| -> Result<Vec<Passing>> {
            list.iter()
                .zip(variables)
                .map(|(operand, variable)| {
                    let Operand::Symbol(name) = operand else {
                        return Err("only parameters can be passed in a call".into());
                    };
                    let caller = *self.f.locals.get(name).ok_or_else(|| format!("there is no parameter `{name}`"))?;
                    let callee = offsets[&variable.name];
                    Ok(Passing { caller, callee, bytes: variable.size as u32 })
                })
                .collect()
        };
        let results = pass(results, &callee.results)?;
        let arguments = pass(arguments, &callee.params)?;
        let index = self.code.calls.len() as u64;
        self.code.calls.push(Call { function, arguments, results });
        self.emit::<flow::Call>([], index);
        Ok(())
    }
}
