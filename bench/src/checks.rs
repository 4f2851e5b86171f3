//! Evaluation of the checks: from figures to a ratio, and from a ratio to a verdict.

use crate::contenders::{ContenderRuns, RowResult};
use crate::race::{Comparison, RaceRules, compare, loses_too_much};
use crate::rows::{RatioBound, RatioCheck};
use tare_stats::PairedRatio;

/// Result of one check.
#[derive(Clone, Debug)]
pub(crate) enum RatioOutcome {
    /// No peer could be compared with, for this reason.
    NotCompared(String),
    /// Ratio of tare's figure to a peer's.
    Compared {
        /// Name of tare's try.
        ours: String,
        /// Name of the peer.
        peer: String,
        /// Ratio of tare's figure to the peer's, paired within blocks.
        ratio: PairedRatio,
        /// Verdict in words.
        word: String,
    },
}

/// Evaluates a check of a row: tare's best try against the best peer.
pub(crate) fn judge(outcome: &RowResult, check: RatioCheck, rules: &RaceRules) -> RatioOutcome {
    let Some(Comparison { ours, peer, ratio }) = compare(outcome, check, rules) else {
        return RatioOutcome::NotCompared(reason(outcome, rules));
    };
    let mut word = lost(outcome, ours).unwrap_or_else(|| word(check.bound, &ratio).to_owned());
    word.extend(failed(outcome));
    RatioOutcome::Compared { ours: ours.name(), peer: peer.name(), ratio, word }
}

/// Returns the reason for the missing ratio.
fn reason(outcome: &RowResult, rules: &RaceRules) -> String {
    // An interval needs two blocks after the selection.
    let goes_on = !outcome.participants().is_empty();
    if goes_on && outcome.blocks() < rules.selection_blocks + 2 {
        return "too few blocks".to_owned();
    }
    let failures = outcome
        .tallies
        .iter()
        .filter_map(|tally| Some(format!("{}: {}", tally.name(), tally.failure.as_ref()?)));
    let all: Vec<String> = failures.chain(outcome.absent.iter().cloned()).collect();
    if all.is_empty() { "no peer says it".to_owned() } else { all.join("; ") }
}

/// Names the peers that never had a figure: the best one may be among them. Returns `None` if there are none.
fn failed(outcome: &RowResult) -> Option<String> {
    let peers = outcome.tallies.iter().filter(|tally| !tally.is_tare());
    let never = peers.filter(|tally| tally.runs().next().is_none());
    let names: Vec<String> = never.map(ContenderRuns::name).collect();
    (!names.is_empty()).then(|| format!(" (without {}, which failed)", names.join(", ")))
}

/// Reports the mean loss of tare's runs if it exceeds the limit of the row. Returns `None` otherwise.
fn lost(outcome: &RowResult, ours: &ContenderRuns) -> Option<String> {
    loses_too_much(outcome, ours)
        .then(|| format!("missed: tare lost {:.2} %", 100.0 * ours.mean_loss()))
}

/// Returns the verdict of a ratio: whether the bound is kept, and whether this could be due to noise.
fn word(bound: RatioBound, ratio: &PairedRatio) -> &'static str {
    let [low, high] = ratio.ci95;
    let (kept, surely, surely_not) = match bound {
        RatioBound::AtLeast(least) => (ratio.value >= least, low >= least, high < least),
        RatioBound::AtMost(most) => (ratio.value <= most, high <= most, low > most),
        RatioBound::Agrees(share, _) => {
            let (least, most) = (1.0 - share, 1.0 + share);
            let within = |value: f64| (least..=most).contains(&value);
            (within(ratio.value), within(low) && within(high), high < least || low > most)
        }
    };
    match (kept, surely, surely_not) {
        (true, true, _) => "reached",
        (true, ..) => "reached, within noise",
        (false, _, true) => "missed",
        (false, ..) => "missed, within noise",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::Contender;
    use crate::race::tests::{RULES, outcome, peer, tally};
    use crate::rows::ROWS;

    const OURS: Contender = Contender::Tare(&[]);

    /// Checks a row of which the first block selects.
    fn checked(outcome: &RowResult) -> RatioOutcome {
        let rules = RaceRules { selection_blocks: 1, ..RULES };
        judge(outcome, outcome.row.checks[0], &rules)
    }

    #[test]
    fn a_peer_that_failed_is_told() {
        let traffic = ROWS[0].traffic;
        let tallies = vec![
            tally(OURS, &[Some(2.0), Some(2.0), Some(2.1)]),
            tally(peer(0, traffic), &[None, None, None]),
            tally(peer(1, traffic), &[Some(1.0), Some(1.0), Some(1.05)]),
        ];
        let RatioOutcome::Compared { peer, word, .. } = checked(&outcome("tcp-1", tallies)) else {
            panic!("compared");
        };
        let told = "reached (without iperf3 128K, which failed)";
        assert_eq!((peer.as_str(), word.as_str()), ("iperf 128K", told));
    }

    #[test]
    fn without_a_peer_nothing_is_reached() {
        let verdict = checked(&outcome("tcp-1", Vec::new()));
        assert!(matches!(verdict, RatioOutcome::NotCompared(why) if why == "nobody"));
    }

    #[test]
    fn a_row_that_was_interrupted_is_not_compared() {
        let traffic = ROWS[0].traffic;
        let tallies = vec![tally(OURS, &[Some(2.0)]), tally(peer(1, traffic), &[Some(1.0)])];
        let interrupted = outcome("tcp-1", tallies);
        let verdict = judge(&interrupted, interrupted.row.checks[0], &RULES);
        assert!(matches!(verdict, RatioOutcome::NotCompared(why) if why == "too few blocks"));
    }

    #[test]
    fn a_rate_with_loss_reaches_nothing() {
        let traffic = ROWS.iter().find(|row| row.name == "udp-64").unwrap().traffic;
        let mut ours = tally(OURS, &[Some(9.0), Some(9.0), Some(9.1)]);
        for run in ours.blocks.iter_mut().flatten().flatten() {
            run.reading.loss = 0.02;
        }
        let slow = tally(peer(0, traffic), &[Some(1.0), Some(1.0), Some(1.0)]);
        let RatioOutcome::Compared { word, .. } = checked(&outcome("udp-64", vec![ours, slow]))
        else {
            panic!("compared");
        };
        assert_eq!(word, "missed: tare lost 2.00 %");
    }

    #[test]
    fn words_tell_noise_from_fact() {
        let ratio = |pairs: &[(f64, f64)]| PairedRatio::from_pairs(pairs).unwrap();
        let noisy = ratio(&[(1.3, 1.0), (0.9, 1.0), (1.2, 1.0)]);
        assert_eq!(word(RatioBound::AtLeast(1.0), &noisy), "reached, within noise");
        assert_eq!(word(RatioBound::AtLeast(1.2), &noisy), "missed, within noise");
        let sure = ratio(&[(0.5, 1.0), (0.51, 1.0), (0.5, 1.0)]);
        assert_eq!(word(RatioBound::AtLeast(1.0), &sure), "missed");
        assert_eq!(word(RatioBound::AtMost(0.75), &sure), "reached");
        assert_eq!(word(RatioBound::Agrees(0.15, "iperf3"), &sure), "missed");
    }
}
