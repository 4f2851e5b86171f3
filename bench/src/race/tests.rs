//! Races of contenders with given figures.

use super::*;
use crate::peers::PEERS;
use crate::round_scores::{FEWEST_BLOCKS, half_width};
use crate::rows::ROWS;
use crate::traffic::{ToolReading, Traffic};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

pub(crate) const RULES: RaceRules =
    RaceRules { selection_blocks: 4, precision: 0.03, seconds: 1.0 };

const AGREES: RatioCheck =
    RatioCheck { measure: ComparedFigure::Rate, bound: RatioBound::Agrees(0.15, "iperf3") };

const OURS: Contender = Contender::Tare(&[]);
const OURS_512K: Contender = Contender::Tare(&[("size", "512K")]);

fn run(rate: f64) -> RunResult {
    RunResult { reading: ToolReading::lossless(rate), cpu: Some(1.0) }
}

/// Makes a contender with one run in each block.
pub(crate) fn tally(who: Contender, rates: &[Option<f64>]) -> ContenderRuns {
    let blocks = rates.iter().map(|rate| vec![rate.map(run)]).collect();
    ContenderRuns { blocks, ..ContenderRuns::new(who) }
}

pub(crate) fn outcome(name: &str, tallies: Vec<ContenderRuns>) -> RowResult {
    let row = ROWS.iter().find(|row| row.name == name).unwrap();
    RowResult { row, network: "veth".to_owned(), tallies, absent: vec!["nobody".to_owned()] }
}

pub(crate) fn peer(at: usize, traffic: Traffic) -> Contender {
    Contender::Peer(PEERS[at], traffic)
}

fn some(rates: &[f64]) -> Vec<Option<f64>> {
    rates.iter().copied().map(Some).collect()
}

/// Runs one more block of a row, in rounds: each contender has the rate of its index, times the noise of the round.
fn block(outcome: &mut RowResult, rates: &[f64], noise: &mut dyn FnMut() -> f64) {
    let (rounds, order) = (rounds(outcome, &RULES), outcome.participants());
    for (at, tally) in outcome.tallies.iter_mut().enumerate() {
        let taken = if order.contains(&at) { rounds } else { 0 };
        tally.blocks.push((0..taken).map(|_| Some(run(rates[at] * noise()))).collect());
    }
    eliminate(outcome, &RULES);
}

fn names(outcome: &RowResult) -> Vec<String> {
    outcome.participants().into_iter().map(|at| outcome.tallies[at].name()).collect()
}

#[test]
fn blocks_are_paired() {
    let traffic = ROWS[0].traffic;
    let tallies = vec![
        tally(OURS, &[Some(1.0), Some(30.0), None, Some(60.0), Some(33.0)]),
        tally(peer(0, traffic), &[Some(1.0), Some(10.0), Some(99.0), Some(20.0), Some(11.0)]),
        tally(peer(1, traffic), &[Some(2.0), Some(20.0), Some(101.0), Some(40.0), Some(22.0)]),
    ];
    let outcome = outcome("tcp-1", tallies);
    let rules = RaceRules { selection_blocks: 1, ..RULES };
    let of = |check| compare(&outcome, check, &rules).unwrap();
    let compared = of(outcome.row.checks[0]);
    assert_eq!((compared.peer.name().as_str(), compared.ratio.n), ("iperf 128K", 3));
    assert!((compared.ratio.value - 1.5).abs() < 1e-9);
    assert_eq!(of(AGREES).peer.name(), "iperf3 128K");
}

#[test]
fn the_selection_chooses_and_the_later_blocks_estimate() {
    let traffic = ROWS[0].traffic;
    let mut outcome = outcome(
        "tcp-1",
        vec![
            tally(OURS, &some(&[10.0, 10.1, 9.9, 10.0, 7.0, 7.1])),
            tally(OURS_512K, &some(&[10.2, 10.0, 10.1, 9.9, 9.0, 9.1])),
            tally(peer(0, traffic), &some(&[5.0, 5.1, 5.0, 4.9, 9.0, 9.1])),
            tally(peer(1, traffic), &some(&[5.1, 5.0, 5.1, 5.0, 6.0, 6.0])),
        ],
    );
    let check = outcome.row.checks[0];
    let compared = compare(&outcome, check, &RULES).unwrap();
    // The selection blocks alone say who is compared, the later ones alone say how much.
    assert_eq!(compared.ours.name(), "tare size=512K");
    assert_eq!(compared.peer.name(), "iperf 128K");
    assert!((compared.ratio.value - (1.5f64 * 9.1 / 6.0).sqrt()).abs() < 1e-9);
    assert_eq!(compared.ratio.n, 2);
    // Unless the chosen one has left.
    outcome.tallies[3].left = Some(6);
    assert_eq!(compare(&outcome, check, &RULES).unwrap().peer.name(), "iperf3 128K");
}

#[test]
fn contenders_that_are_clearly_behind_leave() {
    let traffic = ROWS[0].traffic;
    let size = |size| Traffic { size, ..traffic };
    let tallies = vec![
        ContenderRuns::new(OURS),
        ContenderRuns::new(OURS_512K),
        ContenderRuns::new(peer(0, size(128 << 10))),
        ContenderRuns::new(peer(0, size(512 << 10))),
        ContenderRuns::new(peer(1, size(128 << 10))),
    ];
    let mut outcome = outcome("tcp-1", tallies);
    // iperf3's two sizes are alike, and tare's slower one is far faster than every peer.
    let rates = [50.0, 70.0, 20.0, 20.1, 15.0];
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut noise = || 1.0 + 0.04 * (random.random::<f64>() - 0.5);
    for _ in 0..RULES.selection_blocks - 1 {
        assert_eq!(rounds(&outcome, &RULES), 1);
        block(&mut outcome, &rates, &mut noise);
        assert_eq!(outcome.participants().len(), 5, "nobody leaves before the selection ends");
    }
    block(&mut outcome, &rates, &mut noise);
    assert_eq!(names(&outcome), ["tare size=512K", "iperf3 128K", "iperf3 512K"]);
    assert_eq!(outcome.tallies[0].left, Some(RULES.selection_blocks));
    assert_eq!(rounds(&outcome, &RULES), 5);
    while !is_finished(&outcome, &RULES) {
        assert!(outcome.blocks() < 30);
        block(&mut outcome, &rates, &mut noise);
    }
    let compared = compare(&outcome, outcome.row.checks[0], &RULES).unwrap();
    assert!(compared.ratio.n >= FEWEST_BLOCKS && half_width(&compared.ratio) <= 0.03);
    assert!((compared.ratio.value - 3.5).abs() < 0.1, "{:?}", compared.ratio);
}

#[test]
fn three_of_a_side_stay_on_a_noisy_machine() {
    let traffic = ROWS[0].traffic;
    let peers = (0..6).map(|_| ContenderRuns::new(peer(0, traffic)));
    let tallies = std::iter::once(ContenderRuns::new(OURS)).chain(peers).collect();
    let mut outcome = outcome("tcp-1", tallies);
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut noise = || (2.0 * (random.random::<f64>() - 0.5)).exp();
    for _ in 0..RULES.selection_blocks {
        block(&mut outcome, &[1.0, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5], &mut noise);
    }
    assert_eq!(outcome.participants().len(), 1 + MOST_OF_A_SIDE);
    // The selected peer is among them.
    assert!(
        pair(&outcome, outcome.row.checks[0], &RULES)
            .is_some_and(|[_, peer]| { outcome.tallies[peer].left.is_none() })
    );
}

#[test]
fn a_peer_that_a_check_names_stays() {
    let traffic = ROWS.iter().find(|row| row.name == "tcp-rr").unwrap().traffic;
    let sockperf = PEERS.iter().position(|peer| peer.name() == "sockperf").unwrap();
    let tallies = vec![
        ContenderRuns::new(OURS),
        ContenderRuns::new(peer(sockperf, traffic)),
        ContenderRuns::new(peer(sockperf + 1, traffic)),
        ContenderRuns::new(peer(sockperf + 3, traffic)),
    ];
    let mut outcome = outcome("tcp-rr", tallies);
    for _ in 0..RULES.selection_blocks {
        block(&mut outcome, &[10.0, 5.0, 9.0, 6.0], &mut || 1.0);
    }
    assert_eq!(names(&outcome), ["tare", "sockperf", "qperf"]);
    for _ in 0..FEWEST_BLOCKS {
        assert!(!is_finished(&outcome, &RULES));
        block(&mut outcome, &[10.0, 5.0, 9.0, 6.0], &mut || 1.0);
    }
    assert!(is_finished(&outcome, &RULES));
}

#[test]
fn less_cpu_time_is_better() {
    let row = ROWS.iter().find(|row| row.name == "tcp-1-core").unwrap();
    let costs = |who, rate, cpu| {
        let one = RunResult { cpu: Some(cpu), ..run(rate) };
        ContenderRuns { blocks: vec![vec![Some(one)]; 6], ..ContenderRuns::new(who) }
    };
    let mut outcome = outcome(
        "tcp-1-core",
        vec![
            costs(OURS, 40.0, 2.0),
            costs(peer(0, row.traffic), 30.0, 2.0),
            costs(peer(1, row.traffic), 10.0, 0.5),
            costs(peer(4, row.traffic), 10.0, 1.0),
        ],
    );
    eliminate(&mut outcome, &RULES);
    // The fastest and the cheapest stay.
    assert_eq!(names(&outcome), ["tare", "iperf3 128K", "iperf 128K"]);
    let check = |measure| row.checks.iter().find(|check| check.measure == measure).unwrap();
    let of = |measure| compare(&outcome, *check(measure), &RULES).unwrap();
    assert!((of(ComparedFigure::Rate).ratio.value - 4.0 / 3.0).abs() < 1e-9);
    let cpu = of(ComparedFigure::CpuPerGb);
    assert_eq!(cpu.peer.name(), "iperf 128K");
    assert!((cpu.ratio.value - 1.0).abs() < 1e-9, "{:?}", cpu.ratio);
}

#[test]
fn the_best_try_without_loss_counts() {
    let row = ROWS.iter().find(|row| row.name == "udp-64").unwrap();
    let mut losing = tally(OURS, &some(&[9.0; 6]));
    for run in losing.blocks.iter_mut().flatten().flatten() {
        run.reading.loss = 0.02;
    }
    let tallies = vec![
        losing,
        tally(Contender::Tare(&[("rate", "7pps")]), &some(&[7.0; 6])),
        tally(Contender::Tare(&[("rate", "6pps")]), &some(&[6.0; 6])),
        tally(peer(0, row.traffic), &some(&[5.0; 6])),
    ];
    let mut outcome = outcome("udp-64", tallies);
    eliminate(&mut outcome, &RULES);
    assert_eq!(names(&outcome), ["tare rate=7pps", "iperf3"]);
    let compared = compare(&outcome, row.checks[0], &RULES).unwrap();
    assert!((compared.ratio.value - 1.4).abs() < 1e-9);
}

#[test]
fn a_row_whose_peers_all_fail_ends_after_the_selection() {
    let traffic = ROWS[0].traffic;
    let failed = vec![None; RULES.selection_blocks];
    let ours = tally(OURS, &some(&[1.0; 4]));
    let mut outcome = outcome("tcp-1", vec![ours, tally(peer(0, traffic), &failed)]);
    eliminate(&mut outcome, &RULES);
    assert!(is_finished(&outcome, &RULES));
    assert!(compare(&outcome, outcome.row.checks[0], &RULES).is_none());
}

/// Sizes that are all alike: the luckiest one of the blocks that estimate would seem faster than it is.
#[test]
fn the_choice_does_not_favour_a_side() {
    const ROWS_RUN: u32 = 300;
    let traffic = ROWS[0].traffic;
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut noise = || (0.1 * (random.random::<f64>() - 0.5)).exp();
    let mut sum = 0.0;
    for _ in 0..ROWS_RUN {
        let peers = (0..6).map(|_| ContenderRuns::new(peer(0, traffic)));
        let tallies = std::iter::once(ContenderRuns::new(OURS)).chain(peers).collect();
        let mut outcome = outcome("tcp-1", tallies);
        while !is_finished(&outcome, &RULES) {
            block(&mut outcome, &[1.0; 7], &mut noise);
        }
        sum += compare(&outcome, outcome.row.checks[0], &RULES).unwrap().ratio.value.ln();
    }
    let bias = sum / f64::from(ROWS_RUN);
    assert!(bias.abs() < 0.002, "{bias}");
}
