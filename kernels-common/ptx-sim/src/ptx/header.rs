//! Functions up to their bodies: parameters, results and performance directives.

use std::sync::Arc;

use super::constant::integer_in;
use super::cursor::{Cursor, Result};
use super::declaration::{attribute, dimensions, prefix, total};
use super::lexer::{Kind, Token};
use crate::ast::{Space, Span, Variable};

/// The parameters of one function may not be larger together: 1 MiB, more than any device takes.
const MAX_PARAM_BYTES: u64 = 1 << 20;

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
                addresses: Vec::new(),
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
    pub(super) required_cluster: Option<[u32; 3]>,
    /// Where the declaration starts.
    pub(super) span: Span,
    /// Where its name stands.
    pub(super) name_span: Span,
}

/// Parses the rest of a prototype, whose label is at `span`: a header like that of a function, with `_` as its name.
pub(super) fn prototype(cursor: &mut Cursor<'_>, span: Span) -> Result<Header> {
    rest(cursor, span, false)
}

/// Parses a header that starts at `span`; the current token is `.entry` or `.func`. Ends at the `{` of the body or
/// the `;` of a declaration.
pub(super) fn header(cursor: &mut Cursor<'_>, span: Span) -> Result<Header> {
    let is_entry = cursor.advance()?.text == ".entry";
    rest(cursor, span, is_entry)
}

/// A header after its first word.
fn rest(cursor: &mut Cursor<'_>, span: Span, is_entry: bool) -> Result<Header> {
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
        required_cluster: None,
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
            ".maxntid" => header.max_threads = Some(extent(cursor, "a number of threads")?),
            ".reqntid" => header.required_threads = Some(extent(cursor, "a number of threads")?),
            ".reqnctapercluster" => header.required_cluster = Some(extent(cursor, "a number of blocks")?),
            ".pragma" => pragma(cursor)?,
            ".attribute" => attribute(cursor)?,
            // Bounds on registers, residency and clusters guide the compiler, not the meaning.
            ".maxnreg"
            | ".minnctapersm"
            | ".maxnctapersm"
            | ".noreturn"
            | ".explicitcluster"
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

/// The one to three numbers after `.maxntid` and its like.
fn extent(cursor: &mut Cursor<'_>, what: &str) -> Result<[u32; 3]> {
    cursor.advance()?;
    let mut threads = [1; 3];
    for (dimension, count) in threads.iter_mut().enumerate() {
        if dimension > 0 && !cursor.eat(",")? {
            break;
        }
        *count = integer_in(cursor, what, 1, u64::from(u32::MAX))? as u32;
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
