//! `cargo xtask test`: the lane of `make test`, everything that needs no engine, foreign tool, browser or other kernel.

use crate::Verdict;
use crate::nextest::Nextest;
use crate::preflight::{self, Lane};
use crate::repository::Repository;
use crate::summary::{self, TestCount};
use anyhow::Result;
use std::num::NonZero;

/// Runs the lane. Arguments go to `cargo nextest run`.
pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<Verdict> {
    if preflight::run(repository, Lane::Test)? == Verdict::Failed {
        return Ok(Verdict::Failed);
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
    Ok(Verdict::from_success(results.status.success()))
}

/// Tests that run at a time, for each processor: most of them wait for timers, daemons and namespaces half of their time.
const TESTS_PER_PROCESSOR: usize = 2;

/// Arguments with a number of tests at a time, unless they have one.
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
