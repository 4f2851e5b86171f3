//! `cargo xtask ci`: runs the parts of `make test-system` that the change under test can break.

use crate::TaskResult;
use crate::affected;
use crate::change::{self, ChangeBase};
use crate::lock_file;
use crate::parts::TestPart;
use crate::process;
use crate::repository::Repository;
use crate::system_lane::{self, GuestScope};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// Parts that take longer than all others together, so that they run before a release and not for every change.
const BEFORE_RELEASE: [TestPart; 1] = [TestPart::Packages];

/// Decides which parts run, prints the reasons, and runs them.
pub(crate) fn run(repository: &Repository) -> Result<TaskResult> {
    let base = change::base(repository)?;
    let changed = change::paths(repository, &base)?;
    let has_new_versions = lock_file::has_other_versions(repository, &base)?;
    let paths: Vec<&str> = changed
        .iter()
        .map(String::as_str)
        // What uses a dependency that it did not use before is a path of its own.
        .filter(|path| *path != affected::LOCK || has_new_versions)
        .collect();
    let causes = affected::by_part(&paths);
    print!("{}", decision(&base, changed.len(), &causes));
    let parts: BTreeSet<TestPart> =
        causes.into_keys().filter(|part| !BEFORE_RELEASE.contains(part)).collect();
    if parts.is_empty() {
        return Ok(TaskResult::Passed);
    }
    // Packages and engines that only these parts need.
    process::run(repository.command("make").args(["--no-print-directory", "system-tools"]))?;
    system_lane::run_parts(repository, &parts, GuestScope::Short)
}

fn decision(base: &ChangeBase, changed: usize, causes: &BTreeMap<TestPart, &str>) -> String {
    let mut text =
        format!("tare ci: {changed} files differ from {} ({})\n", base.commit, base.chosen_by);
    for part in TestPart::ALL {
        let line = match causes.get(&part) {
            Some(path) if BEFORE_RELEASE.contains(&part) => {
                format!(
                    "  {part}: runs before a release (make test-system PARTS={part}), because of {path}\n"
                )
            }
            Some(path) => format!("  {part}: runs, because of {path}\n"),
            None => format!("  {part}: does not run, no file that it depends on differs\n"),
        };
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decision_names_the_cause_of_each_part() {
        let base = ChangeBase { commit: "abc".to_owned(), chosen_by: "TARE_CI_BASE" };
        let causes = BTreeMap::from([
            (TestPart::Vm, "tests/vm/main.rs"),
            (TestPart::Packages, "packaging/deb/postinst"),
        ]);
        assert_eq!(
            decision(&base, 2, &causes),
            "tare ci: 2 files differ from abc (TARE_CI_BASE)\n\
             \x20 tools: does not run, no file that it depends on differs\n\
             \x20 engines: does not run, no file that it depends on differs\n\
             \x20 page: does not run, no file that it depends on differs\n\
             \x20 packages: runs before a release (make test-system PARTS=packages), because of packaging/deb/postinst\n\
             \x20 vm: runs, because of tests/vm/main.rs\n"
        );
    }
}
