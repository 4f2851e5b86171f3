//! perf_event_open(2), as far as it is needed to count: two events of the same cores or threads.
//!
//! Attributes are laid out as the first version of `struct perf_event_attr` (linux/perf_event.h), which every kernel takes.

use rustix::io::{Errno, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An event: `type` and `config` of its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    kind: u32,
    number: u64,
}

impl Event {
    /// `PERF_TYPE_HARDWARE`, `PERF_COUNT_HW_CPU_CYCLES`.
    pub(crate) const CYCLES: Self = Self { kind: 0, number: 0 };
    /// `PERF_COUNT_HW_INSTRUCTIONS`.
    pub(crate) const INSTRUCTIONS: Self = Self { kind: 0, number: 1 };
    /// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_CPU_CLOCK`: ns that are counted whether or not the core has work.
    #[cfg(test)]
    pub(crate) const CPU_CLOCK: Self = Self { kind: 1, number: 0 };
    /// `PERF_COUNT_SW_TASK_CLOCK`: ns for which a task ran.
    #[cfg(test)]
    pub(crate) const TASK_CLOCK: Self = Self { kind: 1, number: 1 };
    /// `PERF_COUNT_SW_CONTEXT_SWITCHES`.
    #[cfg(test)]
    pub(crate) const CONTEXT_SWITCHES: Self = Self { kind: 1, number: 3 };
}

/// Whose events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Of whatever runs on a core.
    Core(u32),
    /// Of a thread, wherever it runs, and of the threads and processes that it starts from now on.
    Thread(u32),
}

/// What is counted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// In programs and in the kernel.
    Everything,
    /// In programs alone.
    Programs,
}

/// One reading of an event, since it was opened (linux/perf_event.h, `struct read_format` without a group).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Reading {
    /// How often it happened.
    pub(crate) value: u64,
    /// How long it was to be counted, ns.
    pub(crate) enabled: u64,
    /// How long it was, ns: less where the counters are shared in turns.
    pub(crate) running: u64,
}

/// Two events that are counted as long as this is there.
#[derive(Debug)]
pub(crate) struct Pair([OwnedFd; 2]);

#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    number: u64,
    sample_period: u64,
    sample_kind: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `_RUNNING`.
const READ_FORMAT: u64 = 1 | 2;
/// Bits of the flags: `inherit` and `exclude_kernel`.
const INHERIT: u64 = flag(1);
const EXCLUDE_KERNEL: u64 = flag(5);
const NO_GROUP: libc::c_int = -1;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// A bit-field of C's, which begins at the other end on some machines.
const fn flag(bit: u32) -> u64 {
    if cfg!(target_endian = "big") { 1 << (63 - bit) } else { 1 << bit }
}

impl Pair {
    /// Begins to count. The two are no group, which would have its turns together where counters are shared: a thread that
    /// starts another between the two hands on half of a group, which the kernel then never adds up (`ECHILD`), and threads
    /// that count the same swap what they count in, where the second does not find the first (`EINVAL`).
    pub(crate) fn open([first, second]: [Event; 2], whose: Whose, depth: Depth) -> Result<Self> {
        Ok(Self([open(first, whose, depth)?, open(second, whose, depth)?]))
    }

    /// What was counted so far, in the events' order.
    pub(crate) fn read(&self) -> Result<[Reading; 2]> {
        let [first, second] = &self.0;
        Ok([read(first)?, read(second)?])
    }
}

fn read(event: &OwnedFd) -> Result<Reading> {
    let mut reading = Reading::default();
    let size = size_of::<Reading>();
    // SAFETY: the kernel writes at most `size` bytes to `reading`, which lives through the call; any bytes are a valid
    // `Reading`, which has no padding and only whole numbers.
    let read =
        unsafe { libc::read(event.as_raw_fd(), std::ptr::from_mut(&mut reading).cast(), size) };
    // One that lost its turn for good reads as nothing.
    match usize::try_from(read) {
        Ok(read) if read == size => Ok(reading),
        Ok(_) => Err(Errno::IO),
        Err(_) => Err(last_error()),
    }
}

fn open(event: Event, whose: Whose, depth: Depth) -> Result<OwnedFd> {
    let (thread, core): (libc::pid_t, libc::c_int) = match whose {
        Whose::Core(core) => (-1, core.try_into().map_err(|_| Errno::INVAL)?),
        Whose::Thread(thread) => (thread.try_into().map_err(|_| Errno::INVAL)?, -1),
    };
    let inherit = if thread == -1 { 0 } else { INHERIT };
    let depth = if depth == Depth::Programs { EXCLUDE_KERNEL } else { 0 };
    let attributes = Attributes {
        kind: event.kind,
        size: size_of::<Attributes>() as u32,
        number: event.number,
        sample_period: 0,
        sample_kind: 0,
        read_format: READ_FORMAT,
        flags: inherit | depth,
        wakeup: 0,
        breakpoint: 0,
        address: 0,
    };
    // SAFETY: the attributes live as long as the call, hold no addresses, and tell their own size; the rest are numbers.
    let descriptor = unsafe {
        let at = std::ptr::from_ref(&attributes);
        libc::syscall(libc::SYS_perf_event_open, at, thread, core, NO_GROUP, CLOSE_ON_EXEC)
    };
    if descriptor < 0 {
        return Err(last_error());
    }
    // SAFETY: the kernel has just opened it for this call, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) })
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// CPU time that [`burn`] takes, ns.
#[cfg(test)]
pub(crate) const BURNT: u64 = 20_000_000;

/// Has the calling thread take 20 ms of CPU time, however long that lasts.
#[cfg(test)]
pub(crate) fn burn() {
    use rustix::time::{ClockId, clock_gettime};
    let spent = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        (time.tv_sec * 1_000_000_000 + time.tv_nsec).unsigned_abs()
    };
    let begun = spent();
    while spent() - begun < BURNT {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_size_of_the_first_version() {
        // PERF_ATTR_SIZE_VER0.
        assert_eq!(size_of::<Attributes>(), 64);
        assert_eq!(size_of::<Reading>(), 24);
    }

    #[test]
    fn threads_that_are_started_later_are_counted_too() {
        let me = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let events = [Event::TASK_CLOCK, Event::CONTEXT_SWITCHES];
        let pair = Pair::open(events, Whose::Thread(me), Depth::Programs).unwrap();
        std::thread::spawn(burn).join().unwrap();
        let [clock, _] = pair.read().unwrap();
        assert!(clock.value > BURNT / 2 && clock.running <= clock.enabled, "{clock:?}");
    }
}
