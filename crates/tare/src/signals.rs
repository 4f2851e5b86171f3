//! Handling of SIGINT, SIGTERM and SIGHUP: the first signal stops the run, which reports its results so far; a second one
//! ends it at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};
#[cfg(feature = "docker")]
use std::io::Read as _;
#[cfg(feature = "docker")]
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the signals that stop a run. SIGHUP is one, unless the process was started with SIGHUP ignored, as nohup(1)
/// does.
pub(crate) fn stop_signals() -> impl Iterator<Item = i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hangup = (!is_ignored(SIGHUP, &status)).then_some(SIGHUP);
    [SIGINT, SIGTERM].into_iter().chain(hangup)
}

/// Returns true if a process ignores a signal, by its status in /proc.
fn is_ignored(signal: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Returns a flag that the first of these signals sets.
///
/// # Errors
/// Fails if the kernel rejects the handlers.
pub(crate) fn stop_flag() -> anyhow::Result<Arc<AtomicBool>> {
    Ok(StopRequest::new()?.requested)
}

/// Waits for the first of these signals.
///
/// # Errors
/// Fails if the kernel rejects the handlers.
#[cfg(feature = "docker")]
pub(crate) fn wait_for_stop() -> std::io::Result<()> {
    let (mut heard, told) = UnixStream::pair()?;
    for signal in stop_signals() {
        low_level::pipe::register(signal, told.try_clone()?)?;
    }
    heard.read_exact(&mut [0])
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
        for signal in stop_signals() {
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
        for signal in stop_signals() {
            self.arming.push(flag::register(signal, Arc::clone(&self.ends_at_once))?);
        }
        if self.is_requested() {
            self.allow_end();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_under_nohup_is_not_stopped_by_a_hangup() {
        let of = |mask: &str| is_ignored(SIGHUP, &format!("Name:\tx\nSigIgn:\t{mask}\n"));
        assert!(of("0000000000000001") && of("0000000000001005"));
        assert!(!of("0000000000001004") && !is_ignored(SIGHUP, ""));
        assert!(is_ignored(SIGTERM, "SigIgn: 4000"));
    }
}
