//! Which functions may be called by address.

use std::collections::HashSet;

use super::lexer::{Kind, Lexer, Place};
use super::outline::Outline;

/// Indices of the functions whose address stands in an initial value, or in an instruction that is not a direct call
/// of it. The text is read word by word, not parsed, so that this costs a fraction of what loading a kernel does.
pub(super) fn taken(text: &str, outline: &Outline) -> HashSet<usize> {
    let initial = outline.variables.iter().flat_map(|variable| &variable.addresses);
    let mut taken: HashSet<usize> = initial.filter_map(|address| outline.function_index(&address.symbol)).collect();
    for body in outline.functions.iter().filter_map(|function| function.body) {
        from_body(text, body, outline, &mut taken);
    }
    taken
}

fn from_body(text: &str, body: Place, outline: &Outline, taken: &mut HashSet<usize>) {
    let mut lexer = Lexer::resume(text, body);
    let mut depth = 0u32;
    let mut in_call = false;
    while let Ok(token) = lexer.next() {
        match token.kind {
            Kind::Word if token.text == "call" || token.text.starts_with("call.") => in_call = true,
            Kind::Word if !in_call => taken.extend(outline.function_index(token.text)),
            Kind::Punctuation if token.text == ";" => in_call = false,
            Kind::Punctuation if token.text == "{" => depth += 1,
            Kind::Punctuation if token.text == "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return;
                }
            }
            Kind::End => return,
            _ => {}
        }
    }
}
