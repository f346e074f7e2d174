//! Names as C++ has them: those in PTX are mangled.

use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, Symbol};

/// The C++ name with parameters, if `name` is one that a C++ compiler made.
pub(crate) fn demangled(name: &str) -> Option<String> {
    demangled_with(name, DemangleOptions::new().no_return_type())
}

/// The C++ name without parameters, if `name` is one that a C++ compiler made.
pub(crate) fn path(name: &str) -> Option<String> {
    demangled_with(name, DemangleOptions::new().no_params().no_return_type())
}

/// The name that people know a function by: with its parameters where it has a C++ name.
pub(crate) fn display_name(name: &str) -> String {
    demangled(name).unwrap_or_else(|| name.to_owned())
}

/// A message whose mangled names, in backquotes, stand behind those of C++. A variable of a function, which has no
/// name outside of it, is only called by its own.
pub(crate) fn with_cpp_names(message: &str) -> String {
    let quoted = |name: &str| match variable(name) {
        Some((variable, function)) => format!("`{variable}` of `{function}`"),
        None => demangled(name).map_or_else(|| format!("`{name}`"), |known| format!("`{known}` (`{name}`)")),
    };
    // Every second part stands between two backquotes, but what follows one that is never closed.
    let parts: Vec<&str> = message.split('`').collect();
    let known = parts.iter().enumerate().map(|(place, part)| match place % 2 {
        0 => (*part).to_owned(),
        _ if place + 1 == parts.len() => format!("`{part}"),
        _ => quoted(part),
    });
    known.collect()
}

/// A variable of a function, such as a shared array, and the function without its parameters.
fn variable(name: &str) -> Option<(String, String)> {
    // A local name: the encoding of the function stands between `Z` and `E`.
    let path = path(name).filter(|_| name.starts_with("_ZZ"))?;
    let (function, variable) = path.rsplit_once("::")?;
    Some((variable.to_owned(), without_parameters(function).to_owned()))
}

/// `f(int (*)(int))` without the parentheses at its end: `f`.
fn without_parameters(function: &str) -> &str {
    if !function.ends_with(')') {
        return function;
    }
    let mut depth = 0u32;
    for (place, each) in function.char_indices().rev() {
        match each {
            ')' => depth += 1,
            '(' if depth == 1 => return &function[..place],
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    function
}

fn demangled_with(name: &str, options: DemangleOptions) -> Option<String> {
    // Anything can be a type to the demangler; a function begins so.
    if !name.starts_with("_Z") {
        return None;
    }
    let mut text = Bounded(String::new());
    Symbol::new(name).ok()?.structured_demangle(&mut text, &options).ok()?;
    Some(text.0)
}

/// The longest C++ name that is written out. A mangled name can stand for one that is exponentially longer.
const LONGEST_NAME: usize = 1 << 14;

/// A text that gets no longer than [`LONGEST_NAME`].
struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_compiler_made_stay() {
        assert_eq!(demangled("i"), None);
        assert_eq!(demangled("_Zzzz"), None);
        assert_eq!(display_name("_Z1fv"), "f()");
        // pair<A, A>, then pairs of pairs, each of which is twice as long as the one before.
        let doubled = |levels: u8| {
            let digits = b"123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
            let pairs = digits[..levels.into()].iter().map(|&digit| format!("S0_IS{0}_S{0}_E", digit as char));
            format!("_Z1f1A4pairIS_S_E{}", pairs.collect::<String>())
        };
        assert_eq!(display_name(&doubled(1)), "f(A, pair<A, A>, pair<pair<A, A>, pair<A, A> >)");
        assert_eq!(display_name(&doubled(35)), doubled(35));
    }

    #[test]
    fn names_in_messages() {
        for (message, expected) in [
            ("kernel `_Z5saxpyfi`: trap", "kernel `saxpy(float, int)` (`_Z5saxpyfi`): trap"),
            ("`_ZZ7largestE4best`, 4 bytes", "`best` of `largest`, 4 bytes"),
            ("`_ZZ11prefix_sumsPKiPiE4tile`", "`tile` of `prefix_sums`"),
            ("`_ZZ4treeILj16EdET0_S0_E6values`", "`values` of `tree<(unsigned int)16, double>`"),
            ("`_ZZN2ns3mapEPFiiEE4tile`", "`tile` of `ns::map`"),
            ("`x`, _Z1fv, `_Zzzz` and `ld.global`", "`x`, _Z1fv, `_Zzzz` and `ld.global`"),
            ("one ` only", "one ` only"),
        ] {
            assert_eq!(with_cpp_names(message), expected);
        }
    }
}
