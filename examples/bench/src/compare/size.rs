//! How much to compute on: numbers of elements, and shapes of matrices.

use std::fmt;

use examples::options::parse_count;

/// The input of one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// A vector of so many elements.
    Vector(u64),
    /// A matrix of so many rows and columns.
    Matrix(u64, u64),
}

impl Size {
    /// How many elements it has; `None` if they are more than 64 bits can count.
    pub(crate) fn checked_elements(self) -> Option<u64> {
        match self {
            Size::Vector(n) => Some(n),
            Size::Matrix(rows, columns) => rows.checked_mul(columns),
        }
    }

    /// How many elements it has; as many as can be counted, of more.
    pub(crate) fn elements(self) -> u64 {
        self.checked_elements().unwrap_or(u64::MAX)
    }
}

/// As the command line has it: powers of two from 2^10 on, and `ROWSxCOLUMNS`.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count =
            |n: u64| if n >= 1 << 10 && n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() };
        match self {
            Size::Vector(n) => f.write_str(&count(*n)),
            Size::Matrix(rows, columns) => write!(f, "{}x{}", count(*rows), count(*columns)),
        }
    }
}

/// What `--sizes` asks for: a number of elements, or of rows and columns, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(Vec<(u64, Option<u64>)>);

impl Sizes {
    /// The sizes as vectors.
    ///
    /// # Errors
    /// What is no length of a vector.
    pub(crate) fn vectors(&self) -> Result<Vec<Size>, String> {
        let vector = |&(n, columns): &(u64, Option<u64>)| match columns {
            None => Ok(Size::Vector(n)),
            Some(columns) => {
                Err(format!("`{n}x{columns}` is a matrix, and this measures vectors: write `--sizes {n}`"))
            }
        };
        self.0.iter().map(vector).collect()
    }

    /// The sizes as matrices; a number alone is the side of a square.
    pub(crate) fn matrices(&self) -> Vec<Size> {
        self.0.iter().map(|&(rows, columns)| Size::Matrix(rows, columns.unwrap_or(rows))).collect()
    }

    /// Every power of two between two of them.
    pub(crate) fn powers(exponents: std::ops::RangeInclusive<u32>) -> Sizes {
        Sizes(exponents.map(|exponent| (1 << exponent, None)).collect())
    }

    /// Lengths that are no powers of two: next to them, prime, round in decimals, of one packet of 16 bytes or less.
    pub(crate) fn awkward_vectors() -> Sizes {
        let lengths = [
            1,
            31,
            1000,
            4_097,
            100_003,
            1_000_000,
            (1 << 20) - 1,
            (1 << 20) + 1,
            10_000_019,
            (1 << 24) + 3,
            20_000_000,
            100_000_007,
            (1 << 28) - 1,
            1_000_000_007,
        ];
        Sizes(lengths.into_iter().map(|n| (n, None)).collect())
    }

    /// Shapes that no tile divides, and oblong ones.
    pub(crate) fn awkward_matrices() -> Sizes {
        let shapes = [
            (33, 31),
            (1000, 1000),
            (1023, 1025),
            (4097, 4095),
            (10_007, 10_007),
            (30_011, 30_011),
            (1 << 20, 16),
            (16, 1 << 20),
            (3, 100_000_007),
            (1 << 13, 1 << 17),
        ];
        Sizes(shapes.into_iter().map(|(rows, columns)| (rows, Some(columns))).collect())
    }
}

/// Reads sizes: numbers as [`parse_count`] reads them, `2^10..2^30` for every power of two from one to the other, and
/// `ROWSxCOLUMNS`, separated by commas.
///
/// # Errors
/// What cannot be read, and that a size is zero or does not fit 64 bits.
pub(crate) fn parse(text: &str) -> Result<Sizes, String> {
    const FORMS: &str = "Write numbers such as `1000`, `1e6` or `2^20+1`, ranges of powers of two such as `2^10..2^20`, \
                         and `ROWSxCOLUMNS`, with commas between them";
    let mut sizes = Vec::new();
    for part in text.split(',') {
        if part.is_empty() {
            return Err(format!("a size is missing in `{text}`. {FORMS}"));
        }
        let of_part = parse_part(part).map_err(|reason| format!("`{part}` is no size: {reason}. {FORMS}"))?;
        sizes.extend(of_part.0);
    }
    Ok(Sizes(sizes))
}

/// What stands between two commas.
fn parse_part(part: &str) -> Result<Sizes, String> {
    if let Some((from, to)) = both_sides(part, "..")? {
        let (from, to) = (exponent(from)?, exponent(to)?);
        if from > to {
            return Err("it is an empty range: write the smaller end first".to_owned());
        }
        Ok(Sizes::powers(from..=to))
    } else if let Some((rows, columns)) = both_sides(part, "x")? {
        let (rows, columns) = (positive(rows)?, positive(columns)?);
        rows.checked_mul(columns).ok_or("it has more elements than fit 64 bits")?;
        Ok(Sizes(vec![(rows, Some(columns))]))
    } else {
        Ok(Sizes(vec![(positive(part)?, None)]))
    }
}

/// What stands before and after the first `mark`, if it is there.
fn both_sides<'a>(part: &'a str, mark: &str) -> Result<Option<(&'a str, &'a str)>, String> {
    match part.split_once(mark) {
        Some(("", _)) => Err(format!("nothing stands before the `{mark}`")),
        Some((_, "")) => Err(format!("nothing stands after the `{mark}`")),
        sides => Ok(sides),
    }
}

fn positive(text: &str) -> Result<u64, String> {
    match parse_count(text)? {
        0 => Err("there is nothing to measure".to_owned()),
        n => Ok(n),
    }
}

/// The exponent of a power of two.
fn exponent(text: &str) -> Result<u32, String> {
    let n = positive(text)?;
    if n.is_power_of_two() { Ok(n.ilog2()) } else { Err(format!("`{text}`, an end of the range, is no power of two")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(text: &str) -> Vec<u64> {
        parse(text).unwrap().vectors().unwrap().into_iter().map(Size::elements).collect()
    }

    #[test]
    fn ranges_are_of_powers_of_two() {
        assert_eq!(vectors("2^10..2^13"), [1024, 2048, 4096, 8192]);
        assert_eq!(vectors("1..4,1e3,2^4+1"), [1, 2, 4, 1000, 17]);
        assert_eq!(vectors("2^63..2^63"), [1 << 63]);
    }

    #[test]
    fn a_number_is_the_side_of_a_square() {
        let sizes = parse("32,3x2^20").unwrap();
        assert_eq!(sizes.matrices(), [Size::Matrix(32, 32), Size::Matrix(3, 1 << 20)]);
        assert!(sizes.vectors().unwrap_err().contains("`3x1048576` is a matrix"));
    }

    #[test]
    fn refuses_what_is_no_size() {
        for text in ["", "0", "x", "1x", "2^4..2^3", "3..8", "2^3..7", "1,,2", "-1", "2^33x2^33", "0x5", "1..2..4"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_reads_back_as_it_is_written() {
        for size in [Size::Vector(7), Size::Vector(512), Size::Vector(1 << 20), Size::Vector((1 << 20) + 1)] {
            assert_eq!(parse(&size.to_string()).unwrap().vectors().unwrap(), [size]);
        }
        for size in [Size::Matrix(1 << 13, 3), Size::Matrix(33, 31)] {
            assert_eq!(parse(&size.to_string()).unwrap().matrices(), [size]);
        }
        assert_eq!(Size::Matrix(1 << 15, 1 << 15).to_string(), "2^15x2^15");
    }

    #[test]
    fn awkward_sizes_are_awkward() {
        assert!(Sizes::awkward_vectors().vectors().unwrap().iter().skip(1).all(|n| !n.elements().is_power_of_two()));
        assert!(Sizes::awkward_matrices().matrices().len() > 5);
    }
}
