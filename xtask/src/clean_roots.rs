//! Root file systems of freshly installed Debian systems, in which tests install packages. They are kept below `target`, by
//! suite and by a hash of what they are made of. Tests lay a layer of their own over them, and never change them.

use crate::debian_site::DebianSite;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Suites in which packages are installed, and the packages that they have beside Debian's minimum: nftables, which ours recommend,
/// AppArmor, for which the Debian package has a profile, and rpm.
const SUITES: [(&str, &str); 2] =
    [("bookworm", "apparmor,nftables"), ("trixie", "apparmor,nftables,rpm")];

/// Directory on which tests mount their layers, each in a mount namespace of its own.
const LAYER: &str = "layer";

/// Makes the roots that are not there, as `target/roots/SUITE`.
pub(crate) fn make(repository: &Repository) -> Result<()> {
    let directory = repository.path("target/roots");
    let layer = directory.join(LAYER);
    fs::create_dir_all(&layer).with_context(|| format!("cannot make {}", layer.display()))?;
    for (suite, packages) in SUITES {
        let name = format!("{suite}-{}", key(suite, packages));
        if !directory.join(&name).is_dir() {
            install(repository, suite, packages, &directory, &name)?;
        }
        let link = directory.join(suite);
        let _ = fs::remove_file(&link);
        symlink(&name, &link).with_context(|| format!("cannot make {}", link.display()))?;
    }
    Ok(())
}

/// Installs a system. One that was interrupted is never taken for a whole one.
fn install(
    repository: &Repository,
    suite: &str,
    packages: &str,
    directory: &Path,
    name: &str,
) -> Result<()> {
    let unfinished = directory.join(format!("{name}.new"));
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)
            .with_context(|| format!("cannot remove {}", unfinished.display()))?;
    }
    let site = DebianSite::of_machine(repository)?;
    // Mounts and processes of the installation end with it, also when it is killed.
    let mut unshare = repository.command("unshare");
    unshare.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--"]);
    unshare.args(["debootstrap", "--variant=minbase", &format!("--include={packages}"), suite]);
    process::run(unshare.arg(&unfinished).arg(&site.address)).context(
        "a clean system cannot be installed: run where Debian's packages can be reached",
    )?;
    fs::rename(&unfinished, directory.join(name))
        .with_context(|| format!("cannot rename {}", unfinished.display()))
}

/// Returns the key of a root: the first digits of a hash of its packages.
fn key(suite: &str, packages: &str) -> String {
    let digest = Sha256::digest(format!("{suite} minbase {packages}"));
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_packages_make_another_root() {
        let [one, another] = SUITES.map(|(suite, packages)| key(suite, packages));
        assert!(one.len() == 12 && one != another);
        assert_ne!(key("trixie", "nftables"), key("trixie", "nftables,rpm"));
    }
}
