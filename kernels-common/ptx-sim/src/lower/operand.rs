//! Operands become rows.

use std::sync::Arc;

use super::{Lower, Result, types};
use crate::ast::{Operand, RegId, Space, Type};
use crate::code::{Constant, Known, Value};
use crate::exec::alu::op2;
use crate::exec::control::LocalAddress;
use crate::rows::{Bank, Row};

/// No block of any device has more shared memory; a launch compares with what its device has.
const MAX_SHARED: u64 = 1 << 20;

/// Where a variable is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// At this device address; that of a function can be called and nothing else.
    Global(u64),
    /// At this offset of static shared memory.
    Shared(u32),
    /// In dynamic shared memory.
    Dynamic,
    /// At this offset of the function's local memory.
    Local(u32),
    /// At this offset of the parameter block.
    Param(u32),
}

impl Lower<'_> {
    pub(crate) fn register_type(&self, RegId(index): RegId) -> Type {
        self.source().registers[index as usize].ty
    }

    /// The row of a register in the frame, or the constant row that stands for it.
    fn register(&mut self, id: RegId) -> Result<(Row, bool)> {
        let ty = self.register_type(id);
        let wide = types::is_wide(ty);
        if let Some(&row) = self.f.aliases.get(&id) {
            return Ok((row, wide));
        }
        if ty == Type::Pred {
            return Err("a predicate where a value is needed".into());
        }
        if ty == Type::B128 {
            return Err("a 128-bit register where a smaller value is needed".into());
        }
        let row = match self.f.registers[id.0 as usize] {
            Some(row) => row,
            None => self.fresh(wide),
        };
        self.f.registers[id.0 as usize] = Some(row);
        if self.f.source.is_some() {
            self.code.registers = self.code.registers.max(self.f.lines);
        }
        Ok((row, wide))
    }

    /// The two halves of a 128-bit register, the lower one first.
    pub(crate) fn halves(&mut self, operand: &Operand) -> Result<[Row; 2]> {
        let id = match operand {
            Operand::Reg(id) if self.register_type(*id) == Type::B128 => *id,
            _ => return Err("a 128-bit register is needed".into()),
        };
        let low = match self.f.registers[id.0 as usize] {
            Some(row) => row,
            None => {
                let row = self.fresh(true);
                self.fresh(true);
                row
            }
        };
        self.f.registers[id.0 as usize] = Some(low);
        self.code.registers = self.code.registers.max(self.f.lines);
        Ok([low, low.upper_half()])
    }

    /// The predicate register `id`.
    pub(crate) fn predicate_register(&mut self, id: RegId) -> Result<Row> {
        if self.register_type(id) != Type::Pred {
            return Err("a predicate is needed".into());
        }
        let row = match self.f.registers[id.0 as usize] {
            Some(row) => row,
            None => self.fresh_predicate(),
        };
        self.f.registers[id.0 as usize] = Some(row);
        Ok(row)
    }

    /// A predicate that is read, and whether it is negated.
    pub(crate) fn predicate(&mut self, operand: &Operand) -> Result<(Row, bool)> {
        match operand {
            Operand::Reg(id) => Ok((self.predicate_register(*id)?, false)),
            Operand::Not(inner) => {
                let (row, negated) = self.predicate(inner)?;
                Ok((row, !negated))
            }
            Operand::Int(value) => {
                let bits = if *value != 0 { u64::from(u32::MAX) } else { 0 };
                Ok((self.constant(Value::Bits(bits), false), false))
            }
            _ => Err("a predicate is needed".into()),
        }
    }

    /// A predicate that is written.
    pub(crate) fn predicate_result(&mut self, operand: &Operand) -> Result<Row> {
        match operand {
            Operand::Reg(id) => self.predicate_register(*id),
            Operand::Sink => Ok(self.fresh_predicate()),
            _ => Err("a predicate register is needed".into()),
        }
    }

    /// The constant row with this value.
    pub(crate) fn constant(&mut self, value: Value, wide: bool) -> Row {
        if let Some(&row) = self.constants.get(&(value, wide)) {
            return row;
        }
        let (bank, lines) = match value.known() {
            Known::PerWarp => (Bank::Warp, &mut self.code.warp_lines),
            Known::AtLaunch | Known::PerBlock => (Bank::Constant, &mut self.code.constant_lines),
        };
        let row = Row::line(bank, *lines);
        *lines += 1 + u32::from(wide);
        self.constants.insert((value, wide), row);
        self.code.constants.push(Constant { row, value, wide });
        row
    }

    /// The row of 32 equal values.
    pub(crate) fn bits_row(&mut self, bits: u64, wide: bool) -> Row {
        self.constant(Value::Bits(bits), wide)
    }

    /// Where the variable `name` is.
    pub(crate) fn variable(&mut self, name: &str) -> Result<Place> {
        if let Some(&offset) = self.f.locals.get(name) {
            return Ok(Place::Local(offset));
        }
        if let Some(offset) = self.kernel_parameter(name) {
            return Ok(Place::Param(offset));
        }
        if let Some(&address) = self.loaded.variables.get(name) {
            return Ok(Place::Global(address));
        }
        if let Some(&offset) = self.shared.get(name) {
            return Ok(Place::Shared(offset));
        }
        let source = self.source().clone();
        let found =
            source.variables.iter().chain(self.loaded.module.variables()).find(|variable| &*variable.name == name);
        match found {
            Some(variable) if variable.space == Space::Shared => {
                let align = variable.align.clamp(1, 1024) as u32;
                if variable.external || variable.size == 0 {
                    self.dynamic_align = self.dynamic_align.max(align).max(16);
                    return Ok(Place::Dynamic);
                }
                let offset = self.code.static_shared.next_multiple_of(align);
                let end = u64::from(offset).saturating_add(variable.size);
                if end > MAX_SHARED {
                    return Err(format!("the shared variable `{name}` is too large").into());
                }
                self.code.static_shared = end as u32;
                self.code.shared.push((variable.name.clone(), offset, variable.size));
                self.shared.insert(variable.name.clone(), offset);
                Ok(Place::Shared(offset))
            }
            _ => match self.loaded.function_address(name) {
                Some(address) => Ok(Place::Global(address)),
                None => Err(format!("there is no variable `{name}`").into()),
            },
        }
    }

    /// Offset of a kernel parameter in the parameter block.
    pub(crate) fn kernel_parameter(&self, name: &str) -> Option<u32> {
        let source = self.source();
        if !source.is_entry {
            return None;
        }
        let signature = self.loaded.module.kernel(&source.name)?;
        signature.params.iter().find(|param| &*param.name == name).map(|param| param.offset as u32)
    }

    /// The constant row of an operand, if it has one.
    pub(crate) fn constant_operand(&mut self, operand: &Operand, ty: Type) -> Option<Row> {
        let wide = types::is_wide(ty);
        match operand {
            Operand::Reg(id) => {
                let row = self.f.aliases.get(id).copied()?;
                (types::is_wide(self.register_type(*id)) == wide).then_some(row)
            }
            Operand::Int(value) => {
                // Floats are written as 0f… and 0d…; a plain integer is meant as its value.
                let bits = match ty {
                    Type::F32 => u64::from((*value as f32).to_bits()),
                    Type::F64 => (*value as f64).to_bits(),
                    _ if wide => *value as u64,
                    _ => u64::from(*value as u32),
                };
                Some(self.bits_row(bits, wide))
            }
            Operand::F32(bits) if wide => Some(self.bits_row(f64::from(f32::from_bits(*bits)).to_bits(), true)),
            Operand::F32(bits) => Some(self.bits_row(u64::from(*bits), false)),
            Operand::F64(bits) if wide => Some(self.bits_row(*bits, true)),
            Operand::F64(bits) => {
                let value = f64::from_bits(*bits) as f32;
                Some(self.bits_row(u64::from(value.to_bits()), false))
            }
            Operand::Special(name) => {
                let value = self.special(name)?;
                Some(self.constant(value, wide))
            }
            Operand::Symbol(name) => self.constant_address(name, 0, wide),
            Operand::Address { base, offset } => match &**base {
                Operand::Symbol(name) => self.constant_address(name, *offset, wide),
                _ => None,
            },
            _ => None,
        }
    }

    fn constant_address(&mut self, name: &str, offset: i64, wide: bool) -> Option<Row> {
        let add = |base: u64| Value::Bits(base.wrapping_add(offset as u64));
        let value = match self.variable(name).ok()? {
            Place::Global(address) => add(address),
            Place::Shared(at) | Place::Param(at) => add(u64::from(at)),
            Place::Dynamic => Value::DynamicAddress(offset as u32),
            Place::Local(at) if self.source().is_entry => add(u64::from(at)),
            Place::Local(_) => return None,
        };
        Some(self.constant(value, wide))
    }

    /// A value that is read, as a row of the width of `ty`.
    pub(crate) fn value(&mut self, operand: &Operand, ty: Type) -> Result<Row> {
        let wide = types::is_wide(ty);
        if let Operand::Reg(id) = operand {
            let (row, is_wide) = self.register(*id)?;
            if is_wide == wide {
                return Ok(row);
            }
            if wide {
                return Err("a 32-bit register where 64 bits are needed".into());
            }
            let low = self.fresh(false);
            self.emit_exec(self.narrow(), &[low, row], 0);
            return Ok(low);
        }
        if let Some(row) = self.constant_operand(operand, ty) {
            return Ok(row);
        }
        match operand {
            Operand::Symbol(name) => self.local_address(name, 0),
            Operand::Address { base, offset } => match &**base {
                Operand::Symbol(name) => self.local_address(name, *offset),
                _ => Err("an address where a value is needed".into()),
            },
            Operand::Special(name) if is_clock(name) => {
                let row = self.fresh(wide);
                self.emit::<crate::exec::control::Clock>([row], u64::from(wide));
                Ok(row)
            }
            Operand::Special(name) => Err(format!("the special register `{name}` is not supported").into()),
            Operand::Vector(_) => Err("a vector where a single value is needed".into()),
            _ => Err("this kind of operand is not supported here".into()),
        }
    }

    /// The address of a local variable of a device function.
    fn local_address(&mut self, name: &Arc<str>, offset: i64) -> Result<Row> {
        match self.variable(name)? {
            Place::Local(at) => {
                let row = self.fresh(true);
                self.emit::<LocalAddress>([row], i64::from(at).wrapping_add(offset) as u64);
                Ok(row)
            }
            _ => Err(format!("the address of `{name}` cannot be taken here").into()),
        }
    }

    /// A register that is written as a row of the width of `ty`. If the register is wider, the value is extended, by
    /// its sign if `ty` is signed.
    pub(crate) fn result(&mut self, operand: &Operand, ty: Type) -> Result<Row> {
        let wide = types::is_wide(ty);
        match operand {
            Operand::Reg(id) => {
                let (row, is_wide) = self.register(*id)?;
                if is_wide == wide {
                    return Ok(row);
                }
                if wide {
                    return Err("a 32-bit register for a 64-bit result".into());
                }
                let low = self.fresh(false);
                let extend = self.extend(types::is_signed(ty));
                let mut rows = [Row::default(); 6];
                (rows[0], rows[1]) = (row, low);
                self.f.after.push((extend, rows, 0));
                Ok(low)
            }
            Operand::Sink => Ok(self.fresh(wide)),
            _ => Err("a register is needed".into()),
        }
    }

    /// Copies a row.
    pub(crate) fn copy(&mut self, to: Row, from: Row, wide: bool) {
        self.emit_exec(self.copy_row(wide), &[to, from], 0);
    }

    /// Adds a constant to a 64-bit row.
    pub(crate) fn add_constant(&mut self, to: Row, from: Row, constant: u64) {
        let constant = self.bits_row(constant, true);
        self.emit_exec(op2(self.level, |a: u64, b: u64| a.wrapping_add(b)), &[to, from, constant], 0);
    }

    /// An address in the shared memory that the system reserves.
    fn reserved(&mut self, offset: u32) -> Value {
        self.code.reserved_shared = RESERVED_SHARED;
        Value::ReservedShared(offset)
    }

    fn special(&mut self, name: &str) -> Option<Value> {
        let (register, axis) = match name.split_once('.') {
            Some((register, axis)) => (
                register,
                match axis {
                    "x" => 0,
                    "y" => 1,
                    "z" => 2,
                    _ => return None,
                },
            ),
            None => (name, 0),
        };
        Some(match register {
            "%tid" => Value::Tid(axis),
            "%ntid" => Value::Ntid(axis),
            "%ctaid" | "%clusterid" => Value::Ctaid(axis),
            "%nctaid" | "%nclusterid" => Value::Nctaid(axis),
            "%cluster_nctaid" | "%cluster_nctarank" => Value::Bits(1),
            "%cluster_ctaid" | "%cluster_ctarank" | "%gridid" | "%is_explicit_cluster" => Value::Bits(0),
            "%laneid" => Value::LaneId,
            "%warpid" => Value::WarpId,
            "%nwarpid" => Value::NWarpId,
            "%smid" => Value::SmId,
            "%nsmid" => Value::NSmId,
            "%lanemask_eq" => Value::LaneMaskEq,
            "%lanemask_le" => Value::LaneMaskLe,
            "%lanemask_lt" => Value::LaneMaskLt,
            "%lanemask_ge" => Value::LaneMaskGe,
            "%lanemask_gt" => Value::LaneMaskGt,
            "%reserved_smem_offset_begin" | "%reserved_smem_offset_0" => self.reserved(0),
            "%reserved_smem_offset_1" => self.reserved(RESERVED_PART),
            "%reserved_smem_offset_end" => self.reserved(RESERVED_SHARED),
            "%reserved_smem_offset_cap" => Value::Bits(u64::from(RESERVED_SHARED)),
            "%dynamic_smem_size" => Value::DynamicShared,
            "%total_smem_size" | "%aggr_smem_size" => Value::TotalShared,
            "%envreg1" => Value::Workspace { high: true },
            "%envreg2" => Value::Workspace { high: false },
            "WARP_SZ" => Value::Bits(32),
            _ => return None,
        })
    }
}

/// Bytes of shared memory that the system reserves in each block, from compute capability 8.0 on.
const RESERVED_SHARED: u32 = 1024;
/// Where its second part begins, which cooperative groups use.
const RESERVED_PART: u32 = 512;

fn is_clock(name: &str) -> bool {
    matches!(name, "%clock" | "%clock_hi" | "%clock64" | "%globaltimer" | "%globaltimer_lo" | "%globaltimer_hi")
}
