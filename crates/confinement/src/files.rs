//! Rules on files: which a process may still open (landlock(7)).

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    Scope, path_beneath_rules,
};
use std::io;

/// Newest version of the kernel's interface of which something is used.
const NEWEST: ABI = ABI::V6;

/// Leaves to this thread, and to those that it starts, only the reading of files below these directories, and no
/// connection to a local socket by a name that is no path. Files that are open stay so. Kernels without such rules, or
/// with fewer, restrict less.
pub(crate) fn restrict_files(readable: &[&str]) -> io::Result<()> {
    let restrict = || {
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            .scope(Scope::AbstractUnixSocket)?
            .create()?
            .add_rules(path_beneath_rules(readable, AccessFs::ReadFile | AccessFs::ReadDir))?
            .restrict_self()
    };
    restrict().map(drop).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::Mechanism;
    use std::fs::{self, File};
    use std::io::ErrorKind;

    #[test]
    fn only_files_below_readable_directories_are_read_and_none_written() {
        assert!(Mechanism::Files.is_available());
        let confined = std::thread::spawn(|| {
            let open = File::open("/etc/passwd").unwrap();
            restrict_files(&["/proc"]).unwrap();
            assert!(fs::read_to_string("/proc/self/status").is_ok());
            assert!(open.metadata().is_ok());
            let written = std::env::temp_dir().join("tare-is-not-written");
            for refused in [File::open("/etc/passwd"), File::create(written)] {
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
            }
        });
        confined.join().unwrap();
    }
}
