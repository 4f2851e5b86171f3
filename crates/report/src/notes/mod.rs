//! Notes below the tables: skipped networks, failures and findings, the weightiest first.

mod failures;
mod findings;
mod legend;
mod pooled;

use crate::sections::aggregates;
use crate::text::{one_line, sentence};
pub(crate) use legend::legend;
use pooled::blocks_per_sample;
use std::path::Path;
use tare_record::finding::FindingWeight;
use tare_record::{Document, SkippedNetwork, counted};

/// Largest number of lines of notes on a terminal.
const MOST_LINES: usize = 10;

/// Largest number of lines on networks that failed, and of those on networks that were skipped, on a terminal. If there
/// are more, one line names the networks without their reasons.
const MOST_ABSENT: usize = 3;

/// Extent of the notes below the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteExtent<'a> {
    /// All notes.
    All,
    /// The weightiest notes, in at most ten lines, the last of which says where the others are.
    Heaviest {
        /// Directory of the run, for `tare report`.
        directory: &'a Path,
    },
}

/// Note of one line.
pub(crate) struct Note {
    /// Weight of the note for the reading of the figures.
    pub(crate) weight: FindingWeight,
    /// Text of the line.
    pub(crate) text: String,
}

/// Lists failures, skipped networks and findings, one line each, the weightiest first.
pub(crate) fn remarks(document: &Document, extent: NoteExtent<'_>) -> Vec<String> {
    let mut notes = notes(document);
    notes.sort_by_key(|note| note.weight);
    let lines = match extent {
        NoteExtent::All => absent_in_full(document).into_iter().chain(texts(&notes)).collect(),
        NoteExtent::Heaviest { directory } => heaviest(document, &notes, directory),
    };
    lines.iter().map(|line: &String| one_line(line)).collect()
}

fn texts(notes: &[Note]) -> impl Iterator<Item = String> + '_ {
    notes.iter().map(|note| format!("note: {}", note.text))
}

/// Lists the networks without figures, each with its reason.
fn absent_in_full(document: &Document) -> Vec<String> {
    [failures::lines(document), skipped_lines(document)].concat()
}

/// Returns at most ten lines: networks without figures first, then notes by their weight.
fn heaviest(document: &Document, notes: &[Note], directory: &Path) -> Vec<String> {
    let failed = failures::lines(document);
    let skipped = skipped_lines(document);
    let names_of_failed = document.failed.iter().map(|failure| failure.network.as_str());
    let names_of_skipped = document.skipped.iter().map(|skipped| skipped.network.as_str());
    let mut hidden = 0;
    let mut lines = shortened(failed, "failed", names_of_failed, &mut hidden);
    lines.extend(shortened(skipped, "skipped", names_of_skipped, &mut hidden));
    let room = MOST_LINES - lines.len();
    let kept = if notes.len() <= room && hidden == 0 {
        notes.len()
    } else {
        notes.len().min(room.saturating_sub(1))
    };
    lines.extend(texts(&notes[..kept]));
    let more = u32::try_from(notes.len() - kept + hidden).unwrap_or(u32::MAX);
    if more > 0 {
        let more = counted(more, "more note", "more notes");
        lines.push(format!("{more}: tare report {}", directory.display()));
    }
    lines
}

/// Returns the lines, or one line of names if there are many. Adds the number of lines that it replaces to `hidden`.
fn shortened<'a>(
    lines: Vec<String>,
    word: &str,
    names: impl Iterator<Item = &'a str>,
    hidden: &mut usize,
) -> Vec<String> {
    if lines.len() <= MOST_ABSENT {
        return lines;
    }
    *hidden += lines.len();
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    vec![format!("{word} {}", distinct.join(", "))]
}

/// Returns the notes on the figures: on the run, on gaps and absent figures, and findings.
fn notes(document: &Document) -> Vec<Note> {
    let note = |weight: FindingWeight| move |text: String| Note { weight, text };
    let mut notes: Vec<Note> = Vec::new();
    notes.extend(networks_with_gaps(document).map(note(FindingWeight::Reading)));
    notes.extend(loopback(document).map(note(FindingWeight::Background)));
    notes.extend(withheld(document).into_iter().map(note(FindingWeight::Background)));
    notes.extend(findings::notes(document));
    notes
}

/// Lists skipped networks, one line for all that have the same reason.
fn skipped_lines(document: &Document) -> Vec<String> {
    SkippedNetwork::group_by_reason(&document.skipped).iter().map(skipped).collect()
}

/// Notes that `host` on one node does not use a wire. Returns `None` if it was not measured on one node.
fn loopback(document: &Document) -> Option<String> {
    let host =
        document.cells.iter().find(|cell| cell.network == "host" && cell.shape.nodes == 1)?;
    Some(format!(
        "{} on one node is a loopback path: packets pass only the device lo, never a wire",
        host.label
    ))
}

/// Lists networks with fewer figures than blocks. Returns `None` if there are none.
fn networks_with_gaps(document: &Document) -> Option<String> {
    let mut labels: Vec<String> = Vec::new();
    for cell in aggregates(document) {
        let label = format!("{} {}", cell.label, cell.n);
        let expected = document.blocks / blocks_per_sample(cell);
        if cell.n < expected && cell.withheld.is_none() && !labels.contains(&label) {
            labels.push(label);
        }
    }
    let blocks = counted(document.blocks, "block", "blocks");
    (!labels.is_empty()).then(|| format!("fewer figures than {blocks}: {}", labels.join(", ")))
}

/// Lists withheld figures whose reason is not a finding.
fn withheld(document: &Document) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for cell in aggregates(document) {
        let Some(withheld) = &cell.withheld else {
            continue;
        };
        if cell.findings.iter().any(|finding| findings::explains_absence(finding, cell.metric)) {
            continue;
        }
        let what = format!("{} {} is withheld: {}", cell.workload, cell.metric, withheld.reason);
        match groups.iter_mut().find(|(other, _)| *other == what) {
            Some((_, labels)) => labels.push(&cell.label),
            None => groups.push((what, vec![&cell.label])),
        }
    }
    groups.iter().map(|(what, labels)| format!("{what} ({})", labels.join(", "))).collect()
}

fn skipped(skipped: &SkippedNetwork) -> String {
    sentence(&format!("skipped {}", skipped.network), &skipped.reason, &skipped.remedy)
}
