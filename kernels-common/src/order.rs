//! The order in which a canonical sum adds.
