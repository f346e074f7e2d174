//! Arithmetic: functions of lanes lifted to rows.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::level::{Level, Run, exec};
use super::{Exec, Flow, Machine};
use crate::code::Ins;
use crate::rows::{LANES, Lane, Raw, lanes_where};

/// The value of a closure that captures nothing.
///
/// # Safety
/// A value of type `F` must exist.
#[inline(always)]
unsafe fn conjure<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "the closure must not capture anything") };
    // SAFETY: a type without bytes has one value, which exists and may be copied.
    unsafe { NonNull::<F>::dangling().read() }
}

struct Op1<A, R, F>(PhantomData<(A, R, F)>);
struct Op2<A, B, R, F>(PhantomData<(A, B, R, F)>);
struct Op3<A, B, C, R, F>(PhantomData<(A, B, C, R, F)>);
struct Compare<A, F>(PhantomData<(A, F)>);

/// A row that is being computed. It is not the destination itself, which may be an operand as well.
type Fresh<R> = [MaybeUninit<R>; LANES];

/// A computed row.
///
/// # Safety
/// Every lane must have been written.
#[inline(always)]
unsafe fn complete<R: Raw>(fresh: &Fresh<R>) -> &[R; LANES] {
    // SAFETY: the caller's promise; the layouts are the same.
    unsafe { &*std::ptr::from_ref(fresh).cast() }
}

// The loops are functions of their own, so that the compiler knows from the parameters that rows do not overlap.

#[inline(always)]
fn map1<A: Lane, R: Lane>(f: impl Fn(A) -> R, a: &[A::Raw; LANES], result: &mut Fresh<R::Raw>) {
    for lane in 0..LANES {
        result[lane].write(f(A::from_raw(a[lane])).into_raw());
    }
}

#[inline(always)]
fn map2<A: Lane, B: Lane, R: Lane>(
    f: impl Fn(A, B) -> R,
    a: &[A::Raw; LANES],
    b: &[B::Raw; LANES],
    result: &mut Fresh<R::Raw>,
) {
    for lane in 0..LANES {
        result[lane].write(f(A::from_raw(a[lane]), B::from_raw(b[lane])).into_raw());
    }
}

#[inline(always)]
fn map3<A: Lane, B: Lane, C: Lane, R: Lane>(
    f: impl Fn(A, B, C) -> R,
    a: &[A::Raw; LANES],
    b: &[B::Raw; LANES],
    c: &[C::Raw; LANES],
    result: &mut Fresh<R::Raw>,
) {
    for lane in 0..LANES {
        let (a, b, c) = (A::from_raw(a[lane]), B::from_raw(b[lane]), C::from_raw(c[lane]));
        result[lane].write(f(a, b, c).into_raw());
    }
}

impl<A: Lane, R: Lane, F: Fn(A) -> R + Copy> Run for Op1<A, R, F> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let mut result = [MaybeUninit::uninit(); LANES];
        // SAFETY: `op1` was given a value of `F`; `map1` writes all lanes; the rest is the caller's promise.
        unsafe {
            map1::<A, R>(conjure::<F>(), m.get(ins.rows[1]), &mut result);
            m.put(ins.rows[0], complete(&result));
        }
        Flow::Next
    }
}

impl<A: Lane, B: Lane, R: Lane, F: Fn(A, B) -> R + Copy> Run for Op2<A, B, R, F> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let mut result = [MaybeUninit::uninit(); LANES];
        // SAFETY: as for `Op1`.
        unsafe {
            map2::<A, B, R>(conjure::<F>(), m.get(ins.rows[1]), m.get(ins.rows[2]), &mut result);
            m.put(ins.rows[0], complete(&result));
        }
        Flow::Next
    }
}

impl<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(A, B, C) -> R + Copy> Run for Op3<A, B, C, R, F> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let mut result = [MaybeUninit::uninit(); LANES];
        // SAFETY: as for `Op1`.
        unsafe {
            let (a, b, c) = (m.get(ins.rows[1]), m.get(ins.rows[2]), m.get(ins.rows[3]));
            map3::<A, B, C, R>(conjure::<F>(), a, b, c, &mut result);
            m.put(ins.rows[0], complete(&result));
        }
        Flow::Next
    }
}

impl<A: Lane, F: Fn(A, A) -> bool + Copy> Run for Compare<A, F> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: as for `Op1`.
        unsafe {
            let f = conjure::<F>();
            let a = m.get::<A::Raw>(ins.rows[1]);
            let b = m.get::<A::Raw>(ins.rows[2]);
            let bits = lanes_where(|lane| f(A::from_raw(a[lane]), A::from_raw(b[lane])));
            m.put_predicate(ins.rows[0], bits ^ ins.extra as u32);
        }
        Flow::Next
    }
}

/// `rows[0] = f(rows[1])` for a function that captures nothing.
pub(crate) fn op1<A: Lane, R: Lane, F: Fn(A) -> R + Copy>(level: Level, _: F) -> Exec {
    exec::<Op1<A, R, F>>(level)
}

/// `rows[0] = f(rows[1], rows[2])` for a function that captures nothing.
pub(crate) fn op2<A: Lane, B: Lane, R: Lane, F: Fn(A, B) -> R + Copy>(level: Level, _: F) -> Exec {
    exec::<Op2<A, B, R, F>>(level)
}

/// `rows[0] = f(rows[1], rows[2], rows[3])` for a function that captures nothing.
pub(crate) fn op3<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(A, B, C) -> R + Copy>(level: Level, _: F) -> Exec {
    exec::<Op3<A, B, C, R, F>>(level)
}

/// The predicate `rows[0] = f(rows[1], rows[2])`, negated if `extra` is all ones.
pub(crate) fn compare<A: Lane, F: Fn(A, A) -> bool + Copy>(level: Level, _: F) -> Exec {
    exec::<Compare<A, F>>(level)
}

/// `rows[0] = rows[1]` where the predicate `rows[3]`, negated if `extra` is all ones, is set, else `rows[2]`.
pub(crate) struct Select<R>(PhantomData<R>);

impl<R: Raw> Run for Select<R> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let predicate = m.predicate(ins.rows[3]) ^ ins.extra as u32;
            let mut result = *m.get::<R>(ins.rows[2]);
            R::blend(&mut result, m.get::<R>(ins.rows[1]), predicate);
            m.put(ins.rows[0], &result);
        }
        Flow::Next
    }
}

/// A logical operation on predicates: `rows[0] = (a & b & x) | …`, given by its truth table. Bit `4a + 2b + c` of
/// `extra` is the result for the predicates `rows[1]`, `rows[2]` and `rows[3]`.
pub(crate) struct Logic;

impl Run for Logic {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b, c) = (m.predicate(ins.rows[1]), m.predicate(ins.rows[2]), m.predicate(ins.rows[3]));
            m.put_predicate(ins.rows[0], truth(ins.extra as u32, a, b, c));
        }
        Flow::Next
    }
}

/// The bitwise function of three operands whose value for (a, b, c) is bit `4a + 2b + c` of `table`: `lop3`.
#[inline(always)]
pub(crate) fn truth(table: u32, a: u32, b: u32, c: u32) -> u32 {
    let mut result = 0;
    for term in 0..8 {
        let chosen = if table >> term & 1 != 0 { u32::MAX } else { 0 };
        let a = if term & 4 != 0 { a } else { !a };
        let b = if term & 2 != 0 { b } else { !b };
        let c = if term & 1 != 0 { c } else { !c };
        result |= chosen & a & b & c;
    }
    result
}

/// `rows[0] = truth(extra, rows[1], rows[2], rows[3])`.
pub(crate) struct Lop3;

impl Run for Lop3 {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let mut result = [0u32; LANES];
        let table = ins.extra as u32;
        // SAFETY: the caller's promise.
        unsafe {
            let a = m.get::<u32>(ins.rows[1]);
            let b = m.get::<u32>(ins.rows[2]);
            let c = m.get::<u32>(ins.rows[3]);
            for lane in 0..LANES {
                result[lane] = truth(table, a[lane], b[lane], c[lane]);
            }
            m.put(ins.rows[0], &result);
        }
        Flow::Next
    }
}

/// Evaluates an entry of [`Code::per_lane`](crate::code::Code::per_lane), whose index is `extra`.
pub(crate) struct Each;

impl Run for Each {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let op = &m.code.per_lane[ins.extra as usize];
        let mut operands = [[0u64; 3]; LANES];
        let mut result = [0u64; LANES];
        // SAFETY: the caller's promise; `wide` tells the width of each row.
        unsafe {
            for (index, &wide) in op.wide[..op.operands].iter().enumerate() {
                for (lane, operands) in operands.iter_mut().enumerate() {
                    let row = ins.rows[index + 1];
                    operands[index] = if wide { m.get::<u64>(row)[lane] } else { u64::from(m.get::<u32>(row)[lane]) };
                }
            }
            for lane in crate::rows::lanes(m.mask) {
                result[lane] = (op.function)(operands[lane]);
            }
            if op.wide_result {
                m.put_lanes(ins.rows[0], &result, m.mask);
            } else {
                m.put_lanes(ins.rows[0], &result.map(|bits| bits as u32), m.mask);
            }
        }
        Flow::Next
    }
}

/// Runs the next instruction, whose index is the high half of `extra`, for the lanes of the predicate `rows[0]`,
/// negated if the low half is all ones.
pub(crate) struct Guarded;

impl Run for Guarded {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let (mask, full) = (m.mask, m.full);
        // SAFETY: the caller's promise.
        let flow = unsafe {
            let guard = m.predicate(ins.rows[0]) ^ ins.extra as u32;
            if mask & guard == 0 {
                return Flow::Skip;
            }
            let guarded = &m.code.ins[(ins.extra >> 32) as usize];
            m.mask = mask & guard;
            m.full = full && m.mask == mask;
            (guarded.exec)(m, guarded)
        };
        m.mask = mask;
        m.full = full;
        if flow == Flow::Next { Flow::Skip } else { flow }
    }
}
