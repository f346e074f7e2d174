//! How an operation is done: row by row, or lane by lane.
//!
//! Code that runs over rows is fast, and large: it exists for every type and for every kind of processor. Operations
//! that programs rarely use are one function of one lane.

use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::code::PerLane;
use crate::exec::Exec;
use crate::exec::level::Level;
use crate::rows::{Lane, Raw, Row};

/// How an operation is done.
pub(crate) enum Work {
    Rows(Exec),
    Lanes(PerLane),
}

impl From<Exec> for Work {
    fn from(exec: Exec) -> Work {
        Work::Rows(exec)
    }
}

fn lane<T: Lane>(bits: u64) -> T {
    T::from_raw(T::Raw::narrow(bits))
}

/// An operation of one operand that is done lane by lane, on every level alike.
pub(crate) fn rare1<A: Lane, R: Lane>(_: Level, f: impl Fn(A) -> R + Send + Sync + 'static) -> Work {
    Work::Lanes(Box::new(move |[a, ..]| f(lane(a)).into_raw().widen()))
}

/// An operation of two operands that is done lane by lane.
pub(crate) fn rare2<A: Lane, B: Lane, R: Lane>(_: Level, f: impl Fn(A, B) -> R + Send + Sync + 'static) -> Work {
    Work::Lanes(Box::new(move |[a, b, _]| f(lane(a), lane(b)).into_raw().widen()))
}

/// An operation of three operands that is done lane by lane.
pub(crate) fn rare3<A: Lane, B: Lane, C: Lane, R: Lane>(
    _: Level,
    f: impl Fn(A, B, C) -> R + Send + Sync + 'static,
) -> Work {
    Work::Lanes(Box::new(move |[a, b, c]| f(lane(a), lane(b), lane(c)).into_raw().widen()))
}

/// The unsigned type of the same width: many operations do not care about signs.
pub(crate) fn unsigned(ty: Type) -> Type {
    match ty {
        Type::B16 | Type::S16 => Type::U16,
        Type::B32 | Type::S32 => Type::U32,
        Type::B64 | Type::S64 => Type::U64,
        _ => ty,
    }
}

impl Lower<'_> {
    /// Does the work on rows of the given types; the result comes first.
    pub(crate) fn emit_work(&mut self, work: impl Into<Work>, rows: &[Row], of: &[Type]) {
        match work.into() {
            Work::Rows(exec) => self.emit_exec(exec, rows, 0),
            Work::Lanes(function) => {
                let operand = |index: usize| (rows[index], types::is_wide(of[index]));
                let operands: Vec<(Row, bool)> = (1..rows.len()).map(operand).collect();
                self.emit_per_lane(operand(0), &operands, function);
            }
        }
    }

    fn operation(&mut self, work: Option<impl Into<Work>>, of: &[Type], operands: &[Operand]) -> Result<()> {
        if operands.len() != of.len() {
            return Err(format!("{} operands where {} are needed", operands.len(), of.len()).into());
        }
        let work = work.ok_or("this type is not supported here")?;
        let mut rows = vec![Row::default()];
        for (operand, &ty) in operands.iter().zip(of).skip(1) {
            rows.push(self.value(operand, ty)?);
        }
        rows[0] = self.result(&operands[0], of[0])?;
        self.emit_work(work, &rows, of);
        Ok(())
    }

    /// An operation of one operand, given the types of result and operand; a refusal if there is no such operation.
    pub(crate) fn unary(
        &mut self,
        work: Option<impl Into<Work>>,
        (to, from): (Type, Type),
        operands: &[Operand],
    ) -> Result<()> {
        self.operation(work, &[to, from], operands)
    }

    /// An operation of two operands.
    pub(crate) fn binary(&mut self, work: Option<impl Into<Work>>, of: [Type; 3], operands: &[Operand]) -> Result<()> {
        self.operation(work, &of, operands)
    }

    /// An operation of three operands.
    pub(crate) fn ternary(&mut self, work: Option<impl Into<Work>>, of: [Type; 4], operands: &[Operand]) -> Result<()> {
        self.operation(work, &of, operands)
    }
}
