//! Parses the body of one function.
//!
//! Statements are read in one pass, without recursion. Registers and variables must be declared before they are
//! used and resolve at once; a label may come later, so a name that is neither waits until the scopes around it close.

use std::collections::HashMap;
use std::sync::Arc;

use super::constant::{count_in, integer_in};
use super::cursor::{Cursor, Result, error, shorten};
use super::declaration::{space_named, type_named, variables};
use super::header::{Header, Parameter, pragma, prototype};
use super::initial::MAX_PADDING;
use super::lexer::{Kind, Token};
use super::location::Locations;
use super::outline::{FunctionOutline, Outline};
use super::scope::{Duplicate, MAX_FAMILY, MAX_SCOPES, Meaning, Names, Pending, Slot};
use crate::ast::{Function, Guard, Instruction, Operand, Prototype, SourceLocation, Space, Span, Type, Variable};
use crate::ptx::ParseError;

/// The parser of one function body.
pub(super) struct FunctionParser<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) outline: &'a Outline,
    pub(super) names: Names<'a>,
    pub(super) function: Function,
    module: &'a Arc<str>,
    /// One copy of each opcode and special register.
    interned: HashMap<&'a str, Arc<str>>,
    /// The last `.loc`, and all up to it.
    source: Option<SourceLocation>,
    locations: Locations,
    padding: u64,
}

/// Parses `function` of the module `module`, whose text is `text`. A function without a body is an error.
pub(super) fn parse<'a>(
    module: &'a Arc<str>,
    text: &'a str,
    outline: &'a Outline,
    function: &'a FunctionOutline,
) -> Result<Function> {
    let header = &function.header;
    let Some(body) = function.body else {
        let message = format_args!("`{}` is declared here but the module does not define it", header.name);
        return Err(error(module, header.name_span, &header.name, message));
    };
    let mut parser = FunctionParser {
        cursor: Cursor::resume(module, text, body)?,
        outline,
        names: Names::default(),
        function: Function {
            name: header.name.clone(),
            is_entry: header.is_entry,
            results: Vec::new(),
            params: Vec::new(),
            registers: Vec::new(),
            variables: Vec::new(),
            body: Vec::new(),
            labels: Vec::new(),
            branch_targets: Vec::new(),
            prototypes: Vec::new(),
            call_targets: Vec::new(),
            max_threads: header.max_threads,
            required_threads: header.required_threads,
            span: header.span,
        },
        module,
        interned: HashMap::new(),
        source: None,
        locations: Locations::default(),
        padding: MAX_PADDING,
    };
    parser.names.open();
    parser.function.results = parser.parameters(&header.results)?;
    parser.function.params = parser.parameters(&header.params)?;
    // The parameters are in the scope of the body.
    parser.cursor.expect("{")?;
    parser.body()?;
    parser.function.registers = parser.names.registers;
    Ok(parser.function)
}

impl<'a> FunctionParser<'a> {
    /// Declares parameters or results in the outermost scope.
    fn parameters(&mut self, parameters: &'a [Parameter]) -> Result<Vec<Variable>> {
        let mut variables = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let mut variable = parameter.variable.clone();
            let (written, span) = (&*parameter.variable.name, variable.span);
            if written != "_" {
                variable.name = self.unique(written);
                let declared = self.names.declare(written, span, Meaning::Variable(variable.name.clone()));
                declared.map_err(|first| self.duplicate(written, span, &first))?;
            }
            variables.push(variable);
        }
        Ok(variables)
    }

    fn body(&mut self) -> Result<()> {
        loop {
            let token = self.cursor.token();
            match (token.kind, token.text) {
                (Kind::Punctuation, "{") => {
                    if !self.names.open() {
                        return Err(self
                            .cursor
                            .error(token, format_args!("scopes nested more than {MAX_SCOPES} deep")));
                    }
                    self.cursor.advance()?;
                }
                (Kind::Punctuation, "}") => {
                    self.close()?;
                    if self.names.depth() == 0 {
                        return Ok(());
                    }
                    self.cursor.advance()?;
                }
                (Kind::Punctuation, "@") => {
                    let guard = self.guard()?;
                    let opcode = self.cursor.token();
                    if opcode.kind != Kind::Word {
                        return Err(self.cursor.expected("an instruction"));
                    }
                    self.cursor.advance()?;
                    self.instruction(Some(guard), opcode)?;
                }
                (Kind::Directive, _) => self.directive(token)?,
                (Kind::Word, _) => {
                    self.cursor.advance()?;
                    if self.cursor.token().is(":") { self.label(token)? } else { self.instruction(None, token)? }
                }
                _ => return Err(self.cursor.expected("an instruction, directive or label")),
            }
        }
    }

    /// Closes a scope and fills in the labels that were used in it.
    fn close(&mut self) -> Result<()> {
        let Function { body, branch_targets, .. } = &mut self.function;
        let mut unresolved = Vec::new();
        let mut bad_target = None;
        self.names.close(
            |pending, meaning| match (pending.slot, meaning) {
                (Slot::Operand { instruction, operand }, Meaning::Label(label)) => {
                    body[instruction].operands[operand] = Operand::Label(*label);
                }
                (Slot::Operand { instruction, operand }, Meaning::Table(name)) => {
                    body[instruction].operands[operand] = Operand::Symbol(name.clone());
                }
                (Slot::Target { table, index }, Meaning::Label(label)) => branch_targets[table].1[index] = *label,
                _ => bad_target = Some(pending),
            },
            &mut unresolved,
        );
        if let Some(pending) = bad_target {
            return Err(self.not_declared("label", pending.name, pending.span));
        }
        for Pending { name, span, slot } in unresolved {
            match (slot, self.outline.symbol(name)) {
                (Slot::Operand { instruction, operand }, Some(symbol)) => {
                    self.function.body[instruction].operands[operand] = Operand::Symbol(symbol);
                }
                (Slot::Operand { .. }, None) => return Err(self.not_declared("label or name", name, span)),
                (Slot::Target { .. }, _) => return Err(self.not_declared("label", name, span)),
            }
        }
        Ok(())
    }

    /// `@p` or `@!p`.
    fn guard(&mut self) -> Result<Guard> {
        self.cursor.expect("@")?;
        let negated = self.cursor.eat("!")?;
        let token = self.cursor.token();
        let predicate = self.register()?;
        let ty = self.names.registers[predicate.0 as usize].ty;
        if ty != Type::Pred {
            let message = format_args!("a guard must be a predicate, and `{}` has type {ty:?}", token.text);
            return Err(self.cursor.error(token, message));
        }
        Ok(Guard { predicate, negated })
    }

    /// The rest of an instruction whose opcode has been read.
    fn instruction(&mut self, guard: Option<Guard>, opcode: Token<'a>) -> Result<()> {
        if !opcode.text.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Err(self.cursor.error(opcode, format_args!("expected an instruction, found `{}`", opcode.text)));
        }
        let mut name = self.intern(opcode.text);
        // Blanks may separate the parts of an opcode.
        while self.cursor.token().kind == Kind::Directive {
            name = format!("{name}{}", self.cursor.advance()?.text).into();
        }
        let is_call = name.split('.').next() == Some("call");
        let mut operands = Vec::new();
        if !self.cursor.token().is(";") {
            loop {
                operands.push(self.operand(operands.len(), is_call)?);
                if !self.cursor.eat(",")? {
                    break;
                }
            }
        }
        if !self.cursor.token().is(";") {
            return Err(self.cursor.expected("`,` or `;`"));
        }
        self.cursor.advance()?;
        let source = self.source.clone();
        self.function.body.push(Instruction { guard, opcode: name, operands, span: opcode.span, source });
        Ok(())
    }

    /// A label, and the table or prototype that may follow it. The current token is the `:`.
    fn label(&mut self, label: Token<'a>) -> Result<()> {
        self.cursor.advance()?;
        if label.text.contains(['.', ':', '%']) {
            return Err(self.cursor.error(label, format_args!("`{}` is not the name of a label", label.text)));
        }
        match (self.cursor.token().kind, self.cursor.token().text) {
            (Kind::Directive, ".branchtargets") => self.branch_targets(label),
            (Kind::Directive, ".callprototype") => self.call_prototype(label),
            (Kind::Directive, ".calltargets") => self.call_targets(label),
            _ => {
                let index = self.function.body.len() as u32;
                self.declare(label, Meaning::Label(index))?;
                self.function.labels.push((label.text.into(), index));
                Ok(())
            }
        }
    }

    /// `.branchtargets a, b;`
    fn branch_targets(&mut self, label: Token<'a>) -> Result<()> {
        self.cursor.advance()?;
        let name = self.table(label)?;
        let table = self.function.branch_targets.len();
        let mut targets = Vec::new();
        loop {
            let target = self.cursor.name("a label")?;
            let slot = Slot::Target { table, index: targets.len() };
            self.names.postpone(Pending { name: target.text, span: target.span, slot });
            targets.push(0);
            if !self.cursor.eat(",")? {
                break;
            }
        }
        self.function.branch_targets.push((name, targets));
        if self.cursor.eat(";")? { Ok(()) } else { Err(self.cursor.expected("`,` or `;`")) }
    }

    /// `.callprototype (.param .b32 _) _ (.param .b64 _);`
    fn call_prototype(&mut self, label: Token<'a>) -> Result<()> {
        self.cursor.advance()?;
        let name = self.table(label)?;
        let Header { results, params, .. } = prototype(&mut self.cursor, label.span)?;
        self.cursor.expect(";")?;
        let variables = |list: Vec<Parameter>| list.into_iter().map(|parameter| parameter.variable).collect();
        self.function.prototypes.push(Prototype { name, results: variables(results), params: variables(params) });
        Ok(())
    }

    /// `.calltargets f, g;`
    fn call_targets(&mut self, label: Token<'a>) -> Result<()> {
        self.cursor.advance()?;
        let name = self.table(label)?;
        let mut targets = Vec::new();
        loop {
            let target = self.cursor.name("a function")?;
            let symbol = self.outline.symbol(target.text);
            targets.push(symbol.ok_or_else(|| self.not_declared("function", target.text, target.span))?);
            if !self.cursor.eat(",")? {
                break;
            }
        }
        self.function.call_targets.push((name, targets));
        if self.cursor.eat(";")? { Ok(()) } else { Err(self.cursor.expected("`,` or `;`")) }
    }

    /// Declares a table by its label.
    fn table(&mut self, label: Token<'a>) -> Result<Arc<str>> {
        let name = self.unique(label.text);
        self.declare(label, Meaning::Table(name.clone()))?;
        Ok(name)
    }

    fn directive(&mut self, token: Token<'a>) -> Result<()> {
        match token.text {
            ".reg" => self.registers(),
            ".loc" => self.location(),
            ".pragma" => pragma(&mut self.cursor),
            name => match space_named(name) {
                Some(space) => self.variables(space),
                None => Err(self.cursor.expected("an instruction, declaration or label")),
            },
        }
    }

    /// `.shared .align 4 .b8 x[16];` and the like; the current token is the state space.
    fn variables(&mut self, space: Space) -> Result<()> {
        self.cursor.advance()?;
        let mut declared = Vec::new();
        variables(&mut self.cursor, space, false, &mut self.padding, |name, variable| declared.push((name, variable)))?;
        for (name, mut variable) in declared {
            variable.name = self.unique(name.text);
            self.declare(name, Meaning::Variable(variable.name.clone()))?;
            self.function.variables.push(variable);
        }
        Ok(())
    }

    /// `.reg .b32 %r<5>, %x;` and `.reg .v4 .f32 %v;`
    fn registers(&mut self) -> Result<()> {
        self.cursor.advance()?;
        let mut width = 1;
        let mut ty = None;
        while self.cursor.token().kind == Kind::Directive {
            let token = self.cursor.advance()?;
            match token.text {
                ".v2" => width = 2,
                ".v4" => width = 4,
                name => match type_named(name) {
                    Some(named) => ty = Some(named),
                    None => {
                        return Err(self.cursor.error(token, format_args!("`{name}` is not the type of a register")));
                    }
                },
            }
        }
        let Some(ty) = ty else { return Err(self.cursor.expected("a type such as `.b32`")) };
        loop {
            let name = self.cursor.name("a register")?;
            if self.cursor.eat("<")? {
                let what = format!("the number of registers in `{}<…>`", name.text);
                let count = count_in(&mut self.cursor, &what, 0, u64::from(MAX_FAMILY))? as u32;
                self.cursor.expect(">")?;
                let declared = self.names.declare_family(name.text, name.span, count, ty, width);
                declared.map_err(|duplicate| self.duplicate(name.text, name.span, &duplicate))?;
            } else {
                self.declare(name, Meaning::Unused { ty, width })?;
            }
            if !self.cursor.eat(",")? {
                break;
            }
        }
        if self.cursor.eat(";")? { Ok(()) } else { Err(self.cursor.expected("`,` or `;`")) }
    }

    /// `.loc file line column [, function_name label [+ n], inlined_at file line column]`. Line 0 stands for code
    /// without a source.
    fn location(&mut self) -> Result<()> {
        self.cursor.advance()?;
        let most = u64::from(u32::MAX);
        let file = integer_in(&mut self.cursor, "the index of a file", 0, most)? as u32;
        let line = integer_in(&mut self.cursor, "a line number", 0, most)? as u32;
        let column = integer_in(&mut self.cursor, "a column number", 0, most)? as u32;
        let mut call = None;
        if self.cursor.eat(",")? {
            self.keyword("function_name")?;
            self.cursor.name("a label")?;
            if self.cursor.eat("+")? {
                integer_in(&mut self.cursor, "an offset", 0, most)?;
            }
            self.cursor.expect(",")?;
            self.keyword("inlined_at")?;
            let mut place = [0; 3];
            for part in &mut place {
                *part = integer_in(&mut self.cursor, "a file index, line or column", 0, most)? as u32;
            }
            call = Some(place);
        }
        self.source = self.locations.add([file, line, column], call, &self.outline.files);
        Ok(())
    }

    fn keyword(&mut self, word: &str) -> Result<()> {
        let token = self.cursor.token();
        if token.kind == Kind::Word && token.text == word {
            self.cursor.advance().map(drop)
        } else {
            Err(self.cursor.expected(format_args!("`{word}`")))
        }
    }

    /// One shared copy of `text`.
    pub(super) fn intern(&mut self, text: &'a str) -> Arc<str> {
        self.interned.entry(text).or_insert_with(|| text.into()).clone()
    }

    fn unique(&mut self, name: &'a str) -> Arc<str> {
        self.names.unique(name, self.outline.symbol(name).is_none())
    }

    fn declare(&mut self, name: Token<'a>, meaning: Meaning) -> Result<()> {
        let declared = self.names.declare(name.text, name.span, meaning);
        declared.map_err(|duplicate| self.duplicate(name.text, name.span, &duplicate))
    }

    #[cold]
    fn duplicate(&self, name: &str, span: Span, first: &Duplicate) -> ParseError {
        let Span { line, column } = first.0;
        let name = shorten(name);
        let message = format_args!("`{name}` is declared twice in this scope, first at {line}:{column}");
        error(self.module, span, &name, message)
    }

    /// The error for a name that nothing declares.
    #[cold]
    pub(super) fn undeclared(&self, token: Token<'_>) -> ParseError {
        let what = if token.text.starts_with('%') { "register" } else { "name" };
        self.not_declared(what, token.text, token.span)
    }

    #[cold]
    fn not_declared(&self, what: &str, name: &str, span: Span) -> ParseError {
        error(self.module, span, name, format_args!("{what} `{}` is not declared", shorten(name)))
    }
}
