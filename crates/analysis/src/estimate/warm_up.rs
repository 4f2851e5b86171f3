//! Warm-up of a trial and steadiness of the rest: decided once for all metrics of the trial, on the primary rate of its
//! workload.

use crate::select::trial_traffic::TrialTraffic;
use tare_record::{WarmUpPolicy, WorkloadPlan};
use tare_stats::shift::{self, LevelShift};
use tare_stats::warm_up;

/// Smallest share of a trial that makes a level a mode of the network. A shorter level at the beginning may be the
/// warm-up.
const MIN_MODE_SHARE: f64 = 0.25;

/// Warm-up of a trial, and the steadiness of the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TrialWarmUp {
    /// Number of intervals cut off as the warm-up.
    pub(crate) cut: usize,
    /// `true` if an end of the warm-up was found, or if none was looked for.
    pub(crate) settled: bool,
    /// Change of level after the warm-up.
    pub(crate) shift: Option<LevelShift>,
}

impl TrialWarmUp {
    /// Finds the warm-up of this traffic as its plan demands.
    pub(crate) fn from_traffic(traffic: &TrialTraffic<'_>, plan: &WorkloadPlan) -> Self {
        // What changes from slice to slice of a woven trial changes for all networks, and the beginning of every slice is
        // not counted.
        if plan.slices.is_some() {
            return Self { cut: 0, settled: true, shift: None };
        }
        let rates = traffic.rates(traffic.primary());
        match plan.warm_up {
            WarmUpPolicy::Auto => Self::detect(&rates),
            WarmUpPolicy::Fixed(span) => {
                let cut = traffic.intervals_within(span).min(rates.len() / 2);
                Self { cut, settled: true, shift: shift::find(&rates[cut..]) }
            }
        }
    }

    /// Finds the warm-up that the rates themselves show. If a switch between two modes is what keeps the cut from being
    /// short, the fixed share is cut instead and the switch is reported: each mode was steady.
    fn detect(rates: &[f64]) -> Self {
        let warm_up = warm_up::WarmUpCut::detect(rates);
        let latest = (rates.len() as f64 * MIN_MODE_SHARE) as usize;
        if warm_up.cut > latest || !warm_up.is_settled() {
            let cut = warm_up::fixed_cut(rates.len());
            let shift = shift::find(&rates[cut..]);
            if matches!(shift, Some(LevelShift::ModeSwitch { at, .. }) if cut + at > latest) {
                return Self { cut, settled: true, shift };
            }
        }
        Self {
            cut: warm_up.cut,
            settled: warm_up.is_settled(),
            shift: shift::find(&rates[warm_up.cut..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{SeededRandom, trial, workload};
    use tare_record::Nanos;

    /// Returns rates around a level that is `low` before `until` and 100 from there on.
    fn step(n: usize, until: usize, low: f64) -> Vec<f64> {
        let mut chance = SeededRandom::seeded(n as u64);
        (0..n).map(|i| if i < until { low } else { 100.0 } + chance.normal()).collect()
    }

    #[test]
    fn a_slow_start_is_cut() {
        for n in [50, 100, 200] {
            let beginning = TrialWarmUp::detect(&step(n, n / 7, 60.0));
            assert!(beginning.settled && beginning.shift.is_none(), "{n}: {beginning:?}");
            assert!(beginning.cut >= n / 7 && beginning.cut <= n / 3, "{n}: {beginning:?}");
        }
    }

    #[test]
    fn a_mode_is_no_warm_up_however_early_it_ends() {
        for n in [50, 100, 200] {
            for until in [n * 3 / 10, n * 2 / 5, n / 2, n * 7 / 10] {
                let beginning = TrialWarmUp::detect(&step(n, until, 60.0));
                assert!(beginning.settled && beginning.cut <= n / 10, "{n} {until}: {beginning:?}");
                assert!(
                    matches!(beginning.shift, Some(LevelShift::ModeSwitch { .. })),
                    "{n} {until}"
                );
            }
        }
    }

    #[test]
    fn a_climb_to_the_end_never_settled_and_is_a_trend() {
        let mut chance = SeededRandom::seeded(3);
        let rates: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i) + chance.normal()).collect();
        let beginning = TrialWarmUp::detect(&rates);
        assert!(!beginning.settled && beginning.cut == 10, "{beginning:?}");
        assert!(matches!(beginning.shift, Some(LevelShift::Trend { change }) if change > 0.4));
    }

    #[test]
    fn a_declared_warm_up_is_cut_as_declared_yet_never_more_than_half() {
        let trial = trial("bridge", 0, &[100; 10]);
        let mut plan = workload("tcp-stream", &[]);
        plan.warm_up = WarmUpPolicy::Fixed(Nanos(250_000_000));
        assert_eq!(TrialWarmUp::from_traffic(&TrialTraffic::from_trial(&trial), &plan).cut, 3);
        plan.warm_up = WarmUpPolicy::Fixed(Nanos(5_000_000_000));
        assert_eq!(TrialWarmUp::from_traffic(&TrialTraffic::from_trial(&trial), &plan).cut, 5);
    }
}
