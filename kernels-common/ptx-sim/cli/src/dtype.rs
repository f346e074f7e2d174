//! Types of elements, and single values of them.

use std::fmt;

use half::{bf16, f16};

use crate::number;

/// The type of the elements of a buffer, or of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Dtype {
    F16,
    Bf16,
    F32,
    F64,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Bool,
}

/// Why a text is no value of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum ValueError {
    #[error("`{text}` is no {dtype}: write {}", .dtype.form())]
    NotAValue { dtype: Dtype, text: String },
    #[error("{text} does not fit {dtype}, which ends at {lowest} and {highest}")]
    OutOfRange { dtype: Dtype, text: String, lowest: Literal, highest: Literal },
}

impl Dtype {
    /// All of them.
    pub const ALL: [Dtype; 13] = [
        Dtype::F16,
        Dtype::Bf16,
        Dtype::F32,
        Dtype::F64,
        Dtype::I8,
        Dtype::U8,
        Dtype::I16,
        Dtype::U16,
        Dtype::I32,
        Dtype::U32,
        Dtype::I64,
        Dtype::U64,
        Dtype::Bool,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
            Dtype::I8 => "i8",
            Dtype::U8 => "u8",
            Dtype::I16 => "i16",
            Dtype::U16 => "u16",
            Dtype::I32 => "i32",
            Dtype::U32 => "u32",
            Dtype::I64 => "i64",
            Dtype::U64 => "u64",
            Dtype::Bool => "bool",
        }
    }

    /// The type of this name.
    pub fn from_name(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Dtype::I8 | Dtype::U8 | Dtype::Bool => 1,
            Dtype::F16 | Dtype::Bf16 | Dtype::I16 | Dtype::U16 => 2,
            Dtype::F32 | Dtype::I32 | Dtype::U32 => 4,
            Dtype::F64 | Dtype::I64 | Dtype::U64 => 8,
        }
    }

    /// One of the floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64)
    }

    /// One of the integer types; `bool` is none.
    pub fn is_integer(self) -> bool {
        !self.is_float() && self != Dtype::Bool
    }

    fn is_signed(self) -> bool {
        matches!(self, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64)
    }

    /// What a value looks like, for messages.
    fn form(self) -> &'static str {
        match self {
            _ if self.is_float() => "a number such as 2.5, -1e-3, inf or nan",
            Dtype::Bool => "true or false",
            _ => "an integer such as 1000, 0xff or 2^20",
        }
    }

    /// The smallest and the largest finite value.
    fn range(self) -> (Literal, Literal) {
        let literal = |lowest: u64, highest: u64| (Literal::new(self, lowest), Literal::new(self, highest));
        let bits = 8 * self.size() as u32;
        match self {
            Dtype::F16 => literal(f16::MIN.to_bits().into(), f16::MAX.to_bits().into()),
            Dtype::Bf16 => literal(bf16::MIN.to_bits().into(), bf16::MAX.to_bits().into()),
            Dtype::F32 => literal(f32::MIN.to_bits().into(), f32::MAX.to_bits().into()),
            Dtype::F64 => literal(f64::MIN.to_bits(), f64::MAX.to_bits()),
            Dtype::Bool => literal(0, 1),
            _ if self.is_signed() => literal(1 << (bits - 1), (1 << (bits - 1)) - 1),
            _ => literal(0, u64::MAX),
        }
    }

    /// Reads a value. Floats are rounded to the nearest; `inf` and `nan` are values, `1e40` is none of `f32`.
    ///
    /// # Errors
    /// If the text is no value, or one that the type does not hold.
    pub fn parse(self, text: &str) -> Result<Literal, ValueError> {
        let not_a_value = || ValueError::NotAValue { dtype: self, text: text.to_owned() };
        let (lowest, highest) = self.range();
        let out_of_range = || ValueError::OutOfRange { dtype: self, text: text.to_owned(), lowest, highest };
        if self == Dtype::Bool {
            return match text {
                "true" | "1" => Ok(Literal::new(self, 1)),
                "false" | "0" => Ok(Literal::new(self, 0)),
                _ => Err(not_a_value()),
            };
        }
        if self.is_float() {
            let value: f64 = text.parse().map_err(|_| not_a_value())?;
            let literal = self.of_f64(value);
            // A text that says "infinity" has no digit; one that has is a number too large.
            let infinite = literal.to_f64().is_infinite();
            let asked = !text.contains(|digit: char| digit.is_ascii_digit());
            return if infinite && !asked { Err(out_of_range()) } else { Ok(literal) };
        }
        let value = number::integer(text).ok_or_else(not_a_value)?;
        self.of_integer(value).ok_or_else(out_of_range)
    }

    /// An integer as a value of this type, rounded for floats; `None` if the type does not hold it.
    pub(crate) fn of_integer(self, value: i128) -> Option<Literal> {
        if self.is_float() {
            return Some(self.of_f64(value as f64));
        }
        let bits = 8 * self.size() as u32;
        let (lowest, highest) = match self {
            Dtype::Bool => (0, 1),
            _ if self.is_signed() => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
            _ => (0, (1 << bits) - 1),
        };
        (lowest..=highest).contains(&value).then(|| Literal::new(self, value as u64))
    }

    /// The nearest value of a floating-point type.
    pub(crate) fn of_f64(self, value: f64) -> Literal {
        let bits = match self {
            Dtype::F16 => f16::from_f64(value).to_bits().into(),
            Dtype::Bf16 => bf16::from_f64(value).to_bits().into(),
            Dtype::F32 => (value as f32).to_bits().into(),
            _ => value.to_bits(),
        };
        Literal::new(self, bits)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value of a [`Dtype`]. It displays as text that reads back as the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    dtype: Dtype,
    /// Zero above the type's size.
    bits: u64,
}

impl Literal {
    /// The value with these bits; those above the type's size do not count.
    pub fn new(dtype: Dtype, bits: u64) -> Literal {
        Literal { dtype, bits: bits & (u64::MAX >> (64 - 8 * dtype.size())) }
    }

    /// The value in memory, little endian. There must be enough bytes; more do not count.
    pub(crate) fn from_bytes(dtype: Dtype, bytes: &[u8]) -> Literal {
        let mut all = [0; 8];
        all[..dtype.size()].copy_from_slice(&bytes[..dtype.size()]);
        Literal { dtype, bits: u64::from_le_bytes(all) }
    }

    /// Its type.
    pub fn dtype(self) -> Dtype {
        self.dtype
    }

    /// Its bits.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The value in memory.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        self.bits.to_le_bytes()[..self.dtype.size()].to_vec()
    }

    /// Appends the value to memory.
    pub(crate) fn append_to(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.bits.to_le_bytes()[..self.dtype.size()]);
    }

    /// The value of a floating-point type.
    pub(crate) fn to_f64(self) -> f64 {
        match self.dtype {
            Dtype::F16 => f16::from_bits(self.bits as u16).to_f64(),
            Dtype::Bf16 => bf16::from_bits(self.bits as u16).to_f64(),
            Dtype::F32 => f32::from_bits(self.bits as u32).into(),
            _ => f64::from_bits(self.bits),
        }
    }

    /// The value of an integer type.
    pub(crate) fn to_i128(self) -> i128 {
        let unused = 64 - 8 * self.dtype.size() as u32;
        if self.dtype.is_signed() { ((self.bits << unused).cast_signed() >> unused).into() } else { self.bits.into() }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The shortest digits that give the value back are those of its own type, and `Debug` has an exponent where it
        // is needed.
        match self.dtype {
            Dtype::F16 => write!(f, "{:?}", f16::from_bits(self.bits as u16)),
            Dtype::Bf16 => write!(f, "{:?}", bf16::from_bits(self.bits as u16)),
            Dtype::F32 => write!(f, "{:?}", f32::from_bits(self.bits as u32)),
            Dtype::F64 => write!(f, "{:?}", f64::from_bits(self.bits)),
            Dtype::Bool if self.bits == 0 => f.write_str("false"),
            Dtype::Bool => f.write_str("true"),
            _ => write!(f, "{}", self.to_i128()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_and_ranges_are_kept() {
        for (dtype, text, bits) in [
            (Dtype::F32, "2.5", 0x4020_0000),
            (Dtype::F32, "-0", 0x8000_0000),
            (Dtype::F32, "inf", 0x7f80_0000),
            (Dtype::F16, "65504", 0x7bff),
            (Dtype::Bf16, "1", 0x3f80),
            (Dtype::F64, "1e300", 0x7e37_e43c_8800_759c),
            (Dtype::I8, "-128", 0x80),
            (Dtype::I32, "-1", 0xffff_ffff),
            (Dtype::U64, "18446744073709551615", u64::MAX),
            (Dtype::I64, "-2^63", 1 << 63),
            (Dtype::Bool, "true", 1),
        ] {
            assert_eq!(dtype.parse(text), Ok(Literal::new(dtype, bits)), "{dtype}={text}");
        }
        for (dtype, text, says) in [
            (Dtype::F32, "1e40", "1e40 does not fit f32, which ends at -3.4028235e38 and 3.4028235e38"),
            (Dtype::F16, "65520", "ends at -65504.0 and 65504.0"),
            (Dtype::I8, "128", "128 does not fit i8, which ends at -128 and 127"),
            (Dtype::U32, "-1", "-1 does not fit u32, which ends at 0 and 4294967295"),
            (Dtype::U64, "2^64", "ends at 0 and 18446744073709551615"),
            (Dtype::I32, "2.5", "`2.5` is no i32: write an integer"),
            (Dtype::F32, "", "`` is no f32: write a number"),
            (Dtype::Bool, "yes", "`yes` is no bool: write true or false"),
        ] {
            let message = dtype.parse(text).unwrap_err().to_string();
            assert!(message.contains(says), "{message}");
        }
    }

    #[test]
    fn every_half_reads_back() {
        for bits in 0..=u16::MAX {
            for dtype in [Dtype::F16, Dtype::Bf16] {
                let literal = Literal::new(dtype, bits.into());
                let read = dtype.parse(&literal.to_string()).unwrap();
                assert!(read == literal || literal.to_f64().is_nan() && read.to_f64().is_nan(), "{dtype} {bits:#x}");
            }
        }
    }
}
