//! Lookup of programs, also of those that are only on root's PATH.

use std::env;
use std::path::{Path, PathBuf};
use tare_network::UnmetRequirement;

/// Program of tare itself, also if its file was replaced or removed after the start.
pub const TARE: &str = "/proc/self/exe";

/// Directories of administrators' programs, which an ordinary user's PATH lacks.
const SYSTEM: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Returns the path of a program: the first on the PATH, or else in the system directories.
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

/// Returns the error for a missing program that no distribution packages, or not in this version, so that `make setup`
/// builds it. Returns `None` if the program is installed.
pub fn missing_program(name: &str) -> Option<UnmetRequirement> {
    missing_built_program(name, "make setup")
}

/// Returns the error for a missing program of a Kubernetes cluster, which no distribution packages, so that `make
/// setup-kubernetes` builds it. Returns `None` if the program is installed.
pub fn missing_cluster_program(name: &str) -> Option<UnmetRequirement> {
    missing_built_program(name, "make setup-kubernetes")
}

fn missing_built_program(name: &str, builder: &str) -> Option<UnmetRequirement> {
    let missing = || UnmetRequirement {
        reason: format!("the program {name} is not installed"),
        remedy: format!(
            "run `{builder}`, which builds {name} in target/tools/bin, and add that directory to PATH"
        ),
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
