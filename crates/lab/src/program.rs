//! Finding programs, also those that only root's PATH shows.

use std::env;
use std::path::{Path, PathBuf};
use tare_network::Missing;

/// Where administrators' programs are; an ordinary user's PATH lacks them.
const SYSTEM: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The path of a program: the first on the PATH, else among the system's.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = SYSTEM.iter().map(PathBuf::from);
    env::split_paths(&path)
        .chain(system)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| is_executable(file))
}

/// What is missing where a program is not there that no distribution packages, or not in this version: `make setup` builds it.
pub(crate) fn built(name: &str) -> Option<Missing> {
    let missing = || Missing {
        reason: format!("the program {name} is not installed"),
        remedy: format!("make setup builds it below target/tools/bin; have {name} on the PATH"),
    };
    find(name).is_none().then(missing)
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_they_are() {
        assert!(find("sh").is_some_and(|path| path.ends_with("sh")));
        assert_eq!(find("no-such-program-anywhere"), None);
    }
}
