//! Sentence on one network that differs from the baseline: what it costs, how sure that is, and why.

use super::amount::{upper_bound, with_interval};
use super::claim::{Claim, Outcome};
use super::phrase::{MetricKind, kind};
use super::sentence::{Sentence, predicate};
use tare_record::{Difference, Metric, Ratio};

/// Largest number of claims in a sentence. The largest differences are kept.
const MOST_CLAIMS: usize = 6;

/// Smallest bound of a difference that is told, in points: no run has seen enough datagrams for less.
const LEAST_BOUND: f64 = 0.1;

/// Ratio from which on a multiple is easier to read than a percentage.
const MULTIPLE: f64 = 3.0;

/// Builds the sentence on a network with at least one difference.
pub(crate) fn sentence(
    label: &str,
    baseline: &str,
    claims: &[Claim<'_>],
    reasons: Option<String>,
) -> Sentence {
    let (claims, left_out) = largest(claims);
    let sentence = Sentence::default().name(label).words(format!(" {}", written(&claims)));
    let sentence = sentence.words(" against ").name(baseline);
    let more = match left_out {
        0 => String::new(),
        1 => " (one more difference is in the table)".to_owned(),
        more => format!(" ({more} more differences are in the table)"),
    };
    let why = reasons.map_or_else(String::new, |reasons| format!(": {reasons}"));
    sentence.words(format!("{more}{why}."))
}

/// Returns the distance of the worst claim from the baseline, on the log scale; below 0 for a network that is only
/// better.
pub(crate) fn badness(claims: &[Claim<'_>]) -> f64 {
    let distance = |claim: &Claim<'_>| match claim.outcome {
        Outcome::Worse | Outcome::SlightlyWorse => size(claim),
        Outcome::Better | Outcome::SlightlyBetter => -size(claim),
        Outcome::Same | Outcome::Undecided => f64::NEG_INFINITY,
    };
    claims.iter().map(distance).fold(f64::NEG_INFINITY, f64::max)
}

/// Returns the size of a difference: of a ratio its distance from 1 on the log scale, of a difference its points as a
/// share.
fn size(claim: &Claim<'_>) -> f64 {
    match (&claim.cell.ratio, &claim.cell.difference) {
        (Some(ratio), _) => ratio.value.ln().abs(),
        (None, Some(difference)) => difference.value.abs() / 100.0,
        (None, None) => 0.0,
    }
}

/// Returns the claims that a sentence has room for, in their order, and the number of differences left out.
fn largest<'a, 'b>(claims: &'b [Claim<'a>]) -> (Vec<&'b Claim<'a>>, usize) {
    let mut told: Vec<&Claim<'_>> =
        claims.iter().filter(|claim| claim.outcome.is_difference() || claim.is_alike()).collect();
    if told.len() > MOST_CLAIMS {
        told.retain(|claim| claim.outcome.is_difference());
    }
    let Some(more) = told.len().checked_sub(MOST_CLAIMS).filter(|more| *more > 0) else {
        return (told, 0);
    };
    let mut sizes: Vec<f64> = told.iter().map(|claim| size(claim)).collect();
    sizes.sort_by(|one, other| other.total_cmp(one));
    let least = sizes[MOST_CLAIMS - 1];
    told.retain(|claim| size(claim) >= least);
    told.truncate(MOST_CLAIMS);
    (told, more)
}

/// Verb of a claim, in the order in which a sentence has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verb {
    Costs,
    Adds,
    Multiplies,
    Needs,
    Loses,
    Gains,
    TakesOff,
    /// `costs nothing`, which joins other costs if there are any.
    CostsNothing,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Self::Costs | Self::CostsNothing => "costs",
            Self::Adds => "adds",
            Self::Multiplies => "multiplies",
            Self::Needs => "needs",
            Self::Loses => "loses",
            Self::Gains => "gains",
            Self::TakesOff => "takes",
        }
    }
}

/// Writes all claims, each verb once.
fn written(claims: &[&Claim<'_>]) -> String {
    let mut all: Vec<(Verb, String)> = claims.iter().map(|claim| clause(claim)).collect();
    all.sort_by_key(|(verb, _)| *verb);
    // `costs nothing`, the last, joins other costs if there are any.
    predicate(all.into_iter().map(|(verb, object)| (verb.word(), object)))
}

/// Returns the verb of a claim and its object.
fn clause(claim: &Claim<'_>) -> (Verb, String) {
    let Claim { cell, noun, outcome } = claim;
    let slight = if outcome.is_slight() { "a slight " } else { "" };
    if !outcome.is_difference() {
        let bounds = reach(claim).map(|reach| within(reach, claim)).unwrap_or_default();
        return (Verb::CostsNothing, format!("nothing in {noun} ({bounds})"));
    }
    match (&cell.ratio, &cell.difference) {
        (Some(ratio), _) => {
            let (verb, object) = clause_of_ratio(kind(cell.metric), *outcome, ratio, noun);
            (verb, format!("{slight}{object}"))
        }
        (None, Some(difference)) => clause_of_difference(claim, difference),
        (None, None) => (Verb::Costs, noun.clone()),
    }
}

fn clause_of_ratio(
    kind: MetricKind,
    outcome: Outcome,
    ratio: &Ratio,
    noun: &str,
) -> (Verb, String) {
    if ratio.value >= MULTIPLE {
        return (Verb::Multiplies, format!("{noun} by {}", with_interval(ratio.value, ratio.ci95)));
    }
    let percent = positive(ratio.value, ratio.ci95, |value| 100.0 * (value - 1.0));
    match (kind, outcome.is_worse()) {
        (MetricKind::Rate, true) => (Verb::Costs, format!("{percent} % of {noun}")),
        (MetricKind::Rate, false) => (Verb::Gains, format!("{percent} % in {noun}")),
        (MetricKind::Effort, true) => (Verb::Needs, format!("{percent} % more {noun}")),
        (MetricKind::Effort, false) => (Verb::Needs, format!("{percent} % less {noun}")),
        (_, true) => (Verb::Adds, format!("{percent} % to {noun}")),
        (_, false) => (Verb::TakesOff, format!("{percent} % off {noun}")),
    }
}

/// Formats the distance of a value from the baseline, as `points` computes it, without its sign.
fn positive(value: f64, [low, high]: [f64; 2], points: impl Fn(f64) -> f64) -> String {
    let (value, low, high) = (points(value), points(low), points(high));
    if value < 0.0 {
        with_interval(-value, [-high, -low])
    } else {
        with_interval(value, [low, high])
    }
}

fn clause_of_difference(claim: &Claim<'_>, difference: &Difference) -> (Verb, String) {
    let amount = positive(difference.value, difference.ci95, |value| value);
    let noun = &claim.noun;
    let (is_worse, unit) = (claim.outcome.is_worse(), unit(claim));
    if claim.cell.metric == Metric::Loss {
        let direction = if is_worse { "more" } else { "fewer" };
        let of = noun.replace("loss", "datagrams");
        return (Verb::Loses, format!("{amount} points {direction} of its {of}"));
    }
    match is_worse {
        true => (Verb::Adds, format!("{amount}{unit} to the {noun}")),
        false => (Verb::TakesOff, format!("{amount}{unit} off the {noun}")),
    }
}

/// Returns the unit of a difference: points for percentages.
fn unit(claim: &Claim<'_>) -> String {
    match claim.cell.unit.as_str() {
        "%" => " points".to_owned(),
        unit => format!(" {unit}"),
    }
}

/// Returns how far the 95 % interval of a network that is like the baseline reaches from it, in per cent or in the
/// metric's unit. Returns `None` if the network is not compared.
pub(crate) fn reach(claim: &Claim<'_>) -> Option<f64> {
    if let Some(ratio) = &claim.cell.ratio {
        let [low, high] = ratio.ci95;
        return Some(100.0 * (high - 1.0).max(1.0 - low));
    }
    let [low, high] = claim.cell.difference.as_ref()?.ci95;
    Some(low.abs().max(high.abs()).max(LEAST_BOUND))
}

/// Formats the bounds within which networks are like the baseline, if the widest of their intervals reaches this far.
pub(crate) fn within(reach: f64, claim: &Claim<'_>) -> String {
    let unit = if claim.cell.ratio.is_some() { " %" } else { &unit(claim) };
    format!("within ± {}{unit}", upper_bound(reach))
}
