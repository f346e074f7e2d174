//! The names of one function: scopes that nest and shadow, registers that come to be when they are first used.
//!
//! `%r<1000>` declares a thousand registers and a kernel may use three of them. A register gets its index when an
//! instruction first names it, so what a function costs depends on its text and not on such numbers.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;

use crate::ast::{Operand, RegId, Register, Span, Type};

/// `%r<n>` may declare at most this many registers.
pub(super) const MAX_FAMILY: u32 = 1 << 24;
/// Scopes nest at most this deep.
pub(super) const MAX_SCOPES: usize = 256;
/// Decimal digits of the largest index in a family.
const MAX_DIGITS: usize = 8;

/// The components of vector registers, in the two spellings that PTX knows.
const COMPONENTS: [&str; 2] = ["xyzw", "rgba"];

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A register that no instruction has named yet. `width` is its number of components, 1 unless it is a vector.
    Unused { ty: Type, width: u8 },
    /// The first of `width` registers.
    Register { first: RegId, width: u8 },
    /// A variable, by its unique name.
    Variable(Arc<str>),
    /// An instruction index.
    Label(u32),
    /// A table of branch targets or a prototype, by its unique name.
    Table(Arc<str>),
}

/// The registers `%r0`, `%r1`, … of a declaration `%r<count>`.
#[derive(Clone, Copy, Debug)]
struct Family {
    count: u32,
    ty: Type,
    width: u8,
    span: Span,
}

/// A place where a label (or the name of something in the module) was used before it was known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending<'a> {
    pub(super) name: &'a str,
    pub(super) span: Span,
    pub(super) slot: Slot,
}

/// What a pending name is filled in to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Operand { instruction: usize, operand: usize },
    Target { table: usize, index: usize },
}

/// One braced scope.
#[derive(Debug, Default)]
struct Scope<'a> {
    names: HashMap<&'a str, (Meaning, Span)>,
    /// By what stands in front of the index.
    families: HashMap<&'a str, Family>,
    /// For names that end in digits and were declared one by one, and for the first name of each family: the least
    /// index with which a family of this prefix would contain one of them.
    taken: HashMap<&'a str, (u32, Span)>,
    pending: Vec<Pending<'a>>,
}

impl Scope<'_> {
    /// The family that contains `name`.
    fn family(&self, name: &str) -> Option<Family> {
        if self.families.is_empty() {
            return None;
        }
        splits(name)
            .find_map(|(prefix, index)| self.families.get(prefix).copied().filter(|family| index < family.count))
    }

    /// Where `name` was declared in this scope.
    fn declared(&self, name: &str) -> Option<Span> {
        self.names.get(name).map(|(_, span)| *span).or_else(|| self.family(name).map(|family| family.span))
    }
}

/// All ways to read `name` as a prefix and an index without leading zeros.
fn splits(name: &str) -> impl Iterator<Item = (&str, u32)> {
    let digits = name.bytes().rev().take(MAX_DIGITS).take_while(u8::is_ascii_digit).count();
    (1..=digits).filter_map(move |count| {
        let (prefix, index) = name.split_at(name.len() - count);
        (count == 1 || !index.starts_with('0')).then(|| index.parse().ok().map(|index| (prefix, index))).flatten()
    })
}

/// The names of one function.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    scopes: Vec<Scope<'a>>,
    /// The registers used so far.
    pub(super) registers: Vec<Register>,
    /// How often a variable or table of this name was declared.
    uses: HashMap<&'a str, u32>,
}

/// A name was declared before in the same scope, there.
pub(super) struct Duplicate(pub(super) Span);

impl<'a> Names<'a> {
    /// Opens a scope; false if there are too many.
    pub(super) fn open(&mut self) -> bool {
        let room = self.scopes.len() < MAX_SCOPES;
        if room {
            self.scopes.push(Scope::default());
        }
        room
    }

    /// Closes the innermost scope. Names that it does not resolve go to `unresolved` if it was the outermost one and
    /// otherwise to the scope around it; for the others `resolve` gets what they mean.
    pub(super) fn close(&mut self, mut resolve: impl FnMut(Pending<'a>, &Meaning), unresolved: &mut Vec<Pending<'a>>) {
        let Some(scope) = self.scopes.pop() else { return };
        let outer = self.scopes.last_mut().map_or(unresolved, |outer| &mut outer.pending);
        for pending in scope.pending {
            match scope.names.get(pending.name) {
                Some((meaning @ (Meaning::Label(_) | Meaning::Table(_)), _)) => resolve(pending, meaning),
                _ => outer.push(pending),
            }
        }
    }

    /// Number of open scopes.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Resolves `pending` later, when the scopes close.
    pub(super) fn postpone(&mut self, pending: Pending<'a>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.pending.push(pending);
        }
    }

    /// Declares one name in the innermost scope.
    pub(super) fn declare(&mut self, name: &'a str, span: Span, meaning: Meaning) -> Result<(), Duplicate> {
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        if let Some(first) = scope.declared(name) {
            return Err(Duplicate(first));
        }
        for (prefix, index) in splits(name) {
            take(&mut scope.taken, prefix, index, span);
        }
        scope.names.insert(name, (meaning, span));
        Ok(())
    }

    /// Declares the registers `prefix0`, `prefix1`, … in the innermost scope.
    pub(super) fn declare_family(
        &mut self,
        prefix: &'a str,
        span: Span,
        count: u32,
        ty: Type,
        width: u8,
    ) -> Result<(), Duplicate> {
        let Some(scope) = self.scopes.last_mut().filter(|_| count > 0) else { return Ok(()) };
        // An older family contains `prefix0` if the digits that end `prefix`, times ten, are an index of it.
        let older = splits(prefix).find_map(|(shorter, index)| {
            scope.families.get(shorter).filter(|family| index > 0 && u64::from(index) * 10 < u64::from(family.count))
        });
        let inside = scope.taken.get(prefix).filter(|(least, _)| *least < count);
        if let Some(first) = older.map(|family| family.span).or(inside.map(|(_, span)| *span)) {
            return Err(Duplicate(first));
        }
        take(&mut scope.taken, prefix, 0, span);
        for (shorter, index) in splits(prefix).filter(|(_, index)| *index > 0) {
            take(&mut scope.taken, shorter, index.saturating_mul(10), span);
        }
        scope.families.insert(prefix, Family { count, ty, width, span });
        Ok(())
    }

    /// What `name` stands for where registers and variables are concerned; a label, or something of the module, is
    /// `None`.
    pub(super) fn operand(&mut self, name: &'a str) -> Option<Operand> {
        if let Some(operand) = self.find(name) {
            return Some(operand);
        }
        // `%v.x` is a component of the vector register `%v`.
        let (vector, component) = name.split_once('.')?;
        let index = COMPONENTS.iter().find_map(|names| names.find(component))?;
        match self.find(vector)? {
            Operand::Vector(mut registers) if component.len() == 1 && index < registers.len() => {
                Some(registers.swap_remove(index))
            }
            _ => None,
        }
    }

    fn find(&mut self, name: &'a str) -> Option<Operand> {
        for scope in self.scopes.iter_mut().rev() {
            if !scope.names.contains_key(name) {
                let Some(Family { ty, width, span, .. }) = scope.family(name) else { continue };
                scope.names.insert(name, (Meaning::Unused { ty, width }, span));
            }
            let (meaning, _) = scope.names.get_mut(name)?;
            if let Meaning::Unused { ty, width } = *meaning {
                let first = RegId(self.registers.len() as u32);
                *meaning = Meaning::Register { first, width };
                add_registers(&mut self.registers, name, ty, width);
            }
            return match meaning {
                Meaning::Register { first, width: 1 } => Some(Operand::Reg(*first)),
                Meaning::Register { first, width } => {
                    Some(Operand::Vector((0..u32::from(*width)).map(|i| Operand::Reg(RegId(first.0 + i))).collect()))
                }
                Meaning::Variable(unique) => Some(Operand::Symbol(unique.clone())),
                Meaning::Unused { .. } | Meaning::Label(_) | Meaning::Table(_) => None,
            };
        }
        None
    }

    /// A name for a variable or table that nothing else in the function has: `name` itself if `free`, else with a
    /// suffix that no identifier can have.
    pub(super) fn unique(&mut self, name: &'a str, free: bool) -> Arc<str> {
        let uses = self.uses.entry(name).or_insert(u32::from(!free));
        *uses += 1;
        if *uses == 1 { name.into() } else { format!("{name}~{uses}").into() }
    }
}

fn take<'a>(taken: &mut HashMap<&'a str, (u32, Span)>, prefix: &'a str, index: u32, span: Span) {
    match taken.entry(prefix) {
        MapEntry::Occupied(mut entry) if entry.get().0 > index => drop(entry.insert((index, span))),
        MapEntry::Occupied(_) => {}
        MapEntry::Vacant(entry) => drop(entry.insert((index, span))),
    }
}

fn add_registers(registers: &mut Vec<Register>, name: &str, ty: Type, width: u8) {
    if width == 1 {
        registers.push(Register { name: name.into(), ty });
    } else {
        let components = COMPONENTS[0].chars().take(usize::from(width));
        registers.extend(components.map(|component| Register { name: format!("{name}.{component}").into(), ty }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(line: u32) -> Span {
        Span { line, column: 1 }
    }

    fn family<'a>(names: &mut Names<'a>, prefix: &'a str, line: u32, count: u32) -> Option<u32> {
        names.declare_family(prefix, span(line), count, Type::B32, 1).err().map(|Duplicate(first)| first.line)
    }

    fn single<'a>(names: &mut Names<'a>, name: &'a str, line: u32) -> Option<u32> {
        let meaning = Meaning::Unused { ty: Type::B32, width: 1 };
        names.declare(name, span(line), meaning).err().map(|Duplicate(first)| first.line)
    }

    #[test]
    fn members_of_families() {
        let mut names = Names::default();
        assert!(names.open());
        assert_eq!(family(&mut names, "%r", 1, 12), None);
        for name in ["%r0", "%r9", "%r11"] {
            assert!(matches!(names.operand(name), Some(Operand::Reg(_))), "{name}");
        }
        for name in ["%r", "%r12", "%r01", "%r99999999999999999999", "%q1", "%q1.x"] {
            assert_eq!(names.operand(name), None, "{name}");
        }
        assert_eq!(names.operand("%r11"), Some(Operand::Reg(RegId(2))));
        assert_eq!(names.registers.len(), 3);
    }

    #[test]
    fn overlaps() {
        let mut names = Names::default();
        assert!(names.open());
        assert_eq!(family(&mut names, "%r", 1, 20), None);
        assert_eq!(family(&mut names, "%r", 2, 1), Some(1));
        assert_eq!(family(&mut names, "%r1", 3, 2), Some(1), "%r10 is there");
        assert_eq!(family(&mut names, "%r2", 4, 2), None, "%r20, %r21 are new");
        assert_eq!(family(&mut names, "%r", 5, 0), None, "declares nothing");
        assert_eq!(single(&mut names, "%r19", 6), Some(1));
        assert_eq!(single(&mut names, "%r21", 7), Some(4));
        assert_eq!(single(&mut names, "%r22", 8), None);
        assert_eq!(single(&mut names, "%r22", 9), Some(8));
        assert_eq!(family(&mut names, "%s1", 10, 5), None);
        assert_eq!(family(&mut names, "%s", 11, 11), Some(10), "%s10 is in both");
        assert_eq!(family(&mut names, "%s", 12, 10), None);
        assert_eq!(single(&mut names, "%t7", 13), None);
        assert_eq!(family(&mut names, "%t", 14, 8), Some(13));
        assert_eq!(family(&mut names, "%t", 15, 7), None);
        assert_eq!(family(&mut names, "%u0", 16, 5), None);
        assert_eq!(family(&mut names, "%u", 17, 50), None, "%u00 is not %u0");
    }

    #[test]
    fn scopes_shadow() {
        let mut names = Names::default();
        assert!(names.open());
        assert_eq!(family(&mut names, "%r", 1, 4), None);
        assert_eq!(names.operand("%r1"), Some(Operand::Reg(RegId(0))));
        assert!(names.open());
        assert_eq!(names.operand("%r1"), Some(Operand::Reg(RegId(0))));
        assert_eq!(single(&mut names, "%r1", 2), None);
        assert_eq!(names.operand("%r1"), Some(Operand::Reg(RegId(1))));
        names.close(|_, _| {}, &mut Vec::new());
        assert_eq!(names.operand("%r1"), Some(Operand::Reg(RegId(0))));
    }

    #[test]
    fn vectors() {
        let mut names = Names::default();
        assert!(names.open());
        assert!(names.declare_family("%v", span(1), 2, Type::F32, 4).is_ok());
        assert_eq!(names.operand("%v1.z"), Some(Operand::Reg(RegId(2))));
        assert_eq!(names.operand("%v1.b"), Some(Operand::Reg(RegId(2))));
        assert_eq!(names.operand("%v1"), Some(Operand::Vector((0..4).map(|i| Operand::Reg(RegId(i))).collect())));
        assert_eq!(names.operand("%v1.xy"), None);
        assert_eq!(names.operand("%v2.x"), None);
        assert_eq!(&*names.registers[3].name, "%v1.w");
    }

    #[test]
    fn unique_names() {
        let mut names = Names::default();
        assert_eq!(&*names.unique("a", true), "a");
        assert_eq!(&*names.unique("a", true), "a~2");
        assert_eq!(&*names.unique("b", false), "b~2");
    }
}
