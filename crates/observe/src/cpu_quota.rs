//! Throttling of tare by a control group's CPU quota (`cpu.max`), from the `throttled_usec` of its `cpu.stat`.
//!
//! A group's quota limits all groups below it, and each group counts only its own throttling: the groups above this
//! process's are read, too.

use crate::files::MachineFiles;
use crate::limits::cgroup_position::CgroupPosition;
use tare_record::finding::QuotaThrottledTime;
use tare_record::{Finding, Nanos};

/// Throttled time of each group so far, nearest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuotaThrottling(Vec<(String, Nanos)>);

impl QuotaThrottling {
    /// Reads the throttled times. The list is empty if there are no control groups of version 2.
    pub(crate) fn read(files: &MachineFiles) -> Self {
        let groups =
            CgroupPosition::read(files).as_ref().map(CgroupPosition::ancestors).unwrap_or_default();
        let held = |group: String| Some((group.clone(), throttled_time(files, &group)?));
        Self(groups.into_iter().filter_map(held).collect())
    }

    /// Returns a finding if a group has been throttled since. Its time is the longest of all groups, because they may
    /// overlap.
    pub(crate) fn finding_since(&self, files: &MachineFiles) -> Option<Finding> {
        let since = |(group, then): &(String, Nanos)| Some(throttled_time(files, group)? - *then);
        let waited = self.0.iter().filter_map(since).max()?;
        (waited.0 > 0).then_some(Finding::QuotaThrottledTime(QuotaThrottledTime { waited }))
    }
}

/// Reads `throttled_usec 12345`.
fn throttled_time(files: &MachineFiles, group: &str) -> Option<Nanos> {
    let text = files.text(format!("{group}/cpu.stat"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    line.trim().parse::<u64>().ok()?.checked_mul(1_000).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;

    #[test]
    fn the_group_that_held_longest_is_told() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(
            root.path(),
            &[
                ("proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\n"),
                ("proc/self/cgroup", "0::/job/step\n"),
                ("cg/cpu.stat", "usage_usec 9\n"),
            ],
        );
        let held = |job: u64, step: u64| {
            let text = |held| format!("usage_usec 7\nnr_throttled 1\nthrottled_usec {held}\n");
            write_test_files(
                root.path(),
                &[("cg/job/cpu.stat", &text(job)), ("cg/job/step/cpu.stat", &text(step))],
            );
        };
        held(100, 5_000_000);
        let before = QuotaThrottling::read(&files);
        assert_eq!(before.finding_since(&files), None);
        held(250_100, 5_000_007);
        let waited = Nanos(250_000_000);
        assert_eq!(
            before.finding_since(&files),
            Some(Finding::QuotaThrottledTime(QuotaThrottledTime { waited }))
        );
    }

    #[test]
    fn without_control_groups_nothing_is_said() {
        let root = tempfile::tempdir().unwrap();
        let files = MachineFiles::under(root.path());
        assert_eq!(QuotaThrottling::read(&files).finding_since(&files), None);
    }
}
