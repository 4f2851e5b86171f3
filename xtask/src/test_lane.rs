//! `cargo xtask test`: the lane of `make test`, everything that needs no engine, foreign tool, browser or other kernel.

use crate::Verdict;
use crate::nextest::Nextest;
use crate::preflight::{self, Lane};
use crate::repository::Repository;
use crate::summary::{self, TestCount};
use anyhow::Result;

/// Runs the lane. Arguments go to `cargo nextest run`.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<Verdict> {
    if preflight::run(repository, Lane::Test)? == Verdict::Failed {
        return Ok(Verdict::Failed);
    }
    let nextest = Nextest::new(repository)?;
    let results = nextest.run(arguments)?;
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
    Ok(Verdict::from_success(results.status.success()))
}
