//! Checks of the place in which tare runs: Windows' Linux, a container, the account of an ordinary user.

use super::HealthCheck;
use crate::files::MachineFiles;
use std::fs::OpenOptions;

/// Files that engines put into their containers, and the engine's name.
const CONTAINER_MARKS: [(&str, &str); 2] =
    [(".dockerenv", "Docker"), ("run/.containerenv", "Podman")];

/// Device from which programs in user space take packets.
const TUN: &str = "dev/net/tun";

/// Checks for the Windows Subsystem for Linux. Returns `None` elsewhere.
pub(super) fn windows(release: &str) -> Option<HealthCheck> {
    const NAME: &str = "Windows";
    if release.ends_with("-Microsoft") {
        return Some(HealthCheck::fail(
            NAME,
            "WSL 1 has no Linux kernel, and no namespaces",
            "wsl --set-version DISTRIBUTION 2, in Windows",
        ));
    }
    release.contains("microsoft").then(|| {
        HealthCheck::warn(
            NAME,
            "WSL 2 shares its cores with Windows, and its kernel lacks modules that some networks need",
            "stop busy programs of Windows; `tare list networks` shows what is missing",
        )
    })
}

/// Checks if this is a container. Returns `None` elsewhere. What the container forbids, other checks say.
pub(super) fn container(files: &MachineFiles) -> Option<HealthCheck> {
    let (_, engine) = CONTAINER_MARKS.iter().find(|(mark, _)| files.exists(mark))?;
    let detail = format!(
        "tare runs in a container of {engine}: `host` and `native` are on the container's own network, and programs outside of it are not seen"
    );
    Some(HealthCheck::ok("container", detail))
}

/// Checks what containers of an ordinary user need. Returns `None` for root. Without them other networks run, so the check is
/// always [`CheckStatus::Ok`](super::CheckStatus::Ok).
pub(super) fn rootless(
    files: &MachineFiles,
    uid: u32,
    has_program: impl Fn(&str) -> bool,
) -> Option<HealthCheck> {
    const NAME: &str = "rootless";
    if uid == 0 {
        return None;
    }
    let can_open_tun = || OpenOptions::new().read(true).write(true).open(files.path(TUN)).is_ok();
    let has_ranges =
        || ["etc/subuid", "etc/subgid"].iter().all(|file| has_subordinate_range(files, file, uid));
    let unmet = if !has_program("pasta") && !has_program("slirp4netns") {
        Some(("the programs pasta and slirp4netns are missing", "sudo apt-get install passt"))
    } else if !has_program("newuidmap") {
        Some(("the program newuidmap is missing", "sudo apt-get install uidmap"))
    } else if !has_ranges() {
        Some((
            "this user has no range in /etc/subuid and /etc/subgid",
            "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER",
        ))
    } else if !can_open_tun() {
        Some(("this user cannot open /dev/net/tun", "sudo setfacl -m u:$USER:rw /dev/net/tun"))
    } else {
        None
    };
    Some(match unmet {
        None => HealthCheck::ok(NAME, "this user's own containers have what they need"),
        Some((why, remedy)) => HealthCheck::ok(
            NAME,
            format!("not available: {why}; for containers without root, {remedy}"),
        ),
    })
}

/// Returns true if a file of subordinate ids (subuid(5)) has a range for a user, by number or by name.
fn has_subordinate_range(files: &MachineFiles, file: &str, uid: u32) -> bool {
    let number = uid.to_string();
    let users = files.text("etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then_some(name)
    });
    let ranges = files.text(file).unwrap_or_default();
    ranges
        .lines()
        .filter_map(|line| line.split(':').next())
        .any(|owner| owner == number || Some(owner) == name)
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus;
    use super::*;
    use crate::files::write_test_files;

    #[test]
    fn windows_is_known_by_its_kernel() {
        assert_eq!(windows("6.8.0-45-generic"), None);
        let status = |release| windows(release).map(|check| check.status);
        assert_eq!(status("5.15.167.4-microsoft-standard-WSL2"), Some(CheckStatus::Warn));
        assert_eq!(status("4.4.0-19041-Microsoft"), Some(CheckStatus::Fail));
    }

    #[test]
    fn a_container_is_known_by_its_engines_file() {
        let directory = tempfile::tempdir().unwrap();
        let files = MachineFiles::under(directory.path());
        assert_eq!(container(&files), None);
        write_test_files(directory.path(), &[("run/.containerenv", "engine")]);
        assert!(container(&files).unwrap().detail.contains("Podman"));
    }

    #[test]
    fn what_a_users_containers_lack_is_named_with_one_command() {
        let directory = tempfile::tempdir().unwrap();
        let files = MachineFiles::under(directory.path());
        let detail = |programs: &[&str]| {
            rootless(&files, 1000, |name| programs.contains(&name)).unwrap().detail
        };
        assert_eq!(rootless(&files, 0, |_| true), None);
        assert!(detail(&[]).contains("install passt"));
        assert!(detail(&["slirp4netns"]).contains("install uidmap"));
        let all = ["pasta", "newuidmap"];
        assert!(detail(&all).contains("--add-subuids"));
        write_test_files(
            directory.path(),
            &[
                ("etc/passwd", "root:x:0:0::/root:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\n"),
                ("etc/subuid", "other:1:1\nme:100000:65536\n"),
                ("etc/subgid", "1000:100000:65536\n"),
            ],
        );
        assert!(detail(&all).contains("setfacl"));
        write_test_files(directory.path(), &[(TUN, "")]);
        assert!(detail(&all).contains("have what they need"));
    }
}
