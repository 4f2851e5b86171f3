//! From figures to a ratio, and from a ratio to a word.

use crate::contest::{Outcome, Tally, Who};
use crate::rows::{Bound, Check, Measure};
use std::cmp::Ordering;
use tare_stats::PairedRatio;

/// What came of one check.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// There was nobody to compare with.
    NotCompared(String),
    /// A ratio of tare's figure to a peer's.
    Compared {
        /// Of which of tare's tries.
        ours: String,
        /// To whose figure.
        peer: String,
        /// tare's over the peer's, paired within blocks.
        ratio: PairedRatio,
        /// What it amounts to.
        word: String,
    },
}

/// One of tare's tries beside the peer that leaves it the worst ratio.
struct Attempt<'o> {
    ours: &'o Tally,
    peer: String,
    ratio: PairedRatio,
}

/// The check of a row, by all that was measured: tare's best try against the best peer.
pub(crate) fn judge(outcome: &Outcome, check: Check, seconds: f64) -> Verdict {
    let (ours, peers): (Vec<&Tally>, Vec<&Tally>) =
        outcome.tallies.iter().partition(|tally| matches!(tally.who, Who::Ours(_)));
    let asked: Vec<&Tally> =
        peers.iter().copied().filter(|tally| is_asked(tally, check.bound, outcome)).collect();
    let attempts = ours.iter().filter_map(|ours| attempt(ours, &asked, check, outcome, seconds));
    let better = |one: &Attempt<'_>, other: &Attempt<'_>| {
        // A rate with loss reaches nothing, however high it is.
        let losing = |attempt: &Attempt<'_>| lost(outcome, attempt.ours).is_some();
        losing(other).cmp(&losing(one)).then(goodness(check, one.ratio, other.ratio))
    };
    let Some(Attempt { ours, peer, ratio }) = attempts.max_by(better) else {
        return Verdict::NotCompared(reason(outcome));
    };
    let mut word = lost(outcome, ours).unwrap_or_else(|| word(check.bound, &ratio).to_owned());
    word.extend(failed(&peers));
    Verdict::Compared { ours: ours.name(), peer, ratio, word }
}

/// A try of tare's, against the peer that leaves it the worst ratio: the best one.
fn attempt<'o>(
    ours: &'o Tally,
    peers: &[&Tally],
    check: Check,
    outcome: &Outcome,
    seconds: f64,
) -> Option<Attempt<'o>> {
    let figures = |tally: &Tally| figures(tally, check.measure, outcome, seconds);
    let mine = figures(ours);
    let (peer, ratio) = peers
        .iter()
        .filter_map(|tally| Some((tally.name(), PairedRatio::of(&pairs(&mine, &figures(tally)))?)))
        .min_by(|one, other| goodness(check, one.1, other.1))?;
    Some(Attempt { ours, peer, ratio })
}

/// Which of two ratios is worse for tare, as an order.
fn goodness(check: Check, one: PairedRatio, other: PairedRatio) -> Ordering {
    let order = one.value.total_cmp(&other.value);
    if check.measure == Measure::CpuPerGb { order.reverse() } else { order }
}

/// Whether a check is against this peer; tools that shall agree must use the same sizes.
fn is_asked(tally: &Tally, bound: Bound, outcome: &Outcome) -> bool {
    match (bound, &tally.who) {
        (Bound::Agrees(_, name), Who::Peer(peer, traffic)) => {
            peer.name() == name && traffic.size == outcome.row.traffic.size
        }
        _ => true,
    }
}

/// A contender's figures, block by block.
pub(crate) fn figures(
    tally: &Tally,
    measure: Measure,
    outcome: &Outcome,
    seconds: f64,
) -> Vec<Option<f64>> {
    let figure = |run: &Option<crate::traffic::Measured>| {
        let measured = run.as_ref()?;
        match measure {
            Measure::Rate => Some(measured.reading.rate),
            Measure::CpuPerGb => measured.cpu_per_gb(&outcome.row.traffic, seconds),
        }
    };
    tally.runs.iter().map(figure).collect()
}

/// The blocks in which both have a figure.
fn pairs(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Vec<(f64, f64)> {
    ours.iter().zip(theirs).filter_map(|(ours, theirs)| (*ours).zip(*theirs)).collect()
}

/// Why there is no ratio.
fn reason(outcome: &Outcome) -> String {
    let failures = outcome
        .tallies
        .iter()
        .filter_map(|tally| Some(format!("{}: {}", tally.name(), tally.failure.as_ref()?)));
    let all: Vec<String> = failures.chain(outcome.absent.iter().cloned()).collect();
    if all.is_empty() { "no peer says it".to_owned() } else { all.join("; ") }
}

/// The peers that never had a figure: the best one may be among them.
fn failed(peers: &[&Tally]) -> Option<String> {
    let never = |tally: &&Tally| tally.runs.iter().all(Option::is_none);
    let names: Vec<String> = peers.iter().copied().filter(never).map(Tally::name).collect();
    (!names.is_empty()).then(|| format!(" (without {}, which failed)", names.join(", ")))
}

/// That tare lost more datagrams than it may, on the mean over its runs.
fn lost(outcome: &Outcome, ours: &Tally) -> Option<String> {
    let allowed = outcome.row.loss?;
    let losses: Vec<f64> = ours.runs.iter().flatten().map(|run| run.reading.loss).collect();
    let mean = losses.iter().sum::<f64>() / losses.len().max(1) as f64;
    (mean > allowed).then(|| format!("missed: tare lost {:.2} %", 100.0 * mean))
}

/// What a ratio amounts to: whether the bound is kept, and whether noise could have made it so.
fn word(bound: Bound, ratio: &PairedRatio) -> &'static str {
    let [low, high] = ratio.ci95;
    let (kept, surely, surely_not) = match bound {
        Bound::AtLeast(least) => (ratio.value >= least, low >= least, high < least),
        Bound::AtMost(most) => (ratio.value <= most, high <= most, low > most),
        Bound::Agrees(share, _) => {
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
    use crate::traffic::{Measured, Reading, Traffic};

    const AGREES: Check = Check { measure: Measure::Rate, bound: Bound::Agrees(0.15, "iperf3") };

    const OURS: Who = Who::Ours(&[]);

    fn tally(who: Who, rates: &[Option<f64>], loss: f64) -> Tally {
        let run = |rate: &Option<f64>| {
            rate.map(|rate| Measured { reading: Reading { rate, loss }, cpu: Some(1.0) })
        };
        Tally { who, runs: rates.iter().map(run).collect(), failure: None }
    }

    fn outcome(name: &str, tallies: Vec<Tally>) -> Outcome {
        let row = ROWS.iter().find(|row| row.name == name).unwrap();
        Outcome { row, network: "veth".to_owned(), tallies, absent: vec!["nobody".to_owned()] }
    }

    fn peer(at: usize, traffic: Traffic) -> Who {
        Who::Peer(PEERS[at], traffic)
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
        let Verdict::Compared { peer, ratio, word, .. } =
            judge(&outcome, outcome.row.checks[0], 1.0)
        else {
            panic!("compared");
        };
        assert_eq!((peer.as_str(), ratio.n, word.as_str()), ("iperf 128K", 3, "reached"));
        assert!((ratio.value - 1.5).abs() < 1e-9);
        let Verdict::Compared { peer, word, .. } = judge(&outcome, AGREES, 1.0) else {
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
        let Verdict::Compared { peer, word, .. } = judge(&outcome, outcome.row.checks[0], 1.0)
        else {
            panic!("compared");
        };
        let told = "reached (without iperf3 128K, which failed)";
        assert_eq!((peer.as_str(), word.as_str()), ("iperf 128K", told));
        let agreement = judge(&outcome, AGREES, 1.0);
        assert!(matches!(agreement, Verdict::NotCompared(_)));
    }

    #[test]
    fn without_a_peer_nothing_is_reached() {
        let outcome = outcome("tcp-1", Vec::new());
        let verdict = judge(&outcome, outcome.row.checks[0], 1.0);
        assert!(matches!(verdict, Verdict::NotCompared(why) if why == "nobody"));
    }

    #[test]
    fn a_rate_with_loss_reaches_nothing() {
        let traffic = ROWS.iter().find(|row| row.name == "udp-64").unwrap().traffic;
        let rates = [Some(9.0), Some(9.1)];
        let slow = [Some(1.0), Some(1.0)];
        let tallies = vec![tally(OURS, &rates, 0.02), tally(peer(0, traffic), &slow, 0.5)];
        let outcome = outcome("udp-64", tallies);
        let Verdict::Compared { word, .. } = judge(&outcome, outcome.row.checks[0], 1.0) else {
            panic!("compared");
        };
        assert_eq!(word, "missed: tare lost 2.00 %");
    }

    #[test]
    fn the_best_try_without_loss_counts() {
        let row = ROWS.iter().find(|row| row.name == "udp-64").unwrap();
        let slower = Who::Ours(&[("rate", "7pps")]);
        let tallies = vec![
            tally(OURS, &[Some(9.0), Some(9.0)], 0.02),
            tally(slower, &[Some(7.0), Some(7.0)], 0.0),
            tally(Who::Ours(&[("rate", "6pps")]), &[Some(6.0), Some(6.0)], 0.0),
            tally(peer(0, row.traffic), &[Some(5.0), Some(5.0)], 0.5),
        ];
        let outcome = outcome("udp-64", tallies);
        let Verdict::Compared { ours, ratio, word, .. } =
            judge(&outcome, outcome.row.checks[0], 1.0)
        else {
            panic!("compared");
        };
        assert_eq!((ours.as_str(), word.as_str()), ("tare rate=7pps", "reached"));
        assert!((ratio.value - 1.4).abs() < 1e-9);
    }

    #[test]
    fn words_tell_noise_from_fact() {
        let ratio = |pairs: &[(f64, f64)]| PairedRatio::of(pairs).unwrap();
        let noisy = ratio(&[(1.3, 1.0), (0.9, 1.0), (1.2, 1.0)]);
        assert_eq!(word(Bound::AtLeast(1.0), &noisy), "reached, within noise");
        assert_eq!(word(Bound::AtLeast(1.2), &noisy), "missed, within noise");
        let sure = ratio(&[(0.5, 1.0), (0.51, 1.0), (0.5, 1.0)]);
        assert_eq!(word(Bound::AtLeast(1.0), &sure), "missed");
        assert_eq!(word(Bound::AtMost(0.75), &sure), "reached");
        assert_eq!(word(Bound::Agrees(0.15, "iperf3"), &sure), "missed");
    }
}
