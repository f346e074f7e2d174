//! What is compared: an operation on one element type, with every way to compute it.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::size::Size;

/// What a way is in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// What the crate computes by default.
    Ours,
    /// Another way of these crates.
    Variant,
    /// A library that computes the same.
    Peer,
    /// What moves memory and computes nothing: how fast the device can be.
    Ceiling,
}

impl Role {
    /// Whether it is one of ours.
    pub(crate) fn is_own(self) -> bool {
        matches!(self, Role::Ours | Role::Variant)
    }
}

/// A way to compute, by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) role: Role,
}

/// Something that cannot be measured here.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Absent {
    /// What it is.
    pub(crate) way: String,
    /// Why, and what to do about it where something can be done.
    pub(crate) reason: String,
}

/// An operation on one element type, with its inputs in device memory, and every way to compute it. Ways are meant by
/// their numbers; the first is [`Role::Ours`].
pub(crate) trait Subject {
    /// All ways.
    fn ways(&self) -> Vec<Named>;

    /// The bytes that a way has to move at least, each input read once and each output written once.
    fn bytes(&self, way: usize, size: Size) -> u64;

    /// Finds out what the results of a size should be.
    fn prepare(&mut self, size: Size) -> Result<()>;

    /// Gives one call to the stream, of a size that was checked last; allocates nothing.
    fn enqueue(&mut self, way: usize, size: Size) -> Result<()>;

    /// One call until its result is in the host's memory; where the result is an array, until the device is done.
    fn finish(&mut self, way: usize, size: Size) -> Result<()>;

    /// Makes the way's own memory large enough, overwrites what an earlier call left, calls, and fails unless the result
    /// is right.
    fn check(&mut self, way: usize, size: Size) -> Result<()>;
}
