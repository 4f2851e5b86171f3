//! Other tare runs on this machine.
//!
//! A run makes itself known by an abstract unix socket named `tare-run-PID` (unix(7)): the name lives in the network
//! namespace, leaves no file, and goes when the process ends in whatever way. Runs in other network namespaces, those
//! in containers for instance, are not seen.

use crate::files::Files;
use std::collections::BTreeSet;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process;

/// How the names of runs begin.
const PREFIX: &str = "tare-run-";

/// This run's mark, for as long as the value lives.
#[derive(Debug)]
pub struct Presence {
    name: String,
    /// Nothing where the name could not be had: then only the others are not told.
    _socket: Option<UnixDatagram>,
}

impl Presence {
    /// Makes this run known, and counts the others.
    ///
    /// It is to be called before a network namespace is entered. Where sockets are refused, the run stays unknown to
    /// others, which is no reason not to measure.
    #[must_use]
    pub fn announce() -> (Self, u32) {
        let name = format!("{PREFIX}{}", process::id());
        let presence = Self { _socket: bind(&name).ok(), name };
        let others = presence.others();
        (presence, others)
    }

    /// How many other runs there are now.
    #[must_use]
    pub fn others(&self) -> u32 {
        count(&Files::machine(), Some(&self.name))
    }
}

/// How many runs there are on this machine, for a process that is none.
#[must_use]
pub fn runs() -> u32 {
    count(&Files::machine(), None)
}

fn bind(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

fn count(files: &Files, own: Option<&str>) -> u32 {
    let sockets = files.text("proc/net/unix").unwrap_or_default();
    let names: BTreeSet<&str> = names(&sockets).filter(|name| Some(*name) != own).collect();
    u32::try_from(names.len()).unwrap_or(u32::MAX)
}

/// The names of runs in `/proc/net/unix`, where an abstract name stands last in its line, after an `@`.
fn names(sockets: &str) -> impl Iterator<Item = &str> {
    sockets.lines().filter_map(|line| {
        let name = line.split_whitespace().nth(7)?.strip_prefix('@')?;
        let pid = name.strip_prefix(PREFIX)?;
        (!pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::lay_out;
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
        let files = lay_out(root.path(), &[("proc/net/unix", SOCKETS)]);
        assert_eq!(count(&files, Some("tare-run-12")), 1);
        assert_eq!(count(&files, None), 2);
    }

    #[test]
    fn a_run_is_known_while_it_lives() {
        let listed = || {
            let sockets = Files::machine().text("proc/net/unix").unwrap();
            names(&sockets).any(|name| name == format!("{PREFIX}{}", process::id()))
        };
        assert!(!listed());
        let (presence, _) = Presence::announce();
        assert!(listed());
        drop(presence);
        assert!(!listed());
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "([a-z0-9: @]|tare-run-|\n){0,60}") {
            prop_assert!(names(&text).count() <= text.lines().count());
        }
    }
}
