//! Page of a question for the documentation: the answer in a sentence, the figures of a stored run, the reason, and when
//! the answer is another one.

mod figure;

use crate::answer::answers;
use crate::columns;
use crate::markdown::marked_up;
use crate::pipe_table::{escape, pipes};
use crate::replication::{machine, reason};
use crate::sections::{aggregates, titled_tables};
pub use figure::answer_figure;
use std::fmt::Write as _;
use tare_record::{ConclusionResult, Document, Hop, StudyQuestion, TestedConclusion};

/// Formats the page of a question from the document of a run of its study. Returns `None` if the study has no question.
#[must_use]
pub fn answer_page(document: &Document) -> Option<String> {
    let rerun = document.rerun.as_ref()?;
    let question = rerun.question.as_ref()?;
    let name = &document.study;
    let mut out = format!("# {}\n\n", escape(&question.asked));
    for conclusion in &rerun.conclusions {
        let _ = writeln!(out, "{}\n", sentence(conclusion));
    }
    let _ = writeln!(out, "Measured by {}\n", machine(document));
    let _ = writeln!(out, "![Figures of the run, with intervals]({name}.svg)\n");
    out.push_str(&tables(document));
    out.push_str(&why(document));
    out.push_str(&limits(question));
    let _ = write!(
        out,
        "\n## Yours\n\n```sh\ntare ask {name} --html page.html\n```\n\nThis page is generated from a stored result, beside it: see [README.md](README.md).\n"
    );
    Some(out)
}

/// Formats an answer: the claim if it holds, else that it does not, with the observation that decides.
fn sentence(conclusion: &TestedConclusion) -> String {
    let claim = escape(&conclusion.claim);
    let because = escape(reason(conclusion).unwrap_or("no figure tests it"));
    match conclusion.result {
        ConclusionResult::Holds => format!("**{claim}** Here, {because}."),
        ConclusionResult::Fails => format!("**It does not hold here:** {claim} Here, {because}."),
        ConclusionResult::Undecidable => format!("**Undecided here:** {claim} Because: {because}."),
    }
}

/// Formats the tables of the run, each under its heading.
fn tables(document: &Document) -> String {
    let mut out = String::new();
    for table in titled_tables(document, columns::grid) {
        if !table.heading.is_empty() {
            let _ = writeln!(out, "{}\n", escape(&table.heading));
        }
        let _ = writeln!(out, "{}", pipes(&table.grid));
    }
    out
}

/// Gives the reasons: the sentences of the run's answer, and the hops of each network.
fn why(document: &Document) -> String {
    let mut out = String::from("## Why\n\n");
    for answer in answers(document) {
        let heading = match answer.heading.as_str() {
            "" => String::new(),
            heading => format!("{}: ", escape(heading)),
        };
        for sentence in &answer.sentences {
            let _ = writeln!(out, "- {heading}{}", marked_up(sentence));
        }
    }
    let mut shown: Vec<&str> = Vec::new();
    let cells = aggregates(document).filter(|cell| !cell.hops.is_empty());
    for cell in cells {
        if !shown.contains(&cell.label.as_str()) {
            shown.push(&cell.label);
            let _ = writeln!(out, "- The path of `{}`: {}.", cell.label, path(&cell.hops));
        }
    }
    out
}

/// Lists hops from the client to the server.
fn path(hops: &[Hop]) -> String {
    let hops = hops.iter().map(|hop| format!("{} in {}", escape(&hop.name), escape(&hop.place)));
    hops.collect::<Vec<_>>().join(" → ")
}

fn limits(question: &StudyQuestion) -> String {
    let mut out = String::from("\n## When it is another answer\n\n");
    for limit in &question.limits {
        let _ = writeln!(out, "- {}", escape(limit));
    }
    out
}
