//! Summary after a run of tests: the slowest tests, the repeated and the skipped ones, and the count.

use crate::ignored_tests::{IgnoredTest, by_reason};
use crate::junit::{TestCase, TestOutcome};
use std::fmt;

/// Number of slowest tests shown.
const SLOWEST: usize = 10;

/// Number of tests by their result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCount {
    /// Tests that passed, at once or after a repetition.
    pub(crate) passed: usize,
    /// Tests that failed.
    pub(crate) failed: usize,
    /// Tests that this machine cannot run.
    pub(crate) skipped: usize,
}

impl TestCount {
    /// Counts the tests of a run.
    pub(crate) fn new(cases: &[TestCase], ignored: &[IgnoredTest]) -> Self {
        let failed = cases.iter().filter(|case| case.outcome == TestOutcome::Failed).count();
        Self { passed: cases.len() - failed, failed, skipped: ignored.len() }
    }
}

impl std::ops::AddAssign for TestCount {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

// Line in the format that CI reads as the end of a test run.
impl fmt::Display for TestCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Writes the sections of the summary, without its last line, the [`TestCount`].
pub(crate) fn sections(cases: &[TestCase], ignored: &[IgnoredTest]) -> String {
    let mut text = String::new();
    section(&mut text, "slowest tests:", slowest(cases));
    section(&mut text, "flaky tests, passed after a repetition:", with(cases, TestOutcome::Flaky));
    section(&mut text, "skipped tests:", skipped(ignored));
    section(&mut text, "failed tests:", with(cases, TestOutcome::Failed));
    text
}

fn section(text: &mut String, title: &str, rows: Vec<String>) {
    if rows.is_empty() {
        return;
    }
    text.push_str(title);
    text.push('\n');
    for row in rows {
        text.push_str("  ");
        text.push_str(&row);
        text.push('\n');
    }
}

fn slowest(cases: &[TestCase]) -> Vec<String> {
    let mut cases: Vec<&TestCase> = cases.iter().collect();
    cases.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    cases
        .iter()
        .take(SLOWEST)
        .map(|case| format!("{:7.1} s  {} {}", case.seconds, case.binary, case.name))
        .collect()
}

fn with(cases: &[TestCase], outcome: TestOutcome) -> Vec<String> {
    let chosen = cases.iter().filter(|case| case.outcome == outcome);
    chosen.map(|case| format!("{} {}", case.binary, case.name)).collect()
}

fn skipped(ignored: &[IgnoredTest]) -> Vec<String> {
    let groups = by_reason(ignored);
    groups.iter().map(|(reason, tests)| format!("{:5}  {reason}", tests.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, seconds: f64, outcome: TestOutcome) -> TestCase {
        TestCase { binary: "b".to_owned(), name: name.to_owned(), seconds, outcome }
    }

    #[test]
    fn all_sections_and_the_count() {
        let cases = [
            case("quick", 0.04, TestOutcome::Passed),
            case("slow", 61.25, TestOutcome::Flaky),
            case("bad", 3.0, TestOutcome::Failed),
        ];
        let ignored = [
            IgnoredTest::from_listed("b", "[needs ipvlan] x"),
            IgnoredTest::from_listed("b", "[needs ipvlan] y"),
        ];
        assert_eq!(
            sections(&cases, &ignored),
            "slowest tests:\n     61.2 s  b slow\n      3.0 s  b bad\n      0.0 s  b quick\n\
             flaky tests, passed after a repetition:\n  b slow\n\
             skipped tests:\n      2  needs ipvlan\n\
             failed tests:\n  b bad\n"
        );
        assert_eq!(TestCount::new(&cases, &ignored).to_string(), "2 passed, 1 failed, 2 skipped");
    }

    #[test]
    fn ten_slowest_are_shown() {
        let cases: Vec<TestCase> =
            (0..30_u32).map(|n| case(&n.to_string(), f64::from(n), TestOutcome::Passed)).collect();
        assert_eq!(slowest(&cases).len(), SLOWEST);
        assert!(slowest(&cases)[0].ends_with("b 29"));
    }

    #[test]
    fn nothing_has_no_sections() {
        assert_eq!(sections(&[], &[]), "");
        assert_eq!(TestCount::default().to_string(), "0 passed, 0 failed, 0 skipped");
    }
}
