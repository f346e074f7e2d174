//! Declarations of variables and parameters, and the headers of functions.

use std::sync::Arc;

use super::constant::{Constant, constant, integer_in};
use super::cursor::{Cursor, Result};
use super::lexer::{Kind, Token};
use crate::ast::{Space, Span, Type, Variable};

/// No variable may be larger: 1 TiB, more than any device has.
const MAX_BYTES: u64 = 1 << 40;
/// The parameters of one function may not be larger together: 1 MiB, more than any device takes.
pub(super) const MAX_PARAM_BYTES: u64 = 1 << 20;
/// No alignment may be larger: 1 MiB.
const MAX_ALIGN: u64 = 1 << 20;
/// Arrays have at most this many dimensions.
const MAX_DIMENSIONS: usize = 16;
/// Short rows inside initialisers may be filled up with zeros to this many bytes per module.
pub(super) const MAX_PADDING: u64 = 64 << 20;

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
struct Prefix {
    ty: Type,
    /// Bytes of one element, of all components if it is a vector.
    element: u64,
    /// Components of one element.
    components: u64,
    align: u64,
    /// `.ptr`.
    pointer: bool,
}

/// Parses `.align`, `.attribute`, `.ptr`, vector and type up to the first name.
fn prefix(cursor: &mut Cursor<'_>) -> Result<Prefix> {
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
fn attribute(cursor: &mut Cursor<'_>) -> Result<()> {
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
fn dimensions(cursor: &mut Cursor<'_>) -> Result<Vec<Option<u64>>> {
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
fn total(cursor: &Cursor<'_>, name: Token<'_>, element: u64, lengths: &[u64]) -> Result<u64> {
    lengths
        .iter()
        .try_fold(element, |size, &length| size.checked_mul(length).filter(|&size| size <= MAX_BYTES))
        .ok_or_else(|| cursor.error(name, format_args!("`{}` is larger than {MAX_BYTES} bytes", name.text)))
}

/// Parses the rest of a declaration after its state space, to the `;`, and hands each variable to `add`, with its name
/// as written. `padding` is what remains of [`MAX_PADDING`].
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
        let mut init = Vec::new();
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
            Initialiser { ty: prefix.ty, component, padding, bytes: &mut init }.value(cursor, &lengths)?;
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
            span: name.span,
        };
        add(name, variable);
        if !cursor.eat(",")? {
            break;
        }
    }
    if cursor.token().is(";") { cursor.advance().map(drop) } else { Err(cursor.expected("`,` or `;`")) }
}

/// Collects the bytes of an initial value.
struct Initialiser<'p> {
    ty: Type,
    /// Bytes of one component.
    component: u64,
    padding: &'p mut u64,
    bytes: &'p mut Vec<u8>,
}

impl Initialiser<'_> {
    /// Parses the value of an array with these `lengths`, the last of which counts the components of a vector. Braces
    /// nest as the lengths do, and what a row lacks is zero.
    fn value(&mut self, cursor: &mut Cursor<'_>, lengths: &[u64]) -> Result<()> {
        let Some((&length, inner)) = lengths.split_first() else {
            return self.scalar(cursor);
        };
        let open = cursor.token();
        cursor.expect("{")?;
        if cursor.eat("}")? {
            return Ok(());
        }
        let row = inner.iter().fold(self.component, |size, &length| size.saturating_mul(length));
        for _ in 0..length {
            let item = cursor.token();
            let end = (self.bytes.len() as u64).saturating_add(row);
            self.value(cursor, inner)?;
            self.pad(cursor, item, end)?;
            if !cursor.eat(",")? {
                return if cursor.eat("}")? { Ok(()) } else { Err(cursor.expected("`,` or `}`")) };
            }
        }
        Err(cursor.error(open, format_args!("more than {length} initial values")))
    }

    /// Fills up with zeros to `end` bytes.
    fn pad(&mut self, cursor: &Cursor<'_>, row: Token<'_>, end: u64) -> Result<()> {
        let missing = end.saturating_sub(self.bytes.len() as u64);
        *self.padding = self.padding.checked_sub(missing).ok_or_else(|| {
            cursor.error(row, format_args!("short rows of initial values need more than {MAX_PADDING} bytes of zeros"))
        })?;
        self.bytes.resize(self.bytes.len() + missing as usize, 0);
        Ok(())
    }

    /// Parses one number.
    fn scalar(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let token = cursor.token();
        if token.kind == Kind::Word {
            let message = format_args!("the initial value names `{}`; only numbers are supported", token.text);
            return Err(cursor.error(token, message));
        }
        let value = constant(cursor)?;
        let bits = match (self.ty, value) {
            (Type::F32 | Type::B32, Constant::F32(bits)) => u64::from(bits),
            (Type::F32, Constant::F64(bits)) => u64::from((f64::from_bits(bits) as f32).to_bits()),
            (Type::F64 | Type::B64, Constant::F64(bits)) => bits,
            (Type::F64, Constant::F32(bits)) => f64::from(f32::from_bits(bits)).to_bits(),
            (Type::F32 | Type::F64, Constant::Int { .. }) => {
                return Err(cursor.error(token, "the initial value must be a fraction such as `1.0` or `0f3F800000`"));
            }
            (_, Constant::Int { bits, .. }) => bits as u64,
            _ => return Err(cursor.error(token, "the initial value must be an integer")),
        };
        let wide = i128::from(bits as i64).to_le_bytes();
        self.bytes.extend_from_slice(&wide[..self.component as usize]);
        Ok(())
    }
}

/// A parameter or result of a function.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) variable: Variable,
    /// `.ptr`.
    pub(super) pointer: bool,
}

/// Parses `( .param …, .param … )`; the current token is the `(`.
fn parameters(cursor: &mut Cursor<'_>) -> Result<Vec<Parameter>> {
    cursor.expect("(")?;
    let mut list = Vec::new();
    let mut offset = 0u64;
    if cursor.eat(")")? {
        return Ok(list);
    }
    loop {
        match cursor.token() {
            Token { kind: Kind::Directive, text: ".param", .. } => cursor.advance()?,
            token @ Token { kind: Kind::Directive, text: ".reg", .. } => {
                return Err(cursor.error(token, "parameters in registers (`.reg`) are not supported"));
            }
            _ => return Err(cursor.expected("`.param`")),
        };
        let prefix = prefix(cursor)?;
        let name = cursor.name("the name of a parameter")?;
        let lengths: Vec<u64> = dimensions(cursor)?.into_iter().map(Option::unwrap_or_default).collect();
        let size = total(cursor, name, prefix.element, &lengths)?;
        offset = offset.next_multiple_of(prefix.align) + size;
        if offset > MAX_PARAM_BYTES {
            return Err(cursor.error(name, format_args!("the parameters take more than {MAX_PARAM_BYTES} bytes")));
        }
        list.push(Parameter {
            variable: Variable {
                name: name.text.into(),
                space: Space::Param,
                ty: prefix.ty,
                size,
                align: prefix.align,
                external: false,
                init: Vec::new(),
                span: name.span,
            },
            pointer: prefix.pointer,
        });
        if !cursor.eat(",")? {
            break;
        }
    }
    if cursor.token().is(")") {
        cursor.advance()?;
        Ok(list)
    } else {
        Err(cursor.expected("`,` or `)`"))
    }
}

/// All of a function but its body.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) name: Arc<str>,
    pub(super) is_entry: bool,
    pub(super) results: Vec<Parameter>,
    pub(super) params: Vec<Parameter>,
    pub(super) max_threads: Option<[u32; 3]>,
    pub(super) required_threads: Option<[u32; 3]>,
    /// Where the declaration starts.
    pub(super) span: Span,
    /// Where its name stands.
    pub(super) name_span: Span,
}

/// Parses a header that starts at `span`; the current token is `.entry` or `.func`. Ends at the `{` of the body or
/// the `;` of a declaration.
pub(super) fn header(cursor: &mut Cursor<'_>, span: Span) -> Result<Header> {
    let is_entry = cursor.advance()?.text == ".entry";
    loop {
        match cursor.token() {
            Token { kind: Kind::Directive, text: ".attribute", .. } => attribute(cursor)?,
            Token { kind: Kind::Directive, text: ".noreturn", .. } => drop(cursor.advance()?),
            _ => break,
        }
    }
    let results = if !is_entry && cursor.token().is("(") { parameters(cursor)? } else { Vec::new() };
    let name = cursor.name(if is_entry { "the name of an entry" } else { "the name of a function" })?;
    let params = if cursor.token().is("(") { parameters(cursor)? } else { Vec::new() };
    let mut header = Header {
        name: name.text.into(),
        is_entry,
        results,
        params,
        max_threads: None,
        required_threads: None,
        span,
        name_span: name.span,
    };
    loop {
        let token = cursor.token();
        if token.is("{") || token.is(";") {
            return Ok(header);
        }
        if token.kind != Kind::Directive {
            return Err(cursor.expected("`{`, `;` or a directive such as `.maxntid`"));
        }
        match token.text {
            ".maxntid" => header.max_threads = Some(threads(cursor)?),
            ".reqntid" => header.required_threads = Some(threads(cursor)?),
            ".pragma" => pragma(cursor)?,
            ".attribute" => attribute(cursor)?,
            // Bounds on registers, residency and clusters guide the compiler, not the meaning.
            ".maxnreg"
            | ".minnctapersm"
            | ".maxnctapersm"
            | ".noreturn"
            | ".explicitcluster"
            | ".reqnctapercluster"
            | ".maxclusterrank"
            | ".blocksareclusters"
            | ".abi_preserve"
            | ".abi_preserve_control" => {
                cursor.advance()?;
                while cursor.token().kind == Kind::Number {
                    cursor.advance()?;
                    cursor.eat(",")?;
                }
            }
            _ => return Err(cursor.expected("`{`, `;` or a directive such as `.maxntid`")),
        }
    }
}

/// The one to three numbers after `.maxntid` or `.reqntid`.
fn threads(cursor: &mut Cursor<'_>) -> Result<[u32; 3]> {
    cursor.advance()?;
    let mut threads = [1; 3];
    for (dimension, count) in threads.iter_mut().enumerate() {
        if dimension > 0 && !cursor.eat(",")? {
            break;
        }
        *count = integer_in(cursor, "a number of threads", 1, u64::from(u32::MAX))? as u32;
    }
    Ok(threads)
}

/// Skips `.pragma "…";`.
pub(super) fn pragma(cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.advance()?;
    loop {
        cursor.string()?;
        if !cursor.eat(",")? {
            return cursor.expect(";");
        }
    }
}
