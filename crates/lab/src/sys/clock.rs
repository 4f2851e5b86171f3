//! Clocks of CPU time.

use std::time::Duration;

/// The CPU time that all threads of a process have taken so far, also those that have ended, without its children;
/// nothing where there is no such process.
pub(crate) fn cpu_time(process: i32) -> Option<Duration> {
    // A process's CPU clock, by its number (clock_getcpuclockid(3), CPUCLOCK_SCHED of include/linux/posix-timers.h).
    let clock = (!process << 3) | 2;
    // SAFETY: a struct of numbers, for which zeros are a value.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a value that lives through the call, which only writes to it.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (result == 0).then(|| Duration::new(seconds, nanos))
}

/// User and system time by getrusage(2), which counts whole microseconds of each: of this process (`RUSAGE_SELF`), or of its
/// children that it has waited for (`RUSAGE_CHILDREN`).
#[cfg(test)]
pub(crate) fn usage(of: libc::c_int) -> Duration {
    // SAFETY: a struct of numbers, for which zeros are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a value that lives through the call, which only writes to it.
    assert_eq!(unsafe { libc::getrusage(of, &mut usage) }, 0);
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_process_is_the_kernels_count_of_its_threads() {
        let this = rustix::process::getpid().as_raw_nonzero().get();
        let clock = move || cpu_time(this).expect("it runs");
        let begun = clock();
        // The time of a thread that has ended stays in the count.
        let burn = move || while clock() < begun + Duration::from_millis(30) {};
        std::thread::spawn(burn).join().expect("it burns");
        let (before, told, after) = (usage(libc::RUSAGE_SELF), clock(), usage(libc::RUSAGE_SELF));
        assert!(told >= begun + Duration::from_millis(30), "{begun:?}, {told:?}");
        // The parts that are rounded down, of user and of system time, are less than a microsecond each.
        let rounding = Duration::from_micros(2);
        assert!(before <= told && told <= after + rounding, "{before:?}, {told:?}, {after:?}");
        // Numbers go up to PID_MAX_LIMIT, 2^22.
        assert_eq!(cpu_time(1 << 23), None);
    }
}
