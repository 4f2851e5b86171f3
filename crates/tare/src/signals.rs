//! SIGINT and SIGTERM handling: the first signal stops the run, which reports its results so far; a second one ends it
//! at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Signals that stop a run.
pub(crate) const STOP_SIGNALS: [i32; 2] = [SIGINT, SIGTERM];

/// Returns a flag that the first SIGINT or SIGTERM sets.
///
/// # Errors
/// Fails if the kernel rejects the handlers.
pub(crate) fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    Ok(StopRequest::new()?.requested)
}

/// Request to stop, from a signal or a key.
#[derive(Clone)]
pub(crate) struct StopRequest {
    /// True after the first signal.
    requested: Arc<AtomicBool>,
    /// True if the next signal ends the process at once.
    ends_at_once: Arc<AtomicBool>,
    /// Actions that make the next signal end the process.
    arming: Vec<SigId>,
}

impl StopRequest {
    /// Installs the handlers.
    ///
    /// # Errors
    /// Fails if the kernel rejects them.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let (requested, ends_at_once) = (Arc::default(), Arc::default());
        let mut request = Self { requested, ends_at_once, arming: Vec::new() };
        for signal in STOP_SIGNALS {
            // In this order: the second signal finds the flag set and ends the process; the kernel then removes the lab.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&request.ends_at_once))?;
            flag::register(signal, Arc::clone(&request.requested))?;
        }
        request.arm()?;
        Ok(request)
    }

    /// Returns the flag that the first signal sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// Returns true after the first signal.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Requests the stop, as a first signal does.
    pub(crate) fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Lets no signal end the process before [`StopRequest::allow_end`] or [`StopRequest::arm`]. A second signal ends
    /// the process without any cleanup, so a changed terminal has to be restored before it is allowed.
    pub(crate) fn disarm(&mut self) {
        for action in self.arming.drain(..) {
            low_level::unregister(action);
        }
    }

    /// Lets the next signal end the process at once.
    pub(crate) fn allow_end(&self) {
        self.ends_at_once.store(true, Ordering::Relaxed);
    }

    /// Lets every signal after the first end the process at once.
    ///
    /// # Errors
    /// Fails if the kernel rejects the handlers.
    pub(crate) fn arm(&mut self) -> std::io::Result<()> {
        for signal in STOP_SIGNALS {
            self.arming.push(flag::register(signal, Arc::clone(&self.ends_at_once))?);
        }
        if self.is_requested() {
            self.allow_end();
        }
        Ok(())
    }
}
