//! The page `docs/faults.md` names the tests that hold its promises, and `docs/simulator.md` does. They exist.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The texts in back quotes that name a Rust source, or a function in one as `path::function`.
fn references(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).filter(|text| text.contains(".rs")).collect()
}

/// The lines of the tables, without their heads.
fn rows(page: &str) -> Vec<&str> {
    let is_head = |line: &str| line.starts_with("|---") || line.starts_with("| Kind |");
    page.lines().filter(|line| line.starts_with('|') && !is_head(line)).collect()
}

/// Whether `function` is a test in `source`: a function of that name with `#[test]` among the attributes before it, or
/// one of those that `sum_tests!` makes there.
fn is_test(source: &str, function: &str) -> bool {
    if source.contains("kernels_common::sum_tests!(") && is_made_by_sum_tests(function) {
        return true;
    }
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let Some(place) = lines.iter().position(|line| line.starts_with(&format!("fn {function}("))) else { return false };
    let before = lines[..place].iter().rev().take_while(|line| line.starts_with('#') || line.starts_with("//"));
    before.into_iter().any(|&line| line == "#[test]")
}

/// Whether the macro's text has the name.
fn is_made_by_sum_tests(function: &str) -> bool {
    let source = include_str!("../src/testing/sums.rs");
    let text = source.split_once("macro_rules! sum_tests {").unwrap().1.split_once("\n}\n").unwrap().0;
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == function)
}

/// What a page names that is not there.
fn missing(page: &str) -> Vec<&str> {
    let root = root();
    let mut sources: HashMap<&str, String> = HashMap::new();
    let mut missing = Vec::new();
    for reference in page.lines().flat_map(references) {
        let (path, function) = match reference.split_once("::") {
            Some((path, function)) => (path, Some(function)),
            None => (reference, None),
        };
        let source =
            sources.entry(path).or_insert_with(|| std::fs::read_to_string(root.join(path)).unwrap_or_default());
        if source.is_empty() || function.is_some_and(|function| !is_test(source, function)) {
            missing.push(reference);
        }
    }
    missing
}

#[test]
fn every_test_on_the_page_exists() {
    for page in ["docs/faults.md", "docs/simulator.md"] {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        assert!(text.contains(".rs::"), "{page} names no tests");
        let missing = missing(&text);
        assert!(missing.is_empty(), "{page} names what is not there: {missing:#?}");
    }
}

#[test]
fn every_fault_on_the_page_names_a_test() {
    let page = std::fs::read_to_string(root().join("docs/faults.md")).unwrap();
    let rows = rows(&page);
    assert!(rows.len() > 40, "{} rows", rows.len());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let last = cells.last().unwrap();
        let named = references(last).len();
        assert!(named > 0 && last.matches('`').count() == 2 * named, "no test in the last column of: {row}");
    }
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    assert!(summary.contains("(faults.md)"));
}

#[test]
fn what_is_no_test_is_noticed() {
    let source =
        "#[test]\nfn one() {}\n\n/// A helper.\nfn two() {}\n\n#[test]\n#[cfg(unix)]\n/// Three.\nfn three() {}\n";
    assert!(is_test(source, "one") && is_test(source, "three"));
    assert!(!is_test(source, "two") && !is_test(source, "tw") && !is_test(source, "four"));
    assert_eq!(references("| a | `b` | `c.rs::d`, `e/f.rs` |"), ["c.rs::d", "e/f.rs"]);
}
