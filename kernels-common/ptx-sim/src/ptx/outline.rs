//! What a module holds, without the bodies of its functions.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::constant::integer_in;
use super::cursor::{Cursor, Result, error, shorten};
use super::declaration::{space_named, variables};
use super::header::{Header, Parameter, header, pragma};
use super::initial::MAX_PADDING;
use super::lexer::{Kind, Place, Token};
use super::pointers::find_pointers;
use super::{KernelSignature, Param, ParseError, Target};
use crate::ast::{Function, Space, Span, Variable};

/// The PTX versions whose grammar the parser knows.
const VERSIONS: [(u32, u32); 2] = [(3, 0), (9, 5)];
/// The number of the newest target, `sm_121`.
const MAX_TARGET: u32 = 121;

/// A function, its body unread.
#[derive(Debug)]
pub(super) struct FunctionOutline {
    pub(super) header: Header,
    /// Where the `{` of the body stands; `None` if the function is only declared.
    pub(super) body: Option<Place>,
    /// Its signature, once it was asked for, if it is a kernel with a body.
    signature: OnceLock<KernelSignature>,
    /// The function or its first error, once it was parsed.
    pub(super) parsed: OnceLock<Result<Arc<Function>>>,
}

impl FunctionOutline {
    fn is_kernel(&self) -> bool {
        self.header.is_entry && self.body.is_some()
    }

    /// What a caller must know, if it is a kernel with a body in `text`.
    pub(super) fn signature(&self, text: &str) -> Option<&KernelSignature> {
        let body = self.body.filter(|_| self.header.is_entry)?;
        Some(self.signature.get_or_init(|| {
            let mut signature = signature(&self.header);
            if !signature.marks_pointers {
                find_pointers(text, body, &mut signature.params);
            }
            signature
        }))
    }
}

/// What a name of module scope stands for.
#[derive(Clone, Copy, Debug)]
enum Symbol {
    Function(usize),
    Variable(usize),
}

/// A piece of the text at module scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// Byte offsets in the text.
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// `.version`, `.target`, `.file` and others that concern the whole module.
    Setting,
    /// An entry, a device function or a variable.
    Symbol,
    /// `.section`.
    Section,
}

/// A module without the bodies of its functions.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) version: (u32, u32),
    pub(super) target: Target,
    /// Byte offsets of the `, debug` of the target, empty if there is none.
    pub(super) debug: Range<usize>,
    /// Indices of the functions that are kernels with a body.
    kernels: Vec<usize>,
    pub(super) functions: Vec<FunctionOutline>,
    pub(super) variables: Vec<Variable>,
    /// Names of the source files by the index that `.file` gives them.
    pub(super) files: HashMap<u32, Arc<str>>,
    pub(super) items: Vec<Item>,
    /// The names of functions and variables, with the index of each item that declares or defines one.
    pub(super) defined: Vec<(Arc<str>, usize)>,
    symbols: HashMap<Arc<str>, Symbol>,
}

impl Outline {
    /// The shared copy of the name of a function or variable of module scope.
    pub(super) fn symbol(&self, name: &str) -> Option<Arc<str>> {
        self.symbols.get_key_value(name).map(|(name, _)| name.clone())
    }

    /// Index of the function `name`.
    pub(super) fn function_index(&self, name: &str) -> Option<usize> {
        match self.symbols.get(name) {
            Some(Symbol::Function(index)) => Some(*index),
            _ => None,
        }
    }

    /// The function `name`.
    pub(super) fn function(&self, name: &str) -> Option<&FunctionOutline> {
        self.function_index(name).map(|index| &self.functions[index])
    }

    /// Whether `name` is a kernel with a body.
    pub(super) fn is_kernel(&self, name: &str) -> bool {
        self.function(name).is_some_and(FunctionOutline::is_kernel)
    }

    /// The kernels with a body, in order of appearance.
    pub(super) fn kernels(&self) -> impl Iterator<Item = &FunctionOutline> {
        self.kernels.iter().map(|&index| &self.functions[index])
    }

    /// Whether initial values name nothing but functions, and variables that have an address before a launch.
    fn check_addresses(&self, module: &Arc<str>) -> Result<()> {
        for address in self.variables.iter().flat_map(|variable| &variable.addresses) {
            let placed = match self.symbols.get(&address.symbol) {
                Some(Symbol::Variable(index)) => {
                    matches!(self.variables[*index].space, Space::Global | Space::Const)
                }
                Some(Symbol::Function(_)) => true,
                None => false,
            };
            if !placed {
                let name = &address.symbol;
                let message = format_args!(
                    "the initial value names `{name}`, which is no function and no `.global` or `.const` variable of the module"
                );
                return Err(error(module, address.span, name, message));
            }
        }
        Ok(())
    }

    /// Reads the text of a module named `module`.
    pub(super) fn parse(module: &Arc<str>, text: &str) -> Result<Outline> {
        if text.len() >= u32::MAX as usize {
            return Err(error(module, Span { line: 1, column: 1 }, "", "the text is 4 GiB or larger"));
        }
        let mut cursor = Cursor::new(module, text)?;
        let start = cursor.token().start;
        let version = version(&mut cursor)?;
        let (target, debug) = target(&mut cursor)?;
        let settings = Item { kind: ItemKind::Setting, start, end: cursor.end() };
        let mut reader = Reader {
            cursor,
            module,
            outline: Outline {
                version,
                target,
                debug,
                kernels: Vec::new(),
                functions: Vec::new(),
                variables: Vec::new(),
                files: HashMap::new(),
                items: vec![settings],
                defined: Vec::new(),
                symbols: HashMap::new(),
            },
            padding: MAX_PADDING,
        };
        reader.items()?;
        reader.outline.check_addresses(module)?;
        Ok(reader.outline)
    }
}

/// `.version major.minor`, with which every module starts.
fn version(cursor: &mut Cursor<'_>) -> Result<(u32, u32)> {
    cursor.directive(".version")?;
    let token = cursor.token();
    let parts = token.text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (Kind::Number, Some(version)) = (token.kind, parts) else {
        return Err(cursor.expected("a version such as `6.3`"));
    };
    let [least, most] = VERSIONS;
    if !(least..=most).contains(&version) {
        let message = format_args!(
            "PTX version {} is not supported; {}.{} to {}.{} are",
            token.text, least.0, least.1, most.0, most.1
        );
        return Err(cursor.error(token, message));
    }
    cursor.advance()?;
    Ok(version)
}

/// `.target sm_75, debug`. Also returns where the `, debug` stands.
fn target(cursor: &mut Cursor<'_>) -> Result<(Target, Range<usize>)> {
    cursor.directive(".target")?;
    let token = cursor.name("a target such as `sm_75`")?;
    let number = token.text.strip_prefix("sm_");
    let digits = number.map(|number| number.trim_end_matches(['a', 'f']));
    let suffix = number.zip(digits).map(|(number, digits)| &number[digits.len()..]);
    let (Some(number), Some(suffix @ ("" | "a" | "f"))) =
        (digits.and_then(|digits| digits.parse::<u32>().ok()), suffix)
    else {
        return Err(cursor.error(token, format_args!("expected a target such as `sm_75`, found `{}`", token.text)));
    };
    if number > MAX_TARGET {
        let message = format_args!("target `{}` is not supported; targets up to `sm_{MAX_TARGET}` are", token.text);
        return Err(cursor.error(token, message));
    }
    let mut debug = 0..0;
    loop {
        let start = cursor.end();
        if !cursor.eat(",")? {
            break;
        }
        if cursor.name("an option of the target such as `debug`")?.text == "debug" {
            debug = start..cursor.end();
        }
    }
    Ok((Target { capability: (number / 10, number % 10), suffix: suffix.chars().next() }, debug))
}

/// Reads a module item by item.
struct Reader<'a> {
    cursor: Cursor<'a>,
    module: &'a Arc<str>,
    outline: Outline,
    padding: u64,
}

impl Reader<'_> {
    fn items(&mut self) -> Result<()> {
        loop {
            let first = self.cursor.token();
            let kind = match (first.kind, first.text) {
                (Kind::End, _) => return Ok(()),
                (Kind::Directive, ".section") => {
                    self.section()?;
                    ItemKind::Section
                }
                (Kind::Directive, ".address_size" | ".file" | ".pragma") => {
                    self.setting(first)?;
                    ItemKind::Setting
                }
                (Kind::Directive, ".alias") => return Err(self.cursor.error(first, "`.alias` is not supported")),
                (Kind::Directive, ".version" | ".target") => {
                    return Err(self.cursor.error(first, format_args!("a module has only one `{}`", first.text)));
                }
                (Kind::Directive, _) => {
                    self.symbol(first)?;
                    ItemKind::Symbol
                }
                _ => return Err(self.cursor.expected("a directive such as `.entry` or `.global`")),
            };
            self.outline.items.push(Item { kind, start: first.start, end: self.cursor.end() });
        }
    }

    /// `.address_size`, `.file` or `.pragma`. A module without `.address_size` is taken to have 64-bit addresses.
    fn setting(&mut self, first: Token<'_>) -> Result<()> {
        if first.text == ".pragma" {
            return pragma(&mut self.cursor);
        }
        self.cursor.advance()?;
        if first.text == ".file" {
            let index = integer_in(&mut self.cursor, "the index of a file", 0, u64::from(u32::MAX))?;
            let name = self.cursor.string()?;
            self.outline.files.insert(index as u32, name.into());
            // Time stamp and size.
            while self.cursor.eat(",")? {
                integer_in(&mut self.cursor, "a time stamp or size", 0, u64::MAX)?;
            }
            return Ok(());
        }
        let token = self.cursor.token();
        match integer_in(&mut self.cursor, "an address size", 32, 64)? {
            64 => Ok(()),
            size => Err(self.cursor.error(token, format_args!("only 64-bit addresses are supported, not {size}"))),
        }
    }

    /// `.section .debug_str { … }`
    fn section(&mut self) -> Result<()> {
        self.cursor.advance()?;
        if self.cursor.token().kind != Kind::Directive {
            return Err(self.cursor.expected("a section such as `.debug_str`"));
        }
        self.cursor.advance()?;
        self.braces()
    }

    /// Goes past a pair of braces and what is between them.
    fn braces(&mut self) -> Result<()> {
        let open = self.cursor.token();
        if !open.is("{") {
            return Err(self.cursor.expected("`{`"));
        }
        if self.cursor.skip_braces()? {
            return Ok(());
        }
        let Span { line, column } = open.span;
        Err(self.cursor.expected(format_args!("`}}` for the `{{` at {line}:{column}")))
    }

    /// An entry, a device function or variables.
    fn symbol(&mut self, first: Token<'_>) -> Result<()> {
        let mut external = false;
        loop {
            let token = self.cursor.token();
            match token.text {
                _ if token.kind != Kind::Directive => {}
                ".visible" | ".weak" | ".common" | ".extern" => {
                    external |= token.text == ".extern";
                    self.cursor.advance()?;
                    continue;
                }
                ".entry" | ".func" => return self.function(first.span),
                name => {
                    if let Some(space) = space_named(name).filter(|space| *space != Space::Param) {
                        return self.variables(space, external);
                    }
                }
            }
            return Err(self.cursor.expected("a directive such as `.entry`, `.func` or `.global`"));
        }
    }

    fn function(&mut self, span: Span) -> Result<()> {
        let header = header(&mut self.cursor, span)?;
        let body = if self.cursor.eat(";")? {
            None
        } else {
            let body = self.cursor.place();
            self.braces()?;
            Some(body)
        };
        let (name, span, defined) = (header.name.clone(), header.name_span, body.is_some());
        let function = FunctionOutline { header, body, signature: OnceLock::new(), parsed: OnceLock::new() };
        let is_kernel = function.is_kernel();
        self.outline.defined.push((name.clone(), self.outline.items.len()));
        let functions = &mut self.outline.functions;
        match self.outline.symbols.get(&name) {
            None => {
                self.outline.symbols.insert(name, Symbol::Function(functions.len()));
                self.outline.kernels.extend(is_kernel.then_some(functions.len()));
                functions.push(function);
                Ok(())
            }
            // A definition replaces the declaration that announces it.
            Some(&Symbol::Function(index)) if defined && functions[index].body.is_none() => {
                self.outline.kernels.extend(is_kernel.then_some(index));
                functions[index] = function;
                Ok(())
            }
            Some(Symbol::Function(_)) if !defined => Ok(()),
            Some(&symbol) => Err(self.twice(&name, span, symbol)),
        }
    }

    /// The variables of one declaration; the current token is the state space.
    fn variables(&mut self, space: Space, external: bool) -> Result<()> {
        self.cursor.advance()?;
        let mut declared = Vec::new();
        variables(&mut self.cursor, space, external, &mut self.padding, |_, variable| declared.push(variable))?;
        for variable in declared {
            self.outline.defined.push((variable.name.clone(), self.outline.items.len()));
            let variables = &mut self.outline.variables;
            match self.outline.symbols.get(&variable.name) {
                None => {
                    self.outline.symbols.insert(variable.name.clone(), Symbol::Variable(variables.len()));
                    variables.push(variable);
                }
                Some(&Symbol::Variable(index)) if variables[index].external => {
                    if !external {
                        variables[index] = variable;
                    }
                }
                Some(Symbol::Variable(_)) if external => {}
                Some(&symbol) => return Err(self.twice(&variable.name, variable.span, symbol)),
            }
        }
        Ok(())
    }

    #[cold]
    fn twice(&self, name: &str, span: Span, first: Symbol) -> ParseError {
        let Span { line, column } = match first {
            Symbol::Function(index) => self.outline.functions[index].header.name_span,
            Symbol::Variable(index) => self.outline.variables[index].span,
        };
        let message = format_args!("`{}` is defined twice, first at {line}:{column}", shorten(name));
        error(self.module, span, name, message)
    }
}

/// What a caller of an entry must know, as its header says it.
fn signature(header: &Header) -> KernelSignature {
    let mut end = 0;
    let params = header
        .params
        .iter()
        .map(|Parameter { variable, pointer }| {
            // The header keeps the parameters within `MAX_PARAM_BYTES`, so nothing is cut off here.
            let (size, align) = (variable.size as usize, variable.align as usize);
            let offset = usize::next_multiple_of(end, align);
            end = offset + size;
            Param { name: variable.name.clone(), ty: variable.ty, size, align, offset, pointer: *pointer }
        })
        .collect();
    KernelSignature {
        name: header.name.clone(),
        marks_pointers: header.params.iter().any(|param| param.pointer),
        params,
        span: header.span,
        max_threads: header.max_threads,
        required_threads: header.required_threads,
        required_cluster: header.required_cluster,
    }
}
