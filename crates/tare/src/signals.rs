//! SIGINT and SIGTERM handling: the first signal stops the run, which reports its results so far; a second one ends it
//! at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Returns a flag that the first SIGINT or SIGTERM sets.
///
/// # Errors
/// Fails if the kernel rejects the handlers.
pub(crate) fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order: the second signal finds the flag set and ends the process; the kernel then removes the lab.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
