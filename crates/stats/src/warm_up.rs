//! End of the warm-up of a trial, found by MSER.
//!
//! MSER (K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997)
//! cuts where the standard error of the remaining values is smallest: cutting a biased beginning shrinks it, cutting
//! good values makes it grow again. MSER-5 (White, Cobb and Spratt, WSC 2000) does so on means of five values, which
//! removes most of the noise; it is used if there are enough values.

/// Fewest batches on which the method is used.
pub const MIN_BATCHES: usize = 20;

/// Divisor of the fixed cut: one interval in so many is cut if the method cannot be used or finds no end of the
/// warm-up.
pub const FIXED_CUT_DIVISOR: usize = 10;

/// Number of values in a batch of MSER-5.
const BATCH_SIZE: usize = 5;

/// Divisor of the longest cut by the method: at most one value in so many. White allows half; less keeps enough of a
/// trial for its percentiles, and a warm-up that is longer than a third wants a longer trial, as the finding says.
const MAX_CUT_DIVISOR: usize = 3;

/// Method by which a cut was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutBasis {
    /// MSER-5: on means of five intervals.
    Mser5,
    /// MSER on single intervals.
    Mser,
    /// Fixed share: there are too few intervals for MSER.
    TooFewIntervals,
    /// Fixed share: the method would have cut a third or more, so the trial never settled.
    NeverSettled,
}

/// Warm-up at the beginning of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUpCut {
    /// Intervals to cut off; never more than a third of them, or half of three or fewer.
    pub cut: usize,
    /// Method that gave this cut.
    pub basis: CutBasis,
}

impl WarmUpCut {
    /// Finds the warm-up of a trial with these interval values.
    #[must_use]
    pub fn detect(values: &[f64]) -> Self {
        let (batch, basis) = if values.len() >= MIN_BATCHES * BATCH_SIZE {
            (BATCH_SIZE, CutBasis::Mser5)
        } else {
            (1, CutBasis::Mser)
        };
        if values.len() < MIN_BATCHES {
            return Self { cut: fixed_cut(values.len()), basis: CutBasis::TooFewIntervals };
        }
        let means: Vec<f64> = values
            .chunks_exact(batch)
            .map(|chunk| chunk.iter().sum::<f64>() / batch as f64)
            .collect();
        match mser(&means) {
            Some(cut) => Self { cut: cut * batch, basis },
            None => Self { cut: fixed_cut(values.len()), basis: CutBasis::NeverSettled },
        }
    }

    /// Returns `true` unless the trial was seen not to reach a steady state.
    #[must_use]
    pub fn is_settled(self) -> bool {
        self.basis != CutBasis::NeverSettled
    }
}

/// Returns the fixed cut of `n` intervals: one in [`FIXED_CUT_DIVISOR`], rounded up, yet never more than half.
#[must_use]
pub fn fixed_cut(n: usize) -> usize {
    n.div_ceil(FIXED_CUT_DIVISOR).min(n / 2)
}

/// Returns the cut, in values, with the smallest squared standard error of the remaining values. Returns `None` if that
/// cut lies at the limit, where no end of the warm-up has been seen.
fn mser(values: &[f64]) -> Option<usize> {
    let limit = values.len() / MAX_CUT_DIVISOR;
    let mut best = (f64::INFINITY, 0);
    // Runs from the end to the beginning, so that each further value updates the sums (Welford 1962). On a tie the
    // shorter cut wins.
    let (mut mean, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate().rev() {
        let kept = (values.len() - index) as f64;
        let distance = value - mean;
        mean += distance / kept;
        squares += distance * (value - mean);
        let error = squares / (kept * kept);
        if index <= limit && error <= best.0 {
            best = (error, index);
        }
    }
    (best.1 < limit).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use proptest::prelude::*;

    /// Computes MSER literally by its definition.
    fn mser_by_definition(values: &[f64]) -> Option<usize> {
        let error = |cut: usize| {
            let kept = &values[cut..];
            let mean = kept.iter().sum::<f64>() / kept.len() as f64;
            kept.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
                / (kept.len() as f64).powi(2)
        };
        let limit = values.len() / MAX_CUT_DIVISOR;
        let cut = (0..=limit).min_by(|&a, &b| error(a).total_cmp(&error(b)))?;
        (cut < limit).then_some(cut)
    }

    #[test]
    fn a_slow_start_is_cut_and_what_follows_is_kept() {
        let mut noise = Noise::seeded(1997);
        for n in [40, 100, 300] {
            let slow = n / 6;
            let values: Vec<f64> =
                (0..n).map(|i| if i < slow { 50.0 } else { 100.0 } + noise.normal()).collect();
            let warm_up = WarmUpCut::detect(&values);
            assert!(warm_up.is_settled());
            assert!(warm_up.cut >= slow && warm_up.cut <= slow + n / 6, "{n}: {warm_up:?}");
        }
    }

    /// Returns a series with a biased beginning and the index at which the bias ends. The bias of a step is constant,
    /// the bias of a ramp decreases.
    fn warming(noise: &mut Noise, n: usize, phi: f64, is_step: bool) -> (usize, Vec<f64>) {
        let draw = |noise: &mut Noise, span: f64| noise.normal().abs() % 1.0 * span;
        let end = n / 20 + 1 + draw(noise, n as f64 / 5.0) as usize;
        let depth = (4.0 + draw(noise, 16.0)) * noise.normal().signum();
        let share =
            |i: usize| if is_step { 1.0 } else { end.saturating_sub(i) as f64 / end as f64 };
        let values = noise.ar1(n, phi).into_iter().enumerate();
        let bias = |i: usize| if i < end { depth * share(i) } else { 0.0 };
        (end, values.map(|(i, value)| value + bias(i)).collect())
    }

    #[test]
    fn cuts_land_near_the_true_end_of_the_warm_up() {
        let runs = 2_000;
        for (n, phi) in [(40, 0.0), (40, 0.5), (90, 0.0), (90, 0.5), (200, 0.0), (300, 0.5)] {
            for is_step in [true, false] {
                let mut noise = Noise::seeded(n as u64);
                let mut off: Vec<i64> = Vec::new();
                for _ in 0..runs {
                    let (end, values) = warming(&mut noise, n, phi, is_step);
                    let found = WarmUpCut::detect(&values);
                    if found.is_settled() {
                        off.push(found.cut as i64 - end as i64);
                    }
                }
                let case = format!("{n} intervals, correlated by {phi}, a step: {is_step}");
                let share = |count: usize| count as f64 / f64::from(runs);
                let n = n as i64;
                let near = off.iter().filter(|off| (-n / 10..=n / 8).contains(off)).count();
                assert!(share(near) > 0.9, "{case}: {} near", share(near));
                // The last part of a ramp is lost in the noise; of a step no more than a part of a batch may remain.
                let early = off.iter().filter(|off| **off <= -(BATCH_SIZE as i64)).count();
                assert!(!is_step || share(early) < 0.02, "{case}: {} early", share(early));
                off.sort_unstable();
                let median = off[off.len() / 2];
                assert!(median.abs() <= BATCH_SIZE as i64, "{case}: {median} off in the middle");
            }
        }
    }

    #[test]
    fn the_method_follows_the_number_of_intervals() {
        let values =
            |n: usize| (0..n).map(|i| if i == 0 { 0.0 } else { 1.0 }).collect::<Vec<f64>>();
        assert_eq!(
            WarmUpCut::detect(&values(19)),
            WarmUpCut { cut: 2, basis: CutBasis::TooFewIntervals }
        );
        assert_eq!(WarmUpCut::detect(&values(20)), WarmUpCut { cut: 1, basis: CutBasis::Mser });
        assert_eq!(WarmUpCut::detect(&values(99)), WarmUpCut { cut: 1, basis: CutBasis::Mser });
        assert_eq!(WarmUpCut::detect(&values(100)), WarmUpCut { cut: 5, basis: CutBasis::Mser5 });
        assert_eq!(WarmUpCut::detect(&[]), WarmUpCut { cut: 0, basis: CutBasis::TooFewIntervals });
        assert_eq!(
            WarmUpCut::detect(&[1.0]),
            WarmUpCut { cut: 0, basis: CutBasis::TooFewIntervals }
        );
    }

    #[test]
    fn a_trial_that_climbs_to_its_end_never_settled() {
        let values: Vec<f64> = (0..60).map(f64::from).collect();
        let warm_up = WarmUpCut::detect(&values);
        assert_eq!(warm_up, WarmUpCut { cut: 6, basis: CutBasis::NeverSettled });
        assert!(!warm_up.is_settled());
    }

    #[test]
    fn an_even_trial_is_kept_whole() {
        assert_eq!(WarmUpCut::detect(&[7.0; 50]).cut, 0);
    }

    #[test]
    fn steady_noise_settles_and_loses_little() {
        let runs = 2_000;
        // With 20 batches (100 intervals make so many batches of five) noise alone reaches the limit more often.
        for (n, phi, most) in
            [(20, 0.0, 0.05), (90, 0.0, 0.03), (90, 0.5, 0.03), (100, 0.0, 0.05), (200, 0.5, 0.03)]
        {
            let mut noise = Noise::seeded(n as u64);
            let found: Vec<WarmUpCut> =
                (0..runs).map(|_| WarmUpCut::detect(&noise.ar1(n, phi))).collect();
            let unsettled = found.iter().filter(|warm_up| !warm_up.is_settled()).count();
            let cut: usize = found.iter().map(|warm_up| warm_up.cut).sum();
            let (unsettled, cut) =
                (unsettled as f64 / f64::from(runs), cut as f64 / (f64::from(runs) * n as f64));
            assert!(unsettled < most && cut < 0.08, "{n} {phi}: {unsettled} {cut}");
        }
    }

    proptest! {
        #[test]
        fn never_more_than_a_third(values in prop::collection::vec(0.0f64..1e9, 0..260)) {
            let most = if values.len() < 4 { values.len() / 2 } else { values.len() / 3 };
            prop_assert!(WarmUpCut::detect(&values).cut <= most);
        }

        #[test]
        fn a_unit_changes_nothing(values in prop::collection::vec(1.0f64..1e3, 0..260)) {
            let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0).collect();
            prop_assert_eq!(WarmUpCut::detect(&values), WarmUpCut::detect(&scaled));
        }

        #[test]
        fn the_running_sums_do_what_the_definition_says(
            values in prop::collection::vec(1.0f64..1e3, 20..99),
        ) {
            prop_assert_eq!(mser(&values), mser_by_definition(&values));
        }
    }
}
