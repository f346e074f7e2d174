//! What a kernel's pointers point to, where its C++ name says it: PTX does not.

use crate::dtype::Dtype;

/// The elements that a pointer to a C++ type has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointee {
    /// The parameter's type as C++ has it, such as `float const*`.
    pub(crate) cpp: String,
    /// Element types whose bytes are such elements.
    dtypes: &'static [Dtype],
}

impl Pointee {
    /// Whether elements of this type can be what the kernel expects.
    pub(crate) fn allows(&self, dtype: Dtype) -> bool {
        self.dtypes.contains(&dtype)
    }

    /// The element type to name in messages.
    pub(crate) fn dtype(&self) -> Dtype {
        self.dtypes[0]
    }
}

/// For each parameter in `signature`, such as `saxpy(float, float const*, float*, int)`, what it points to, if it is a
/// pointer to numbers of a plain type. Bytes, structures and vectors may hold anything, and are left out.
pub(crate) fn pointees(signature: &str) -> Vec<Option<Pointee>> {
    parameters(signature).into_iter().map(pointee).collect()
}

fn pointee(cpp: &str) -> Option<Pointee> {
    let element = cpp.strip_suffix('*')?;
    let element = element.strip_suffix("volatile").unwrap_or(element).trim_end();
    let element = element.strip_suffix("const").unwrap_or(element).trim_end();
    let dtypes: &[Dtype] = match element {
        "float" => &[Dtype::F32],
        "double" => &[Dtype::F64],
        "__half" => &[Dtype::F16],
        "__nv_bfloat16" => &[Dtype::Bf16],
        "short" => &[Dtype::I16, Dtype::U16],
        "unsigned short" => &[Dtype::U16, Dtype::I16],
        "int" => &[Dtype::I32, Dtype::U32],
        "unsigned int" => &[Dtype::U32, Dtype::I32],
        "long" | "long long" => &[Dtype::I64, Dtype::U64],
        "unsigned long" | "unsigned long long" => &[Dtype::U64, Dtype::I64],
        "bool" => &[Dtype::Bool, Dtype::U8, Dtype::I8],
        _ => return None,
    };
    Some(Pointee { cpp: cpp.to_owned(), dtypes })
}

/// The list at the end of a demangled name, split at its own commas.
fn parameters(signature: &str) -> Vec<&str> {
    let mut depth = 0u32;
    let Some(list) = signature.strip_suffix(')') else { return Vec::new() };
    let mut parts = Vec::new();
    let mut end = list.len();
    // From the end, where the innermost bracket that is open is the list's own.
    for (place, each) in list.char_indices().rev() {
        match each {
            ')' | '>' | ']' => depth += 1,
            '(' if depth == 0 => {
                parts.push(list[place + 1..end].trim());
                break;
            }
            '(' | '<' | '[' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(list[place + 1..end].trim());
                end = place;
            }
            _ => {}
        }
    }
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_at_their_own_commas() {
        for (signature, expected) in [
            ("f(int, float const*)", vec!["int", "float const*"]),
            ("ns::f<A<int, 2>, (B)3>(A<int, 2>*, void (*)(int, int))", vec!["A<int, 2>*", "void (*)(int, int)"]),
            ("(anonymous namespace)::f(int)", vec!["int"]),
            ("f()", vec![""]),
            ("f", vec![]),
            (")", vec![]),
        ] {
            assert_eq!(parameters(signature), expected, "{signature}");
        }
    }

    #[test]
    fn only_pointers_to_plain_numbers_are_known() {
        let known = |cpp: &str| pointee(cpp).map(|pointee| pointee.dtype());
        for (cpp, dtype) in [
            ("float*", Some(Dtype::F32)),
            ("float const*", Some(Dtype::F32)),
            ("unsigned int volatile*", Some(Dtype::U32)),
            ("double const volatile*", Some(Dtype::F64)),
            ("unsigned long long*", Some(Dtype::U64)),
            ("__half const*", Some(Dtype::F16)),
            ("float", None),
            ("float**", None),
            ("float4*", None),
            ("unsigned char*", None),
            ("void*", None),
            ("ns::float*", None),
        ] {
            assert_eq!(known(cpp), dtype, "{cpp}");
        }
        let unsigned = pointee("unsigned int*").unwrap();
        assert!(unsigned.allows(Dtype::I32) && !unsigned.allows(Dtype::F32) && !unsigned.allows(Dtype::U64));
    }
}
