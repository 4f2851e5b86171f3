//! Counting with perf_event_open(2): two events of the same cores or threads.
//!
//! Attributes are laid out as the first version of `struct perf_event_attr` (linux/perf_event.h), which every kernel
//! accepts.

use rustix::io::{Errno, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Event: `type` and `config` of its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PerfEvent {
    kind: u32,
    number: u64,
}

impl PerfEvent {
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

/// Core or thread whose events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PerfTarget {
    /// Everything that runs on a core.
    Core(u32),
    /// A thread, on any core, and the threads and processes that it starts from now on.
    Thread(u32),
}

/// Privilege levels at which events are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrivilegeScope {
    /// In programs and in the kernel.
    UserAndKernel,
    /// In programs only.
    UserOnly,
}

/// One reading of an event, since it was opened (linux/perf_event.h, `struct read_format` without a group).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct EventReading {
    /// Number of events.
    pub(crate) value: u64,
    /// Time for which the event was enabled, ns.
    pub(crate) enabled: u64,
    /// Time for which the event was really counted, ns: less than `enabled` if the counters are multiplexed.
    pub(crate) running: u64,
}

/// Two events that are counted until the value is dropped.
#[derive(Debug)]
pub(crate) struct EventPair([OwnedFd; 2]);

#[repr(C)]
struct PerfEventAttributes {
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
const INHERIT: u64 = bit_field(1);
const EXCLUDE_KERNEL: u64 = bit_field(5);
const NO_GROUP: libc::c_int = -1;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Returns a bit of a C bit-field, which begins at the other end on big-endian machines.
const fn bit_field(bit: u32) -> u64 {
    if cfg!(target_endian = "big") { 1 << (63 - bit) } else { 1 << bit }
}

impl EventPair {
    /// Opens both events, which are counted from then on. They are not a group, although a group would be multiplexed
    /// together: a thread that starts another between the two hands on half of a group, which the kernel then never
    /// adds up (`ECHILD`), and threads that count the same swap their counters, where the second does not find the
    /// first (`EINVAL`).
    pub(crate) fn open(
        [first, second]: [PerfEvent; 2],
        whose: PerfTarget,
        depth: PrivilegeScope,
    ) -> Result<Self> {
        Ok(Self([open(first, whose, depth)?, open(second, whose, depth)?]))
    }

    /// Reads both counters, in the order of the events.
    pub(crate) fn read(&self) -> Result<[EventReading; 2]> {
        let [first, second] = &self.0;
        Ok([read(first)?, read(second)?])
    }
}

fn read(event: &OwnedFd) -> Result<EventReading> {
    let mut reading = EventReading::default();
    let size = size_of::<EventReading>();
    // SAFETY: the kernel writes at most `size` bytes to `reading`, which lives through the call; any bytes are a valid
    // `Reading`, which has no padding and only integers.
    let read =
        unsafe { libc::read(event.as_raw_fd(), std::ptr::from_mut(&mut reading).cast(), size) };
    // A counter that lost its place for good reads as 0 bytes.
    match usize::try_from(read) {
        Ok(read) if read == size => Ok(reading),
        Ok(_) => Err(Errno::IO),
        Err(_) => Err(last_error()),
    }
}

fn open(event: PerfEvent, whose: PerfTarget, depth: PrivilegeScope) -> Result<OwnedFd> {
    let (thread, core): (libc::pid_t, libc::c_int) = match whose {
        PerfTarget::Core(core) => (-1, core.try_into().map_err(|_| Errno::INVAL)?),
        PerfTarget::Thread(thread) => (thread.try_into().map_err(|_| Errno::INVAL)?, -1),
    };
    let inherit = if thread == -1 { 0 } else { INHERIT };
    let depth = if depth == PrivilegeScope::UserOnly { EXCLUDE_KERNEL } else { 0 };
    let attributes = PerfEventAttributes {
        kind: event.kind,
        size: size_of::<PerfEventAttributes>() as u32,
        number: event.number,
        sample_period: 0,
        sample_kind: 0,
        read_format: READ_FORMAT,
        flags: inherit | depth,
        wakeup: 0,
        breakpoint: 0,
        address: 0,
    };
    // SAFETY: the attributes live as long as the call, hold no addresses, and contain their own size; the rest are
    // numbers.
    let descriptor = unsafe {
        let at = std::ptr::from_ref(&attributes);
        libc::syscall(libc::SYS_perf_event_open, at, thread, core, NO_GROUP, CLOSE_ON_EXEC)
    };
    if descriptor < 0 {
        return Err(last_error());
    }
    // SAFETY: the kernel has just opened the descriptor for this call, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) })
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// CPU time that [`burn_cpu`] takes, ns.
#[cfg(test)]
pub(crate) const BURNED_NANOS: u64 = 20_000_000;

/// Takes 20 ms of CPU time in the calling thread, however long that lasts.
#[cfg(test)]
pub(crate) fn burn_cpu() {
    use rustix::time::{ClockId, clock_gettime};
    let spent = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        (time.tv_sec * 1_000_000_000 + time.tv_nsec).unsigned_abs()
    };
    let begun = spent();
    while spent() - begun < BURNED_NANOS {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_size_of_the_first_version() {
        // PERF_ATTR_SIZE_VER0.
        assert_eq!(size_of::<PerfEventAttributes>(), 64);
        assert_eq!(size_of::<EventReading>(), 24);
    }

    #[test]
    fn threads_that_are_started_later_are_counted_too() {
        let me = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let events = [PerfEvent::TASK_CLOCK, PerfEvent::CONTEXT_SWITCHES];
        let pair =
            EventPair::open(events, PerfTarget::Thread(me), PrivilegeScope::UserOnly).unwrap();
        std::thread::spawn(burn_cpu).join().unwrap();
        let [clock, _] = pair.read().unwrap();
        assert!(clock.value > BURNED_NANOS / 2 && clock.running <= clock.enabled, "{clock:?}");
    }
}
