//! Reads PTX texts.
//!
//! [`Module::parse`] reads what stands at module scope; the body of a function is parsed when it is first asked for,
//! so that a kernel costs its own size and not that of its module. The result is the syntax tree of [`crate::ast`]:
//! names are resolved, instructions are not interpreted.
//!
//! The grammar is that of PTX ISA 3.0 to 9.5 as compilers write it, with these exceptions, each of which is an error
//! that says so: parameters in registers and module-scope registers (the calling convention before PTX 3.0),
//! `.alias`, addresses as initial values, 32-bit addresses, arrays indexed as `a[1]` in operands, and casts and `?:` in
//! constant expressions. Debug sections are skipped, alignments of pointers and attributes ignored.

mod constant;
mod cursor;
mod declaration;
mod error;
mod header;
mod initial;
mod lexer;
mod location;
mod operand;
mod outline;
mod parser;
mod pointers;
mod scope;
mod select;
mod special;
mod taken;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

pub use error::ParseError;
use outline::{FunctionOutline, Outline};

use crate::ast::{Function, Span, Type, Variable};

/// Messages that say which kernels there are list at most this many.
const LISTED: usize = 20;

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
    /// A pointer: declared as one (`.ptr`), or, where the kernel declares none, converted to one by `cvta.to.global`.
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
    /// The kernel declares which parameters are pointers (`.ptr`), as not all compilers do. Otherwise pointers are
    /// looked for in its body, and may be missed: a parameter that is not called a pointer can be one all the same.
    pub marks_pointers: bool,
    /// Where the entry starts.
    pub span: Span,
    /// `.maxntid`, if stated: the most threads of a block in each dimension.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, if stated: the exact shape of a block.
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`, if stated: the blocks of a cluster in each dimension.
    pub required_cluster: Option<[u32; 3]>,
}

/// A PTX text. [`Module::parse`] outlines it; the body of a function is parsed on its first use and kept.
///
/// ```
/// use ptx_sim::ptx::Module;
///
/// let text = "
///     .version 6.3
///     .target sm_75
///     .address_size 64
///     .visible .entry store(.param .u64 out) {
///         .reg .b64 %rd<2>;
///         ld.param.u64 %rd1, [out];
///         st.global.u32 [%rd1], 7;
///         ret;
///     }";
/// let module = Module::parse("store.ptx", text)?;
/// assert_eq!(module.kernel("store").unwrap().params[0].size, 8);
/// assert_eq!(module.function("store")?.body.len(), 3);
/// # Ok::<(), ptx_sim::ptx::ParseError>(())
/// ```
#[derive(Debug)]
pub struct Module {
    name: Arc<str>,
    text: Arc<str>,
    outline: Outline,
    /// The functions that may be called by address, once that was asked for.
    taken: OnceLock<HashSet<usize>>,
}

impl Module {
    /// Outlines `text`: reads everything but the bodies of functions, of which it only looks for the end. `name` (a
    /// file name, say) stands in error messages.
    ///
    /// # Errors
    /// If a character is not PTX, if the text outside function bodies is not well formed, or if its version or target
    /// is newer than what is known.
    pub fn parse(name: &str, text: &str) -> Result<Module, ParseError> {
        let name = name.into();
        let outline = Outline::parse(&name, text)?;
        Ok(Module { name, text: text.into(), outline, taken: OnceLock::new() })
    }

    /// The name given to [`Module::parse`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text given to [`Module::parse`].
    pub fn text(&self) -> &str {
        &self.text
    }

    /// `.version` as (major, minor).
    pub fn version(&self) -> (u32, u32) {
        self.outline.version
    }

    /// `.target`.
    pub fn target(&self) -> &Target {
        &self.outline.target
    }

    /// Signatures of all kernels, in order of appearance.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelSignature> {
        self.outline.kernels().filter_map(|function| function.signature(&self.text))
    }

    /// Signature of the kernel `name`.
    pub fn kernel(&self, name: &str) -> Option<&KernelSignature> {
        self.outline.function(name)?.signature(&self.text)
    }

    /// The entry or device function `name`, parsed on first use.
    ///
    /// # Errors
    /// If its body is not well-formed PTX, or if the module has no such function or only declares it.
    pub fn function(&self, name: &str) -> Result<&Arc<Function>, ParseError> {
        match self.outline.function(name) {
            Some(function) => self.parsed(function),
            None => Err(self.missing("function", name)),
        }
    }

    /// The number of the function `name`, below [`Module::functions`], if the module has such a function.
    pub(crate) fn function_number(&self, name: &str) -> Option<usize> {
        self.outline.function_index(name)
    }

    /// Functions, defined or only declared.
    pub(crate) fn functions(&self) -> usize {
        self.outline.functions.len()
    }

    /// Whether the module declares the function `name` without defining it.
    pub(crate) fn only_declares(&self, name: &str) -> bool {
        self.outline.function(name).is_some_and(|function| function.body.is_none())
    }

    /// Names of the device functions with a body that may be called by address, in order of appearance.
    pub(crate) fn called_by_address(&self) -> impl Iterator<Item = &Arc<str>> {
        let taken = self.taken.get_or_init(|| taken::taken(&self.text, &self.outline));
        let functions = self.outline.functions.iter().enumerate();
        functions
            .filter(|(index, function)| taken.contains(index) && function.body.is_some() && !function.header.is_entry)
            .map(|(_, function)| &function.header.name)
    }

    /// Variables of module scope, in order of appearance.
    pub fn variables(&self) -> &[Variable] {
        &self.outline.variables
    }

    /// Parses every function that has a body.
    ///
    /// # Errors
    /// The first one in order of appearance.
    pub fn parse_all(&self) -> Result<(), ParseError> {
        let mut defined = self.outline.functions.iter().filter(|function| function.body.is_some());
        defined.try_for_each(|function| self.parsed(function).map(drop))
    }

    /// A PTX text with only `kernels` and the functions and variables that these name, directly or indirectly, for
    /// handing to a driver. What is left out becomes empty lines, so that line numbers agree with the original text.
    ///
    /// # Errors
    /// If there is no such kernel.
    pub fn select(&self, kernels: &[&str]) -> Result<String, ParseError> {
        match kernels.iter().find(|name| !self.outline.is_kernel(name)) {
            Some(name) => Err(self.missing("kernel", name)),
            None => Ok(select::select(&self.text, &self.outline, kernels)),
        }
    }

    fn parsed<'a>(&'a self, function: &'a FunctionOutline) -> Result<&'a Arc<Function>, ParseError> {
        let parse = || parser::parse(&self.name, &self.text, &self.outline, function).map(Arc::new);
        function.parsed.get_or_init(parse).as_ref().map_err(ParseError::clone)
    }

    /// The error for a name that was asked for and is not there. It stands at the start of the text.
    fn missing(&self, what: &str, name: &str) -> ParseError {
        let known: Vec<&str> = self.outline.kernels().map(|kernel| &*kernel.header.name).take(LISTED + 1).collect();
        let more = if known.len() > LISTED { ", …" } else { "" };
        let known = known[..known.len().min(LISTED)].join("`, `");
        let kernels =
            if known.is_empty() { "it has no kernels".to_owned() } else { format!("its kernels are `{known}`{more}") };
        let message = format_args!("the module has no {what} `{}`; {kernels}", cursor::shorten(name));
        cursor::error(&self.name, Span { line: 1, column: 1 }, name, message)
    }
}
