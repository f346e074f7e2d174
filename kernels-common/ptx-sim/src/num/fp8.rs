//! The 8-bit floating formats: e4m3, which has no infinity, and e5m2.

/// One of the formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    E4M3,
    E5M2,
}

/// The NaN that conversions give, in both formats.
const NAN: u8 = 0x7f;

impl Format {
    /// Bits of the fraction.
    fn fraction_bits(self) -> i32 {
        match self {
            Format::E4M3 => 3,
            Format::E5M2 => 2,
        }
    }

    /// The greatest finite number.
    fn greatest(self) -> u8 {
        match self {
            Format::E4M3 => 0x7e,
            Format::E5M2 => 0x7b,
        }
    }

    /// The number that these bits are, exactly.
    pub(crate) fn decode(self, bits: u8) -> f64 {
        let magnitude = bits & 0x7f;
        let number = if magnitude <= self.greatest() {
            let fraction_bits = self.fraction_bits();
            let bias = (1 << (6 - fraction_bits)) - 1;
            let (biased, fraction) =
                (i32::from(magnitude) >> fraction_bits, i32::from(magnitude) & ((1 << fraction_bits) - 1));
            // Subnormal numbers have the least exponent and no hidden bit.
            let significand = if biased == 0 { fraction } else { fraction | 1 << fraction_bits };
            f64::from(significand) * f64::from(biased.max(1) - bias - fraction_bits).exp2()
        } else if self == Format::E5M2 && magnitude == 0x7c {
            f64::INFINITY
        } else {
            f64::NAN
        };
        if bits & 0x80 != 0 { -number } else { number }
    }

    /// Rounds to nearest, ties to even; what is too large, infinity too, gives the greatest finite number.
    pub(crate) fn round(self, x: f64) -> u8 {
        if x.is_nan() {
            return NAN;
        }
        let magnitude = x.abs();
        // The numbers ascend as their bits do: find the first one that is not below.
        let (mut low, mut high) = (0, self.greatest());
        while low < high {
            let middle = (low + high) / 2;
            if self.decode(middle) < magnitude { low = middle + 1 } else { high = middle }
        }
        let mut nearest = low;
        if low > 0 {
            let (below, above) = (magnitude - self.decode(low - 1), self.decode(low) - magnitude);
            if below < above || below == above && low & 1 == 1 {
                nearest = low - 1;
            }
        }
        nearest | if x.is_sign_negative() { 0x80 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        for (format, bits, value) in [
            (Format::E4M3, 0x00, 0.0),
            (Format::E4M3, 0x01, 0.001953125),
            (Format::E4M3, 0x08, 0.015625),
            (Format::E4M3, 0x38, 1.0),
            (Format::E4M3, 0x7e, 448.0),
            (Format::E4M3, 0xb8, -1.0),
            (Format::E5M2, 0x01, 1.52587890625e-5),
            (Format::E5M2, 0x3c, 1.0),
            (Format::E5M2, 0x7b, 57344.0),
            (Format::E5M2, 0x7c, f64::INFINITY),
        ] {
            assert_eq!(format.decode(bits), value, "{format:?} {bits:#x}");
        }
        assert!(Format::E4M3.decode(0x7f).is_nan() && Format::E5M2.decode(0x7d).is_nan());
    }

    #[test]
    fn rounds_to_nearest_even_and_saturates() {
        for format in [Format::E4M3, Format::E5M2] {
            for bits in 0..=format.greatest() {
                let value = format.decode(bits);
                assert_eq!((format.round(value), format.round(-value)), (bits, bits | 0x80), "{format:?}");
                if bits < format.greatest() {
                    let middle = (value + format.decode(bits + 1)) / 2.0;
                    assert_eq!(format.round(middle), bits + (bits & 1), "{format:?} {middle}");
                    assert_eq!(format.round(middle.next_down()), bits);
                    assert_eq!(format.round(middle.next_up()), bits + 1);
                }
            }
            assert_eq!(format.round(f64::INFINITY), format.greatest());
            assert_eq!(format.round(-1e9), format.greatest() | 0x80);
            assert_eq!(format.round(f64::NAN), NAN);
        }
    }
}
