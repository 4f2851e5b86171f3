//! JUnit reports as nextest writes them: test cases with their time and outcome.
//!
//! The scanner reads tags and attributes only. It knows the few forms that nextest's writer has: elements, an XML
//! declaration, comments, CDATA sections and the predefined entities.

use anyhow::{Context, Result, bail};

/// Test case of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TestCase {
    /// Binary that has the test, as nextest names it: `tare-lab::lab`.
    pub(crate) binary: String,
    /// Name of the test in its binary.
    pub(crate) name: String,
    /// Duration of the test, in seconds.
    pub(crate) seconds: f64,
    /// Result of its last run.
    pub(crate) outcome: TestOutcome,
}

/// Result of a test case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TestOutcome {
    /// Passed at once.
    #[default]
    Passed,
    /// Passed after at least one failed run.
    Flaky,
    /// Failed in its last run.
    Failed,
}

/// Reads the test cases of a report.
pub(crate) fn parse(report: &str) -> Result<Vec<TestCase>> {
    let mut cases: Vec<TestCase> = Vec::new();
    let mut open = false;
    let mut rest = report;
    while let Some(tag) = next_tag(&mut rest)? {
        match tag.name {
            "testcase" => {
                cases.push(case_of(&tag)?);
                open = !tag.closed;
            }
            "/testcase" => open = false,
            "failure" | "error" | "flakyFailure" | "flakyError" if open => {
                if let Some(case) = cases.last_mut() {
                    case.outcome = worse(case.outcome, tag.name);
                }
            }
            _ => {}
        }
    }
    Ok(cases)
}

fn worse(outcome: TestOutcome, element: &str) -> TestOutcome {
    match (outcome, element) {
        (TestOutcome::Failed, _) | (_, "failure" | "error") => TestOutcome::Failed,
        _ => TestOutcome::Flaky,
    }
}

fn case_of(tag: &XmlTag<'_>) -> Result<TestCase> {
    let attributes = attributes(tag.attributes)?;
    let value = |key: &str| {
        let found = attributes.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value.as_str()).with_context(|| format!("a <testcase> has no {key}"))
    };
    let time = value("time")?;
    Ok(TestCase {
        binary: value("classname")?.to_owned(),
        name: value("name")?.to_owned(),
        seconds: time.parse().with_context(|| format!("a <testcase> has the time {time:?}"))?,
        outcome: TestOutcome::Passed,
    })
}

/// Tag of an element. The name of an end tag begins with a slash.
struct XmlTag<'a> {
    name: &'a str,
    attributes: &'a str,
    closed: bool,
}

/// Sections without elements: their begin and end markers.
const OPAQUE: [(&str, &str); 3] = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];

/// Takes the next tag off the text. Returns `None` at its end.
fn next_tag<'a>(rest: &mut &'a str) -> Result<Option<XmlTag<'a>>> {
    loop {
        let Some(start) = rest.find('<') else { return Ok(None) };
        let text = &rest[start..];
        if let Some((begin, end)) = OPAQUE.iter().find(|(begin, _)| text.starts_with(begin)) {
            let body = &text[begin.len()..];
            let length = body.find(end).with_context(|| format!("{begin} without {end}"))?;
            *rest = &body[length + end.len()..];
            continue;
        }
        let length = tag_length(text).context("a tag without its end")?;
        *rest = &text[length..];
        return Ok(Some(split_tag(&text[1..length - 1])));
    }
}

/// Returns the length of a tag up to its `>`. A `>` in an attribute's quotes does not end it.
fn tag_length(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, '>') => return Some(at + 1),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    None
}

fn split_tag(inner: &str) -> XmlTag<'_> {
    let closed = inner.ends_with('/');
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let end = inner.find(char::is_whitespace).unwrap_or(inner.len());
    XmlTag { name: &inner[..end], attributes: &inner[end..], closed }
}

fn attributes(text: &str) -> Result<Vec<(&str, String)>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, value) = rest.split_once('=').context("an attribute without a value")?;
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            bail!("the attribute {name} has no quotes");
        };
        let (value, after) = value[1..]
            .split_once(quote)
            .with_context(|| format!("the attribute {name} is open"))?;
        pairs.push((name.trim(), unescape(value)));
        rest = after.trim_start();
    }
    Ok(pairs)
}

/// Replaces the predefined entities and numeric references. Other text is kept.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let entity =
            rest.split_once(';').and_then(|(name, after)| Some((entity(&name[1..])?, after)));
        if let Some((character, after)) = entity {
            plain.push(character);
            rest = after;
        } else {
            plain.push('&');
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    plain
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0" time="2.5">
    <testsuite name="tare-lab::lab" tests="3" disabled="0" errors="0" failures="1">
        <testcase name="[a &lt;b&gt; &amp; &#39;c&#x27;] x>y" classname="tare-lab::lab" timestamp="t" time="0.003"/>
        <testcase name="flaky" classname="tare-lab::lab" timestamp="t" time="1.5">
            <flakyFailure timestamp="t" time="0.1" message="thread &quot;x&quot;" type="test failure">panic <![CDATA[<failure>]]></flakyFailure>
            <system-out>&lt;failure&gt;</system-out>
        </testcase>
        <testcase name="bad" classname="tare-lab::lab" timestamp="t" time="0.25">
            <failure type="test failure with exit code 101"/>
            <rerunFailure type="test failure"><!-- <testcase> --></rerunFailure>
        </testcase>
    </testsuite>
    <testsuite name="tare-stats" tests="1" errors="0" failures="0">
        <testcase name="good" classname="tare-stats" timestamp="t" time="0">
        </testcase>
        <failure/>
    </testsuite>
</testsuites>
"#;

    #[test]
    fn cases_have_their_binary_time_and_outcome() {
        let cases = parse(REPORT).unwrap();
        let told: Vec<(&str, &str, f64, TestOutcome)> = cases
            .iter()
            .map(|case| (&*case.binary, &*case.name, case.seconds, case.outcome))
            .collect();
        assert_eq!(
            told,
            [
                ("tare-lab::lab", "[a <b> & 'c'] x>y", 0.003, TestOutcome::Passed),
                ("tare-lab::lab", "flaky", 1.5, TestOutcome::Flaky),
                ("tare-lab::lab", "bad", 0.25, TestOutcome::Failed),
                ("tare-stats", "good", 0.0, TestOutcome::Passed),
            ]
        );
    }

    #[test]
    fn unknown_entities_stay() {
        assert_eq!(unescape("a & b &nbsp; &amp"), "a & b &nbsp; &amp");
    }

    #[test]
    fn damaged_reports_are_errors() {
        for report in ["<testcase", "<testcase name=x>", "<testcase name=\"x\"/>", "<!-- "] {
            assert!(parse(report).is_err(), "{report}");
        }
        assert_eq!(parse("").unwrap(), []);
    }
}
