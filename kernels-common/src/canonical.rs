//! Canonical sums on the host.
