//! `cargo xtask test-kubernetes`: tests with a Kubernetes cluster of their own, whose programs are built first.

use crate::TaskResult;
use crate::cluster_programs;
use crate::nextest::Nextest;
use crate::repository::Repository;
use crate::summary;
use anyhow::Result;

/// Builds the cluster's programs if need be, and runs the tests that the arguments choose; all without arguments.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    cluster_programs::run(repository)?;
    let chosen = ["--ignore-default-filter", "-E", "binary(=kubernetes)"].map(str::to_owned);
    let arguments = [&chosen[..], arguments].concat();
    let nextest = Nextest::new(repository)?;
    let results = nextest.run(&arguments)?;
    print!("{}", summary::sections(&results.cases, &nextest.ignored(&arguments)?));
    Ok(TaskResult::from_success(results.status.success()))
}
