//! Declarations of variables.

use super::constant::integer_in;
use super::cursor::{Cursor, Result};
use super::initial::initial_value;
use super::lexer::{Kind, Token};
use crate::ast::{Space, Type, Variable};

/// No variable may be larger: 1 TiB, more than any device has.
const MAX_BYTES: u64 = 1 << 40;
/// No alignment may be larger: 1 MiB.
const MAX_ALIGN: u64 = 1 << 20;
/// Arrays have at most this many dimensions.
const MAX_DIMENSIONS: usize = 16;

/// The type that a directive such as `.f32` names.
pub(super) fn type_named(directive: &str) -> Option<Type> {
    Some(match directive {
        ".b8" => Type::B8,
        ".b16" => Type::B16,
        ".b32" => Type::B32,
        ".b64" => Type::B64,
        ".b128" => Type::B128,
        ".u8" => Type::U8,
        ".u16" => Type::U16,
        ".u32" => Type::U32,
        ".u64" => Type::U64,
        ".s8" => Type::S8,
        ".s16" => Type::S16,
        ".s32" => Type::S32,
        ".s64" => Type::S64,
        ".f16" => Type::F16,
        ".f16x2" => Type::F16x2,
        ".bf16" => Type::BF16,
        ".bf16x2" => Type::BF16x2,
        ".f32" => Type::F32,
        ".f64" => Type::F64,
        ".pred" => Type::Pred,
        _ => return None,
    })
}

/// The state space that a directive such as `.shared` names.
pub(super) fn space_named(directive: &str) -> Option<Space> {
    Some(match directive {
        ".param" => Space::Param,
        ".global" => Space::Global,
        ".shared" => Space::Shared,
        ".local" => Space::Local,
        ".const" => Space::Const,
        _ => return None,
    })
}

/// Bytes of one element of type `ty`; `None` for predicates, which memory cannot hold.
fn bytes(ty: Type) -> Option<u64> {
    Some(match ty {
        Type::B8 | Type::U8 | Type::S8 => 1,
        Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::BF16 => 2,
        Type::B32 | Type::U32 | Type::S32 | Type::F16x2 | Type::BF16x2 | Type::F32 => 4,
        Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
        Type::B128 => 16,
        Type::Pred => return None,
    })
}

/// What stands between the state space and the names of a declaration.
pub(super) struct Prefix {
    pub(super) ty: Type,
    /// Bytes of one element, of all components if it is a vector.
    pub(super) element: u64,
    /// Components of one element.
    pub(super) components: u64,
    pub(super) align: u64,
    /// `.ptr`.
    pub(super) pointer: bool,
}

/// Parses `.align`, `.attribute`, `.ptr`, vector and type up to the first name.
pub(super) fn prefix(cursor: &mut Cursor<'_>) -> Result<Prefix> {
    let mut align = None;
    let mut components = 1;
    let mut ty = None;
    let mut pointer = false;
    loop {
        let token = cursor.token();
        if token.kind != Kind::Directive {
            let Some((ty, size)) = ty else { return Err(cursor.expected("a type such as `.u32`")) };
            let element = size * components;
            return Ok(Prefix { ty, element, components, align: align.unwrap_or(element), pointer });
        }
        match token.text {
            ".align" => {
                cursor.advance()?;
                let alignment = alignment(cursor)?;
                // After `.ptr` it is the alignment of what the pointer points to.
                if !pointer {
                    align = Some(alignment);
                }
            }
            ".attribute" => attribute(cursor)?,
            ".v2" | ".v4" => {
                cursor.advance()?;
                components = u64::from(token.text.as_bytes()[2] - b'0');
            }
            ".ptr" => {
                cursor.advance()?;
                pointer = true;
            }
            // The state space that the pointer points into.
            ".global" | ".shared" | ".local" | ".const" if pointer => drop(cursor.advance()?),
            // Handles of textures and the like are opaque; the driver passes them as 64 bits.
            ".texref" | ".samplerref" | ".surfref" => {
                cursor.advance()?;
                ty = Some((Type::B64, 8));
            }
            name => {
                let Some(named) = type_named(name) else {
                    return Err(cursor.expected("a type such as `.u32`"));
                };
                let Some(size) = bytes(named) else {
                    return Err(cursor.error(token, "a variable in memory cannot have type `.pred`"));
                };
                cursor.advance()?;
                ty = Some((named, size));
            }
        }
    }
}

fn alignment(cursor: &mut Cursor<'_>) -> Result<u64> {
    let token = cursor.token();
    let align = integer_in(cursor, "an alignment", 1, MAX_ALIGN)?;
    if align.is_power_of_two() {
        Ok(align)
    } else {
        Err(cursor.error(token, format_args!("an alignment must be a power of two, not {align}")))
    }
}

/// Skips `.attribute(…)`, whose attributes change nothing here.
pub(super) fn attribute(cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.advance()?;
    cursor.expect("(")?;
    let mut depth = 1u32;
    while depth > 0 {
        let token = cursor.token();
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ if token.kind == Kind::End => return Err(cursor.expected("`)`")),
            _ => {}
        }
        cursor.advance()?;
    }
    Ok(())
}

/// The dimensions after a name; `None` stands for `[]`, which only the first may be.
pub(super) fn dimensions(cursor: &mut Cursor<'_>) -> Result<Vec<Option<u64>>> {
    let mut dimensions = Vec::new();
    while cursor.token().is("[") {
        let open = cursor.advance()?;
        if dimensions.len() == MAX_DIMENSIONS {
            return Err(cursor.error(open, format_args!("more than {MAX_DIMENSIONS} dimensions")));
        }
        if cursor.token().is("]") && dimensions.is_empty() {
            dimensions.push(None);
        } else {
            dimensions.push(Some(integer_in(cursor, "the length of an array", 1, MAX_BYTES)?));
        }
        cursor.expect("]")?;
    }
    Ok(dimensions)
}

/// `element` bytes times all `lengths`.
pub(super) fn total(cursor: &Cursor<'_>, name: Token<'_>, element: u64, lengths: &[u64]) -> Result<u64> {
    lengths
        .iter()
        .try_fold(element, |size, &length| size.checked_mul(length).filter(|&size| size <= MAX_BYTES))
        .ok_or_else(|| cursor.error(name, format_args!("`{}` is larger than {MAX_BYTES} bytes", name.text)))
}

/// Parses the rest of a declaration after its state space, to the `;`, and hands each variable to `add`, with its name
/// as written. `padding` is what remains of
/// [`MAX_PADDING`](super::initial::MAX_PADDING).
pub(super) fn variables<'a>(
    cursor: &mut Cursor<'a>,
    space: Space,
    external: bool,
    padding: &mut u64,
    mut add: impl FnMut(Token<'a>, Variable),
) -> Result<()> {
    let prefix = prefix(cursor)?;
    loop {
        let name = cursor.name("the name of a variable")?;
        let dimensions = dimensions(cursor)?;
        let inner: Vec<u64> = dimensions.iter().skip(1).copied().flatten().collect();
        let row = total(cursor, name, prefix.element, &inner)?;
        let (mut init, mut addresses) = (Vec::new(), Vec::new());
        if cursor.token().is("=") {
            if matches!(space, Space::Shared | Space::Local | Space::Param) {
                return Err(
                    cursor.error(cursor.token(), "only `.global` and `.const` variables can have an initial value")
                );
            }
            cursor.advance()?;
            let mut lengths: Vec<u64> = dimensions.iter().map(|length| length.unwrap_or(MAX_BYTES)).collect();
            if prefix.components > 1 {
                lengths.push(prefix.components);
            }
            let component = prefix.element / prefix.components;
            (init, addresses) = initial_value(cursor, prefix.ty, component, &lengths, padding)?;
        }
        let size = match dimensions.first() {
            None => prefix.element,
            Some(Some(length)) => total(cursor, name, row, &[*length])?,
            Some(None) if !init.is_empty() => (init.len() as u64).div_ceil(row.max(1)) * row,
            Some(None) if external => 0,
            Some(None) => {
                let message =
                    format_args!("`{}` needs a length: it is not `.extern` and has no initial value", name.text);
                return Err(cursor.error(name, message));
            }
        };
        let variable = Variable {
            name: name.text.into(),
            space,
            ty: prefix.ty,
            size,
            align: prefix.align,
            external,
            init,
            addresses,
            span: name.span,
        };
        add(name, variable);
        if !cursor.eat(",")? {
            break;
        }
    }
    if cursor.token().is(";") { cursor.advance().map(drop) } else { Err(cursor.expected("`,` or `;`")) }
}
