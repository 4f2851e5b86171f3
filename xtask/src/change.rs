//! Change under test: the commit it is compared with, and the paths that differ.

use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result};

/// Environment variable that names the commit to compare with.
const BASE_VARIABLE: &str = "TARE_CI_BASE";

/// Greatest age of a change in seconds. A fresh clone does not show what landed before; a change is made within one
/// session, which is shorter.
const LONGEST_SESSION: i64 = 4 * 3600;

/// Commit that a change is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangeBase {
    /// Name of the commit.
    pub(crate) commit: String,
    /// Origin of the choice, for the user.
    pub(crate) chosen_by: &'static str,
}

/// Chooses the base: the commit from the environment, else the newest commit that is older than a session, else the
/// first commit.
pub(crate) fn base(repository: &Repository) -> Result<ChangeBase> {
    match std::env::var(BASE_VARIABLE) {
        Ok(commit) if !commit.is_empty() => Ok(ChangeBase { commit, chosen_by: BASE_VARIABLE }),
        _ => base_of_history(repository),
    }
}

fn base_of_history(repository: &Repository) -> Result<ChangeBase> {
    let date = git(repository, &["show", "--no-patch", "--format=%ct", "HEAD"])?;
    let before = latest_base_date(&date)?;
    let commit = git(repository, &["rev-list", "-1", &format!("--before={before}"), "HEAD"])?;
    if !commit.is_empty() {
        return Ok(ChangeBase { commit, chosen_by: "the newest commit 4 hours older than HEAD" });
    }
    let roots = git(repository, &["rev-list", "--max-parents=0", "HEAD"])?;
    let root = roots.lines().last().context("HEAD has no first commit")?;
    Ok(ChangeBase { commit: root.to_owned(), chosen_by: "the first commit" })
}

/// Computes the latest date of a base, in seconds since 1970, for a commit of this date.
fn latest_base_date(commit_date: &str) -> Result<i64> {
    let date: i64 =
        commit_date.parse().with_context(|| format!("HEAD has the commit date {commit_date:?}"))?;
    Ok(date - LONGEST_SESSION)
}

/// Lists the paths that differ between the base and HEAD. A renamed file counts with both names.
pub(crate) fn paths(repository: &Repository, base: &ChangeBase) -> Result<Vec<String>> {
    let range = format!("{}..HEAD", base.commit);
    let listed = git(repository, &["diff", "--name-only", "--no-renames", "-z", &range, "--"])?;
    Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// Returns the text of a file as it was at the base. Fails if it was not there.
pub(crate) fn file_at(repository: &Repository, base: &ChangeBase, path: &str) -> Result<String> {
    git(repository, &["show", &format!("{}:{path}", base.commit)])
}

fn git(repository: &Repository, arguments: &[&str]) -> Result<String> {
    Ok(process::output(repository.command("git").args(arguments))?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_four_hours_older() {
        assert_eq!(latest_base_date("20000").unwrap(), 5600);
        assert!(latest_base_date("yesterday").is_err());
    }
}
