//! A word among the namespaces of a network: one has failed, and nobody need wait any longer.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody has failed. Programs of one node often wait for those of another.
#[derive(Default)]
pub(super) struct Halt(AtomicBool);

impl Halt {
    /// Has all others give up.
    pub(super) fn call(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has called.
    pub(super) fn is_called(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
