//! Conclusions of the source: the sentence, one word, one reason, and the meaning that the sentence was taken to have.

use super::text_grid;
use crate::grid::Grid;
use tare_record::{Replication, TestedConclusion};

/// Formats the conclusions for a terminal: the word and the sentence, then the reason and the meaning, indented.
pub(super) fn lines(rerun: &Replication) -> Vec<String> {
    let mut lines = Vec::new();
    for conclusion in &rerun.conclusions {
        lines.push(format!("{}: {}", conclusion.result, sentence(conclusion)));
        lines.extend(reason(conclusion).map(|reason| format!("  {reason}")));
        lines.extend(conclusion.note.iter().map(|note| format!("  taken to mean: {note}")));
    }
    lines
}

/// Builds the table of conclusions. Returns `None` without conclusions.
pub(crate) fn conclusion_grid(rerun: &Replication) -> Option<Grid> {
    let rows: Vec<[String; 4]> = rerun
        .conclusions
        .iter()
        .map(|one| {
            [
                sentence(one),
                one.result.to_string(),
                reason(one).unwrap_or_default().to_owned(),
                one.note.clone().unwrap_or_default(),
            ]
        })
        .collect();
    let of = if rerun.question.is_some() { "answer" } else { "conclusion of the source" };
    text_grid([of, "here", "because", "taken to mean"], &rows)
}

/// Returns the observation that decides. Documents of older versions have the evidence only.
pub(crate) fn reason(conclusion: &TestedConclusion) -> Option<&str> {
    conclusion.reason.as_deref().or_else(|| conclusion.evidence.first().map(String::as_str))
}

fn sentence(conclusion: &TestedConclusion) -> String {
    let by = conclusion.by.as_ref().map_or_else(String::new, |by| format!(" ({by})"));
    format!("“{}”{by}", conclusion.claim)
}
