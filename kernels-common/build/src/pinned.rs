//! The pinned compiler: one list, which `cuda-compiler.sh` beside it installs from.

/// The list as it stands in the repository.
pub(crate) const PACKAGES: &str = include_str!("../cuda-compiler.txt");

/// The version of the pinned nvcc, e.g. `13.0.88`.
pub(crate) const NVCC: &str = version_of("nvidia-cuda-nvcc==", PACKAGES);

/// The pinned packages, without comments and blank lines.
pub(crate) fn packages() -> impl Iterator<Item = &'static str> {
    PACKAGES.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The rest of the line in `list` that starts with `prefix`; a list without one does not compile.
const fn version_of(prefix: &str, list: &'static str) -> &'static str {
    let mut rest = list;
    loop {
        let (line, after) = split_line(rest);
        if starts_with(line, prefix) {
            return line.split_at(prefix.len()).1;
        }
        assert!(!after.is_empty(), "cuda-compiler.txt pins no nvcc");
        rest = after;
    }
}

const fn split_line(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && bytes[at] != b'\n' {
        at += 1;
    }
    let (line, rest) = text.split_at(at);
    if rest.is_empty() { (line, rest) } else { (line, rest.split_at(1).1) }
}

const fn starts_with(text: &str, prefix: &str) -> bool {
    let (text, prefix) = (text.as_bytes(), prefix.as_bytes());
    if text.len() < prefix.len() {
        return false;
    }
    let mut at = 0;
    while at < prefix.len() {
        if text[at] != prefix[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvcc_is_pinned_to_three_numbers() {
        let numbers: Vec<_> = NVCC.split('.').map(str::parse::<u32>).collect();
        assert_eq!(numbers.len(), 3, "{NVCC}");
        assert!(numbers.iter().all(Result::is_ok), "{NVCC}");
    }

    #[test]
    fn every_package_is_pinned_exactly() {
        assert!(packages().count() >= 5);
        for package in packages() {
            assert!(package.contains("=="), "{package}");
        }
    }
}
