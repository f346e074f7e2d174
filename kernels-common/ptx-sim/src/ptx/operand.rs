//! Operands of instructions.

use super::constant::{Constant, constant, integer};
use super::cursor::Result;
use super::lexer::{Kind, Token};
use super::parser::FunctionParser;
use super::scope::{Pending, Slot};
use super::special::is_special;
use crate::ast::{Operand, RegId};

impl<'a> FunctionParser<'a> {
    /// Parses operand number `index` of the instruction that comes next. In a `call`, parentheses enclose lists of
    /// arguments; elsewhere they group constant expressions.
    pub(super) fn operand(&mut self, index: usize, is_call: bool) -> Result<Operand> {
        let token = self.cursor.token();
        match (token.kind, token.text) {
            (Kind::Word, _) => {
                self.cursor.advance()?;
                self.named_operand(token, index)
            }
            (Kind::Punctuation, "[") => self.address(),
            (Kind::Punctuation, "{") => self.vector(),
            (Kind::Punctuation, "(") if is_call => self.list("(", ")").map(Operand::List),
            (Kind::Punctuation, "!") => {
                let mut ahead = self.cursor.clone();
                ahead.advance()?;
                if ahead.token().kind != Kind::Word {
                    return self.constant();
                }
                self.cursor = ahead;
                let register = self.register()?;
                Ok(Operand::Not(Box::new(Operand::Reg(register))))
            }
            (Kind::Number, _) | (Kind::Punctuation, "-" | "+" | "~" | "(") => self.constant(),
            _ if index == 0 => Err(self.cursor.expected("an operand or `;`")),
            _ => Err(self.cursor.expected("an operand")),
        }
    }

    /// An operand that starts with the name `token`, which has been read.
    fn named_operand(&mut self, token: Token<'a>, index: usize) -> Result<Operand> {
        let next = self.cursor.token();
        if next.is("+") {
            let base = self.known(token)?;
            if !matches!(base, Operand::Symbol(_)) {
                return Err(self.cursor.expected("`,` or `;`"));
            }
            return self.offset(base);
        }
        let Some(first) = self.local(token) else {
            if token.text.starts_with('%') {
                return Err(self.undeclared(token));
            }
            // A label further down or a name of the module: known when the scopes around it close.
            let slot = Slot::Operand { instruction: self.function.body.len(), operand: index };
            self.names.postpone(Pending { name: token.text, span: token.span, slot });
            return Ok(Operand::Sink);
        };
        if next.is("|") {
            self.cursor.advance()?;
            let second = self.cursor.token();
            let operand = match second.kind {
                Kind::Word => self.local(second),
                _ => None,
            };
            let Some(operand @ (Operand::Reg(_) | Operand::Sink)) = operand else {
                return Err(self.cursor.expected("a register"));
            };
            self.cursor.advance()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(operand)));
        }
        Ok(first)
    }

    /// What `token` means among the registers, variables and special registers.
    fn local(&mut self, token: Token<'a>) -> Option<Operand> {
        if token.text == "_" {
            return Some(Operand::Sink);
        }
        match self.names.operand(token.text) {
            None if is_special(token.text) => Some(Operand::Special(self.intern(token.text))),
            operand => operand,
        }
    }

    /// What `token` means where no label can stand.
    fn known(&mut self, token: Token<'a>) -> Result<Operand> {
        match self.local(token) {
            Some(operand) => Ok(operand),
            None => match self.outline.symbol(token.text) {
                Some(name) => Ok(Operand::Symbol(name)),
                None => Err(self.undeclared(token)),
            },
        }
    }

    /// Parses the name of a register.
    pub(super) fn register(&mut self) -> Result<RegId> {
        let token = self.cursor.token();
        if token.kind != Kind::Word {
            return Err(self.cursor.expected("a register"));
        }
        match self.local(token) {
            Some(Operand::Reg(register)) => {
                self.cursor.advance()?;
                Ok(register)
            }
            Some(_) => Err(self.cursor.expected("a register")),
            None => Err(self.undeclared(token)),
        }
    }

    fn constant(&mut self) -> Result<Operand> {
        Ok(match constant(&mut self.cursor)? {
            Constant::Int { bits, .. } => Operand::Int(bits),
            Constant::F32(bits) => Operand::F32(bits),
            Constant::F64(bits) => Operand::F64(bits),
        })
    }

    /// A name or a constant.
    fn scalar(&mut self) -> Result<Operand> {
        let token = self.cursor.token();
        match (token.kind, token.text) {
            (Kind::Word, _) => {
                self.cursor.advance()?;
                self.known(token)
            }
            (Kind::Number, _) | (Kind::Punctuation, "-" | "+" | "~" | "(") => self.constant(),
            _ => Err(self.cursor.expected("a register, name or constant")),
        }
    }

    /// `{a, b}`.
    fn vector(&mut self) -> Result<Operand> {
        let open = self.cursor.token();
        let elements = self.list("{", "}")?;
        if elements.is_empty() {
            return Err(self.cursor.error(open, "a vector operand needs an element"));
        }
        Ok(Operand::Vector(elements))
    }

    /// Scalars between `open`, which is the current token, and `close`.
    fn list(&mut self, open: &str, close: &str) -> Result<Vec<Operand>> {
        self.cursor.expect(open)?;
        let mut list = Vec::new();
        if self.cursor.eat(close)? {
            return Ok(list);
        }
        loop {
            list.push(self.scalar()?);
            if !self.cursor.eat(",")? {
                break;
            }
        }
        if self.cursor.eat(close)? { Ok(list) } else { Err(self.cursor.expected(format_args!("`,` or `{close}`"))) }
    }

    /// `[base]`, `[base + offset]`, or the `[base, …]` of textures and tensor maps, whose base is a list.
    fn address(&mut self) -> Result<Operand> {
        self.cursor.expect("[")?;
        let token = self.cursor.token();
        let base = self.scalar()?;
        if !matches!(base, Operand::Reg(_) | Operand::Symbol(_) | Operand::Int(_)) {
            let message = format_args!("expected a register, variable or integer as address, found `{}`", token.text);
            return Err(self.cursor.error(token, message));
        }
        let next = self.cursor.token();
        let address = if next.is("+") {
            self.offset(base)?
        } else if next.is(",") {
            let mut parts = vec![base];
            while self.cursor.eat(",")? {
                parts.push(if self.cursor.token().is("{") { self.vector()? } else { self.scalar()? });
            }
            Operand::Address { base: Box::new(Operand::List(parts)), offset: 0 }
        } else {
            Operand::Address { base: Box::new(base), offset: 0 }
        };
        if self.cursor.eat("]")? { Ok(address) } else { Err(self.cursor.expected("`+`, `,` or `]`")) }
    }

    /// The rest of `base + offset`; the current token is the `+`, the only sign that PTX has there.
    fn offset(&mut self, base: Operand) -> Result<Operand> {
        self.cursor.expect("+")?;
        let offset = integer(&mut self.cursor)?;
        Ok(Operand::Address { base: Box::new(base), offset })
    }
}
