//! The order in which paths, warps and blocks run.
//!
//! A warp keeps a table of paths: groups of lanes at the same instruction. Where a branch parts the lanes, the paths
//! run one after another, and each is parked when it reaches the point where all of them meet again (the branch's
//! immediate post-dominator). A path that waits, or that has taken many backward branches, gives way to any other, also
//! to lanes that are parked for it, so that spin locks between lanes of one warp come to an end.
//!
//! With a seed any path of any warp of any resident block can be next, and its turn can end at any instruction
//! ([`schedule`]).

pub(crate) mod barrier;
pub(crate) mod block;
pub(crate) mod random;
pub(crate) mod schedule;
pub(crate) mod warp;
