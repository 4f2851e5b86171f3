//! Ignored tests and their reasons, read from `cargo nextest list`.
//!
//! A test that cannot run on this machine is a trial of libtest-mimic with the ignored flag and the reason as its kind.
//! nextest lists it as `[REASON] NAME`.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Reason of tests without one.
pub(crate) const NO_REASON: &str = "no reason given";

/// Ignored test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IgnoredTest {
    /// Binary that has the test.
    pub(crate) binary: String,
    /// Name without the reason.
    pub(crate) name: String,
    /// Reason, or [`NO_REASON`].
    pub(crate) reason: String,
}

impl IgnoredTest {
    /// Splits the listed name into reason and name.
    pub(crate) fn from_listed(binary: &str, listed: &str) -> Self {
        let split = listed.strip_prefix('[').and_then(|rest| rest.split_once("] "));
        let (reason, name) = split.unwrap_or((NO_REASON, listed));
        Self { binary: binary.to_owned(), name: name.to_owned(), reason: reason.to_owned() }
    }
}

#[derive(Deserialize)]
struct TestListing {
    #[serde(rename = "rust-suites")]
    suites: BTreeMap<String, ListedSuite>,
}

#[derive(Deserialize)]
struct ListedSuite {
    #[serde(default)]
    testcases: BTreeMap<String, ListedTest>,
}

#[derive(Deserialize)]
struct ListedTest {
    ignored: bool,
    #[serde(rename = "filter-match")]
    filter_match: FilterMatch,
}

#[derive(Deserialize)]
struct FilterMatch {
    status: String,
}

/// Reads the ignored tests that match the filter from nextest's listing in JSON.
pub(crate) fn parse(listing: &str) -> Result<Vec<IgnoredTest>> {
    let listing: TestListing =
        serde_json::from_str(listing).context("cannot read the output of `cargo nextest list`")?;
    let mut ignored = Vec::new();
    for (binary, suite) in &listing.suites {
        for (name, test) in &suite.testcases {
            if test.ignored && test.filter_match.status == "matches" {
                ignored.push(IgnoredTest::from_listed(binary, name));
            }
        }
    }
    Ok(ignored)
}

/// Groups tests by their reason, in the order of reasons.
pub(crate) fn by_reason(tests: &[IgnoredTest]) -> BTreeMap<&str, Vec<&IgnoredTest>> {
    let mut groups: BTreeMap<&str, Vec<&IgnoredTest>> = BTreeMap::new();
    for test in tests {
        groups.entry(&test.reason).or_default().push(test);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = r#"{"rust-build-meta": {}, "test-count": 4, "rust-suites": {
        "tare-lab::lab": {"binary-id": "tare-lab::lab", "status": "listed", "testcases": {
            "[needs openvswitch] carries_tcp_over_ipv4::ovs":
                {"kind": "test", "ignored": true, "filter-match": {"status": "matches"}},
            "[needs openvswitch] of_other_kernels::ovs":
                {"ignored": true, "filter-match": {"status": "matches"}},
            "carries_tcp_over_ipv4::bridge":
                {"ignored": false, "filter-match": {"status": "mismatch", "reason": "ignored"}}}},
        "tare-tests::soak": {"status": "skipped", "testcases": {}},
        "tare-tests::vm": {"testcases": {
            "modules::x": {"ignored": true, "filter-match": {"status": "mismatch", "reason": "default-filter"}},
            "odd": {"ignored": true, "filter-match": {"status": "matches"}}}}}}"#;

    #[test]
    fn ignored_tests_of_the_lane_have_a_reason() {
        let tests = parse(LISTING).unwrap();
        let groups = by_reason(&tests);
        let counts: Vec<(&str, usize)> =
            groups.iter().map(|(reason, tests)| (*reason, tests.len())).collect();
        assert_eq!(counts, [("needs openvswitch", 2), (NO_REASON, 1)]);
        assert_eq!(groups["needs openvswitch"][0].name, "carries_tcp_over_ipv4::ovs");
        assert_eq!(groups[NO_REASON][0].binary, "tare-tests::vm");
    }

    #[test]
    fn a_name_with_brackets_elsewhere_is_a_name() {
        let test = IgnoredTest::from_listed("b", "a[0] x");
        assert_eq!((&*test.reason, &*test.name), (NO_REASON, "a[0] x"));
    }

    #[test]
    fn another_format_is_an_error() {
        assert!(parse("{}").is_err());
    }
}
