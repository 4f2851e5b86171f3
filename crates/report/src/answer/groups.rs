//! Sentences on several networks at once: those that cost nothing, those that the run cannot tell from the baseline,
//! those without a figure to compare, and those that failed.

use super::amount::bound;
use super::claim::{Claim, Outcome};
use super::cost::{reach, within};
use super::sentence::{Sentence, predicate};

/// Network with its claims.
pub(crate) type NetworkClaims<'a> = (&'a str, Vec<Claim<'a>>);

/// Half width in per cent from which on an interval says hardly anything.
const WIDE: f64 = 100.0;

/// Returns a sentence for each set of networks that cost nothing in the same metrics, with the bounds of their widest
/// intervals.
pub(crate) fn costing_nothing(networks: &[NetworkClaims<'_>], baseline: &str) -> Vec<Sentence> {
    let mut groups: Vec<Vec<&NetworkClaims<'_>>> = Vec::new();
    for network in networks {
        match groups.iter_mut().find(|group| same_nouns(group[0]) == same_nouns(network)) {
            Some(group) => group.push(network),
            None => groups.push(vec![network]),
        }
    }
    let sentence = |group: &Vec<&NetworkClaims<'_>>| {
        let labels: Vec<&str> = group.iter().map(|(label, _)| *label).collect();
        let verb = if labels.len() == 1 { "costs" } else { "cost" };
        Sentence::default()
            .names(&labels)
            .words(format!(" {verb} nothing against "))
            .name(baseline)
            .words(format!(" that this run could see ({}).", common_bounds(group)))
    };
    groups.iter().map(sentence).collect()
}

/// Returns the claims in which a network is like the baseline.
fn same_claims<'a, 'b>((_, claims): &'b NetworkClaims<'a>) -> impl Iterator<Item = &'b Claim<'a>> {
    claims.iter().filter(|claim| claim.outcome == Outcome::Same)
}

fn same_nouns<'b>(network: &'b NetworkClaims<'_>) -> Vec<&'b str> {
    same_claims(network).map(|claim| claim.noun.as_str()).collect()
}

/// Lists the metrics in which all networks of a group are like the baseline, with bounds that hold for each of them.
fn common_bounds(group: &[&NetworkClaims<'_>]) -> String {
    let bounds = same_claims(group[0]).enumerate().map(|(nth, claim)| {
        let reaches = group.iter().filter_map(|network| reach(same_claims(network).nth(nth)?));
        match reaches.reduce(f64::max) {
            Some(widest) => format!("{} {}", claim.noun, within(widest, claim)),
            None => claim.noun.to_string(),
        }
    });
    bounds.collect::<Vec<_>>().join(", ")
}

/// Returns the sentence on networks that the run cannot tell from the baseline. Returns `None` if there are none.
pub(crate) fn undecided(networks: &[NetworkClaims<'_>], baseline: &str) -> Option<Sentence> {
    let labels: Vec<&str> = networks.iter().map(|(label, _)| *label).collect();
    let mut widths: Vec<(&str, f64, &str)> = Vec::new();
    for claim in networks.iter().flat_map(|(_, claims)| first_of_workloads(claims)) {
        let Some((half, unit)) = half_width(claim) else { continue };
        match widths.iter_mut().find(|(noun, ..)| *noun == claim.noun) {
            Some((_, widest, _)) => *widest = half.max(*widest),
            None => widths.push((&claim.noun, half, unit)),
        }
    }
    let told = |(noun, half, unit): &(&str, f64, &str)| {
        if *half < WIDE {
            format!("{noun} ± {} {unit}", bound(*half))
        } else {
            format!("{noun} ± {} {unit} or more", bound(WIDE))
        }
    };
    let widths: Vec<String> = widths.iter().map(told).collect();
    let sentence = Sentence::default().names(&labels).words(" could not be told from ");
    let end = if widths.is_empty() { ".".to_owned() } else { format!(" ({}).", widths.join(", ")) };
    (!labels.is_empty()).then(|| sentence.name(baseline).words(end))
}

/// Returns the first undecided claim of each workload.
fn first_of_workloads<'a, 'b>(claims: &'b [Claim<'a>]) -> Vec<&'b Claim<'a>> {
    let mut firsts: Vec<&Claim<'_>> = Vec::new();
    for claim in claims.iter().filter(|claim| claim.outcome == Outcome::Undecided) {
        let workload = |other: &Claim<'_>| {
            (&other.cell.workload, &other.cell.parameters)
                == (&claim.cell.workload, &claim.cell.parameters)
        };
        if !firsts.iter().any(|first| workload(first)) {
            firsts.push(claim);
        }
    }
    firsts
}

/// Returns half the width of a claim's interval, in per cent of the baseline or in the metric's unit.
fn half_width<'a>(claim: &Claim<'a>) -> Option<(f64, &'a str)> {
    let half = |[low, high]: [f64; 2]| (high - low) / 2.0;
    if let Some(ratio) = &claim.cell.ratio {
        return Some((100.0 * half(ratio.ci95), "%"));
    }
    let unit = if claim.cell.unit == "%" { "points" } else { claim.cell.unit.as_str() };
    claim.cell.difference.as_ref().map(|difference| (half(difference.ci95), unit))
}

/// Returns the sentence on networks without a figure that can be compared. Returns `None` if there are none.
pub(crate) fn without_comparison(labels: &[&str], baseline: &str) -> Option<Sentence> {
    let verb = if labels.len() == 1 { "has" } else { "have" };
    let sentence = Sentence::default().names(labels);
    let words = format!(" {verb} no figure that can be compared with that of ");
    (!labels.is_empty()).then(|| sentence.words(words).name(baseline).words("."))
}

/// Returns the sentence on networks that failed. Returns `None` if there are none.
pub(crate) fn failed(labels: &[&str]) -> Option<Sentence> {
    let reasons = if labels.len() == 1 { "the reason is" } else { "the reasons are" };
    let sentence = Sentence::default().names(labels);
    (!labels.is_empty()).then(|| sentence.words(format!(" failed: {reasons} below.")))
}

/// Figures of a network, each with its verb.
pub(crate) struct Performance<'a> {
    /// Label of the network.
    pub(crate) label: &'a str,
    /// True if it is a path between two machines.
    pub(crate) is_path: bool,
    /// Verbs and figures: `carries`, `17.1 ± 1.8 Gbit/s`.
    pub(crate) figures: Vec<(&'static str, String)>,
}

/// Lists figures of networks that are compared with none.
pub(crate) fn figures(performances: Vec<Performance<'_>>) -> Option<Sentence> {
    let mut sentence = Sentence::default();
    let is_empty = performances.is_empty();
    for (at, Performance { label, is_path, figures }) in performances.into_iter().enumerate() {
        let before = match (at, is_path) {
            (0, true) => "The path to ",
            (0, false) => "",
            (_, true) => "; the path to ",
            (_, false) => "; ",
        };
        let figures =
            if figures.is_empty() { "has no figure".to_owned() } else { predicate(figures) };
        sentence = if before.is_empty() { sentence } else { sentence.words(before) };
        sentence = sentence.name(label).words(format!(" {figures}"));
    }
    (!is_empty).then(|| sentence.words("."))
}
