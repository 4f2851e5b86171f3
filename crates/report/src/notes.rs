//! Notes below the tables: a legend, findings, skipped networks and failures.

use crate::columns::{BEST, NOTHING, baseline};
use crate::number::percent;
use crate::sections::aggregates;
use crate::text::{counted, one_line, sentence};
use crate::{failures, findings};
use tare_record::{Cell, Document, SkippedNetwork, Verdict};

/// Explains the tables in paragraphs, each to be wrapped separately.
pub(crate) fn legend(document: &Document) -> Vec<String> {
    [signs(document), words(document), undecided(document), stands_for(document)]
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect()
}

/// Lists findings, skipped networks and failures, one line each.
pub(crate) fn remarks(document: &Document) -> Vec<String> {
    let mut lines: Vec<String> = loopback(document).into_iter().collect();
    lines.extend(networks_with_gaps(document));
    lines.extend(withheld(document));
    lines.extend(findings::lines(document));
    let mut lines: Vec<String> = lines.iter().map(|line| format!("note: {line}")).collect();
    lines.extend(SkippedNetwork::group_by_reason(&document.skipped).iter().map(skipped));
    lines.extend(failures::lines(document));
    lines.iter().map(|line| one_line(line)).collect()
}

/// Explains the signs in the tables.
fn signs(document: &Document) -> String {
    let cells = || aggregates(document);
    let mut parts = Vec::new();
    if cells().any(|cell| cell.ci95.is_some()) {
        parts.push("± half the 95 % interval of the mean".to_owned());
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

/// Estimates the blocks that would decide unclear verdicts, the most for each workload and metric.
fn undecided(document: &Document) -> String {
    let mut needed: Vec<(&Cell, u32)> = Vec::new();
    for cell in &document.cells {
        let Some(blocks) = cell.ratio.as_ref().and_then(|ratio| ratio.blocks_to_decide) else {
            continue;
        };
        let same = |other: &Cell| other.workload == cell.workload && other.metric == cell.metric;
        match needed.iter_mut().find(|(other, _)| same(other)) {
            Some((_, most)) => *most = blocks.max(*most),
            None => needed.push((cell, blocks)),
        }
    }
    let worded: Vec<String> = needed
        .iter()
        .map(|(cell, blocks)| format!("{blocks} for {} {}", cell.workload, cell.metric))
        .collect();
    if worded.is_empty() {
        return String::new();
    }
    format!(
        "blocks that would decide the unclear verdicts, about: {} (--blocks)",
        worded.join(", ")
    )
}

/// Lists the real system that each network of the tables is or stands for.
fn stands_for(document: &Document) -> String {
    let mut together: Vec<(&str, Vec<&str>)> = Vec::new();
    for (network, of) in &document.stands_for {
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
        if cell.n < document.blocks && cell.withheld.is_none() && !labels.contains(&label) {
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
