//! Scores of contenders in rounds: their ranking, those clearly behind the first, and the ratio of two.
//!
//! A score is the logarithm of a figure, with the sign that makes the greater score the better one. The contenders of a
//! round ran one after another, so their scores are compared round by round. A block has one gap between two
//! contenders, and blocks are the unit of every interval.

use tare_stats::PairedRatio;
use tare_stats::describe::{mean, mean_interval, trimmed_mean};

/// Share of a block's rounds that is left out at either end, as between the networks of a woven block. Of fewer than
/// five rounds none is left out.
const TRIMMED: f64 = 0.2;

/// Fewest rounds from which [`TRIMMED`] leaves one out at either end.
const FEWEST_ROUNDS: usize = 5;
/// Most rounds of a block: beyond them, further blocks gain more than further rounds.
const MOST_ROUNDS: usize = 9;

/// Fewest blocks of an interval that may end a row by its width. A spread from fewer blocks is so often too small by
/// chance that intervals that are selected for their width would hold the ratio too rarely.
pub(crate) const FEWEST_BLOCKS: u32 = 6;

/// Rounds of a block: a score for each, `None` if the run failed.
pub(crate) type Rounds = Vec<Option<f64>>;

/// Returns the number of rounds of a block: the time that contenders no longer take goes to more rounds of the others.
pub(crate) fn number_of_rounds(contenders: usize, participants: usize) -> usize {
    (contenders / participants.max(1)).clamp(FEWEST_ROUNDS, MOST_ROUNDS)
}

/// Returns the gap between two contenders in each block in which they have a round in common: the trimmed mean of the
/// rounds' differences.
pub(crate) fn block_gaps(one: &[Rounds], other: &[Rounds]) -> Vec<f64> {
    let gap = |(one, other): (&Rounds, &Rounds)| {
        let both = one.iter().zip(other);
        let gaps: Vec<f64> = both.filter_map(|(one, other)| Some((*one)? - (*other)?)).collect();
        trimmed_mean(&gaps, TRIMMED)
    };
    one.iter().zip(other).filter_map(gap).collect()
}

/// Ranks contenders by their means over blocks: returns their indices, the best first. Contenders that failed in more
/// than half of the blocks have no rank: a single lucky run leads nobody.
pub(crate) fn ranking(contenders: &[Vec<Rounds>]) -> Vec<usize> {
    let level = |rounds: &Rounds| {
        let scores: Vec<f64> = rounds.iter().copied().flatten().collect();
        trimmed_mean(&scores, TRIMMED)
    };
    let levels: Vec<Vec<f64>> =
        contenders.iter().map(|blocks| blocks.iter().filter_map(level).collect()).collect();
    let most = levels.iter().map(Vec::len).max().unwrap_or(0);
    let reliable = levels.iter().enumerate().filter(|(_, levels)| 2 * levels.len() >= most);
    let mut ranked: Vec<(usize, f64)> =
        reliable.filter_map(|(at, levels)| Some((at, mean(levels)?))).collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    ranked.into_iter().map(|(at, _)| at).collect()
}

/// Returns true if the interval of the gap to the leader, with this confidence, excludes that the contender is as good.
pub(crate) fn is_clearly_behind(contender: &[Rounds], leader: &[Rounds], confidence: f64) -> bool {
    let interval = mean_interval(&block_gaps(contender, leader), confidence);
    interval.is_some_and(|[_, high]| high < 0.0)
}

/// Returns the ratio of two contenders from the logarithms of the blocks' ratios. Returns `None` for fewer than two.
pub(crate) fn ratio(log_ratios: &[f64]) -> Option<PairedRatio> {
    let pairs: Vec<(f64, f64)> = log_ratios.iter().map(|log| (log.exp(), 1.0)).collect();
    PairedRatio::from_pairs(&pairs)
}

/// Returns how far the 95 % interval of a ratio reaches above it, as a share of the ratio.
pub(crate) fn half_width(ratio: &PairedRatio) -> f64 {
    ratio.ci95[1] / ratio.value - 1.0
}

/// Returns true if a ratio needs no further blocks. Only the width decides, never the ratio itself.
pub(crate) fn is_precise(ratio: &PairedRatio, precision: f64) -> bool {
    ratio.n >= FEWEST_BLOCKS && half_width(ratio) <= precision
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    /// Draws from a normal distribution, nearly: twelve uniform numbers.
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    fn blocks(scores: &[f64]) -> Vec<Rounds> {
        scores.iter().map(|&score| vec![Some(score)]).collect()
    }

    #[test]
    fn a_block_is_the_trimmed_mean_of_its_rounds() {
        let ours = vec![vec![Some(1.0), Some(2.0), Some(3.0), Some(9.0), Some(-5.0)]];
        let other = vec![vec![Some(0.0); 5]];
        assert_eq!(block_gaps(&ours, &other), [2.0]);
        // A failed run takes its round away; of the four that are left, none is trimmed.
        let failed = vec![vec![Some(0.0), None, Some(0.0), Some(0.0), Some(0.0)]];
        assert_eq!(block_gaps(&ours, &failed), [2.0]);
        assert!(block_gaps(&ours, &[vec![None; 5]]).is_empty());
    }

    #[test]
    fn time_that_is_saved_goes_to_rounds() {
        assert_eq!(number_of_rounds(18, 2), 9);
        assert_eq!(number_of_rounds(18, 3), 6);
        assert_eq!(number_of_rounds(18, 18), FEWEST_ROUNDS);
        assert_eq!(number_of_rounds(60, 2), MOST_ROUNDS);
        assert_eq!(number_of_rounds(2, 0), FEWEST_ROUNDS);
    }

    #[test]
    fn contenders_are_ranked_by_their_means() {
        let (slow, fast) = (blocks(&[1.0, 1.2, 0.9]), blocks(&[1.1, 1.3, 1.2]));
        assert_eq!(ranking(&[slow.clone(), fast.clone()]), [1, 0]);
        let lucky = vec![vec![Some(9.0)], vec![None], vec![None]];
        assert_eq!(ranking(&[slow, fast, lucky]), [1, 0], "one lucky run of three");
        assert!(ranking(&[vec![vec![None]]]).is_empty() && ranking(&[]).is_empty());
    }

    #[test]
    fn those_whose_interval_excludes_the_leader_are_behind() {
        let leader = blocks(&[1.00, 1.10, 0.95, 1.05]);
        // Drift of the machine is in both and does not widen the interval.
        assert!(is_clearly_behind(&blocks(&[0.90, 1.01, 0.84, 0.96]), &leader, 0.95));
        assert!(!is_clearly_behind(&blocks(&[0.90, 1.20, 0.80, 1.05]), &leader, 0.95));
        assert!(!is_clearly_behind(&blocks(&[0.0]), &leader, 0.95), "one block has no interval");
        assert!(!is_clearly_behind(&leader, &leader, 0.95));
    }

    #[test]
    fn only_the_width_ends_a_row() {
        let around = |centre: f64, spread: f64, n: usize| {
            let logs: Vec<f64> =
                (0..n).map(|at| centre + if at % 2 == 0 { spread } else { -spread }).collect();
            ratio(&logs).unwrap()
        };
        for centre in [-0.7, 0.0, 0.7] {
            assert!(is_precise(&around(centre, 0.02, 6), 0.03));
            assert!(!is_precise(&around(centre, 0.04, 6), 0.03));
            assert!(!is_precise(&around(centre, 0.001, 5), 0.03), "too few blocks");
        }
        assert!(
            (half_width(&around(0.5, 0.02, 6)) - half_width(&around(-0.5, 0.02, 6))).abs() < 1e-12
        );
        assert_eq!(ratio(&[0.1]), None);
    }

    /// Intervals that are selected for being narrow are narrow by chance at times. They must still hold the ratio.
    #[test]
    fn intervals_of_rows_that_end_by_width_hold_the_ratio() {
        const RUNS: u32 = 2_000;
        let mut random = ChaCha8Rng::seed_from_u64(3);
        for spread in [0.01, 0.025, 0.035, 0.05] {
            let mut held = 0;
            for _ in 0..RUNS {
                let mut logs = Vec::new();
                while logs.len() < 16 && !ratio(&logs).is_some_and(|one| is_precise(&one, 0.03)) {
                    logs.push(spread * normal(&mut random));
                }
                let [low, high] = ratio(&logs).unwrap().ci95;
                held += u32::from(low <= 1.0 && 1.0 <= high);
            }
            let share = f64::from(held) / f64::from(RUNS);
            assert!(share > 0.92, "{spread}: {share}");
        }
    }
}
