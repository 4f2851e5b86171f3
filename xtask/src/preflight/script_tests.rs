//! Tests of `scripts/preflight.sh` and `scripts/tools.sh`: what a lane says on a machine without space or network.

use crate::repository::Repository;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Runs a shell command in the repository and in new mount and network namespaces, with `$SCRATCH` for its files.
fn run_apart(command: &str) -> Output {
    let scratch = TempDir::new().unwrap();
    Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--net", "sh", "-c", command])
        .current_dir(Repository::find().unwrap().path(""))
        .env("SCRATCH", scratch.path())
        .env("CARGO_NET_RETRY", "0")
        .output()
        .unwrap()
}

/// Checks that the output is one line of standard error with these parts, and the exit code 1.
fn assert_refusal(output: &Output, parts: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_full_disk_is_named_before_anything_is_compiled() {
    let full = run_apart(
        "mount -t tmpfs -o size=1m tmpfs \"$SCRATCH\" && TMPDIR=$SCRATCH scripts/preflight.sh",
    );
    assert_refusal(
        &full,
        &["only 1 MiB are free on the disk of ", "so nothing is tested; free some"],
    );
}

#[test]
fn a_directory_yet_to_be_made_is_on_the_disk_of_its_ancestor() {
    let full = run_apart(
        "mount -t tmpfs -o size=1m tmpfs \"$SCRATCH\" && CARGO_TARGET_DIR=$SCRATCH/a/b scripts/preflight.sh",
    );
    assert_refusal(&full, &["only 1 MiB are free on the disk of ", "/a/b, and 3072 MiB"]);
}

#[test]
fn missing_crates_without_a_network_are_named() {
    let absent = run_apart("CARGO_HOME=$SCRATCH scripts/preflight.sh");
    assert_refusal(
        &absent,
        &[
            "crates of Cargo.lock are not on this disk",
            "so nothing is tested",
            "cargo fetch --locked",
        ],
    );
}
