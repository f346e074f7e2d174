//! What the parser makes of a PTX text: names resolved, nothing interpreted.
//!
//! The parser knows the grammar of PTX (directives, statements, operands); it does not know the instruction set.
//! An [`Instruction`] therefore keeps its opcode as text, and it is the lowering of one kernel that refuses an
//! opcode which the simulator does not know. That way a module loads as soon as its text is well formed, and only
//! the kernel that needs an unknown instruction fails.

use std::fmt;
use std::sync::Arc;

/// A place in the PTX text, both counted from 1. Columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A place in the CUDA source, from a `.loc` directive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// File name as the `.file` directive gives it.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Where the function was called that this is a line of, if the compiler inlined it.
    pub inlined_at: Option<Arc<SourceLocation>>,
}

/// `file:line`, and the places of the calls from the innermost to the outermost; of many, the last two.
impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        let calls = std::iter::successors(self.inlined_at.as_deref(), |place| place.inlined_at.as_deref());
        let left_out = calls.clone().count().saturating_sub(3);
        let (skipped, before) = if left_out > 0 { (left_out + 1, ", inlined at ...") } else { (0, "") };
        f.write_str(before)?;
        for SourceLocation { file, line, .. } in calls.skip(skipped) {
            write!(f, ", inlined at {file}:{line}")?;
        }
        Ok(())
    }
}

/// The fundamental types of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the instruction set's own")]
pub enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    BF16,
    BF16x2,
    F32,
    F64,
    Pred,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.param`
    Param,
    /// `.global`
    Global,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.const`
    Const,
}

/// A variable of any space: a kernel parameter, a shared array, a global table, a local depot.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name, unique within its function or module (a braced scope that shadows gets a suffixed name).
    pub name: Arc<str>,
    /// Where it lives.
    pub space: Space,
    /// Type of one element.
    pub ty: Type,
    /// Bytes it occupies; 0 for `.extern .shared x[]`, whose size is the launch's dynamic shared memory.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Declared `.extern`.
    pub external: bool,
    /// Initial bytes (little endian), zero-extended to `size`; empty if there is no initialiser.
    pub init: Vec<u8>,
    /// Addresses of variables and functions inside the initial value, where `init` is zero.
    pub addresses: Vec<InitialAddress>,
    /// Where it was declared.
    pub span: Span,
}

/// An address inside an initial value: eight bytes, known when the module is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialAddress {
    /// Byte offset inside the initial value.
    pub offset: u64,
    /// The function, or the `.global` or `.const` variable, whose address it is.
    pub symbol: Arc<str>,
    /// Bytes added to the address.
    pub addend: i64,
    /// Where the variable is named.
    pub span: Span,
}

/// A virtual register of one function. Its index in [`Function::registers`] is its [`RegId`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The name as written, with `%`.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
}

/// Index into [`Function::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegId(pub u32);

/// An operand as written, with its names resolved.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A virtual register.
    Reg(RegId),
    /// A special register such as `%tid.x`, `%laneid`, `%envreg1`, with its suffix; also `WARP_SZ`.
    Special(Arc<str>),
    /// An integer literal, two's complement in 64 bits.
    Int(i64),
    /// A single-precision literal (`0f3F800000`), as bits.
    F32(u32),
    /// A double-precision literal (`0d…` or decimal), as bits.
    F64(u64),
    /// A variable's name used as a value (its address) or a function's name.
    Symbol(Arc<str>),
    /// A label: the index, in [`Function::body`], of the instruction that it precedes
    /// (`body.len()` for a label at the very end).
    Label(u32),
    /// `[base + offset]`; a bare `[imm]` has base `Int`.
    Address {
        /// Register, symbol or integer.
        base: Box<Operand>,
        /// Constant byte offset.
        offset: i64,
    },
    /// `{a, b, c, d}`.
    Vector(Vec<Operand>),
    /// `a|b`: the two destinations of `setp` or `shfl.sync`.
    Pair(Box<Operand>, Box<Operand>),
    /// `!p`.
    Not(Box<Operand>),
    /// `_`: a destination that is dropped.
    Sink,
    /// A parenthesised list: the arguments and results of `call`.
    List(Vec<Operand>),
}

/// `@p` or `@!p` in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub predicate: RegId,
    /// `@!p`.
    pub negated: bool,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The guard, if any.
    pub guard: Option<Guard>,
    /// The opcode with all its modifiers, e.g. `ld.global.v4.f32`.
    pub opcode: Arc<str>,
    /// Operands in the order written.
    pub operands: Vec<Operand>,
    /// Where it stands in the PTX text.
    pub span: Span,
    /// Where it comes from in the CUDA source, when the PTX has line information.
    pub source: Option<SourceLocation>,
}

/// What a function looks like that is called by its address: a `.callprototype`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// Its label.
    pub name: Arc<str>,
    /// Results; their names mean nothing.
    pub results: Vec<Variable>,
    /// Parameters; their names mean nothing.
    pub params: Vec<Variable>,
}

/// A kernel (`.entry`) or a device function (`.func`).
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: Arc<str>,
    /// `.entry` rather than `.func`.
    pub is_entry: bool,
    /// Results of a `.func`.
    pub results: Vec<Variable>,
    /// Parameters, in order. Offsets in the parameter block follow from sizes and alignments.
    pub params: Vec<Variable>,
    /// All registers of the body.
    pub registers: Vec<Register>,
    /// Variables declared in the body (`.shared`, `.local`, call-site `.param`).
    pub variables: Vec<Variable>,
    /// The instructions.
    pub body: Vec<Instruction>,
    /// Label names by instruction index, for messages.
    pub labels: Vec<(Arc<str>, u32)>,
    /// `.branchtargets` tables: name and targets (instruction indices), for `brx.idx`.
    pub branch_targets: Vec<(Arc<str>, Vec<u32>)>,
    /// Prototypes of the functions that are called by address.
    pub prototypes: Vec<Prototype>,
    /// `.calltargets` lists: name and the functions that a call by address may reach.
    pub call_targets: Vec<(Arc<str>, Vec<Arc<str>>)>,
    /// `.maxntid`, if stated.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, if stated.
    pub required_threads: Option<[u32; 3]>,
    /// Where it starts.
    pub span: Span,
}
