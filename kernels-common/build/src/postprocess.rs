//! Takes out of nvcc's output what depends on the machine.

/// nvcc's PTX without its opening comments, with stable names and no space at line ends.
/// `None` if it is not PTX. `digest` stands in for what nvcc derives from the path.
pub(crate) fn tidied(ptx: &str, digest: &str) -> Option<String> {
    let start = ptx.lines().position(|line| line.starts_with(".version "))?;
    let opening = ptx.lines().take(start);
    if !opening.map(str::trim).all(|line| line.is_empty() || line.starts_with("//")) {
        return None;
    }
    let lines: Vec<_> = ptx.lines().skip(start).map(str::trim_end).collect();
    let text = lines.join("\n");
    Some(with_stable_names(text.trim_end(), digest.get(..8)?) + "\n")
}

/// Names with internal linkage carry eight hex digits that nvcc computes from the absolute path of the
/// source (`_INTERNAL_536e7d0c_4_b_cu_k`, `_GLOBAL__N__536e7d0c_…`). Mangled names hold their own lengths,
/// so the digits are replaced by as many others.
fn with_stable_names(ptx: &str, digits: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut rest = ptx;
    while let Some(at) =
        ["_INTERNAL_", "_GLOBAL__N__"].iter().filter_map(|mark| Some(rest.find(mark)? + mark.len())).min()
    {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        let is_hash =
            after.len() > 8 && after.as_bytes()[..8].iter().all(u8::is_ascii_hexdigit) && after.as_bytes()[8] == b'_';
        rest = if is_hash {
            text.push_str(digits);
            &after[8..]
        } else {
            after
        };
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_comments_and_trailing_space_go() {
        let ptx = "//\n// Compiler Build ID: CL-1\n\n.version 9.0\r\n.target sm_75 \n\n\n";
        assert_eq!(tidied(ptx, "0123456789").as_deref(), Some(".version 9.0\n.target sm_75\n"));
    }

    #[test]
    fn what_is_not_ptx_is_refused() {
        for text in ["", "hello\n", "\u{7f}ELF", "error: x\n.version 9.0\n", "// only\n"] {
            assert_eq!(tidied(text, "0123456789"), None, "{text:?}");
        }
    }

    #[test]
    fn names_lose_the_hash_of_the_path_and_nothing_else() {
        let name = |hash: &str| format!("mov _ZN27_INTERNAL_{hash}_4_b_cu_k29_GLOBAL__N__{hash}_4_b_cu_k6hiddenE;");
        assert_eq!(with_stable_names(&name("536e7d0c"), "01234567"), name("01234567"));
        for other in ["_INTERNAL_", "_INTERNAL_zzzzzzzz_", "_GLOBAL__N__12345678", "_INTERNAL_12é4567_"] {
            assert_eq!(with_stable_names(other, "01234567"), other);
        }
    }
}
