//! Loads, stores, atomics and conversions of addresses.

use super::opcode::Opcode;
use super::operand::Place;
use super::{Lower, Result, types};
use crate::ast::{Operand, Type};
use crate::exec::alu::{compare, op1};
use crate::exec::atomic::{Atomic, Atomic128, AtomicOp, Update};
use crate::exec::control::Nothing;
use crate::exec::level::{Run, exec};
use crate::exec::memory::{
    Addressing, CONDITION, EXTRA_SHIFT, IsConstant, LOCAL_WINDOW, Load, LoadAny, PARAM_WINDOW, SHARED_WINDOW, Shape,
    Space, Store, StoreAny,
};
use crate::num::float::{canonical, nan64};
use crate::num::half::{bf16, both2, f16};
use crate::races::report::{Scope, Strength};
use crate::rows::Row;

/// Modifiers that say when others see an access, or how it is cached: here every access is seen at once.
pub(super) fn is_hint(modifier: &str) -> bool {
    matches!(
        modifier,
        "volatile"
            | "relaxed"
            | "acquire"
            | "release"
            | "acq_rel"
            | "weak"
            | "cta"
            | "cluster"
            | "gpu"
            | "sys"
            | "ca"
            | "cg"
            | "cs"
            | "lu"
            | "cv"
            | "wb"
            | "wt"
            | "nc"
            | "mmio"
            | "noftz"
            | "unified"
    ) || modifier.starts_with("L1::")
        || modifier.starts_with("L2::")
}

/// The function of an atomic instruction: its name and type.
pub(super) fn update(name: &str, ty: Type) -> Option<Update> {
    use Type::{B16, B32, B64, BF16, BF16x2, F16, F16x2, F32, F64, S32, S64, U32, U64};
    let f: Update = match (name, ty) {
        ("add", U32 | S32) => |a, b, _| u64::from((a as u32).wrapping_add(b as u32)),
        ("add", U64 | S64) => |a, b, _| a.wrapping_add(b),
        ("add", F32) => |a, b, _| u64::from(canonical(f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits()),
        ("add", F64) => |a, b, _| {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            nan64([a, b, 0.0], a + b).to_bits()
        },
        ("add", F16) => |a, b, _| u64::from(f16::add(a as u16, b as u16)),
        ("add", BF16) => |a, b, _| u64::from(bf16::add(a as u16, b as u16)),
        ("add", F16x2) => |a, b, _| u64::from(both2(f16::add, a as u32, b as u32)),
        ("add", BF16x2) => |a, b, _| u64::from(both2(bf16::add, a as u32, b as u32)),
        ("min", U32) => |a, b, _| a.min(b),
        ("max", U32) => |a, b, _| a.max(b),
        ("min", S32) => |a, b, _| u64::from((a as i32).min(b as i32) as u32),
        ("max", S32) => |a, b, _| u64::from((a as i32).max(b as i32) as u32),
        ("min", U64) => |a, b, _| a.min(b),
        ("max", U64) => |a, b, _| a.max(b),
        ("min", S64) => |a, b, _| (a as i64).min(b as i64) as u64,
        ("max", S64) => |a, b, _| (a as i64).max(b as i64) as u64,
        ("min", F16) => |a, b, _| u64::from(f16::min(a as u16, b as u16)),
        ("max", F16) => |a, b, _| u64::from(f16::max(a as u16, b as u16)),
        ("min", BF16) => |a, b, _| u64::from(bf16::min(a as u16, b as u16)),
        ("max", BF16) => |a, b, _| u64::from(bf16::max(a as u16, b as u16)),
        ("min", F16x2) => |a, b, _| u64::from(both2(f16::min, a as u32, b as u32)),
        ("max", F16x2) => |a, b, _| u64::from(both2(f16::max, a as u32, b as u32)),
        ("min", BF16x2) => |a, b, _| u64::from(both2(bf16::min, a as u32, b as u32)),
        ("max", BF16x2) => |a, b, _| u64::from(both2(bf16::max, a as u32, b as u32)),
        ("and", B32 | B64 | U32 | U64) => |a, b, _| a & b,
        ("or", B32 | B64 | U32 | U64) => |a, b, _| a | b,
        ("xor", B32 | B64 | U32 | U64) => |a, b, _| a ^ b,
        ("exch", B32 | B64 | U32 | U64) => |_, b, _| b,
        ("cas", B16 | B32 | B64 | U32 | U64) => |a, b, c| if a == b { c } else { a },
        ("inc", U32) => |a, b, _| if a >= b { 0 } else { a + 1 },
        ("dec", U32) => |a, b, _| if a == 0 || a > b { b } else { a - 1 },
        _ => return None,
    };
    Some(f)
}

impl Lower<'_> {
    pub(super) fn memory(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let operands = op.without_cache_policy(operands);
        match op.name {
            "cvta" => self.cvta(op, operands),
            "isspacep" => self.isspacep(op, operands),
            "ld" | "ldu" => self.load(op, operands),
            "st" => self.store(op, operands),
            "atom" | "red" => self.atomic(op, operands),
            // Hints to caches, which there are none of.
            _ => {
                self.emit::<Nothing>([], 0);
                Ok(())
            }
        }
    }

    /// How an access synchronises, by its modifiers.
    fn strength(op: &Opcode<'_>) -> Addressing {
        let acquires = op.has("acquire") || op.has("acq_rel");
        let releases = op.has("release") || op.has("acq_rel");
        let scope = if op.has("cta") || op.has("cluster") { Scope::Block } else { Scope::Device };
        let strength = match () {
            () if op.has("volatile") => Strength::Volatile,
            () if acquires || releases || ["relaxed", "mmio"].iter().any(|modifier| op.has(modifier)) => {
                Strength::Strong(scope)
            }
            // An atomic with a scope and no semantics is relaxed.
            () if scope == Scope::Block => Strength::Strong(scope),
            () => Strength::Weak,
        };
        Addressing { strength, acquires, releases, ..Addressing::PLAIN }
    }

    /// The row and the form of an address operand.
    pub(super) fn address(&mut self, operand: &Operand, space: Space) -> Result<(Row, Addressing)> {
        let Operand::Address { base, offset } = operand else { return Err("an address is needed".into()) };
        let plain = Addressing { space, ..Addressing::PLAIN };
        let narrow_offset =
            |offset: i64| i32::try_from(offset).map_err(|_| "the offset does not fit in 32 bits".to_owned());
        match &**base {
            Operand::Reg(id) => {
                let narrow = !types::is_wide(self.register_type(*id));
                if narrow && matches!(space, Space::Global | Space::Constant | Space::Generic) {
                    return Err("a 32-bit register as a 64-bit address".into());
                }
                let row = self.value(base, if narrow { Type::B32 } else { Type::B64 })?;
                Ok((row, Addressing { offset: narrow_offset(*offset)?, narrow, ..plain }))
            }
            Operand::Symbol(name) => match self.variable(name)? {
                Place::Local(at) => {
                    // Parameters of device functions are local memory as well.
                    let zero = self.bits_row(0, true);
                    let offset = narrow_offset(i64::from(at).saturating_add(*offset))?;
                    Ok((zero, Addressing { space: Space::Local, offset, in_frame: true, ..plain }))
                }
                _ => {
                    let row = self.constant_operand(operand, Type::B64).ok_or("this address is not supported")?;
                    Ok((row, plain))
                }
            },
            Operand::Int(value) => Ok((self.bits_row((*value).wrapping_add(*offset) as u64, true), plain)),
            _ => Err("this address is not supported".into()),
        }
    }

    /// Elements of a vector access, 1 for a single value.
    fn elements<'o>(op: &mut Opcode<'_>, operand: &'o Operand) -> Result<&'o [Operand]> {
        let count = match op.take_any(&["v2", "v4", "v8"]) {
            None => 1,
            Some("v2") => 2,
            Some("v4") => 4,
            Some(_) => return Err("vectors of 8 are not supported".into()),
        };
        match operand {
            Operand::Vector(list) if list.len() == count => Ok(list),
            single if count == 1 => Ok(std::slice::from_ref(single)),
            _ => Err(format!("a vector of {count} is needed").into()),
        }
    }

    fn load(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let space = op.take_space();
        let Addressing { mut strength, acquires, .. } = Self::strength(op);
        let volatile = strength != Strength::Weak;
        if !volatile && self.f.peeks.contains(&self.f.index) {
            strength = Strength::Strong(Scope::Device);
        }
        op.ignore(is_hint);
        let [d, address] = &operands[..operands.len().min(2)] else { return Err("two operands are needed".into()) };
        let elements = Self::elements(op, d)?;
        op.finish()?;
        if space == Space::Param
            && let Operand::Address { base, offset } = address
            && let Operand::Symbol(name) = &**base
            && let Some(at) = self.kernel_parameter(name)
        {
            return self.load_parameters(elements, ty, i64::from(at).saturating_add(*offset));
        }
        let (row, how) = self.address(address, space)?;
        let condition =
            self.f.conditional.get(&self.f.index).copied().filter(|_| strength == Strength::Weak && ty != Type::B128);
        let how = Addressing { volatile, strength, acquires, conditional: condition.is_some(), ..how };
        let level = self.level;
        let mut rows = vec![row];
        if let ([element], Type::B128) = (elements, ty) {
            rows.extend(self.halves(element)?);
            self.emit_exec(exec::<Load<u64, 2>>(level), &rows, how.pack());
            return Ok(());
        }
        for element in elements {
            rows.push(self.result(element, ty)?);
        }
        if let Some(predicate) = condition {
            rows.resize(CONDITION, Row::default());
            rows.push(self.predicate_register(predicate)?);
        }
        let exec = match (types::bytes(ty), types::is_signed(ty), elements.len()) {
            (1, false, 1) => exec::<Load<u8, 1>>(level),
            (1, true, 1) => exec::<Load<i8, 1>>(level),
            (2, false, 1) => exec::<Load<u16, 1>>(level),
            (2, true, 1) => exec::<Load<i16, 1>>(level),
            (4, _, 1) => exec::<Load<u32, 1>>(level),
            (8, _, 1) => exec::<Load<u64, 1>>(level),
            (4, _, 2) => exec::<Load<u32, 2>>(level),
            (4, _, 4) => exec::<Load<u32, 4>>(level),
            (8, _, 2) => exec::<Load<u64, 2>>(level),
            (2, false, 4) => exec::<Load<u16, 4>>(level),
            _ => return self.load_rare(ty, &rows, elements.len(), how),
        };
        self.emit_exec(exec, &rows, how.pack());
        Ok(())
    }

    /// `ld.param` in a kernel: the values are constant rows.
    fn load_parameters(&mut self, elements: &[Operand], ty: Type, offset: i64) -> Result<()> {
        let mut offset = u32::try_from(offset).map_err(|_| "an offset before the parameters".to_owned())?;
        for element in elements {
            let wide = types::is_wide(ty);
            let from = self.constant(crate::code::Value::Param { offset, ty }, wide);
            let d = self.result(element, ty)?;
            self.copy(d, from, wide);
            offset = offset.saturating_add(types::bytes(ty));
        }
        Ok(())
    }

    /// Loads of shapes that are not worth code of their own.
    fn load_rare(&mut self, ty: Type, rows: &[Row], count: usize, how: Addressing) -> Result<()> {
        let size = types::bytes(ty);
        if size > 8 {
            return Err("this type is not supported here".into());
        }
        let shape = Shape { size: u64::from(size), count, signed: types::is_signed(ty) };
        self.emit_exec(exec::<LoadAny>(self.level), rows, how.pack() | shape.pack() << EXTRA_SHIFT);
        Ok(())
    }

    fn store(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let space = op.take_space();
        let Addressing { strength, releases, .. } = Self::strength(op);
        op.ignore(is_hint);
        let [address, values] = &operands[..operands.len().min(2)] else {
            return Err("two operands are needed".into());
        };
        let elements = Self::elements(op, values)?;
        op.finish()?;
        let (row, how) = self.address(address, space)?;
        let how = Addressing { strength, releases, ..how };
        let level = self.level;
        let mut rows = vec![row];
        if let ([element], Type::B128) = (elements, ty) {
            rows.extend(self.halves(element)?);
            self.emit_exec(exec::<Store<u64, 2>>(level), &rows, how.pack());
            return Ok(());
        }
        for element in elements {
            rows.push(self.value(element, ty)?);
        }
        let exec = match (types::bytes(ty), elements.len()) {
            (1, 1) => exec::<Store<u8, 1>>(level),
            (2, 1) => exec::<Store<u16, 1>>(level),
            (4, 1) => exec::<Store<u32, 1>>(level),
            (8, 1) => exec::<Store<u64, 1>>(level),
            (4, 2) => exec::<Store<u32, 2>>(level),
            (4, 4) => exec::<Store<u32, 4>>(level),
            (8, 2) => exec::<Store<u64, 2>>(level),
            (2, 4) => exec::<Store<u16, 4>>(level),
            (size @ 1..=8, count) => {
                let shape = Shape { size: u64::from(size), count, signed: false };
                let extra = how.pack() | shape.pack() << EXTRA_SHIFT;
                self.emit_exec(exec::<StoreAny>(level), &rows, extra);
                return Ok(());
            }
            _ => return Err("this type is not supported here".into()),
        };
        self.emit_exec(exec, &rows, how.pack());
        Ok(())
    }

    fn atomic(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let space = op.take_space();
        let how = Self::strength(op);
        // Atomics are strong whether they say so or not.
        let strength = if how.strength == Strength::Weak { Strength::Strong(Scope::Device) } else { how.strength };
        let Addressing { acquires, releases, .. } = how;
        op.ignore(is_hint);
        let name = op
            .take_any(&["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"])
            .ok_or("the operation is missing")?;
        let width = op.take_any(&["v2", "v4", "v8"]);
        op.finish()?;
        let has_result = op.name == "atom";
        let (result, address, b, c) = match (has_result, operands) {
            (true, [d, address, b]) => (Some(d), address, b, None),
            (true, [d, address, b, c]) => (Some(d), address, b, Some(c)),
            (false, [address, b]) => (None, address, b, None),
            _ => return Err("the number of operands is wrong".into()),
        };
        if (name == "cas") != c.is_some() {
            return Err("the number of operands is wrong".into());
        }
        if ty == Type::B128 {
            let how = Addressing { strength, acquires, releases, ..how };
            return self.atomic_128(name, (space, how), result, address, [b, c.unwrap_or(b)]);
        }
        let update = update(name, ty).ok_or("this operation is not supported for this type")?;
        if matches!(space, Space::Local | Space::Param) {
            return Err("atomics work on global and shared memory".into());
        }
        let (row, how) = self.address(address, space)?;
        let how = Addressing { strength, acquires, releases, ..how };
        if let Some(width) = width {
            let (Operand::Vector(values), None) = (b, c) else { return Err("a vector is needed".into()) };
            let results = match result {
                Some(Operand::Vector(results)) => &results[..],
                Some(Operand::Sink) | None => &[],
                Some(_) => return Err("a vector is needed".into()),
            };
            let count = usize::from(width.as_bytes()[1] - b'0');
            if values.len() != count || !(results.is_empty() || results.len() == count) {
                return Err(format!("a vector of {count} is needed").into());
            }
            return self.atomic_vector(ty, update, (row, how), results, values);
        }
        let b = self.value(b, ty)?;
        let c = match c {
            Some(c) => self.value(c, ty)?,
            None => b,
        };
        // A result that nothing uses makes a reduction, as it does in the assembler.
        let used = match result {
            Some(Operand::Reg(id)) => self.f.uses[id.0 as usize] != 0,
            _ => false,
        };
        let d = match result {
            Some(operand) if used => self.result(operand, ty)?,
            _ => b,
        };
        let bytes = types::bytes(ty);
        let op = AtomicOp { bytes, align: bytes, counts: true, update, result: used, compares: name == "cas" };
        self.emit_atomic::<Atomic>(op, [row, d, b, c], how)
    }

    fn emit_atomic<T: Run>(&mut self, op: AtomicOp, rows: [Row; 4], how: Addressing) -> Result<()> {
        let index = self.code.atomics.len() as u64;
        if index > u64::from(u16::MAX) {
            return Err("there are too many atomic instructions".into());
        }
        self.code.atomics.push(op);
        self.emit::<T>(rows, how.pack() | index << EXTRA_SHIFT);
        Ok(())
    }

    /// `atom.v2` and its like: each element is changed atomically, the vector as a whole is not.
    fn atomic_vector(
        &mut self,
        ty: Type,
        update: Update,
        (row, how): (Row, Addressing),
        results: &[Operand],
        values: &[Operand],
    ) -> Result<()> {
        let bytes = types::bytes(ty);
        let mut rows = Vec::new();
        for value in values {
            rows.push(self.value(value, ty)?);
        }
        // A result may be a register that a later element, or its address, is in.
        let mut copies = Vec::new();
        for (place, &value) in rows.iter().enumerate() {
            let old = self.fresh(types::is_wide(ty));
            let offset = how.offset.wrapping_add(place as i32 * bytes as i32);
            let (align, result) = (bytes * values.len() as u32, !results.is_empty());
            let op = AtomicOp {
                bytes,
                align: if place == 0 { align } else { bytes },
                counts: place == 0,
                update,
                result,
                compares: false,
            };
            self.emit_atomic::<Atomic>(op, [row, old, value, value], Addressing { offset, ..how })?;
            copies.push(old);
        }
        for (result, old) in results.iter().zip(copies) {
            let d = self.result(result, ty)?;
            self.copy(d, old, types::is_wide(ty));
        }
        Ok(())
    }

    /// `atom.exch.b128` and `atom.cas.b128`.
    fn atomic_128(
        &mut self,
        name: &str,
        (space, order): (Space, Addressing),
        result: Option<&Operand>,
        address: &Operand,
        [b, c]: [&Operand; 2],
    ) -> Result<()> {
        if !matches!(name, "exch" | "cas") {
            return Err("this operation is not supported for this type".into());
        }
        let (row, how) = self.address(address, space)?;
        let Addressing { strength, acquires, releases, .. } = order;
        let how = Addressing { strength, acquires, releases, ..how };
        let (b, c) = (self.halves(b)?[0], self.halves(c)?[0]);
        let d = match result {
            Some(Operand::Sink) | None => None,
            Some(operand) => Some(self.halves(operand)?[0]),
        };
        // What it does is not a function of 64 bits, but a variant of the instruction.
        let op = AtomicOp {
            bytes: 16,
            align: 16,
            counts: true,
            update: |old, _, _| old,
            result: d.is_some(),
            compares: name == "cas",
        };
        let rows = [row, d.unwrap_or(b), b, c];
        match name {
            "cas" => self.emit_atomic::<Atomic128<true>>(op, rows, how),
            _ => self.emit_atomic::<Atomic128<false>>(op, rows, how),
        }
    }

    /// `cvta`: between the addresses of a state space and generic ones.
    fn cvta(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let ty = op.ty()?;
        let to_space = op.take("to");
        let space = op.take_space();
        op.finish()?;
        let [d, a] = operands else { return Err("two operands are needed".into()) };
        if ty != Type::U64 {
            return Err("only 64-bit addresses are supported".into());
        }
        let window = match space {
            Space::Global | Space::Constant | Space::Generic => 0,
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param => PARAM_WINDOW,
        };
        let a = self.value(a, ty)?;
        let d = self.result(d, ty)?;
        if window == 0 {
            self.copy(d, a, true);
        } else {
            let add = if to_space { 0u64.wrapping_sub(window) } else { window };
            self.add_constant(d, a, add);
        }
        Ok(())
    }

    /// `isspacep.space p, a`
    fn isspacep(&mut self, op: &mut Opcode<'_>, operands: &[Operand]) -> Result<()> {
        let constant = op.has("const");
        let space = op.take_space();
        op.finish()?;
        let [p, a] = operands else { return Err("two operands are needed".into()) };
        let a = self.value(a, Type::B64)?;
        let p = self.predicate_result(p)?;
        if constant {
            self.emit::<IsConstant>([p, a], 0);
            return Ok(());
        }
        // Windows are told apart by what stands above their 32 bits.
        let top = self.fresh(true);
        self.emit_exec(op1(self.level, |a: u64| a >> 32), &[top, a], 0);
        let (exec, bound) = match space {
            Space::Global | Space::Constant => {
                (compare(self.level, |a: u64, b: u64| a >= b), crate::memory::GLOBAL_BASE >> 32)
            }
            Space::Shared => (compare(self.level, |a: u64, b: u64| a == b), SHARED_WINDOW >> 32),
            Space::Local => (compare(self.level, |a: u64, b: u64| a == b), LOCAL_WINDOW >> 32),
            Space::Param => (compare(self.level, |a: u64, b: u64| a == b), PARAM_WINDOW >> 32),
            Space::Generic => return Err("the state space is missing".into()),
        };
        let bound = self.bits_row(bound, true);
        self.emit_exec(exec, &[p, top, bound], 0);
        Ok(())
    }
}
