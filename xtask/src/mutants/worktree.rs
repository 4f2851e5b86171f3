//! Worktree for mutants: HEAD below `target/mutants/tree`, clean before and after each mutant.

use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Git worktree.
pub(super) struct Worktree<'a> {
    repository: &'a Repository,
    directory: PathBuf,
}

impl<'a> Worktree<'a> {
    /// Checks out HEAD, in the worktree of an earlier run if there is one.
    pub(super) fn at_head(repository: &'a Repository) -> Result<Self> {
        let directory = repository.path("target/mutants/tree");
        let worktree = Self { repository, directory };
        let head = process::output(repository.command("git").args(["rev-parse", "HEAD"]))?;
        if worktree.directory.join(".git").exists() {
            worktree.reset()?;
            process::output(worktree.git().args(["checkout", "--quiet", "--detach", head.trim()]))?;
        } else {
            // The directory may have been removed without git's knowledge.
            process::output(repository.command("git").args(["worktree", "prune"]))?;
            let mut add = repository.command("git");
            add.args(["worktree", "add", "--quiet", "--detach"]).arg(&worktree.directory);
            process::output(add.arg(head.trim()))?;
        }
        Ok(worktree)
    }

    /// Returns the root directory of the worktree.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Applies a diff. Fails if it does not fit the sources.
    pub(super) fn apply(&self, diff: &str) -> Result<()> {
        let file = self.repository.path("target/mutants/mutant.diff");
        fs::write(&file, diff).with_context(|| format!("cannot write {}", file.display()))?;
        process::output(self.git().args(["apply", "--"]).arg(&file)).map(drop)
    }

    /// Removes all changes and new files.
    pub(super) fn reset(&self) -> Result<()> {
        process::output(self.git().args(["checkout", "--quiet", "--force", "--", "."]))?;
        process::output(self.git().args(["clean", "--quiet", "-d", "--force"])).map(drop)
    }

    fn git(&self) -> Command {
        let mut git = self.repository.command("git");
        git.current_dir(&self.directory);
        git
    }
}
