//! The one error of the parser.

use std::fmt;
use std::sync::Arc;

use crate::ast::Span;

/// Why a PTX text was refused, and where.
///
/// Displays as `dot.ptx:12:5: expected a register, found ` + the offending text in back quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// Name of the module, as given to [`Module::parse`](super::Module::parse).
    pub module: Arc<str>,
    /// Line and column of the offending text.
    pub span: Span,
    /// The offending text, shortened if it is long; empty at the end of the text.
    pub text: String,
    /// What is wrong, in one sentence without the place.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { line, column } = self.span;
        write!(f, "{}:{line}:{column}: {}", self.module, self.message)
    }
}

impl std::error::Error for ParseError {}
