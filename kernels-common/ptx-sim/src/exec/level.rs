//! Two versions of every function: for the plain processor, and for one with AVX2 and FMA.

use super::{Exec, Flow, Machine};
use crate::code::Ins;

/// What the processor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Only what the target promises.
    Portable,
    /// AVX2, FMA and the bit instructions that came with them (x86-64-v3).
    #[cfg(target_arch = "x86_64")]
    V3,
}

impl Level {
    /// The best that this processor has.
    pub(crate) fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
        {
            return Level::V3;
        }
        Level::Portable
    }
}

/// An instruction's work, to be compiled once for each [`Level`].
pub(crate) trait Run {
    /// # Safety
    /// As for [`Exec`].
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow;
}

/// The version of `T::run` for `level`.
pub(crate) fn exec<T: Run>(level: Level) -> Exec {
    /// # Safety
    /// As for [`Exec`].
    unsafe fn portable<T: Run>(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { T::run(m, ins) }
    }

    /// # Safety
    /// As for [`Exec`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn v3<T: Run>(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { T::run(m, ins) }
    }

    match level {
        Level::Portable => portable::<T>,
        #[cfg(target_arch = "x86_64")]
        Level::V3 => v3::<T>,
    }
}
