//! Packages of Debian, RPM and the archive for all systems, in clean systems.

use crate::clean_root;
use crate::files::{check_table, package};

/// Networks and workload of a run that takes some seconds, down to the table.
const RUN: &str =
    "run -n host,bridge -w tcp-rr --blocks 3 --duration 200ms --out /home/user/result";

/// Installs a package by `install`, runs it as an ordinary user, removes it by `remove`, and checks that no file is left.
#[track_caller]
fn check(suite: &str, install: &str, program: &str, remove: &str) {
    let script = format!(
        "files >/tmp/before
         {install} >&2
         as_user {program} --version
         as_user {program} {RUN}
         {remove} >&2
         files >/tmp/after
         diff /tmp/before /tmp/after >&2"
    );
    let printed = clean_root::run(suite, &script);
    assert!(printed.starts_with("tare "), "{printed}");
    check_table(&printed);
}

/// Name of a package of this machine's architecture, in the clean system.
fn path(start: &str, end: &str) -> String {
    let file = package(start, end);
    format!("/packages/{}", file.file_name().and_then(|name| name.to_str()).expect("an ASCII name"))
}

fn debian_architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

fn check_debian(suite: &str) {
    let deb = path("tare_", &format!("_{}.deb", debian_architecture()));
    check(suite, &format!("dpkg --install {deb}"), "tare", "dpkg --purge tare");
}

#[test]
fn the_debian_package_runs_and_goes_without_a_trace_in_bookworm() {
    check_debian("bookworm");
}

#[test]
fn the_debian_package_runs_and_goes_without_a_trace_in_trixie() {
    check_debian("trixie");
}

#[test]
fn the_rpm_package_runs_and_goes_without_a_trace() {
    let rpm = path("tare-", &format!(".{}.rpm", std::env::consts::ARCH));
    let install = format!("rpm --install {rpm}");
    check("trixie", &install, "tare", "rpm --erase tare");
}

#[test]
fn the_archive_runs_and_goes_without_a_trace() {
    for suite in ["bookworm", "trixie"] {
        let archive =
            path("tare-", &format!("-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH));
        // What a user unpacks is in the user's own directory.
        let install =
            format!("as_user tar xzf {archive}; mv /home/user/tare-* /home/user/unpacked");
        check(suite, &install, "unpacked/tare", "rm -r /home/user/unpacked");
    }
}

/// AppArmor before version 4 cannot read the profile: it is switched off there, and no boot fails because of it.
#[test]
fn the_profile_is_read_by_the_systems_whose_apparmor_can() {
    let deb = path("tare_", &format!("_{}.deb", debian_architecture()));
    let script = format!(
        "dpkg --install {deb} >&2
         cat /var/lib/dpkg/info/tare.conffiles
         if [ -e /etc/apparmor.d/disable/tare ]; then echo disabled
         else apparmor_parser --skip-kernel-load --skip-cache /etc/apparmor.d/tare >&2; echo read; fi"
    );
    assert_eq!(clean_root::run("bookworm", &script), "/etc/apparmor.d/tare\ndisabled\n");
    assert_eq!(clean_root::run("trixie", &script), "/etc/apparmor.d/tare\nread\n");
}
