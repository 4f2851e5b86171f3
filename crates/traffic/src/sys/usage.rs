//! CPU time of the calling thread, by user and system (getrusage(2)).

use std::mem::MaybeUninit;
use tare_record::{Nanos, ThreadCpu};

/// Returns the CPU time of the calling thread so far. The sum is exact; the kernel's division into user and system is
/// sampled by the tick, unless it accounts for virtual CPU time.
#[must_use]
pub fn thread_cpu_usage() -> ThreadCpu {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the right type and size that lives through the call, which writes nothing
    // else. All zeros are a valid `rusage`, should the call fail (it cannot, with these arguments).
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    ThreadCpu { user: nanos(usage.ru_utime), system: nanos(usage.ru_stime) }
}

fn nanos(time: libc::timeval) -> Nanos {
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_seen_and_other_threads_are_not() {
        let before = thread_cpu_usage();
        std::thread::spawn(|| burn(50_000_000)).join().unwrap();
        let between = thread_cpu_usage();
        burn(50_000_000);
        let after = thread_cpu_usage();
        let spent =
            |from: ThreadCpu, to: ThreadCpu| (to.user - from.user) + (to.system - from.system);
        // Less than the other thread has used: this one has only started it.
        assert!(spent(before, between).0 < 50_000_000, "{:?}", spent(before, between));
        assert!(spent(between, after).0 >= 50_000_000, "{:?}", spent(between, after));
    }

    /// Computes until this thread has used this much CPU time, ns.
    fn burn(nanos: u64) {
        let from = thread_cpu_usage();
        while (thread_cpu_usage().user - from.user).0 + (thread_cpu_usage().system - from.system).0
            < nanos
        {
            std::hint::black_box((0..1000u64).sum::<u64>());
        }
    }
}
