//! The first look at a place before a compare-and-swap.
//!
//! `old = *place; do { assumed = old; old = atomicCAS(place, assumed, f(assumed)); } while (assumed != old)` is how the
//! CUDA manual writes atomics that the hardware lacks. Its first load is a plain one, which by the letter of the memory
//! model races with the others' swaps. It does no harm: a value that is out of date makes the comparison fail.

use std::collections::HashSet;

use crate::ast::{Instruction, Operand, RegId};

/// The register and offset of an address.
fn address(operand: &Operand) -> Option<(RegId, i64)> {
    match operand {
        Operand::Address { base, offset } => match **base {
            Operand::Reg(register) => Some((register, *offset)),
            _ => None,
        },
        _ => None,
    }
}

/// The instructions of a function that load a single value which a compare-and-swap of the function compares with, or
/// from where one of them swaps. `definitions` counts the instructions that write each register.
pub(super) fn peeks(body: &[Instruction], definitions: &[u32]) -> HashSet<usize> {
    let swaps =
        body.iter().filter(|it| it.opcode.starts_with("atom.") && it.opcode.split('.').any(|part| part == "cas"));
    let (mut places, mut compared) = (HashSet::new(), HashSet::new());
    for swap in swaps {
        let [_, place, expected, _] = &swap.operands[..] else { continue };
        places.extend(address(place).filter(|(register, _)| definitions[register.0 as usize] == 1));
        if let Operand::Reg(register) = expected {
            compared.insert(*register);
        }
    }
    if places.is_empty() && compared.is_empty() {
        return HashSet::new();
    }
    // What is moved to a register that is compared is compared.
    loop {
        let before = compared.len();
        for instruction in body.iter().filter(|instruction| instruction.opcode.starts_with("mov.")) {
            if let [Operand::Reg(to), Operand::Reg(from)] = instruction.operands[..]
                && compared.contains(&to)
            {
                compared.insert(from);
            }
        }
        if compared.len() == before {
            break;
        }
    }
    let is_peek = |instruction: &Instruction| match &instruction.operands[..] {
        [Operand::Reg(to), from] if instruction.opcode.starts_with("ld.") => {
            compared.contains(to) || address(from).is_some_and(|place| places.contains(&place))
        }
        _ => false,
    };
    body.iter().enumerate().filter(|(_, instruction)| is_peek(instruction)).map(|(index, _)| index).collect()
}
