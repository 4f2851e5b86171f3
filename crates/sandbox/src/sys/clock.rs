//! Clocks of CPU time.

use std::time::Duration;

/// Returns the CPU time that all threads of a process have used so far, including those that have ended, without its
/// children. Returns `None` if there is no such process.
pub fn cpu_time(process: i32) -> Option<Duration> {
    // CPU clock of a process, by its id (clock_getcpuclockid(3), CPUCLOCK_SCHED of include/linux/posix-timers.h).
    let clock = (!process << 3) | 2;
    // SAFETY: a struct of numbers, for which zeros are a value.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a value that lives through the call, which only writes to it.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (result == 0).then(|| Duration::new(seconds, nanos))
}

/// Returns user and system time by getrusage(2), which counts whole microseconds of each: of this process
/// (`RUSAGE_SELF`), or of its children that it has waited for (`RUSAGE_CHILDREN`).
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
        // The count keeps the time of a thread that has ended.
        let burn = move || while clock() < begun + Duration::from_millis(30) {};
        std::thread::spawn(burn).join().expect("it burns");
        let (before, told, after) = (usage(libc::RUSAGE_SELF), clock(), usage(libc::RUSAGE_SELF));
        assert!(told >= begun + Duration::from_millis(30), "{begun:?}, {told:?}");
        // User and system time are each rounded down by less than a microsecond.
        let rounding = Duration::from_micros(2);
        assert!(before <= told && told <= after + rounding, "{before:?}, {told:?}, {after:?}");
        // Process ids go up to PID_MAX_LIMIT, 2^22.
        assert_eq!(cpu_time(1 << 23), None);
    }
}
