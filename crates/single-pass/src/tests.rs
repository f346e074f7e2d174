//! Tests of what the public interface leads to for slices alone that are too large for most tests.

mod bulk;
mod partials;
