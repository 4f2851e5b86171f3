//! Debian package, `tare_VERSION_ARCH.deb`: the files of a system's package, the AppArmor profile as a configuration file, and
//! the scripts of `packaging/deb`, which load and remove the profile.

use super::Workspace;
use super::contents::Contents;
use super::file_tree::{self, PackageFile};
use super::target::DistTarget;
use crate::process;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Path of the AppArmor profile below `/`.
const PROFILE: &str = "etc/apparmor.d/tare";

/// Scripts of the package, in the checkout and in the package.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// Writes the package.
pub(super) fn write(
    workspace: &Workspace<'_>,
    target: &DistTarget,
    contents: &Contents,
) -> Result<()> {
    let root = workspace.scratch_directory(target, "deb")?;
    let files = files(contents)?;
    let mut control = vec![
        PackageFile::new("DEBIAN/control", control(target, workspace.release.version, &files)),
        PackageFile::new("DEBIAN/conffiles", format!("/{PROFILE}\n")),
    ];
    for script in SCRIPTS {
        let path = workspace.repository.path(Path::new("packaging/deb").join(script));
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        control.push(PackageFile::program(format!("DEBIAN/{script}"), text));
    }
    file_tree::write(&root, &control)?;
    file_tree::write(&root, &files)?;
    let name = format!("tare_{}_{}.deb", workspace.release.version, target.debian);
    let mut dpkg = workspace.repository.command("dpkg-deb");
    // One thread: the number of threads decides where blocks of the compressed file end.
    dpkg.args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"])
        .arg(&root)
        .arg(workspace.output.join(name));
    process::output(workspace.release.apply_to(&mut dpkg)).map(drop)
}

fn files(contents: &Contents) -> Result<Vec<PackageFile>> {
    let mut files = contents.system_files()?;
    files.push(PackageFile::new("usr/share/doc/tare/copyright", COPYRIGHT));
    files.push(PackageFile::new(PROFILE, contents.apparmor.as_slice()));
    Ok(files)
}

/// Returns the control file. Its size is in KiB, each file rounded up, as deb-substvars(5) defines it.
fn control(target: &DistTarget, version: &str, files: &[PackageFile]) -> String {
    let size: usize = files.iter().map(|file| file.content.len().div_ceil(1024)).sum();
    format!(
        "Package: tare
Version: {version}
Architecture: {}
Maintainer: The tare contributors
Installed-Size: {size}
Recommends: nftables
Section: net
Priority: optional
Description: measures the cost of container networks
 tare measures what each way of connecting containers costs on a machine, in
 throughput, latency and CPU time, against the same traffic without a container
 network. Every figure has a confidence interval, every network a paired ratio
 and a verdict.
 .
 A run needs no root, changes nothing on the host, and leaves nothing behind.
",
        target.debian
    )
}

/// Machine-readable copyright file of Debian.
const COPYRIGHT: &str = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: The tare contributors
License: Apache-2.0 or MIT

License: Apache-2.0
 The text is in /usr/share/doc/tare/LICENSE-APACHE.

License: MIT
 The text is in /usr/share/doc/tare/LICENSE-MIT.
";

#[cfg(test)]
mod tests {
    use super::super::contents;
    use super::super::target::TARGETS;
    use super::*;
    use crate::repository::Repository;

    #[test]
    fn the_control_file_has_the_fields_that_debian_requires() {
        let files = [PackageFile::new("a", vec![0; 1025]), PackageFile::new("b", "x")];
        let text = control(&TARGETS[1], "1.2.3", &files);
        let field = |name: &str| {
            let prefix = format!("{name}: ");
            text.lines().find_map(|line| line.strip_prefix(prefix.as_str()).map(str::to_owned))
        };
        assert_eq!(field("Package").as_deref(), Some("tare"));
        assert_eq!(field("Version").as_deref(), Some("1.2.3"));
        assert_eq!(field("Architecture").as_deref(), Some("arm64"));
        assert_eq!(field("Installed-Size").as_deref(), Some("3"));
        assert_eq!(field("Recommends").as_deref(), Some("nftables"));
        assert_eq!(field("Depends"), None, "the program is static");
        assert!(field("Maintainer").is_some() && field("Description").is_some(), "{text}");
        let (_, description) = text.split_once("Description: ").unwrap();
        let is_continued = |line: &str| line.starts_with(' ') && line.len() <= 80;
        assert!(description.lines().skip(1).all(is_continued), "{description}");
        assert!(text.ends_with('\n') && !text.contains("\n\n"), "{text}");
    }

    #[test]
    fn the_profile_is_a_file_of_the_package() {
        let files = files(&contents::example()).unwrap();
        assert!(files.iter().any(|file| file.path == PROFILE));
        assert!(files.iter().any(|file| file.path == "usr/share/doc/tare/copyright"));
    }

    #[test]
    fn the_scripts_are_there() {
        let repository = Repository::find().unwrap();
        for script in SCRIPTS {
            let text =
                fs::read_to_string(repository.path(format!("packaging/deb/{script}"))).unwrap();
            assert!(text.starts_with("#!/bin/sh\n") && text.contains("\nset -e"), "{script}");
        }
    }
}
