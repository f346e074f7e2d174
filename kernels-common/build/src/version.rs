//! Lowers the `.version` directive, so that older drivers load the PTX.
//!
//! nvcc writes the newest version it knows whatever the code needs, and a driver refuses what is newer than
//! itself. ptxas knows which instruction came with which version; so it is asked.

/// The versions there are, from the first that knows a target of interest (6.3 knows `sm_75`).
const VERSIONS: [(u32, u32); 22] = [
    (6, 3),
    (6, 4),
    (6, 5),
    (7, 0),
    (7, 1),
    (7, 2),
    (7, 3),
    (7, 4),
    (7, 5),
    (7, 6),
    (7, 7),
    (7, 8),
    (8, 0),
    (8, 1),
    (8, 2),
    (8, 3),
    (8, 4),
    (8, 5),
    (8, 6),
    (8, 7),
    (8, 8),
    (9, 0),
];

/// The version that a PTX text states.
pub(crate) fn stated(ptx: &str) -> Option<(u32, u32)> {
    let (start, end) = place(ptx)?;
    let (major, minor) = ptx[start..end].split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The text with the least version below the stated one that `accepts`, or unchanged.
pub(crate) fn lowered<E>(ptx: &str, mut accepts: impl FnMut(&str) -> Result<bool, E>) -> Result<String, E> {
    if let (Some((start, end)), Some(now)) = (place(ptx), stated(ptx)) {
        for (major, minor) in VERSIONS.into_iter().filter(|&version| version < now) {
            let candidate = format!("{}{major}.{minor}{}", &ptx[..start], &ptx[end..]);
            if accepts(&candidate)? {
                return Ok(candidate);
            }
        }
    }
    Ok(ptx.to_owned())
}

/// Where the number stands.
fn place(ptx: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in ptx.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix(".version ") {
            let start = at + line.len() - rest.len();
            return Some((start, start + rest.trim_end().len()));
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const PTX: &str = "// .version 1.0\n.version 9.0\n.target sm_75\n";

    /// Accepts from `least` on.
    fn lower(ptx: &str, least: (u32, u32)) -> String {
        let accepts = |text: &str| Ok::<_, Infallible>(stated(text) >= Some(least));
        let Ok(text) = lowered(ptx, accepts);
        text
    }

    #[test]
    fn the_least_accepted_version_is_taken() {
        assert_eq!(lower(PTX, (6, 3)), PTX.replace("9.0", "6.3"));
        assert_eq!(lower(PTX, (7, 8)), PTX.replace("9.0", "7.8"));
        assert_eq!(lower(PTX, (9, 0)), PTX);
    }

    #[test]
    fn a_version_is_never_raised() {
        let old = PTX.replace("9.0", "6.0");
        assert_eq!(lower(&old, (6, 5)), old);
    }

    #[test]
    fn a_version_newer_than_the_list_is_lowered_too() {
        let new = PTX.replace("9.0", "10.2");
        assert_eq!(stated(&new), Some((10, 2)));
        assert_eq!(lower(&new, (8, 0)), PTX.replace("9.0", "8.0"));
        assert_eq!(lower(&new, (10, 0)), new);
    }

    #[test]
    fn failure_to_ask_is_passed_on() {
        assert_eq!(lowered(PTX, |_| Err("no ptxas")), Err("no ptxas"));
    }

    #[test]
    fn text_without_a_version_is_left_alone() {
        assert_eq!(stated("hello"), None);
        assert_eq!(lower("hello", (6, 3)), "hello");
    }
}
