//! Client of apt: finds the newest kernel and its package. Backports have package lists of their own, so that this
//! machine's lists stay as they are.

use crate::debian_site::DebianSite;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Command apt with options for the location of its lists.
pub(super) struct Apt<'a> {
    repository: &'a Repository,
    options: Vec<String>,
}

impl<'a> Apt<'a> {
    /// Returns apt with this machine's configuration.
    pub(super) fn of_machine(repository: &'a Repository) -> Self {
        Self { repository, options: Vec::new() }
    }

    /// Returns the package of the newest kernel, or `None` if apt knows none.
    pub(super) fn newest_kernel(&self) -> Result<Option<String>> {
        let depends = self.command("apt-cache", &["depends", "linux-image-amd64"]);
        // An unknown package is a valid result, not a failure.
        Ok(process::output(&mut { depends }).ok().as_deref().and_then(kernel_package))
    }

    /// Downloads the package lists.
    pub(super) fn update(&self) -> Result<()> {
        process::run(&mut self.command("apt-get", &["update", "-q"]))
    }

    /// Downloads a package into an empty directory.
    pub(super) fn download(&self, package: &str, directory: &Path) -> Result<PathBuf> {
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        process::run(self.command("apt-get", &["download", "-q", package]).current_dir(directory))?;
        let mut files = fs::read_dir(directory)?.flatten().map(|entry| entry.path());
        files
            .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
            .with_context(|| format!("apt-get download left no package of {package}"))
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = self.repository.command(program);
        for option in &self.options {
            command.args(["-o", option]);
        }
        command.args(arguments);
        command
    }
}

/// Returns apt with only the backports of this distribution, from the same site as its other packages.
pub(super) fn backports<'a>(repository: &'a Repository, directory: &Path) -> Result<Apt<'a>> {
    let DebianSite { address, codename } = DebianSite::of_machine(repository)?;
    let apt = directory.join("apt");
    for part in ["parts", "lists/partial", "archives/partial"] {
        fs::create_dir_all(apt.join(part))?;
    }
    fs::write(apt.join("parts/backports.list"), source(&address, &codename))?;
    let path = |name: &str| apt.join(name).display().to_string();
    let options = vec![
        "Dir::Etc::SourceList=/dev/null".to_owned(),
        format!("Dir::Etc::SourceParts={}", path("parts")),
        format!("Dir::State::Lists={}", path("lists")),
        format!("Dir::Cache={}", apt.display()),
    ];
    Ok(Apt { repository, options })
}

fn source(site: &str, codename: &str) -> String {
    let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    format!("deb [signed-by={keyring}] {site} {codename}-backports main\n")
}

/// Returns the kernel package that linux-image-amd64 depends on.
fn kernel_package(depends: &str) -> Option<String> {
    depends.lines().find_map(|line| {
        let package = line.trim().strip_prefix("Depends: ")?;
        let version = package.strip_prefix("linux-image-")?;
        version.starts_with(|c: char| c.is_ascii_digit()).then(|| package.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_what_the_metapackage_depends_on() {
        let said = "linux-image-amd64\n  Depends: linux-image-6.1.0-40-amd64\n  Suggests: x\n";
        assert_eq!(kernel_package(said).as_deref(), Some("linux-image-6.1.0-40-amd64"));
        assert_eq!(kernel_package("x\n  Depends: linux-image-amd64\n"), None);
    }

    #[test]
    fn backports_come_from_where_the_distribution_does() {
        assert!(source("http://d/", "bookworm").ends_with("http://d/ bookworm-backports main\n"));
    }
}
