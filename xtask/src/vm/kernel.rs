//! Kernel of the guest: Debian's newest of this distribution, or of its backports if that is too old, unpacked below
//! `target/vm`. Nothing is installed.

use super::apt::{self, Apt};
use crate::process;
use crate::repository::Repository;
use crate::version::is_at_least;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Oldest version with all devices of the lab's networks: netkit came with Linux 6.7.
const LEAST: &str = "6.7";

/// Prefix of kernel packages.
const PREFIX: &str = "linux-image-";

/// Returns the image of a kernel, and downloads it first if necessary.
pub(super) fn image(repository: &Repository) -> Result<PathBuf> {
    let directory = repository.path("target/vm");
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    if let Some(package) = unpacked(&directory)? {
        return Ok(image_of(&directory, &package));
    }
    let apt = Apt::of_machine(repository);
    let package = apt.newest_kernel()?.context(
        "apt knows no package linux-image-amd64: run `sudo apt-get update` on Debian, whose kernel this needs",
    )?;
    if !has_all(&package) {
        match from_backports(repository, &directory) {
            Ok(newer) => return Ok(image_of(&directory, &newer)),
            Err(error) => eprintln!(
                "backports cannot be had ({error:#}): {package} lacks what the newest networks need"
            ),
        }
    }
    if !is_unpacked(&directory, &package) {
        unpack(repository, &apt, &directory, &package)?;
    }
    Ok(image_of(&directory, &package))
}

fn from_backports(repository: &Repository, directory: &Path) -> Result<String> {
    let apt = apt::backports(repository, directory)?;
    apt.update()?;
    let package = apt.newest_kernel()?.context("they have no package linux-image-amd64")?;
    unpack(repository, &apt, directory, &package)?;
    Ok(package)
}

/// Returns an already unpacked kernel with all devices. Returns `None` if there is none.
fn unpacked(directory: &Path) -> Result<Option<String>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names
        .filter(|name| name.starts_with(PREFIX) && has_all(name))
        .find(|name| is_unpacked(directory, name)))
}

fn is_unpacked(directory: &Path, package: &str) -> bool {
    directory.join(package).join("done").exists()
}

fn has_all(package: &str) -> bool {
    is_at_least(version_of(package), LEAST)
}

fn version_of(package: &str) -> &str {
    package.strip_prefix(PREFIX).unwrap_or(package)
}

fn image_of(directory: &Path, package: &str) -> PathBuf {
    directory.join(package).join("boot").join(format!("vmlinuz-{}", version_of(package)))
}

fn unpack(repository: &Repository, apt: &Apt<'_>, directory: &Path, package: &str) -> Result<()> {
    let unpacked = directory.join(package);
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked)
            .with_context(|| format!("cannot remove {}", unpacked.display()))?;
    }
    let downloads = directory.join("downloads");
    let archive = apt.download(package, &downloads)?;
    process::run(repository.command("dpkg").arg("-x").arg(&archive).arg(&unpacked))?;
    fs::remove_dir_all(&downloads)?;
    process::run(repository.command("depmod").arg("-b").arg(&unpacked).arg(version_of(package)))?;
    fs::write(unpacked.join("done"), "")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_known_by_its_package() {
        let package = "linux-image-6.12.48+deb13-amd64";
        assert!(has_all(package));
        assert!(!has_all("linux-image-6.1.0-40-amd64"));
        assert_eq!(
            image_of(Path::new("/vm"), package),
            Path::new("/vm/linux-image-6.12.48+deb13-amd64/boot/vmlinuz-6.12.48+deb13-amd64")
        );
    }
}
