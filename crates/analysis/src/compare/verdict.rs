//! Verdict rule: one interval, compared with 1 and the margin.

use tare_record::{Better, Verdict};
use tare_stats::PairedRatio;

/// Level of every test.
pub(crate) const TEST_LEVEL: f64 = 0.05;

/// Returns the verdict on a network with this ratio to the baseline.
///
/// The 90 % interval, which holds both one-sided 5 % tests (TOST; Schuirmann 1987), is read against the margin, from
/// 1 / (1 + m) to 1 + m, so that swapping network and baseline mirrors the verdict. "Differs" is `p_adjusted` below
/// 5 %, where `p_adjusted` is the two-sided p-value of a ratio of 1 after Holm's correction.
///
/// | interval | differs | verdict |
/// |---|---|---|
/// | wholly beyond the margin | yes | `faster` or `slower` |
/// | wholly within the margin | yes | `faster-slightly` or `slower-slightly` |
/// | wholly within the margin | no | `same` |
/// | anything else | | `unclear` |
#[must_use]
pub fn verdict(ratio: &PairedRatio, margin: f64, p_adjusted: f64, better: Better) -> Verdict {
    verdict_of_interval(ratio.value, ratio.ci90, margin, p_adjusted, better)
}

/// Returns the verdict on any ratio, from its value and its 90 % interval.
pub(crate) fn verdict_of_interval(
    value: f64,
    [low, high]: [f64; 2],
    margin: f64,
    p_adjusted: f64,
    better: Better,
) -> Verdict {
    let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
    let within = least <= low && high <= most;
    let beyond = high < least || low > most;
    let differs = p_adjusted < TEST_LEVEL;
    let is_better = match better {
        Better::Higher => value > 1.0,
        Better::Lower => value < 1.0,
    };
    match (differs, is_better) {
        (true, true) if beyond => Verdict::Faster,
        (true, false) if beyond => Verdict::Slower,
        (true, true) if within => Verdict::FasterSlightly,
        (true, false) if within => Verdict::SlowerSlightly,
        (false, _) if within => Verdict::Same,
        _ => Verdict::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::SeededRandom;
    use proptest::prelude::*;

    fn ratio(value: f64, low: f64, high: f64) -> PairedRatio {
        let interval = [low, high];
        PairedRatio { value, ci90: interval, ci95: interval, p: 0.0, sd_log: 0.01, n: 10 }
    }

    #[test]
    fn each_row_of_the_table() {
        use Better::{Higher, Lower};
        let (near, far) = (0.001, 0.4);
        for (interval, p, better, expected) in [
            ((0.90, 0.89, 0.91), near, Higher, Verdict::Slower),
            ((0.90, 0.89, 0.91), near, Lower, Verdict::Faster),
            ((1.10, 1.09, 1.11), near, Higher, Verdict::Faster),
            ((1.10, 1.09, 1.11), near, Lower, Verdict::Slower),
            ((0.99, 0.985, 0.995), near, Higher, Verdict::SlowerSlightly),
            ((1.01, 1.005, 1.015), near, Higher, Verdict::FasterSlightly),
            ((1.0, 0.99, 1.01), far, Higher, Verdict::Same),
            ((1.0, 0.97, 1.03), far, Higher, Verdict::Unclear),
            ((0.98, 0.97, 0.99), near, Higher, Verdict::Unclear),
            // Beyond the margin, yet no longer significant after the correction over the family.
            ((0.90, 0.89, 0.91), far, Higher, Verdict::Unclear),
        ] {
            let (value, low, high) = interval;
            assert_eq!(
                verdict(&ratio(value, low, high), 0.02, p, better),
                expected,
                "{interval:?}"
            );
        }
    }

    /// Returns a function of the share of these verdicts for blocks whose true ratio is `value`.
    fn shares(value: f64, sd_log: f64, n: usize, margin: f64) -> impl Fn(&[Verdict]) -> f64 {
        let mut chance = SeededRandom::seeded(n as u64);
        let runs = 4_000;
        let verdicts: Vec<Verdict> = (0..runs)
            .map(|_| {
                let pairs: Vec<_> = (0..n)
                    .map(|_| ((f64::ln(value) + sd_log * chance.normal()).exp(), 1.0))
                    .collect();
                let ratio = PairedRatio::from_pairs(&pairs).unwrap();
                verdict(&ratio, margin, ratio.p, Better::Higher)
            })
            .collect();
        move |wanted| {
            verdicts.iter().filter(|verdict| wanted.contains(verdict)).count() as f64
                / f64::from(runs)
        }
    }

    #[test]
    fn where_nothing_differs_a_difference_is_claimed_in_five_runs_of_a_hundred_at_most() {
        for (n, sd_log) in [(5, 0.01), (10, 0.03), (20, 0.028), (60, 0.028)] {
            let share = shares(1.0, sd_log, n, 0.02);
            let same_or_unclear = share(&[Verdict::Same, Verdict::Unclear]);
            assert!(same_or_unclear >= 0.943, "{n} {sd_log}: {same_or_unclear}");
        }
    }

    #[test]
    fn what_lies_at_the_margin_is_called_within_or_beyond_it_in_five_runs_of_a_hundred_at_most() {
        let share = shares(1.0 / 1.02, 0.02, 30, 0.02);
        let within = share(&[Verdict::Same, Verdict::SlowerSlightly, Verdict::FasterSlightly]);
        let beyond = share(&[Verdict::Slower, Verdict::Faster]);
        assert!(within <= 0.06 && beyond <= 0.06, "{within} {beyond}");
    }

    #[test]
    fn at_the_advised_number_of_blocks_equal_networks_are_called_the_same() {
        let (sd_log, margin) = (0.028, 0.02);
        let n = tare_stats::sample_size::blocks_for_half_width(sd_log, margin / 2.0);
        let share = shares(1.0, sd_log, n as usize, margin);
        assert!(share(&[Verdict::Same]) >= 0.90, "{n}: {}", share(&[Verdict::Same]));
    }

    proptest! {
        #[test]
        fn swapping_network_and_baseline_mirrors_the_verdict(
            pairs in prop::collection::vec((0.8f64..1.2, 0.8f64..1.2), 2..30),
            margin in 0.01f64..0.3,
        ) {
            let swapped: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let (one, other) = (PairedRatio::from_pairs(&pairs).unwrap(), PairedRatio::from_pairs(&swapped).unwrap());
            prop_assert_eq!(
                verdict(&one, margin, one.p, Better::Higher),
                verdict(&other, margin, one.p, Better::Lower)
            );
        }
    }
}
