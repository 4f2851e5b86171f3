//! JUnit XML of a comparison under a limit, for build servers: a test case for each judged cell.

use super::rows::name;
use std::fmt::Write as _;
use tare_record::{ComparedCell, Comparison, GateOutcome};

/// Writes the comparison as JUnit XML. A regression is a failure. An undecided cell is an error, and so is a cell that
/// the new side lacks: neither passes.
#[must_use]
pub fn junit(comparison: &Comparison) -> String {
    let judged: Vec<&ComparedCell> =
        comparison.cells.iter().filter(|cell| cell.outcome.is_some()).collect();
    let lost = || comparison.unmatched.iter().filter(|one| one.new == 0);
    let count = |wanted| judged.iter().filter(|cell| cell.outcome == Some(wanted)).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuite name=\"tare compare\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">",
        judged.len() + lost().count(),
        count(GateOutcome::Regression),
        count(GateOutcome::CouldNotTell) + lost().count(),
    );
    let all = || comparison.cells.iter().map(|cell| &cell.cell);
    for cell in judged {
        case(&mut out, &name(&cell.cell, all), &shape(&cell.cell.shape), problem(cell));
    }
    for one in lost() {
        let all = || comparison.unmatched.iter().map(|one| &one.cell);
        let problem = ("error", "the new side has no figure for this cell".to_owned());
        case(&mut out, &name(&one.cell, all), &shape(&one.cell.shape), Some(problem));
    }
    out.push_str("</testsuite>\n");
    out
}

/// Returns the element for a cell that did not pass, and its message. Returns `None` if the cell passed.
fn problem(cell: &ComparedCell) -> Option<(&'static str, String)> {
    let element = match cell.outcome? {
        GateOutcome::Passed => return None,
        GateOutcome::Regression => "failure",
        GateOutcome::CouldNotTell => "error",
    };
    let words = match (&cell.change, &cell.withheld) {
        (Some(change), _) => {
            let regression = &change.regression;
            let scale = if change.difference { 1.0 } else { 100.0 };
            let unit = if change.difference { "points" } else { "%" };
            format!(
                "{}: worse by {:.2} {unit} (at least {:.2}, at most {:.2}); a regression of {:.2} would have been found",
                cell.outcome?,
                regression.value * scale,
                regression.lower * scale,
                regression.upper * scale,
                regression.detectable * scale,
            )
        }
        (None, Some(withheld)) => withheld.reason.clone(),
        (None, None) => "no figure".to_owned(),
    };
    Some((element, words))
}

fn case(out: &mut String, name: &str, class: &str, problem: Option<(&str, String)>) {
    let (name, class) = (escape(name), escape(class));
    match problem {
        None => {
            let _ = writeln!(out, "  <testcase classname=\"{class}\" name=\"{name}\"/>");
        }
        Some((element, words)) => {
            let _ = writeln!(
                out,
                "  <testcase classname=\"{class}\" name=\"{name}\"><{element} message=\"{}\"/></testcase>",
                escape(&words)
            );
        }
    }
}

/// Describes a shape in words, by which a build server groups test cases.
fn shape(shape: &tare_record::Shape) -> String {
    format!(
        "{} nodes, {} servers, {} clients, {} processes, {} flows, {}, MTU {}",
        shape.nodes,
        shape.servers,
        shape.clients,
        shape.processes,
        shape.flows,
        shape.family,
        shape.mtu
    )
}

/// Escapes a text for an attribute. Characters that XML 1.0 forbids become blanks or are removed.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_would_obey_is_escaped() {
        assert_eq!(escape("a<b>&\"\u{1b}c"), "a&lt;b&gt;&amp;&quot; c");
    }
}
