//! Shapes of grids and blocks.

use crate::number;

/// Reads `X`, `X,Y` or `X,Y,Z`. Each is a number, or `N/B`: N divided by B and rounded up.
///
/// # Errors
/// What cannot be read.
pub(crate) fn parse(text: &str) -> Result<[u32; 3], String> {
    let mut shape = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > shape.len() {
        return Err(format!("`{text}` has more than three dimensions: write X, X,Y or X,Y,Z"));
    }
    for (count, part) in shape.iter_mut().zip(parts) {
        *count = extent(part).ok_or_else(|| {
            format!("`{part}` is no number from 1 to {}: write one, or N/B for N divided by B and rounded up", u32::MAX)
        })?;
    }
    Ok(shape)
}

fn extent(text: &str) -> Option<u32> {
    let positive = |text: &str| u64::try_from(number::integer(text)?).ok().filter(|&count| count > 0);
    let count = match text.split_once('/') {
        Some((count, block)) => positive(count)?.div_ceil(positive(block)?),
        None => positive(text)?,
    };
    u32::try_from(count).ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn shapes() {
        for (text, shape) in [
            ("4", [4, 1, 1]),
            ("4,2", [4, 2, 1]),
            ("4,2,3", [4, 2, 3]),
            ("1000/256", [4, 1, 1]),
            ("1024/256", [4, 1, 1]),
            ("2^20/256,65/32", [4096, 3, 1]),
            ("4294967295", [u32::MAX, 1, 1]),
        ] {
            assert_eq!(parse(text), Ok(shape), "{text}");
        }
        for text in ["", "0", "-1", "4,", "4,,2", "4/0", "0/4", "4294967296", "x", "1/2/3", "2.5"] {
            assert!(parse(text).unwrap_err().contains("is no number from 1 to"), "{text}");
        }
        assert!(parse("1,2,3,4").unwrap_err().contains("more than three dimensions"));
    }
}
