//! A stream of tokens with one token of lookahead, and the errors that point into it.

use std::sync::Arc;

use super::ParseError;
use super::lexer::{BadToken, Kind, Lexer, Place, Token};
use crate::ast::Span;

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// Offending text longer than this is cut in messages.
const SHOWN: usize = 40;

/// Reads a text token by token.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    module: &'a Arc<str>,
    lexer: Lexer<'a>,
    /// Where `token` starts (or the blank before it).
    place: Place,
    token: Token<'a>,
    /// Byte offset past the token before `token`.
    end: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first token of `text`; `module` stands in its errors.
    pub(super) fn new(module: &'a Arc<str>, text: &'a str) -> Result<Cursor<'a>> {
        Cursor::start(module, Lexer::new(text))
    }

    /// A cursor at the token that another cursor of the same text had at `place`.
    pub(super) fn resume(module: &'a Arc<str>, text: &'a str, place: Place) -> Result<Cursor<'a>> {
        Cursor::start(module, Lexer::resume(text, place))
    }

    fn start(module: &'a Arc<str>, mut lexer: Lexer<'a>) -> Result<Cursor<'a>> {
        let place = lexer.place();
        let token = lexer.next().map_err(|bad| refuse(module, &bad))?;
        Ok(Cursor { module, lexer, place, token, end: token.start })
    }

    /// The current token.
    pub(super) fn token(&self) -> Token<'a> {
        self.token
    }

    /// Where the current token stands, for [`Cursor::resume`].
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Byte offset past the token before the current one.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Returns the current token and goes on to the next.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<Token<'a>> {
        let token = self.token;
        self.end = token.end();
        self.place = self.lexer.place();
        match self.lexer.next() {
            Ok(next) => {
                self.token = next;
                Ok(token)
            }
            Err(bad) => Err(refuse(self.module, &bad)),
        }
    }

    /// Goes past the `}` that belongs to the current token, a `{`, without reading what is between them. False, at the
    /// end of the text, if there is none.
    pub(super) fn skip_braces(&mut self) -> Result<bool> {
        self.lexer.skip_to_brace().map_err(|bad| refuse(self.module, &bad))?;
        self.advance()?;
        self.eat("}")
    }

    /// Goes past the current token if it is `punctuation`.
    pub(super) fn eat(&mut self, punctuation: &str) -> Result<bool> {
        let found = self.token.is(punctuation);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Goes past `punctuation`, which must be there.
    pub(super) fn expect(&mut self, punctuation: &str) -> Result<()> {
        if self.eat(punctuation)? { Ok(()) } else { Err(self.expected(format_args!("`{punctuation}`"))) }
    }

    /// Goes past a word without suffixes: the name of something that is declared here.
    pub(super) fn name(&mut self, what: &str) -> Result<Token<'a>> {
        match self.token.kind {
            Kind::Word if !self.token.text.contains(['.', ':']) => self.advance(),
            _ => Err(self.expected(what)),
        }
    }

    /// Goes past the directive `name`, which must be there.
    pub(super) fn directive(&mut self, name: &str) -> Result<()> {
        if self.token.kind == Kind::Directive && self.token.text == name {
            self.advance().map(drop)
        } else {
            Err(self.expected(format_args!("`{name}`")))
        }
    }

    /// Goes past a string and returns what is between its quotes, escapes as written.
    pub(super) fn string(&mut self) -> Result<&'a str> {
        match self.token.kind {
            Kind::Text => {
                let text = self.advance()?.text;
                Ok(&text[1..text.len() - 1])
            }
            _ => Err(self.expected("a string")),
        }
    }

    /// The error that something else was expected in place of the current token.
    #[cold]
    pub(super) fn expected(&self, what: impl std::fmt::Display) -> ParseError {
        let found = match self.token.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", shorten(self.token.text)),
        };
        self.error(self.token, format_args!("expected {what}, found {found}"))
    }

    /// An error at `token`.
    #[cold]
    pub(super) fn error(&self, token: Token<'_>, message: impl std::fmt::Display) -> ParseError {
        error(self.module, token.span, token.text, message)
    }
}

/// An error at `span` of the module named `module`.
#[cold]
pub(super) fn error(module: &Arc<str>, span: Span, text: &str, message: impl std::fmt::Display) -> ParseError {
    ParseError { module: module.clone(), span, text: shorten(text), message: message.to_string() }
}

#[cold]
fn refuse(module: &Arc<str>, bad: &BadToken<'_>) -> ParseError {
    error(module, bad.span, bad.text, format_args!("{}: `{}`", bad.message, bad.text))
}

/// `text`, cut if it is long.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
