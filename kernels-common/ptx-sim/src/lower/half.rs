//! Arithmetic on f16 and bf16 numbers, single and packed.

use super::opcode::Opcode;
use super::work::{Work, rare1, rare2};
use super::{Lower, Result};
use crate::ast::{Operand, Type};
use crate::exec::alu::{op2, op3};
use crate::num::float;
use crate::num::half::{self, bf16, both1, both2, both3, f16};
use crate::rows::Row;

/// The instances of an operation for the four types.
macro_rules! lift {
    ($op:ident, $level:expr, $ty:expr, 1, $f16:expr, $bf16:expr) => {
        Work::from(match $ty {
            Type::F16 => $op($level, |a: u16| -> u16 { $f16(a) }),
            Type::F16x2 => $op($level, |a: u32| -> u32 { both1($f16, a) }),
            Type::BF16 => $op($level, |a: u16| -> u16 { $bf16(a) }),
            _ => $op($level, |a: u32| -> u32 { both1($bf16, a) }),
        })
    };
    ($op:ident, $level:expr, $ty:expr, 2, $f16:expr, $bf16:expr) => {
        Work::from(match $ty {
            Type::F16 => $op($level, |a: u16, b: u16| -> u16 { $f16(a, b) }),
            Type::F16x2 => $op($level, |a: u32, b: u32| -> u32 { both2($f16, a, b) }),
            Type::BF16 => $op($level, |a: u16, b: u16| -> u16 { $bf16(a, b) }),
            _ => $op($level, |a: u32, b: u32| -> u32 { both2($bf16, a, b) }),
        })
    };
    ($op:ident, $level:expr, $ty:expr, 3, $f16:expr, $bf16:expr) => {
        Work::from(match $ty {
            Type::F16 => $op($level, |a: u16, b: u16, c: u16| -> u16 { $f16(a, b, c) }),
            Type::F16x2 => $op($level, |a: u32, b: u32, c: u32| -> u32 { both3($f16, a, b, c) }),
            Type::BF16 => $op($level, |a: u16, b: u16, c: u16| -> u16 { $bf16(a, b, c) }),
            _ => $op($level, |a: u32, b: u32, c: u32| -> u32 { both3($bf16, a, b, c) }),
        })
    };
}

/// The instances of `min.xorsign.abs` and its like.
macro_rules! magnitudes {
    ($level:expr, $ty:expr, $pick:ident) => {
        lift!(rare2, $level, $ty, 2, |a, b| by_magnitude(a, b, f16::$pick), |a, b| by_magnitude(a, b, bf16::$pick))
    };
}

impl Lower<'_> {
    pub(super) fn half(&mut self, op: &mut Opcode<'_>, operands: &[Operand], ty: Type) -> Result<()> {
        let level = self.level;
        // To nearest is the only direction there is for these types.
        let _ = op.take_any(&["rn", "approx"]);
        let ftz = op.take("ftz");
        let saturate = op.take("sat");
        let relu = op.take("relu");
        let propagate = op.take("NaN");
        let signs = matches!(op.name, "min" | "max") && op.take("xorsign") && op.take("abs");
        op.finish()?;
        let (count, work) = match op.name {
            "add" => (2, lift!(op2, level, ty, 2, f16::add, bf16::add)),
            "sub" => (2, lift!(op2, level, ty, 2, f16::sub, bf16::sub)),
            "mul" => (2, lift!(op2, level, ty, 2, f16::mul, bf16::mul)),
            "fma" => (3, lift!(op3, level, ty, 3, f16::fma, bf16::fma)),
            "neg" => (1, lift!(rare1, level, ty, 1, |a: u16| a ^ 0x8000, |a: u16| a ^ 0x8000)),
            "abs" => (1, lift!(rare1, level, ty, 1, |a: u16| a & 0x7fff, |a: u16| a & 0x7fff)),
            "min" if signs && propagate => (2, magnitudes!(level, ty, min_nan)),
            "max" if signs && propagate => (2, magnitudes!(level, ty, max_nan)),
            "min" if signs => (2, magnitudes!(level, ty, min)),
            "max" if signs => (2, magnitudes!(level, ty, max)),
            "min" if propagate => (2, lift!(rare2, level, ty, 2, f16::min_nan, bf16::min_nan)),
            "max" if propagate => (2, lift!(rare2, level, ty, 2, f16::max_nan, bf16::max_nan)),
            "min" => (2, lift!(rare2, level, ty, 2, f16::min, bf16::min)),
            "max" => (2, lift!(rare2, level, ty, 2, f16::max, bf16::max)),
            "ex2" => (1, lift!(rare1, level, ty, 1, |a| by_double16(a, f64::exp2), |a| by_double_b16(a, f64::exp2))),
            "tanh" => (1, lift!(rare1, level, ty, 1, |a| by_double16(a, f64::tanh), |a| by_double_b16(a, f64::tanh))),
            _ => return Err("this type is not supported here".into()),
        };
        let [d, sources @ ..] = operands else { return Err("operands are missing".into()) };
        if sources.len() != count {
            return Err(format!("{} operands where {} are needed", operands.len(), count + 1).into());
        }
        let flush = || lift!(rare1, level, ty, 1, half::flush_f16, |a: u16| a);
        let mut rows = vec![Row::default()];
        for source in sources {
            let mut row = self.value(source, ty)?;
            if ftz {
                let flushed = self.fresh(false);
                self.emit_work(flush(), &[flushed, row], &[ty; 2]);
                row = flushed;
            }
            rows.push(row);
        }
        let d = self.result(d, ty)?;
        rows[0] = d;
        self.emit_work(work, &rows, &[ty; 4]);
        if ftz {
            self.emit_work(flush(), &[d, d], &[ty; 2]);
        }
        if saturate {
            self.emit_work(lift!(rare1, level, ty, 1, f16::saturate, bf16::saturate), &[d, d], &[ty; 2]);
        }
        if relu {
            self.emit_work(lift!(rare1, level, ty, 1, f16::relu, bf16::relu), &[d, d], &[ty; 2]);
        }
        Ok(())
    }
}

/// `pick` of the magnitudes, with the sign of the product.
#[inline(always)]
fn by_magnitude(a: u16, b: u16, pick: impl Fn(u16, u16) -> u16) -> u16 {
    let magnitude = pick(a & 0x7fff, b & 0x7fff);
    if magnitude == half::NAN { magnitude } else { magnitude | (a ^ b) & 0x8000 }
}

fn by_double16(a: u16, f: impl Fn(f64) -> f64) -> u16 {
    half::f32_to_f16(float::canonical(f(f64::from(half::f16_to_f32(a))) as f32))
}

fn by_double_b16(a: u16, f: impl Fn(f64) -> f64) -> u16 {
    half::f32_to_bf16(float::canonical(f(f64::from(half::bf16_to_f32(a))) as f32))
}
