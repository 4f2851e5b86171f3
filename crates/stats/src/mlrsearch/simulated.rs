//! Tests of searches in simulated networks, whose capacity is known.

use super::classify::tests::classify_by_the_text;
use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Duration;

/// Simulated network: returns the loss ratio at a load.
type Network<'a> = dyn FnMut(f64) -> f64 + 'a;

fn goal(loss_ratio: f64, exceed_ratio: f64, trials: u32, width: f64) -> SearchGoal {
    let full = Duration::from_millis(500);
    SearchGoal {
        loss_ratio,
        exceed_ratio,
        initial_trial_duration: Duration::from_millis(50),
        final_trial_duration: full,
        duration_sum: full * trials,
        width,
    }
}

fn room(seconds: u64) -> SearchLimits {
    SearchLimits {
        min: 100.0,
        max: 1e6,
        budget: Duration::from_secs(seconds),
        pause: Duration::from_millis(10),
    }
}

/// Runs a search to its end and checks its invariants. Returns the trials and the results.
fn run(
    goals: &[SearchGoal],
    room: SearchLimits,
    network: &mut Network<'_>,
) -> (Vec<TrialResult>, Vec<SearchGoalResult>) {
    let mut search = Search::new(goals, room).unwrap();
    let mut trials = Vec::new();
    let mut spent = Duration::ZERO;
    let shortest = goals.iter().map(|goal| goal.initial_trial_duration).min().unwrap();
    loop {
        let ask = match search.next_step() {
            SearchStep::RunTrial(ask) => ask,
            SearchStep::Done(found) => return (trials, found),
        };
        assert_eq!(search.next_step(), SearchStep::RunTrial(ask), "asked again, the same");
        assert!(room.min <= ask.load && ask.load <= room.max, "{ask:?}");
        assert!(ask.duration >= shortest, "{ask:?}");
        spent += ask.duration + room.pause;
        assert!(spent <= room.budget, "{spent:?}");
        let sent = (ask.load * ask.duration.as_secs_f64()).round() as u64;
        let lost = (network(ask.load) * sent as f64).round() as u64;
        let trial = TrialResult { load: ask.load, duration: ask.duration, sent, lost };
        trials.push(trial);
        search.observe(trial, ask.duration + room.pause);
    }
}

/// Computes the bounds anew and slowly from all trials.
fn bounds_by_the_text(goal: &SearchGoal, trials: &[TrialResult]) -> RelevantBounds {
    let class = |load: f64| {
        let at: Vec<TrialResult> =
            trials.iter().filter(|trial| trial.load == load).copied().collect();
        classify_by_the_text(goal, &at)
    };
    let loads = |wanted: LoadClass| {
        trials.iter().map(|trial| trial.load).filter(move |&load| class(load) == wanted)
    };
    let upper = loads(LoadClass::Upper).min_by(f64::total_cmp);
    let lower = loads(LoadClass::Lower)
        .filter(|&load| upper.is_none_or(|upper| load < upper))
        .max_by(f64::total_cmp);
    RelevantBounds { lower, upper }
}

/// Checks the invariants of every result, however the network behaves.
fn check(trials: &[TrialResult], found: &SearchGoalResult, room: SearchLimits) {
    let SearchGoalResult { goal, bounds, conditional_throughput: conditional, ending } = found;
    assert_eq!(*bounds, bounds_by_the_text(goal, trials));
    assert_eq!(conditional.is_some(), bounds.lower.is_some());
    if let (Some(lower), Some(conditional)) = (bounds.lower, conditional) {
        assert!(*conditional <= lower && *conditional >= lower * (1.0 - goal.loss_ratio) - 1e-6);
        let full = |trial: &&TrialResult| trial.duration >= goal.final_trial_duration;
        assert!(trials.iter().filter(full).any(|trial| trial.load == lower));
    }
    match ending {
        SearchEnding::Regular => {
            let (lower, upper) = (bounds.lower.unwrap(), bounds.upper.unwrap());
            assert!(lower < upper && (upper - lower) / upper <= goal.width);
        }
        SearchEnding::NoUpper => assert_eq!((bounds.lower, bounds.upper), (Some(room.max), None)),
        SearchEnding::NoLower => assert_eq!((bounds.lower, bounds.upper), (None, Some(room.min))),
        SearchEnding::Unfinished => {}
    }
}

/// Returns a link that passes `capacity` and loses the rest.
fn link(capacity: f64) -> impl FnMut(f64) -> f64 {
    move |load| (1.0 - capacity / load).max(0.0)
}

#[test]
fn a_link_of_known_capacity_is_found_in_few_trials() {
    let goals = [goal(0.0, 0.5, 3, 0.01), goal(0.005, 0.5, 3, 0.01)];
    let (trials, found) = run(&goals, room(600), &mut link(123_456.0));
    let [ndr, pdr] = found[..] else { panic!("{found:?}") };
    assert_eq!((ndr.ending, pdr.ending), (SearchEnding::Regular, SearchEnding::Regular));
    assert!(ndr.bounds.lower <= Some(123_456.0) && Some(123_456.0) <= ndr.bounds.upper);
    let edge = 123_456.0 / 0.995;
    assert!(pdr.bounds.lower <= Some(edge) && Some(edge) <= pdr.bounds.upper);
    assert!(
        pdr.conditional_throughput.unwrap() <= 123_457.0,
        "no more than the link passes: {pdr:?}"
    );
    assert!(trials.len() <= 25, "{}", trials.len());
    let short = trials.iter().take_while(|trial| trial.duration < goals[0].final_trial_duration);
    assert!(short.count() >= 3, "short trials come first");
}

#[test]
fn a_network_that_carries_everything_has_no_upper_bound() {
    let room = room(60);
    let goals = [goal(0.0, 0.0, 1, 0.01), goal(0.01, 0.5, 3, 0.01)];
    let (trials, found) = run(&goals, room, &mut |_| 0.0);
    for found in &found {
        assert_eq!(found.ending, SearchEnding::NoUpper);
        assert_eq!(found.bounds, RelevantBounds { lower: Some(room.max), upper: None });
        assert_eq!(found.conditional_throughput, Some(room.max));
    }
    assert!(trials.len() <= 6, "{}", trials.len());
}

#[test]
fn a_network_that_carries_nothing_has_no_lower_bound() {
    let room = room(60);
    let (trials, found) = run(&[goal(0.0, 0.5, 3, 0.01)], room, &mut |_| 1.0);
    assert_eq!(found[0].ending, SearchEnding::NoLower);
    assert_eq!(found[0].bounds, RelevantBounds { lower: None, upper: Some(room.min) });
    assert_eq!(found[0].conditional_throughput, None);
    assert!(trials.len() <= 10, "{}", trials.len());
}

#[test]
fn a_network_that_breaks_down_under_overload_is_found_all_the_same() {
    let mut breaks = |load: f64| if load > 50_000.0 { 0.99 } else { 0.0 };
    let (trials, found) = run(&[goal(0.0, 0.5, 1, 0.01)], room(600), &mut breaks);
    assert_eq!(found[0].ending, SearchEnding::Regular);
    assert!(found[0].bounds.lower <= Some(50_000.0) && found[0].bounds.upper > Some(50_000.0));
    assert!(trials.len() <= 40, "{}", trials.len());
}

#[test]
fn what_does_not_fit_the_time_is_told() {
    let (trials, found) = run(&[goal(0.0, 0.5, 3, 0.001)], room(3), &mut link(5_000.0));
    assert_eq!(found[0].ending, SearchEnding::Unfinished);
    assert!(found[0].bounds.lower.is_some(), "half the time is for the trials that count");
    check(&trials, &found[0], room(3));
    let (trials, found) = run(&[goal(0.0, 0.5, 3, 0.01)], room(0), &mut link(5_000.0));
    assert!(trials.is_empty());
    assert_eq!(
        (found[0].ending, found[0].bounds),
        (SearchEnding::Unfinished, RelevantBounds::default())
    );
}

#[test]
fn a_trial_that_nobody_asked_for_counts_too() {
    let goal = goal(0.0, 0.0, 1, 0.01);
    let mut search = Search::new(&[goal], room(60)).unwrap();
    for (load, lost) in [(1_000.0, 0), (1_005.0, 3)] {
        let duration = goal.final_trial_duration;
        search.observe(TrialResult { load, duration, sent: 500, lost }, duration);
    }
    assert_eq!(search.results()[0].ending, SearchEnding::Regular);
    assert_eq!(search.next_step(), SearchStep::Done(search.results()));
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let fine = goal(0.0, 0.5, 1, 0.01);
    let fits = room(60);
    assert!(Search::new(&[], fits).is_err());
    assert!(Search::new(&[SearchGoal { width: 0.0, ..fine }], fits).is_err());
    for (min, max) in [(0.0, 1.0), (2.0, 1.0), (1.0, f64::INFINITY), (f64::NAN, 1.0)] {
        assert!(Search::new(&[fine], SearchLimits { min, max, ..fits }).is_err());
    }
}

proptest! {
    #[test]
    fn a_sharp_edge_is_found_within_the_width(
        capacity in 200.0f64..900_000.0, width in 0.002f64..0.2, exceed in 0usize..2, cliff: bool,
    ) {
        let goal = goal(0.0, [0.0, 0.5][exceed], 3, width);
        let mut falls = |load: f64| if load > capacity { 0.3 } else { 0.0 };
        let mut passes = link(capacity);
        let network: &mut Network<'_> = if cliff { &mut falls } else { &mut passes };
        let (trials, found) = run(&[goal], room(3_600), network);
        check(&trials, &found[0], room(3_600));
        prop_assert_eq!(found[0].ending, SearchEnding::Regular);
        // A loss of less than half a datagram in a trial counts as 0.
        let upper = found[0].bounds.upper.unwrap();
        prop_assert!(found[0].bounds.lower.unwrap() <= capacity * 1.02 && upper >= capacity);
        prop_assert!(trials.len() <= 80, "{}", trials.len());
    }

    #[test]
    fn with_random_loss_the_definition_holds(
        seed: u64, capacity in 1_000.0f64..2e6, share in 0.0f64..0.7, seconds in 1u64..60,
    ) {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let mut noisy = |load: f64| {
            let spike = if chance.random_bool(share) { chance.random_range(0.0..0.05) } else { 0.0 };
            (1.0 - capacity / load).max(0.0) + spike
        };
        let goals = [goal(0.0, 0.0, 1, 0.01), goal(0.0, 0.5, 3, 0.01), goal(0.01, 0.2, 4, 0.02)];
        let room = room(seconds);
        let (trials, found) = run(&goals, room, &mut noisy);
        let most = room.budget.as_secs_f64() / 0.06;
        prop_assert!((trials.len() as f64) <= most, "{}", trials.len());
        prop_assert_eq!(found.len(), goals.len());
        for (found, goal) in found.iter().zip(goals) {
            prop_assert_eq!(found.goal, goal);
            check(&trials, found, room);
        }
    }

    #[test]
    fn goals_of_different_lengths_end_too(
        seed: u64, capacity in 1_000.0f64..900_000.0, share in 0.0f64..0.5, short in 50u64..400,
    ) {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let mut noisy = |load: f64| {
            let spike = if chance.random_bool(share) { 0.02 } else { 0.0 };
            (1.0 - capacity / load).max(0.0) + spike
        };
        let full = Duration::from_millis(short);
        let quick = SearchGoal { final_trial_duration: full, duration_sum: full, ..goal(0.005, 0.5, 1, 0.01) };
        let goals = [goal(0.0, 0.5, 5, 0.01), quick];
        let (trials, found) = run(&goals, room(3_600), &mut noisy);
        for found in &found {
            check(&trials, found, room(3_600));
            prop_assert_ne!(found.ending, SearchEnding::Unfinished);
        }
        prop_assert!(trials.len() <= 2_000, "{}", trials.len());
    }
}
