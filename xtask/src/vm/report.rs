//! Output of test binaries that run without nextest: counts and ignored tests, read from libtest's lines.

use crate::ignored_tests::IgnoredTest;
use crate::summary::TestCount;

/// Test results of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GuestReport {
    /// Tests that passed.
    pub(crate) passed: usize,
    /// Tests that failed.
    pub(crate) failed: usize,
    /// Tests that were ignored.
    pub(crate) ignored: Vec<IgnoredTest>,
}

impl GuestReport {
    /// Returns the number of tests by their result.
    pub(crate) fn count(&self) -> TestCount {
        TestCount { passed: self.passed, failed: self.failed, skipped: self.ignored.len() }
    }
}

/// Parses lines such as `test NAME ... ignored` and `test result: ok. 3 passed; 0 failed; ..`.
pub(super) fn parse(log: &str) -> GuestReport {
    let mut report = GuestReport::default();
    for line in log.lines() {
        if let Some(result) = line.strip_prefix("test result: ") {
            report.passed += count_before(result, " passed");
            report.failed += count_before(result, " failed");
        } else if let Some(name) = ignored_name(line) {
            report.ignored.push(IgnoredTest::from_listed("vm", name));
        }
    }
    report
}

/// Returns the number in front of a word: `ok. 3 passed; 0 failed` has 3 before ` passed`.
fn count_before(result: &str, word: &str) -> usize {
    let before = result.split_once(word).map_or("", |(before, _)| before);
    let number = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or("");
    number.parse().unwrap_or(0)
}

fn ignored_name(line: &str) -> Option<&str> {
    let (name, verdict) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    (verdict == "ignored" || verdict.starts_with("ignored,")).then_some(name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_binaries_are_added() {
        let log = "running 2 tests\ntest modules::a ... ok\n\
                   test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 2.00s\n\
                   test [needs weaver] weave_is::carried   ... ignored\n\
                   test                b ... ok\n\
                   test [Root] x  ... FAILED\n\
                   test result: FAILED. 11 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out\n";
        let report = parse(log);
        assert_eq!((report.passed, report.failed), (12, 2));
        assert_eq!(
            report.ignored,
            [IgnoredTest::from_listed("vm", "[needs weaver] weave_is::carried")]
        );
        assert_eq!(report.count().to_string(), "12 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(parse("test result: ok\ntest x\nignored\n"), GuestReport::default());
    }
}
