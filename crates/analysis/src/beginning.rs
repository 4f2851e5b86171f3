//! Where a trial's steady part begins, and whether it is steady: decided once for all metrics of the trial, on the
//! rate that the workload is about.

use crate::traffic::Traffic;
use tare_record::{WarmUp, WorkloadPlan};
use tare_stats::shift::{self, Shift};
use tare_stats::steady;

/// A level that holds through this share of a trial is a mode of the network, not its warm-up.
const MODE_SHARE: f64 = 0.25;

/// Where a trial's steady part begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Beginning {
    /// Intervals cut off.
    pub(crate) cut: usize,
    /// Whether an end of the warm-up was found, or none was looked for.
    pub(crate) settled: bool,
    /// What changed after it.
    pub(crate) shift: Option<Shift>,
}

impl Beginning {
    /// The beginning of this traffic, treated as its plan says.
    pub(crate) fn of(traffic: &Traffic<'_>, plan: &WorkloadPlan) -> Self {
        let rates = traffic.rates(traffic.primary());
        match plan.warm_up {
            WarmUp::Auto => Self::found(&rates),
            WarmUp::Fixed(span) => {
                let cut = traffic.begun_within(span).min(rates.len() / 2);
                Self { cut, settled: true, shift: shift::find(&rates[cut..]) }
            }
        }
    }

    /// The beginning that the rates themselves show. Where a switch between two modes is what keeps the cut from being
    /// a short one, the declared share is cut instead and the switch is what is reported: each mode was steady.
    fn found(rates: &[f64]) -> Self {
        let warm_up = steady::WarmUp::of(rates);
        let latest = (rates.len() as f64 * MODE_SHARE) as usize;
        if warm_up.cut > latest || !warm_up.settled() {
            let cut = steady::fixed_cut(rates.len());
            let shift = shift::find(&rates[cut..]);
            if matches!(shift, Some(Shift::ModeSwitch { at, .. }) if cut + at > latest) {
                return Self { cut, settled: true, shift };
            }
        }
        Self {
            cut: warm_up.cut,
            settled: warm_up.settled(),
            shift: shift::find(&rates[warm_up.cut..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{Chance, trial, workload};
    use tare_record::Nanos;

    /// Rates around a level that is `low` before `until` and 100 from there on.
    fn step(n: usize, until: usize, low: f64) -> Vec<f64> {
        let mut chance = Chance::seeded(n as u64);
        (0..n).map(|i| if i < until { low } else { 100.0 } + chance.normal()).collect()
    }

    #[test]
    fn a_slow_start_is_cut() {
        for n in [50, 100, 200] {
            let beginning = Beginning::found(&step(n, n / 7, 60.0));
            assert!(beginning.settled && beginning.shift.is_none(), "{n}: {beginning:?}");
            assert!(beginning.cut >= n / 7 && beginning.cut <= n / 3, "{n}: {beginning:?}");
        }
    }

    #[test]
    fn a_mode_is_no_warm_up_however_early_it_ends() {
        for n in [50, 100, 200] {
            for until in [n * 3 / 10, n * 2 / 5, n / 2, n * 7 / 10] {
                let beginning = Beginning::found(&step(n, until, 60.0));
                assert!(beginning.settled && beginning.cut <= n / 10, "{n} {until}: {beginning:?}");
                assert!(matches!(beginning.shift, Some(Shift::ModeSwitch { .. })), "{n} {until}");
            }
        }
    }

    #[test]
    fn a_climb_to_the_end_never_settled_and_is_a_trend() {
        let mut chance = Chance::seeded(3);
        let rates: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i) + chance.normal()).collect();
        let beginning = Beginning::found(&rates);
        assert!(!beginning.settled && beginning.cut == 10, "{beginning:?}");
        assert!(matches!(beginning.shift, Some(Shift::Trend { change }) if change > 0.4));
    }

    #[test]
    fn a_declared_warm_up_is_cut_as_declared_yet_never_more_than_half() {
        let trial = trial("bridge", 0, &[100; 10]);
        let mut plan = workload("tcp-stream", &[]);
        plan.warm_up = WarmUp::Fixed(Nanos(250_000_000));
        assert_eq!(Beginning::of(&Traffic::of(&trial), &plan).cut, 3);
        plan.warm_up = WarmUp::Fixed(Nanos(5_000_000_000));
        assert_eq!(Beginning::of(&Traffic::of(&trial), &plan).cut, 5);
    }
}
