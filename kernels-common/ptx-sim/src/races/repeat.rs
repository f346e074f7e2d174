//! Strong reads that tell nothing new: a warp that waits looks at the same place again and again.
//!
//! For each warp the last place that it has read is kept, with the time, and with how often what was released in its
//! memory had changed. If both are as they were, the same lanes find what they know already, and with the access still
//! [on record](super::cells::Cells::has) there is nothing to check and nothing to add: one look does for the whole warp.

use super::hooks::LaneAccess;
use super::lines::{self, LINE};
use super::record::{Id, Record};
use super::{Cell, Time};
use crate::exec::Machine;
use crate::fault::MemorySpace;

/// The last strong read of a warp that wrote nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    space: MemorySpace,
    address: u64,
    width: u64,
    id: Id,
    time: Time,
    /// How often what was [released](super::sync::Objects) had changed.
    changes: u64,
    /// The lanes that have made it.
    mask: u32,
}

impl Machine<'_> {
    fn look(&self, access: &LaneAccess) -> Look {
        let &LaneAccess { space, address, width, mask, .. } = access;
        let id = Id::new(self.warp, access.kind, access.pc);
        Look { space, address, width, id, time: self.races.now, changes: self.objects(space).changes(), mask }
    }

    /// Remembers a strong read that has been checked and recorded, and has acquired what it found.
    pub(super) fn remember(&mut self, access: &LaneAccess) {
        let mut look = self.look(access);
        let last = &mut self.here.looks[self.warp as usize];
        if let Some(last) = last.filter(|last| last.is_like(&look)) {
            look.mask |= last.mask;
        }
        *last = Some(look);
    }

    /// Whether all lanes of a strong read have made it before, and nothing has changed since.
    pub(super) fn is_repeated(&mut self, access: &LaneAccess) -> bool {
        let look = self.look(access);
        let last = &self.here.looks[self.warp as usize];
        if !last.is_some_and(|last| last.is_like(&look) && look.mask & !last.mask == 0) {
            return false;
        }
        let (global, offset, in_cells) = if access.space == MemorySpace::Global {
            let Some(region) = self.memory.region(access.address) else { return false };
            let offset = access.address - region.start;
            let line = &self.memory.shadow(&region)[(offset / LINE) as usize];
            let Some(cells) = lines::cells(line, self.races.launch_floor) else { return false };
            (true, offset, cells)
        } else {
            let cells = lines::InCells { first: (access.address / LINE * LINE) as usize, bytes: self.here.in_bytes };
            let first = cells.first >> cells.shift();
            (false, access.address, lines::InCells { first, ..cells })
        };
        let (from, shift) = (offset % LINE, in_cells.shift());
        let is_whole = (from | access.width).trailing_zeros() >= shift && from + access.width <= LINE;
        let new = Record { time: look.time, block: self.here.threads.block, mask: look.mask, id: look.id };
        is_whole
            && (from >> shift..(from + access.width) >> shift).all(|cell| {
                let index = in_cells.first + cell as usize;
                self.has(Cell { global, in_bytes: in_cells.bytes, index }, new)
            })
    }
}

impl Look {
    /// Whether the two differ at most in lanes.
    fn is_like(&self, other: &Look) -> bool {
        let of = |look: &Look| (look.space, look.address, look.width, look.id, look.time, look.changes);
        of(self) == of(other)
    }
}
