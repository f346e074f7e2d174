//! How much to compute on, in the words of `bench --sizes`.

use std::fmt;
use std::ops::RangeInclusive;

use anyhow::{Result, bail};

/// The input of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A vector of so many elements.
    Vector(usize),
    /// A matrix of so many rows and columns.
    Matrix(usize, usize),
}

impl Size {
    /// How many elements it has; `parse` has seen to it that they can be counted.
    pub fn elements(self) -> usize {
        match self {
            Size::Vector(n) => n,
            Size::Matrix(rows, columns) => rows * columns,
        }
    }
}

/// As `bench` writes it: powers of two from 2^10 on, and `ROWSxCOLUMNS`.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count =
            |n: usize| if n >= 1 << 10 && n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() };
        match *self {
            Size::Vector(n) => f.write_str(&count(n)),
            Size::Matrix(rows, columns) => write!(f, "{}x{}", count(rows), count(columns)),
        }
    }
}

/// What `--sizes` asks for: a number of elements, or of rows and columns, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(Vec<(usize, Option<usize>)>);

impl Sizes {
    /// Every power of two between two of them.
    pub fn powers(exponents: RangeInclusive<u32>) -> Sizes {
        Sizes(exponents.map(|exponent| (1 << exponent, None)).collect())
    }

    /// The sizes as vectors.
    ///
    /// # Errors
    /// What is no length of a vector.
    pub fn vectors(&self) -> Result<Vec<Size>> {
        let vector = |&(n, columns): &(usize, Option<usize>)| match columns {
            None => Ok(Size::Vector(n)),
            Some(columns) => bail!("--sizes: `{n}x{columns}` is a matrix, and of vectors there is the length alone"),
        };
        self.0.iter().map(vector).collect()
    }

    /// The sizes as matrices; a number alone is the side of a square.
    pub fn matrices(&self) -> Vec<Size> {
        self.0.iter().map(|&(rows, columns)| Size::Matrix(rows, columns.unwrap_or(rows))).collect()
    }
}

/// Reads sizes: digits, `1e6`, `2^20`, and sums of those; `2^10..2^30`; `ROWSxCOLUMNS`; separated by commas.
///
/// # Errors
/// What cannot be read.
pub fn parse(text: &str) -> Result<Sizes, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        if let Some((from, to)) = part.split_once("..") {
            let (from, to) = (number(from)?, number(to)?);
            if from > to || !from.is_power_of_two() || !to.is_power_of_two() {
                return Err(format!("`{part}` is no range from one power of two to a larger one"));
            }
            sizes.extend(Sizes::powers(from.ilog2()..=to.ilog2()).0);
        } else if let Some((rows, columns)) = part.split_once('x') {
            sizes.push((number(rows)?, Some(number(columns)?)));
        } else {
            sizes.push((number(part)?, None));
        }
    }
    // The side of a square is squared: what is measured has to fit memory by far.
    if sizes.iter().any(|&(n, columns)| n > 1 << 40 || columns.is_some_and(|columns| columns > (1 << 40) / n)) {
        return Err("no more than 2^40 elements".to_owned());
    }
    Ok(Sizes(sizes))
}

fn number(text: &str) -> Result<usize, String> {
    let term = |term: &str| -> Option<usize> {
        for (sign, fixed) in [('^', None), ('e', Some(10usize))] {
            if let Some((base, exponent)) = term.split_once(sign) {
                let (base, exponent) = (base.parse::<usize>().ok()?, exponent.parse().ok()?);
                return match fixed {
                    None => base.checked_pow(exponent),
                    Some(ten) => base.checked_mul(ten.checked_pow(exponent)?),
                };
            }
        }
        term.replace('_', "").parse().ok()
    };
    let total = text.split('+').try_fold(0usize, |total, part| total.checked_add(term(part)?));
    total.filter(|&n| n > 0).ok_or(format!("`{text}` is no number of elements: write digits, `1e6` or `2^20`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Vec<String> {
        parse(text).unwrap().vectors().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn sizes_are_spelled_as_bench_spells_them() {
        assert_eq!(spelled("1000,1024,2^20+1,1e6"), ["1000", "2^10", "1048577", "1000000"]);
        assert_eq!(spelled("2^10..2^12"), ["2^10", "2^11", "2^12"]);
        let matrices = parse("1024,1000x3000,2^11x32").unwrap().matrices();
        let matrices: Vec<String> = matrices.iter().map(ToString::to_string).collect();
        assert_eq!(matrices, ["2^10x2^10", "1000x3000", "2^11x32"]);
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "0", "x", "3x", "2^64", "5..7", "2^12..2^10", "2^30x2^30", "-1"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("3x4").unwrap().vectors().is_err());
    }
}
