//! Buffers: what they are called, and what is in them before a launch.

use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::argument::{Buffer, Fill, Source, buffer_name};
use crate::dtype::{Dtype, Literal};
use crate::error::Error;
use crate::npy;

/// Two buffers have one name.
#[derive(Debug, thiserror::Error)]
#[error("two buffers are called `{0}`: give one of them another name, by name=NAME")]
pub(crate) struct NameError(String);

/// A buffer that is ready to be copied to the device.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<u64>,
    pub(crate) contents: Contents,
    /// The file to write it to.
    pub(crate) out: Option<String>,
}

/// What is in a buffer.
#[derive(Debug)]
pub(crate) enum Contents {
    /// One value everywhere.
    Filled(Literal),
    /// These elements.
    Bytes(Vec<u8>),
    /// Nothing: it is uninitialised.
    Nothing,
}

impl Prepared {
    /// Number of elements.
    pub(crate) fn len(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.len() * self.dtype.size() as u64
    }
}

/// A buffer as the command line gives it: with the number of the parameter whose argument it is.
pub(crate) type Given<'a> = (Option<usize>, &'a Buffer);

/// What the buffers are called: as they are told to be, else by the stem of their file if no other has it, else `arg`
/// with the number of the parameter.
///
/// # Errors
/// If two are told to have one name, or one has the name that another one gets.
pub(crate) fn names(buffers: &[Given<'_>]) -> Result<Vec<String>, NameError> {
    let stems: Vec<Option<String>> = buffers.iter().map(|(_, buffer)| stem(buffer)).collect();
    let told: Vec<&String> = buffers.iter().filter_map(|(_, buffer)| buffer.name.as_ref()).collect();
    let is_free =
        |stem: &String| !told.contains(&stem) && stems.iter().flatten().filter(|&other| other == stem).count() == 1;
    let names: Vec<String> = buffers
        .iter()
        .zip(&stems)
        .enumerate()
        .map(|(place, ((parameter, buffer), stem))| match (&buffer.name, stem) {
            (Some(name), _) => name.clone(),
            (None, Some(stem)) if is_free(stem) => stem.clone(),
            (None, _) => match parameter {
                Some(number) => format!("arg{number}"),
                None => format!("buffer{}", place + 1),
            },
        })
        .collect();
    match names.iter().enumerate().find(|&(place, name)| names[..place].contains(name)) {
        Some((_, name)) => Err(NameError(name.clone())),
        None => Ok(names),
    }
}

/// The name of a buffer's file without folder and ending, where that is fit for a name.
fn stem(buffer: &Buffer) -> Option<String> {
    match (&buffer.name, &buffer.source) {
        (None, Source::File(path)) => buffer_name(Path::new(path).file_stem()?.to_str()?).ok(),
        _ => None,
    }
}

/// Makes the contents of a buffer, or reads its file.
///
/// `place` is the number of buffers before it; random elements depend on it where no seed is given, so that no two
/// buffers are the same.
///
/// # Errors
/// If the file cannot be used, or there is no room for the elements.
pub(crate) fn prepare(buffer: &Buffer, name: String, place: usize, memory: u64) -> Result<Prepared, Error> {
    let out = buffer.out.clone();
    let (fill, dtype, shape) = match &buffer.source {
        Source::File(path) => {
            let npy::Array { dtype, shape, bytes } = npy::read(path, memory)?;
            return Ok(Prepared { name, dtype, shape, contents: Contents::Bytes(bytes), out });
        }
        Source::Made { fill, dtype, shape } => (*fill, *dtype, shape.clone()),
    };
    let bytes = shape.iter().product::<u64>() * dtype.size() as u64;
    let number = |value| dtype.of_integer(value).unwrap_or(Literal::new(dtype, value as u64));
    let contents = match fill {
        Fill::Zeros => Contents::Filled(number(0)),
        Fill::Ones => Contents::Filled(number(1)),
        Fill::Full(value) => Contents::Filled(value),
        Fill::Uninit => Contents::Nothing,
        Fill::Iota | Fill::Random(_) if bytes > memory => {
            return Err(Error::DeviceMemory { name, asked: bytes, free: memory });
        }
        Fill::Iota => Contents::Bytes(elements(&name, dtype, bytes, |element| match dtype {
            Dtype::Bool => Literal::new(dtype, element % 2),
            _ => number(element.into()),
        })?),
        Fill::Random(seed) => {
            let mut generator = ChaCha8Rng::seed_from_u64(seed.unwrap_or(place as u64));
            Contents::Bytes(elements(&name, dtype, bytes, |_| random(dtype, generator.next_u64()))?)
        }
    };
    Ok(Prepared { name, dtype, shape, contents, out })
}

/// So many bytes, which are zero.
///
/// # Errors
/// If this machine has not that much memory.
pub(crate) fn zeroed(name: &str, bytes: u64) -> Result<Vec<u8>, Error> {
    let mut all = reserved(name, bytes)?;
    all.resize(bytes as usize, 0);
    Ok(all)
}

fn reserved(name: &str, bytes: u64) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    match usize::try_from(bytes).map(|bytes| all.try_reserve_exact(bytes)) {
        Ok(Ok(())) => Ok(all),
        _ => Err(Error::HostMemory { name: name.to_owned(), bytes }),
    }
}

/// As many elements as there is room for in `bytes`, each made from its index.
fn elements(name: &str, dtype: Dtype, bytes: u64, mut make: impl FnMut(u64) -> Literal) -> Result<Vec<u8>, Error> {
    let mut all = reserved(name, bytes)?;
    (0..bytes / dtype.size() as u64).for_each(|element| make(element).append_to(&mut all));
    Ok(all)
}

/// An element from random bits: a float in [−1, 1), an integer of the whole range.
fn random(dtype: Dtype, bits: u64) -> Literal {
    match dtype {
        Dtype::Bool => Literal::new(dtype, bits & 1),
        // As many bits as the mantissa holds, so that rounding does not give 1.
        Dtype::F16 => dtype.of_f64(uniform(bits, 11)),
        Dtype::Bf16 => dtype.of_f64(uniform(bits, 8)),
        Dtype::F32 => dtype.of_f64(uniform(bits, 24)),
        Dtype::F64 => dtype.of_f64(uniform(bits, 53)),
        _ => Literal::new(dtype, bits),
    }
}

fn uniform(bits: u64, mantissa: u32) -> f64 {
    let steps = (1u64 << mantissa) as f64;
    (bits >> (64 - mantissa)) as f64 / steps * 2.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::Argument;

    fn buffers(texts: &[&str]) -> Vec<Buffer> {
        let buffer = |text: &&str| match text.parse() {
            Ok(Argument::Buffer(buffer)) => buffer,
            other => panic!("{text}: {other:?}"),
        };
        texts.iter().map(buffer).collect()
    }

    fn named(texts: &[&str]) -> Result<Vec<String>, NameError> {
        let buffers = buffers(texts);
        let given: Vec<Given<'_>> = buffers.iter().enumerate().map(|(place, each)| (Some(place + 1), each)).collect();
        names(&given)
    }

    #[test]
    fn names_are_told_or_found() {
        assert_eq!(named(&["a/x.npy", "zeros:f32:1", "ones:f32:1,name=z"]).unwrap(), ["x", "arg2", "z"]);
        assert_eq!(named(&["x.npy", "b/x.npy", "1.npy"]).unwrap(), ["arg1", "arg2", "arg3"]);
        assert_eq!(named(&["x.npy", "zeros:f32:1,name=x"]).unwrap(), ["arg1", "x"]);
        let twice = named(&["x.npy,name=y", "zeros:f32:1,name=y"]).unwrap_err().to_string();
        assert!(twice.contains("two buffers are called `y`"), "{twice}");
        assert!(named(&["zeros:f32:1", "zeros:f32:1,name=arg1"]).is_err());
        let buffers = buffers(&["zeros:f32:1"]);
        assert_eq!(names(&[(None, &buffers[0])]).unwrap(), ["buffer1"]);
    }

    fn elements(text: &str, place: usize) -> Vec<String> {
        let prepared = prepare(&buffers(&[text])[0], "x".into(), place, 1 << 20).unwrap();
        let bytes = match prepared.contents {
            Contents::Bytes(bytes) => bytes,
            Contents::Filled(value) => value.to_bytes().repeat(prepared.shape.iter().product::<u64>() as usize),
            Contents::Nothing => vec![],
        };
        bytes.chunks(prepared.dtype.size()).map(|each| Literal::from_bytes(prepared.dtype, each).to_string()).collect()
    }

    #[test]
    fn what_buffers_are_filled_with() {
        assert_eq!(elements("zeros:f16:2", 0), ["0.0", "0.0"]);
        assert_eq!(elements("ones:i64:2", 0), ["1", "1"]);
        assert_eq!(elements("full:bool:1:true", 0), ["true"]);
        assert_eq!(elements("iota:f32:2x2", 0), ["0.0", "1.0", "2.0", "3.0"]);
        assert_eq!(elements("iota:u8:258", 0)[254..], ["254", "255", "0", "1"]);
        assert_eq!(elements("iota:bool:3", 0), ["false", "true", "false"]);
        assert_eq!(elements("uninit:f32:2", 0), [""; 0]);
    }

    #[test]
    fn more_than_there_is_room_for_is_an_error() {
        let refused =
            |text: &str, memory| prepare(&buffers(&[text])[0], "x".into(), 0, memory).unwrap_err().to_string();
        assert!(refused("iota:f32:1000", 3999).contains("buffer `x`: 4000 bytes are asked for, and 3999 are free"));
        assert!(refused("random:f32:2^61", u64::MAX).contains("no memory for its 9223372036854775808 bytes"));
        assert!(zeroed("x", 1 << 62).is_err());
        assert_eq!(zeroed("x", 3).unwrap(), [0; 3]);
    }

    #[test]
    fn random_elements_depend_on_seed_or_place_and_fill_their_range() {
        assert_eq!(elements("random:f32:4:7", 0), elements("random:f32:4:7", 1));
        assert_ne!(elements("random:f32:4", 0), elements("random:f32:4", 1));
        // The same on every machine, and for good.
        assert_eq!(elements("random:u32:2:7", 0), elements("random:u32:3:7", 0)[..2]);
        for dtype in Dtype::ALL.into_iter().filter(|dtype| dtype.is_float()) {
            let values: Vec<f64> =
                elements(&format!("random:{dtype}:1000"), 0).iter().map(|text| text.parse().unwrap()).collect();
            assert!(values.iter().all(|value| (-1.0..1.0).contains(value)), "{dtype}");
            assert!(values.iter().any(|&value| value < -0.9) && values.iter().any(|&value| value > 0.9), "{dtype}");
        }
        let bytes: Vec<i32> = elements("random:i8:1000", 0).iter().map(|text| text.parse().unwrap()).collect();
        assert!(bytes.iter().any(|&value| value < -120) && bytes.iter().any(|&value| value > 120));
    }
}
