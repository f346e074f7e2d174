//! Literals and constant expressions.
//!
//! The operators and their precedence are those of C, without `?:`. Integers have 64 bits; they are signed unless
//! written with the suffix `U` or too large for that, and an operation on an unsigned one is unsigned.

use super::cursor::{Cursor, Result};
use super::lexer::{Kind, Token};

/// Parentheses and signs nest at most this deep.
const MAX_DEPTH: u32 = 64;

/// The value of a literal or constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    /// The 64 bits of an integer.
    Int { bits: i64, unsigned: bool },
    /// `0f…`, as bits.
    F32(u32),
    /// `0d…` or a decimal fraction, as bits.
    F64(u64),
}

impl Constant {
    fn signed(bits: i64) -> Constant {
        Constant::Int { bits, unsigned: false }
    }
}

/// Parses a constant expression.
pub(super) fn constant(cursor: &mut Cursor<'_>) -> Result<Constant> {
    binary(cursor, 1, 0)
}

/// Parses an integer constant expression.
pub(super) fn integer(cursor: &mut Cursor<'_>) -> Result<i64> {
    let token = cursor.token();
    match constant(cursor)? {
        Constant::Int { bits, .. } => Ok(bits),
        _ => Err(cursor.error(token, format_args!("expected an integer, found the fraction `{}`", token.text))),
    }
}

/// Parses an integer constant expression whose value lies in `least..=most`; `what` names it in errors.
pub(super) fn integer_in(cursor: &mut Cursor<'_>, what: &str, least: u64, most: u64) -> Result<u64> {
    let token = cursor.token();
    let value = constant(cursor)?;
    in_range(cursor, token, value, what, least, most)
}

/// Like [`integer_in`] for an expression in angle brackets, where `>` is not an operator.
pub(super) fn count_in(cursor: &mut Cursor<'_>, what: &str, least: u64, most: u64) -> Result<u64> {
    let token = cursor.token();
    let value = binary(cursor, SUM, 0)?;
    in_range(cursor, token, value, what, least, most)
}

fn in_range(cursor: &Cursor<'_>, token: Token<'_>, value: Constant, what: &str, least: u64, most: u64) -> Result<u64> {
    let Constant::Int { bits, unsigned } = value else {
        return Err(cursor.error(token, format_args!("{what} must be an integer")));
    };
    let negative = bits < 0 && !unsigned;
    if negative || !(least..=most).contains(&(bits as u64)) {
        let value = if negative { bits.to_string() } else { (bits as u64).to_string() };
        return Err(cursor.error(token, format_args!("{what} must be from {least} to {most}, not {value}")));
    }
    Ok(bits as u64)
}

/// How tightly `+` and `-` bind.
const SUM: u8 = 9;

/// How tightly a binary operator binds; 0 for anything else.
fn precedence(token: Token<'_>) -> u8 {
    if token.kind != Kind::Punctuation {
        return 0;
    }
    match token.text {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | "<=" | ">" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => SUM,
        "*" | "/" | "%" => 10,
        _ => 0,
    }
}

/// An expression of operators that bind at least as tightly as `least`, by precedence climbing.
fn binary(cursor: &mut Cursor<'_>, least: u8, depth: u32) -> Result<Constant> {
    let mut left = unary(cursor, depth)?;
    loop {
        let operator = cursor.token();
        let binds = precedence(operator);
        if binds < least || binds == 0 {
            return Ok(left);
        }
        cursor.advance()?;
        let right = binary(cursor, binds + 1, depth + 1)?;
        left = apply(left, operator.text, right).map_err(|message| cursor.error(operator, message))?;
    }
}

fn unary(cursor: &mut Cursor<'_>, depth: u32) -> Result<Constant> {
    let token = cursor.token();
    if depth > MAX_DEPTH {
        return Err(cursor.error(token, format_args!("constant expression nested more than {MAX_DEPTH} deep")));
    }
    match (token.kind, token.text) {
        (Kind::Number, text) => {
            cursor.advance()?;
            literal(text).map_err(|message| cursor.error(token, message))
        }
        (Kind::Word, "WARP_SZ") => {
            cursor.advance()?;
            Ok(Constant::signed(32))
        }
        (Kind::Punctuation, "(") => {
            cursor.advance()?;
            let value = binary(cursor, 1, depth + 1)?;
            cursor.expect(")")?;
            Ok(value)
        }
        (Kind::Punctuation, sign @ ("-" | "+" | "~" | "!")) => {
            cursor.advance()?;
            let value = unary(cursor, depth + 1)?;
            match (sign, value) {
                ("+", value) => Ok(value),
                ("-", Constant::Int { bits, unsigned }) => Ok(Constant::Int { bits: bits.wrapping_neg(), unsigned }),
                ("-", Constant::F32(bits)) => Ok(Constant::F32(bits ^ 1 << 31)),
                ("-", Constant::F64(bits)) => Ok(Constant::F64(bits ^ 1 << 63)),
                ("~", Constant::Int { bits, unsigned }) => Ok(Constant::Int { bits: !bits, unsigned }),
                ("!", Constant::Int { bits, .. }) => Ok(Constant::signed(i64::from(bits == 0))),
                _ => Err(cursor.error(token, format_args!("`{sign}` needs an integer"))),
            }
        }
        _ => Err(cursor.expected("a constant")),
    }
}

fn apply(left: Constant, operator: &str, right: Constant) -> std::result::Result<Constant, String> {
    let (Constant::Int { bits: a, unsigned: a_unsigned }, Constant::Int { bits: b, unsigned: b_unsigned }) =
        (left, right)
    else {
        return Err(format!("`{operator}` needs integers"));
    };
    let shift = matches!(operator, "<<" | ">>");
    let unsigned = a_unsigned || b_unsigned && !shift;
    let (ua, ub) = (a as u64, b as u64);
    let amount = ub.min(64) as u32;
    let less = if unsigned { ua < ub } else { a < b };
    let truth = |value: bool| Ok(Constant::signed(i64::from(value)));
    let bits = match operator {
        "||" => return truth(a != 0 || b != 0),
        "&&" => return truth(a != 0 && b != 0),
        "==" => return truth(a == b),
        "!=" => return truth(a != b),
        "<" => return truth(less),
        ">=" => return truth(!less),
        "<=" => return truth(less || a == b),
        ">" => return truth(!less && a != b),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "<<" => a.checked_shl(amount).unwrap_or(0),
        ">>" if unsigned => ua.checked_shr(amount).unwrap_or(0) as i64,
        ">>" => a >> amount.min(63),
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" | "%" if b == 0 => return Err("division by zero".to_owned()),
        "/" if unsigned => (ua / ub) as i64,
        "/" => a.wrapping_div(b),
        "%" if unsigned => (ua % ub) as i64,
        "%" => a.wrapping_rem(b),
        _ => return Err(format!("`{operator}` is not an operator of constants")),
    };
    Ok(Constant::Int { bits, unsigned })
}

/// The value of a literal token.
fn literal(text: &str) -> std::result::Result<Constant, String> {
    let bytes = text.as_bytes();
    match (bytes[0], bytes.get(1)) {
        (b'0', Some(b'f' | b'F')) => exact_hex(text, 8, "0f").map(|bits| Constant::F32(bits as u32)),
        (b'0', Some(b'd' | b'D')) => exact_hex(text, 16, "0d").map(Constant::F64),
        (b'0', Some(b'x' | b'X')) => int(text, 2, 16),
        (b'0', Some(b'b' | b'B')) => int(text, 2, 2),
        _ if bytes.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => match text.parse::<f64>() {
            Ok(value) => Ok(Constant::F64(value.to_bits())),
            Err(_) => Err(format!("`{text}` is not a number")),
        },
        (b'0', Some(b'0'..=b'9')) => int(text, 1, 8),
        _ => int(text, 0, 10),
    }
}

/// An integer whose digits start at byte `from`.
fn int(text: &str, from: usize, radix: u32) -> std::result::Result<Constant, String> {
    let digits = &text[from..];
    let (digits, suffix) = match digits.strip_suffix('U') {
        Some(digits) => (digits, true),
        None => (digits, false),
    };
    let mut bits = 0u64;
    if digits.is_empty() {
        return Err(format!("`{text}` has no digits"));
    }
    for digit in digits.chars() {
        let value =
            digit.to_digit(radix).ok_or_else(|| format!("`{digit}` is not a digit of a number to base {radix}"))?;
        bits = bits
            .checked_mul(u64::from(radix))
            .and_then(|bits| bits.checked_add(u64::from(value)))
            .ok_or_else(|| format!("`{text}` does not fit in 64 bits"))?;
    }
    Ok(Constant::Int { bits: bits as i64, unsigned: suffix || bits > i64::MAX as u64 })
}

/// The bits of a floating-point literal, which has exactly `count` hexadecimal digits.
fn exact_hex(text: &str, count: usize, prefix: &str) -> std::result::Result<u64, String> {
    let digits = &text[2..];
    if digits.len() != count || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("`{text}` is not `{prefix}` and {count} hexadecimal digits"));
    }
    u64::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is not a number"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn evaluate(text: &str) -> std::result::Result<Constant, String> {
        let module: Arc<str> = "t".into();
        let mut cursor = Cursor::new(&module, text).map_err(|error| error.to_string())?;
        let value = constant(&mut cursor).map_err(|error| error.to_string())?;
        cursor.expect(";").map_err(|error| error.to_string())?;
        Ok(value)
    }

    #[test]
    fn integers() {
        for (text, value) in [
            ("0", 0),
            ("42", 42),
            ("0x1F", 31),
            ("0X1fU", 31),
            ("0b101", 5),
            ("017", 15),
            ("9223372036854775807", i64::MAX),
            ("0xFFFFFFFFFFFFFFFF", -1),
            ("-9223372036854775808", i64::MIN),
            ("1+2*3", 7),
            ("(1+2)*3", 9),
            ("10-4-3", 3),
            ("1<<4|1", 17),
            ("-1>>1", -1),
            ("0xFFFFFFFFFFFFFFFF>>60", 15),
            ("-1>>70", -1),
            ("1<<64", 0),
            ("-7/2", -3),
            ("-7% 4", -3),
            ("~0&0xff", 255),
            ("!3+!0", 1),
            ("2*WARP_SZ", 64),
            ("-1<1", 1),
            ("-1<1U", 0),
            ("2>=2&&1!=2||0", 1),
            ("(-9223372036854775807-1)/-1", i64::MIN),
        ] {
            match evaluate(&format!("{text};")) {
                Ok(Constant::Int { bits, .. }) => assert_eq!(bits, value, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn fractions() {
        for (text, value) in [
            ("0f3F800000", Constant::F32(0x3f80_0000)),
            ("-0F3F800000", Constant::F32(0xbf80_0000)),
            ("0d3FF0000000000000", Constant::F64(0x3ff0_0000_0000_0000)),
            ("-1.5e1", Constant::F64((-15.0f64).to_bits())),
            ("1.", Constant::F64(1.0f64.to_bits())),
        ] {
            assert_eq!(evaluate(&format!("{text};")), Ok(value), "{text}");
        }
    }

    #[test]
    fn refused() {
        for (text, message) in [
            ("18446744073709551616", "t:1:1: `18446744073709551616` does not fit in 64 bits"),
            ("0xU", "t:1:1: `0xU` has no digits"),
            ("08", "t:1:1: `8` is not a digit of a number to base 8"),
            ("12x", "t:1:1: `x` is not a digit of a number to base 10"),
            ("0f3F80000", "t:1:1: `0f3F80000` is not `0f` and 8 hexadecimal digits"),
            ("0d3FF", "t:1:1: `0d3FF` is not `0d` and 16 hexadecimal digits"),
            ("1+", "t:1:3: expected a constant, found `;`"),
            ("1/0", "t:1:2: division by zero"),
            ("~1.5", "t:1:1: `~` needs an integer"),
            ("1.5+1", "t:1:4: `+` needs integers"),
            ("(1", "t:1:3: expected `)`, found `;`"),
        ] {
            assert_eq!(evaluate(&format!("{text};")), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_stack_overflow() {
        for text in ["(", "-", "1*(", "1|1^1&("] {
            let error = evaluate(&text.repeat(100_000)).unwrap_err();
            assert!(error.ends_with("constant expression nested more than 64 deep"), "{error}");
        }
    }
}
