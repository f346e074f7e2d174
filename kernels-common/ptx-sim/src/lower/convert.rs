//! `cvt`.

use super::opcode::Opcode;
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::Exec;
use crate::exec::alu::{op1, op2};
use crate::num::float::{self, canonical};
use crate::num::fp8;
use crate::num::half::{self, bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::num::soft::{self, Format, Mode, Value};

/// Rounding to integers, and in directions.
const ROUNDINGS: [&str; 9] = ["rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp", "rna"];

impl Lower<'_> {
    pub(super) fn convert(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        if op.take("pack") {
            return self.pack_saturated(op, operands);
        }
        if op.take("tf32") {
            return self.convert_tf32(op, operands);
        }
        if let Some(format) = op.take_any(&["e4m3x2", "e5m2x2"]) {
            let format = if format == "e4m3x2" { fp8::Format::E4M3 } else { fp8::Format::E5M2 };
            return self.convert_fp8(op, format, operands);
        }
        let &[to, from] = &op.types[..] else { return Err("two types are needed".into()) };
        let rounding = op.take_any(&ROUNDINGS);
        let ftz = op.take("ftz");
        let saturate = op.take("sat");
        let relu = op.take("relu");
        op.finish()?;
        if let Type::F16x2 | Type::BF16x2 = to {
            return self.convert_packed(to, from, rounding, relu, operands);
        }
        let [d, a] = operands else { return Err("two operands are needed".into()) };
        if let (false, false, false, Some(work)) = (ftz, saturate, relu, self.quick(to, from, rounding)) {
            return self.unary(Some(work), (to, from), operands);
        }
        let a = self.value(a, from)?;
        let d = self.result(d, to)?;
        let (wide_d, wide_a) = (types::is_wide(to), types::is_wide(from));
        let convert: fn(u64, &Manner) -> u64 = match (to, from) {
            _ if types::is_integer(to) && types::is_integer(from) => integer_to_integer,
            _ if types::is_float(to) && types::is_integer(from) => integer_to_float,
            _ if types::is_integer(to) && types::is_float(from) => float_to_integer,
            _ if types::is_float(to) && types::is_float(from) => float_to_float,
            _ => return Err("a conversion between these types is not supported".into()),
        };
        let (mode, to_integer) = match rounding {
            None => (Mode::Nearest, false),
            Some(name) => (super::float::mode(name.strip_suffix('i').unwrap_or(name)), name.ends_with('i')),
        };
        let manner = Manner { to, from, mode, to_integer, ftz, saturate, relu };
        self.emit_per_lane((d, wide_d), &[(a, wide_a)], Box::new(move |[bits, ..]| convert(bits, &manner)));
        Ok(())
    }

    /// `cvt.pack.sat.s8.s32.b32 d, a, b, c`: a and b, each clamped to the narrow type; b is the lower one, and above the
    /// two of them comes c, if there is one.
    fn pack_saturated(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        if !op.take("sat") {
            return Err("`cvt.pack` needs `.sat`".into());
        }
        op.finish()?;
        let (to, c) = match (&op.types[..], operands) {
            ([to @ (Type::U16 | Type::S16), Type::S32], [_, _, _]) => (*to, None),
            ([to @ (Type::U8 | Type::S8), Type::S32, Type::B32], [_, _, _, c]) => (*to, Some(c)),
            _ => return Err("this form is not supported".into()),
        };
        let [d, a, b, ..] = operands else { return Err("operands are missing".into()) };
        let (a, b) = (self.value(a, Type::S32)?, self.value(b, Type::S32)?);
        let c = match c {
            Some(c) => self.value(c, Type::B32)?,
            None => self.bits_row(0, false),
        };
        let d = self.result(d, Type::B32)?;
        let bits = 8 * types::bytes(to);
        let (least, greatest) = range(to);
        let part = move |bits_of: u64| integer(bits_of, Type::S32).clamp(least, greatest) as u64 & ((1 << bits) - 1);
        self.emit_per_lane(
            (d, false),
            &[(a, false), (b, false), (c, false)],
            Box::new(move |[a, b, c]| (c << (2 * bits) | part(a) << bits | part(b)) & 0xffff_ffff),
        );
        Ok(())
    }

    /// `cvt.rna.tf32.f32`: single precision with ten bits of fraction.
    fn convert_tf32(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let mode = super::float::mode(op.take_any(&["rna", "rn", "rz"]).ok_or("the rounding is missing")?);
        let (relu, saturate) = (op.take("relu"), op.take("satfinite"));
        op.finish()?;
        if op.types[..] != [Type::F32] {
            return Err("a conversion between these types is not supported".into());
        }
        let work = super::work::rare1(self.level, move |a: f32| tf32(a, mode, relu, saturate));
        self.unary(Some(work), (Type::B32, Type::F32), operands)
    }

    /// Conversions between pairs of 8-bit floating numbers and f16x2 or two single-precision numbers.
    fn convert_fp8(&mut self, op: &mut Opcode<'_>, format: fp8::Format, operands: &[Operand]) -> Result<()> {
        let (_, saturate, relu) = (op.take("rn"), op.take("satfinite"), op.take("relu"));
        op.finish()?;
        let narrow = move |x: f64| if relu && x <= 0.0 { 0 } else { u64::from(format.round(x)) };
        match (&op.types[..], operands) {
            ([Type::F32], [d, a, b]) if saturate => {
                let (a, b) = (self.value(a, Type::F32)?, self.value(b, Type::F32)?);
                let d = self.result(d, Type::B16)?;
                let single = |bits| number(bits, Type::F32);
                let function = move |[a, b, _]: [u64; 3]| narrow(single(a)) << 8 | narrow(single(b));
                self.emit_per_lane((d, false), &[(a, false), (b, false)], Box::new(function));
                Ok(())
            }
            ([Type::F16x2], [d, a]) if saturate => {
                let a = self.value(a, Type::F16x2)?;
                let d = self.result(d, Type::B16)?;
                let half = |bits| number(bits, Type::F16);
                let function = move |[a, ..]: [u64; 3]| narrow(half(a >> 16)) << 8 | narrow(half(a & 0xffff));
                self.emit_per_lane((d, false), &[(a, false)], Box::new(function));
                Ok(())
            }
            ([Type::F16x2], [d, a]) => {
                let a = self.value(a, Type::B16)?;
                let d = self.result(d, Type::F16x2)?;
                // Every such number is one of f16.
                let half = move |bits: u64| {
                    let x = format.decode(bits as u8);
                    if relu && x <= 0.0 { 0 } else { u64::from(f32_to_f16(x as f32)) }
                };
                let function = move |[a, ..]: [u64; 3]| half(a >> 8) << 16 | half(a);
                self.emit_per_lane((d, false), &[(a, false)], Box::new(function));
                Ok(())
            }
            _ => Err("this conversion of 8-bit numbers is not supported".into()),
        }
    }

    /// Frequent conversions that need no options.
    fn quick(&self, to: Type, from: Type, rounding: Option<&str>) -> Option<Exec> {
        use Type::{BF16, F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
        let level = self.level;
        Some(match (to, from, rounding) {
            (U64 | S64, U32, None) => self.extend(false),
            (S64 | U64, S32, None) => self.extend(true),
            (U32 | S32, U64 | S64, None) => self.narrow(),
            (U32 | S32, U32 | S32, None) => self.copy_row(false),
            (U64 | S64, U64 | S64, None) => self.copy_row(true),
            (U16, U32 | S32 | U16 | S16, None) | (U32 | S32, U16, None) => op1(level, |a: u16| a),
            (S16, U32 | S32 | U16 | S16, None) | (U32 | S32, S16, None) => op1(level, |a: i16| a),
            (U8, U16 | S16 | U32 | S32 | U8, None) | (U16 | S16 | U32 | S32, U8, None) => op1(level, |a: u8| a),
            (S8, U16 | S16 | U32 | S32 | S8, None) | (U32 | S32 | S16, S8, None) => op1(level, |a: i8| a),
            (F32, F16 | BF16, None) => self.widen_half(from),
            (F16, F32, Some("rn")) => op1(level, f32_to_f16),
            (BF16, F32, Some("rn")) => op1(level, f32_to_bf16),
            (F64, F32, None) => op1(level, widen),
            (F32, F64, Some("rn")) => op1(level, |a: f64| canonical(a as f32)),
            (F32, S32, Some("rn")) => op1(level, |a: i32| a as f32),
            (F32, U32, Some("rn")) => op1(level, |a: u32| a as f32),
            (F32, S64, Some("rn")) => op1(level, |a: i64| a as f32),
            (F32, U64, Some("rn")) => op1(level, |a: u64| a as f32),
            (F64, S32, Some("rn")) => op1(level, |a: i32| f64::from(a)),
            (F64, S64, Some("rn")) => op1(level, |a: i64| a as f64),
            (S32, F32, Some("rzi")) => op1(level, |a: f32| a as i32),
            _ => return None,
        })
    }

    /// f16 or bf16 to single precision.
    pub(crate) fn widen_half(&self, ty: Type) -> Exec {
        match ty {
            Type::F16 => op1(self.level, |a: u16| canonical(f16_to_f32(a))),
            _ => op1(self.level, |a: u16| canonical(bf16_to_f32(a))),
        }
    }

    /// 32-bit to 64-bit rows.
    pub(crate) fn extend(&self, signed: bool) -> Exec {
        if signed { op1(self.level, |a: i32| i64::from(a)) } else { op1(self.level, |a: u32| u64::from(a)) }
    }

    /// The low halves of 64-bit rows.
    pub(crate) fn narrow(&self) -> Exec {
        op1(self.level, |a: u64| a as u32)
    }

    /// A row as it is.
    pub(crate) fn copy_row(&self, wide: bool) -> Exec {
        if wide { op1(self.level, |a: u64| a) } else { op1(self.level, |a: u32| a) }
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: a goes to the upper half.
    fn convert_packed(
        &mut self,
        to: Type,
        from: Type,
        rounding: Option<&str>,
        relu: bool,
        operands: &[Operand],
    ) -> Result<()> {
        let ([d, a, b], Type::F32) = (operands, from) else {
            return Err("only conversions of two single-precision numbers are supported".into());
        };
        let (a, b) = (self.value(a, from)?, self.value(b, from)?);
        let d = self.result(d, to)?;
        let level = self.level;
        let exec = match (to, rounding, relu) {
            (Type::F16x2, Some("rn"), false) => Some(op2(level, |a: f32, b: f32| join(f32_to_f16(a), f32_to_f16(b)))),
            (Type::BF16x2, Some("rn"), false) => {
                Some(op2(level, |a: f32, b: f32| join(f32_to_bf16(a), f32_to_bf16(b))))
            }
            _ => None,
        };
        if let Some(exec) = exec {
            self.emit_exec(exec, &[d, a, b], 0);
            return Ok(());
        }
        let half = if to == Type::F16x2 { Type::F16 } else { Type::BF16 };
        let mode = super::float::mode(rounding.unwrap_or("rn"));
        let manner = Manner { to: half, from, mode, to_integer: false, ftz: false, saturate: false, relu };
        self.emit_per_lane(
            (d, false),
            &[(a, false), (b, false)],
            Box::new(move |[a, b, _]| float_to_float(a, &manner) << 16 | float_to_float(b, &manner)),
        );
        Ok(())
    }
}

fn tf32(a: f32, mode: Mode, relu: bool, saturate: bool) -> u32 {
    if a.is_nan() {
        return float::NAN.to_bits();
    }
    if relu && a <= 0.0 {
        return 0;
    }
    let bits = (soft::round(soft::decode(u64::from(a.to_bits()), soft::F32), soft::TF32, mode) as u32) << 13;
    let infinite = bits & 0x7fff_ffff == f32::INFINITY.to_bits();
    // One step below infinity is the greatest finite number.
    if saturate && infinite { bits - (1 << 13) } else { bits }
}

#[inline(always)]
fn join(high: u16, low: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

/// Single to double precision; a NaN keeps its payload and becomes quiet.
#[inline(always)]
fn widen(a: f32) -> f64 {
    float::nan64([f64::from(a), 0.0, 0.0], f64::from(a))
}

/// How a conversion is to be done.
struct Manner {
    to: Type,
    from: Type,
    mode: Mode,
    /// Rounds to an integer.
    to_integer: bool,
    ftz: bool,
    saturate: bool,
    relu: bool,
}

fn format(ty: Type) -> Format {
    match ty {
        Type::F16 => soft::F16,
        Type::BF16 => soft::BF16,
        Type::F32 => soft::F32,
        _ => soft::F64,
    }
}

/// The integer that the low bits are.
fn integer(bits: u64, ty: Type) -> i128 {
    let size = 8 * types::bytes(ty);
    let shift = 64 - size;
    if types::is_signed(ty) { i128::from((bits << shift) as i64 >> shift) } else { i128::from(bits << shift >> shift) }
}

/// Least and greatest value of an integer type.
fn range(ty: Type) -> (i128, i128) {
    let size = 8 * types::bytes(ty);
    if types::is_signed(ty) { (-(1 << (size - 1)), (1 << (size - 1)) - 1) } else { (0, (1 << size) - 1) }
}

/// The bits of an integer of type `ty`, extended to 64.
fn extended(value: i128, ty: Type) -> u64 {
    integer(value as u64, ty) as u64
}

fn integer_to_integer(bits: u64, manner: &Manner) -> u64 {
    let mut value = integer(bits, manner.from);
    if manner.saturate {
        let (least, greatest) = range(manner.to);
        value = value.clamp(least, greatest);
    }
    extended(value, manner.to)
}

fn integer_to_float(bits: u64, manner: &Manner) -> u64 {
    let value = integer(bits, manner.from);
    let exact = Value::integer(value < 0, value.unsigned_abs() as u64);
    finish(soft::round(exact, format(manner.to), manner.mode), manner)
}

/// The number in double precision, which holds every format exactly. A NaN stays one.
fn number(bits: u64, ty: Type) -> f64 {
    match ty {
        Type::F16 => f64::from(f16_to_f32(bits as u16)),
        Type::BF16 => f64::from(bf16_to_f32(bits as u16)),
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

fn flushed(bits: u64, manner: &Manner, ty: Type) -> u64 {
    if manner.ftz && ty == Type::F32 {
        return u64::from(float::flush(f32::from_bits(bits as u32)).to_bits());
    }
    bits
}

fn to_integer(x: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => x.round_ties_even(),
        Mode::NearestAway => x.round(),
        Mode::Zero => x.trunc(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
    }
}

/// Values outside the range are clamped. A NaN gives 0, or the top bit alone where 64 bits are involved.
fn float_to_integer(bits: u64, manner: &Manner) -> u64 {
    let x = number(flushed(bits, manner, manner.from), manner.from);
    if x.is_nan() {
        let long = manner.from == Type::F64 || types::bytes(manner.to) == 8;
        let top = 1i128 << (8 * types::bytes(manner.to) - 1);
        return if long { extended(top, manner.to) } else { 0 };
    }
    let (least, greatest) = range(manner.to);
    extended((to_integer(x, manner.mode) as i128).clamp(least, greatest), manner.to)
}

fn float_to_float(bits: u64, manner: &Manner) -> u64 {
    let (to, from) = (format(manner.to), format(manner.from));
    let bits = flushed(bits, manner, manner.from);
    let x = number(bits, manner.from);
    if x.is_nan() {
        let result =
            if manner.to == Type::F64 { x.to_bits() | 1 << 51 } else { soft::round(Value::Nan, to, manner.mode) };
        return finish(result, manner);
    }
    if manner.to_integer {
        return finish(
            soft::round(soft::decode(to_integer(x, manner.mode).to_bits(), soft::F64), to, manner.mode),
            manner,
        );
    }
    let result = if to == from { bits } else { soft::round(soft::decode(bits, from), to, manner.mode) };
    finish(result, manner)
}

/// Flushes and clamps a floating result.
fn finish(bits: u64, manner: &Manner) -> u64 {
    let mut bits = flushed(bits, manner, manner.to);
    if manner.relu {
        let negative = number(bits, manner.to) < 0.0 || bits == 1 << (8 * types::bytes(manner.to) - 1);
        bits = if negative { 0 } else { bits };
    }
    if manner.saturate {
        bits = match manner.to {
            Type::F16 => u64::from(half::f16::saturate(bits as u16)),
            Type::BF16 => u64::from(half::bf16::saturate(bits as u16)),
            Type::F32 => u64::from(float::saturate(f32::from_bits(bits as u32)).to_bits()),
            _ => float::saturate64(f64::from_bits(bits)).to_bits(),
        };
    }
    bits
}
