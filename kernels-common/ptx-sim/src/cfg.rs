//! Where the lanes of a divergent branch meet again.
//!
//! That place is the immediate post-dominator of the branch: the first instruction that every path from the branch
//! to the end of the function passes. It is found as the immediate dominator on the reversed flow graph, with the
//! algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001), after one refinement.
//!
//! **Paths on which lanes end do not count.** By the textbook definition, `if (x) return;` inside a branch moves the
//! meeting point of that branch to the end of the kernel, and a `bar.sync` behind the branch would find its lanes
//! apart. But lanes that return need not be met. So where a branch leads to a block that only ends its lanes, or an
//! `exit` is guarded, that edge counts only if the block has no other way to the end; likewise a `trap`. Blocks that
//! have no way to the end without such edges (a loop left by `return` alone, an endless loop, the way to a `trap`) get
//! one, the latest block first, and the paths of other blocks into them do not count.
//!
//! So lanes that wait at a meeting point must be let go when their siblings have arrived there *or ended*.

use std::collections::HashMap;
use std::slice;

use crate::ast::{Function, Instruction, Operand};

/// For every instruction of `f`: if lanes can part there and go on (a guarded `bra`, a `brx.idx`, a guarded `ret` of a
/// device function), the index of the instruction where they meet again. `f.body.len()` is the end of the function:
/// in a device function lanes meet there, before they go back to the caller; in a kernel they do not meet.
pub(crate) fn reconvergence(f: &Function) -> Vec<Option<u32>> {
    let graph = Graph::new(f);
    let mut meeting = vec![None; f.body.len()];
    for (block, meets) in graph.blocks.iter().zip(graph.post_dominators()) {
        let last = &f.body[block.last];
        let parts = match graph.flow(last) {
            Flow::Jump(targets) => targets.len() > 1 || last.guard.is_some(),
            Flow::Return => !f.is_entry && last.guard.is_some(),
            _ => false,
        };
        if parts {
            let place = graph.blocks.get(meets as usize).filter(|block| !block.is_dead_end);
            meeting[block.last] = Some(place.map_or(f.body.len(), |block| block.first) as u32);
        }
    }
    meeting
}

/// What an instruction does to the flow of control if its guard holds.
enum Flow<'f> {
    /// Nothing.
    Next,
    /// Goes to one of these instructions.
    Jump(&'f [u32]),
    Return,
    Exit,
    Trap,
}

/// Instructions that run one after another.
struct Block {
    /// Index of its first instruction.
    first: usize,
    /// Index of its last instruction.
    last: usize,
    /// The blocks that may come next, the number of blocks being the end of the function.
    next: Vec<u32>,
    /// Some lanes may end here, by an edge that is not in `next`.
    leaves: bool,
    /// Nothing is gained by meeting here: the block does nothing but end its lanes, or it traps.
    is_dead_end: bool,
}

/// The flow graph of a function.
struct Graph<'f> {
    tables: HashMap<&'f str, &'f [u32]>,
    blocks: Vec<Block>,
}

impl<'f> Graph<'f> {
    fn new(f: &'f Function) -> Graph<'f> {
        let tables = f.branch_targets.iter().map(|(name, targets)| (&**name, &targets[..])).collect();
        let mut graph = Graph { tables, blocks: Vec::new() };
        let length = f.body.len();

        let mut leads = vec![false; length + 1];
        leads[0] = true;
        for (index, instruction) in f.body.iter().enumerate() {
            match graph.flow(instruction) {
                Flow::Next => continue,
                Flow::Jump(targets) => targets.iter().for_each(|&target| leads[target as usize] = true),
                Flow::Return | Flow::Exit | Flow::Trap => {}
            }
            leads[index + 1] = true;
        }
        // The block of each instruction that leads one; that of the end is the number of blocks.
        leads[length] = true;
        let firsts: Vec<usize> = (0..=length).filter(|&index| leads[index]).collect();
        let end = firsts.len() as u32 - 1;
        let mut block_at = vec![end; length + 1];
        for (block, &first) in firsts.iter().enumerate() {
            block_at[first] = block as u32;
        }

        for bounds in firsts.windows(2) {
            let (first, last) = (bounds[0], bounds[1] - 1);
            let instruction = &f.body[last];
            let guarded = instruction.guard.is_some();
            let flow = graph.flow(instruction);
            let after = block_at[bounds[1]];
            let mut next: Vec<u32> = Vec::new();
            let mut leaves = false;
            match flow {
                Flow::Next => next.push(after),
                Flow::Jump(targets) => next.extend(targets.iter().map(|&target| block_at[target as usize])),
                Flow::Return => next.push(end),
                Flow::Exit if f.is_entry && !guarded => next.push(end),
                Flow::Exit | Flow::Trap => leaves = true,
            }
            let ends_lanes = match flow {
                Flow::Return => f.is_entry,
                Flow::Exit | Flow::Trap => true,
                Flow::Next | Flow::Jump(_) => false,
            };
            if ends_lanes && guarded {
                next.clear();
                leaves = true;
            }
            if guarded && !matches!(flow, Flow::Next) {
                next.push(after);
            }
            next.sort_unstable();
            next.dedup();
            let is_dead_end = ends_lanes && !guarded && (first == last || leaves);
            graph.blocks.push(Block { first, last, next, leaves, is_dead_end });
        }
        graph.leave_out_dead_ends(f.is_entry);
        graph
    }

    fn flow(&self, instruction: &'f Instruction) -> Flow<'f> {
        let name = instruction.opcode.split('.').next();
        match (name, &instruction.operands[..]) {
            (Some("bra"), [Operand::Label(target)]) => Flow::Jump(slice::from_ref(target)),
            (Some("brx"), [_, Operand::Symbol(table)]) => match self.tables.get(&**table) {
                Some(targets) => Flow::Jump(targets),
                None => Flow::Trap,
            },
            // A malformed branch goes nowhere; it is not for this analysis to refuse it.
            (Some("bra" | "brx" | "trap"), _) => Flow::Trap,
            (Some("ret"), _) => Flow::Return,
            (Some("exit"), _) => Flow::Exit,
            _ => Flow::Next,
        }
    }

    /// Turns the edges of branches to blocks that only end lanes into `leaves`. In a kernel, running past the last
    /// instruction ends lanes too.
    fn leave_out_dead_ends(&mut self, is_entry: bool) {
        let ends: Vec<bool> = self.blocks.iter().map(|block| block.is_dead_end && block.first == block.last).collect();
        for block in &mut self.blocks {
            if block.next.len() + usize::from(block.leaves) > 1 {
                let before = block.next.len();
                block.next.retain(|&next| !ends.get(next as usize).copied().unwrap_or(is_entry));
                block.leaves |= block.next.len() < before;
            }
        }
    }

    /// The immediate post-dominator of each block; the number of blocks stands for the end of the function.
    fn post_dominators(&self) -> Vec<u32> {
        let edges = self.edges_that_count();
        let end = self.blocks.len();
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); end + 1];
        for (block, next) in edges.iter().enumerate() {
            next.iter().for_each(|&next| before[next as usize].push(block as u32));
        }
        // Blocks by descending number in the post-order of the reversed graph, the end first.
        let order = reverse_post_order(&before, end);
        let mut position = vec![0; end + 1];
        for (place, &block) in order.iter().enumerate() {
            position[block as usize] = place;
        }
        const UNKNOWN: u32 = u32::MAX;
        let mut dominator = vec![UNKNOWN; end + 1];
        dominator[end] = end as u32;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &order[1..] {
                let mut known =
                    edges[block as usize].iter().copied().filter(|&next| dominator[next as usize] != UNKNOWN);
                let first = known.next().unwrap_or(end as u32);
                let common = known.fold(first, |mut a, mut b| {
                    while a != b {
                        while position[a as usize] > position[b as usize] {
                            a = dominator[a as usize];
                        }
                        while position[b as usize] > position[a as usize] {
                            b = dominator[b as usize];
                        }
                    }
                    a
                });
                changed |= dominator[block as usize] != common;
                dominator[block as usize] = common;
            }
        }
        dominator.truncate(end);
        dominator
    }

    /// The edges of each block that count, among them enough to the end of the function that every block has a way
    /// there.
    fn edges_that_count(&self) -> Vec<Vec<u32>> {
        let end = self.blocks.len();
        let mut edges: Vec<Vec<u32>> = self.blocks.iter().map(|block| block.next.clone()).collect();
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); end + 1];
        for (block, next) in edges.iter().enumerate() {
            next.iter().for_each(|&next| before[next as usize].push(block as u32));
        }
        // The round in which a block found a way to the end, each round starting from one more block.
        const NEVER: u32 = u32::MAX;
        let mut round = vec![NEVER; end + 1];
        let mut rounds = 0;
        let mut reach = |from: usize, round: &mut [u32]| {
            let mut open = vec![from as u32];
            round[from] = rounds;
            while let Some(block) = open.pop() {
                for &earlier in &before[block as usize] {
                    if round[earlier as usize] == NEVER {
                        round[earlier as usize] = rounds;
                        open.push(earlier);
                    }
                }
            }
            rounds += 1;
        };
        reach(end, &mut round);
        let leaving = (0..end).rev().filter(|&block| self.blocks[block].leaves && !self.blocks[block].is_dead_end);
        for block in leaving.chain((0..end).rev()) {
            if round[block] == NEVER {
                edges[block].push(end as u32);
                reach(block, &mut round);
            }
        }
        round[end] = 0;
        for (block, next) in edges.iter_mut().enumerate() {
            next.retain(|&next| round[next as usize] <= round[block]);
        }
        edges
    }
}

/// All nodes from which `root` can be reached along `before` edges, in reverse post-order of a depth-first search.
fn reverse_post_order(before: &[Vec<u32>], root: usize) -> Vec<u32> {
    let mut seen = vec![false; before.len()];
    let mut order = Vec::with_capacity(before.len());
    let mut stack = vec![(root as u32, 0)];
    seen[root] = true;
    while let Some((node, visited)) = stack.last_mut() {
        match before[*node as usize].get(*visited) {
            Some(&earlier) => {
                *visited += 1;
                if !std::mem::replace(&mut seen[earlier as usize], true) {
                    stack.push((earlier, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ptx::Module;

    fn function(kind: &str, body: &str) -> Arc<Function> {
        let text = format!(
            ".version 6.3\n.target sm_75\n.address_size 64\n\
             {kind} f() {{ .reg .pred %p<9>; .reg .b32 %r<9>;\n{body}\n}}"
        );
        let module = Module::parse("cfg.ptx", &text).unwrap();
        module.function("f").unwrap().clone()
    }

    /// The branches of the function whose body is `body` with their meeting points, by their labels.
    fn meeting(kind: &str, body: &str) -> Vec<(String, String)> {
        let f = &function(kind, body);
        let label = |index: usize| match f.labels.iter().find(|(_, at)| *at as usize == index) {
            _ if index == f.body.len() => "end".to_owned(),
            Some((name, _)) => name.to_string(),
            None => format!("#{index}"),
        };
        let meets = reconvergence(f);
        assert_eq!(meets.len(), f.body.len());
        let parting = meets.iter().enumerate().filter_map(|(index, meets)| meets.map(|meets| (index, meets)));
        parting.map(|(index, meets)| (label(index), label(meets as usize))).collect()
    }

    #[track_caller]
    fn check(kind: &str, body: &str, expected: &[(&str, &str)]) {
        let found = meeting(kind, body);
        let found: Vec<(&str, &str)> = found.iter().map(|(branch, meets)| (&**branch, &**meets)).collect();
        assert_eq!(found, expected, "{body}");
    }

    fn entry(body: &str, expected: &[(&str, &str)]) {
        check(".entry", body, expected);
    }

    #[test]
    fn if_else() {
        entry(
            "B: @%p1 bra ELSE; mov.u32 %r1, 1; bra.uni JOIN; ELSE: mov.u32 %r1, 2; JOIN: mov.u32 %r2, %r1; ret;",
            &[("B", "JOIN")],
        );
    }

    #[test]
    fn nested() {
        entry(
            "A: @%p1 bra A_ELSE;
                 B: @%p2 bra B_JOIN; mov.u32 %r1, 1; B_JOIN: mov.u32 %r1, 2; bra A_JOIN;
             A_ELSE: mov.u32 %r1, 3;
                 C: @!%p3 bra C_ELSE; mov.u32 %r1, 3; bra C_JOIN; C_ELSE: mov.u32 %r1, 4; C_JOIN: mov.u32 %r2, 5;
             A_JOIN: bar.sync 0; ret;",
            &[("A", "A_JOIN"), ("B", "B_JOIN"), ("C", "C_JOIN")],
        );
    }

    #[test]
    fn loop_with_break_and_continue() {
        entry(
            "LOOP: mov.u32 %r1, 1;
             BREAK: @%p1 bra DONE;
             CONTINUE: @%p2 bra LATCH; mov.u32 %r2, 1;
             LATCH: mov.u32 %r3, 1; BACK: @%p3 bra LOOP;
             DONE: mov.u32 %r4, 1; ret;",
            &[("BREAK", "DONE"), ("CONTINUE", "LATCH"), ("BACK", "DONE")],
        );
    }

    #[test]
    fn early_return_does_not_move_the_meeting_point_of_the_branch_around_it() {
        let body = |leave: &str| {
            format!(
                "A: @%p1 bra JOIN; mov.u32 %r1, 1; {leave} B: mov.u32 %r1, 2;
                 JOIN: bar.sync 0; mov.u32 %r1, 3; LAST: ret; TRAP: mov.u32 %r3, 4; trap;"
            )
        };
        // A branch to the block that only returns, as nvcc writes it; lanes that stay need not wait for those that go.
        entry(&body("R: @%p2 bra LAST;"), &[("A", "JOIN"), ("R", "B")]);
        entry(&body("R: @%p2 bra TRAP;"), &[("A", "JOIN"), ("R", "B")]);
        for leave in ["@%p2 ret;", "@%p2 exit;", "@%p2 trap;"] {
            entry(&body(leave), &[("A", "JOIN")]);
        }
    }

    #[test]
    fn return_of_a_device_function() {
        check(
            ".func",
            "A: @%p1 bra JOIN; mov.u32 %r1, 1; R: @%p2 ret; mov.u32 %r1, 2; JOIN: mov.u32 %r1, 3; ret;",
            &[("A", "end"), ("R", "end")],
        );
        check(".func", "A: @%p1 bra JOIN; @%p2 exit; mov.u32 %r1, 2; JOIN: mov.u32 %r1, 3; ret;", &[("A", "JOIN")]);
    }

    #[test]
    fn nothing_is_gained_by_meeting_to_end() {
        entry("A: @%p1 bra X; mov.u32 %r1, 1; bra LAST; X: mov.u32 %r1, 2; LAST: ret;", &[("A", "end")]);
        entry("A: @%p1 bra X; mov.u32 %r1, 1; bra LAST; X: mov.u32 %r1, 2; LAST:", &[("A", "end")]);
        entry("A: @%p1 bra X; mov.u32 %r1, 1; ret; X: mov.u32 %r1, 2; exit;", &[("A", "end")]);
        entry(
            "A: @%p1 bra X; mov.u32 %r1, 1; bra LAST; X: mov.u32 %r1, 2; LAST: mov.u32 %r2, 1; ret;",
            &[("A", "LAST")],
        );
    }

    #[test]
    fn loops_that_only_a_return_leaves() {
        entry(
            "LOOP: mov.u32 %r1, 1; IF: @%p2 bra JOIN; mov.u32 %r1, 2; JOIN: mov.u32 %r1, 3; BACK: @%p1 bra LOOP; ret;",
            &[("IF", "JOIN"), ("BACK", "end")],
        );
        // The guard in front of a grid-stride loop: lanes that stay run on.
        entry(
            "FIRST: @%p1 bra LAST; LOOP: mov.u32 %r1, 1; BACK: @%p2 bra LOOP; LAST: ret;",
            &[("FIRST", "LOOP"), ("BACK", "end")],
        );
    }

    #[test]
    fn endless_loops() {
        entry("LOOP: bra LOOP;", &[]);
        entry(
            "LOOP: mov.u32 %r1, 1; A: @%p1 bra JOIN; mov.u32 %r1, 2; JOIN: mov.u32 %r1, 3; bra LOOP;",
            &[("A", "JOIN")],
        );
        // Lanes that go into the loop for good do not hold up the others.
        entry(
            "A: @%p1 bra SPIN; mov.u32 %r1, 1; B: @%p2 bra JOIN; mov.u32 %r1, 2; JOIN: mov.u32 %r1, 3; ret;
             SPIN: mov.u32 %r1, 1; bra SPIN;",
            &[("A", "#1"), ("B", "JOIN")],
        );
    }

    #[test]
    fn branch_by_table() {
        entry(
            "A: brx.idx %r1, T; T: .branchtargets X, Y, Z, Y;
             X: mov.u32 %r1, 1; bra JOIN; Y: mov.u32 %r1, 2; Z: mov.u32 %r1, 3; JOIN: mov.u32 %r1, 4; ret;",
            &[("A", "JOIN")],
        );
    }

    #[test]
    fn unreachable_code_and_no_code() {
        entry("", &[]);
        entry(
            "A: @%p1 bra X; mov.u32 %r1, 1; X: mov.u32 %r1, 2; ret; D: @%p1 bra X; bra D;",
            &[("A", "X"), ("D", "X")],
        );
    }

    #[test]
    fn a_long_chain_of_branches_takes_no_stack() {
        let chain: String =
            (0..50_000).map(|i| format!("@%p1 bra L{i}; mov.u32 %r1, 1; L{i}: mov.u32 %r2, 1;\n")).collect();
        let meets = reconvergence(&function(".entry", &format!("{chain} ret;")));
        let expected = (0..meets.len()).map(|index| (index % 3 == 0 && index < 150_000).then_some(index as u32 + 2));
        assert!(expected.eq(meets));
    }
}
