//! Inputs whose sums no order of additions rounds, so that only one result is right.

use anyhow::{Result, ensure};

/// An element is an odd number from −15 to 15; of floats it is that many `UNITS`-th parts of one.
const UNITS: f64 = 16.0;

/// Random odd numbers that inputs of any type are made of.
pub struct Numbers(Vec<i8>);

impl Numbers {
    /// So many, other ones for each seed.
    pub fn random(n: usize, seed: u64) -> Numbers {
        let mut state = seed;
        let mut numbers = vec![0; n];
        for numbers in numbers.chunks_mut(16) {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^= bits >> 31;
            for (place, number) in numbers.iter_mut().enumerate() {
                *number = 2 * (bits >> (4 * place) & 15) as i8 - 15;
            }
        }
        Numbers(numbers)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Them as elements of a type.
    pub fn elements<T: Element>(&self) -> Vec<T> {
        self.0.iter().map(|&number| T::of(number)).collect()
    }

    /// One of them as an element.
    pub fn element<T: Element>(&self, index: usize) -> T {
        T::of(self.0[index])
    }

    /// The sum of the first `n` as elements of a type.
    ///
    /// # Errors
    /// If the type cannot hold it exactly.
    pub fn sum<T: Element>(&self, n: usize) -> Result<f64> {
        exact::<T>(self.0[..n].iter().map(|&x| i64::from(x)).sum(), 1)
    }

    /// The dot product of the first `n` of both as elements of a type.
    ///
    /// # Errors
    /// If the type cannot hold it exactly.
    pub fn dot<T: Element>(&self, other: &Numbers, n: usize) -> Result<f64> {
        let products = self.0[..n].iter().zip(&other.0[..n]).map(|(&x, &y)| i64::from(x) * i64::from(y));
        exact::<T>(products.sum(), 2)
    }
}

/// A whole number of units, or of units of units, as a value of the type.
fn exact<T: Element>(sum: i64, factors: i32) -> Result<f64> {
    ensure!(sum.unsigned_abs() < T::EXACT, "the inputs add up to {sum} units: more than their type holds exactly");
    Ok(sum as f64 / T::UNITS.powi(factors))
}

/// A type of elements.
pub trait Element: Copy + PartialEq + 'static {
    /// How many units one is.
    const UNITS: f64;
    /// Below this every whole number of units is exact.
    const EXACT: u64;
    /// So many units.
    fn of(number: i8) -> Self;
    /// The value.
    fn value(self) -> f64;
}

macro_rules! element {
    ($($type:ty: $units:expr, $bits:expr, $of:expr, $value:expr;)*) => {$(
        impl Element for $type {
            const UNITS: f64 = $units;
            const EXACT: u64 = 1 << $bits;
            fn of(number: i8) -> Self {
                $of(number)
            }
            fn value(self) -> f64 {
                $value(self)
            }
        }
    )*};
}

element! {
    f32: UNITS, 24, |x| f32::from(x) / UNITS as f32, f64::from;
    f64: UNITS, 53, |x| f64::from(x) / UNITS, |x| x;
    half::f16: UNITS, 11, |x| half::f16::from_f32(f32::from(x) / UNITS as f32), f64::from;
    half::bf16: UNITS, 8, |x| half::bf16::from_f32(f32::from(x) / UNITS as f32), f64::from;
    i32: 1.0, 31, i32::from, f64::from;
    i64: 1.0, 53, i64::from, |x| x as f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_in_any_order() {
        let (x, y) = (Numbers::random(1 << 20, 1), Numbers::random(1 << 20, 2));
        let (a, b) = (x.elements::<f32>(), y.elements::<f32>());
        let forwards: f32 = a.iter().sum();
        let backwards: f32 = a.iter().rev().sum();
        assert_eq!(f64::from(forwards), x.sum::<f32>(1 << 20).unwrap());
        assert_eq!(forwards, backwards);
        assert_ne!(forwards, 0.0);
        let products: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        assert_eq!(f64::from(products), x.dot::<f32>(&y, 1 << 20).unwrap());
        let integers: i64 = x.elements::<i64>()[..1000].iter().sum();
        assert_eq!(integers as f64, x.sum::<i64>(1000).unwrap());
    }

    #[test]
    fn every_number_occurs_and_is_exact_in_every_type() {
        let numbers = Numbers::random(10_000, 3);
        assert_eq!(numbers.len(), 10_000);
        for number in (-15..=15).step_by(2) {
            // Evenly, or long sums would not be exact.
            let count = numbers.0.iter().filter(|&&other| other == number).count();
            assert!((500..750).contains(&count), "{number}: {count}");
            let value = f64::from(number) / UNITS;
            assert_eq!(half::f16::of(number).value(), value);
            assert_eq!(half::bf16::of(number).value(), value);
            assert_eq!(f32::of(number).value(), value);
        }
        assert_ne!(numbers.0, Numbers::random(10_000, 4).0);
    }

    #[test]
    fn a_sum_that_would_be_rounded_is_refused() {
        assert!(exact::<half::bf16>(255, 1).is_ok());
        assert!(exact::<half::bf16>(-256, 1).is_err());
    }
}
