//! Whether the blocks of a kernel can run on several host threads.
//!
//! They can if what they do to each other's memory comes to the same whichever is first. A look at the code tells what
//! may make a difference: then the blocks run on one thread, as they do by default.

use crate::ast::{Function, Instruction, Operand};

/// Whether the order of blocks cannot show in what these functions compute, but through what the results of integer
/// atomics are used for, and through races.
pub(crate) fn blocks_are_independent<'a>(mut functions: impl Iterator<Item = &'a Function>) -> bool {
    functions.all(|function| function.body.iter().all(is_independent))
}

fn is_independent(instruction: &Instruction) -> bool {
    let mut parts = instruction.opcode.split('.');
    let kind = parts.next().unwrap_or_default();
    let modifiers: Vec<&str> = parts.collect();
    let any = |names: &[&str]| modifiers.iter().any(|modifier| names.contains(modifier));
    // Shared memory is the block's own.
    let own = any(&["shared"]);
    let may_wait_or_differ = match kind {
        // Sums of floating-point numbers depend on their order; the others are how locks are taken, and how sums are
        // made that the hardware has no atomic for.
        "atom" | "red" => !own && any(&["f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "b128", "cas", "exch"]),
        // Perhaps a look at what another block is to write.
        "ld" => !own && any(&["volatile", "relaxed", "acquire", "mmio"]),
        // Waiting, and copies that the machine does not make word by word.
        "nanosleep" | "cp" => true,
        _ => false,
    };
    !may_wait_or_differ && !instruction.operands.iter().any(tells_time)
}

fn tells_time(operand: &Operand) -> bool {
    matches!(operand, Operand::Special(name) if name.starts_with("%clock") || name.starts_with("%globaltimer"))
}

#[cfg(test)]
mod tests {
    use crate::ptx::Module;

    fn independent(body: &str) -> bool {
        let text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>;\n\
             .reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n{body}\nret;\n}}\n"
        );
        let module = Module::parse("k", &text).unwrap_or_else(|error| panic!("{error}"));
        let function = module.function("k").unwrap();
        super::blocks_are_independent(std::iter::once(&**function))
    }

    #[test]
    fn what_may_depend_on_the_order_of_blocks() {
        for body in [
            "ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1], %r1;",
            "red.global.add.u32 [%rd1], 1;\natom.global.add.u64 %rd2, [%rd1], 1;\nmembar.gl;",
            "atom.shared.add.f32 %f1, [%r1], %f2;\natom.shared.cas.b32 %r2, [%r1], 0, 1;",
            "ld.volatile.shared.u32 %r2, [%r1];\nst.volatile.global.u32 [%rd1], %r2;",
        ] {
            assert!(independent(body), "{body}");
        }
        for body in [
            "red.global.add.f32 [%rd1], %f1;",
            "atom.add.f32 %f1, [%rd1], %f2;",
            "atom.global.cas.b32 %r2, [%rd1], 0, 1;",
            "atom.acquire.gpu.global.exch.b32 %r2, [%rd1], 1;",
            "ld.volatile.global.u32 %r1, [%rd1];",
            "ld.acquire.gpu.u32 %r1, [%rd1];",
            "mov.u32 %r1, %clock;",
            "mov.u64 %rd1, %globaltimer;",
            "nanosleep.u32 100;",
        ] {
            assert!(!independent(body), "{body}");
        }
    }
}
