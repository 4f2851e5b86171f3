//! Address of Debian's packages, as this machine's apt has it, and the release that this machine runs.

use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::fs;

/// Site with Debian's packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DebianSite {
    /// Address of the site.
    pub(crate) address: String,
    /// Release of this machine, such as `bookworm`.
    pub(crate) codename: String,
}

impl DebianSite {
    /// Reads the configuration of this machine's apt.
    pub(crate) fn of_machine(repository: &Repository) -> Result<Self> {
        let release =
            fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
        let codename = codename(&release).context("/etc/os-release names no VERSION_CODENAME")?;
        let targets = process::output(repository.command("apt-get").args([
            "indextargets",
            "--format",
            "$(REPO_URI) $(CODENAME) $(COMPONENT)",
            "Created-By: Packages",
            "Origin: Debian",
        ]))?;
        let address = address(&targets, codename)
            .with_context(|| format!("apt has no packages of Debian {codename}"))?;
        Ok(Self { address: address.to_owned(), codename: codename.to_owned() })
    }
}

fn codename(release: &str) -> Option<&str> {
    let value = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(value.trim_matches('"')).filter(|name| !name.is_empty())
}

/// Returns the address of the distribution's main component, from lines of address, codename and component.
fn address<'a>(targets: &'a str, codename: &str) -> Option<&'a str> {
    targets.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next()?;
        (words.next()? == codename && words.next()? == "main").then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_is_that_of_the_distribution_s_main_packages() {
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=bookworm\n"), Some("bookworm"));
        assert_eq!(codename("VERSION_CODENAME=\"\"\n"), None);
        let targets = "http://s/ bookworm-security main\nhttp://d/ bookworm contrib\nhttp://d/ bookworm main\n";
        assert_eq!(address(targets, "bookworm"), Some("http://d/"));
        assert_eq!(address(targets, "trixie"), None);
    }
}
