//! From texts to arguments.

use std::str::FromStr;

use super::{Argument, ArgumentError, Buffer, Field, Fill, Source};
use crate::dtype::Dtype;
use crate::number;

/// Whether a source names a file.
pub(super) fn is_file(text: &str) -> bool {
    text.len() > ".npy".len() && text.ends_with(".npy") && !text.contains('=')
}

impl FromStr for Argument {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Argument, ArgumentError> {
        let source = text.split(',').next().unwrap_or_default();
        if is_file(source) || fill_keyword(source).is_some() {
            return text.parse().map(Argument::Buffer);
        }
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Argument::Value)
    }
}

/// The word that `zeros:…` begins with, or all of it.
fn fill_keyword(source: &str) -> Option<&'static str> {
    let word = source.split(':').next().unwrap_or_default();
    Fill::KEYWORDS.into_iter().find(|&keyword| keyword == word)
}

impl FromStr for Field {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Field, ArgumentError> {
        if text.is_empty() {
            return Err(ArgumentError::Empty);
        }
        if text == "null" {
            return Ok(Field::Null);
        }
        if let Some(place) = text.strip_prefix('@') {
            return address(place);
        }
        let own = || text.to_owned();
        if is_file(text) || fill_keyword(text).is_some() {
            return Err(ArgumentError::BufferInValue { text: own() });
        }
        match text.split_once('=') {
            Some(("bytes", digits)) => bytes(digits).map(Field::Bytes),
            Some(("name" | "out", _)) => Err(ArgumentError::ModifierOfValue { text: own() }),
            Some((name, value)) => {
                let dtype = dtype(name)?;
                match value.strip_prefix("len:") {
                    None => Ok(Field::Literal(dtype.parse(value)?)),
                    Some(name) if dtype.is_integer() => Ok(Field::Length(dtype, buffer_name(name)?)),
                    Some(name) => Err(ArgumentError::LengthType { dtype, name: name.to_owned() }),
                }
            }
            None if text.parse::<f64>().is_ok() || number::integer(text).is_some() => {
                Err(ArgumentError::Untyped(own()))
            }
            None => match text.split_once(':') {
                Some((word, _)) => Err(ArgumentError::UnknownFill(word.to_owned())),
                None => Err(ArgumentError::Unrecognised(own())),
            },
        }
    }
}

fn dtype(name: &str) -> Result<Dtype, ArgumentError> {
    Dtype::from_name(name).ok_or_else(|| ArgumentError::UnknownType(name.to_owned()))
}

/// Reads the name of a buffer.
///
/// # Errors
/// [`ArgumentError::BadName`].
pub(crate) fn buffer_name(text: &str) -> Result<String, ArgumentError> {
    let first = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if first && text.chars().all(|each| each.is_ascii_alphanumeric() || each == '_') {
        Ok(text.to_owned())
    } else {
        Err(ArgumentError::BadName { text: text.to_owned() })
    }
}

fn address(place: &str) -> Result<Field, ArgumentError> {
    let (name, element) = match place.split_once('+') {
        None => (place, 0),
        Some((name, element)) => {
            let bad = || ArgumentError::BadElement { text: element.to_owned() };
            (name, unsigned(element).ok_or_else(bad)?)
        }
    };
    Ok(Field::Address { name: buffer_name(name)?, element })
}

fn bytes(digits: &str) -> Result<Vec<u8>, ArgumentError> {
    let bad = || ArgumentError::BadBytes { text: digits.to_owned() };
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(bad());
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| bad())).collect()
}

fn unsigned(text: &str) -> Option<u64> {
    u64::try_from(number::integer(text)?).ok()
}

impl FromStr for Buffer {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Buffer, ArgumentError> {
        let mut parts = text.split(',');
        let source = parts.next().unwrap_or_default().parse()?;
        let (mut name, mut out) = (None, None);
        for part in parts {
            let (key, place, value) = match part.split_once('=') {
                Some(("name", value)) => ("name", &mut name, buffer_name(value)?),
                Some(("out", value)) if is_file(value) => ("out", &mut out, value.to_owned()),
                Some(("out", value)) => return Err(ArgumentError::BadOutput { text: value.to_owned() }),
                _ => return Err(ArgumentError::UnknownModifier { text: part.to_owned() }),
            };
            if place.replace(value).is_some() {
                return Err(ArgumentError::Twice { key });
            }
        }
        Ok(Buffer { source, name, out })
    }
}

impl FromStr for Source {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Source, ArgumentError> {
        if is_file(text) {
            return Ok(Source::File(text.to_owned()));
        }
        let Some(keyword) = fill_keyword(text) else {
            return Err(match text.split_once(':') {
                Some((word, _)) => ArgumentError::UnknownFill(word.to_owned()),
                None if text.is_empty() => ArgumentError::Empty,
                None => ArgumentError::Unrecognised(text.to_owned()),
            });
        };
        let example = match keyword {
            "full" => "full:f32:1000:2.5",
            "random" => "random:f32:1000 or random:f32:1000:SEED",
            "zeros" => "zeros:f32:1000",
            "ones" => "ones:f32:1000",
            "iota" => "iota:i32:1000",
            _ => "uninit:f32:1000",
        };
        let mut parts = text.splitn(4, ':').skip(1);
        let mut next = |missing| parts.next().ok_or(ArgumentError::Incomplete { keyword, missing, example });
        let dtype = dtype(next("type")?)?;
        let shape = shape(next("number of elements")?, dtype)?;
        let fill = match keyword {
            "full" => Fill::Full(dtype.parse(next("value")?)?),
            "random" => Fill::Random(parts.next().map(seed).transpose()?),
            "zeros" => Fill::Zeros,
            "ones" => Fill::Ones,
            "iota" => Fill::Iota,
            _ => Fill::Uninit,
        };
        if let Some(rest) = parts.next() {
            return Err(ArgumentError::Surplus { keyword, rest: rest.to_owned(), example });
        }
        Ok(Source::Made { fill, dtype, shape })
    }
}

fn shape(text: &str, dtype: Dtype) -> Result<Vec<u64>, ArgumentError> {
    let shape: Vec<u64> = text
        .split('x')
        .map(|count| unsigned(count).ok_or_else(|| ArgumentError::BadShape { text: text.to_owned() }))
        .collect::<Result<_, _>>()?;
    match shape.iter().try_fold(dtype.size() as u64, |bytes, &count| bytes.checked_mul(count)) {
        Some(_) => Ok(shape),
        None => Err(ArgumentError::TooLarge { text: text.to_owned() }),
    }
}

fn seed(text: &str) -> Result<u64, ArgumentError> {
    unsigned(text).ok_or_else(|| ArgumentError::BadSeed { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(fill: Fill, dtype: Dtype, shape: &[u64]) -> Buffer {
        Buffer { source: Source::Made { fill, dtype, shape: shape.to_vec() }, name: None, out: None }
    }

    #[test]
    fn every_form() {
        let literal = |dtype: Dtype, text: &str| Field::Literal(dtype.parse(text).unwrap());
        for (text, fields) in [
            ("f32=2.5", vec![literal(Dtype::F32, "2.5")]),
            ("i32=-1", vec![literal(Dtype::I32, "-1")]),
            ("u64=len:x", vec![Field::Length(Dtype::U64, "x".into())]),
            ("bytes=00ffA0", vec![Field::Bytes(vec![0, 255, 160])]),
            ("null", vec![Field::Null]),
            ("@x", vec![Field::Address { name: "x".into(), element: 0 }]),
            ("@_x1+0x10", vec![Field::Address { name: "_x1".into(), element: 16 }]),
            (
                "f32=1,@x,null",
                vec![literal(Dtype::F32, "1"), Field::Address { name: "x".into(), element: 0 }, Field::Null],
            ),
        ] {
            assert_eq!(text.parse(), Ok(Argument::Value(fields)), "{text}");
        }
        for (text, buffer) in [
            ("zeros:f32:1000", made(Fill::Zeros, Dtype::F32, &[1000])),
            ("ones:u8:0", made(Fill::Ones, Dtype::U8, &[0])),
            ("full:f64:2x3:-1e3", made(Fill::Full(Dtype::F64.parse("-1000").unwrap()), Dtype::F64, &[2, 3])),
            ("iota:i32:2^4", made(Fill::Iota, Dtype::I32, &[16])),
            ("random:f16:8", made(Fill::Random(None), Dtype::F16, &[8])),
            ("random:f16:8:7", made(Fill::Random(Some(7)), Dtype::F16, &[8])),
            ("uninit:bool:1_000", made(Fill::Uninit, Dtype::Bool, &[1000])),
            (
                "uninit:bool:1,name=a,out=b.npy",
                Buffer { name: Some("a".into()), out: Some("b.npy".into()), ..made(Fill::Uninit, Dtype::Bool, &[1]) },
            ),
            (
                "data/x-1.npy,out=y.npy",
                Buffer { source: Source::File("data/x-1.npy".into()), name: None, out: Some("y.npy".into()) },
            ),
        ] {
            assert_eq!(text.parse(), Ok(Argument::Buffer(buffer)), "{text}");
        }
    }

    #[test]
    fn every_mistake_is_named_with_its_remedy() {
        for (text, says) in [
            ("", "it is empty: write TYPE=VALUE"),
            ("f32=1,", "it is empty"),
            ("frobnicate", "`frobnicate` is neither a value"),
            (".npy", "`.npy` is neither a value"),
            ("2.5", "`2.5` has no type: write TYPE=VALUE, such as i32=2.5"),
            ("0x10", "`0x10` has no type"),
            ("float=2.5", "there is no type `float`; the types are f16, bf16, f32"),
            ("=2.5", "there is no type ``"),
            ("zero:f32:10", "`zero` fills no buffer; what does is zeros"),
            ("zeros:float:10", "there is no type `float`"),
            ("i32=2.5", "`2.5` is no i32: write an integer"),
            ("i8=200", "200 does not fit i8"),
            ("full:u8:4:256", "256 does not fit u8"),
            ("zeros:f32:ten", "`ten` is no shape: write a number of elements"),
            ("zeros:f32:-1", "`-1` is no shape"),
            ("zeros:f32:4x", "`4x` is no shape"),
            ("zeros:f32:2^62", "a shape of 2^62 has more bytes than 64 bits count"),
            ("zeros:f32:2^40x2^40", "more bytes"),
            ("zeros", "`zeros` lacks its type: write zeros:f32:1000"),
            ("iota:i32", "`iota` lacks its number of elements: write iota:i32:1000"),
            ("full:f32:10", "`full` lacks its value: write full:f32:1000:2.5"),
            ("zeros:f32:10:1", "`1` is too much after zeros: write zeros:f32:1000"),
            ("uninit:f32:10:a:b", "`a:b` is too much after uninit"),
            ("random:f32:10:x", "`x` is no seed"),
            ("random:f32:10:1:2", "`1:2` is no seed"),
            ("@", "`` is no name: write letters"),
            ("@2x", "`2x` is no name"),
            ("i32=len:a-b", "`a-b` is no name"),
            ("@x+y", "`y` is no element: write @NAME for the start"),
            ("@x+-1", "`-1` is no element"),
            ("bytes=", "`` are no bytes: write two hexadecimal digits"),
            ("bytes=123", "`123` are no bytes"),
            ("bytes=0g", "`0g` are no bytes"),
            ("bytes=é", "`é` are no bytes"),
            ("f32=len:x", "a length is an integer, and f32 is none: write i32=len:x"),
            ("x.npy,i32=3", "`i32=3` follows a buffer, after which only name=NAME"),
            ("zeros:f32:4,", "`` follows a buffer"),
            ("x.npy,name=a,name=b", "`name=` is there twice"),
            ("x.npy,out=a.npy,out=b.npy", "`out=` is there twice"),
            ("x.npy,name=a b", "`a b` is no name"),
            ("x.npy,out=y.txt", "`y.txt` is no file to write: name one that ends in .npy"),
            ("i32=3,out=y.npy", "`out=y.npy` is a value's, and only buffers have"),
            ("i32=3,x.npy", "`x.npy` is a buffer among the fields of a structure: give it by --buffer"),
            ("null,zeros:f32:4", "`zeros:f32:4` is a buffer among"),
        ] {
            let message = text.parse::<Argument>().unwrap_err().to_string();
            assert!(message.contains(says), "{text}: {message}");
        }
        assert!("f32=1".parse::<Buffer>().unwrap_err().to_string().contains("neither"));
        assert!("zero:f32:1".parse::<Buffer>().unwrap_err().to_string().contains("fills no buffer"));
        assert_eq!("".parse::<Buffer>(), Err(ArgumentError::Empty));
    }
}
