//! Version of the protocol between listener and probe.

/// Version of the protocol. Both ends must have the same. Every change to the types below is a new version.
pub(crate) const VERSION: u32 = 3;
