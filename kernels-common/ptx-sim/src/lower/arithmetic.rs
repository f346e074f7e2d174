//! Integer arithmetic, and the way to arithmetic of other types.

use super::opcode::Opcode;
use super::work::{Work, rare1, rare2, rare3, unsigned};
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::code::Ins;
use crate::exec::alu::{op1, op2, op3};
use crate::exec::level::Run;
use crate::exec::{Flow, Machine};
use crate::num::half::both2;
use crate::rows::{BIT, LANES, Lane};

/// The Rust types of PTX types.
pub(crate) mod lane {
    #![allow(missing_docs, reason = "the names are those of PTX")]
    pub(crate) type B16 = u16;
    pub(crate) type B32 = u32;
    pub(crate) type B64 = u64;
    pub(crate) type U16 = u16;
    pub(crate) type U32 = u32;
    pub(crate) type U64 = u64;
    pub(crate) type S16 = i16;
    pub(crate) type S32 = i32;
    pub(crate) type S64 = i64;
}

/// Picks the instance of an operation for the type of the instruction, if it is one of those listed.
macro_rules! by_type {
    ($level:expr, $ty:expr, $op:ident, [$($T:ident)+], |$a:ident| $body:expr) => {
        match $ty {
            $($crate::ast::Type::$T => {
                type T = $crate::lower::arithmetic::lane::$T;
                Some($crate::lower::work::Work::from($op($level, |$a: T| -> T { $body })))
            })+
            _ => None,
        }
    };
    ($level:expr, $ty:expr, $op:ident, [$($T:ident)+], |$a:ident, $b:ident| $body:expr) => {
        match $ty {
            $($crate::ast::Type::$T => {
                type T = $crate::lower::arithmetic::lane::$T;
                Some($crate::lower::work::Work::from($op($level, |$a: T, $b: T| -> T { $body })))
            })+
            _ => None,
        }
    };
    ($level:expr, $ty:expr, $op:ident, [$($T:ident)+], |$a:ident, $b:ident, $c:ident| $body:expr) => {
        match $ty {
            $($crate::ast::Type::$T => {
                type T = $crate::lower::arithmetic::lane::$T;
                Some($crate::lower::work::Work::from($op($level, |$a: T, $b: T, $c: T| -> T { $body })))
            })+
            _ => None,
        }
    };
}
pub(crate) use by_type;

impl Lower<'_> {
    pub(super) fn arithmetic(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        if let Some(packed) = op.take_any(&["u16x2", "s16x2"]) {
            return self.packed_integers(op, packed == "s16x2", operands);
        }
        let ty = op.ty()?;
        match ty {
            Type::F32 | Type::F64 => self.float(op, operands, ty),
            Type::F16 | Type::F16x2 | Type::BF16 | Type::BF16x2 => self.half(op, operands, ty),
            _ => self.integer(op, operands, ty),
        }
    }

    /// Pairs of 16-bit integers in one register.
    fn packed_integers(&mut self, op: &mut Opcode<'_>, signed: bool, operands: &[Operand]) -> Result<()> {
        let relu = op.take("relu");
        op.finish()?;
        let f: fn(u16, u16) -> u16 = match (op.name, signed) {
            ("add", _) => u16::wrapping_add,
            ("min", false) => u16::min,
            ("max", false) => u16::max,
            ("min", true) => |a, b| (a as i16).min(b as i16) as u16,
            ("max", true) => |a, b| (a as i16).max(b as i16) as u16,
            _ => return Err("this operation is not supported for pairs of integers".into()),
        };
        let work = rare2(self.level, move |a: u32, b: u32| {
            both2(|a, b| if relu { (f(a, b) as i16).max(0) as u16 } else { f(a, b) }, a, b)
        });
        self.binary(Some(work), [Type::U32; 3], operands)
    }

    fn integer(&mut self, op: &mut Opcode<'_>, operands: &[Operand], ty: Type) -> Result<()> {
        let level = self.level;
        let sets_carry = op.take("cc");
        if sets_carry || matches!(op.name, "addc" | "subc" | "madc") {
            return self.with_carry(op, sets_carry, operands, ty);
        }
        let saturate = matches!(op.name, "add" | "sub") && op.take("sat");
        match op.name {
            "add" if saturate => {
                op.finish()?;
                self.binary(by_type!(level, ty, rare2, [S32], |a, b| a.saturating_add(b)), [ty; 3], operands)
            }
            "sub" if saturate => {
                op.finish()?;
                self.binary(by_type!(level, ty, rare2, [S32], |a, b| a.saturating_sub(b)), [ty; 3], operands)
            }
            "add" => {
                op.finish()?;
                let exec = by_type!(level, unsigned(ty), op2, [U16 U32 U64], |a, b| a.wrapping_add(b));
                self.binary(exec, [ty; 3], operands)
            }
            "sub" => {
                op.finish()?;
                let exec = by_type!(level, unsigned(ty), op2, [U16 U32 U64], |a, b| a.wrapping_sub(b));
                self.binary(exec, [ty; 3], operands)
            }
            "mul" | "mad" => self.multiply(op, operands, ty),
            "mul24" | "mad24" => self.multiply_24(op, operands, ty),
            "sad" => {
                op.finish()?;
                let exec = by_type!(level, ty, rare3, [U16 S16 U32 S32 U64 S64], |a, b, c| {
                    c.wrapping_add(if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) })
                });
                self.ternary(exec, [ty; 4], operands)
            }
            "div" => {
                op.finish()?;
                // The quotient by zero is not defined; the hardware gives all ones.
                let exec = by_type!(level, ty, rare2, [U16 S16 U32 S32 U64 S64], |a, b| {
                    if b == 0 { !0 } else { a.wrapping_div(b) }
                });
                self.binary(exec, [ty; 3], operands)
            }
            "rem" => {
                op.finish()?;
                let exec = by_type!(level, ty, rare2, [U16 S16 U32 S32 U64 S64], |a, b| {
                    if b == 0 { a } else { a.wrapping_rem(b) }
                });
                self.binary(exec, [ty; 3], operands)
            }
            "abs" => {
                op.finish()?;
                let exec = by_type!(level, ty, rare1, [S16 S32 S64], |a| a.wrapping_abs());
                self.unary(exec, (ty, ty), operands)
            }
            "neg" => {
                op.finish()?;
                let exec = by_type!(level, ty, op1, [S16 S32 S64], |a| a.wrapping_neg());
                self.unary(exec, (ty, ty), operands)
            }
            "min" => {
                let relu = op.take("relu");
                op.finish()?;
                let exec = if relu {
                    by_type!(level, ty, rare2, [S32], |a, b| a.min(b).max(0))
                } else {
                    by_type!(level, ty, op2, [U16 S16 U32 S32 U64 S64], |a, b| a.min(b))
                };
                self.binary(exec, [ty; 3], operands)
            }
            "max" => {
                let relu = op.take("relu");
                op.finish()?;
                let exec = if relu {
                    by_type!(level, ty, rare2, [S32], |a, b| a.max(b).max(0))
                } else {
                    by_type!(level, ty, op2, [U16 S16 U32 S32 U64 S64], |a, b| a.max(b))
                };
                self.binary(exec, [ty; 3], operands)
            }
            "dp4a" | "dp2a" => self.dot_of_bytes(op, operands),
            _ => Err("this type is not supported here".into()),
        }
    }

    fn multiply(&mut self, op: &mut Opcode<'_>, operands: &[Operand], ty: Type) -> Result<()> {
        let level = self.level;
        let part = op.take_any(&["lo", "hi", "wide"]).unwrap_or("lo");
        let saturate = op.take("sat");
        op.finish()?;
        let add = op.name == "mad";
        if saturate {
            if !(add && part == "hi" && ty == Type::S32) {
                return Err("`.sat` is not supported here".into());
            }
            let exec =
                op3(level, |a: i32, b: i32, c: i32| (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c));
            return self.ternary(Some(exec), [ty; 4], operands);
        }
        if part == "wide" {
            let (wide, exec): (Type, Work) = match (ty, add) {
                (Type::U16, false) => (Type::U32, rare2(level, |a: u16, b: u16| u32::from(a) * u32::from(b))),
                (Type::S16, false) => (Type::S32, rare2(level, |a: i16, b: i16| i32::from(a) * i32::from(b))),
                (Type::U32, false) => (Type::U64, op2(level, |a: u32, b: u32| u64::from(a) * u64::from(b)).into()),
                (Type::S32, false) => (Type::S64, op2(level, |a: i32, b: i32| i64::from(a) * i64::from(b)).into()),
                (Type::U16, true) => {
                    let f = |a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c);
                    (Type::U32, rare3(level, f))
                }
                (Type::S16, true) => {
                    let f = |a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c);
                    (Type::S32, rare3(level, f))
                }
                (Type::U32, true) => {
                    let f = |a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c);
                    (Type::U64, op3(level, f).into())
                }
                (Type::S32, true) => {
                    let f = |a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c);
                    (Type::S64, op3(level, f).into())
                }
                _ => return Err("this type is not supported here".into()),
            };
            return if add {
                self.ternary(Some(exec), [wide, ty, ty, wide], operands)
            } else {
                self.binary(Some(exec), [wide, ty, ty], operands)
            };
        }
        if add {
            let exec = if part == "lo" {
                by_type!(level, unsigned(ty), op3, [U16 U32 U64], |a, b, c| a.wrapping_mul(b).wrapping_add(c))
            } else {
                by_type!(level, ty, rare3, [U16 S16 U32 S32 U64 S64], |a, b, c| a.high(b).wrapping_add(c))
            };
            self.ternary(exec, [ty; 4], operands)
        } else {
            let exec = if part == "lo" {
                by_type!(level, unsigned(ty), op2, [U16 U32 U64], |a, b| a.wrapping_mul(b))
            } else {
                by_type!(level, ty, rare2, [U16 S16 U32 S32 U64 S64], |a, b| a.high(b))
            };
            self.binary(exec, [ty; 3], operands)
        }
    }

    fn multiply_24(&mut self, op: &mut Opcode<'_>, operands: &[Operand], ty: Type) -> Result<()> {
        let level = self.level;
        let high = op.take_any(&["lo", "hi"]) == Some("hi");
        op.finish()?;
        // The low 24 bits of each factor; `hi` gives bits 16 to 47 of the product.
        let exec = match (op.name, ty, high) {
            ("mul24", Type::U32, false) => rare2(level, |a: u32, b: u32| (a << 8 >> 8).wrapping_mul(b << 8 >> 8)),
            ("mul24", Type::S32, false) => rare2(level, |a: i32, b: i32| (a << 8 >> 8).wrapping_mul(b << 8 >> 8)),
            ("mul24", Type::U32, true) => {
                rare2(level, |a: u32, b: u32| ((u64::from(a << 8 >> 8) * u64::from(b << 8 >> 8)) >> 16) as u32)
            }
            ("mul24", Type::S32, true) => {
                rare2(level, |a: i32, b: i32| ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 16) as i32)
            }
            ("mad24", Type::U32, false) => {
                rare3(level, |a: u32, b: u32, c: u32| (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c))
            }
            ("mad24", Type::S32, false) => {
                rare3(level, |a: i32, b: i32, c: i32| (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c))
            }
            _ => return Err("this form is not supported".into()),
        };
        if op.name == "mad24" {
            self.ternary(Some(exec), [ty; 4], operands)
        } else {
            self.binary(Some(exec), [ty; 3], operands)
        }
    }

    /// `dp4a.atype.btype`: the sum of four products of bytes, and c. `dp2a.mode.atype.btype`: of two products of a half
    /// of a and a byte of the lower or upper half of b, and c.
    fn dot_of_bytes(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let (parts, bits, first_byte) = match (op.name, op.take_any(&["lo", "hi"])) {
            ("dp4a", None) => (4, 8, 0),
            ("dp2a", Some("lo")) => (2, 16, 0),
            ("dp2a", Some(_)) => (2, 16, 2),
            _ => return Err("this form is not supported".into()),
        };
        op.finish()?;
        let signed = [op.types.first().copied(), op.types.get(1).copied()].map(|ty| ty == Some(Type::S32));
        let part = |x: u64, place: u32, bits: u32, signed: bool| {
            let top = (x >> (bits * place) << (64 - bits)) as i64;
            if signed { top >> (64 - bits) } else { (top as u64 >> (64 - bits)) as i64 }
        };
        let [d, a, b, c] = operands else { return Err("four operands are needed".into()) };
        let [a, b, c] = [self.value(a, Type::B32)?, self.value(b, Type::B32)?, self.value(c, Type::B32)?];
        let d = self.result(d, Type::B32)?;
        self.emit_per_lane(
            (d, false),
            &[(a, false), (b, false), (c, false)],
            Box::new(move |[a, b, c]| {
                let sum: i64 = (0..parts)
                    .map(|place| part(a, place, bits, signed[0]) * part(b, first_byte + place, 8, signed[1]))
                    .sum();
                c.wrapping_add(sum as u64) & 0xffff_ffff
            }),
        );
        Ok(())
    }

    /// Arithmetic that sets or uses the carry.
    fn with_carry(&mut self, op: &mut Opcode<'_>, set: bool, operands: &[Operand], ty: Type) -> Result<()> {
        let uses = op.name.ends_with('c');
        let carry = match self.f.carry {
            Some(row) => row,
            None => self.fresh_predicate(),
        };
        self.f.carry = Some(carry);
        let (d, a, b) = match (op.name, operands) {
            ("mad" | "madc", [d, a, b, c]) => {
                let high = op.take_any(&["lo", "hi"]) == Some("hi");
                let level = self.level;
                let exec = if high {
                    by_type!(level, ty, rare2, [U32 S32 U64 S64], |a, b| a.high(b))
                } else {
                    by_type!(level, unsigned(ty), rare2, [U32 U64], |a, b| a.wrapping_mul(b))
                };
                let work = exec.ok_or("this type is not supported here")?;
                let [a, b, c] = [self.value(a, ty)?, self.value(b, ty)?, self.value(c, ty)?];
                let product = self.fresh(types::is_wide(ty));
                self.emit_work(work, &[product, a, b], &[ty; 3]);
                (self.result(d, ty)?, product, c)
            }
            (_, [d, a, b]) => {
                let [a, b] = [self.value(a, ty)?, self.value(b, ty)?];
                (self.result(d, ty)?, a, b)
            }
            _ => return Err("the number of operands is wrong".into()),
        };
        op.finish()?;
        let subtract = op.name.starts_with("sub");
        let extra = u64::from(uses) | u64::from(set) << 1 | u64::from(subtract) << 2;
        let rows = [d, a, b, carry];
        match ty {
            Type::U32 | Type::S32 => self.emit::<Carrying<u32>>(rows, extra),
            Type::U64 | Type::S64 => self.emit::<Carrying<u64>>(rows, extra),
            _ => return Err("this type is not supported here".into()),
        }
        Ok(())
    }
}

/// Upper half of a product.
trait High: Sized {
    fn high(self, other: Self) -> Self;
}

macro_rules! high {
    ($($T:ty, $Wide:ty;)+) => {
        $(impl High for $T {
            #[inline(always)]
            fn high(self, other: $T) -> $T {
                (<$Wide>::from(self) * <$Wide>::from(other) >> <$T>::BITS) as $T
            }
        })+
    };
}

high! {
    u16, u32;
    i16, i32;
    u32, u64;
    i32, i64;
    u64, u128;
    i64, i128;
}

/// `rows[0] = rows[1] ± rows[2] ± carry`, the carry being the predicate `rows[3]`. Bits of `extra`: 0 uses the carry,
/// 1 sets it, 2 subtracts.
///
/// A subtraction adds the complement, so that its carry is set if it does *not* borrow. The manual speaks of a borrow
/// there. It makes a difference where an addition takes the carry of a subtraction, as the compiler's division of
/// 128-bit integers does: that division is only right this way.
struct Carrying<T>(std::marker::PhantomData<T>);

trait Add: Lane {
    fn with_carry(self, other: Self, carry: bool, subtract: bool) -> (Self, bool);
}

macro_rules! add {
    ($($T:ty)+) => {
        $(impl Add for $T {
            #[inline(always)]
            fn with_carry(self, other: $T, carry: bool, subtract: bool) -> ($T, bool) {
                let (first, a) = self.overflowing_add(if subtract { !other } else { other });
                let (second, b) = first.overflowing_add(<$T>::from(carry));
                (second, a | b)
            }
        })+
    };
}

add! { u32 u64 }

impl<T: Add> Run for Carrying<T> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let (uses, sets, subtract) = (ins.extra & 1 != 0, ins.extra & 2 != 0, ins.extra & 4 != 0);
        let mut result = [T::Raw::default(); LANES];
        let mut carries = 0;
        // SAFETY: the caller's promise, as for `Exec`.
        unsafe {
            // Without a carry to use there is none, and no borrow.
            let none = if subtract { u32::MAX } else { 0 };
            let carry = if uses { m.predicate(ins.rows[3]) } else { none };
            let a = m.get::<T::Raw>(ins.rows[1]);
            let b = m.get::<T::Raw>(ins.rows[2]);
            for lane in 0..LANES {
                let (sum, out) =
                    T::from_raw(a[lane]).with_carry(T::from_raw(b[lane]), carry & BIT[lane] != 0, subtract);
                result[lane] = sum.into_raw();
                carries |= if out { BIT[lane] } else { 0 };
            }
            m.put(ins.rows[0], &result);
            if sets {
                m.put_predicate(ins.rows[3], carries);
            }
        }
        Flow::Next
    }
}
