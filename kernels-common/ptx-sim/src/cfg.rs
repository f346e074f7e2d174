//! Where the lanes of a divergent branch meet again.

use crate::ast::Function;

/// For every instruction of `f`: if lanes can part there (a guarded `bra`, a `brx.idx`, a guarded `ret` of a device
/// function), the index of the instruction where they meet again, `f.body.len()` being the end of the function.
pub(crate) fn reconvergence(f: &Function) -> Vec<Option<u32>> {
    vec![None; f.body.len()]
}
