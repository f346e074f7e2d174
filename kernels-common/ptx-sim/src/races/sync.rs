//! Places through which threads synchronise: what strong writes have released there.

use std::collections::HashMap;

use super::clock::{Clock, join_into};
use super::report::Scope;

/// What was released at one place.
#[derive(Debug, Default)]
struct Object {
    /// To all threads of the launch.
    device: Option<Clock>,
    /// By each block, to its own threads.
    blocks: HashMap<u32, Clock>,
}

/// The places of one memory, by the number of their four-byte word.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    words: HashMap<u64, Object>,
    changes: u64,
}

/// The words of an access.
pub(crate) fn words(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
    address / 4..address.saturating_add(bytes).div_ceil(4)
}

impl Objects {
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.changes += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How often anything has changed here.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// What a strong read with `scope` by a thread of `block` finds at a place, by the scope of the fence that it takes
    /// to acquire it.
    pub(crate) fn find(&self, place: u64, block: u32, scope: Scope) -> [Option<Clock>; 2] {
        let Some(object) = self.words.get(&place) else { return [None, None] };
        let near = object.blocks.get(&block).cloned();
        let far = if scope == Scope::Device { object.device.clone() } else { None };
        [near, far]
    }

    /// Records what a strong write by a thread of `block` releases, by scope. One that is not a read as well ends what
    /// was released before.
    pub(crate) fn release(&mut self, place: u64, block: u32, reads: bool, released: [Option<Clock>; 2]) {
        let [near, far] = released;
        if !reads {
            self.forget(place);
        }
        if near.is_none() && far.is_none() {
            return;
        }
        self.changes += 1;
        let object = self.words.entry(place).or_default();
        join_into(&mut object.device, far.as_ref());
        if let Some(near) = near {
            match object.blocks.get_mut(&block) {
                Some(known) => known.join(&near),
                None => {
                    object.blocks.insert(block, near);
                }
            }
        }
    }

    /// Whether threads of `block` have released something that `is_it` holds for, but to their block only.
    pub(crate) fn any_narrow(&self, block: u32, is_it: impl Fn(&Clock) -> bool) -> bool {
        self.words
            .values()
            .any(|object| object.blocks.get(&block).is_some_and(&is_it) && !object.device.as_ref().is_some_and(&is_it))
    }

    /// Forgets a place, which a write has written that passes nothing on.
    pub(crate) fn forget(&mut self, place: u64) {
        self.changes += u64::from(self.words.remove(&place).is_some());
    }
}
