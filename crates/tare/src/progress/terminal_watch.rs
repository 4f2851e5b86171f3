//! Thread that watches the user's terminal: keys, signals and size.
//!
//! It sleeps in poll(2) while traffic runs, and wakes up twice a second to read the size of the terminal, which takes
//! 10 µs of one core. SIGWINCH would wake it without that, but its handler would also interrupt system calls of the
//! threads that measure.

use super::terminal::{self, KeyMode};
use crate::signals::{StopRequest, stop_signals};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGQUIT, SIGTSTP};
use signal_hook::{SigId, flag, low_level};
use std::io::{self, Read as _, stdin};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Time between two looks at the size of the terminal.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// Event of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerminalEvent {
    /// The user pressed a key.
    Key(u8),
    /// The stop of the run was requested.
    Stop,
    /// The process is about to be suspended.
    Suspend,
    /// The process runs again after a suspension.
    Resume,
    /// Half a second has passed.
    Tick,
}

/// Watch of the terminal. Dropping it ends the thread and restores the terminal.
pub(super) struct TerminalWatch {
    thread: Option<JoinHandle<()>>,
    /// Closed to end the thread.
    end: Option<UnixStream>,
    stop: StopRequest,
    /// True when the watch has ended: signals then have their usual effect.
    has_ended: Arc<AtomicBool>,
    handlers: Vec<SigId>,
}

impl TerminalWatch {
    /// Starts the thread, which handles events by `handle`.
    ///
    /// # Errors
    /// Fails if the kernel rejects a handler or the thread.
    pub(super) fn start(
        mut stop: StopRequest,
        handle: impl FnMut(TerminalEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let (end, ended) = UnixStream::pair()?;
        let (signals, signalled) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        let (suspends, quits) = (Arc::default(), Arc::default());
        let has_ended = Arc::default();
        let handlers = register(&signalled, &suspends, &quits, &has_ended)?;
        stop.disarm();
        let watch = WatchThread { stop: stop.clone(), ended, signals, suspends, quits, handle };
        let thread = std::thread::Builder::new().name("tare-terminal".to_owned());
        let thread = thread.spawn(move || watch.run());
        let mut watch = Self { thread: None, end: Some(end), stop, has_ended, handlers };
        watch.thread = Some(thread?);
        Ok(watch)
    }
}

/// Registers the handlers: a byte for each signal, and flags for those that need more than that.
fn register(
    signalled: &UnixStream,
    suspends: &Arc<AtomicBool>,
    quits: &Arc<AtomicBool>,
    has_ended: &Arc<AtomicBool>,
) -> io::Result<Vec<SigId>> {
    let mut handlers = Vec::new();
    for (signal, flag) in [(SIGTSTP, suspends), (SIGQUIT, quits)] {
        flag::register_conditional_default(signal, Arc::clone(has_ended))?;
        handlers.push(flag::register(signal, Arc::clone(flag))?);
    }
    for signal in stop_signals().chain([SIGTSTP, SIGQUIT]) {
        handlers.push(low_level::pipe::register(signal, signalled.try_clone()?)?);
    }
    Ok(handlers)
}

impl Drop for TerminalWatch {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
        self.has_ended.store(true, Ordering::Relaxed);
        // If the kernel rejects the handlers, a second signal does not end the process, which is about to end anyway.
        let _ = self.stop.arm();
    }
}

/// State of the thread.
struct WatchThread<F> {
    stop: StopRequest,
    /// Readable when the thread has to end.
    ended: UnixStream,
    /// Readable after a signal.
    signals: UnixStream,
    suspends: Arc<AtomicBool>,
    quits: Arc<AtomicBool>,
    handle: F,
}

impl<F: FnMut(TerminalEvent)> WatchThread<F> {
    fn run(mut self) {
        let mut keys = KeyMode::enable();
        while let Some(woken) = self.wait(keys.is_some()) {
            if woken.by_signal {
                self.handle_signal(&mut keys);
            }
            if woken.by_key && keys.is_some() && terminal::has_keys() {
                self.handle_key(&mut keys);
            }
            // A shell sets its own mode when it moves a process to the background and back.
            if !terminal::has_keys() {
                keys = None;
            } else if keys.is_none() && !self.stop.is_requested() {
                keys = KeyMode::enable();
            }
            (self.handle)(TerminalEvent::Tick);
        }
    }

    /// Waits for a key, a signal or the next tick. Returns `None` at the end of the watch.
    fn wait(&self, keys: bool) -> Option<WakeUp> {
        let input = stdin();
        let mut descriptors = vec![
            PollFd::new(&self.ended, PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
        ];
        // In the background keys are for another program.
        if keys && terminal::has_keys() {
            descriptors.push(PollFd::new(&input, PollFlags::IN));
        }
        // An interrupted wait is as good as one that is over.
        let _ = poll(&mut descriptors, Some(&TICK));
        let is_ready = |index: usize| {
            descriptors.get(index).is_some_and(|descriptor| !descriptor.revents().is_empty())
        };
        (!is_ready(0)).then(|| WakeUp { by_signal: is_ready(1), by_key: is_ready(2) })
    }

    fn handle_signal(&mut self, keys: &mut Option<KeyMode>) {
        let mut bytes = [0; 64];
        while matches!((&self.signals).read(&mut bytes), Ok(read) if read > 0) {}
        if self.quits.load(Ordering::Relaxed) {
            *keys = None;
            let _ = low_level::emulate_default_handler(SIGQUIT);
        }
        if self.suspends.swap(false, Ordering::Relaxed) {
            *keys = None;
            (self.handle)(TerminalEvent::Suspend);
            // Returns when the process is continued.
            let _ = low_level::emulate_default_handler(SIGTSTP);
            (self.handle)(TerminalEvent::Resume);
        }
        if self.stop.is_requested() {
            self.finish_keys(keys);
        }
    }

    fn handle_key(&mut self, keys: &mut Option<KeyMode>) {
        let mut typed = [0; 16];
        // Not by the buffer of `Stdin`, in which poll(2) sees no keys.
        let typed = match rustix::io::read(stdin(), &mut typed) {
            Ok(count) => &typed[..count],
            Err(_) => &[],
        };
        for &key in typed {
            if matches!(key, b'q' | b'Q') {
                self.stop.request();
                self.finish_keys(keys);
            } else {
                (self.handle)(TerminalEvent::Key(key));
            }
        }
    }

    /// Restores the terminal, and then lets the next signal end the process, which restores nothing.
    fn finish_keys(&mut self, keys: &mut Option<KeyMode>) {
        *keys = None;
        self.stop.allow_end();
        (self.handle)(TerminalEvent::Stop);
    }
}

/// Reason for which the thread woke up; neither at a tick.
struct WakeUp {
    by_signal: bool,
    by_key: bool,
}
