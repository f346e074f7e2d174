//! What the README and the book show of code and manifests is what is compiled and tested.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.replace("\r\n", "\n")
}

/// The code blocks of a page that follow a line with a file's name alone: `` `src/lib.rs`: ``.
fn files(page: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut parts = page.split("```");
    while let (Some(prose), Some(block)) = (parts.next(), parts.next()) {
        let above = prose.trim_end().lines().next_back().unwrap_or_default();
        let name = above.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:"));
        if let (Some(name), Some((_, text))) = (name, block.split_once('\n')) {
            assert!(files.insert(name.to_owned(), text.to_owned()).is_none(), "{name} twice");
        }
    }
    files
}

#[test]
fn the_crate_in_the_book_is_the_one_that_is_tested() {
    let example = root().join("kernels-common/build/tests/saxpy");
    let page = files(&read(&root().join("docs/your-own-kernel.md")));
    let names: Vec<_> = page.keys().map(String::as_str).collect();
    assert_eq!(names, ["Cargo.toml", "build.rs", "src/lib.rs", "src/saxpy.cu", "tests/properties.rs"]);
    for (name, shown) in page {
        let mut real = read(&example.join(&name));
        if name == "Cargo.toml" {
            // The only difference: where the crates come from.
            for (package, path) in [("common", "\"../../..\""), ("build", "\"../..\"")] {
                let (from, to) = (
                    format!("kernels-{package} = {{ path = {path}"),
                    format!("kernels-{package} = {{ git = \"…\", rev = \"…\""),
                );
                assert!(real.contains(&from), "{real}");
                real = real.replace(&from, &to);
            }
        }
        assert_eq!(shown, real, "docs/your-own-kernel.md shows another {name} than kernels-common/build/tests/saxpy");
    }
}

#[test]
fn the_profiles_to_copy_are_those_of_the_workspace() {
    let (readme, manifest) = (read(&root().join("README.md")), read(&root().join("Cargo.toml")));
    let block = readme.split("```").find_map(|part| part.strip_prefix("toml\n[profile.")).expect("a block of profiles");
    let block = format!("[profile.{block}");
    let profiles: Vec<_> = block.trim().split("\n\n").collect();
    assert!(profiles.iter().any(|profile| profile.contains("ptx-sim")), "{block}");
    for profile in profiles {
        assert!(
            manifest.contains(&format!("\n{profile}\n\n")),
            "Cargo.toml has other lines than README.md:\n{profile}"
        );
    }
}

#[test]
fn the_readme_lists_every_kernel_crate() {
    let readme = read(&root().join("README.md"));
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let row = format!("| [`crates/{name}`](crates/{name}) |");
        assert!(readme.contains(&row), "README.md has no row for crates/{name}");
    }
}

/// The pages of the book that `docs/SUMMARY.md` lists are those that there are.
#[test]
fn the_summary_lists_every_page() {
    let docs = root().join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    let mut listed: Vec<_> = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    listed.sort_unstable();
    let mut pages = Vec::new();
    for folder in ["", "bench/"] {
        for entry in fs::read_dir(docs.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") && name != "SUMMARY.md" {
                pages.push(format!("{folder}{name}"));
            }
        }
    }
    pages.sort_unstable();
    assert_eq!(listed, pages);
}
