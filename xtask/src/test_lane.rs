//! `cargo xtask test`: the lane of `make test`, all tests that need no engine, foreign tool, browser or other kernel.

use crate::TaskResult;
use crate::nextest::{self, Nextest};
use crate::preflight::{self, TestLane};
use crate::repository::Repository;
use crate::summary::{self, TestCount};
use anyhow::Result;

/// Runs the lane. Arguments go to `cargo nextest run`.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    if preflight::run(repository, TestLane::Test) == TaskResult::Failed {
        return Ok(TaskResult::Failed);
    }
    let nextest = Nextest::new(repository)?;
    let results = nextest.run(&nextest::with_threads(arguments))?;
    let ignored = nextest.ignored(arguments)?;
    let count = TestCount::new(&results.cases, &ignored);
    print!("{}", summary::sections(&results.cases, &ignored));
    if !results.status.success() && count.failed == 0 {
        eprintln!(
            "tare test: failed: nextest ended with {} although no test failed",
            results.status
        );
    }
    println!("{count}");
    Ok(TaskResult::from_success(results.status.success()))
}
