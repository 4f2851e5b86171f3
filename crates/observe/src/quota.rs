//! Whether a control group's CPU quota (`cpu.max`) held tare back meanwhile, by the `throttled_usec` of its `cpu.stat`.
//!
//! A group's quota holds all below it, and each group counts its own alone: those above this process's are asked, too.

use crate::files::Files;
use crate::limits::hierarchy::Hierarchy;
use tare_record::{Finding, Nanos};

/// For how long each group has been held back so far, nearest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quota(Vec<(String, Nanos)>);

impl Quota {
    /// Reads them; nothing where control groups of version 2 are not there.
    pub(crate) fn now(files: &Files) -> Self {
        let groups = Hierarchy::read(files).as_ref().map(Hierarchy::ancestors).unwrap_or_default();
        let held = |group: String| Some((group.clone(), throttled(files, &group)?));
        Self(groups.into_iter().filter_map(held).collect())
    }

    /// A finding where one has been held back since: the longest, for they may overlap.
    pub(crate) fn until_now(&self, files: &Files) -> Option<Finding> {
        let since = |(group, then): &(String, Nanos)| Some(throttled(files, group)? - *then);
        let waited = self.0.iter().filter_map(since).max()?;
        (waited.0 > 0).then_some(Finding::OverQuota { waited })
    }
}

/// `throttled_usec 12345`.
fn throttled(files: &Files, group: &str) -> Option<Nanos> {
    let text = files.text(format!("{group}/cpu.stat"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    line.trim().parse::<u64>().ok()?.checked_mul(1_000).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;

    #[test]
    fn the_group_that_held_longest_is_told() {
        let root = tempfile::tempdir().unwrap();
        let files = lay_out(
            root.path(),
            &[
                ("proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\n"),
                ("proc/self/cgroup", "0::/job/step\n"),
                ("cg/cpu.stat", "usage_usec 9\n"),
            ],
        );
        let held = |job: u64, step: u64| {
            let text = |held| format!("usage_usec 7\nnr_throttled 1\nthrottled_usec {held}\n");
            lay_out(
                root.path(),
                &[("cg/job/cpu.stat", &text(job)), ("cg/job/step/cpu.stat", &text(step))],
            );
        };
        held(100, 5_000_000);
        let before = Quota::now(&files);
        assert_eq!(before.until_now(&files), None);
        held(250_100, 5_000_007);
        let waited = Nanos(250_000_000);
        assert_eq!(before.until_now(&files), Some(Finding::OverQuota { waited }));
    }

    #[test]
    fn without_control_groups_nothing_is_said() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::under(root.path());
        assert_eq!(Quota::now(&files).until_now(&files), None);
    }
}
