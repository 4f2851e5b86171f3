//! CPU time of the calling thread, by user and system (getrusage(2)), and the time that it waited for a core.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt as _;
use tare_record::{Nanos, ThreadCpu};

thread_local! {
    /// Statistics of the scheduler on this thread. `None` if the kernel has none, or /proc is not there.
    static SCHEDULER_STATISTICS: Option<File> = File::open("/proc/thread-self/schedstat").ok();
}

/// Returns the CPU time of the calling thread so far. The sum of user and system is exact; the kernel's division is
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
    ThreadCpu {
        user: nanos(usage.ru_utime),
        system: nanos(usage.ru_stime),
        waiting: run_delay().unwrap_or_default(),
    }
}

/// Returns the time for which the calling thread could have run and waited for a core: the second number of its
/// scheduler's statistics. Returns `None` if the kernel does not count it.
fn run_delay() -> Option<Nanos> {
    SCHEDULER_STATISTICS.with(|file| {
        let mut text = [0; 96];
        let read = file.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..read]).ok()?;
        Some(Nanos(text.split_ascii_whitespace().nth(1)?.parse().ok()?))
    })
}

fn nanos(time: libc::timeval) -> Nanos {
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::sync::{Arc, Barrier};

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

    #[test]
    fn a_thread_that_shares_its_core_waits_for_it() {
        let both = Arc::new(Barrier::new(2));
        let threads = [both.clone(), both].map(|both| {
            std::thread::spawn(move || {
                let allowed = sched_getaffinity(None).unwrap();
                let mut core = CpuSet::new();
                core.set((0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core)).unwrap());
                sched_setaffinity(None, &core).unwrap();
                let before = thread_cpu_usage();
                both.wait();
                burn(30_000_000);
                thread_cpu_usage().waiting.0 - before.waiting.0
            })
        });
        let waited: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        // Until the first one has its 30 ms, the other one runs or waits, and only one of them runs at a time.
        assert!(waited >= 20_000_000, "{waited} ns");
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
