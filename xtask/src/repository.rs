//! Checkout that xtask belongs to: its paths, and commands that run in it.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories of system programs, which the `PATH` of an ordinary user lacks.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Checkout of the project.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Finds the checkout from the directory of this package.
    pub(crate) fn find() -> Result<Self> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = package.join("..");
        let root = root
            .canonicalize()
            .with_context(|| format!("cannot resolve the repository's root {}", root.display()))?;
        Ok(Self { root })
    }

    /// Returns the root directory, an absolute path.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a path below the root.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Returns Cargo's target directory: `CARGO_TARGET_DIR`, or `target` in the root.
    pub(crate) fn target(&self) -> PathBuf {
        match std::env::var_os("CARGO_TARGET_DIR") {
            Some(directory) => self.path(directory),
            None => self.path("target"),
        }
    }

    /// Returns the binary that `make build` installs, which end-to-end tests run.
    pub(crate) fn tare(&self) -> PathBuf {
        self.path("target/bin/tare")
    }

    /// Returns the directory of the programs that `cargo xtask programs` builds.
    pub(crate) fn built_programs(&self) -> PathBuf {
        self.path("target/tools/bin")
    }

    /// Returns the directory of the programs that `cargo xtask engine-programs` builds. It is on no search path: an engine of
    /// the tests is the machine's own unless a test says otherwise.
    pub(crate) fn engine_programs(&self) -> PathBuf {
        self.path("target/tools/engine")
    }

    /// Makes a command that runs in the root, with the project's own tools at the end of its `PATH`.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.root).env("PATH", self.search_path());
        command
    }

    /// Returns the path of a program, or `None` if no directory of the search path has it.
    pub(crate) fn find_program(&self, name: &str) -> Option<PathBuf> {
        self.search_directories()
            .into_iter()
            .map(|directory| directory.join(name))
            .find(|path| is_executable(path))
    }

    fn search_directories(&self) -> Vec<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
        directories.extend(SYSTEM_DIRECTORIES.map(PathBuf::from));
        directories.push(self.built_programs());
        directories.push(self.path("target/tools/venv/bin"));
        directories
    }

    fn search_path(&self) -> OsString {
        // A directory name with a colon cannot be on a PATH. In that case the caller's own PATH is used.
        std::env::join_paths(self.search_directories())
            .unwrap_or_else(|_| std::env::var_os("PATH").unwrap_or_default())
    }
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_the_workspace() {
        let repository = Repository::find().unwrap();
        assert!(repository.root().is_absolute());
        assert!(repository.path("xtask/Cargo.toml").is_file());
    }

    #[test]
    fn programs_are_found_by_name() {
        let repository = Repository::find().unwrap();
        assert!(repository.find_program("sh").is_some());
        assert_eq!(repository.find_program("no-such-program-anywhere"), None);
    }
}
