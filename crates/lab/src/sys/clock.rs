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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_process_goes_on_while_it_works() {
        let this = rustix::process::getpid().as_raw_nonzero().get();
        let before = cpu_time(this).expect("it runs");
        let mut after = before;
        while after < before + Duration::from_micros(100) {
            after = cpu_time(this).expect("it runs");
        }
        assert!(before > Duration::ZERO);
        // Numbers go up to PID_MAX_LIMIT, 2^22.
        assert_eq!(cpu_time(1 << 23), None);
    }
}
