//! Programs that the virtual machine needs: QEMU and others as packages, virtme-ng in a Python environment of its own.

use crate::process;
use crate::repository::Repository;
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// Programs and the Debian packages that have them.
const PACKAGES: [&str; 5] = [
    "qemu-system-x86_64:qemu-system-x86",
    "depmod:kmod",
    "busybox:busybox-static",
    "python3:python3,python3-venv",
    "mke2fs:e2fsprogs",
];

/// Requirement of virtme-ng, in pip's syntax.
const VIRTME: &str = "virtme-ng==1.*";

/// Installs the missing programs.
pub(super) fn install(repository: &Repository) -> Result<()> {
    process::run(repository.command("scripts/packages.sh").args(PACKAGES))?;
    let environment = environment(repository);
    if environment.join("bin/vng").is_file() {
        return Ok(());
    }
    process::run(repository.command("python3").args(["-m", "venv"]).arg(&environment))?;
    process::run(repository.command(environment.join("bin/pip")).args(["install", "-q", VIRTME]))
}

/// Puts virtme-ng first on a command's PATH, where it looks for its own helpers.
pub(super) fn add_to_path(repository: &Repository, command: &mut Command) {
    let mut path = environment(repository).join("bin").into_os_string();
    let rest = command.get_envs().find_map(|(name, value)| (name == "PATH").then_some(value?));
    if let Some(rest) = rest {
        path.push(":");
        path.push(rest);
    }
    command.env("PATH", path);
}

fn environment(repository: &Repository) -> PathBuf {
    repository.path("target/vm/venv")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtme_comes_first() {
        let repository = Repository::find().unwrap();
        let mut command = repository.command("vng");
        add_to_path(&repository, &mut command);
        let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap();
        let mut directories = std::env::split_paths(path);
        assert_eq!(directories.next().unwrap(), repository.path("target/vm/venv/bin"));
        assert!(directories.next().is_some());
    }
}
