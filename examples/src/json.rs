//! Reports as JSON.

use std::fmt;

use kernels_common::Counters;
use kernels_common::element::Accumulator;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A number of a report.
///
/// JSON has no NaN and no infinities: they are written as the strings `"NaN"`, `"Infinity"` and `"-Infinity"`, which
/// most languages read back as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A float.
    Float(f64),
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
}

impl Number {
    /// A sum in its own type; an `f32` is written with all digits of its exact value.
    pub fn from_sum<S: Accumulator>(sum: S) -> Number {
        match S::NAME {
            _ if S::IS_FLOAT => Number::Float(sum.to_f64()),
            "i64" => Number::Signed(sum.bits().cast_signed()),
            _ => Number::Unsigned(sum.bits()),
        }
    }
}

/// With all digits.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Float(value) => write!(f, "{value}"),
            Number::Signed(value) => write!(f, "{value}"),
            Number::Unsigned(value) => write!(f, "{value}"),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Number::Float(value) if value.is_nan() => serializer.serialize_str("NaN"),
            Number::Float(f64::INFINITY) => serializer.serialize_str("Infinity"),
            Number::Float(f64::NEG_INFINITY) => serializer.serialize_str("-Infinity"),
            Number::Float(value) => serializer.serialize_f64(value),
            Number::Signed(value) => serializer.serialize_i64(value),
            Number::Unsigned(value) => serializer.serialize_u64(value),
        }
    }
}

/// An `f64` as [`Number`] writes it.
///
/// # Errors
/// Those of the serializer.
pub fn float<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Number::Float(*value).serialize(serializer)
}

/// The bits of a sum as hexadecimal digits, such as `0x3f800000`.
pub fn hex<S: Accumulator>(sum: S) -> String {
    format!("0x{:0width$x}", sum.bits(), width = 2 * size_of::<S>())
}

/// The counters of the simulator as an object, each under its name.
///
/// # Errors
/// Those of the serializer.
pub fn counters<S: Serializer>(counters: &Option<Counters>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(counters) = counters else {
        return serializer.serialize_none();
    };
    let mut map = serializer.serialize_map(None)?;
    for (name, count) in counters.iter() {
        map.serialize_entry(name, &count)?;
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(number: Number) -> String {
        serde_json::to_string(&number).unwrap()
    }

    #[test]
    fn numbers() {
        assert_eq!(json(Number::from_sum(0.1f32)), "0.10000000149011612");
        assert_eq!(json(Number::from_sum(i64::MIN)), "-9223372036854775808");
        assert_eq!(json(Number::from_sum(u64::MAX)), "18446744073709551615");
        assert_eq!(json(Number::Float(f64::NAN)), "\"NaN\"");
        assert_eq!(json(Number::Float(f64::INFINITY)), "\"Infinity\"");
        assert_eq!(json(Number::Float(f64::NEG_INFINITY)), "\"-Infinity\"");
    }

    #[test]
    fn bits() {
        assert_eq!(hex(1.0f32), "0x3f800000");
        assert_eq!(hex(-0.0f64), "0x8000000000000000");
        assert_eq!(hex(0i64), "0x0000000000000000");
    }
}
