//! Golden bits: what reductions in [canonical order](crate::order) of fixed inputs gave when the order was frozen.
//!
//! The results are data, `golden/reductions.csv` of this crate. The inputs are made by integer arithmetic alone, each
//! element from its index, so that they are the same on every machine and need no file. Neither changes while
//! [`ORDER_VERSION`](crate::order::ORDER_VERSION) stays. The test `golden` of this crate holds the host to all of them,
//! the tests of the kernel crates hold every device to some.

use bytemuck::Pod;

use crate::device::{BackendKind, Device};
use crate::element::Element;
use crate::order;

/// The committed results of reductions: lines of an element type, a [`Kind`], the number of elements, and the bits of
/// the results of all [`OPERATIONS`] in hexadecimal. What was not computed is empty.
pub const REDUCTIONS: &str = include_str!("../../golden/reductions.csv");

/// The committed table of virtual blocks: lines of the size of an element in bytes, the most elements of a slice, and
/// the elements of a virtual block, for all slices longer than those of the line before.
pub const VIRTUAL_BLOCKS: &str = include_str!("../../golden/virtual-blocks.csv");

/// The operations, in the order of the columns.
pub const OPERATIONS: [&str; 5] = ["sum", "product", "minimum", "maximum", "dot"];

/// What an input is made of. Integers have the first two kinds only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any sign, any fraction, and one of 30 exponents, −14 to 15, so that nearly every addition rounds. Integers of any
    /// bits.
    Spread,
    /// ±(1 + d), where d is at most 1/128 in magnitude: products neither overflow nor vanish. Odd integers, for the same
    /// reason.
    NearOne,
    /// Elements 2i as those of `Spread`; 2i + 1 is the negative of 2i with its last bit flipped.
    Cancelling,
    /// Subnormal numbers of either sign; a zero among them is rare.
    Subnormal,
    /// +0 and −0.
    Zeros,
    /// −0 only.
    NegativeZeros,
    /// As `Spread`, but +∞ at every 1009th place from element 0 on, and −∞ at every 1009th from element 700 on.
    Infinities,
    /// As `Spread`, but at every 1009th place from element 0 on a NaN with all of its bits set.
    NaN,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 8] = [
        Kind::Spread,
        Kind::NearOne,
        Kind::Cancelling,
        Kind::Subnormal,
        Kind::Zeros,
        Kind::NegativeZeros,
        Kind::Infinities,
        Kind::NaN,
    ];

    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Spread => "spread",
            Kind::NearOne => "near-one",
            Kind::Cancelling => "cancelling",
            Kind::Subnormal => "subnormal",
            Kind::Zeros => "zeros",
            Kind::NegativeZeros => "negative-zeros",
            Kind::Infinities => "infinities",
            Kind::NaN => "nan",
        }
    }

    /// Whether there are inputs of this kind for elements of type `T`.
    #[must_use]
    pub const fn is_for<T: Element>(self) -> bool {
        T::IS_FLOAT || matches!(self, Kind::Spread | Kind::NearOne)
    }

    /// Element `index` of the input of a reduction, or of the first vector of a dot product.
    #[must_use]
    #[inline]
    pub fn element<T: Element>(self, index: u64) -> T {
        self.element_of(Random::new(0, index), index)
    }

    /// The first `n` elements.
    #[must_use]
    pub fn input<T: Element>(self, n: u64) -> Vec<T> {
        (0..n).map(|index| self.element(index)).collect()
    }

    #[inline]
    fn element_of<T: Element>(self, random: Random, index: u64) -> T {
        if !T::IS_FLOAT {
            let odd = u64::from(self == Kind::NearOne);
            return from_bits(random.integer() | odd);
        }
        let format = Format::of::<T>();
        from_bits(match self {
            Kind::NearOne => format.near_one(random),
            Kind::Cancelling if index % 2 == 1 => format.spread(Random::new(0, index - 1)) ^ format.sign ^ 1,
            Kind::Subnormal => format.spread(random) & (format.sign | format.fraction()),
            Kind::Zeros => format.spread(random) & format.sign,
            Kind::NegativeZeros => format.sign,
            Kind::Infinities if index.is_multiple_of(1009) => format.infinity(),
            Kind::Infinities if index % 1009 == 700 => format.infinity() | format.sign,
            Kind::NaN if index.is_multiple_of(1009) => u64::MAX,
            Kind::Spread | Kind::Cancelling | Kind::Infinities | Kind::NaN => format.spread(random),
        })
    }
}

/// The first `n` elements of the second vector of every dot product: other elements of [`Kind::Spread`].
#[must_use]
pub fn second<T: Element>(n: u64) -> Vec<T> {
    (0..n).map(|index| Kind::Spread.element_of(Random::new(1, index), index)).collect()
}

/// The value whose bits are the lowest ones of `bits`.
#[inline]
fn from_bits<T: Pod>(bits: u64) -> T {
    bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()])
}

/// The bits of a value, zero-extended.
#[must_use]
pub fn bits<T: Pod>(value: T) -> u64 {
    let mut bytes = [0; 8];
    bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    u64::from_le_bytes(bytes)
}

/// The random bits of one element, 32 high and 32 low ones.
#[derive(Clone, Copy, Debug)]
struct Random(u64);

impl Random {
    /// Those of element `index`, below 2³¹ − 1, of vector 0 or 1.
    #[inline]
    const fn new(vector: u32, index: u64) -> Self {
        let count = (index as u32 + 1) | vector << 31;
        Self((mix(count) as u64) << 32 | mix(!count) as u64)
    }

    /// The high half is what a type of 32 bits gets.
    #[inline]
    const fn integer(self) -> u64 {
        self.0.rotate_left(32)
    }
}

/// Wellons' `lowbias32`: a permutation of 32 bits in few instructions, which vectors of any processor have.
#[inline]
const fn mix(x: u32) -> u32 {
    let x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    let x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// The fields of a floating-point type.
#[derive(Clone, Copy, Debug)]
struct Format {
    /// The bit of the sign.
    sign: u64,
    /// The number of bits of the fraction.
    fraction_bits: u32,
}

impl Format {
    #[inline]
    fn of<T: Element>() -> Self {
        let fraction_bits = match T::NAME {
            "bf16" => 7,
            "f16" => 10,
            "f32" => 23,
            _ => 52,
        };
        Self { sign: 1 << (8 * size_of::<T>() - 1), fraction_bits }
    }

    #[inline]
    const fn fraction(self) -> u64 {
        (1 << self.fraction_bits) - 1
    }

    /// +∞: all bits of the exponent.
    #[inline]
    const fn infinity(self) -> u64 {
        self.sign - 1 - self.fraction()
    }

    /// 1: all bits of the exponent but the highest.
    #[inline]
    const fn one(self) -> u64 {
        (self.infinity() / 2) & self.infinity()
    }

    #[inline]
    const fn sign_of(self, random: Random) -> u64 {
        if random.0 >> 63 == 1 { self.sign } else { 0 }
    }

    /// From the highest random bit on: the sign, 8 for the exponent, and the fraction.
    #[inline]
    const fn spread(self, random: Random) -> u64 {
        let exponent = (((random.0 >> 55) & 0xff) * 30) >> 8 << self.fraction_bits;
        let least = self.one() - (14 << self.fraction_bits);
        self.sign_of(random) | (least + exponent + (random.0 << 9 >> (64 - self.fraction_bits)))
    }

    /// From the highest random bit on: the sign, and two numbers, of one bit and of as many as make 1/128 in the last
    /// place of 1, whose sum is the distance from 1 − 1/128 in that unit. Below 1, the last place is half of that.
    #[inline]
    const fn near_one(self, random: Random) -> u64 {
        let range = self.fraction_bits - 7;
        let distance = (random.0 >> 62 & 1) + (random.0 << 2 >> (63 - range));
        let (one, middle) = (self.one(), 1 << range);
        let magnitude = if distance >= middle { one + (distance - middle) } else { one - 2 * (middle - distance) };
        self.sign_of(random) | magnitude
    }
}

/// A line of [`REDUCTIONS`].
#[derive(Clone, Debug)]
pub struct Record {
    /// What the input is made of.
    pub kind: Kind,
    /// The number of elements.
    pub n: u64,
    /// The bits of the results of [`OPERATIONS`], as far as they were computed.
    pub results: [Option<u64>; OPERATIONS.len()],
}

impl Record {
    /// The bits of the result of one of [`OPERATIONS`], if they were computed.
    #[must_use]
    pub fn result(&self, operation: &str) -> Option<u64> {
        self.results[OPERATIONS.iter().position(|&name| name == operation)?]
    }
}

/// The records of elements of type `T` that a device gets through while one waits: all up to 4 MiB on a GPU. On the
/// simulator those of nothing, one element, a packet and an element, a row of packets and an element, and nine virtual
/// blocks, the last of which lacks an element.
///
/// # Panics
/// If the file is not as it should be.
#[must_use]
pub fn records<T: Element>(device: &Device) -> Vec<Record> {
    let (lanes, row) = (order::lanes::<T>(), order::THREADS * order::lanes::<T>());
    let gpu = device.properties().backend != BackendKind::Sim;
    let few = [0, 1, lanes + 1, row + 1, 17 * row - 1];
    let suits = |n: u64| if gpu { n <= 512 * row } else { few.contains(&n) };
    let lines = REDUCTIONS.lines().filter_map(|line| line.strip_prefix(T::NAME)?.strip_prefix(','));
    let records: Vec<Record> = lines.map(parse).filter(|record| suits(record.n)).collect();
    assert!(!records.is_empty(), "no golden results for {}", T::NAME);
    records
}

/// A line after its element type.
fn parse(line: &str) -> Record {
    let fields: Vec<&str> = line.split(',').collect();
    let [kind, n, results @ ..] = &fields[..] else { panic!("`{line}` has too few fields") };
    let known = Kind::ALL.into_iter().find(|known| known.name() == *kind);
    let result = |text: &&str| (!text.is_empty()).then(|| u64::from_str_radix(text, 16).unwrap());
    let results: Vec<Option<u64>> = results.iter().map(result).collect();
    Record {
        kind: known.unwrap_or_else(|| panic!("`{kind}` is no kind of input")),
        n: n.parse().unwrap(),
        results: results.try_into().unwrap_or_else(|_| panic!("`{line}` has other columns than {OPERATIONS:?}")),
    }
}
