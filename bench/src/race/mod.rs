//! Race of a row's contenders: which stay, which two a check compares, and when the row ends.
//!
//! The first blocks of a row, the selection blocks, run every contender once. They choose the best contender of either
//! side, and those that are clearly behind it leave. The ratio of the two is estimated from the later blocks alone: the
//! figures that made a contender the best are good by chance, too, and would favour it. Those that stay run beside the
//! two. One of the two that turns out to be clearly behind leaves as well, and the best of its side takes its place.
//!
//! No rule looks at a ratio of tare to a peer. Contenders are compared within their side, and a row ends by the width
//! of its intervals.

use crate::contenders::{Contender, ContenderRuns, RowResult};
use crate::round_scores::{
    Rounds, block_gaps, is_clearly_behind, is_precise, number_of_rounds, ranking, ratio,
};
use crate::rows::{ComparedFigure, RatioBound, RatioCheck};
use crate::traffic::RunResult;
use std::collections::BTreeSet;
use std::ops::Range;
use tare_stats::PairedRatio;

/// Confidence with which a contender is behind after the selection blocks.
const SELECTION_CONFIDENCE: f64 = 0.95;
/// Confidence with which a contender is behind later. It is higher because it is asked for after every block.
const LATER_CONFIDENCE: f64 = 0.99;

/// Most contenders of a side, for each check, that stay after the selection blocks. Those that come after three others
/// are hardly the best, and cost as much time as the two that are compared.
const MOST_OF_A_SIDE: usize = 3;

/// Rules of a race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RaceRules {
    /// Number of selection blocks.
    pub(crate) selection_blocks: usize,
    /// Half width of an interval, as a share of the ratio, at which its row ends.
    pub(crate) precision: f64,
    /// Duration of each run, s.
    pub(crate) seconds: f64,
}

/// tare's try and the peer that a check compares, with the ratio of their figures.
pub(crate) struct Comparison<'o> {
    pub(crate) ours: &'o ContenderRuns,
    pub(crate) peer: &'o ContenderRuns,
    pub(crate) ratio: PairedRatio,
}

/// Returns the number of rounds of a row's next block.
pub(crate) fn rounds(outcome: &RowResult, rules: &RaceRules) -> usize {
    if outcome.blocks() < rules.selection_blocks {
        return 1;
    }
    number_of_rounds(outcome.tallies.len(), outcome.participants().len())
}

/// Ends the participation of contenders that no check of the row needs any more. It is called after each block.
pub(crate) fn eliminate(outcome: &mut RowResult, rules: &RaceRules) {
    let blocks = outcome.blocks();
    let confidence = match blocks {
        few if few < rules.selection_blocks => return,
        all if all == rules.selection_blocks => SELECTION_CONFIDENCE,
        _ => LATER_CONFIDENCE,
    };
    let needed: BTreeSet<usize> = outcome
        .row
        .checks
        .iter()
        .flat_map(|&check| sides(outcome, check).map(|side| (check, side)))
        .flat_map(|(check, side)| unbeaten(outcome, check, &side, confidence, rules))
        .collect();
    for at in outcome.participants() {
        if !needed.contains(&at) {
            outcome.tallies[at].left = Some(blocks);
        }
    }
}

/// Compares tare with the peer of a check. Returns `None` if a side has no figures, or if there are too few blocks.
pub(crate) fn compare<'o>(
    outcome: &'o RowResult,
    check: RatioCheck,
    rules: &RaceRules,
) -> Option<Comparison<'o>> {
    let [ours, peer] = pair(outcome, check, rules)?;
    let estimation = rules.selection_blocks..outcome.blocks();
    let of = |at: usize| scores(outcome, at, check, &estimation, rules);
    let gaps = block_gaps(&of(ours), &of(peer));
    let logs: Vec<f64> = gaps.into_iter().map(|gap| sign(check) * gap).collect();
    let (ours, peer) = (&outcome.tallies[ours], &outcome.tallies[peer]);
    Some(Comparison { ours, peer, ratio: ratio(&logs)? })
}

/// Returns true if a row needs no further blocks: each check has a precise ratio, or no contenders.
pub(crate) fn is_finished(outcome: &RowResult, rules: &RaceRules) -> bool {
    let is_decided = |&check: &RatioCheck| {
        let precise = |compared: Comparison<'_>| is_precise(&compared.ratio, rules.precision);
        pair(outcome, check, rules).is_none() || compare(outcome, check, rules).is_some_and(precise)
    };
    outcome.tallies.is_empty()
        || (outcome.blocks() >= rules.selection_blocks && outcome.row.checks.iter().all(is_decided))
}

/// Returns the contenders that a check compares: tare's try, and the peer.
fn pair(outcome: &RowResult, check: RatioCheck, rules: &RaceRules) -> Option<[usize; 2]> {
    let [ours, peers] = sides(outcome, check);
    Some([best(outcome, check, &ours, rules)?, best(outcome, check, &peers, rules)?])
}

/// Returns the best contender of a side by the selection blocks or, if that one has left, by all blocks.
fn best(
    outcome: &RowResult,
    check: RatioCheck,
    side: &[usize],
    rules: &RaceRules,
) -> Option<usize> {
    let selected = ranked(outcome, check, side, &(0..rules.selection_blocks), rules);
    let first = *selected.first()?;
    let participants = outcome.participants();
    if participants.contains(&first) {
        return Some(first);
    }
    let left: Vec<usize> = side.iter().copied().filter(|at| participants.contains(at)).collect();
    ranked(outcome, check, &left, &(0..outcome.blocks()), rules).first().copied()
}

/// Ranks the contenders of a side over these blocks, the best first. Those without figures have no rank.
fn ranked(
    outcome: &RowResult,
    check: RatioCheck,
    side: &[usize],
    blocks: &Range<usize>,
    rules: &RaceRules,
) -> Vec<usize> {
    let all: Vec<Vec<Rounds>> =
        side.iter().map(|&at| scores(outcome, at, check, blocks, rules)).collect();
    ranking(&all).into_iter().map(|at| side[at]).collect()
}

/// Lists the contenders of a side that stay: the best of those that take part, and those that are not clearly behind.
fn unbeaten(
    outcome: &RowResult,
    check: RatioCheck,
    side: &[usize],
    confidence: f64,
    rules: &RaceRules,
) -> Vec<usize> {
    let blocks = 0..outcome.blocks();
    let participants = outcome.participants();
    let side: Vec<usize> = side.iter().copied().filter(|at| participants.contains(at)).collect();
    let ranked = ranked(outcome, check, &side, &blocks, rules);
    let of = |at: usize| scores(outcome, at, check, &blocks, rules);
    let Some(best) = ranked.first().map(|&at| of(at)) else {
        return Vec::new();
    };
    let stays = |at: &usize| !is_clearly_behind(&of(*at), &best, confidence);
    ranked.into_iter().take(MOST_OF_A_SIDE).filter(stays).collect()
}

/// Lists the contenders of a check by side: tare's tries, and the peers. A try that loses too many datagrams counts only
/// if all do, however high its rate is.
fn sides(outcome: &RowResult, check: RatioCheck) -> [Vec<usize>; 2] {
    let all = || outcome.tallies.iter().enumerate();
    let of = |wanted: &dyn Fn(&ContenderRuns) -> bool| -> Vec<usize> {
        all().filter(|(_, tally)| wanted(tally)).map(|(at, _)| at).collect()
    };
    let lossless = of(&|tally| tally.is_tare() && !loses_too_much(outcome, tally));
    let ours = if lossless.is_empty() { of(&ContenderRuns::is_tare) } else { lossless };
    [ours, of(&|tally| !tally.is_tare() && is_checked_against(tally, check.bound, outcome))]
}

/// Returns true if the check compares with this peer. Tools that must agree must use the same sizes.
pub(crate) fn is_checked_against(
    tally: &ContenderRuns,
    bound: RatioBound,
    outcome: &RowResult,
) -> bool {
    match (bound, &tally.who) {
        (RatioBound::Agrees(_, name), Contender::Peer(peer, traffic)) => {
            peer.name() == name && traffic.size == outcome.row.traffic.size
        }
        _ => true,
    }
}

/// Returns true if a contender's mean loss exceeds the limit of the row.
pub(crate) fn loses_too_much(outcome: &RowResult, tally: &ContenderRuns) -> bool {
    outcome.row.loss.is_some_and(|allowed| tally.mean_loss() > allowed)
}

/// Returns a contender's scores in these blocks, as far as they were run.
fn scores(
    outcome: &RowResult,
    at: usize,
    check: RatioCheck,
    blocks: &Range<usize>,
    rules: &RaceRules,
) -> Vec<Rounds> {
    let score = |run: &Option<RunResult>| {
        let figure = outcome.figure(run.as_ref()?, check.measure, rules.seconds)?;
        (figure > 0.0 && figure.is_finite()).then(|| sign(check) * figure.ln())
    };
    let all = &outcome.tallies[at].blocks;
    let end = blocks.end.min(all.len());
    let range = blocks.start.min(end)..end;
    all[range].iter().map(|rounds| rounds.iter().map(score).collect()).collect()
}

/// Returns the sign that makes the greater score the better one.
fn sign(check: RatioCheck) -> f64 {
    match check.measure {
        ComparedFigure::Rate => 1.0,
        ComparedFigure::CpuPerGb => -1.0,
    }
}

#[cfg(test)]
pub(crate) mod tests;
