//! Ratio of two networks' figures, paired within blocks, on the log scale.
//!
//! Drift of a shared machine moves both figures of a block alike and cancels in their ratio. The logarithm makes
//! "twice" and "half" equally far from 1, so that swapping the two sides mirrors every result.

use crate::confidence_sequence;
use crate::describe::{mean, sd};
use crate::group_sequential::{Analysis, nominal_level, overall_p};
use crate::student::StudentT;

/// Log ratios closer to zero than this are rounding of the figures, not a difference.
const ROUNDING: f64 = 1e-12;

/// Ratio of paired figures, with its intervals and test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedRatio {
    /// Geometric mean of the pairs' ratios.
    pub value: f64,
    /// 90 % interval of the ratio.
    pub ci90: [f64; 2],
    /// 95 % interval of the ratio.
    pub ci95: [f64; 2],
    /// Two-sided p-value of a ratio of 1 (paired t-test on the log ratio). Without any spread it is 1 for a ratio of 1,
    /// and 0 for any other: such figures come from a mock, where nothing is left to chance.
    pub p: f64,
    /// Standard deviation of the log ratio over the pairs.
    pub sd_log: f64,
    /// Number of pairs.
    pub n: u32,
}

impl PairedRatio {
    /// Computes the ratio with intervals and a p-value that stay valid however often one looks while pairs come in
    /// ([`confidence_sequence`]). Returns `None` while the intervals are infinite, and wherever
    /// [`PairedRatio::from_pairs`] does.
    #[must_use]
    pub fn anytime_valid(pairs: &[(f64, f64)]) -> Option<Self> {
        let fixed = Self::from_pairs(pairs)?;
        let logs = log_ratios(pairs)?;
        let interval = |confidence| {
            Some(confidence_sequence::mean_interval(&logs, confidence)?.map(finite_exp))
        };
        Some(Self {
            ci90: interval(0.90)?,
            ci95: interval(0.95)?,
            p: confidence_sequence::p_of_zero(&logs),
            ..fixed
        })
    }

    /// Computes the ratio at the last of these interim analyses, with intervals and a p-value that hold over all of
    /// them together ([`group_sequential`](crate::group_sequential)). Returns `None` wherever
    /// [`PairedRatio::from_pairs`] does.
    #[must_use]
    pub fn at_analysis(pairs: &[(f64, f64)], analyses: &[Analysis]) -> Option<Self> {
        if analyses.is_empty() {
            return None;
        }
        let fixed = Self::from_pairs(pairs)?;
        let interval = |confidence: f64| {
            let level = nominal_level(analyses, 1.0 - confidence).max(f64::MIN_POSITIVE);
            let student = StudentT::for_mean(pairs.len())?;
            let error = fixed.sd_log / (pairs.len() as f64).sqrt();
            let half = if error == 0.0 { 0.0 } else { -student.quantile(level / 2.0) * error };
            let centre = fixed.value.ln();
            Some([finite_exp(centre - half), finite_exp(centre + half)])
        };
        let p = overall_p(analyses, fixed.p);
        Some(Self { ci90: interval(0.90)?, ci95: interval(0.95)?, p, ..fixed })
    }

    /// Computes the ratio from pairs of a network's figure and its baseline's. Returns `None` for fewer than two pairs,
    /// or if a figure is not positive and finite.
    #[must_use]
    pub fn from_pairs(pairs: &[(f64, f64)]) -> Option<Self> {
        let logs = log_ratios(pairs)?;
        let (centre, sd_log) = (mean(&logs)?, sd(&logs)?);
        let student = StudentT::for_mean(logs.len())?;
        let error = sd_log / (logs.len() as f64).sqrt();
        let interval = |confidence| {
            let half = student.half_width(confidence) * error;
            [finite_exp(centre - half), finite_exp(centre + half)]
        };
        Some(Self {
            value: finite_exp(centre),
            ci90: interval(0.90),
            ci95: interval(0.95),
            p: p_of_unit_ratio(student, centre, error),
            sd_log,
            n: u32::try_from(logs.len()).ok()?,
        })
    }

    /// Returns the smallest change, as a share of 1, that this many pairs with this spread find in about 80 % of runs
    /// by the two-sided 5 % test (Student's t in the place of the noncentral one, as in sample size tables).
    #[must_use]
    pub fn detectable(&self) -> f64 {
        let Some(student) = StudentT::for_mean(self.n as usize) else {
            return f64::MAX;
        };
        let errors = student.half_width(0.95) + student.quantile(0.80);
        (errors * self.sd_log / f64::from(self.n).sqrt()).exp_m1().min(f64::MAX)
    }
}

/// Returns the logarithms of all ratios. Returns `None` if a figure is not positive and finite.
fn log_ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let positive = |figure: f64| figure > 0.0 && figure.is_finite();
    let all = pairs.iter().all(|&(network, baseline)| positive(network) && positive(baseline));
    all.then(|| pairs.iter().map(log_ratio).collect())
}

/// Returns the logarithm of a pair's ratio. The difference of the logarithms cannot overflow, unlike the quotient.
fn log_ratio(&(network, baseline): &(f64, f64)) -> f64 {
    let log = network.ln() - baseline.ln();
    if log.abs() < ROUNDING { 0.0 } else { log }
}

/// Returns the exponential, clamped to positive finite values: JSON has no infinity.
fn finite_exp(log: f64) -> f64 {
    log.exp().clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// Returns the p-value of a mean log ratio with this standard error.
fn p_of_unit_ratio(student: StudentT, centre: f64, error: f64) -> f64 {
    if centre == 0.0 {
        1.0
    } else if error == 0.0 {
        0.0
    } else {
        student.two_sided_p(centre / error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use proptest::prelude::*;

    /// Returns pairs whose log ratios have this centre and spread. The baseline itself varies by 0.3 on the log scale.
    fn pairs(noise: &mut Noise, n: usize, centre: f64, sd_log: f64) -> Vec<(f64, f64)> {
        (0..n)
            .map(|_| {
                let baseline = (0.3 * noise.normal()).exp();
                (baseline * (centre + sd_log * noise.normal()).exp(), baseline)
            })
            .collect()
    }

    /// Reference: scipy's `ttest_rel` on the logarithms, and its `confidence_interval`.
    #[test]
    fn the_same_as_scipy() {
        let ratio = PairedRatio::from_pairs(&[(9.0, 10.0), (18.5, 20.0), (8.9, 9.5), (11.0, 12.5)])
            .unwrap();
        assert!((ratio.value - SCIPY_VALUE).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.p - SCIPY_P).abs() < 1e-9, "{ratio:?}");
        for (found, expected) in ratio.ci90.iter().chain(&ratio.ci95).zip(SCIPY_INTERVALS) {
            assert!((found - expected).abs() < 1e-7, "{ratio:?}");
        }
        assert_eq!(ratio.n, 4);
    }

    const SCIPY_VALUE: f64 = 0.910_192_659_970_307_4;
    const SCIPY_P: f64 = 0.006_747_196_386_212_77;
    const SCIPY_INTERVALS: [f64; 4] = [
        0.880_655_744_156_221,
        0.940_720_234_621_967,
        0.870_479_920_984_646,
        0.951_717_160_031_353,
    ];

    #[test]
    fn figures_without_spread_leave_nothing_to_chance() {
        let equal = PairedRatio::from_pairs(&[(3.0, 3.0), (4.0, 4.0)]).unwrap();
        assert_eq!((equal.value, equal.p, equal.ci95), (1.0, 1.0, [1.0, 1.0]));
        assert_eq!(equal.detectable(), 0.0);
        let twice = PairedRatio::from_pairs(&[(6.0, 3.0), (6.0, 3.0)]).unwrap();
        assert_eq!((twice.p, twice.ci95[0]), (0.0, twice.ci95[1]));
    }

    #[test]
    fn what_has_no_ratio_gives_none() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(PairedRatio::from_pairs(&[(1.0, 1.0), (bad, 1.0)]).is_none());
            assert!(PairedRatio::from_pairs(&[(1.0, 1.0), (1.0, bad)]).is_none());
        }
        assert!(PairedRatio::from_pairs(&[]).is_none());
        assert!(PairedRatio::from_pairs(&[(1.0, 1.0)]).is_none());
    }

    #[test]
    fn the_intervals_cover_and_the_test_errs_as_often_as_they_say() {
        for n in [3, 5, 10, 30] {
            let mut noise = Noise::seeded(n as u64);
            let runs = 10_000;
            let (mut in95, mut in90, mut alarms) = (0, 0, 0);
            for _ in 0..runs {
                let ratio = PairedRatio::from_pairs(&pairs(&mut noise, n, 0.0, 0.03)).unwrap();
                in95 += u32::from(ratio.ci95[0] <= 1.0 && 1.0 <= ratio.ci95[1]);
                in90 += u32::from(ratio.ci90[0] <= 1.0 && 1.0 <= ratio.ci90[1]);
                alarms += u32::from(ratio.p < 0.05);
            }
            let share = |count| f64::from(count) / f64::from(runs);
            assert!((0.943..=0.957).contains(&share(in95)), "{n}: {}", share(in95));
            assert!((0.89..=0.91).contains(&share(in90)), "{n}: {}", share(in90));
            assert_eq!(alarms, runs - in95, "the test and the interval are one");
        }
    }

    #[test]
    fn at_a_single_analysis_the_ratio_is_the_plain_one() {
        let pairs = pairs(&mut Noise::seeded(3), 8, -0.02, 0.01);
        let only = [Analysis { values: 8, information: 1.0 }];
        let (plain, one) = (
            PairedRatio::from_pairs(&pairs).unwrap(),
            PairedRatio::at_analysis(&pairs, &only).unwrap(),
        );
        assert!((one.ci95[0] / plain.ci95[0] - 1.0).abs() < 1e-9, "{one:?} {plain:?}");
        assert!((one.p / plain.p - 1.0).abs() < 1e-6, "{one:?} {plain:?}");
        assert_eq!(PairedRatio::at_analysis(&pairs, &[]), None);
    }

    #[test]
    fn the_interval_and_the_test_of_an_interim_analysis_are_one() {
        let mut noise = Noise::seeded(12);
        for information in [0.5, 0.8, 1.0] {
            for _ in 0..60 {
                let pairs = pairs(&mut noise, 7, 0.03, 0.02);
                let analyses =
                    [Analysis { values: 5, information: 0.4 }, Analysis { values: 7, information }];
                let ratio = PairedRatio::at_analysis(&pairs, &analyses).unwrap();
                let is_out = ratio.ci95[0] > 1.0 || ratio.ci95[1] < 1.0;
                assert_eq!(ratio.p < 0.05, is_out, "{ratio:?}");
                let plain = PairedRatio::from_pairs(&pairs).unwrap();
                assert!(ratio.p >= plain.p && ratio.ci95[1] >= plain.ci95[1]);
            }
        }
    }

    #[test]
    fn a_detectable_change_is_found_in_four_runs_of_five() {
        for n in [4, 8, 20] {
            let mut noise = Noise::seeded(80 + n as u64);
            // Computed from the true spread, not from each run's own estimate of it.
            let truth = PairedRatio {
                value: 1.0,
                ci90: [1.0; 2],
                ci95: [1.0; 2],
                p: 1.0,
                sd_log: 0.05,
                n: u32::try_from(n).unwrap(),
            };
            let change = truth.detectable().ln_1p();
            let runs = 4_000;
            let found = (0..runs)
                .filter(|_| {
                    PairedRatio::from_pairs(&pairs(&mut noise, n, change, 0.05)).unwrap().p < 0.05
                })
                .count();
            let share = found as f64 / f64::from(runs);
            assert!((0.76..=0.84).contains(&share), "{n}: {share}");
        }
    }

    fn figures() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((1e-3f64..1e3, 1e-3f64..1e3), 2..30)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-12
    }

    proptest! {
        #[test]
        fn units_and_drift_cancel(pairs in figures(), unit in 1e-3f64..1e3) {
            let scaled: Vec<_> = pairs.iter().map(|&(a, b)| (a * unit, b * unit)).collect();
            let (one, other) = (PairedRatio::from_pairs(&pairs).unwrap(), PairedRatio::from_pairs(&scaled).unwrap());
            prop_assert!(close(one.value, other.value) && close(one.sd_log, other.sd_log));
            prop_assert!((one.p - other.p).abs() < 1e-6);
        }

        #[test]
        fn swapping_the_sides_mirrors_everything(pairs in figures()) {
            let swapped: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let (one, other) = (PairedRatio::from_pairs(&pairs).unwrap(), PairedRatio::from_pairs(&swapped).unwrap());
            prop_assert!(close(one.value, 1.0 / other.value));
            prop_assert!(close(one.ci95[0], 1.0 / other.ci95[1]));
            prop_assert!(close(one.ci90[1], 1.0 / other.ci90[0]));
            prop_assert!((one.p - other.p).abs() < 1e-9);
            prop_assert!(close(one.detectable(), other.detectable()));
        }

        #[test]
        fn whatever_comes_the_figures_are_numbers_in_order(pairs in prop::collection::vec(
            (prop::num::f64::POSITIVE, prop::num::f64::POSITIVE), 2..10,
        )) {
            if let Some(ratio) = PairedRatio::from_pairs(&pairs) {
                let [low95, high95] = ratio.ci95;
                let [low90, high90] = ratio.ci90;
                prop_assert!(low95 <= low90 && low90 <= ratio.value);
                prop_assert!(ratio.value <= high90 && high90 <= high95);
                prop_assert!(low95 > 0.0 && high95.is_finite());
                prop_assert!((0.0..=1.0).contains(&ratio.p));
                prop_assert!(ratio.detectable() >= 0.0 && ratio.detectable().is_finite());
            }
        }
    }
}
