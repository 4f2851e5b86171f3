//! Kernel counters of the calling thread's network namespace (`/proc/thread-self/net/netstat`).

use std::fs;
use tare_record::Finding;
use tare_record::finding::TimeWaitOverflow;

/// Returns the number of connections so far that did not fit into the TIME_WAIT table. Returns `None` if the kernel
/// does not report it.
pub(super) fn time_wait_overflows() -> Option<u64> {
    parse_counter(
        &fs::read_to_string("/proc/thread-self/net/netstat").ok()?,
        "TcpExt:",
        "TCPTimeWaitOverflow",
    )
}

/// Returns a finding if the number has increased since.
pub(super) fn find_overflow(before: Option<u64>) -> Option<Finding> {
    let overflowed = time_wait_overflows()?.saturating_sub(before?);
    (overflowed > 0).then_some(Finding::TimeWaitOverflow(TimeWaitOverflow { overflowed }))
}

/// Parses a counter: each group has one line of names, then one line of values.
fn parse_counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|one| one == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_group_and_name() {
        let text = "TcpExt: A B C\nTcpExt: 1 22 3\nIpExt: B\nIpExt: 7\n";
        assert_eq!(parse_counter(text, "TcpExt:", "B"), Some(22));
        assert_eq!(parse_counter(text, "IpExt:", "B"), Some(7));
        assert_eq!(parse_counter(text, "IpExt:", "C"), None);
        assert_eq!(parse_counter("", "TcpExt:", "B"), None);
        assert!(time_wait_overflows().is_some());
    }

    #[test]
    fn only_more_is_a_finding() {
        assert_eq!(find_overflow(None), None);
        assert_eq!(find_overflow(Some(u64::MAX)), None);
    }
}
