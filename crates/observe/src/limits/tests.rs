//! Tests of the algorithm on a tree of plain files, and of a group's life on the real hierarchy, where root may write
//! it.

use super::*;
use crate::files::write_test_files;
use std::process::{Command, Stdio};

/// Lays out a process far below two groups that delegate the controllers.
fn machine(root: &Path) -> MachineFiles {
    std::fs::create_dir_all(root.join("proc/self/ns")).unwrap();
    std::os::unix::fs::symlink("pid:[4026531836]", root.join("proc/self/ns/pid")).unwrap();
    write_test_files(
        root,
        &[
            ("proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\n"),
            ("proc/self/cgroup", "0::/user/app/tab\n"),
            ("proc/loadavg", "0.5 0.4 0.3 1/100 10024\n"),
            ("proc/sys/kernel/pid_max", "1100\n"),
            ("proc/meminfo", "MemTotal: 2000 kB\nMemAvailable: 1000 kB\n"),
            ("cg/cgroup.subtree_control", "cpu memory pids\n"),
            ("cg/user/cgroup.subtree_control", "memory pids\n"),
            ("cg/user/app/cgroup.subtree_control", "cpu pids\n"),
            ("cg/user/app/tab/cgroup.subtree_control", "\n"),
        ],
    )
}

fn text(path: &Path, file: &str) -> String {
    std::fs::read_to_string(path.join(file)).unwrap()
}

#[test]
fn the_nearest_group_that_passes_both_controllers_on() {
    let root = tempfile::tempdir().unwrap();
    let limits = RunCgroup::create_for(&machine(root.path()), 7).unwrap();
    assert_eq!(limits.directory(), root.path().join("cg/user/tare-7-4026531836"));
    assert_eq!(limits.bounds(), LimitValues { pids: 900, memory: 921_600 });
    assert_eq!(text(limits.directory(), "pids.max"), "900");
    assert_eq!(text(limits.directory(), "memory.max"), limits.bounds().memory.to_string());
    limits.add_process(4711).unwrap();
    assert_eq!(text(limits.directory(), "cgroup.procs"), "4711");
}

#[test]
fn groups_of_dead_runs_are_swept_and_no_others() {
    let root = tempfile::tempdir().unwrap();
    let files = machine(root.path());
    // The third and the fourth are of other PID namespaces, in which those processes may run.
    let kept =
        ["tare-6-4026531836", "tare-six", "tare-5-4026532177", "tare-5", "other-5-4026531836"];
    for name in kept.iter().chain(&["tare-5-4026531836"]) {
        std::fs::create_dir_all(root.path().join("cg/user").join(name)).unwrap();
    }
    std::fs::create_dir_all(root.path().join("proc/6")).unwrap();
    let _limits = RunCgroup::create_for(&files, 7).unwrap();
    let there = |name: &str| root.path().join("cg/user").join(name).exists();
    assert!(!there("tare-5-4026531836") && there("tare-7-4026531836"));
    assert!(kept.into_iter().all(there));
}

#[test]
fn without_delegation_there_is_a_reason() {
    let root = tempfile::tempdir().unwrap();
    let files = machine(root.path());
    write_test_files(
        root.path(),
        &[("cg/cgroup.subtree_control", "\n"), ("cg/user/cgroup.subtree_control", "pids\n")],
    );
    assert!(matches!(RunCgroup::create_for(&files, 7), Err(LimitsUnavailable::NotDelegated)));
    assert!(matches!(check_available(&files), Err(LimitsUnavailable::NotDelegated)));
    write_test_files(root.path(), &[("proc/self/cgroup", "8:pids:/\n")]);
    assert!(matches!(RunCgroup::create_for(&files, 7), Err(LimitsUnavailable::Absent)));
}

#[test]
fn a_group_that_cannot_be_written_gives_way_to_one_above() {
    let root = tempfile::tempdir().unwrap();
    let files = machine(root.path());
    // A file of the group's name stands in the way, which stops root as well as any other user.
    write_test_files(root.path(), &[("cg/user/tare-7-4026531836", "")]);
    let limits = RunCgroup::create_for(&files, 7).unwrap();
    assert_eq!(limits.directory(), root.path().join("cg/tare-7-4026531836"));
}

#[test]
fn what_is_in_a_group_ends_with_it() {
    let files = MachineFiles::machine();
    let ancestors = CgroupPosition::read(&files).map(|hierarchy| hierarchy.ancestors());
    let name = format!("tare-test-{}", std::process::id());
    let made =
        ancestors.unwrap_or_default().iter().map(|parent| files.path(parent)).find_map(|parent| {
            let directory = parent.join(&name);
            (cgroup::is_writable(&parent) && cgroup::create(&directory).is_ok())
                .then_some(directory)
        });
    let Some(directory) = made else {
        // If a user may create no group, a run says so and proceeds without.
        assert!(matches!(
            RunCgroup::create(),
            Err(LimitsUnavailable::Absent | LimitsUnavailable::NotDelegated)
        ));
        assert!(matches!(
            check_available(&files),
            Err(LimitsUnavailable::Absent | LimitsUnavailable::NotDelegated)
        ));
        return;
    };
    let mut child = Command::new("sleep").arg("infinity").stdin(Stdio::null()).spawn().unwrap();
    let added = cgroup::write_value(&directory, "cgroup.procs", u64::from(child.id()));
    let removed = remove(&directory);
    // Whatever failed, nothing is to stay behind.
    let _ = child.kill();
    let status = child.wait().unwrap();
    added.unwrap();
    removed.unwrap();
    assert!(!directory.exists());
    assert!(!status.success());
}
