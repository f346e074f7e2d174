//! Integers as people write them.

/// Reads `1000`, `-1`, `1_000_000`, `0xff` and `2^20`. Nothing else, and nothing past 127 bits.
pub(crate) fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = match (digits.strip_prefix("0x"), digits.split_once('^')) {
        (Some(hex), _) => natural(hex, 16)?,
        (None, Some((base, exponent))) => {
            natural(base, 10)?.checked_pow(u32::try_from(natural(exponent, 10)?).ok()?)?
        }
        (None, None) => natural(digits, 10)?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn natural(text: &str, radix: u32) -> Option<i128> {
    // `from_str_radix` would take a sign.
    if !text.starts_with(|first: char| first.is_digit(radix)) {
        return None;
    }
    i128::from_str_radix(&text.replace('_', ""), radix).ok()
}

#[cfg(test)]
mod tests {
    use super::integer;

    #[test]
    fn forms() {
        for (text, value) in
            [("0", 0), ("-1", -1), ("1_000_000", 1_000_000), ("0xFf", 255), ("-0x10", -16), ("2^20", 1 << 20)]
        {
            assert_eq!(integer(text), Some(value), "{text}");
        }
        for text in ["", "-", "+1", "--1", "0x", "0x-1", "_1", "1.0", "1e3", "2^", "^2", "2^-1", "2^127", "x", " 1"] {
            assert_eq!(integer(text), None, "{text}");
        }
        assert_eq!(integer(&"9".repeat(60)), None);
    }
}
