//! CPU time of processes.

use crate::sys;
use std::fs;
use std::time::Duration;

/// Returns the name of a process, and the CPU time of it and of its children that it has waited for. Its own time is
/// exact, by the process's CPU clock. The children's is in ticks; a short-lived daemon on a fast machine may take none.
/// Returns `None` if the process is gone.
#[must_use]
pub fn process_cpu_time(pid: i32) -> Option<(String, Duration)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The fields after the name, which may contain any character, begin with the state; by proc_pid_stat(5) the 14th of
    // them is cutime, the 15th cstime.
    let (_, name) = stat.split_once('(')?;
    let (name, fields) = name.rsplit_once(") ")?;
    let times = fields.split(' ').skip(13).take(2).map(|field| field.parse::<u64>().ok());
    Some((
        name.to_owned(),
        sys::clock::cpu_time(pid)? + ticks_to_duration(times.sum::<Option<u64>>()?),
    ))
}

/// Converts clock ticks to a duration.
fn ticks_to_duration(ticks: u64) -> Duration {
    let a_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_nanos(ticks.saturating_mul(1_000_000_000) / a_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_process_is_its_own_and_that_of_children_that_have_ended() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let (usage, clock) = (sys::clock::usage, || sys::clock::cpu_time(pid).unwrap());
        // The kernel kills the child after a second of CPU time, which it counts in ticks: only half of it is certain.
        let burn = "ulimit -t 1; while :; do :; done";
        let ended = std::process::Command::new("sh").args(["-c", burn]).status().unwrap();
        assert!(!ended.success());
        let least = clock() + usage(libc::RUSAGE_CHILDREN);
        let (name, time) = process_cpu_time(pid).unwrap();
        let most = clock() + usage(libc::RUSAGE_CHILDREN);
        assert!(usage(libc::RUSAGE_CHILDREN) >= Duration::from_millis(500));
        // The user and the system time of children are each in whole ticks.
        assert!(time + ticks_to_duration(2) >= least, "{time:?} is less than {least:?}");
        assert!(time <= most + Duration::from_micros(2), "{time:?} is more than {most:?}");
        let said = fs::read_to_string("/proc/self/comm").unwrap();
        assert_eq!(name, said.trim_end());
        assert_eq!(process_cpu_time(0), None);
    }
}
