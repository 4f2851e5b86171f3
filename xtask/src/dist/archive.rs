//! Archive for all systems, `tare-VERSION-TARGET.tar.gz`: one directory with the program and all that belongs to it.

use super::Workspace;
use super::contents::{Contents, below};
use super::file_tree::{self, PackageFile};
use super::target::DistTarget;
use crate::process;
use anyhow::Result;
use std::path::PathBuf;

/// Writes the archive and returns its path.
pub(super) fn write(
    workspace: &Workspace<'_>,
    target: &DistTarget,
    contents: &Contents,
) -> Result<PathBuf> {
    let root = workspace.scratch_directory(target, "archive")?;
    let name = workspace.release.name(target);
    file_tree::write(&root, &below(&format!("{name}/"), &files(contents)))?;
    let path = workspace.named_output(target, "tar.gz");
    let mut tar = workspace.repository.command("tar");
    tar.args([
        "--create",
        "--format=gnu",
        "--sort=name",
        "--numeric-owner",
        "--owner=0",
        "--group=0",
    ])
    .arg(format!("--mtime=@{}", workspace.release.epoch))
    .args(["--use-compress-program", "gzip --no-name --best"])
    .arg("--file")
    .arg(&path)
    .arg("--directory")
    .arg(&root)
    .arg(&name);
    process::output(workspace.release.apply_to(&mut tar))?;
    Ok(path)
}

/// Returns the files of the archive, below its directory.
fn files(contents: &Contents) -> Vec<PackageFile> {
    let mut files = vec![
        PackageFile::program("tare", contents.program.as_slice()),
        PackageFile::new("apparmor/tare", contents.apparmor.as_slice()),
    ];
    files.extend(below("man/man1/", &contents.manual));
    files.extend(contents.completions.iter().map(|file| PackageFile {
        path: format!("completions/{}", file.path.rsplit('/').next().unwrap_or(&file.path)),
        ..file.clone()
    }));
    files.extend(contents.documents.iter().cloned());
    files
}

#[cfg(test)]
mod tests {
    use super::super::contents;
    use super::*;

    #[test]
    fn the_archive_has_the_program_and_all_that_belongs_to_it() {
        let files = files(&contents::example());
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let expected = [
            "tare",
            "apparmor/tare",
            "man/man1/tare.1",
            "completions/tare",
            "completions/_tare",
            "completions/tare.fish",
            "README.md",
        ];
        assert_eq!(paths[..expected.len()], expected);
        assert!(paths.contains(&"LICENSE-MIT") && paths.contains(&"LICENSE-APACHE"), "{paths:?}");
    }
}
