//! Splits a PTX text into tokens without allocating.
//!
//! Words keep what is glued to them by dots, so that an opcode (`ld.global.L1::evict_last.v4.f32`) and a special
//! register (`%tid.x`) are one token each; a directive (`.reg`) starts with its dot and ends before the next.

use crate::ast::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Identifier, register or opcode, with its dotted suffixes.
    Word,
    /// `.name`.
    Directive,
    /// A literal that starts with a digit; whether it is well formed is for the constant parser to say.
    Number,
    /// `"…"`; the token's text has the quotes.
    Text,
    /// One character, or `<<`, `>>`, `==`, `!=`, `<=`, `>=`, `&&`, `||`.
    Punctuation,
    /// The end of the text.
    End,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    /// As written; empty at the end.
    pub(super) text: &'a str,
    /// Byte offset in the text.
    pub(super) start: usize,
    pub(super) span: Span,
}

impl Token<'_> {
    /// Byte offset just past the token.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is this piece of punctuation.
    pub(super) fn is(&self, punctuation: &str) -> bool {
        self.kind == Kind::Punctuation && self.text == punctuation
    }
}

/// A character, comment or string that is not PTX.
#[derive(Clone, Copy, Debug)]
pub(super) struct BadToken<'a> {
    pub(super) text: &'a str,
    pub(super) span: Span,
    pub(super) message: &'static str,
}

/// What a byte can be part of.
const WHITE: u8 = 1;
/// A letter, digit, `_` or `$`: follows in a name.
const FOLLOW: u8 = 2;
/// A letter, `_`, `$` or `%`: starts a name.
const START: u8 = 4;
const DIGIT: u8 = 8;
/// What matters between braces whose tokens nobody needs: braces, new lines, the starts of strings and comments, and
/// wide characters.
const MARK: u8 = 16;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'\n' => WHITE | MARK,
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => WHITE,
            b'0'..=b'9' => FOLLOW | DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => FOLLOW | START,
            b'%' => START,
            b'{' | b'}' | b'"' | b'/' | 0x80.. => MARK,
            _ => 0,
        };
        byte += 1;
    }
    class
};

fn is(byte: Option<&u8>, class: u8) -> bool {
    byte.is_some_and(|&byte| CLASS[usize::from(byte)] & class != 0)
}

/// A reader of tokens. Copies of it start again from the same place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    place: Place,
}

/// Where a lexer stands; enough to go on later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Byte offset.
    at: usize,
    line: u32,
    /// Byte offset of the line's first character.
    line_start: usize,
    /// Bytes of this line, so far, that continue a character.
    continuation: u32,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, place: Place { at: 0, line: 1, line_start: 0, continuation: 0 } }
    }

    /// A lexer of `text` that goes on at `place`, which another one reached in the same text.
    pub(super) fn resume(text: &'a str, place: Place) -> Lexer<'a> {
        Lexer { text, place }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    fn span(&self) -> Span {
        let Place { at, line, line_start, continuation } = self.place;
        Span { line, column: (at - line_start) as u32 - continuation + 1 }
    }

    fn bad(&self, length: usize, message: &'static str) -> BadToken<'a> {
        let rest = &self.text[self.place.at..];
        let length = (length..=rest.len()).find(|&end| rest.is_char_boundary(end)).unwrap_or(rest.len());
        BadToken { text: &rest[..length], span: self.span(), message }
    }

    /// The next token; at the end of the text, [`Kind::End`] again and again.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Token<'a>, BadToken<'a>> {
        self.skip_blank()?;
        let bytes = self.text.as_bytes();
        let span = self.span();
        let start = self.place.at;
        let Some(&first) = bytes.get(start) else {
            return Ok(Token { kind: Kind::End, text: "", start, span });
        };
        let (kind, end) = match CLASS[usize::from(first)] {
            _ if first == b'%' && !is(bytes.get(start + 1), FOLLOW) => (Kind::Punctuation, start + 1),
            class if class & START != 0 => (Kind::Word, qualified(bytes, start + 1, true)),
            class if class & DIGIT != 0 => (Kind::Number, number(bytes, start)),
            _ => match first {
                b'.' if is(bytes.get(start + 1), FOLLOW) => (Kind::Directive, qualified(bytes, start + 1, false)),
                b'"' => (Kind::Text, self.string(start)?),
                b'<' | b'>' | b'=' | b'!' | b'&' | b'|' => {
                    let pair = matches!(
                        (first, bytes.get(start + 1)),
                        (b'<', Some(b'<' | b'='))
                            | (b'>', Some(b'>' | b'='))
                            | (b'=' | b'!', Some(b'='))
                            | (b'&', Some(b'&'))
                            | (b'|', Some(b'|'))
                    );
                    (Kind::Punctuation, start + 1 + usize::from(pair))
                }
                b'{' | b'}' | b'[' | b']' | b'(' | b')' | b',' | b';' | b':' | b'@' | b'+' | b'-' | b'*' | b'/'
                | b'~' | b'^' | b'?' => (Kind::Punctuation, start + 1),
                _ => return Err(self.bad(1, "unexpected character")),
            },
        };
        self.place.at = end;
        Ok(Token { kind, text: &self.text[start..end], start, span })
    }

    /// Goes to the `}` that belongs to a `{` just read, or to the end, without looking at tokens.
    pub(super) fn skip_to_brace(&mut self) -> Result<(), BadToken<'a>> {
        let bytes = self.text.as_bytes();
        let mut depth = 0u32;
        loop {
            while bytes.get(self.place.at).is_some_and(|&byte| CLASS[usize::from(byte)] & MARK == 0) {
                self.place.at += 1;
            }
            match bytes.get(self.place.at) {
                Some(b'"') => self.place.at = self.string(self.place.at)?,
                Some(b'/') if matches!(bytes.get(self.place.at + 1), Some(b'/' | b'*')) => self.skip_blank()?,
                Some(b'}') if depth == 0 => return Ok(()),
                Some(&byte) => {
                    match byte {
                        b'{' => depth += 1,
                        b'}' => depth -= 1,
                        _ => {}
                    }
                    self.pass(byte);
                }
                None => return Ok(()),
            }
        }
    }

    /// Skips white space and comments.
    #[inline]
    fn skip_blank(&mut self) -> Result<(), BadToken<'a>> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.place.at) {
                Some(b'\n') => {
                    self.place.at += 1;
                    self.new_line();
                }
                Some(&byte) if CLASS[usize::from(byte)] & WHITE != 0 => self.place.at += 1,
                Some(b'/') if bytes.get(self.place.at + 1) == Some(&b'/') => {
                    while bytes.get(self.place.at).is_some_and(|&byte| byte != b'\n') {
                        self.pass(bytes[self.place.at]);
                    }
                }
                Some(b'/') if bytes.get(self.place.at + 1) == Some(&b'*') => self.block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn block_comment(&mut self) -> Result<(), BadToken<'a>> {
        let open = *self;
        let bytes = self.text.as_bytes();
        self.place.at += 2;
        loop {
            match bytes.get(self.place.at) {
                Some(b'*') if bytes.get(self.place.at + 1) == Some(&b'/') => {
                    self.place.at += 2;
                    return Ok(());
                }
                Some(&byte) => self.pass(byte),
                None => return Err(open.bad(2, "this comment does not end")),
            }
        }
    }

    /// The offset past a string that starts at `start`. Strings end on their line.
    fn string(&mut self, start: usize) -> Result<usize, BadToken<'a>> {
        let open = *self;
        let bytes = self.text.as_bytes();
        self.pass(bytes[start]);
        loop {
            match bytes.get(self.place.at) {
                Some(b'"') => return Ok(self.place.at + 1),
                Some(b'\\') if bytes.get(self.place.at + 1).is_some_and(|&byte| byte != b'\n') => {
                    self.pass(b'\\');
                    self.pass(bytes[self.place.at]);
                }
                Some(&byte) if byte != b'\n' => self.pass(byte),
                _ => return Err(open.bad(1, "this string does not end on its line")),
            }
        }
    }

    /// Steps over one byte inside a comment or string, the only places where characters may be wide.
    fn pass(&mut self, byte: u8) {
        self.place.at += 1;
        if byte == b'\n' {
            self.new_line();
        } else if byte & 0xc0 == 0x80 {
            self.place.continuation += 1;
        }
    }

    fn new_line(&mut self) {
        self.place.line += 1;
        self.place.line_start = self.place.at;
        self.place.continuation = 0;
    }
}

/// The offset of the first byte at or after `at` that does not follow in a name.
#[inline]
fn follow(bytes: &[u8], mut at: usize) -> usize {
    while is(bytes.get(at), FOLLOW) {
        at += 1;
    }
    at
}

/// The offset past a name with its `::suffix` parts, and its `.suffix` parts if it is `dotted`.
#[inline]
fn qualified(bytes: &[u8], at: usize, dotted: bool) -> usize {
    let mut at = follow(bytes, at);
    loop {
        let part = match bytes.get(at) {
            Some(b'.') if dotted => at + 1,
            Some(b':') if bytes.get(at + 1) == Some(&b':') => at + 2,
            _ => return at,
        };
        if !is(bytes.get(part), FOLLOW) {
            return at;
        }
        at = follow(bytes, part);
    }
}

/// The offset past a number: digits and letters, and for decimal ones a fraction and a signed exponent.
fn number(bytes: &[u8], start: usize) -> usize {
    let mut at = follow(bytes, start);
    let decimal = |from: usize, to: usize| bytes[from..to].iter().all(u8::is_ascii_digit);
    if bytes.get(at) == Some(&b'.') && decimal(start, at) {
        at = follow(bytes, at + 1);
    }
    let exponent = matches!(bytes[at - 1], b'e' | b'E')
        && bytes[start..at - 1].iter().all(|&byte| byte.is_ascii_digit() || byte == b'.');
    if exponent && matches!(bytes.get(at), Some(b'+' | b'-')) {
        at = follow(bytes, at + 1);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(Kind, &str, u32, u32)> {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next().unwrap();
            if token.kind == Kind::End {
                return tokens;
            }
            tokens.push((token.kind, token.text, token.span.line, token.span.column));
        }
    }

    fn texts(text: &str) -> Vec<&str> {
        all(text).into_iter().map(|token| token.1).collect()
    }

    #[test]
    fn opcodes_and_special_registers_are_one_word() {
        assert_eq!(
            texts("ld.global.L1::evict_last.L2::128B.v4.f32 {%f1,_}, [%rd1+-16];"),
            [
                "ld.global.L1::evict_last.L2::128B.v4.f32",
                "{",
                "%f1",
                ",",
                "_",
                "}",
                ",",
                "[",
                "%rd1",
                "+",
                "-",
                "16",
                "]",
                ";"
            ]
        );
        assert_eq!(texts("mov.u32\t%r1,%tid.x;"), ["mov.u32", "%r1", ",", "%tid.x", ";"]);
        assert_eq!(texts("$L__BB0_1: @!%p1 bra $L_x;"), ["$L__BB0_1", ":", "@", "!", "%p1", "bra", "$L_x", ";"]);
    }

    #[test]
    fn directives_end_before_the_next_dot() {
        assert_eq!(texts(".shared::cta.b32"), [".shared::cta", ".b32"]);
        assert_eq!(texts(".reg.b32 %r<5>;"), [".reg", ".b32", "%r", "<", "5", ">", ";"]);
        assert_eq!(
            all(".section .debug_str"),
            [(Kind::Directive, ".section", 1, 1), (Kind::Directive, ".debug_str", 1, 10)]
        );
    }

    #[test]
    fn numbers() {
        for number in [
            "0",
            "42U",
            "0x1fU",
            "0b101",
            "017",
            "0f3F800000",
            "0d3FF0000000000000",
            "1.5",
            "1e10",
            "1.5e-3",
            "2E+4",
            "9.0",
        ] {
            assert_eq!(all(number), [(Kind::Number, number, 1, 1)]);
        }
        assert_eq!(texts("0x1e+4"), ["0x1e", "+", "4"]);
        assert_eq!(texts("1-2"), ["1", "-", "2"]);
        assert_eq!(texts("1<<4>=2|3||4"), ["1", "<<", "4", ">=", "2", "|", "3", "||", "4"]);
    }

    #[test]
    fn blanks_comments_and_places() {
        let text = "a // é; b\r\n/* ü\n é */ c\t\"ä\\\"\" d";
        assert_eq!(
            all(text),
            [
                (Kind::Word, "a", 1, 1),
                (Kind::Word, "c", 3, 7),
                (Kind::Text, "\"ä\\\"\"", 3, 9),
                (Kind::Word, "d", 3, 15),
            ]
        );
    }

    #[test]
    fn what_is_not_ptx() {
        for (text, found, line, column, message) in [
            ("ab\n é", "é", 2, 2, "unexpected character"),
            ("x #", "#", 1, 3, "unexpected character"),
            ("x . y", ".", 1, 3, "unexpected character"),
            ("x /* y\n", "/*", 1, 3, "this comment does not end"),
            ("x \"y\n\"", "\"", 1, 3, "this string does not end on its line"),
            ("\"y\\", "\"", 1, 1, "this string does not end on its line"),
        ] {
            let mut lexer = Lexer::new(text);
            let error = loop {
                match lexer.next() {
                    Ok(token) => assert_ne!(token.kind, Kind::End, "{text}"),
                    Err(error) => break error,
                }
            };
            assert_eq!((error.text, error.span, error.message), (found, Span { line, column }, message), "{text}");
        }
    }

    #[test]
    fn skipping_to_a_brace_passes_nested_ones_strings_and_comments() {
        let text = "{ a { b } \"}\" // }\n /* } ü */ c / # é } d";
        let mut lexer = Lexer::new(text);
        assert!(lexer.next().unwrap().is("{"));
        lexer.skip_to_brace().unwrap();
        let brace = lexer.next().unwrap();
        assert_eq!((brace.text, brace.span), ("}", Span { line: 2, column: 20 }));
        assert_eq!(lexer.next().unwrap().text, "d");

        let mut open = Lexer::new("{ {}");
        assert!(open.next().unwrap().is("{"));
        open.skip_to_brace().unwrap();
        assert_eq!(open.next().unwrap().kind, Kind::End);
    }

    #[test]
    fn a_lexer_resumes_where_another_stood() {
        let text = "a /* é */ b\n c";
        let mut lexer = Lexer::new(text);
        lexer.next().unwrap();
        let mut again = Lexer::resume(text, lexer.place());
        assert_eq!(again.next().unwrap().span, Span { line: 1, column: 11 });
        assert_eq!(again.next().unwrap().span, Span { line: 2, column: 2 });
    }
}
