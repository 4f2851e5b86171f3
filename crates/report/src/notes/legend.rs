//! Explanation of the tables: their signs, the verdicts, the blocks that would decide more, and the real systems.

use super::NoteExtent;
use super::pooled::blocks_per_sample;
use crate::columns::{BEST, NOTHING, baseline};
use crate::number::{percent, telling_interval};
use crate::sections::aggregates;
use tare_record::{Cell, Document, Verdict};

/// Explains the tables in paragraphs, each to be wrapped separately. The systems that networks stand for are among them
/// unless the notes are to be short.
pub(crate) fn legend(document: &Document, extent: NoteExtent<'_>) -> Vec<String> {
    let systems = match extent {
        NoteExtent::All => stands_for(document),
        NoteExtent::Heaviest { .. } => String::new(),
    };
    [signs(document), words(document), undecided(document), systems]
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect()
}

/// Explains the signs in the tables.
fn signs(document: &Document) -> String {
    let cells = || aggregates(document);
    let mut parts = Vec::new();
    let has_interval = |cell: &Cell| {
        cell.mean.is_some_and(|mean| telling_interval(mean, cell.ci95, cell.n).is_some())
    };
    if cells().any(has_interval) {
        parts.push("± half the 95 % interval of the mean".to_owned());
    }
    let hidden = |cell: &&Cell| cell.ci95.is_some() && !has_interval(cell);
    if let Some(most) = cells().filter(hidden).map(|cell| cell.n).max() {
        parts.push(format!("{most} blocks: no interval, where none is shown"));
    } else if cells().any(|cell| cell.ci95.is_some()) {
        // The sign is explained.
    } else if cells().any(|cell| cell.mean.is_some()) {
        parts.push("one block gives no interval and no ratio: use two or more --blocks".to_owned());
    }
    if let Some(label) = cells().find_map(baseline) {
        if cells().any(|cell| cell.ratio.is_some()) {
            parts.push(format!("× the ratio to {label}, made within blocks"));
        }
        if cells().any(|cell| cell.difference.is_some()) {
            parts.push(format!("+/- the difference to {label}, in points"));
        }
    }
    if cells().any(|cell| cell.best) {
        parts.push(format!("{BEST} no network is significantly better"));
    }
    if cells().any(|cell| cell.mean.is_none()) {
        parts.push(format!("{NOTHING} no figure, see below"));
    }
    if document.cells.iter().any(|cell| cell.scope == "fairness") {
        parts.push(
            "fairness: 1 if all clients get the same, 1/n if one of n clients gets everything"
                .to_owned(),
        );
    }
    parts.join(" · ")
}

/// Explains the verdicts in the tables, with their margins.
fn words(document: &Document) -> String {
    let ratios = || document.cells.iter().filter_map(|cell| cell.ratio.as_ref());
    let used = |wanted: &[Verdict]| ratios().any(|ratio| wanted.contains(&ratio.verdict));
    let mut parts = Vec::new();
    if used(&[Verdict::Faster, Verdict::Slower]) {
        parts.push("faster, slower: by more than the margin");
    }
    if used(&[Verdict::FasterSlightly, Verdict::SlowerSlightly]) {
        parts.push("…-slightly: by less than the margin");
    }
    if used(&[Verdict::Same]) {
        parts.push("same: within the margin");
    }
    if used(&[Verdict::Unclear]) {
        parts.push("unclear: more blocks are needed");
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("{} · margins: {}", parts.join(" · "), margins(document))
}

/// Lists each margin with its metrics.
fn margins(document: &Document) -> String {
    let mut margins: Vec<(f64, Vec<&str>)> = Vec::new();
    for cell in &document.cells {
        let Some(ratio) = &cell.ratio else { continue };
        let name = cell.metric.name();
        match margins.iter_mut().find(|(margin, _)| *margin == ratio.margin) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => margins.push((ratio.margin, vec![name])),
        }
    }
    let worded = margins
        .iter()
        .map(|(margin, names)| format!("{} for {}", percent(*margin), names.join(", ")));
    worded.collect::<Vec<_>>().join("; ")
}

/// Estimates what would decide unclear verdicts, the most for each workload and metric: blocks, or more time if the
/// networks were woven.
fn undecided(document: &Document) -> String {
    let mut needed: Vec<(&Cell, u32)> = Vec::new();
    for cell in &document.cells {
        let Some(samples) = cell.ratio.as_ref().and_then(|ratio| ratio.blocks_to_decide) else {
            continue;
        };
        let blocks = samples.saturating_mul(blocks_per_sample(cell));
        let same = |other: &Cell| other.workload == cell.workload && other.metric == cell.metric;
        match needed.iter_mut().find(|(other, _)| same(other)) {
            Some((_, most)) => *most = blocks.max(*most),
            None => needed.push((cell, blocks)),
        }
    }
    if needed.is_empty() {
        return String::new();
    }
    let worded = |amount: &dyn Fn(u32) -> String| {
        let each = needed.iter().map(|(cell, blocks)| {
            format!("{} for {} {}", amount(*blocks), cell.workload, cell.metric)
        });
        each.collect::<Vec<_>>().join(", ")
    };
    match document.block_time {
        Some(block) => {
            let more = |blocks: u32| {
                let missing = blocks.saturating_sub(document.blocks).max(1);
                duration(block.as_secs_f64() * f64::from(missing))
            };
            format!(
                "more time that would decide the unclear verdicts, about: {} (--budget)",
                worded(&more)
            )
        }
        None => format!(
            "blocks that would decide the unclear verdicts, about: {} (--blocks)",
            worded(&|blocks| blocks.to_string())
        ),
    }
}

/// Formats a duration in the unit in which people say it.
fn duration(seconds: f64) -> String {
    const HOUR: f64 = 3_600.0;
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..HOUR => format!("{:.0} min", seconds / 60.0),
        seconds if seconds < 24.0 * HOUR => format!("{:.0} h", seconds / HOUR),
        _ => "more than a day".to_owned(),
    }
}

/// Lists the real system that each network of the tables is or stands for.
fn stands_for(document: &Document) -> String {
    let mut together: Vec<(&str, Vec<&str>)> = Vec::new();
    let is_shown = |name: &str| document.cells.iter().any(|cell| cell.network == name);
    for (network, of) in document.stands_for.iter().filter(|(network, _)| is_shown(network)) {
        match together.iter_mut().find(|(other, _)| other == of) {
            Some((_, networks)) => networks.push(network),
            None => together.push((of, vec![network])),
        }
    }
    let named: Vec<String> = together
        .iter()
        .map(|(of, networks)| format!("{} stands for {of}", networks.join(", ")))
        .collect();
    named.join(" · ")
}
