//! Cuts a text down to some of its kernels.

use std::collections::HashMap;

use super::lexer::{Kind, Lexer};
use super::outline::{Item, ItemKind, Outline};

/// The text with only the settings of the module, the functions `kernels`, and what these name, directly or
/// indirectly. Everything else becomes empty lines, so that the lines that remain keep their numbers. Debug sections
/// are left out, and the option `debug` of the target with them.
pub(super) fn select(text: &str, outline: &Outline, kernels: &[&str]) -> String {
    let items = &outline.items;
    let definitions = definitions(text, outline);
    let mut keep: Vec<bool> = items.iter().map(|item| item.kind == ItemKind::Setting).collect();
    let mut open: Vec<usize> = Vec::new();
    let mut want = |name: &str, open: &mut Vec<usize>| {
        for &index in definitions.get(name).into_iter().flatten() {
            if !std::mem::replace(&mut keep[index], true) {
                open.push(index);
            }
        }
    };
    for kernel in kernels {
        want(kernel, &mut open);
    }
    while let Some(index) = open.pop() {
        let Item { start, end, .. } = items[index];
        words(&text[start..end], |word, _| want(word, &mut open));
    }
    let mut selected = String::with_capacity(text.len() / 4);
    // Sections go, so there is no debug information, and a target that promises some would be refused.
    let debug = outline.debug.clone();
    selected.push_str(&text[..debug.start]);
    push_lines(&mut selected, &text[debug.clone()]);
    let mut from = debug.end;
    for (item, keep) in items.iter().zip(keep) {
        // Comments in front of an item belong to it.
        let piece = &text[from..item.end];
        if keep {
            selected.push_str(piece);
        } else {
            push_lines(&mut selected, piece);
        }
        from = item.end;
    }
    selected.truncate(selected.trim_end().len());
    selected.push('\n');
    selected
}

/// Adds the line ends of `piece`.
fn push_lines(selected: &mut String, piece: &str) {
    selected.extend(piece.chars().filter(|&char| char == '\n'));
}

/// The items that define or declare a name: functions and variables, and the labels inside sections, which the
/// `.loc` of inlined code refers to.
fn definitions<'a>(text: &'a str, outline: &'a Outline) -> HashMap<&'a str, Vec<usize>> {
    let mut definitions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (name, item) in &outline.defined {
        definitions.entry(name).or_default().push(*item);
    }
    for (index, item) in outline.items.iter().enumerate() {
        if item.kind == ItemKind::Section {
            words(&text[item.start..item.end], |word, is_label| {
                if is_label {
                    definitions.entry(word).or_default().push(index);
                }
            });
        }
    }
    definitions
}

/// Hands each word of `text` to `each`, and whether a colon follows it. The outline has read the text before, so it
/// holds no bad token.
fn words<'a>(text: &'a str, mut each: impl FnMut(&'a str, bool)) {
    let mut lexer = Lexer::new(text);
    let mut word = None;
    while let Ok(token) = lexer.next() {
        if let Some(word) = word.take() {
            each(word, token.is(":"));
        }
        match token.kind {
            Kind::Word => word = Some(token.text),
            Kind::End => return,
            _ => {}
        }
    }
}
