//! `cargo xtask test`: the lane of `make test`, all tests that need no engine, foreign tool, browser or other kernel.

use crate::TaskResult;
use crate::nextest::Nextest;
use crate::preflight::{self, TestLane};
use crate::repository::Repository;
use crate::summary::{self, TestCount};
use anyhow::Result;
use std::num::NonZero;

/// Runs the lane. Arguments go to `cargo nextest run`.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    if preflight::run(repository, TestLane::Test) == TaskResult::Failed {
        return Ok(TaskResult::Failed);
    }
    let nextest = Nextest::new(repository)?;
    let results = nextest.run(&with_threads(arguments))?;
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

/// Tests per processor that run at a time: most tests wait half of their time for timers, daemons and namespaces.
const TESTS_PER_PROCESSOR: usize = 2;

/// Adds the number of tests at a time to the arguments, unless they have one.
fn with_threads(arguments: &[String]) -> Vec<String> {
    let has_threads = arguments.iter().any(|argument| {
        let option = argument.split('=').next().unwrap_or(argument);
        ["-j", "--jobs", "--test-threads"].contains(&option)
    });
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = format!("--test-threads={}", processors * TESTS_PER_PROCESSOR);
    let more = (!has_threads).then_some(threads);
    more.into_iter().chain(arguments.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_run_two_a_processor_unless_the_user_says_otherwise() {
        let named = ["a_test".to_owned()];
        let two = with_threads(&named);
        assert!(two[0].starts_with("--test-threads=") && two[1..] == named, "{two:?}");
        for said in [&["-j", "3"][..], &["--test-threads=1"], &["--jobs=2"]] {
            let said: Vec<String> = said.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(with_threads(&said), said);
        }
    }
}
