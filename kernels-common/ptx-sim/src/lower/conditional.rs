//! Loads whose value only some of the lanes want.
//!
//! `if (t == 0) most = max(most, best[0]);` has no branch once it is compiled: where it is known that the address is a
//! good one, all lanes load, and a `selp` drops the value for those that the condition leaves out. By the text of the
//! kernel these read nothing, so that they have no part in a race.

use std::cell::Cell;
use std::collections::HashMap;

use crate::ast::{Instruction, Operand, RegId};

/// Instructions behind a load among which all uses of its value are looked for.
const WINDOW: usize = 64;

/// Registers between a load and the `selp`, at most.
const MAX_STEPS: u32 = 8;

/// How deep conjunctions of predicates are taken apart.
const MAX_CONJUNCTIONS: u32 = 3;

/// Registers looked at for one load, at most: values that many others depend on are given up.
const MAX_REGISTERS: u32 = 100;

/// Operations without any effect but their result, which is the first operand.
const PURE: [&str; 20] = [
    "abs", "add", "and", "cvt", "div", "fma", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "rem", "setp",
    "shl", "shr", "sub", "xor",
];

/// The unguarded loads of a single value that only lanes with a predicate set make use of, with that predicate.
/// `definitions` and `uses` count the instructions that write each register, and its appearances as a source.
pub(super) fn conditional_loads(
    body: &[Instruction],
    definitions: &[u32],
    uses: &[u32],
    is_target: impl Fn(usize) -> bool,
) -> HashMap<usize, RegId> {
    if !body.iter().any(|instruction| instruction.opcode.starts_with("selp")) {
        return HashMap::new();
    }
    let mut defined = HashMap::new();
    for (index, instruction) in body.iter().enumerate() {
        if let (Some(&Operand::Reg(to)), None) = (instruction.operands.first(), instruction.guard)
            && definitions[to.0 as usize] == 1
        {
            defined.entry(to).or_insert(index);
        }
    }
    let mut loads = HashMap::new();
    for (index, instruction) in body.iter().enumerate() {
        let is_load = ["ld.shared.", "ld.global.", "ld.u", "ld.s", "ld.f", "ld.b"];
        if instruction.guard.is_some() || !is_load.iter().any(|start| instruction.opcode.starts_with(start)) {
            continue;
        }
        let Some(&Operand::Reg(value)) = instruction.operands.first() else { continue };
        if !defined.contains_key(&value) {
            continue;
        }
        let mut end = index + 1;
        while end < body.len() && end <= index + WINDOW && !is_target(end) && !ends_block(&body[end]) {
            end += 1;
        }
        let left = Cell::new(MAX_REGISTERS);
        let search = Search { body: &body[..end], definitions, uses, defined: &defined, left };
        let known = |predicate: &RegId| defined.get(predicate).is_some_and(|&at| at < index);
        if let Some(predicate) = search.conditions(value, index, MAX_STEPS).into_iter().find(known) {
            loads.insert(index, predicate);
        }
    }
    loads
}

fn name(instruction: &Instruction) -> &str {
    instruction.opcode.split('.').next().unwrap_or("")
}

fn ends_block(instruction: &Instruction) -> bool {
    matches!(name(instruction), "bra" | "brx" | "ret" | "exit" | "trap" | "call")
}

/// How often an operand reads a register.
fn reads(operand: &Operand, register: RegId) -> u32 {
    match operand {
        Operand::Reg(other) => u32::from(*other == register),
        Operand::Vector(list) | Operand::List(list) => list.iter().map(|operand| reads(operand, register)).sum(),
        Operand::Pair(a, b) => reads(a, register) + reads(b, register),
        Operand::Not(inner) => reads(inner, register),
        Operand::Address { base, .. } => reads(base, register),
        _ => 0,
    }
}

/// The search for what happens to a value, up to the end of a block.
struct Search<'a> {
    body: &'a [Instruction],
    definitions: &'a [u32],
    uses: &'a [u32],
    /// Where registers are written that only one instruction writes.
    defined: &'a HashMap<RegId, usize>,
    /// Registers that may still be looked at.
    left: Cell<u32>,
}

impl Search<'_> {
    /// Predicates that are all set in every lane that makes use of `register`, which the instruction `from` writes.
    fn conditions(&self, register: RegId, from: usize, steps: u32) -> Vec<RegId> {
        if steps == 0 || self.left.get() == 0 {
            return Vec::new();
        }
        self.left.set(self.left.get() - 1);
        let (mut found, mut all): (u32, Option<Vec<RegId>>) = (0, None);
        for (index, instruction) in self.body.iter().enumerate().skip(from + 1) {
            // The first operand of what is not pure is looked at too; it may be an address.
            let written = usize::from(PURE.contains(&name(instruction)) || name(instruction) == "selp");
            let times = instruction.operands.iter().skip(written).map(|operand| reads(operand, register)).sum::<u32>();
            if times == 0 {
                continue;
            }
            found += times;
            let here = self.conditions_of_use(index, register, steps);
            let both = match all {
                Some(before) => before.into_iter().filter(|predicate| here.contains(predicate)).collect(),
                None => here,
            };
            if both.is_empty() {
                return both;
            }
            all = Some(both);
        }
        if found == self.uses[register.0 as usize] { all.unwrap_or_default() } else { Vec::new() }
    }

    fn conditions_of_use(&self, index: usize, register: RegId, steps: u32) -> Vec<RegId> {
        let instruction = &self.body[index];
        if instruction.guard.is_some() {
            return Vec::new();
        }
        let result = |to: RegId| {
            if self.definitions[to.0 as usize] == 1 { self.conditions(to, index, steps - 1) } else { Vec::new() }
        };
        match (name(instruction), &instruction.operands[..]) {
            ("selp", [_, Operand::Reg(a), b, Operand::Reg(condition)])
                if *a == register && *condition != register && reads(b, register) == 0 =>
            {
                self.implied(*condition, MAX_CONJUNCTIONS)
            }
            ("and", [Operand::Reg(to), Operand::Reg(a), Operand::Reg(b)]) if instruction.opcode.ends_with(".pred") => {
                let other = if *a == register { *b } else { *a };
                let mut conditions = result(*to);
                if other != register {
                    conditions.extend(self.implied(other, MAX_CONJUNCTIONS));
                }
                conditions
            }
            (name, [Operand::Reg(to), ..]) if PURE.contains(&name) => result(*to),
            _ => Vec::new(),
        }
    }

    /// `predicate`, and those that are set whenever it is.
    fn implied(&self, predicate: RegId, depth: u32) -> Vec<RegId> {
        let mut all = vec![predicate];
        if depth > 0
            && let Some(&index) = self.defined.get(&predicate)
            && let Some(instruction) = self.body.get(index)
            && &*instruction.opcode == "and.pred"
        {
            for operand in &instruction.operands[1..] {
                if let Operand::Reg(other) = operand {
                    all.extend(self.implied(*other, depth - 1));
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::Module;

    /// The conditional loads of a body in the registers `%p0`-`%p9` and `%r0`-`%r9`: the destination's index and the
    /// predicate's.
    fn found(body: &str) -> Vec<(u32, u32)> {
        let text = format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<10>;\n\
             .reg .b32 %r<10>;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse("test", &text).unwrap();
        let function = module.function("k").unwrap();
        let registers = function.registers.len();
        let (mut definitions, mut uses) = (vec![0; registers], vec![0; registers]);
        for instruction in &function.body {
            if let Some(guard) = instruction.guard {
                uses[guard.predicate.0 as usize] += 1;
            }
            let written = usize::from(!matches!(name(instruction), "st" | "bra" | "ret"));
            for register in (0..registers as u32).map(RegId) {
                let count = |operands: &[Operand]| operands.iter().map(|operand| reads(operand, register)).sum::<u32>();
                let split = written.min(instruction.operands.len());
                definitions[register.0 as usize] += count(&instruction.operands[..split]);
                uses[register.0 as usize] += count(&instruction.operands[split..]);
            }
        }
        let is_target = |index| function.labels.iter().any(|&(_, at)| at as usize == index);
        let number = |register: RegId| {
            let name = &function.registers[register.0 as usize].name;
            name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
        };
        let mut found: Vec<(u32, u32)> = conditional_loads(&function.body, &definitions, &uses, is_target)
            .into_iter()
            .map(|(index, predicate)| match function.body[index].operands[0] {
                Operand::Reg(value) => (number(value), number(predicate)),
                _ => unreachable!("only loads of a single register are found"),
            })
            .collect();
        found.sort_unstable();
        found
    }

    const FIRST: &str = "mov.u32 %r0, %tid.x;\nsetp.eq.u32 %p0, %r0, 0;\nmov.u32 %r1, 0;\n";

    #[test]
    fn a_value_that_a_selection_drops() {
        let simple = "ld.shared.u32 %r2, [8];\nselp.b32 %r1, %r2, %r1, %p0;";
        assert_eq!(found(&format!("{FIRST}{simple}")), [(2, 0)]);
        let through = "ld.global.u32 %r2, [8];\nmax.u32 %r3, %r2, %r1;\nselp.b32 %r1, %r3, %r1, %p0;";
        assert_eq!(found(&format!("{FIRST}{through}")), [(2, 0)]);
        // The condition depends on the value, too.
        let both = "ld.shared.u32 %r2, [8];\nsetp.lt.s32 %p1, %r1, %r2;\nand.pred %p2, %p0, %p1;\n\
                    selp.b32 %r1, %r2, %r1, %p2;";
        assert_eq!(found(&format!("{FIRST}{both}")), [(2, 0)]);
    }

    #[test]
    fn values_that_all_lanes_want() {
        for body in [
            // The other side of the selection, or both.
            "ld.shared.u32 %r2, [8];\nselp.b32 %r1, %r1, %r2, %p0;",
            "ld.shared.u32 %r2, [8];\nselp.b32 %r1, %r2, %r2, %p0;",
            // Another use: in the block, behind it, as an address, in a condition that no other narrows.
            "ld.shared.u32 %r2, [8];\nselp.b32 %r1, %r2, %r1, %p0;\nadd.u32 %r3, %r3, %r2;",
            "ld.shared.u32 %r2, [8];\nselp.b32 %r1, %r2, %r1, %p0;\nL:\nst.shared.u32 [4], %r2;",
            "ld.shared.u32 %r2, [8];\nselp.b32 %r1, %r2, %r1, %p0;\nst.shared.u32 [%r2], %r1;",
            "ld.shared.u32 %r2, [8];\nsetp.lt.s32 %p1, %r1, %r2;\nselp.b32 %r1, %r2, %r1, %p1;",
            // A condition that is made behind the load, and one that is made twice.
            "ld.shared.u32 %r2, [8];\nsetp.lt.s32 %p1, %r1, %r0;\nselp.b32 %r1, %r2, %r1, %p1;",
            "setp.ne.u32 %p0, %r0, 1;\nld.shared.u32 %r2, [8];\nselp.b32 %r1, %r2, %r1, %p0;",
            // Nobody.
            "ld.shared.u32 %r2, [8];\nselp.b32 %r1, %r3, %r1, %p0;",
        ] {
            assert_eq!(found(&format!("{FIRST}{body}")), [], "{body}");
        }
    }
}
