//! Summary in three sentences: the cost in bulk transfer, the cost of a round trip, and the certainty.

use super::element::{Element, MarkupNode};
use super::subject::{Subject, figure, unit};
use crate::number;
use crate::text::counted;
use tare_record::{Better, Cell, Document, Metric, StoppedBy, Verdict};

/// Metrics of the first sentence: the first of these that was measured against a baseline.
const BULK: [Metric; 6] = [
    Metric::Throughput,
    Metric::Ndr,
    Metric::Pdr,
    Metric::Packets,
    Metric::Connections,
    Metric::Tps,
];

/// Metrics of the second sentence, chosen the same way.
const TRIPS: [Metric; 4] =
    [Metric::LatencyP50, Metric::Transactions, Metric::ConnectP50, Metric::OneWayP50];

/// Builds the summary, a paragraph for each sentence.
pub(crate) fn answer(document: &Document, subjects: &[Subject<'_>]) -> Vec<Element> {
    let sentence = |metrics: &[Metric]| {
        metrics.iter().find_map(|metric| {
            let telling = subjects.iter().filter(|subject| !is_paced(subject, *metric));
            telling.into_iter().find_map(|subject| cost(subject, &subject.cells_of(*metric)))
        })
    };
    let mut sentences: Vec<Vec<MarkupNode>> =
        [sentence(&BULK), sentence(&TRIPS)].into_iter().flatten().collect();
    sentences.push(vec![certainty(document).into()]);
    sentences.into_iter().map(|words| Element::new("p").extend(words)).collect()
}

/// Returns true if the figure is a requested rate and not the capacity of the network: the workload paces itself.
fn is_paced(subject: &Subject<'_>, metric: Metric) -> bool {
    matches!(metric, Metric::Throughput | Metric::Packets)
        && !subject.cells_of(Metric::Offered).is_empty()
        || ["udp-rate", "iperf3-udp"].iter().any(|paced| subject.workload.starts_with(paced))
}

fn strong(words: &str) -> MarkupNode {
    Element::new("strong").push(words).into()
}

/// Describes the cost of the network that is furthest behind the baseline. Returns `None` if no figure has a baseline.
fn cost(subject: &Subject<'_>, cells: &[&Cell]) -> Option<Vec<MarkupNode>> {
    let judged: Vec<(&Cell, f64, Verdict)> = cells
        .iter()
        .filter_map(|cell| cell.ratio.as_ref().map(|ratio| (*cell, ratio.value, ratio.verdict)))
        .collect();
    let baseline = cells.iter().find_map(|cell| crate::columns::baseline(cell))?;
    let beside = cells.iter().find(|cell| cell.label == baseline)?;
    let of = |wanted: Verdict| -> Vec<&str> {
        let those = judged.iter().filter(|(.., verdict)| *verdict == wanted);
        those.map(|(cell, ..)| cell.label.as_str()).collect()
    };
    let mut words: Vec<MarkupNode> = vec![
        format!("Under {}, ", subject.heading.replace(" · ", ", ")).into(),
        strong(baseline),
        format!(" {} {}", verb_of(beside.metric), amount(beside)).into(),
    ];
    let slower = judged.iter().filter(|(.., verdict)| *verdict == Verdict::Slower);
    let worst = slower.max_by(|a, b| badness(a.0, a.1).total_cmp(&badness(b.0, b.1)));
    match worst {
        Some((cell, value, _)) => {
            words.push("; ".into());
            words.push(strong(&cell.label));
            let change = percent((value - 1.0).abs());
            let way = if *value < 1.0 { "less" } else { "more" };
            words.push(format!(" {}, {change} {way}", figure(cell)).into());
            let others: Vec<&str> =
                of(Verdict::Slower).into_iter().filter(|label| *label != cell.label).collect();
            if !others.is_empty() {
                words
                    .push(format!("; significantly worse as well: {}", join_names(&others)).into());
            }
        }
        None => words.push("; no network is significantly worse".into()),
    }
    let same = of(Verdict::Same);
    if !same.is_empty() {
        words.push(format!(". Same as {baseline} within the margin: {}", join_names(&same)).into());
    }
    words.push(".".into());
    Some(words)
}

/// Returns the distance of a ratio from 1 on the log scale; positive is worse.
fn badness(cell: &Cell, ratio: f64) -> f64 {
    match cell.better {
        Better::Higher => -ratio.ln(),
        Better::Lower => ratio.ln(),
    }
}

/// Returns the verb for a figure of this metric.
fn verb_of(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput | Metric::Ndr | Metric::Pdr | Metric::Packets => "carries",
        Metric::Transactions | Metric::Tps => "completes",
        Metric::Connections => "makes",
        _ => "takes",
    }
}

/// Formats a figure with its unit and the noun of its metric.
fn amount(cell: &Cell) -> String {
    let what = match cell.metric {
        Metric::Transactions => " round trips",
        Metric::Tps => " transactions",
        Metric::Connections => " connections",
        Metric::LatencyP50 => " for half of its round trips",
        Metric::ConnectP50 => " for half of its connections",
        Metric::OneWayP50 => " for half of its messages",
        _ => "",
    };
    match cell.metric {
        Metric::Transactions | Metric::Tps | Metric::Connections => {
            format!("{}{what} {}", figure(cell), unit(cell))
        }
        _ => format!("{} {}{what}", figure(cell), unit(cell)),
    }
}

/// Formats a share in whole per cent, or to a tenth below 10 %.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1}\u{a0}%") } else { format!("{percent:.0}\u{a0}%") }
}

/// Joins names: `a`, `a and b`, `a, b and c`.
fn join_names(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Counts the comparisons by result, and estimates the blocks that would decide the rest.
fn certainty(document: &Document) -> String {
    let ratios: Vec<_> = document.cells.iter().filter_map(|cell| cell.ratio.as_ref()).collect();
    let blocks = counted(document.blocks, "block", "blocks");
    let ended = match document.stopped_by {
        Some(StoppedBy::Interrupted) => " before it was interrupted",
        None => " so far",
        _ => "",
    };
    if ratios.is_empty() {
        return format!(
            "The run measured {blocks}{ended}, and no network compared with a baseline."
        );
    }
    let count =
        |wanted: &[Verdict]| ratios.iter().filter(|ratio| wanted.contains(&ratio.verdict)).count();
    let (worse, better) = (count(&[Verdict::Slower]), count(&[Verdict::Faster]));
    let within = count(&[Verdict::Same, Verdict::SlowerSlightly, Verdict::FasterSlightly]);
    let unclear = count(&[Verdict::Unclear]);
    let all = counted(u32::try_from(ratios.len()).unwrap_or(u32::MAX), "comparison", "comparisons");
    let mut words = format!(
        "Of {all} over {blocks}{ended}, {worse} found a network worse and {better} better by more than the margin, \
         {within} within the margin, and {unclear} unclear"
    );
    let most = ratios.iter().filter_map(|ratio| ratio.blocks_to_decide).max();
    if let Some(most) = most.filter(|_| unclear > 0) {
        words.push_str(&format!(
            "; the least certain one needs about {} blocks",
            super::subject::group_thousands(&most.to_string())
        ));
    }
    words.push('.');
    words
}

/// Lists the distinct margins of the document, as percentages.
pub(crate) fn margins(document: &Document) -> String {
    let mut told: Vec<String> = Vec::new();
    for ratio in document.cells.iter().filter_map(|cell| cell.ratio.as_ref()) {
        let margin = number::percent(ratio.margin);
        if !told.contains(&margin) {
            told.push(margin);
        }
    }
    told.join(", ")
}
