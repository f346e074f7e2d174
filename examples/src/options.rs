//! Command-line options that programs have in common.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use kernels_common::device::{BackendKind, Device};

use crate::dtype::Dtype;
use crate::program::UsageError;

/// Options of every program.
#[derive(Args, Clone, Debug)]
pub struct CommonOptions {
    /// Where to compute: `auto` (a GPU if there is one, else the simulator), `cuda:N`, `sim`, or `sim` with options
    /// such as `sim:seed=7,sms=4,cc=9.0,check=all`
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,

    /// Seed of random input; the same seed gives the same values on every machine
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: u64,

    /// How often to run a kernel for its time, after a warm-up [default: 30 on a GPU, once and without a warm-up on the
    /// simulator]
    #[arg(long, value_name = "TIMES", value_parser = parse_times, allow_negative_numbers = true)]
    pub repeat: Option<NonZeroU32>,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

impl CommonOptions {
    /// How often to run a kernel for its time.
    #[must_use]
    pub fn repeats(&self, device: &Device) -> u32 {
        let default = match device.properties().backend {
            BackendKind::Cuda => 30,
            BackendKind::Sim => 1,
        };
        self.repeat.map_or(default, NonZeroU32::get)
    }

    /// How often to run a kernel before that: a GPU has to wake up, the simulator has not.
    #[must_use]
    pub fn warm_ups(&self, device: &Device) -> u32 {
        u32::from(device.properties().backend == BackendKind::Cuda)
    }
}

/// What input is made of that is made up.
#[derive(Args, Clone, Copy, Debug)]
pub struct ElementOptions {
    /// Type of the elements
    #[arg(long, value_enum, default_value = "f32")]
    pub dtype: Dtype,
}

/// Where two vectors come from, and what they are made of.
#[derive(Args, Clone, Debug)]
pub struct VectorOptions {
    /// Type of the elements [default: that of the files, else f32]
    #[arg(long, value_enum)]
    pub dtype: Option<Dtype>,

    /// Number of elements: digits with or without `_`, `1e6`, `2^24`, and sums of those such as `10^6+3` [default:
    /// that of the files, else 20 million]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub n: Option<u64>,

    /// The first vector: a NumPy file (.npy) with one dimension, which nothing may change while the program runs
    #[arg(long, value_name = "FILE", requires = "y")]
    pub x: Option<PathBuf>,

    /// The second vector, of the same type and length. Halves in `bfloat16` of `ml_dtypes`, which NumPy stores as two
    /// raw bytes, need `--dtype bf16`
    #[arg(long, value_name = "FILE", requires = "x")]
    pub y: Option<PathBuf>,
}

/// Reads how often to do something.
///
/// # Errors
/// That it is no number from 1 on.
pub fn parse_times(text: &str) -> Result<NonZeroU32, String> {
    parse_between(text, NonZeroU32::MIN..=NonZeroU32::MAX)
}

/// Reads the seed of a generator.
///
/// # Errors
/// That it is no number of 64 bits.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    parse_between(text, 0..=u64::MAX)
}

/// Reads a number from one to another.
///
/// # Errors
/// That it is none.
pub fn parse_between<N: Copy + Display + FromStr + PartialOrd>(
    text: &str,
    range: RangeInclusive<N>,
) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("it is a number from {} to {}", range.start(), range.end()))
}

/// The number of elements of a matrix.
///
/// # Errors
/// [`UsageError`] if there are more than 64 bits count.
pub fn matrix_len(rows: u64, cols: u64) -> Result<u64, UsageError> {
    let too_many = || UsageError(format!("a matrix of {rows} × {cols} elements fits no memory: use fewer"));
    rows.checked_mul(cols).ok_or_else(too_many)
}

/// Reads a number of elements, such as `20_000_000`, `1e6`, `2^24` or `10^6+3`.
///
/// # Errors
/// What cannot be read, or that the number does not fit 64 bits.
pub fn parse_count(text: &str) -> Result<u64, String> {
    text.split('+').try_fold(0u64, |total, term| {
        total.checked_add(parse_term(term)?).ok_or(format!("`{text}` does not fit 64 bits"))
    })
}

fn parse_term(text: &str) -> Result<u64, String> {
    let number = |text: &str| {
        let digits = text.replace('_', "");
        if text.starts_with('_') || digits.is_empty() || digits.bytes().any(|digit| !digit.is_ascii_digit()) {
            return Err(format!("`{text}` is not a number. Write digits, `1e6`, `2^24` or a sum such as `10^6+3`"));
        }
        digits.parse::<u64>().map_err(|_| format!("`{text}` does not fit 64 bits"))
    };
    let power = |base: u64, exponent: &str| {
        let exponent = u32::try_from(number(exponent)?).ok();
        exponent.and_then(|exponent| base.checked_pow(exponent)).ok_or(format!("`{text}` does not fit 64 bits"))
    };
    if let Some((base, exponent)) = text.split_once('^') {
        power(number(base)?, exponent)
    } else if let Some((factor, exponent)) = text.split_once(['e', 'E']) {
        let factor = number(factor)?;
        factor.checked_mul(power(10, exponent)?).ok_or(format!("`{text}` does not fit 64 bits"))
    } else {
        number(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_counts() {
        for (text, expected) in [
            ("0", 0),
            ("20_000_000", 20_000_000),
            ("1e6", 1_000_000),
            ("3E2", 300),
            ("2^24", 1 << 24),
            ("2^24+1", (1 << 24) + 1),
            ("1e6+2^4+3", 1_000_019),
            ("18446744073709551615", u64::MAX),
            ("0^0", 1),
        ] {
            assert_eq!(parse_count(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn numbers_have_ends() {
        assert_eq!(parse_between("1", 1..=500), Ok(1));
        assert_eq!(parse_between("500", 1..=500u32), Ok(500));
        for text in ["0", "501", "-1", "", "x", "99999999999999999999"] {
            assert_eq!(parse_between(text, 1..=500u32), Err("it is a number from 1 to 500".to_owned()), "{text}");
        }
        assert_eq!(parse_times("0"), Err("it is a number from 1 to 4294967295".to_owned()));
        assert_eq!(parse_seed("-1"), Err("it is a number from 0 to 18446744073709551615".to_owned()));
    }

    #[test]
    fn refuses_what_is_no_count() {
        for text in [
            "",
            "-1",
            "_1",
            "x",
            "1.5",
            "1e",
            "e6",
            "2^",
            "^2",
            "1++1",
            "+",
            "0x10",
            " 1",
            "2^64",
            "1e20",
            "18446744073709551616",
            "1e99999999999",
            "4-3",
            "2^63+2^63",
        ] {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }
}
