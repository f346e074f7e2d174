//! Kernels by the names that people use: C++ names are mangled in PTX.

use ptx_sim::ptx::{KernelSignature, Module};

use crate::names::{display_name, path};

/// Messages that say which kernels there are list at most this many.
const LISTED: usize = 20;

/// Why there is no telling which kernel is meant.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KernelError {
    #[error("{module} has no kernels")]
    None { module: String },
    #[error("{module} has several kernels: name one of them after the file{}", list(.kernels))]
    Several { module: String, kernels: Vec<String> },
    #[error("{module} has no kernel `{wanted}`; it has{}", list(.kernels))]
    Unknown { module: String, wanted: String, kernels: Vec<String> },
    #[error("several kernels of {module} are called `{wanted}`: write more of the name of one{}", list(.kernels))]
    Ambiguous { module: String, wanted: String, kernels: Vec<String> },
}

impl KernelError {
    /// Whether another command line would do, rather than another file.
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(self, KernelError::None { .. })
    }
}

fn list(kernels: &[String]) -> String {
    let mut text: String = kernels.iter().take(LISTED).map(|kernel| format!("\n    {kernel}")).collect();
    if kernels.len() > LISTED {
        text += &format!("\n    and {} more", kernels.len() - LISTED);
    }
    text
}

/// `ns::f<int>` without namespaces and template arguments: `f`.
fn base(path: &str) -> &str {
    let (mut depth, mut start, mut end) = (0u32, 0, path.len());
    for (place, each) in path.char_indices() {
        match each {
            '<' | '(' => {
                if depth == 0 && each == '<' {
                    end = place;
                }
                depth += 1;
            }
            '>' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => (start, end) = (place + 1, path.len()),
            _ => {}
        }
    }
    &path[start..end]
}

/// The kernel that `wanted` means, or the only one. An exact name comes before the name of a function, that before one
/// without namespace and template arguments, and that before any part of a name.
pub(crate) fn find<'a>(module: &'a Module, wanted: Option<&str>) -> Result<&'a KernelSignature, KernelError> {
    struct Named<'a> {
        signature: &'a KernelSignature,
        display: String,
        path: String,
    }
    let name = || module.name().to_owned();
    let kernels: Vec<Named> = module
        .kernels()
        .map(|signature| Named {
            signature,
            display: display_name(&signature.name),
            path: path(&signature.name).unwrap_or_else(|| signature.name.to_string()),
        })
        .collect();
    let names = |kernels: &[&Named]| kernels.iter().map(|kernel| kernel.display.clone()).collect::<Vec<_>>();
    let all: Vec<&Named> = kernels.iter().collect();
    let Some(wanted) = wanted else {
        return match kernels.as_slice() {
            [] => Err(KernelError::None { module: name() }),
            [only] => Ok(only.signature),
            _ => Err(KernelError::Several { module: name(), kernels: names(&all) }),
        };
    };
    // Spaces in template arguments are a matter of taste.
    let squeeze = |text: &str| text.replace(' ', "");
    let squeezed = squeeze(wanted);
    let matches: [&dyn Fn(&Named) -> bool; 4] = [
        &|kernel| *kernel.signature.name == *wanted || squeeze(&kernel.display) == squeezed,
        &|kernel| squeeze(&kernel.path) == squeezed,
        &|kernel| base(&kernel.path) == wanted,
        &|kernel| squeeze(&kernel.display).contains(&squeezed) || kernel.signature.name.contains(wanted),
    ];
    for matching in matches {
        let found: Vec<&Named> = kernels.iter().filter(|kernel| matching(kernel)).collect();
        match found.as_slice() {
            [] => {}
            [only] => return Ok(only.signature),
            _ => {
                let (module, wanted, kernels) = (name(), wanted.to_owned(), names(&found));
                return Err(KernelError::Ambiguous { module, wanted, kernels });
            }
        }
    }
    match kernels.as_slice() {
        [] => Err(KernelError::None { module: name() }),
        _ => Err(KernelError::Unknown { module: name(), wanted: wanted.to_owned(), kernels: names(&all) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases() {
        for (path, expected) in [
            ("f", "f"),
            ("ns::f", "f"),
            ("f<ns::T>", "f"),
            ("a<b::c>::f<d>", "f"),
            ("(anonymous namespace)::f", "f"),
            ("", ""),
        ] {
            assert_eq!(base(path), expected, "{path}");
        }
    }

    fn module(names: &[&str]) -> Module {
        let entries: String = names.iter().map(|name| format!(".visible .entry {name}() {{ ret; }}\n")).collect();
        Module::parse("a.ptx", &format!(".version 7.0\n.target sm_75\n.address_size 64\n{entries}")).unwrap()
    }

    #[test]
    fn kernels_by_all_their_names() {
        let names = [
            "_Z5saxpyfPKfPfi",
            "_ZN2ns3addIfEEvPT_",
            "_ZN2ns3addIiEEvPT_",
            "scale",
            "scale_all",
            "_ZN2ns4fillEv",
            "_ZN2ns5fillsEv",
        ];
        let module = module(&names);
        let found = |wanted: &str| find(&module, Some(wanted)).map(|kernel| &*kernel.name);
        for (wanted, expected) in [
            ("saxpy", names[0]),
            ("_Z5saxpyfPKfPfi", names[0]),
            ("saxpy(float, float const*, float*, int)", names[0]),
            ("sax", names[0]),
            ("ns::add<float>", names[1]),
            ("add<int>", names[2]),
            ("add< int >", names[2]),
            // The whole name, though it is part of another one.
            ("scale", names[3]),
            ("scale_", names[4]),
            // Neither its path nor the only one with these letters.
            ("fill", names[5]),
        ] {
            assert_eq!(found(wanted).unwrap(), expected, "{wanted}");
        }
        let ambiguous = found("add").unwrap_err();
        assert!(ambiguous.is_usage());
        let text = ambiguous.to_string();
        assert!(text.contains("several kernels of a.ptx are called `add`") && text.contains("ns::add<int>"), "{text}");
        let unknown = found("dot").unwrap_err().to_string();
        assert!(unknown.contains("has no kernel `dot`") && unknown.contains("\n    scale_all\n"), "{unknown}");
        assert!(find(&module, None).unwrap_err().to_string().contains("several kernels: name one of them"));
    }

    #[test]
    fn one_kernel_needs_no_name_and_none_is_the_files_fault() {
        assert_eq!(&*find(&module(&["f"]), None).unwrap().name, "f");
        let none = find(&module(&[]), None).unwrap_err();
        assert!(!none.is_usage() && none.to_string() == "a.ptx has no kernels");
        assert!(!find(&module(&[]), Some("f")).unwrap_err().is_usage());
        let names: Vec<String> = (0..25).map(|number| format!("k{number}")).collect();
        let many = module(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(find(&many, None).unwrap_err().to_string().ends_with("\n    and 5 more"));
    }
}
