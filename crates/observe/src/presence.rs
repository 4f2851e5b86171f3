//! Detection of other tare runs on this machine.
//!
//! A run announces itself by an abstract unix socket named `tare-run-PID` (unix(7)): the name lives in the network
//! namespace, leaves no file, and disappears when the process ends in whatever way. Runs in other network namespaces,
//! for example in containers, are not seen.

use crate::files::MachineFiles;
use std::collections::BTreeSet;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process;

/// Prefix of the names of runs.
const PREFIX: &str = "tare-run-";

/// Announcement of this run, withdrawn when the value is dropped.
#[derive(Debug)]
pub struct RunPresence {
    name: String,
    /// `None` if the name could not be bound: then other runs do not see this one.
    _socket: Option<UnixDatagram>,
}

impl RunPresence {
    /// Announces this run, and counts the others.
    ///
    /// It is to be called before a network namespace is entered. If sockets are refused, the run stays unknown to
    /// others, which is no reason not to measure.
    #[must_use]
    pub fn announce() -> (Self, u32) {
        let name = format!("{PREFIX}{}", process::id());
        let presence = Self { _socket: bind_abstract(&name).ok(), name };
        let others = presence.count_others();
        (presence, others)
    }

    /// Returns the current number of other runs.
    #[must_use]
    pub fn count_others(&self) -> u32 {
        count_run_sockets(&MachineFiles::machine(), Some(&self.name))
    }
}

/// Returns the number of runs on this machine, for a process that is not a run.
#[must_use]
pub fn count_runs() -> u32 {
    count_run_sockets(&MachineFiles::machine(), None)
}

fn bind_abstract(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

fn count_run_sockets(files: &MachineFiles, own: Option<&str>) -> u32 {
    let sockets = files.text("proc/net/unix").unwrap_or_default();
    let names: BTreeSet<&str> =
        run_socket_names(&sockets).filter(|name| Some(*name) != own).collect();
    u32::try_from(names.len()).unwrap_or(u32::MAX)
}

/// Returns the names of runs in `/proc/net/unix`, where an abstract name stands last in its line, after an `@`.
pub(crate) fn run_socket_names(sockets: &str) -> impl Iterator<Item = &str> {
    sockets.lines().filter_map(|line| {
        let name = line.split_whitespace().nth(7)?.strip_prefix('@')?;
        let pid = name.strip_prefix(PREFIX)?;
        (!pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_test_files;
    use proptest::prelude::*;

    const SOCKETS: &str = "Num       RefCount Protocol Flags    Type St Inode Path\n\
        00000000b5191bdb: 00000003 00000000 00000000 0001 03   646\n\
        000000006915577b: 00000002 00000000 00000000 0002 01   647 @tare-run-12\n\
        000000006915577c: 00000002 00000000 00000000 0002 01   648 @tare-run-13\n\
        000000006915577d: 00000002 00000000 00000000 0002 01   649 /run/tare-run-14\n\
        000000006915577e: 00000002 00000000 00000000 0002 01   650 @tare-run-\n\
        000000006915577f: 00000002 00000000 00000000 0002 01   651 @tare-run-15x\n";

    #[test]
    fn only_other_runs_count() {
        let root = tempfile::tempdir().unwrap();
        let files = write_test_files(root.path(), &[("proc/net/unix", SOCKETS)]);
        assert_eq!(count_run_sockets(&files, Some("tare-run-12")), 1);
        assert_eq!(count_run_sockets(&files, None), 2);
    }

    #[test]
    fn a_run_is_known_while_it_lives() {
        let listed = || {
            let sockets = MachineFiles::machine().text("proc/net/unix").unwrap();
            run_socket_names(&sockets).any(|name| name == format!("{PREFIX}{}", process::id()))
        };
        assert!(!listed());
        let (presence, _) = RunPresence::announce();
        assert!(listed());
        drop(presence);
        assert!(!listed());
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "([a-z0-9: @]|tare-run-|\n){0,60}") {
            prop_assert!(run_socket_names(&text).count() <= text.lines().count());
        }
    }
}
