//! Mechanisms of confinement that a kernel may lack.

use crate::sys::{has_file_rules, has_filters};

/// Linux from which on calls that a filter always allows cost next to nothing, as the kernel remembers them (5.11: a
/// bitmap for each filter). Before, each call runs each filter, which would be measured with what agents do.
const CHEAP_FILTERS: (u32, u32) = (5, 11);

/// Mechanism by which a process gives up rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Filters of system calls (seccomp(2)), on Linux 5.11 or newer.
    SystemCalls,
    /// Rules on files that a process gives itself (landlock(7)).
    Files,
}

impl Mechanism {
    /// Checks whether this kernel has the mechanism, and lets this process use it.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::SystemCalls => {
                let release = rustix::system::uname();
                is_cheap(&release.release().to_string_lossy()) && has_filters()
            }
            Self::Files => has_file_rules(),
        }
    }
}

/// Checks whether filters are cheap on a kernel of this release, which is for example `6.1.0-13-amd64`.
fn is_cheap(release: &str) -> bool {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= CHEAP_FILTERS,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_remember_what_a_filter_allows_are_known_by_their_release() {
        for cheap in ["5.11.0", "5.15.0-91-generic", "6.1.0-13-amd64", "6.18.44", "10.0-rc1"] {
            assert!(is_cheap(cheap), "{cheap}");
        }
        for expensive in ["5.10.0-26-amd64", "4.18.0-553.el8_10", "", "Linux"] {
            assert!(!is_cheap(expensive), "{expensive}");
        }
    }
}
