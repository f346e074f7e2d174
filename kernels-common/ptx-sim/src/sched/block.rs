//! Running the warps of a block.

use std::mem::swap;

use super::barrier::{BARRIERS, Barrier, CLUSTER_BARRIER, Kind, Reduction};
use super::schedule::Schedule;
use super::warp::{Activation, Path, Wait, Warp};
use crate::code::Code;
use crate::exec::collective::{Exchange, Step};
use crate::exec::control::NOWHERE;
use crate::exec::shared::Shared;
use crate::exec::{Flow, Machine, Quota, RawFault, bank_of};
use crate::fault::{FaultKind, Waiting};
use crate::lower::MAX_LOCAL;
use crate::races::BlockRaces;
use crate::rows::{LANES, Line, lanes};

/// Backward branches that a path may take before others get a turn.
pub(crate) const TURN: u32 = 256;
/// The same for a path that seems to wait for others.
const SHORT_TURN: u32 = 8;
/// Turns of a path after which the lanes that are parked for it are set free.
const PATIENCE: u32 = 64;
/// What a turn counts in which the path seemed to wait for others, perhaps for the parked lanes.
const IMPATIENCE: u32 = 8;
/// Nested calls.
const MAX_DEPTH: usize = 1024;
/// Lines of the frames of nested calls: 32 MiB for a warp, so that a block of deep recursions fits into the host.
const MAX_FRAMES: u64 = 1 << 18;
/// Groups of waiting threads that a fault lists.
const LISTED: usize = 32;

/// A block that runs.
pub(crate) struct Block {
    /// Its place in the grid.
    pub(crate) index: [u32; 3],
    pub(crate) warps: Vec<Warp>,
    barriers: Vec<Barrier>,
    /// The barriers that something has arrived at.
    active: u32,
    pub(crate) shared: Box<Shared>,
    races: Box<BlockRaces>,
    /// Whether it has run since it was reset.
    begun: bool,
    /// The constant bank.
    pub(crate) constants: Vec<Line>,
}

/// A fault with the place where it happened.
pub(crate) struct PlacedFault {
    pub(crate) fault: RawFault,
    pub(crate) warp: u32,
    pub(crate) pc: u32,
}

/// How far a block has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All threads have left.
    Done,
    /// Some can go on.
    Going,
    /// Some can go on, but the one whose turn it was seems to wait for others.
    Watching,
    /// None can.
    Stuck,
}

/// What the scheduler decides with.
pub(crate) struct Policy {
    /// `None` takes everything in order.
    pub(crate) schedule: Option<Schedule>,
    /// PTX instructions left to the launch.
    pub(crate) instructions: u64,
    /// Those that have been executed when that was last said to who looks on.
    pub(crate) reported: u64,
}

impl Policy {
    /// Takes everything in order, for as many instructions.
    pub(crate) fn new(instructions: u64) -> Policy {
        Policy { schedule: None, instructions, reported: 0 }
    }

    /// Puts `items` in a random order, if anything is random.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        if let Some(schedule) = &mut self.schedule {
            schedule.random().shuffle(items);
        }
    }

    /// A random number below `end`, which is not 0; 0 if nothing is random.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.schedule.as_mut().map_or(0, |schedule| schedule.random().below(end))
    }
}

impl Block {
    pub(crate) fn new(code: &Code, threads: u32, shared: u32, constants: Vec<Line>) -> Block {
        let warps = (0..threads.div_ceil(LANES as u32))
            .map(|warp| {
                let left = threads - warp * LANES as u32;
                Warp::new(code, if left >= 32 { u32::MAX } else { (1 << left) - 1 })
            })
            .collect::<Vec<_>>();
        let barrier = Barrier { arrived: vec![0; warps.len()], ..Barrier::default() };
        Block {
            index: [0; 3],
            barriers: vec![barrier; CLUSTER_BARRIER + 1],
            active: 0,
            warps,
            shared: Box::new(Shared::new(shared)),
            races: Box::default(),
            begun: false,
            constants,
        }
    }

    /// Starts over as the block at `index` of the grid.
    pub(crate) fn reset(&mut self, code: &Code, index: [u32; 3]) {
        self.index = index;
        self.begun = false;
        for warp in &mut self.warps {
            warp.reset(code.functions[0].entry);
        }
        for number in lanes(std::mem::take(&mut self.active)) {
            self.barriers[number].clear();
        }
        self.shared.reset();
    }

    /// Whether a path seems to wait for others.
    pub(crate) fn is_watching(&self) -> bool {
        let waits = |path: &Path| path.watching && path.wait == Wait::Ready;
        self.warps.iter().any(|warp| warp.paths.iter().any(waits))
    }

    /// Whether every path that can go on seems to wait for others.
    pub(crate) fn only_watches(&self) -> bool {
        let goes_on = |path: &Path| path.wait == Wait::Ready && !path.watching;
        !self.warps.iter().any(|warp| warp.paths.iter().any(goes_on))
    }

    /// The fault of a block whose paths look at memory that does not change.
    pub(crate) fn fruitless(&self, code: &Code) -> PlacedFault {
        let watches = |path: &&Path| path.wait == Wait::Ready;
        let first =
            self.warps.iter().enumerate().find_map(|(warp, here)| Some((warp, here.paths.iter().find(watches)?)));
        let (warp, pc, mask) = first.map_or((0, code.functions[0].entry, 1), |(warp, path)| (warp, path.pc, path.mask));
        let kind = FaultKind::Livelock { waiting: self.all_waiting(code) };
        PlacedFault { fault: RawFault::new(kind, mask.trailing_zeros()), warp: warp as u32, pc }
    }

    /// Gives the machine what the block shares.
    fn enter_block(&mut self, m: &mut Machine<'_>) {
        if m.checks.races && !self.begun {
            self.races.start(&mut m.races, self.index, self.warps.len(), self.shared.size());
        }
        self.begun = true;
        self.swap_shared(m);
    }

    fn swap_shared(&mut self, m: &mut Machine<'_>) {
        swap(&mut m.here, &mut self.races);
        swap(&mut m.shared, &mut self.shared);
    }

    /// Takes it back, and ends the block's copies if it is done.
    fn leave_block(&mut self, m: &mut Machine<'_>, is_done: bool) -> Result<(), PlacedFault> {
        let outcome = if is_done { m.finish_block() } else { Ok(()) };
        self.swap_shared(m);
        outcome.map_err(|(thread, pc)| {
            let (warp, lane) = (thread / LANES as u32, thread % LANES as u32);
            PlacedFault { fault: RawFault::new(FaultKind::UnfinishedCopy, lane), warp, pc }
        })
    }

    /// Gives every warp a turn, in order.
    pub(crate) fn round(&mut self, m: &mut Machine<'_>, policy: &mut Policy) -> Result<Progress, PlacedFault> {
        self.enter_block(m);
        let mut progress = Progress::Done;
        let mut outcome = Ok(());
        for warp in 0..self.warps.len() {
            if self.warps[warp].can_run() {
                if let Err(fault) = self.run_warp(warp, m, policy) {
                    outcome = Err(fault);
                    break;
                }
                progress = Progress::Going;
            }
        }
        let done = self.warps.iter().all(Warp::is_done);
        outcome.and(self.leave_block(m, done))?;
        if done {
            return Ok(Progress::Done);
        }
        Ok(if progress == Progress::Going { Progress::Going } else { Progress::Stuck })
    }

    /// Gives one warp a turn, chosen at random.
    pub(crate) fn turn(&mut self, m: &mut Machine<'_>, policy: &mut Policy) -> Result<Progress, PlacedFault> {
        let first = policy.below(self.warps.len());
        let mut candidates = (first..self.warps.len()).chain(0..first);
        let Some(warp) = candidates.find(|&warp| self.warps[warp].can_run()) else { return Ok(Progress::Stuck) };
        self.enter_block(m);
        let outcome = self.run_warp(warp, m, policy);
        let done = self.warps.iter().all(Warp::is_done);
        let left = self.leave_block(m, done);
        let progress = outcome?;
        left?;
        if self.warps[warp].can_run() || self.warps.iter().any(Warp::can_run) {
            return Ok(progress);
        }
        Ok(if done { Progress::Done } else { Progress::Stuck })
    }

    /// Points the machine at a path.
    fn enter(&mut self, m: &mut Machine<'_>, index: usize, path: usize) {
        let Block { warps, constants, .. } = self;
        m.warp = index as u32;
        let warp = &mut warps[index];
        let path = &warp.paths[path];
        m.banks[0] = bank_of(&mut warp.frame[path.context.frame as usize..]);
        m.banks[1] = bank_of(constants);
        m.banks[2] = bank_of(&mut warp.constants);
        m.mask = path.mask;
        m.live = warp.live;
        m.full = path.mask == warp.live;
        m.local_base = path.context.local;
        m.meet = warp.meeting_point(path.join);
        m.exchange.step = Step::Both;
    }

    /// Runs a warp until its turn is over: [`Progress::Going`] or [`Progress::Watching`].
    fn run_warp(&mut self, index: usize, m: &mut Machine<'_>, policy: &mut Policy) -> Result<Progress, PlacedFault> {
        swap(&mut m.local, &mut self.warps[index].local);
        let stop = self.run_paths(index, m, policy);
        swap(&mut m.local, &mut self.warps[index].local);
        stop
    }

    fn run_paths(&mut self, index: usize, m: &mut Machine<'_>, policy: &mut Policy) -> Result<Progress, PlacedFault> {
        let mut steps = policy.schedule.as_mut().map(Schedule::turn);
        loop {
            let Some(current) = self.choose(index, policy) else {
                if !self.warps[index].is_done() && self.unblock(index, m)? {
                    continue;
                }
                return Ok(Progress::Going);
            };
            if steps == Some(0) {
                return Ok(Progress::Going);
            }
            self.enter(m, index, current);
            m.watching = false;
            if !m.shared.transfers.is_empty()
                && let Some(mut random) = m.random.take()
            {
                let pc = self.warps[index].paths[current].pc;
                let outcome = m.finish_some(&mut random);
                m.random = Some(random);
                outcome.map_err(|fault| PlacedFault { fault, warp: index as u32, pc })?;
            }
            let Path { pc, watching, backward: left, .. } = self.warps[index].paths[current];
            let turn = if watching { SHORT_TURN } else { TURN };
            let mut quota = Quota { instructions: policy.instructions, backward: turn, steps: 0 };
            // SAFETY: the machine points at this path, whose instruction belongs to the function of its frame.
            let (flow, pc) = unsafe {
                match &mut steps {
                    None => m.run::<false>(pc, &mut quota),
                    Some(steps) => {
                        (quota.backward, quota.steps) = (left, *steps);
                        let stop = m.run::<true>(pc, &mut quota);
                        *steps = quota.steps;
                        stop
                    }
                }
            };
            policy.instructions = quota.instructions;
            let placed = |fault| PlacedFault { fault, warp: index as u32, pc };
            if policy.instructions == 0 && flow != Flow::Fault {
                let instructions = m.counters.instructions;
                let lane = m.mask.trailing_zeros();
                let fault = RawFault::new(FaultKind::Budget { instructions }, lane);
                // A path that gives way goes on behind `pc`: at the head of its loop. Behind the last instruction of
                // the text there is none to name.
                let next = pc.wrapping_add(1);
                let pc = if flow == Flow::Yield && m.code.instruction(next).is_some() { next } else { pc };
                return Err(PlacedFault { fault, warp: index as u32, pc });
            }
            let warp = &mut self.warps[index];
            match flow {
                Flow::Next | Flow::Skip | Flow::Jump => {}
                Flow::Diverge => {
                    let ins = &m.code.ins[pc as usize];
                    let (target, meet) = (ins.extra as u32, (ins.extra >> 32) as u32);
                    let mut groups = [(target, m.taken), (pc + 1, m.mask & !m.taken)];
                    policy.shuffle(&mut groups);
                    warp.part(current, meet, &groups);
                }
                Flow::Switch => {
                    let meet = (m.code.ins[pc as usize].extra >> 32) as u32;
                    let mut groups: Vec<(u32, u32)> = Vec::new();
                    for lane in lanes(m.mask) {
                        let target = m.destinations[lane];
                        match groups.iter_mut().find(|group| group.0 == target) {
                            Some(group) => group.1 |= 1 << lane,
                            None => groups.push((target, 1 << lane)),
                        }
                    }
                    groups.reverse();
                    policy.shuffle(&mut groups);
                    warp.part(current, meet, &groups);
                }
                Flow::Meet => warp.park(current),
                Flow::Exit => {
                    warp.exit(current);
                    self.complete_barriers(m)?;
                    self.gather(index, m)?;
                }
                Flow::Call => {
                    warp.paths[current].pc = pc;
                    self.call(index, current, m).map_err(placed)?;
                }
                Flow::Return => self.leave(index, current, m),
                Flow::Barrier => {
                    warp.paths[current].pc = pc;
                    self.arrive(index, current, m).map_err(placed)?;
                    self.complete_barriers(m)?;
                }
                Flow::Gather => {
                    warp.paths[current].pc = pc;
                    warp.paths[current].wait = Wait::Lanes;
                    self.gather(index, m)?;
                }
                Flow::Yield => {
                    let path = &mut warp.paths[current];
                    path.pc = pc.wrapping_add(1);
                    path.watching = m.watching | std::mem::take(&mut path.looked);
                    path.backward = if path.watching { SHORT_TURN } else { TURN };
                    path.spent += if path.watching { IMPATIENCE } else { 1 };
                    let progress = if path.watching { Progress::Watching } else { Progress::Going };
                    if path.spent >= PATIENCE && warp.has_parked() {
                        warp.paths[current].spent = 0;
                        warp.release_parked();
                    } else {
                        // To the end of the queue.
                        let path = warp.paths.remove(current);
                        warp.paths.insert(0, path);
                    }
                    return Ok(progress);
                }
                Flow::Pause => {
                    let path = &mut warp.paths[current];
                    path.pc = pc;
                    path.backward = quota.backward;
                    path.looked |= m.watching;
                    return Ok(Progress::Going);
                }
                Flow::Fault => {
                    let fault = m.fault.take();
                    return Err(placed(fault.unwrap_or_else(|| RawFault::new(FaultKind::Trap, 0))));
                }
            }
        }
    }

    /// The path to run: the one that was added last, or any.
    fn choose(&self, index: usize, policy: &mut Policy) -> Option<usize> {
        let paths = &self.warps[index].paths;
        let mut ready = (0..paths.len()).rev().filter(|&path| paths[path].wait == Wait::Ready);
        if policy.schedule.is_none() || paths.len() == 1 {
            return ready.next();
        }
        let count = ready.clone().count();
        if count == 0 { None } else { ready.nth(policy.below(count)) }
    }

    /// Called when no path of a warp can run. Whether one can now.
    fn unblock(&mut self, index: usize, m: &mut Machine<'_>) -> Result<bool, PlacedFault> {
        if self.gather(index, m)? {
            return Ok(true);
        }
        let warp = &self.warps[index];
        if !warp.has_parked() {
            return Ok(false);
        }
        // Lanes that are parked have passed the region in which their siblings wait for the block: if those stand at
        // an aligned barrier, it is one that not all lanes of the warp reach.
        if m.checks.barriers {
            for path in &warp.paths {
                if matches!(path.wait, Wait::Barrier(_)) && m.code.barrier(path.pc).aligned {
                    let others = warp.parked().map(|(pc, lanes)| self.waiting(index, pc, lanes, m.code)).collect();
                    let kind = FaultKind::DivergentBarrier { lanes: path.mask, others };
                    let fault = RawFault::new(kind, path.mask.trailing_zeros());
                    return Err(PlacedFault { fault, warp: index as u32, pc: path.pc });
                }
            }
        }
        self.warps[index].release_parked();
        Ok(true)
    }

    fn waiting(&self, warp: usize, pc: u32, lanes: u32, code: &Code) -> Waiting {
        let (opcode, span, source) = match code.instruction(pc) {
            Some(instruction) => (instruction.opcode.clone(), instruction.span, instruction.source.clone()),
            None => ("end".into(), code.functions[0].source.span, None),
        };
        Waiting { block: self.index, warp: warp as u32, lanes, opcode, span, source }
    }

    /// Who waits where.
    pub(crate) fn all_waiting(&self, code: &Code) -> Vec<Waiting> {
        let mut list = Vec::new();
        for (index, warp) in self.warps.iter().enumerate() {
            list.extend(warp.paths.iter().map(|path| self.waiting(index, path.pc, path.mask, code)));
            list.extend(warp.parked().map(|(pc, lanes)| self.waiting(index, pc, lanes, code)));
        }
        list.truncate(LISTED);
        list
    }

    /// The fault of a block in which nothing moves.
    pub(crate) fn stuck(&self, code: &Code) -> PlacedFault {
        let waiting = self.all_waiting(code);
        let (mut warp, mut pc, mut mask) = (0, code.functions[0].entry, 1);
        let mut kind = FaultKind::Deadlock { waiting: waiting.clone() };
        // Lanes of one warp that wait at different places can only be a barrier or a warp operation under a branch.
        for (index, here) in self.warps.iter().enumerate() {
            let Some(first) = here.paths.first() else { continue };
            if mask == 1 && warp == 0 {
                (warp, pc, mask) = (index as u32, first.pc, first.mask);
            }
            let barrier = here.paths.iter().find(|path| matches!(path.wait, Wait::Barrier(_)));
            if let Some(path) = barrier
                && path.mask != here.live
                && code.barrier(path.pc).aligned
            {
                (warp, pc, mask) = (index as u32, path.pc, path.mask);
                let others = waiting.iter().filter(|other| other.warp == warp && other.lanes != mask);
                kind = FaultKind::DivergentBarrier { lanes: mask, others: others.cloned().collect() };
                break;
            }
        }
        PlacedFault { fault: RawFault::new(kind, mask.trailing_zeros()), warp, pc }
    }

    fn call(&mut self, index: usize, current: usize, m: &mut Machine<'_>) -> Result<(), RawFault> {
        let warp = &mut self.warps[index];
        let path = &mut warp.paths[current];
        let code = m.code;
        let call = code.ins[path.pc as usize].extra as u32;
        let caller = &code.functions[code.sites[path.pc as usize].0 as usize];
        let callee = &code.functions[code.calls[call as usize].function as usize];
        let Path { join, ref mut context, .. } = *path;
        let (frame, local) = (context.frame, context.local);
        let deep = u64::from(frame) + u64::from(caller.lines) + u64::from(callee.lines) > MAX_FRAMES
            || local + u64::from(caller.local_bytes) + u64::from(callee.local_bytes) > MAX_LOCAL;
        if context.stack.len() >= MAX_DEPTH || deep {
            let kind = FaultKind::CallDepth { depth: context.stack.len() as u32 };
            return Err(RawFault::new(kind, path.mask.trailing_zeros()));
        }
        context.stack.push(Activation { call, after: path.pc + 1, join, frame, local });
        context.frame += caller.lines;
        context.local += u64::from(caller.local_bytes);
        m.local.reserve(context.local + u64::from(callee.local_bytes));
        m.local.pass(&code.calls[call as usize].arguments, local, context.local, path.mask);
        path.join = NOWHERE;
        path.pc = callee.entry;
        let end = path.context.frame + callee.lines;
        warp.reserve(end);
        Ok(())
    }

    fn leave(&mut self, index: usize, current: usize, m: &mut Machine<'_>) {
        let path = &mut self.warps[index].paths[current];
        // Only the code of a called function ends in a return.
        let Some(Activation { call, after, join, frame, local }) = path.context.stack.pop() else { return };
        m.local.pass_back(&m.code.calls[call as usize].results, local, path.context.local, path.mask);
        path.context.frame = frame;
        path.context.local = local;
        path.join = join;
        path.pc = after;
    }

    /// Has the path `current`, which is at a barrier instruction, arrive there.
    fn arrive(&mut self, index: usize, current: usize, m: &mut Machine<'_>) -> Result<(), RawFault> {
        let path = &mut self.warps[index].paths[current];
        let op = m.code.barrier(path.pc);
        let first = path.mask.trailing_zeros();
        let bad = |text: String| RawFault::new(FaultKind::BadOperand(text), first);
        // SAFETY: the machine still points at this path; lowering gave the rows their widths.
        let (number, threads, predicate) = unsafe {
            let first = first as usize % LANES;
            let number = m.get::<u32>(op.number)[first];
            let threads = op.threads.map(|row| m.get::<u32>(row)[first]);
            (number, threads, m.predicate(op.source.0) ^ if op.source.1 { u32::MAX } else { 0 })
        };
        let of_cluster = number as usize == CLUSTER_BARRIER && m.code.is_cluster_barrier(path.pc);
        if number as usize >= BARRIERS && !of_cluster {
            return Err(bad(format!("barrier {number}; there are {BARRIERS}")));
        }
        if let Some(threads) = threads
            && (threads == 0 || threads % LANES as u32 != 0)
        {
            return Err(bad(format!("a barrier of {threads} threads, which is not a multiple of 32")));
        }
        let barrier = &mut self.barriers[number as usize];
        if op.kind == Kind::Wait {
            // The barrier of those who have arrived and are not there any more is complete.
            if barrier.arrived[index] & path.mask == 0 {
                path.pc += 1;
                if m.checks.races {
                    m.here.threads.waited(index as u32, m.mask);
                }
            } else {
                path.wait = Wait::Barrier(number);
            }
            return Ok(());
        }
        let in_use = self.active >> number & 1 != 0;
        if in_use && barrier.threads != threads {
            return Err(bad(format!("barrier {number} is in use with another number of threads")));
        }
        m.counters.barriers += 1;
        self.active |= 1 << number;
        barrier.threads = threads;
        barrier.arrived[index] |= path.mask;
        if op.reduction != Reduction::None {
            barrier.set += (predicate & path.mask).count_ones();
            barrier.asked += path.mask.count_ones();
        }
        if op.kind == Kind::Arrive {
            path.pc += 1;
            if m.checks.races {
                m.here.threads.signal(&mut m.races, number as usize, index as u32, m.mask);
            }
        } else {
            path.wait = Wait::Barrier(number);
        }
        Ok(())
    }

    /// Lets the threads of every barrier go that is complete.
    fn complete_barriers(&mut self, m: &mut Machine<'_>) -> Result<(), PlacedFault> {
        for number in lanes(self.active) {
            let barrier = &self.barriers[number];
            if !barrier.is_complete(self.warps.iter().map(|warp| warp.live)) {
                continue;
            }
            self.check_barrier(number, m)?;
            if m.checks.races {
                let (waiting, live) = self.at_barrier(number);
                let threads = &mut m.here.threads;
                if number == CLUSTER_BARRIER {
                    threads.pass(number);
                    for (warp, &mask) in waiting.iter().enumerate().filter(|&(_, &mask)| mask != 0) {
                        threads.waited(warp as u32, mask);
                    }
                } else {
                    threads.block_barrier(&mut m.races, number, &waiting, &live);
                }
            }
            let Barrier { set, asked, .. } = self.barriers[number];
            self.barriers[number].clear();
            self.active &= !(1 << number);
            for index in 0..self.warps.len() {
                let mut released = 0;
                for path in 0..self.warps[index].paths.len() {
                    if self.warps[index].paths[path].wait != Wait::Barrier(number as u32) {
                        continue;
                    }
                    let op = m.code.barrier(self.warps[index].paths[path].pc);
                    if op.reduction != Reduction::None {
                        self.enter(m, index, path);
                        // SAFETY: the machine points at the path; lowering gave the row its width.
                        unsafe {
                            match op.reduction {
                                Reduction::Count => m.put_lanes(op.result, &[set; LANES], m.mask),
                                Reduction::And => m.put_predicate(op.result, if set == asked { u32::MAX } else { 0 }),
                                Reduction::Or | Reduction::None => {
                                    m.put_predicate(op.result, if set != 0 { u32::MAX } else { 0 });
                                }
                            }
                        }
                    }
                    let path = &mut self.warps[index].paths[path];
                    path.wait = Wait::Ready;
                    path.pc += 1;
                    path.spent = 0;
                    released += 1;
                }
                if released > 1 {
                    self.warps[index].unite();
                }
            }
        }
        Ok(())
    }

    /// The lanes of each warp that wait at a barrier, and those that have not left the kernel.
    fn at_barrier(&self, number: usize) -> ([u32; LANES], [u32; LANES]) {
        let (mut waiting, mut live) = ([0; LANES], [0; LANES]);
        for (warp, here) in self.warps.iter().enumerate() {
            live[warp] = here.live;
            for path in here.paths.iter().filter(|path| path.wait == Wait::Barrier(number as u32)) {
                waiting[warp] |= path.mask;
            }
        }
        (waiting, live)
    }

    /// Looks for misuse of a barrier that is complete.
    fn check_barrier(&self, number: usize, m: &Machine<'_>) -> Result<(), PlacedFault> {
        let barrier = &self.barriers[number];
        if barrier.threads.is_some() {
            return Ok(());
        }
        let paths =
            || self.warps.iter().enumerate().flat_map(|(warp, here)| here.paths.iter().map(move |path| (warp, path)));
        let waiting = || paths().filter(|(_, path)| path.wait == Wait::Barrier(number as u32));
        if m.checks.barriers
            && let Some((warp, first)) = waiting().next()
            && m.code.barrier(first.pc).aligned
        {
            let elsewhere: Vec<_> = waiting()
                .filter(|(_, path)| path.pc != first.pc && m.code.barrier(path.pc).aligned)
                .map(|(warp, path)| self.waiting(warp, path.pc, path.mask, m.code))
                .take(LISTED)
                .collect();
            if !elsewhere.is_empty() {
                let kind = FaultKind::DivergentBarrier { lanes: first.mask, others: elsewhere };
                let fault = RawFault::new(kind, first.mask.trailing_zeros());
                return Err(PlacedFault { fault, warp: warp as u32, pc: first.pc });
            }
        }
        if m.checks.exited {
            let started: u32 = self.warps.iter().map(|warp| warp.started.count_ones()).sum();
            let arrived: u32 = barrier.arrived.iter().map(|lanes| lanes.count_ones()).sum();
            if let Some((warp, first)) = waiting().next()
                && arrived < started
            {
                let kind = FaultKind::ExitedThreads { exited: started - arrived };
                let fault = RawFault::new(kind, first.mask.trailing_zeros());
                return Err(PlacedFault { fault, warp: warp as u32, pc: first.pc });
            }
        }
        Ok(())
    }

    /// Runs the warp operations whose members have all come. Whether there was one.
    fn gather(&mut self, index: usize, m: &mut Machine<'_>) -> Result<bool, PlacedFault> {
        let mut any = false;
        if self.warps[index].paths.iter().all(|path| path.wait != Wait::Lanes) {
            return Ok(any);
        }
        while let Some(group) = self.gathered(index, m) {
            any = true;
            m.exchange = Exchange::NEW;
            for step in [Step::Contribute, Step::Take] {
                for &(path, mask) in &group {
                    self.enter(m, index, path);
                    m.mask = mask;
                    m.full = false;
                    m.exchange.step = step;
                    let pc = self.warps[index].paths[path].pc;
                    let ins = &m.code.ins[pc as usize];
                    // SAFETY: the machine points at the path, and this is its instruction.
                    let flow = unsafe { (ins.exec)(m, ins) };
                    if flow == Flow::Fault
                        && let Some(fault) = m.fault.take()
                    {
                        return Err(PlacedFault { fault, warp: index as u32, pc });
                    }
                }
            }
            let warp = &mut self.warps[index];
            for &(path, mask) in &group {
                // The other lanes of the path wait for other members.
                let mut done = warp.paths[path].clone();
                warp.paths[path].mask &= !mask;
                done.mask = mask;
                done.wait = Wait::Ready;
                done.pc += 1;
                done.spent = 0;
                warp.paths.push(done);
            }
            warp.paths.retain(|path| path.mask != 0);
            warp.unite();
        }
        Ok(any)
    }

    /// Paths that wait for each other, with the lanes of each, which together are all members of one warp operation.
    fn gathered(&mut self, index: usize, m: &mut Machine<'_>) -> Option<Vec<(usize, u32)>> {
        // Path, its opcode, the members that lanes of it wait for, and those lanes.
        let mut waiting: Vec<(usize, &str, u32, u32)> = Vec::new();
        let code = m.code;
        for path in 0..self.warps[index].paths.len() {
            let Path { pc, mask, wait, .. } = self.warps[index].paths[path];
            if wait != Wait::Lanes {
                continue;
            }
            self.enter(m, index, path);
            // SAFETY: the machine points at the path, which waits at a collective operation.
            let members = unsafe { m.members(&code.ins[pc as usize]) };
            let opcode = code.instruction(pc).map_or("", |instruction| &*instruction.opcode);
            for lane in lanes(mask) {
                match waiting.iter_mut().find(|entry| entry.0 == path && entry.2 == members[lane]) {
                    Some(entry) => entry.3 |= 1 << lane,
                    None => waiting.push((path, opcode, members[lane], 1 << lane)),
                }
            }
        }
        let live = self.warps[index].live;
        waiting.iter().find_map(|&(_, opcode, members, _)| {
            let group = || waiting.iter().filter(move |entry| entry.1 == opcode && entry.2 == members);
            let present = group().fold(0, |sum, entry| sum | entry.3);
            (members & live & !present == 0).then(|| group().map(|entry| (entry.0, entry.3)).collect())
        })
    }
}
