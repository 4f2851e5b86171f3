//! Page of a study for the documentation: its source, what the re-run keeps and what it changes, and the result of a
//! stored run.

use super::conclusions::{conclusion_grid, reason};
use super::protocol::here;
use super::{headline, markdown_figures};
use crate::pipe_table::{escape, pipes};
use std::fmt::Write as _;
use tare_record::{
    ConclusionResult, Document, ProtocolBasis, ProtocolEntry, Replication, TestedConclusion,
    Verdict, counted,
};

/// Formats the page of a study from the document of a run of it. Returns `None` if the study has no published source.
#[must_use]
pub fn study_page(summary: &str, source: &str, document: &Document) -> Option<String> {
    let rerun = document.rerun.as_ref()?;
    let mut out = format!("# {}\n\n{}\n\n", document.study, escape(summary));
    let _ = writeln!(out, "Source: {}\n", escape(source));
    out.push_str(
        "This page is generated from the study and from a stored result, beside it: see [README.md](README.md).\n",
    );
    out.push_str(&protocol_lists(rerun));
    let _ = writeln!(out, "\n## Result\n\n{}\n\n{}", machine(document), escape(&headline(rerun)));
    out.push_str(&markdown_figures(rerun));
    if let Some(grid) = conclusion_grid(rerun) {
        let _ = write!(out, "\n## Conclusions\n\n{}", pipes(&grid));
    }
    let _ = writeln!(out, "\n## In three sentences\n\n{}", sentences(rerun));
    Some(out)
}

/// Lists the fields of the protocol: kept, assumed, changed.
fn protocol_lists(rerun: &Replication) -> String {
    let is_kept = |entry: &&ProtocolEntry| !entry.differs && entry.note.is_none();
    let is_stated = |entry: &&ProtocolEntry| entry.basis == ProtocolBasis::Stated;
    let all = || rerun.protocol.iter();
    let mut out = String::new();
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n## {title}\n");
            lines.iter().for_each(|line| {
                let _ = writeln!(out, "- {}", escape(line));
            });
        }
    };
    list("What is the same", all().filter(is_stated).filter(is_kept).map(same).collect());
    let is_changed = |entry: &&ProtocolEntry| is_stated(entry) && !is_kept(entry);
    list("What differs", all().filter(is_changed).map(different).collect());
    let is_assumed = |entry: &&ProtocolEntry| !is_stated(entry);
    list("What the source does not say", all().filter(is_assumed).map(assumed).collect());
    out
}

fn same(entry: &ProtocolEntry) -> String {
    format!("{}: {}{}", entry.field, entry.value, words(entry))
}

fn different(entry: &ProtocolEntry) -> String {
    let run = if entry.differs { format!("; run here: {}", here(entry)) } else { String::new() };
    let note = entry.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
    format!("{}: {}{}{run}{note}", entry.field, entry.value, words(entry))
}

fn assumed(entry: &ProtocolEntry) -> String {
    let note = entry.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    let run = if entry.differs { format!("; run here: {}", here(entry)) } else { String::new() };
    format!("{}: assumed {}{note}{run}", entry.field, entry.value)
}

fn words(entry: &ProtocolEntry) -> String {
    entry.text.as_ref().map_or_else(String::new, |text| format!(" – “{text}”"))
}

/// Names the machine, the day and the command of the run.
pub(crate) fn machine(document: &Document) -> String {
    let environment = &document.environment;
    let day = environment.time.split('T').next().unwrap_or_default();
    let mut parts = vec![
        environment.cpu.clone().unwrap_or_else(|| "unknown processor".to_owned()),
        format!("{} cores", environment.cores.len()),
        format!("Linux {}", environment.kernel),
    ];
    parts.extend(environment.virtualisation.iter().map(|name| format!("in {name}")));
    parts.push(format!("tare {}", document.tare));
    let absent = document.skipped.iter().map(|one| one.network.as_str());
    let absent: Vec<&str> =
        absent.chain(document.failed.iter().map(|one| one.network.as_str())).collect();
    let absent = if absent.is_empty() {
        String::new()
    } else {
        format!(" Without a result there: {}.", escape(&absent.join(", ")))
    };
    format!(
        "`tare {}` on {day}, {} blocks: {}.{absent}",
        environment.command.join(" "),
        document.blocks,
        escape(&parts.join(", "))
    )
}

/// Sums the result up: which conclusions hold, how the figures compare, what the result does not say.
fn sentences(rerun: &Replication) -> String {
    let of = |result| -> Vec<&TestedConclusion> {
        rerun.conclusions.iter().filter(|one| one.result == result).collect()
    };
    let [holds, fails, open] =
        [ConclusionResult::Holds, ConclusionResult::Fails, ConclusionResult::Undecidable].map(of);
    let counts = [
        (holds.len(), "holds", "hold"),
        (fails.len(), "does not hold", "do not hold"),
        (open.len(), "cannot be decided on this machine", "cannot be decided on this machine"),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, one, many)| verb(count, one, many)).collect();
    let first = format!(
        "Of {} of the source and its readers, {}.",
        counted(
            u32::try_from(rerun.conclusions.len()).unwrap_or(u32::MAX),
            "conclusion",
            "conclusions"
        ),
        counts.join(", "),
    );
    let told = fails.first().or(holds.first()).or(open.first());
    let second = told.map_or_else(String::new, |one| {
        let reason = reason(one).unwrap_or("no figure tests it");
        let word = match one.result {
            ConclusionResult::Holds => "holds",
            ConclusionResult::Fails => "does not hold",
            ConclusionResult::Undecidable => "stays open",
        };
        format!("“{}” {word}: {reason}.", one.claim.trim_end_matches('.'))
    });
    let apart = rerun.figures.iter().filter_map(|one| one.measured?.verdict);
    let decided = apart.clone().filter(|verdict| *verdict != Verdict::Unclear).count();
    let third = format!(
        "Of {} to the baseline, {} precise enough for a verdict here; kernel, machine and software are not those of the source, so that its own figures are not contradicted.",
        counted(u32::try_from(apart.count()).unwrap_or(u32::MAX), "ratio", "ratios"),
        verb(decided, "is", "are"),
    );
    [first, second, third].map(|sentence| escape(&sentence)).join(" ")
}

/// Formats a number with its verb: `1 holds`, `none hold`.
fn verb(count: usize, one: &str, many: &str) -> String {
    match count {
        0 => format!("none {many}"),
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}
