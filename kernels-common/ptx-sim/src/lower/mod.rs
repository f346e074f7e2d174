//! Lowering: from the syntax tree of a kernel to functions that run its instructions.
//!
//! Each instruction becomes one or a few executable ones, whose operands are rows. What is known before a block
//! starts (immediates, parameters, addresses of variables, `%tid` and the like) gets a row that is filled in
//! beforehand, and a register that only ever holds such a value *is* that row: its `mov`, `ld.param` or `cvta` is
//! counted but not executed.

mod arithmetic;
mod async_copy;
mod bits;
mod cluster;
mod compare;
mod conditional;
mod control;
mod convert;
mod family;
mod float;
mod half;
mod memory;
mod moves;
pub(crate) mod opcode;
mod operand;
mod peek;
mod stack;
pub(crate) mod types;
mod video;
mod warp;
mod work;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use family::Family;
use opcode::Opcode;

use crate::ast::{Function, Instruction, Operand, RegId, Space, Type};
use crate::code::{Code, FunctionCode, Ins, PerLane, PerLaneOp, Value};
use crate::exec::Exec;
use crate::exec::alu::{Each, Guarded};
use crate::exec::control::{self as flow, NOWHERE};
use crate::exec::level::{Level, Run, exec};
use crate::exec::local::{RestoreStack, SaveStack};
use crate::program::{LoadError, Loaded};
use crate::ptx::ParseError;
use crate::rows::{Bank, Line, Row};

/// Bytes of local memory that a thread has at most, as in hardware.
pub(crate) const MAX_LOCAL: u64 = 512 << 10;

/// Why an instruction cannot be lowered.
pub(crate) enum Refusal {
    /// In words; the place is added later.
    Text(String),
    /// A called function is not PTX.
    Parse(ParseError),
}

impl From<&str> for Refusal {
    fn from(text: &str) -> Refusal {
        Refusal::Text(text.to_owned())
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Refusal {
        Refusal::Text(text)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

/// Lowers the kernel `name` with everything that it calls.
pub(crate) fn kernel(loaded: &Loaded, name: &str, portable: bool) -> std::result::Result<Code, LoadError> {
    let level = if portable { Level::Portable } else { Level::detect() };
    let mut lower = Lower {
        loaded,
        level,
        code: Code::default(),
        constants: HashMap::new(),
        shared: HashMap::new(),
        dynamic_align: 1,
        functions: HashMap::new(),
        sources: Vec::new(),
        f: Body::default(),
        attributed: 0,
        begun: 0,
    };
    if let Some(blocks) = loaded.module.kernel(name).and_then(|signature| signature.required_cluster)
        && blocks.iter().any(|&count| count != 1)
    {
        let span = loaded.module.kernel(name).map_or_else(Default::default, |signature| signature.span);
        let message = format!("clusters of {blocks:?} blocks are not supported, only those of one");
        return Err(unsupported(loaded, name.into(), ".reqnctapercluster", span, message));
    }
    lower.function_index(name).map_err(|refusal| match refusal {
        Refusal::Parse(error) => LoadError::Parse(error),
        Refusal::Text(message) => unsupported(loaded, name.into(), "", crate::ast::Span::default(), message),
    })?;
    // Functions are appended while callers are lowered.
    let mut index = 0;
    while index < lower.sources.len() {
        lower.function(index)?;
        index += 1;
    }
    lower.code.counts.push(lower.attributed);
    lower.code.dynamic_shared = lower.code.static_shared.next_multiple_of(lower.dynamic_align);
    Ok(lower.code)
}

fn unsupported(
    loaded: &Loaded,
    function: Arc<str>,
    opcode: &str,
    span: crate::ast::Span,
    message: String,
) -> LoadError {
    LoadError::Unsupported { module: loaded.module.name().into(), function, opcode: opcode.into(), span, message }
}

/// Offsets in local memory of a function's local variables and parameters, call-site ones included, and the bytes
/// that they take, `None` if they are more than a thread has. The parameters of a kernel are elsewhere.
fn layout(source: &Function) -> (HashMap<Arc<str>, u32>, Option<u32>) {
    // A variable has at most 2^40 bytes and some text of its own, so that the sum of all fits.
    let mut end = 0u64;
    let mut offsets = HashMap::new();
    let own = source.variables.iter().filter(|variable| matches!(variable.space, Space::Local | Space::Param));
    let passed = source.results.iter().chain(&source.params).filter(|_| !source.is_entry);
    for variable in own.chain(passed) {
        // Parameters may be accessed as vectors, which are wider than the declared type.
        let offset = end.next_multiple_of(variable.align.clamp(16, 256));
        // Beyond 32 bits the function is refused, whatever the offsets are.
        offsets.insert(variable.name.clone(), offset as u32);
        end = offset + variable.size;
    }
    let bytes = end.next_multiple_of(16);
    (offsets, (bytes <= MAX_LOCAL).then_some(bytes as u32))
}

/// Whether a destination operand names the register.
fn names(operand: &Operand, register: RegId) -> bool {
    match operand {
        Operand::Reg(id) => *id == register,
        Operand::Pair(a, b) => names(a, register) || names(b, register),
        _ => false,
    }
}

/// Targets of an executable branch that are body indices until the function's end.
struct Fixup {
    ins: usize,
    target: u32,
    meet: Option<u32>,
}

/// The function that is being lowered.
#[derive(Default)]
struct Body {
    source: Option<Arc<Function>>,
    /// Lines of the frame laid out so far.
    lines: u32,
    registers: Vec<Option<Row>>,
    /// Line and number of words used of the last line of predicates.
    predicates: Option<(u32, u32)>,
    /// Registers that are constant rows.
    aliases: HashMap<RegId, Row>,
    /// Times that each register is defined, and used.
    definitions: Vec<u32>,
    /// Loads that a compare-and-swap checks.
    peeks: HashSet<usize>,
    /// Loads whose value only lanes with a predicate set want.
    conditional: HashMap<usize, RegId>,
    uses: Vec<u32>,
    /// Offsets of variables in local memory.
    locals: HashMap<Arc<str>, u32>,
    local_bytes: u32,
    /// The guard of the instruction that is being lowered.
    guard: Option<(Row, bool)>,
    /// Index of that instruction.
    index: usize,
    /// Instructions to emit behind it: conversions to the width of its destinations.
    after: Vec<(Exec, [Row; 6], u64)>,
    carry: Option<Row>,
    fixups: Vec<Fixup>,
    meets: Vec<Option<u32>>,
}

/// Lowering of one kernel.
pub(crate) struct Lower<'a> {
    loaded: &'a Loaded,
    level: Level,
    code: Code,
    constants: HashMap<(Value, bool), Row>,
    /// Offsets of shared variables.
    shared: HashMap<Arc<str>, u32>,
    dynamic_align: u32,
    functions: HashMap<Arc<str>, u32>,
    sources: Vec<Arc<Function>>,
    f: Body,
    /// PTX instructions counted by executable ones so far, and all so far.
    attributed: u32,
    begun: u32,
}

/// Instructions that the scheduler handles, so that a guard becomes a branch around them.
fn needs_branch(opcode: &str) -> bool {
    matches!(
        opcode.split('.').next(),
        Some(
            "bar"
                | "barrier"
                | "shfl"
                | "vote"
                | "match"
                | "redux"
                | "elect"
                | "call"
                | "exit"
                | "ret"
                | "trap"
                | "nanosleep"
                | "brx"
                | "mbarrier"
        )
    )
}

impl<'a> Lower<'a> {
    /// The number of a function; it will be lowered if it has not been.
    fn function_index(&mut self, name: &str) -> Result<u32> {
        if let Some(&index) = self.functions.get(name) {
            return Ok(index);
        }
        let source = self.loaded.module.function(name).map_err(Refusal::Parse)?.clone();
        let index = self.sources.len() as u32;
        self.functions.insert(source.name.clone(), index);
        self.sources.push(source);
        Ok(index)
    }

    fn source(&self) -> &Arc<Function> {
        &self.sources[self.code.functions.len()]
    }

    fn function(&mut self, index: usize) -> std::result::Result<(), LoadError> {
        let source = self.sources[index].clone();
        let meets = crate::cfg::reconvergence(&source);
        let body = &source.body;
        let mut is_meet = vec![false; body.len() + 1];
        let mut is_label = vec![false; body.len() + 1];
        for &(_, label) in &source.labels {
            is_label[label as usize] = true;
        }
        for &meet in meets.iter().flatten() {
            is_label[meet as usize] = true;
            is_meet[meet as usize] = !(source.is_entry && meet as usize == body.len());
        }
        for (index, instruction) in body.iter().enumerate() {
            let around = instruction.guard.is_some() && needs_branch(&instruction.opcode);
            if around || control::is_indirect_call(instruction) {
                is_label[index + 1] = true;
                is_meet[index + 1] = true;
            }
            for operand in &instruction.operands {
                if let Operand::Label(label) = operand {
                    is_label[*label as usize] = true;
                }
            }
        }
        is_label[body.len()] = true;
        self.f = Body {
            source: Some(source.clone()),
            registers: vec![None; source.registers.len()],
            definitions: vec![0; source.registers.len()],
            uses: vec![0; source.registers.len()],
            meets,
            ..Body::default()
        };
        let (locals, local_bytes) = layout(&source);
        let Some(local_bytes) = local_bytes else {
            let message = format!("a thread has at most {MAX_LOCAL} bytes of local memory");
            return Err(unsupported(self.loaded, source.name.clone(), ".local", source.span, message));
        };
        (self.f.locals, self.f.local_bytes) = (locals, local_bytes);
        self.count_uses(body);
        self.f.peeks = peek::peeks(body, &self.f.definitions);
        let targets: HashSet<usize> = source.labels.iter().map(|&(_, at)| at as usize).collect();
        self.f.conditional =
            conditional::conditional_loads(body, &self.f.definitions, &self.f.uses, |at| targets.contains(&at));
        let refused = |error: Refusal, instruction: &Instruction, loaded: &Loaded| match error {
            Refusal::Parse(error) => LoadError::Parse(error),
            Refusal::Text(message) => {
                unsupported(loaded, source.name.clone(), &instruction.opcode, instruction.span, message)
            }
        };
        self.find_constants(body);

        let entry = self.code.ins.len() as u32;
        // What a function takes from the stack goes when it returns.
        let allocates = body.iter().any(|instruction| instruction.opcode.starts_with("alloca."));
        let stack = (allocates && !source.is_entry).then(|| self.fresh(true));
        if let Some(stack) = stack {
            self.emit::<SaveStack>([stack], 0);
        }
        let mut positions = vec![NOWHERE; body.len() + 1];
        for index in 0..=body.len() {
            self.f.index = index;
            if is_label[index] {
                if self.begun != self.attributed {
                    self.emit::<flow::Nothing>([], 0);
                }
                positions[index] = self.code.ins.len() as u32;
                if is_meet[index] {
                    let here = self.code.ins.len() as u64;
                    self.emit::<flow::Meet>([], here);
                }
            }
            let Some(instruction) = body.get(index) else { break };
            self.begun += 1;
            self.instruction(instruction).map_err(|error| refused(error, instruction, self.loaded))?;
        }
        if source.is_entry {
            self.emit::<flow::Exit>([], 0);
        } else {
            if let Some(stack) = stack {
                self.emit::<RestoreStack>([stack], 0);
            }
            self.emit::<flow::Return>([], 0);
        }
        self.begun = self.attributed;
        self.resolve(&positions, &source);
        self.code.functions.push(FunctionCode {
            entry,
            lines: self.f.lines.max(1),
            local_bytes: self.f.local_bytes,
            source,
        });
        Ok(())
    }

    /// Turns body indices in branches into indices of executable instructions.
    fn resolve(&mut self, positions: &[u32], source: &Function) {
        let meeting = |meet: Option<u32>| match meet {
            Some(meet) if !(source.is_entry && meet as usize == source.body.len()) => positions[meet as usize],
            _ => NOWHERE,
        };
        for Fixup { ins, target, meet } in std::mem::take(&mut self.f.fixups) {
            let target = if target == NOWHERE {
                // An indexed branch or a call by address: its table was resolved by itself.
                self.code.ins[ins].extra as u32
            } else {
                positions[target as usize]
            };
            self.code.ins[ins].extra = u64::from(target) | u64::from(meeting(meet)) << 32;
        }
        for table in &mut self.code.tables {
            for target in table.iter_mut().filter(|target| **target & UNRESOLVED != 0) {
                *target = positions[(*target & !UNRESOLVED) as usize];
            }
        }
    }

    fn count_uses(&mut self, body: &[Instruction]) {
        for instruction in body {
            if let Some(guard) = instruction.guard {
                self.f.uses[guard.predicate.0 as usize] += 1;
            }
            let name = instruction.opcode.split('.').next().unwrap_or("");
            let has_result = !matches!(name, "brx" | "call" | "bar" | "barrier" | "st" | "red" | "nanosleep");
            for (place, operand) in instruction.operands.iter().enumerate() {
                let result = place == 0 && has_result;
                self.count_operand(operand, result);
                if place == 0 && matches!(name, "bar" | "barrier") {
                    // `bar.red` has a result, the others have not: count it as both.
                    self.count_operand(operand, true);
                }
            }
        }
    }

    fn count_operand(&mut self, operand: &Operand, result: bool) {
        match operand {
            Operand::Reg(RegId(index)) => {
                let counts = if result { &mut self.f.definitions } else { &mut self.f.uses };
                counts[*index as usize] += 1;
            }
            Operand::Vector(list) | Operand::List(list) => {
                list.iter().for_each(|operand| self.count_operand(operand, result));
            }
            Operand::Pair(a, b) => {
                self.count_operand(a, result);
                self.count_operand(b, result);
            }
            Operand::Not(inner) => self.count_operand(inner, false),
            Operand::Address { base, .. } => self.count_operand(base, false),
            _ => {}
        }
    }

    /// Finds registers that only ever hold one constant row. Definitions need not precede uses in the text, so this
    /// is done before anything is emitted, and a copy of a register is looked at again once that is found.
    fn find_constants(&mut self, body: &[Instruction]) {
        let mut copies: HashMap<RegId, Vec<usize>> = HashMap::new();
        for first in 0..body.len() {
            let mut open = vec![first];
            while let Some(index) = open.pop() {
                let instruction = &body[index];
                let Some(&Operand::Reg(register)) = instruction.operands.first() else { continue };
                if instruction.guard.is_some() || self.f.definitions[register.0 as usize] != 1 {
                    continue;
                }
                if let Some(row) = self.constant_result(instruction) {
                    self.f.aliases.insert(register, row);
                    open.extend(copies.remove(&register).unwrap_or_default());
                } else if let [_, Operand::Reg(source)] = instruction.operands[..] {
                    copies.entry(source).or_default().push(index);
                }
            }
        }
    }

    /// The constant row that an instruction copies to its destination, if that is all it does.
    fn constant_result(&mut self, instruction: &Instruction) -> Option<Row> {
        let op = Opcode::new(&instruction.opcode);
        let ty = op.ty().ok()?;
        let [Operand::Reg(register), source] = &instruction.operands[..] else { return None };
        let wide = types::is_wide(self.register_type(*register));
        if self.register_type(*register) == Type::Pred || wide != types::is_wide(ty) {
            return None;
        }
        match op.name {
            "mov" => self.constant_operand(source, ty),
            "cvta" if op.has("global") || op.has("const") => self.constant_operand(source, ty),
            "ld" if op.has("param") => {
                let Operand::Address { base, offset } = source else { return None };
                let Operand::Symbol(name) = &**base else { return None };
                let at = self.kernel_parameter(name)?;
                let offset = u32::try_from(i64::from(at).saturating_add(*offset)).ok()?;
                Some(self.constant(Value::Param { offset, ty }, wide))
            }
            _ => None,
        }
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<()> {
        if let Some(&Operand::Reg(register)) = instruction.operands.first()
            && self.f.aliases.contains_key(&register)
            && self.f.definitions[register.0 as usize] == 1
            && matches!(instruction.opcode.split('.').next(), Some("mov" | "cvta" | "ld"))
        {
            return Ok(());
        }
        let guard = match instruction.guard {
            Some(guard) => {
                let mut row = self.predicate_register(guard.predicate)?;
                // An instruction may be several executable ones, of which the first must not change the guard.
                if instruction.operands.first().is_some_and(|operand| names(operand, guard.predicate)) {
                    let copy = self.fresh_predicate();
                    self.copy_predicate(copy, row, false);
                    row = copy;
                }
                Some((row, guard.negated))
            }
            None => None,
        };
        let mut op = Opcode::new(&instruction.opcode);
        let operands = &instruction.operands[..];
        if let Some((row, negated)) = guard
            && op.name != "bra"
            && (op.name != "ret" || self.source().is_entry)
        {
            if needs_branch(&instruction.opcode) {
                let next = self.f.index as u32 + 1;
                // The lanes whose guard does not hold go around.
                self.branch(row, !negated, next, Some(next), false);
            } else {
                self.f.guard = guard;
            }
        }
        let outcome = self.dispatch(&mut op, operands, guard);
        self.flush_after();
        self.f.guard = None;
        outcome
    }

    fn dispatch(&mut self, op: &mut Opcode<'_>, operands: &[Operand], guard: Option<(Row, bool)>) -> Result<()> {
        match family::of(op.name) {
            Some(Family::Arithmetic) => self.arithmetic(op, operands),
            Some(Family::Video) => self.video(op, operands),
            Some(Family::Bits) => self.bits(op, operands),
            Some(Family::Compare) => self.compare(op, operands),
            Some(Family::Move) => self.mov(op, operands),
            Some(Family::Convert) => self.convert(op, operands),
            Some(Family::Memory) => self.memory(op, operands),
            Some(Family::Stack) => self.stack(op, operands),
            Some(Family::Copy) => self.copy_async(op, operands),
            Some(Family::Mbarrier) => self.mbarrier(op, operands),
            Some(Family::Warp) => self.warp(op, operands),
            Some(Family::Control) => self.control(op, operands, guard),
            Some(Family::Cluster) => self.cluster_address(op, operands),
            Some(Family::CachePolicy) => self.cache_policy(operands),
            Some(Family::NoEffect) => self.no_effect(),
            None => Err("the simulator does not have this instruction".into()),
        }
    }

    /// Appends an executable instruction, behind a guard if there is one.
    fn push(&mut self, exec_fn: Exec, rows: [Row; 6], extra: u64) {
        if let Some((row, negated)) = self.f.guard {
            let guarded = self.code.ins.len() as u64 + 1;
            let flip = if negated { u64::from(u32::MAX) } else { 0 };
            let mut rows = [Row::default(); 6];
            rows[0] = row;
            self.append(exec::<Guarded>(self.level), rows, flip | guarded << 32);
        }
        self.append(exec_fn, rows, extra);
    }

    fn append(&mut self, exec: Exec, rows: [Row; 6], extra: u64) {
        self.code.ins.push(Ins { exec, rows, extra });
        self.code.counts.push(self.attributed);
        self.attributed = self.begun;
        self.code.sites.push((self.code.functions.len() as u32, self.f.index as u32));
    }

    fn emit_exec(&mut self, exec: Exec, rows: &[Row], extra: u64) {
        let mut all = [Row::default(); 6];
        all[..rows.len()].copy_from_slice(rows);
        self.push(exec, all, extra);
    }

    fn emit<T: Run>(&mut self, rows: impl AsRef<[Row]>, extra: u64) {
        self.emit_exec(exec::<T>(self.level), rows.as_ref(), extra);
    }

    /// Appends an instruction that evaluates `function` lane by lane.
    fn emit_per_lane(&mut self, result: (Row, bool), operands: &[(Row, bool)], function: PerLane) {
        let mut rows = [Row::default(); 6];
        let mut wide = [false; 3];
        rows[0] = result.0;
        for (index, &(row, is_wide)) in operands.iter().enumerate() {
            rows[index + 1] = row;
            wide[index] = is_wide;
        }
        let index = self.code.per_lane.len() as u64;
        self.code.per_lane.push(PerLaneOp { function, wide_result: result.1, wide, operands: operands.len() });
        self.push(exec::<Each>(self.level), rows, index);
    }

    fn flush_after(&mut self) {
        for (exec, rows, extra) in std::mem::take(&mut self.f.after) {
            self.push(exec, rows, extra);
        }
    }

    /// Appends a branch of the lanes of a predicate.
    fn branch(&mut self, row: Row, negated: bool, target: u32, meet: Option<u32>, counted: bool) {
        let ins = self.code.ins.len();
        self.f.fixups.push(Fixup { ins, target, meet });
        match (negated, counted) {
            (false, true) => self.emit::<flow::Branch<false, true>>([row], 0),
            (true, true) => self.emit::<flow::Branch<true, true>>([row], 0),
            (false, false) => self.emit::<flow::Branch<false, false>>([row], 0),
            (true, false) => self.emit::<flow::Branch<true, false>>([row], 0),
        }
    }

    /// A fresh row of the frame.
    fn fresh(&mut self, wide: bool) -> Row {
        let row = Row::line(Bank::Frame, self.f.lines);
        self.f.lines += 1 + u32::from(wide);
        row
    }

    /// A fresh predicate of the frame.
    fn fresh_predicate(&mut self) -> Row {
        let (line, used) = match self.f.predicates {
            Some((line, used)) if used < Line::BYTES / 4 => (line, used),
            _ => {
                let line = self.f.lines;
                self.f.lines += 1;
                (line, 0)
            }
        };
        self.f.predicates = Some((line, used + 1));
        Row::new(Bank::Frame, line * Line::BYTES + used * 4)
    }
}

/// Marks entries of branch tables that are body indices still.
const UNRESOLVED: u32 = 1 << 31;
