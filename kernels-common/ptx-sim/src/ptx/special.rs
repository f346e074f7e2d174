//! The names of special registers.

/// Special registers that are read as they are.
const SCALARS: &[&str] = &[
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%is_explicit_cluster",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_0",
    "%reserved_smem_offset_1",
    "%total_smem_size",
    "%aggr_smem_size",
    "%dynamic_smem_size",
    "%current_graph_exec",
];

/// Special registers with the components x, y, z and w.
const VECTORS: &[&str] =
    &["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"];

/// Whether `name`, with its suffix if it has one, is a special register or the constant `WARP_SZ`.
pub(super) fn is_special(name: &str) -> bool {
    if name == "WARP_SZ" || SCALARS.contains(&name) || VECTORS.contains(&name) {
        return true;
    }
    if let Some((vector, "x" | "y" | "z" | "w")) = name.split_once('.') {
        return VECTORS.contains(&vector);
    }
    let numbered = |prefix, count: u32| {
        name.strip_prefix(prefix)
            .filter(|digits| digits.len() == 1 || !digits.starts_with('0'))
            .and_then(|digits: &str| digits.parse().ok())
            .is_some_and(|number: u32| number < count)
    };
    numbered("%envreg", 32)
        || numbered("%pm", 8)
        || name
            .strip_suffix("_64")
            .is_some_and(|name| matches!(name.strip_prefix("%pm").map(str::as_bytes), Some([b'0'..=b'7'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["%tid", "%tid.x", "%nctaid.w", "%laneid", "%envreg0", "%envreg31", "%pm7", "%pm7_64", "WARP_SZ"] {
            assert!(is_special(name), "{name}");
        }
        for name in ["%tid.a", "%tidy", "%laneid.x", "%envreg32", "%envreg01", "%envreg", "%pm8", "%pm8_64", "%r1", "x"]
        {
            assert!(!is_special(name), "{name}");
        }
    }
}
