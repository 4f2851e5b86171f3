//! `cargo xtask test-kubernetes`: tests with a Kubernetes cluster of their own, and those of the lab's networks with its
//! programs, which are built first.

use crate::TaskResult;
use crate::cluster_programs;
use crate::nextest::Nextest;
use crate::repository::Repository;
use crate::summary;
use anyhow::Result;

/// Tests of the cluster, and test cases of the lab on `service-iptables` and `service-nftables`.
const CHOSEN: &str = "binary(=kubernetes) or (binary(=lab) and test(/::service-/))";

/// Builds the cluster's programs if need be, and runs the tests that the arguments choose; all without arguments.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    cluster_programs::run(repository)?;
    let chosen = ["--ignore-default-filter", "-E", CHOSEN].map(str::to_owned);
    let arguments = [&chosen[..], arguments].concat();
    let nextest = Nextest::new(repository)?;
    let results = nextest.run(&arguments)?;
    print!("{}", summary::sections(&results.cases, &nextest.ignored(&arguments)?));
    Ok(TaskResult::from_success(results.status.success()))
}
