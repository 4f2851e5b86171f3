//! Evaluation of the checks: from figures to a ratio, and from a ratio to a verdict.

use crate::blocks::{Contender, ContenderRuns, RowResult};
use crate::rows::{ComparedFigure, RatioBound, RatioCheck};
use std::cmp::Ordering;
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

/// One of tare's tries, with the peer that gives it the worst ratio.
struct TareAttempt<'o> {
    ours: &'o ContenderRuns,
    peer: String,
    ratio: PairedRatio,
}

/// Evaluates a check of a row: tare's best try against the best peer.
pub(crate) fn judge(outcome: &RowResult, check: RatioCheck, seconds: f64) -> RatioOutcome {
    let (ours, peers): (Vec<&ContenderRuns>, Vec<&ContenderRuns>) =
        outcome.tallies.iter().partition(|tally| matches!(tally.who, Contender::Tare(_)));
    let asked: Vec<&ContenderRuns> = peers
        .iter()
        .copied()
        .filter(|tally| is_checked_against(tally, check.bound, outcome))
        .collect();
    let attempts = ours.iter().filter_map(|ours| attempt(ours, &asked, check, outcome, seconds));
    let better = |one: &TareAttempt<'_>, other: &TareAttempt<'_>| {
        // A rate with too much loss does not count, however high it is.
        let losing = |attempt: &TareAttempt<'_>| lost(outcome, attempt.ours).is_some();
        losing(other).cmp(&losing(one)).then(compare_for_tare(check, one.ratio, other.ratio))
    };
    let Some(TareAttempt { ours, peer, ratio }) = attempts.max_by(better) else {
        return RatioOutcome::NotCompared(reason(outcome));
    };
    let mut word = lost(outcome, ours).unwrap_or_else(|| word(check.bound, &ratio).to_owned());
    word.extend(failed(&peers));
    RatioOutcome::Compared { ours: ours.name(), peer, ratio, word }
}

/// Compares a try of tare with all peers, and returns the one with the worst ratio.
fn attempt<'o>(
    ours: &'o ContenderRuns,
    peers: &[&ContenderRuns],
    check: RatioCheck,
    outcome: &RowResult,
    seconds: f64,
) -> Option<TareAttempt<'o>> {
    let figures = |tally: &ContenderRuns| figures(tally, check.measure, outcome, seconds);
    let mine = figures(ours);
    let (peer, ratio) = peers
        .iter()
        .filter_map(|tally| {
            Some((tally.name(), PairedRatio::from_pairs(&pairs(&mine, &figures(tally)))?))
        })
        .min_by(|one, other| compare_for_tare(check, one.1, other.1))?;
    Some(TareAttempt { ours, peer, ratio })
}

/// Orders two ratios: the greater one is better for tare.
fn compare_for_tare(check: RatioCheck, one: PairedRatio, other: PairedRatio) -> Ordering {
    let order = one.value.total_cmp(&other.value);
    if check.measure == ComparedFigure::CpuPerGb { order.reverse() } else { order }
}

/// Returns true if the check compares with this peer. Tools that must agree must use the same sizes.
fn is_checked_against(tally: &ContenderRuns, bound: RatioBound, outcome: &RowResult) -> bool {
    match (bound, &tally.who) {
        (RatioBound::Agrees(_, name), Contender::Peer(peer, traffic)) => {
            peer.name() == name && traffic.size == outcome.row.traffic.size
        }
        _ => true,
    }
}

/// Returns a contender's figures, block by block.
pub(crate) fn figures(
    tally: &ContenderRuns,
    measure: ComparedFigure,
    outcome: &RowResult,
    seconds: f64,
) -> Vec<Option<f64>> {
    let figure = |run: &Option<crate::traffic::RunResult>| {
        let measured = run.as_ref()?;
        match measure {
            ComparedFigure::Rate => Some(measured.reading.rate),
            ComparedFigure::CpuPerGb => measured.cpu_per_gb(&outcome.row.traffic, seconds),
        }
    };
    tally.runs.iter().map(figure).collect()
}

/// Returns the pairs of the blocks in which both have a figure.
fn pairs(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Vec<(f64, f64)> {
    ours.iter().zip(theirs).filter_map(|(ours, theirs)| (*ours).zip(*theirs)).collect()
}

/// Returns the reason for the missing ratio.
fn reason(outcome: &RowResult) -> String {
    let failures = outcome
        .tallies
        .iter()
        .filter_map(|tally| Some(format!("{}: {}", tally.name(), tally.failure.as_ref()?)));
    let all: Vec<String> = failures.chain(outcome.absent.iter().cloned()).collect();
    if all.is_empty() { "no peer says it".to_owned() } else { all.join("; ") }
}

/// Names the peers that never had a figure: the best one may be among them. Returns `None` if there are none.
fn failed(peers: &[&ContenderRuns]) -> Option<String> {
    let never = |tally: &&ContenderRuns| tally.runs.iter().all(Option::is_none);
    let names: Vec<String> = peers.iter().copied().filter(never).map(ContenderRuns::name).collect();
    (!names.is_empty()).then(|| format!(" (without {}, which failed)", names.join(", ")))
}

/// Reports the mean loss of tare's runs if it exceeds the limit of the row. Returns `None` otherwise.
fn lost(outcome: &RowResult, ours: &ContenderRuns) -> Option<String> {
    let allowed = outcome.row.loss?;
    let losses: Vec<f64> = ours.runs.iter().flatten().map(|run| run.reading.loss).collect();
    let mean = losses.iter().sum::<f64>() / losses.len().max(1) as f64;
    (mean > allowed).then(|| format!("missed: tare lost {:.2} %", 100.0 * mean))
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
    use crate::peers::PEERS;
    use crate::rows::ROWS;
    use crate::traffic::{RunResult, ToolReading, Traffic};

    const AGREES: RatioCheck =
        RatioCheck { measure: ComparedFigure::Rate, bound: RatioBound::Agrees(0.15, "iperf3") };

    const OURS: Contender = Contender::Tare(&[]);

    fn tally(who: Contender, rates: &[Option<f64>], loss: f64) -> ContenderRuns {
        let run = |rate: &Option<f64>| {
            rate.map(|rate| RunResult { reading: ToolReading { rate, loss }, cpu: Some(1.0) })
        };
        ContenderRuns { who, runs: rates.iter().map(run).collect(), failure: None }
    }

    fn outcome(name: &str, tallies: Vec<ContenderRuns>) -> RowResult {
        let row = ROWS.iter().find(|row| row.name == name).unwrap();
        RowResult { row, network: "veth".to_owned(), tallies, absent: vec!["nobody".to_owned()] }
    }

    fn peer(at: usize, traffic: Traffic) -> Contender {
        Contender::Peer(PEERS[at], traffic)
    }

    #[test]
    fn the_best_peer_counts_and_blocks_are_paired() {
        let traffic = ROWS[0].traffic;
        let tallies = vec![
            tally(OURS, &[Some(30.0), None, Some(60.0), Some(33.0)], 0.0),
            tally(peer(0, traffic), &[Some(10.0), Some(99.0), Some(20.0), Some(11.0)], 0.0),
            tally(peer(1, traffic), &[Some(20.0), Some(1.0), Some(40.0), Some(22.0)], 0.0),
        ];
        let outcome = outcome("tcp-1", tallies);
        let RatioOutcome::Compared { peer, ratio, word, .. } =
            judge(&outcome, outcome.row.checks[0], 1.0)
        else {
            panic!("compared");
        };
        assert_eq!((peer.as_str(), ratio.n, word.as_str()), ("iperf 128K", 3, "reached"));
        assert!((ratio.value - 1.5).abs() < 1e-9);
        let RatioOutcome::Compared { peer, word, .. } = judge(&outcome, AGREES, 1.0) else {
            panic!("compared");
        };
        assert_eq!((peer.as_str(), word.as_str()), ("iperf3 128K", "missed"));
    }

    #[test]
    fn a_peer_that_failed_is_told() {
        let traffic = ROWS[0].traffic;
        let tallies = vec![
            tally(OURS, &[Some(2.0), Some(2.1)], 0.0),
            tally(peer(0, traffic), &[None, None], 0.0),
            tally(peer(1, traffic), &[Some(1.0), Some(1.05)], 0.0),
        ];
        let outcome = outcome("tcp-1", tallies);
        let RatioOutcome::Compared { peer, word, .. } = judge(&outcome, outcome.row.checks[0], 1.0)
        else {
            panic!("compared");
        };
        let told = "reached (without iperf3 128K, which failed)";
        assert_eq!((peer.as_str(), word.as_str()), ("iperf 128K", told));
        let agreement = judge(&outcome, AGREES, 1.0);
        assert!(matches!(agreement, RatioOutcome::NotCompared(_)));
    }

    #[test]
    fn without_a_peer_nothing_is_reached() {
        let outcome = outcome("tcp-1", Vec::new());
        let verdict = judge(&outcome, outcome.row.checks[0], 1.0);
        assert!(matches!(verdict, RatioOutcome::NotCompared(why) if why == "nobody"));
    }

    #[test]
    fn a_rate_with_loss_reaches_nothing() {
        let traffic = ROWS.iter().find(|row| row.name == "udp-64").unwrap().traffic;
        let rates = [Some(9.0), Some(9.1)];
        let slow = [Some(1.0), Some(1.0)];
        let tallies = vec![tally(OURS, &rates, 0.02), tally(peer(0, traffic), &slow, 0.5)];
        let outcome = outcome("udp-64", tallies);
        let RatioOutcome::Compared { word, .. } = judge(&outcome, outcome.row.checks[0], 1.0)
        else {
            panic!("compared");
        };
        assert_eq!(word, "missed: tare lost 2.00 %");
    }

    #[test]
    fn the_best_try_without_loss_counts() {
        let row = ROWS.iter().find(|row| row.name == "udp-64").unwrap();
        let slower = Contender::Tare(&[("rate", "7pps")]);
        let tallies = vec![
            tally(OURS, &[Some(9.0), Some(9.0)], 0.02),
            tally(slower, &[Some(7.0), Some(7.0)], 0.0),
            tally(Contender::Tare(&[("rate", "6pps")]), &[Some(6.0), Some(6.0)], 0.0),
            tally(peer(0, row.traffic), &[Some(5.0), Some(5.0)], 0.5),
        ];
        let outcome = outcome("udp-64", tallies);
        let RatioOutcome::Compared { ours, ratio, word, .. } =
            judge(&outcome, outcome.row.checks[0], 1.0)
        else {
            panic!("compared");
        };
        assert_eq!((ours.as_str(), word.as_str()), ("tare rate=7pps", "reached"));
        assert!((ratio.value - 1.4).abs() < 1e-9);
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
