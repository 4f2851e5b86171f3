//! RPM package, `tare-VERSION-1.ARCH.rpm`: the files of a system's package, by a spec file that is generated.

use super::Workspace;
use super::contents::Contents;
use super::file_tree::{self, PackageFile};
use super::target::DistTarget;
use crate::process;
use anyhow::{Context, Result};
use std::fs;

/// Settings of rpmbuild. The build has no step that changes files, and writes neither the time nor the machine into the package.
const DEFINITIONS: [&str; 9] = [
    "_buildhost reproducible",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "build_mtime_policy clamp_to_source_date_epoch",
    "debug_package %{nil}",
    "_build_id_links none",
    "__os_install_post %{nil}",
    "optflags %{nil}",
    "_binary_payload w6.xzdio",
];

/// Writes the package.
pub(super) fn write(
    workspace: &Workspace<'_>,
    target: &DistTarget,
    contents: &Contents,
) -> Result<()> {
    let directory = workspace.scratch_directory(target, "rpm")?;
    let files = files(contents)?;
    let tree = directory.join("tree");
    file_tree::write(&tree, &files)?;
    let spec = directory.join("tare.spec");
    fs::write(&spec, spec_text(workspace.release.version, &files))
        .with_context(|| format!("cannot write {}", spec.display()))?;
    let mut rpmbuild = workspace.repository.command("rpmbuild");
    rpmbuild.args(["-bb", "--quiet", "--target", &format!("{}-linux", target.machine)]);
    for definition in DEFINITIONS {
        rpmbuild.args(["--define", definition]);
    }
    rpmbuild.args(["--define", &format!("_topdir {}", directory.display())]);
    rpmbuild.args(["--define", &format!("tree {}", tree.display())]).arg(&spec);
    process::output(workspace.release.apply_to(&mut rpmbuild))?;
    let name = format!("tare-{}-1.{}.rpm", workspace.release.version, target.machine);
    let built = directory.join("RPMS").join(target.machine).join(&name);
    fs::rename(&built, workspace.output.join(name))
        .with_context(|| format!("rpmbuild wrote no {}", built.display()))
}

/// Returns the files of the package. Systems with RPM packages need no AppArmor profile: it is a document.
fn files(contents: &Contents) -> Result<Vec<PackageFile>> {
    let mut files = contents.system_files()?;
    files.push(PackageFile::new("usr/share/doc/tare/apparmor", contents.apparmor.as_slice()));
    Ok(files)
}

/// Returns the spec file. `tree` is the macro of the directory with the files. Directories of shells are the package's, too: a system
/// without these shells does not have them.
fn spec_text(version: &str, files: &[PackageFile]) -> String {
    let mut paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    let mut listed = String::new();
    for path in paths {
        let mark = match path {
            path if path.contains("/LICENSE") => "%license ",
            path if path.starts_with("usr/share/doc/") => "%doc ",
            _ => "",
        };
        listed.push_str(&format!("{mark}/{path}\n"));
    }
    format!(
        "Name: tare
Version: {version}
Release: 1
Summary: Measures the cost of container networks
License: Apache-2.0 OR MIT
Recommends: nftables
AutoReqProv: no

%description
tare measures what each way of connecting containers costs on a machine, in
throughput, latency and CPU time, against the same traffic without a container
network. Every figure has a confidence interval, every network a paired ratio
and a verdict. A run needs no root, changes nothing on the host, and leaves
nothing behind.

%install
cp -a %{{tree}}/. %{{buildroot}}/

%files
%defattr(-,root,root)
%dir /usr/share/bash-completion
%dir /usr/share/bash-completion/completions
%dir /usr/share/fish
%dir /usr/share/fish/vendor_completions.d
%dir /usr/share/zsh
%dir /usr/share/zsh/site-functions
%dir /usr/share/doc/tare
{listed}"
    )
}

#[cfg(test)]
mod tests {
    use super::super::contents;
    use super::*;

    #[test]
    fn the_spec_lists_every_file_once() {
        let files = files(&contents::example()).unwrap();
        let text = spec_text("1.2.3", &files);
        assert!(text.starts_with("Name: tare\nVersion: 1.2.3\nRelease: 1\n"), "{text}");
        let (_, listed) = text.split_once("%dir /usr/share/doc/tare\n").unwrap();
        let mut listed: Vec<&str> =
            listed.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
        let mut paths: Vec<String> = files.iter().map(|file| format!("/{}", file.path)).collect();
        listed.sort_unstable();
        paths.sort_unstable();
        assert_eq!(listed, paths);
        assert!(text.contains("%license /usr/share/doc/tare/LICENSE-MIT\n"), "{text}");
        assert!(text.contains("\nRecommends: nftables\nAutoReqProv: no\n"), "{text}");
    }
}
