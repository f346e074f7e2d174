//! Single- and double-precision arithmetic.

use super::opcode::Opcode;
use super::work::{Work, rare1, rare2};
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::alu::{op1, op2, op3};
use crate::num::float::{self, canonical, flush, nan64};
use crate::num::soft::{self, Mode};
use crate::rows::Row;

/// The rounding modes that arithmetic may name.
const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

/// The direction that a modifier names.
pub(crate) fn mode(modifier: &str) -> Mode {
    match modifier {
        "rz" => Mode::Zero,
        "rm" => Mode::Down,
        "rp" => Mode::Up,
        "rna" => Mode::NearestAway,
        _ => Mode::Nearest,
    }
}

/// How a floating instruction is to be done.
#[derive(Clone, Copy)]
struct Manner {
    ty: Type,
    /// A direction other than to nearest.
    directed: Option<Mode>,
    ftz: bool,
    saturate: bool,
}

impl Lower<'_> {
    pub(super) fn float(&mut self, op: &mut Opcode<'_>, operands: &[Operand], ty: Type) -> Result<()> {
        let level = self.level;
        let directed = match op.take_any(&ROUNDINGS) {
            None | Some("rn") => None,
            Some(modifier) => Some(mode(modifier)),
        };
        // What is approximate on hardware is rounded correctly here, transcendental functions by the host's library.
        let approximate = op.take_any(&["approx", "full"]).is_some();
        let manner = Manner { ty, directed, ftz: op.take("ftz"), saturate: op.take("sat") };
        let propagate = op.take("NaN");
        if matches!(op.name, "min" | "max") && op.take("xorsign") {
            let _ = op.take("abs");
            op.finish()?;
            return self.float_by_magnitude(op.name, manner, propagate, operands);
        }
        op.finish()?;
        let count = match op.name {
            "add" | "sub" | "mul" | "div" | "min" | "max" | "copysign" => 2,
            "fma" | "mad" => 3,
            _ => 1,
        };
        if directed.is_some()
            && !approximate
            && matches!(op.name, "add" | "sub" | "mul" | "fma" | "mad" | "div" | "rcp" | "sqrt")
        {
            return self.directed(op.name, manner, operands, count);
        }
        // The most frequent operations have flushing variants of their own.
        let fused = match (ty, op.name, manner.ftz) {
            (Type::F32, "add", true) => Some(op2(level, |a: f32, b: f32| flush(canonical(flush(a) + flush(b))))),
            (Type::F32, "sub", true) => Some(op2(level, |a: f32, b: f32| flush(canonical(flush(a) - flush(b))))),
            (Type::F32, "mul", true) => Some(op2(level, |a: f32, b: f32| flush(canonical(flush(a) * flush(b))))),
            (Type::F32, "fma" | "mad", true) => {
                Some(op3(level, |a: f32, b: f32, c: f32| flush(canonical(flush(a).mul_add(flush(b), flush(c))))))
            }
            _ => None,
        };
        if let Some(exec) = fused {
            return self.float_op(exec.into(), Manner { ftz: false, ..manner }, operands, count);
        }
        let exec = match ty {
            Type::F32 => self.single(op.name, propagate),
            _ => self.double(op.name, approximate && manner.ftz, propagate),
        };
        let exec = exec.ok_or("this type is not supported here")?;
        self.float_op(exec, manner, operands, count)
    }

    /// `min.xorsign.abs` and `max.xorsign.abs`: of the magnitudes, with the sign of the product.
    fn float_by_magnitude(&mut self, name: &str, manner: Manner, propagate: bool, operands: &[Operand]) -> Result<()> {
        if manner.ty != Type::F32 {
            return Err("this type is not supported here".into());
        }
        let pick = if name == "min" { float::min } else { float::max };
        let work = rare2(self.level, move |a: f32, b: f32| {
            if propagate && (a.is_nan() || b.is_nan()) {
                return float::NAN;
            }
            let magnitude = pick(a.abs(), b.abs());
            let negative = a.is_sign_negative() ^ b.is_sign_negative();
            if negative && !magnitude.is_nan() { -magnitude } else { magnitude }
        });
        self.float_op(work, manner, operands, 2)
    }

    fn single(&self, name: &str, propagate: bool) -> Option<Work> {
        let level = self.level;
        Some(match name {
            "add" => op2(level, |a: f32, b: f32| canonical(a + b)).into(),
            "sub" => op2(level, |a: f32, b: f32| canonical(a - b)).into(),
            "mul" => op2(level, |a: f32, b: f32| canonical(a * b)).into(),
            "fma" | "mad" => op3(level, |a: f32, b: f32, c: f32| canonical(a.mul_add(b, c))).into(),
            "div" => op2(level, |a: f32, b: f32| canonical(a / b)).into(),
            "rcp" => op1(level, |a: f32| canonical(1.0 / a)).into(),
            "sqrt" => op1(level, |a: f32| canonical(a.sqrt())).into(),
            "rsqrt" => rare1(level, |a: f32| canonical((1.0 / f64::from(a).sqrt()) as f32)),
            "sin" => rare1(level, |a: f32| canonical(f64::from(a).sin() as f32)),
            "cos" => rare1(level, |a: f32| canonical(f64::from(a).cos() as f32)),
            "ex2" => rare1(level, |a: f32| canonical(f64::from(a).exp2() as f32)),
            "lg2" => rare1(level, |a: f32| canonical(f64::from(a).log2() as f32)),
            "tanh" => rare1(level, |a: f32| canonical(f64::from(a).tanh() as f32)),
            "abs" => op1(level, |a: u32| a & 0x7fff_ffff).into(),
            "neg" => op1(level, |a: u32| a ^ 0x8000_0000).into(),
            "copysign" => rare2(level, |a: u32, b: u32| a & 0x8000_0000 | b & 0x7fff_ffff),
            "min" if propagate => {
                rare2(level, |a: f32, b: f32| if a.is_nan() || b.is_nan() { float::NAN } else { float::min(a, b) })
            }
            "max" if propagate => {
                rare2(level, |a: f32, b: f32| if a.is_nan() || b.is_nan() { float::NAN } else { float::max(a, b) })
            }
            "min" => op2(level, float_min).into(),
            "max" => op2(level, float_max).into(),
            _ => return None,
        })
    }

    fn double(&self, name: &str, coarse: bool, propagate: bool) -> Option<Work> {
        let level = self.level;
        if propagate {
            return None;
        }
        Some(match name {
            "add" => op2(level, |a: f64, b: f64| nan64([a, b, 0.0], a + b)).into(),
            "sub" => op2(level, |a: f64, b: f64| nan64([a, b, 0.0], a - b)).into(),
            "mul" => op2(level, |a: f64, b: f64| nan64([a, b, 0.0], a * b)).into(),
            "fma" | "mad" => op3(level, |a: f64, b: f64, c: f64| nan64([a, b, c], a.mul_add(b, c))).into(),
            "div" => op2(level, |a: f64, b: f64| nan64([a, b, 0.0], a / b)).into(),
            // The approximations that flush keep the upper half of the result only.
            "rcp" if coarse => rare1(level, |a: f64| upper_half(nan64([a, 0.0, 0.0], 1.0 / a))),
            "rsqrt" if coarse => rare1(level, |a: f64| upper_half(nan64([a, 0.0, 0.0], 1.0 / a.sqrt()))),
            "rsqrt" => rare1(level, |a: f64| nan64([a, 0.0, 0.0], 1.0 / a.sqrt())),
            "rcp" => rare1(level, |a: f64| nan64([a, 0.0, 0.0], 1.0 / a)),
            "sqrt" => rare1(level, |a: f64| nan64([a, 0.0, 0.0], a.sqrt())),
            "abs" => rare1(level, |a: u64| a & !(1 << 63)),
            "neg" => rare1(level, |a: u64| a ^ 1 << 63),
            "copysign" => rare2(level, |a: u64, b: u64| a & 1 << 63 | b & !(1 << 63)),
            "min" => rare2(level, |a: f64, b: f64| float::min64(a, b)),
            "max" => rare2(level, |a: f64, b: f64| float::max64(a, b)),
            _ => return None,
        })
    }

    /// Reads the operands of a floating instruction, flushed if need be.
    fn float_operands(&mut self, manner: Manner, operands: &[Operand], count: usize) -> Result<(Row, Vec<Row>)> {
        let [d, sources @ ..] = operands else { return Err("operands are missing".into()) };
        if sources.len() != count {
            return Err(format!("{} operands where {} are needed", operands.len(), count + 1).into());
        }
        let mut rows = Vec::new();
        for source in sources {
            let mut row = self.value(source, manner.ty)?;
            if manner.ftz && manner.ty == Type::F32 {
                row = self.flushed(row);
            }
            rows.push(row);
        }
        Ok((self.result(d, manner.ty)?, rows))
    }

    /// A row of single-precision numbers with subnormal ones flushed.
    pub(crate) fn flushed(&mut self, row: Row) -> Row {
        let flushed = self.fresh(false);
        self.emit_exec(op1(self.level, flush), &[flushed, row], 0);
        flushed
    }

    /// Flushes and clamps a result where it stands.
    fn finish_float(&mut self, manner: Manner, d: Row) {
        if manner.ftz && manner.ty == Type::F32 {
            self.emit_exec(op1(self.level, flush), &[d, d], 0);
        }
        if manner.saturate {
            let exec = match manner.ty {
                Type::F32 => op1(self.level, float::saturate),
                _ => op1(self.level, float::saturate64),
            };
            self.emit_exec(exec, &[d, d], 0);
        }
    }

    fn float_op(&mut self, work: Work, manner: Manner, operands: &[Operand], count: usize) -> Result<()> {
        let (d, sources) = self.float_operands(manner, operands, count)?;
        let mut rows = vec![d];
        rows.extend(sources);
        self.emit_work(work, &rows, &[manner.ty; 4]);
        self.finish_float(manner, d);
        Ok(())
    }

    /// Arithmetic that rounds in a direction.
    fn directed(&mut self, name: &str, manner: Manner, operands: &[Operand], count: usize) -> Result<()> {
        let mode = manner.directed.unwrap_or(Mode::Nearest);
        let format = if manner.ty == Type::F32 { soft::F32 } else { soft::F64 };
        let one = soft::Value::integer(false, 1);
        let compute: fn([soft::Value; 3], soft::Value, Mode) -> soft::Value = match name {
            "add" => |[a, b, _], _, mode| soft::add(a, b, mode),
            "sub" => |[a, b, _], _, mode| soft::sub(a, b, mode),
            "mul" => |[a, b, _], _, _| soft::mul(a, b),
            "div" => |[a, b, _], _, _| soft::div(a, b),
            "rcp" => |[a, ..], one, _| soft::div(one, a),
            "sqrt" => |[a, ..], _, _| soft::sqrt(a),
            _ => |[a, b, c], _, mode| soft::add(soft::mul(a, b), c, mode),
        };
        let (d, sources) = self.float_operands(manner, operands, count)?;
        let wide = types::is_wide(manner.ty);
        let rows: Vec<(Row, bool)> = sources.into_iter().map(|row| (row, wide)).collect();
        self.emit_per_lane(
            (d, wide),
            &rows,
            Box::new(move |bits| {
                let result = soft::round(compute(bits.map(|bits| soft::decode(bits, format)), one, mode), format, mode);
                if format == soft::F64 {
                    let operands: [f64; 3] =
                        std::array::from_fn(|index| if index < count { f64::from_bits(bits[index]) } else { 0.0 });
                    nan64(operands, f64::from_bits(result)).to_bits()
                } else {
                    result
                }
            }),
        );
        self.finish_float(manner, d);
        Ok(())
    }
}

#[inline(always)]
fn float_min(a: f32, b: f32) -> f32 {
    float::min(a, b)
}

#[inline(always)]
fn float_max(a: f32, b: f32) -> f32 {
    float::max(a, b)
}

#[inline(always)]
fn upper_half(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !0xffff_ffff)
}
