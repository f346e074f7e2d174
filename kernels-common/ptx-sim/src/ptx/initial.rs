//! Initial values of variables.

use super::constant::{Constant, constant, integer};
use super::cursor::{Cursor, Result};
use super::lexer::{Kind, Token};
use crate::ast::{InitialAddress, Type};

/// Short rows inside initial values may be filled up with zeros to this many bytes per module.
pub(super) const MAX_PADDING: u64 = 64 << 20;

/// Parses the initial value of an array with these `lengths`, the last of which counts the components of a vector and
/// which are empty for a single number. `component` is the size of one number in bytes; `padding` is what remains of
/// [`MAX_PADDING`]. Returns the bytes from the first to the last number given, and the addresses among them.
pub(super) fn initial_value(
    cursor: &mut Cursor<'_>,
    ty: Type,
    component: u64,
    lengths: &[u64],
    padding: &mut u64,
) -> Result<(Vec<u8>, Vec<InitialAddress>)> {
    let mut initialiser = Initialiser { ty, component, padding, bytes: Vec::new(), addresses: Vec::new() };
    initialiser.value(cursor, lengths)?;
    Ok((initialiser.bytes, initialiser.addresses))
}

/// Collects the bytes of an initial value.
struct Initialiser<'p> {
    ty: Type,
    /// Bytes of one component.
    component: u64,
    padding: &'p mut u64,
    bytes: Vec<u8>,
    addresses: Vec<InitialAddress>,
}

impl Initialiser<'_> {
    /// Braces nest as the lengths do, and so the recursion is as deep as there are lengths. What a row lacks is zero.
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

    /// Parses an address: `x` or `generic(x)`, with a number of bytes added or not. The spaces `.global` and `.const`
    /// are parts of the generic one here, so both are the same.
    fn address(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let mut name = cursor.advance()?;
        if self.component != 8 || !matches!(self.ty, Type::B64 | Type::U64 | Type::S64) {
            let message =
                format_args!("the initial value names `{}`; an address needs an integer of 64 bits", name.text);
            return Err(cursor.error(name, message));
        }
        if name.text == "generic" && cursor.eat("(")? {
            name = cursor.name("the name of a variable")?;
            cursor.expect(")")?;
        }
        let addend = if cursor.eat("+")? || cursor.token().is("-") { integer(cursor)? } else { 0 };
        let offset = self.bytes.len() as u64;
        self.addresses.push(InitialAddress { offset, symbol: name.text.into(), addend, span: name.span });
        self.bytes.extend_from_slice(&[0; 8]);
        Ok(())
    }

    /// Parses one number or address.
    fn scalar(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let token = cursor.token();
        if token.kind == Kind::Word && token.text != "WARP_SZ" {
            return self.address(cursor);
        }
        let bits = match (self.ty, constant(cursor)?) {
            (Type::F32 | Type::B32, Constant::F32(bits)) => i128::from(bits),
            (Type::F32, Constant::F64(bits)) => i128::from((f64::from_bits(bits) as f32).to_bits()),
            (Type::F64 | Type::B64, Constant::F64(bits)) => i128::from(bits),
            (Type::F64, Constant::F32(bits)) => i128::from(f64::from(f32::from_bits(bits)).to_bits()),
            (Type::F32 | Type::F64, Constant::Int { .. }) => {
                return Err(cursor.error(token, "the initial value must be a fraction such as `1.0` or `0f3F800000`"));
            }
            (_, Constant::Int { bits, unsigned: false }) => i128::from(bits),
            (_, Constant::Int { bits, unsigned: true }) => i128::from(bits as u64),
            _ => return Err(cursor.error(token, "the initial value must be an integer")),
        };
        self.bytes.extend_from_slice(&bits.to_le_bytes()[..self.component as usize]);
        Ok(())
    }
}
