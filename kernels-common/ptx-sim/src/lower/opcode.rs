//! Opcodes taken apart.

use super::{Refusal, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::memory::Space;

/// An opcode such as `ld.global.v4.f32`: its name, its types, and the modifiers that nobody has asked for yet.
pub(crate) struct Opcode<'a> {
    pub(crate) name: &'a str,
    pub(crate) types: Vec<Type>,
    modifiers: Vec<&'a str>,
}

impl<'a> Opcode<'a> {
    pub(crate) fn new(text: &'a str) -> Opcode<'a> {
        let mut parts = text.split('.');
        let name = parts.next().unwrap_or("");
        let (mut types, mut modifiers) = (Vec::new(), Vec::new());
        for part in parts {
            match types::parse(part) {
                Some(ty) => types.push(ty),
                None => modifiers.push(part),
            }
        }
        Opcode { name, types, modifiers }
    }

    /// Whether the modifier is there; it counts as understood.
    pub(crate) fn take(&mut self, modifier: &str) -> bool {
        match self.modifiers.iter().position(|&part| part == modifier) {
            Some(index) => {
                self.modifiers.remove(index);
                true
            }
            None => false,
        }
    }

    /// The first of these modifiers that is there; it counts as understood.
    pub(crate) fn take_any<'c>(&mut self, choices: &[&'c str]) -> Option<&'c str> {
        choices.iter().copied().find(|choice| self.take(choice))
    }

    /// The first state space named that nobody has asked for yet; it counts as understood. Shared memory of the cluster
    /// is that of the block, since clusters have one block.
    pub(crate) fn take_space(&mut self) -> Space {
        let named = |part: &str| {
            Some(match part {
                "global" => Space::Global,
                "const" => Space::Constant,
                "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
                "local" => Space::Local,
                "param" | "param::entry" | "param::func" => Space::Param,
                _ => return None,
            })
        };
        let found = self.modifiers.iter().enumerate().find_map(|(index, part)| Some((index, named(part)?)));
        match found {
            Some((index, space)) => {
                self.modifiers.remove(index);
                space
            }
            None => Space::Generic,
        }
    }

    /// The operands without the cache policy, which is the last one if the opcode says that there is one.
    pub(crate) fn without_cache_policy<'o>(&mut self, operands: &'o [Operand]) -> &'o [Operand] {
        match operands {
            [others @ .., _] if self.take("L2::cache_hint") => others,
            _ => operands,
        }
    }

    /// Whether the modifier is there.
    pub(crate) fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Drops modifiers that change nothing here, such as cache hints.
    pub(crate) fn ignore(&mut self, unimportant: impl Fn(&str) -> bool) {
        self.modifiers.retain(|part| !unimportant(part));
    }

    /// The last type: that of the operation.
    pub(crate) fn ty(&self) -> Result<Type> {
        self.types.last().copied().ok_or_else(|| Refusal::from("the opcode names no type"))
    }

    /// Refuses the opcode if modifiers are left that nobody has asked for.
    pub(crate) fn finish(&self) -> Result<()> {
        match self.modifiers.first() {
            None => Ok(()),
            Some(modifier) => Err(format!("the modifier `.{modifier}` is not supported here").into()),
        }
    }
}
