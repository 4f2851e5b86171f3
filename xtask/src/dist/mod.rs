//! `cargo xtask dist [TARGET..]`: everything that is published of a version, in `target/dist`. For each target: archive, Debian
//! package, RPM package, wheel, image, debug symbols and bill of materials. For all targets: manifest for krew and checksums.
//!
//! The same commit gives the same bytes on every machine with the same tools: times are that of the commit, names are sorted,
//! owners are root, and no package names the machine that built it.

mod archive;
mod binary;
mod checksums;
mod contents;
mod deb;
mod file_tree;
mod image;
mod krew;
mod release;
mod rpm;
mod target;
mod wheel;

use crate::TaskResult;
use crate::repository::Repository;
use anyhow::{Context, Result};
use contents::Contents;
use release::Release;
use std::fs;
use std::path::{Path, PathBuf};
use target::DistTarget;

/// Directories of one run of the task.
struct Workspace<'a> {
    repository: &'a Repository,
    release: Release,
    /// Intermediate files, removed at the end.
    scratch: PathBuf,
    /// Finished packages.
    output: PathBuf,
}

/// Builds the packages of the targets, or of all targets if none is named.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let targets = target::parse(arguments)?;
    let scratch = repository.path("target/dist.new");
    let output = scratch.join("output");
    remove(&scratch)?;
    file_tree::create_directory(&output)?;
    let workspace =
        Workspace { repository, release: Release::of_checkout(repository)?, scratch, output };
    binary::compile(&workspace, &targets)?;
    let build = |target: &&'static DistTarget| workspace.build(target);
    let archives: Vec<(&DistTarget, PathBuf)> = targets.iter().map(build).collect::<Result<_>>()?;
    krew::write(&workspace, &archives)?;
    checksums::write(&workspace.output)?;
    let finished = repository.path("target/dist");
    remove(&finished)?;
    fs::rename(&workspace.output, &finished)
        .with_context(|| format!("cannot make {}", finished.display()))?;
    remove(&workspace.scratch)?;
    print!("{}", checksums::listing(&finished)?);
    Ok(TaskResult::Passed)
}

impl Workspace<'_> {
    /// Builds the packages of a target, and returns the path of its archive.
    fn build<'a>(&self, target: &'a DistTarget) -> Result<(&'a DistTarget, PathBuf)> {
        let program = binary::strip(self, target)?;
        let contents = Contents::collect(self, target, &program)?;
        let archive = archive::write(self, target, &contents)?;
        deb::write(self, target, &contents)?;
        rpm::write(self, target, &contents)?;
        wheel::write(self, target, &contents)?;
        image::write(self, target, &program)?;
        Ok((target, archive))
    }

    /// Returns the path of a finished file, `tare-VERSION-TARGET.SUFFIX`.
    fn named_output(&self, target: &DistTarget, suffix: &str) -> PathBuf {
        self.output.join(format!("{}.{suffix}", self.release.name(target)))
    }

    /// Makes an empty directory for intermediate files of a target.
    fn scratch_directory(&self, target: &DistTarget, name: &str) -> Result<PathBuf> {
        let directory = self.scratch.join(target.triple).join(name);
        file_tree::create_directory(&directory)?;
        Ok(directory)
    }
}

fn remove(directory: &Path) -> Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    fs::remove_dir_all(directory).with_context(|| format!("cannot remove {}", directory.display()))
}
