//! From a conflict to a fault.

use super::clock::Clock;
use super::hooks::LaneAccess;
use super::record::Record;
use super::report::{Missing, RaceAccess, Scope, Strength};
use super::threads::covers;
use crate::code::Code;
use crate::exec::Machine;
use crate::fault::{Access, FaultKind, MemorySpace, Operation, Place};
use crate::lower::opcode::Opcode;
use crate::lower::types;
use crate::rows::LANES;

/// What an instruction does to memory, and to how many bytes.
fn operation(code: &Code, record: &Record) -> (Operation, u64) {
    let opcode = record.id.pc().and_then(|pc| code.instruction(pc)).map_or("", |instruction| &*instruction.opcode);
    let mut opcode = Opcode::new(opcode);
    let elements = match opcode.take_any(&["v2", "v4", "v8"]) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => 1,
    };
    let bytes = opcode.ty().map_or(1, types::bytes);
    let operation = match opcode.name {
        "atom" | "red" => Operation::Atomic,
        _ if record.id.writes() => Operation::Store,
        _ => Operation::Load,
    };
    (operation, u64::from(elements * bytes))
}

impl Machine<'_> {
    /// Ends the launch with the race between an access and an earlier one, of which `address` is the first byte that
    /// both touch.
    #[cold]
    pub(super) fn fail_with_race(&mut self, access: &LaneAccess, address: u64, old: &Record) {
        let space = access.space;
        // The earlier one was aligned, or the launch does not check that.
        let (first_operation, width) = operation(self.code, old);
        let first_address = address / width * width;
        let lane = |mask: u32| self.warp_lane(old.id.warp(), mask.trailing_zeros() as usize % LANES);
        let first = RaceAccess {
            access: Access { operation: first_operation, space, address: first_address, bytes: width as u32 },
            strength: old.id.strength(),
            site: old.id.pc().and_then(|pc| self.code.site(pc)),
            block: self.races.index(old.block),
            thread: lane(self.others(access, old)),
        };
        let second_operation = match (access.kind.reads, access.kind.writes) {
            (true, false) => Operation::Load,
            (false, true) => Operation::Store,
            _ => Operation::Atomic,
        };
        let bytes = access.width as u32;
        let second = RaceAccess {
            access: Access { operation: second_operation, space, address: access.address, bytes },
            strength: access.kind.strength,
            site: self.code.site(access.pc),
            block: self.races.index(self.here.threads.block),
            thread: self.warp_lane(self.warp, access.lane),
        };
        let missing = self.missing(access, old);
        let place = self.place(space, address);
        let kind = FaultKind::Race { first: Box::new(first), second: Box::new(second), place, missing };
        self.fail(kind, access.lane);
    }

    /// The lanes of an earlier access that are not the accessing one.
    pub(super) fn others(&self, access: &LaneAccess, old: &Record) -> u32 {
        let same_warp = old.block == self.here.threads.block && old.id.warp() == self.warp;
        if same_warp && access.mask.is_power_of_two() { old.mask & !access.mask } else { old.mask }
    }

    fn warp_lane(&self, warp: u32, lane: usize) -> [u32; 3] {
        let [x, y, _] = self.races.block;
        let index = warp * LANES as u32 + lane as u32;
        [index % x, index / x % y, index / x / y]
    }

    fn missing(&self, access: &LaneAccess, old: &Record) -> Missing {
        let threads = &self.here.threads;
        if old.block == threads.block {
            let both_store = old.id.writes() && access.kind.writes;
            // One of the two is an atomic or the like; or both warps have made such accesses, as of a lock.
            let has_strong = |warp: u32| self.here.strong >> warp & 1 != 0;
            let is_strong = !old.id.is_weak() || access.kind.strength != Strength::Weak;
            let is_strong = is_strong || has_strong(self.warp) && has_strong(old.id.warp());
            return match old.id.warp() == self.warp {
                true if both_store && old.id.pc() == Some(access.pc) && old.time == self.races.now => Missing::Nothing,
                true => Missing::WarpBarrier,
                false if is_strong => Missing::BarrierOrRelease,
                false => Missing::BlockBarrier,
            };
        }
        let narrow = Strength::Strong(Scope::Block);
        let covered = |clock: &Clock| covers(Some(clock), old, old.mask);
        if old.id.strength() == narrow || access.kind.strength == narrow {
            return Missing::Scope;
        }
        if threads.has_yet_to_acquire(self.warp, access.lane, old) {
            return Missing::Acquire;
        }
        if self.races.objects.any_narrow(old.block, covered) {
            return Missing::Scope;
        }
        Missing::Release
    }

    fn place(&self, space: MemorySpace, address: u64) -> Option<Place> {
        if space == MemorySpace::Global {
            return self.memory.place(address);
        }
        let start = u64::from(self.code.dynamic_shared);
        let (label, start, size) = if address >= start {
            ("dynamic shared memory".into(), start, self.here.size as u64 - start)
        } else {
            let variable = self.code.shared.iter().rfind(|variable| u64::from(variable.1) <= address)?;
            (variable.0.clone(), variable.1.into(), variable.2)
        };
        Some(Place { start, size, label: Some(label), offset: i128::from(address) - i128::from(start) })
    }
}
