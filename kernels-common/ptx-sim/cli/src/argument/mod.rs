//! What one argument on the command line says: a value, or a buffer.
//!
//! ```text
//! argument = value | buffer
//! value    = field { "," field }                     several fields are a structure
//! field    = TYPE "=" VALUE | TYPE "=len:" NAME | "bytes=" HEX | "@" NAME [ "+" ELEMENTS ] | "null"
//! buffer   = ( FILE ".npy" | fill ) { "," ( "out=" FILE ".npy" | "name=" NAME ) }
//! fill     = ( "zeros" | "ones" | "iota" | "uninit" ) ":" TYPE ":" SHAPE
//!          | "full:" TYPE ":" SHAPE ":" VALUE | "random:" TYPE ":" SHAPE [ ":" SEED ]
//! SHAPE    = COUNT { "x" COUNT }
//! ```
//!
//! [`Argument`] reads such a text ([`FromStr`](std::str::FromStr)) and displays as one.

mod error;
mod parse;

use std::fmt;

pub use error::ArgumentError;
pub(crate) use parse::buffer_name;

use crate::dtype::{Dtype, Literal};

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The bytes of a value: a scalar, or the fields of a structure.
    Value(Vec<Field>),
    /// The address of a buffer of its own.
    Buffer(Buffer),
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// A number or truth value.
    Literal(Literal),
    /// The number of elements of a buffer, as an integer of this type.
    Length(Dtype, String),
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// The address of an element of a buffer that another argument brings.
    Address {
        /// The buffer's name.
        name: String,
        /// Which element.
        element: u64,
    },
    /// The null pointer.
    Null,
}

/// Device memory with something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What is in it at first.
    pub source: Source,
    /// A name that was given.
    pub name: Option<String>,
    /// The file that it is written to in the end.
    pub out: Option<String>,
}

/// Where the elements of a buffer come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A NumPy file.
    File(String),
    /// Made on the spot.
    Made {
        /// With what.
        fill: Fill,
        /// The type of the elements.
        dtype: Dtype,
        /// The dimensions, at least one.
        shape: Vec<u64>,
    },
}

/// What a new buffer is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Zeros.
    Zeros,
    /// Ones.
    Ones,
    /// One value, of the buffer's type.
    Full(Literal),
    /// 0, 1, 2 …, modulo the range of an integer type.
    Iota,
    /// Random elements by this seed, or by one that depends on the argument's place.
    Random(Option<u64>),
    /// Nothing: reading it is a fault.
    Uninit,
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Buffer(buffer) => buffer.fmt(f),
            Argument::Value(fields) => fields.iter().enumerate().try_for_each(|(place, field)| {
                if place > 0 {
                    f.write_str(",")?;
                }
                field.fmt(f)
            }),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Literal(literal) => write!(f, "{}={literal}", literal.dtype()),
            Field::Length(dtype, name) => write!(f, "{dtype}=len:{name}"),
            Field::Bytes(bytes) => {
                f.write_str("bytes=")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Field::Address { name, element: 0 } => write!(f, "@{name}"),
            Field::Address { name, element } => write!(f, "@{name}+{element}"),
            Field::Null => f.write_str("null"),
        }
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)?;
        if let Some(name) = &self.name {
            write!(f, ",name={name}")?;
        }
        if let Some(out) = &self.out {
            write!(f, ",out={out}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fill, dtype, shape) = match self {
            Source::File(path) => return f.write_str(path),
            Source::Made { fill, dtype, shape } => (fill, dtype, shape),
        };
        write!(f, "{}:{dtype}:", fill.keyword())?;
        for (axis, count) in shape.iter().enumerate() {
            write!(f, "{}{count}", if axis > 0 { "x" } else { "" })?;
        }
        match fill {
            Fill::Full(value) => write!(f, ":{value}"),
            Fill::Random(Some(seed)) => write!(f, ":{seed}"),
            _ => Ok(()),
        }
    }
}

impl Fill {
    /// The words of the grammar.
    const KEYWORDS: [&str; 6] = ["zeros", "ones", "full", "iota", "random", "uninit"];

    fn keyword(self) -> &'static str {
        let [zeros, ones, full, iota, random, uninit] = Fill::KEYWORDS;
        match self {
            Fill::Zeros => zeros,
            Fill::Ones => ones,
            Fill::Full(_) => full,
            Fill::Iota => iota,
            Fill::Random(_) => random,
            Fill::Uninit => uninit,
        }
    }
}

/// Whether the first word after the PTX file names a kernel: it is not formed like an argument.
pub(crate) fn names_a_kernel(text: &str) -> bool {
    let source = text.split(',').next().unwrap_or_default();
    let single_colon = text.replace("::", "").contains(':');
    !(text.contains('=') || single_colon || parse::is_file(source) || text.starts_with('@') || text == "null")
}

#[cfg(test)]
mod tests {
    use super::names_a_kernel;

    #[test]
    fn kernels_and_arguments_are_told_apart() {
        for name in ["saxpy", "_Z5saxpyfPKfPfi", "ns::f", "sum<float, 256>", "(anonymous namespace)::f", "a$b"] {
            assert!(names_a_kernel(name), "{name}");
        }
        for argument in ["f32=1", "f33=1", "zeros:f32:4", "zero:f32:4", "x.npy", "x.npy,out=y.npy", "null", "@x"] {
            assert!(!names_a_kernel(argument), "{argument}");
        }
    }
}
