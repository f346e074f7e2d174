//! The path table of a warp.

use crate::code::Code;
use crate::exec::control::NOWHERE;
use crate::exec::local::Local;
use crate::rows::Line;
use crate::sched::block::TURN;

/// A function that has been called and has not returned: what to restore when it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Activation {
    /// Index of the call in [`Code::calls`].
    pub(crate) call: u32,
    /// The instruction after it.
    pub(crate) after: u32,
    /// The caller's.
    pub(crate) join: u32,
    /// The caller's.
    pub(crate) frame: u32,
    /// The caller's.
    pub(crate) local: u64,
}

/// Where a path stands in the call tree. Paths meet only in the same activation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Context {
    /// First line of the frame of the running function.
    pub(crate) frame: u32,
    /// Start of its local memory.
    pub(crate) local: u64,
    pub(crate) stack: Vec<Activation>,
}

/// What a path waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: it can run.
    Ready,
    /// The block barrier of this number.
    Barrier(u32),
    /// Other lanes of its warp.
    Lanes,
}

/// Lanes that run together.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    /// Index of the join that it will meet others at, or [`NOWHERE`].
    pub(crate) join: u32,
    pub(crate) context: Context,
    pub(crate) wait: Wait,
    /// What it has spent of the patience of lanes that are parked for it.
    pub(crate) spent: u32,
    /// It seems to wait for others: in its last turn it looked at memory that they may change.
    pub(crate) watching: bool,
    /// Where a turn can end at any instruction, this is what was left and what was seen of it when it was cut short:
    /// backward branches, and whether the path has looked at memory that others may change.
    pub(crate) backward: u32,
    pub(crate) looked: bool,
}

impl Path {
    /// A path that can run, and has not yet.
    fn new(pc: u32, mask: u32, join: u32, context: Context) -> Path {
        Path { pc, mask, join, context, wait: Wait::Ready, spent: 0, watching: false, backward: TURN, looked: false }
    }
}

/// A place where lanes that parted meet again.
#[derive(Clone, Debug)]
struct Join {
    pc: u32,
    /// Lanes that are to come, or have come; none if the entry is unused.
    expected: u32,
    /// Lanes that are parked here.
    arrived: u32,
    /// The join that the lanes go on to.
    outer: u32,
    context: Context,
}

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Lanes that have not left the kernel.
    pub(crate) live: u32,
    /// The lanes that it started with.
    pub(crate) started: u32,
    pub(crate) paths: Vec<Path>,
    joins: Vec<Join>,
    /// Registers: the frames of all activations.
    pub(crate) frame: Vec<Line>,
    /// Rows that never change.
    pub(crate) constants: Vec<Line>,
    pub(crate) local: Box<Local>,
}

impl Warp {
    pub(crate) fn new(code: &Code, started: u32) -> Warp {
        let mut local = Box::<Local>::default();
        local.reserve(u64::from(code.functions[0].local_bytes));
        Warp {
            live: 0,
            started,
            paths: Vec::new(),
            joins: Vec::new(),
            frame: Code::bank(code.functions[0].lines),
            constants: Code::bank(code.warp_lines),
            local,
        }
    }

    /// Puts all lanes at the first instruction.
    pub(crate) fn reset(&mut self, entry: u32) {
        self.live = self.started;
        self.local.reset();
        self.joins.clear();
        self.paths.clear();
        self.paths.push(Path::new(entry, self.started, NOWHERE, Context::default()));
    }

    /// The instruction at which lanes with this join are parked.
    pub(crate) fn meeting_point(&self, join: u32) -> u32 {
        self.joins.get(join as usize).map_or(NOWHERE, |join| join.pc)
    }

    /// Parts the lanes of path `index`: each group of `groups` goes on at its instruction, and they meet again at
    /// `meet` unless that is [`NOWHERE`]. The last group runs first.
    pub(crate) fn part(&mut self, index: usize, meet: u32, groups: &[(u32, u32)]) {
        let path = self.paths.swap_remove(index);
        let join = if meet == NOWHERE || self.meeting_point(path.join) == meet {
            path.join
        } else {
            self.open(Join {
                pc: meet,
                expected: path.mask,
                arrived: 0,
                outer: path.join,
                context: path.context.clone(),
            })
        };
        for &(pc, mask) in groups {
            if pc == meet && join != NOWHERE {
                self.arrive(join, mask);
            } else {
                self.paths.push(Path::new(pc, mask, join, path.context.clone()));
            }
        }
    }

    fn open(&mut self, join: Join) -> u32 {
        match self.joins.iter().position(|join| join.expected == 0) {
            Some(free) => {
                self.joins[free] = join;
                free as u32
            }
            None => {
                self.joins.push(join);
                self.joins.len() as u32 - 1
            }
        }
    }

    /// Parks the path `index`, which has reached its join.
    pub(crate) fn park(&mut self, index: usize) {
        let path = self.paths.swap_remove(index);
        self.arrive(path.join, path.mask);
    }

    fn arrive(&mut self, join: u32, mask: u32) {
        self.joins[join as usize].arrived |= mask;
        self.settle(join as usize);
    }

    /// Lets the lanes at a join go if all have come.
    fn settle(&mut self, index: usize) {
        let join = &self.joins[index];
        if join.arrived == join.expected {
            self.release(index);
        }
    }

    /// Lets the lanes that are parked at a join go on together.
    fn release(&mut self, index: usize) {
        let join = &mut self.joins[index];
        let mask = std::mem::take(&mut join.arrived);
        join.expected &= !mask;
        if mask != 0 {
            let (pc, outer, context) = (join.pc, join.outer, join.context.clone());
            self.paths.push(Path::new(pc, mask, outer, context));
        }
    }

    /// Whether lanes are parked.
    pub(crate) fn has_parked(&self) -> bool {
        self.joins.iter().any(|join| join.arrived != 0)
    }

    /// Lanes that are parked, with the instruction.
    pub(crate) fn parked(&self) -> impl Iterator<Item = (u32, u32)> {
        self.joins.iter().filter(|join| join.arrived != 0).map(|join| (join.pc, join.arrived))
    }

    /// Lets all parked lanes go without waiting for their siblings.
    pub(crate) fn release_parked(&mut self) {
        for index in 0..self.joins.len() {
            if self.joins[index].arrived != 0 {
                self.release(index);
            }
        }
    }

    /// Ends the lanes of path `index`.
    pub(crate) fn exit(&mut self, index: usize) {
        let mask = self.paths.swap_remove(index).mask;
        self.live &= !mask;
        for index in 0..self.joins.len() {
            if self.joins[index].expected & mask != 0 {
                self.joins[index].expected &= !mask;
                self.settle(index);
            }
        }
    }

    /// Unites paths that stand at the same instruction and have the same future.
    pub(crate) fn unite(&mut self) {
        let mut index = 0;
        while index < self.paths.len() {
            let mut other = index + 1;
            while other < self.paths.len() {
                let (a, b) = (&self.paths[index], &self.paths[other]);
                if a.pc == b.pc && a.join == b.join && a.wait == b.wait && a.context == b.context {
                    self.paths[index].mask |= b.mask;
                    self.paths.remove(other);
                } else {
                    other += 1;
                }
            }
            index += 1;
        }
    }

    /// Whether a path can go on.
    pub(crate) fn can_run(&self) -> bool {
        self.paths.iter().any(|path| path.wait == Wait::Ready)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.live == 0
    }

    /// Makes room for a frame that ends at line `end`.
    pub(crate) fn reserve(&mut self, end: u32) {
        if self.frame.len() < end as usize {
            self.frame.resize(end as usize, Line::ZERO);
        }
    }
}
