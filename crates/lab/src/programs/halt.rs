//! Flag by which one namespace that has failed stops the others of its network from waiting.

use std::sync::atomic::{AtomicBool, Ordering};

/// Flag that is set when a program of any namespace has failed. Programs of one node often wait for those of another.
#[derive(Default)]
pub(super) struct HaltFlag(AtomicBool);

impl HaltFlag {
    /// Sets the flag: all other namespaces stop waiting.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if the flag is set.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
