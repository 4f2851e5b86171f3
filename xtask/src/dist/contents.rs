//! Contents of all kinds of packages: program, manual pages, completions, documents.

use super::Workspace;
use super::file_tree::PackageFile;
use super::target::DistTarget;
use crate::bill_of_materials;
use crate::directory;
use crate::install::{COMPLETIONS, MANUAL};
use crate::process;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Documents of the checkout that are in every package.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// AppArmor profile in the checkout.
const APPARMOR: &str = "packaging/apparmor/tare";

/// Contents of the packages of a target. File names are those without directories.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    pub(crate) program: Vec<u8>,
    /// Manual pages.
    pub(crate) manual: Vec<PackageFile>,
    /// Completions, with their paths below the prefix.
    pub(crate) completions: Vec<PackageFile>,
    /// Documents, licences and the bill of materials.
    pub(crate) documents: Vec<PackageFile>,
    pub(crate) apparmor: Vec<u8>,
}

impl Contents {
    /// Collects the contents. The program writes its own manual pages and completions.
    pub(super) fn collect(
        workspace: &Workspace<'_>,
        target: &DistTarget,
        program: &Path,
    ) -> Result<Self> {
        let repository = workspace.repository;
        let directory = workspace.scratch_directory(target, "manual")?;
        process::output(target.command(repository, program).arg("manual").arg(&directory))?;
        let completion = |(shell, path): &(&str, &str)| {
            let mut command = target.command(repository, program);
            process::output(command.args(["completions", shell]))
                .map(|text| PackageFile::new(*path, text))
        };
        let document =
            |name: &&str| read(&repository.path(name)).map(|text| PackageFile::new(*name, text));
        let mut documents: Vec<PackageFile> =
            DOCUMENTS.iter().map(document).collect::<Result<_>>()?;
        documents.push(PackageFile::new("tare.cdx.json", write_bill(workspace, target)?));
        Ok(Self {
            program: read(program)?,
            manual: directory_files(&directory)?,
            completions: COMPLETIONS.iter().map(completion).collect::<Result<_>>()?,
            documents,
            apparmor: read(&repository.path(APPARMOR))?,
        })
    }

    /// Returns the files of a system's package, below `/`.
    pub(super) fn system_files(&self) -> Result<Vec<PackageFile>> {
        let mut files = vec![PackageFile::program("usr/bin/tare", self.program.as_slice())];
        for page in &self.manual {
            files.push(PackageFile::compressed(
                &format!("usr/{MANUAL}/{}", page.path),
                &page.content,
            )?);
        }
        files.extend(below("usr/", &self.completions));
        files.extend(below("usr/share/doc/tare/", &self.documents));
        Ok(files)
    }
}

/// Returns files with a prefix before their paths.
pub(super) fn below(prefix: &str, files: &[PackageFile]) -> Vec<PackageFile> {
    let moved =
        |file: &PackageFile| PackageFile { path: format!("{prefix}{}", file.path), ..file.clone() };
    files.iter().map(moved).collect()
}

/// Writes the bill of materials to the release, and returns it.
fn write_bill(workspace: &Workspace<'_>, target: &DistTarget) -> Result<String> {
    let bill = bill_of_materials::text(workspace.repository, target.triple)?;
    let path = workspace.named_output(target, "cdx.json");
    fs::write(&path, &bill).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(bill)
}

fn directory_files(directory: &Path) -> Result<Vec<PackageFile>> {
    let file = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(PackageFile::new(name, read(path)?))
    };
    directory::entries(directory)?.iter().map(file).collect()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Made-up contents for tests of packages.
#[cfg(test)]
pub(super) fn example() -> Contents {
    Contents {
        program: b"\x7fELF".to_vec(),
        manual: vec![PackageFile::new("tare.1", ".TH tare 1")],
        completions: COMPLETIONS.iter().map(|(_, path)| PackageFile::new(*path, "x")).collect(),
        documents: DOCUMENTS.iter().map(|name| PackageFile::new(*name, "x")).collect(),
        apparmor: b"profile tare".to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Repository;

    #[test]
    fn a_system_s_package_has_every_file_at_its_place() {
        let files = example().system_files().unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "usr/bin/tare",
                "usr/share/man/man1/tare.1.gz",
                "usr/share/bash-completion/completions/tare",
                "usr/share/zsh/site-functions/_tare",
                "usr/share/fish/vendor_completions.d/tare.fish",
                "usr/share/doc/tare/README.md",
                "usr/share/doc/tare/CHANGELOG.md",
                "usr/share/doc/tare/LICENSE-APACHE",
                "usr/share/doc/tare/LICENSE-MIT",
            ]
        );
        assert_eq!(files[0].mode, 0o755);
    }

    #[test]
    fn the_checkout_has_all_documents() {
        let repository = Repository::find().unwrap();
        for file in DOCUMENTS.iter().chain([&APPARMOR]) {
            assert!(repository.path(file).is_file(), "{file}");
        }
    }
}
