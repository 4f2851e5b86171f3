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

/// Root file system of a Debian system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CleanRoot {
    /// Name below `target/roots`.
    name: &'static str,
    suite: &'static str,
    /// Packages beside Debian's minimum, with commas between them.
    packages: &'static str,
}

/// Systems in which our packages are installed: with nftables, which ours recommend, AppArmor, for which the Debian package
/// has a profile, and rpm.
pub(crate) const FOR_PACKAGES: [CleanRoot; 2] = [
    CleanRoot { name: "bookworm", suite: "bookworm", packages: "apparmor,nftables" },
    CleanRoot { name: "trixie", suite: "trixie", packages: "apparmor,nftables,rpm" },
];

/// System with Podman 5, which connects the containers of an ordinary user by pasta.
pub(crate) const PODMAN_5: CleanRoot = CleanRoot {
    name: "podman-5",
    suite: "trixie",
    packages: "podman,crun,netavark,aardvark-dns,passt,slirp4netns,uidmap,iproute2,nftables,procps",
};

/// Directory on which tests mount their layers, each in a mount namespace of its own.
const LAYER: &str = "layer";

/// Makes the roots that are not there, as `target/roots/NAME`.
pub(crate) fn make(repository: &Repository, roots: &[CleanRoot]) -> Result<()> {
    let directory = repository.path("target/roots");
    let layer = directory.join(LAYER);
    fs::create_dir_all(&layer).with_context(|| format!("cannot make {}", layer.display()))?;
    for root in roots {
        let directory_name = format!("{}-{}", root.name, root.key());
        if !directory.join(&directory_name).is_dir() {
            install(repository, root, &directory, &directory_name)?;
        }
        let link = directory.join(root.name);
        let _ = fs::remove_file(&link);
        symlink(&directory_name, &link)
            .with_context(|| format!("cannot make {}", link.display()))?;
    }
    Ok(())
}

/// Installs a system. One that was interrupted is never taken for a whole one.
fn install(
    repository: &Repository,
    &CleanRoot { suite, packages, .. }: &CleanRoot,
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

impl CleanRoot {
    /// Returns the key of the root: the first digits of a hash of its packages.
    fn key(&self) -> String {
        let digest = Sha256::digest(format!("{} minbase {}", self.suite, self.packages));
        digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_packages_make_another_root() {
        let [one, another] = FOR_PACKAGES.map(|root| root.key());
        assert!(one.len() == 12 && one != another);
        assert_ne!(FOR_PACKAGES[1].key(), PODMAN_5.key());
    }
}
