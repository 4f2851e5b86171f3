//! Role `exec`: it gives a program a private mount namespace in addition to its network namespace.
//!
//! `tare internal exec --hosts 'NAME=ADDRESS,…' -- PROGRAM ARGUMENTS` runs in a container's network namespace. It
//! unshares the mount namespace, mounts the /proc and /sys that belong to its namespaces, mounts a private hosts file
//! over /etc/hosts, and executes the program. Nothing of this is on any disk, and all of it ends with the program.

use crate::sys;
use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_bind, mount_change, move_mount, open_tree, unmount,
};
use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::Command;
use tare_network::Error;

const HOSTS: &str = "/etc/hosts";
const GROUPS: &str = "/sys/fs/cgroup";

/// Runs the role with its arguments (those after `exec`). Returns only if it fails.
///
/// # Errors
/// The arguments are wrong, a mount is refused, or the program cannot be started.
pub fn exec_with_hosts(arguments: impl IntoIterator<Item = OsString>) -> Result<Infallible, Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let [flag, hosts, end, program, rest @ ..] = arguments.as_slice() else {
        return Err(usage());
    };
    let hosts = hosts.to_str().filter(|_| flag == "--hosts" && end == "--").ok_or_else(usage)?;
    private_mounts(&hosts_file(hosts)?)?;
    let error = Command::new(program).args(rest).exec();
    Err(Error::new(format!("start {}", program.to_string_lossy()), error))
}

fn usage() -> Error {
    Error::new(
        "start a program in a container",
        "invalid arguments: expected --hosts NAME=ADDRESS,… -- PROGRAM …",
    )
}

/// Returns the text of a hosts file with these names and those of the machine itself.
fn hosts_file(hosts: &str) -> Result<String, Error> {
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
    for entry in hosts.split(',') {
        let (name, address) = entry.split_once('=').ok_or_else(usage)?;
        let address: IpAddr = address.parse().map_err(|_| usage())?;
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(usage());
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{address} {name}");
    }
    Ok(text)
}

/// Unshares the mount namespace and mounts the private files.
fn private_mounts(hosts: &str) -> Result<(), Error> {
    let refused = |errno| Error::new("create a private mount namespace", errno);
    sys::unshare_mounts().map_err(refused)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(refused)?;
    bind_hosts(hosts)?;
    // If these mounts are refused (as they can be in nested containers), the outer ones stay: the network does not
    // depend on them.
    let _ = mount_sys();
    let _ = mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV, None);
    Ok(())
}

/// Mounts the text over /etc/hosts. The file is in memory first and bound from there, so that no directory contains it.
fn bind_hosts(text: &str) -> Result<(), Error> {
    const STAGE: &str = "/tmp";
    let what = || format!("mount a private hosts file over {HOSTS}");
    let file = format!("{STAGE}/hosts");
    mount("tmpfs", STAGE, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"mode=0755"))
        .map_err(|errno| Error::new(what(), errno))?;
    let bound = fs::write(&file, text)
        .and_then(|()| mount_bind(&file, HOSTS).map_err(Into::into))
        .map_err(|error| Error::new(what(), error));
    // The bind mount keeps its file system alive. The program needs the stage directory itself again.
    unmount(STAGE, UnmountFlags::DETACH).map_err(|errno| Error::new(what(), errno))?;
    bound
}

/// Mounts the /sys of this network namespace, with the outer control groups in it.
pub(crate) fn mount_sys() -> rustix::io::Result<()> {
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE;
    let groups = open_tree(CWD, GROUPS, clone | OpenTreeFlags::OPEN_TREE_CLOEXEC);
    mount("sysfs", "/sys", "sysfs", MountFlags::NOSUID | MountFlags::NODEV, None)?;
    move_mount(groups?, "", CWD, GROUPS, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_hosts_file_has_every_name() {
        let text = hosts_file("server=10.0.0.2,other=fd00::2").unwrap();
        assert!(text.contains("\n10.0.0.2 server\n") && text.contains("\nfd00::2 other\n"));
        assert!(text.starts_with("127.0.0.1 localhost\n"));
    }

    proptest! {
        #[test]
        fn a_hosts_file_is_refused_or_has_one_line_an_entry(hosts in "[ -~\\n]{0,40}") {
            if let Ok(text) = hosts_file(&hosts) {
                prop_assert_eq!(text.lines().count(), 2 + hosts.split(',').count());
            }
        }
    }
}
