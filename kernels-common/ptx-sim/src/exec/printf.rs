//! What `printf` in a kernel prints.
//!
//! The format is that of C: flags `-+ #0`, width and precision (also `*`), the lengths `hh`, `h`, `l`, `ll`, `j`, `z`
//! and `t`, and the conversions `d i o u x X c s p f F e E g G a A %`. Whatever else follows a `%` is printed as it is.

/// An argument of a conversion, as the compiler passes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    /// 32 bits.
    Word,
    /// 64 bits: an integer, a pointer or a double.
    Long,
    /// The address of a text.
    Text,
}

impl Argument {
    pub(super) fn bytes(self) -> u64 {
        if self == Argument::Word { 4 } else { 8 }
    }
}

/// The value of an argument.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Bits(u64),
    Text(String),
}

/// Characters that one conversion may be wide or precise, so that a stray `*` does not fill the memory.
const MAX_WIDTH: usize = 1 << 12;

#[derive(Clone, Copy, Debug, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// The text of `format`, for which `next` gives the arguments one after another. Once it is longer than `most` bytes the
/// rest is left out.
pub(super) fn format<E>(
    format: &str,
    most: usize,
    mut next: impl FnMut(Argument) -> Result<Value, E>,
) -> Result<String, E> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(percent) = rest.find('%') {
        if out.len() > most {
            return Ok(out);
        }
        out.push_str(&rest[..percent]);
        let start = &rest[percent..];
        let mut chars = start[1..].chars().peekable();
        let mut spec = Spec::default();
        let mut bits = |argument| {
            Ok(match next(argument)? {
                Value::Bits(bits) => bits,
                Value::Text(_) => 0,
            })
        };
        while let Some(flag) = chars.next_if(|char| "-+ #0".contains(*char)) {
            match flag {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '#' => spec.alternate = true,
                _ => spec.zero = true,
            }
        }
        if chars.next_if_eq(&'*').is_some() {
            let width = bits(Argument::Word)? as i32;
            spec.left |= width < 0;
            spec.width = width.unsigned_abs() as usize;
        } else {
            spec.width = number(&mut chars);
        }
        if chars.next_if_eq(&'.').is_some() {
            spec.precision = if chars.next_if_eq(&'*').is_some() {
                usize::try_from(bits(Argument::Word)? as i32).ok()
            } else {
                Some(number(&mut chars))
            };
        }
        spec.width = spec.width.min(MAX_WIDTH);
        spec.precision = spec.precision.map(|precision| precision.min(MAX_WIDTH));
        let mut length = String::new();
        while let Some(part) = chars.next_if(|char| "hljzt".contains(*char)) {
            length.push(part);
        }
        let integer = match &*length {
            "" | "h" | "hh" => Argument::Word,
            _ => Argument::Long,
        };
        let Some(conversion) = chars.next() else {
            out.push_str(start);
            return Ok(out);
        };
        match conversion {
            'd' | 'i' => {
                let bits = bits(integer)?;
                let value = match &*length {
                    "hh" => i64::from(bits as i8),
                    "h" => i64::from(bits as i16),
                    "" => i64::from(bits as i32),
                    _ => bits as i64,
                };
                let sign = sign(value < 0, &spec);
                pad_integer(&mut out, &spec, sign, &value.unsigned_abs().to_string());
            }
            'u' | 'o' | 'x' | 'X' => {
                let bits = bits(integer)?;
                let value = match &*length {
                    "hh" => bits & 0xff,
                    "h" => bits & 0xffff,
                    "" => bits & 0xffff_ffff,
                    _ => bits,
                };
                let (prefix, digits) = match conversion {
                    'u' => ("", value.to_string()),
                    'o' if spec.alternate && value != 0 => ("", format!("0{value:o}")),
                    'o' => ("", format!("{value:o}")),
                    'x' => (if spec.alternate && value != 0 { "0x" } else { "" }, format!("{value:x}")),
                    _ => (if spec.alternate && value != 0 { "0X" } else { "" }, format!("{value:X}")),
                };
                pad_integer(&mut out, &spec, prefix, &digits);
            }
            'p' => {
                let digits = format!("{:x}", bits(Argument::Long)?);
                pad_integer(&mut out, &spec, "0x", &digits);
            }
            'c' => {
                let char = char::from(bits(Argument::Word)? as u8);
                pad(&mut out, &Spec { zero: false, ..spec }, "", &char.to_string());
            }
            's' => {
                if let Value::Text(text) = next(Argument::Text)? {
                    let text: String = text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect();
                    pad(&mut out, &Spec { zero: false, ..spec }, "", &text);
                }
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
                let value = f64::from_bits(bits(Argument::Long)?);
                let sign = sign(value.is_sign_negative(), &spec);
                let (mut digits, mut spec, mut prefix) = (String::new(), spec, sign.to_owned());
                if value.is_finite() {
                    digits = match conversion.to_ascii_lowercase() {
                        'f' => fixed(value.abs(), &spec),
                        'e' => scientific(value.abs(), spec.precision.unwrap_or(6), spec.alternate),
                        'g' => general(value.abs(), &spec),
                        _ => {
                            prefix.push_str("0x");
                            hexadecimal(value.abs(), &spec)
                        }
                    };
                } else {
                    digits.push_str(if value.is_nan() { "nan" } else { "inf" });
                    spec.zero = false;
                }
                if conversion.is_ascii_uppercase() {
                    digits.make_ascii_uppercase();
                    prefix.make_ascii_uppercase();
                }
                pad(&mut out, &spec, &prefix, &digits);
            }
            '%' => out.push('%'),
            _ => out.push_str(&start[..start.len() - chars.clone().map(char::len_utf8).sum::<usize>()]),
        }
        rest = &start[start.len() - chars.map(char::len_utf8).sum::<usize>()..];
    }
    out.push_str(rest);
    Ok(out)
}

fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> usize {
    let mut value = 0usize;
    while let Some(digit) = chars.next_if(char::is_ascii_digit) {
        value = value.saturating_mul(10).saturating_add(digit as usize - '0' as usize);
    }
    value
}

fn sign(negative: bool, spec: &Spec) -> &'static str {
    match negative {
        true => "-",
        false if spec.plus => "+",
        false if spec.space => " ",
        false => "",
    }
}

/// Appends `prefix` and `digits` with at least as many digits as the precision asks for.
fn pad_integer(out: &mut String, spec: &Spec, prefix: &str, digits: &str) {
    match spec.precision {
        // Nothing stands for a zero that needs no digits.
        Some(0) if digits == "0" => pad(out, &Spec { zero: false, ..*spec }, prefix, ""),
        Some(precision) => {
            let digits = format!("{}{digits}", "0".repeat(precision.saturating_sub(digits.len())));
            pad(out, &Spec { zero: false, ..*spec }, prefix, &digits);
        }
        None => pad(out, spec, prefix, digits),
    }
}

/// Appends `prefix` and `text`, filled up to the width.
fn pad(out: &mut String, spec: &Spec, prefix: &str, text: &str) {
    let missing = spec.width.saturating_sub(prefix.len() + text.chars().count());
    match (spec.left, spec.zero) {
        (true, _) => out.extend([prefix, text, &" ".repeat(missing)]),
        (false, true) => out.extend([prefix, &"0".repeat(missing), text]),
        (false, false) => out.extend([&" ".repeat(missing), prefix, text]),
    }
}

fn fixed(value: f64, spec: &Spec) -> String {
    let precision = spec.precision.unwrap_or(6);
    let point = if precision == 0 && spec.alternate { "." } else { "" };
    format!("{value:.precision$}{point}")
}

fn scientific(value: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if precision == 0 && alternate { "." } else { "" };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}{point}e{sign}{exponent:0>2}")
}

fn general(value: f64, spec: &Spec) -> String {
    let precision = spec.precision.unwrap_or(6).max(1);
    let text = scientific(value, precision - 1, spec.alternate);
    let exponent: i64 = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let is_fixed = (-4..precision as i64).contains(&exponent);
    let text = if is_fixed {
        fixed(value, &Spec { precision: Some((precision as i64 - 1 - exponent) as usize), ..*spec })
    } else {
        text
    };
    if spec.alternate {
        return text;
    }
    // Zeros at the end of the fraction go.
    let (digits, rest) = text.split_once('e').map_or((&*text, String::new()), |(digits, e)| (digits, format!("e{e}")));
    let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits}{rest}")
}

/// `h.hhhp±d`, without the `0x`.
fn hexadecimal(value: f64, spec: &Spec) -> String {
    const FRACTION: u32 = 52;
    let bits = value.to_bits();
    let (biased, fraction) = (bits >> FRACTION, bits & ((1 << FRACTION) - 1));
    let (exponent, mut significand) = match (biased, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (-1022, fraction),
        _ => (biased as i64 - 1023, fraction | 1 << FRACTION),
    };
    let digits = match spec.precision {
        Some(precision) if precision < 13 => {
            let drop = FRACTION - 4 * precision as u32;
            let (half, rest) = (1u64 << (drop - 1), significand & ((1 << drop) - 1));
            let odd = significand >> drop & 1 == 1;
            significand = (significand >> drop) + u64::from(rest > half || rest == half && odd);
            significand <<= drop;
            precision
        }
        Some(precision) => precision,
        None => 13,
    };
    let mut text = format!("{:013x}", significand & ((1 << FRACTION) - 1));
    text = format!("{text:0<digits$}");
    text.truncate(digits);
    if spec.precision.is_none() {
        text.truncate(text.trim_end_matches('0').len());
    }
    let point = if text.is_empty() && !spec.alternate { "" } else { "." };
    format!("{}{point}{text}p{exponent:+}", significand >> FRACTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str, arguments: &[Value]) -> String {
        let mut arguments = arguments.iter().cloned();
        format::<()>(text, usize::MAX, |_| arguments.next().ok_or(())).unwrap()
    }

    fn int(text: &str, value: i64) -> String {
        print(text, &[Value::Bits(value as u64)])
    }

    fn real(text: &str, value: f64) -> String {
        print(text, &[Value::Bits(value.to_bits())])
    }

    // The expected texts are those of the C library.

    #[test]
    fn integers() {
        for (format, value, expected) in [
            ("%d", -5, "-5"),
            ("%5d|", 42, "   42|"),
            ("%-5d|", 42, "42   |"),
            ("%05d", -42, "-0042"),
            ("%+d", 42, "+42"),
            ("% d", 42, " 42"),
            ("%.4d", 42, "0042"),
            ("%8.4d", -42, "   -0042"),
            ("%.0d|", 0, "|"),
            ("%u", -1, "4294967295"),
            ("%lu", -1, "18446744073709551615"),
            ("%lld", i64::MIN, "-9223372036854775808"),
            ("%hd", 0x18000, "-32768"),
            ("%hhu", 0x1ff, "255"),
            ("%x", 0xbeef, "beef"),
            ("%#X", 0xbeef, "0XBEEF"),
            ("%#010x", 0xbeef, "0x0000beef"),
            ("%#o", 8, "010"),
            ("%c!", 65, "A!"),
            ("%p", 0x1000, "0x1000"),
            ("100%%", 0, "100%"),
            ("%q %d", 7, "%q 7"),
            ("%", 0, "%"),
        ] {
            assert_eq!(int(format, value), expected, "{format} of {value}");
        }
        assert_eq!(print("%*.*d|", &[6, 3, 7].map(Value::Bits)), "   007|");
        assert_eq!(print("%*d|", &[-4i64 as u64, 7].map(Value::Bits)), "7   |");
    }

    #[test]
    fn texts() {
        let text = |format| print(format, &[Value::Text("block".to_owned())]);
        assert_eq!(text("<%s>"), "<block>");
        assert_eq!(text("<%8s>"), "<   block>");
        assert_eq!(text("<%-8.3s>"), "<blo     >");
    }

    #[test]
    fn reals() {
        for (format, value, expected) in [
            ("%f", 0.5, "0.500000"),
            ("%.0f", 2.5, "2"),
            ("%.2f", -1.005, "-1.00"),
            ("%8.3f|", 7.12345, "   7.123|"),
            ("%08.2f", -7.12345, "-0007.12"),
            ("%#.0f", 3.0, "3."),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.2E", 0.000123, "1.23E-04"),
            ("%e", 0.0, "0.000000e+00"),
            ("%g", 100000.0, "100000"),
            ("%g", 1000000.0, "1e+06"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%g", 0.1 + 0.2, "0.3"),
            ("%.10g", 0.1 + 0.2, "0.3"),
            ("%.17g", 0.1 + 0.2, "0.30000000000000004"),
            ("%#g", 1.0, "1.00000"),
            ("%a", 1.0, "0x1p+0"),
            ("%a", 0.1, "0x1.999999999999ap-4"),
            ("%.2a", 0.1, "0x1.9ap-4"),
            ("%.0a", 1.5, "0x2p+0"),
            ("%a", 5e-324, "0x0.0000000000001p-1022"),
            ("%f", f64::INFINITY, "inf"),
            ("%05F", f64::NEG_INFINITY, " -INF"),
            ("%g", f64::NAN, "nan"),
        ] {
            assert_eq!(real(format, value), expected, "{format} of {value}");
        }
    }

    #[test]
    fn what_is_too_long_is_not_made() {
        let mut taken = 0;
        let mut next = |_| {
            taken += 1;
            Ok::<_, ()>(Value::Text("x".repeat(1000)))
        };
        let text = format(&"%s".repeat(1000), 2500, &mut next).unwrap();
        assert_eq!((text.len(), taken), (3000, 3));
    }
}
