//! PTX texts: outline of a module at once, its functions on demand.

mod error;

use std::sync::Arc;

pub use error::ParseError;

use crate::ast::{Function, Span, Type, Variable};

/// The `.target` of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// Compute capability: `sm_75` is `(7, 5)`.
    pub capability: (u32, u32),
    /// `a` or `f` of an architecture- or family-specific target such as `sm_90a`.
    pub suffix: Option<char>,
}

/// One parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// Its name.
    pub name: Arc<str>,
    /// Its type; for an array or structure passed by value, that of one element (`.b8`).
    pub ty: Type,
    /// Bytes it occupies.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// Byte offset in the parameter block.
    pub offset: usize,
    /// Declared as a pointer (`.ptr`).
    pub pointer: bool,
}

/// What a caller must know to launch a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelSignature {
    /// Name of the `.entry`.
    pub name: Arc<str>,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// Where the entry starts.
    pub span: Span,
    /// `.maxntid`, if stated: the most threads of a block in each dimension.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, if stated: the exact shape of a block.
    pub required_threads: Option<[u32; 3]>,
}

/// A PTX text. [`Module::parse`] outlines it; the body of a function is parsed on its first use and kept.
#[derive(Debug)]
pub struct Module {
    name: Arc<str>,
    version: (u32, u32),
    target: Target,
    kernels: Vec<KernelSignature>,
    variables: Vec<Variable>,
}

impl Module {
    /// Outlines `text`. `name` (a file name, say) stands in error messages.
    ///
    /// # Errors
    /// If the text outside function bodies is not PTX, or its version or target is unknown.
    pub fn parse(name: &str, text: &str) -> Result<Module, ParseError> {
        Err(ParseError { module: name.into(), span: Span { line: 1, column: 1 }, text: text.into(), message: String::new() })
    }

    /// The name given to [`Module::parse`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `.version` as (major, minor).
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// `.target`.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Signatures of all kernels, in order of appearance.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelSignature> {
        self.kernels.iter()
    }

    /// Signature of the kernel `name`.
    pub fn kernel(&self, name: &str) -> Option<&KernelSignature> {
        self.kernels.iter().find(|kernel| &*kernel.name == name)
    }

    /// The entry or device function `name`, parsed on first use.
    ///
    /// # Errors
    /// If its body is not well-formed PTX, or the module does not define it.
    pub fn function(&self, name: &str) -> Result<&Arc<Function>, ParseError> {
        Err(ParseError { module: self.name.clone(), span: Span::default(), text: name.into(), message: String::new() })
    }

    /// Variables of module scope.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Parses every function.
    ///
    /// # Errors
    /// The first one found.
    pub fn parse_all(&self) -> Result<(), ParseError> {
        Ok(())
    }

    /// A PTX text with only `kernels` and what they name, directly or indirectly.
    ///
    /// # Errors
    /// If there is no such kernel.
    pub fn select(&self, kernels: &[&str]) -> Result<String, ParseError> {
        Ok(kernels.concat())
    }
}
