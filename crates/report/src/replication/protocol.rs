//! Protocol of the source: what it states, what the study assumes, what was run.

use super::text_grid;
use crate::grid::Grid;
use tare_record::{ProtocolBasis, ProtocolEntry, Replication};

/// Builds the table of the protocol. Returns `None` if the study has none.
pub(crate) fn protocol_grid(rerun: &Replication) -> Option<Grid> {
    let rows: Vec<[String; 6]> = rerun.protocol.iter().map(row).collect();
    text_grid(["protocol", "stated", "assumed", "run here", "the source's words", "note"], &rows)
}

fn row(entry: &ProtocolEntry) -> [String; 6] {
    let (stated, assumed) = match entry.basis {
        ProtocolBasis::Stated => (entry.value.clone(), String::new()),
        ProtocolBasis::Assumed => (String::new(), entry.value.clone()),
    };
    let text = entry.text.clone().unwrap_or_default();
    let note = entry.note.clone().unwrap_or_default();
    [entry.field.clone(), stated, assumed, here(entry).to_owned(), text, note]
}

/// Returns the value of the run. Documents of older versions have the study's only.
pub(super) fn here(entry: &ProtocolEntry) -> &str {
    if entry.here.is_empty() { &entry.value } else { &entry.here }
}

/// Lists the assumptions, and what was run otherwise than the study says, a paragraph each.
pub(super) fn summary(rerun: &Replication) -> Vec<String> {
    let list = |words: &dyn Fn(&ProtocolEntry) -> Option<String>| {
        rerun.protocol.iter().filter_map(words).collect::<Vec<_>>().join("; ")
    };
    let assumed = list(&|entry| {
        (entry.basis == ProtocolBasis::Assumed)
            .then(|| format!("{} ({})", entry.field, here(entry)))
    });
    let changed = list(&|entry| {
        entry.differs.then(|| format!("{} {}, not {}", entry.field, here(entry), entry.value))
    });
    [
        ("run otherwise than in the study: ", changed),
        ("assumed, because the source does not specify them: ", assumed),
    ]
    .into_iter()
    .filter(|(_, fields)| !fields.is_empty())
    .map(|(head, fields)| format!("{head}{fields}"))
    .collect()
}
