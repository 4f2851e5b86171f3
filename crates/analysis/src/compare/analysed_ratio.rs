//! Ratio of a network to the baseline, as the analyses of a run see it.

use crate::compare::analysis_history::{AnalysisHistory, ComparedPair};
use crate::compare::block_pairs::{pair_by_block, paired_blocks};
use crate::compare::ratio_family::RatioPValues;
use crate::estimate::trial_group::GroupSamples;
use tare_record::{BlockPolicy, Plan};
use tare_stats::PairedRatio;
use tare_stats::group_sequential::Analysis;

/// Figures of a network and of the baseline in the blocks that both have.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairedFigures {
    /// Block of each pair; of a pool of blocks the first one.
    blocks: Vec<u32>,
    /// Figures of the network and of the baseline.
    pairs: Vec<(f64, f64)>,
}

/// Ratio of a network to the baseline, with its p-values over the analyses of a run.
pub(crate) struct AnalysedRatio {
    /// Ratio of all figures.
    pub(crate) ratio: PairedRatio,
    pub(crate) p_values: RatioPValues,
}

impl FromIterator<(u32, (f64, f64))> for PairedFigures {
    /// Collects blocks, each with its pair.
    fn from_iter<I: IntoIterator<Item = (u32, (f64, f64))>>(pairs: I) -> Self {
        let (blocks, pairs) = pairs.into_iter().unzip();
        Self { blocks, pairs }
    }
}

impl PairedFigures {
    /// Returns the figures of two networks in the blocks that both have.
    pub(crate) fn from_samples(network: &GroupSamples, baseline: &GroupSamples) -> Self {
        Self { blocks: paired_blocks(network, baseline), pairs: pair_by_block(network, baseline) }
    }

    /// Returns the pairs of figures.
    pub(crate) fn pairs(&self) -> &[(f64, f64)] {
        &self.pairs
    }

    /// Returns the pair of a block. Returns `None` if there is none.
    pub(crate) fn in_block(&self, block: u32) -> Option<(f64, f64)> {
        self.blocks.iter().position(|one| *one == block).map(|index| self.pairs[index])
    }

    /// Returns the pairs that a function makes of those of each block.
    pub(crate) fn filter_map(
        &self,
        change: impl Fn(u32, (f64, f64)) -> Option<(f64, f64)>,
    ) -> Self {
        let all = self.blocks.iter().zip(&self.pairs);
        all.filter_map(|(&block, &pair)| Some((block, change(block, pair)?))).collect()
    }

    /// Returns the ratio with its p-values over these analyses. Returns `None` as [`Self::ratio`] does.
    pub(crate) fn analyse(
        &self,
        plan: &Plan,
        pair: ComparedPair<'_>,
        history: AnalysisHistory<'_>,
    ) -> Option<AnalysedRatio> {
        let ratio = self.ratio(plan, pair, history)?;
        let at_decisions = history.decisions().filter_map(|decision| {
            let until = self.filter_map(|block, pair| (block < decision.blocks).then_some(pair));
            Some((decision.index, until.ratio(plan, pair, decision.history)?.p))
        });
        let p_values = RatioPValues {
            present: ratio.p,
            at_decisions: at_decisions.collect(),
            decided_by: history.decided_by(pair),
        };
        Some(AnalysedRatio { ratio, p_values })
    }

    /// Returns the ratio, with intervals that hold over these analyses. Returns `None` if there are fewer than two pairs,
    /// or if a figure is 0.
    pub(crate) fn ratio(
        &self,
        plan: &Plan,
        pair: ComparedPair<'_>,
        history: AnalysisHistory<'_>,
    ) -> Option<PairedRatio> {
        paired_ratio(plan, &self.pairs, &history.analyses_of(pair, &self.blocks))
    }
}

/// Returns the ratio of pairs at the last of these analyses, with intervals that are valid for the stopping rule of the
/// plan.
fn paired_ratio(plan: &Plan, pairs: &[(f64, f64)], analyses: &[Analysis]) -> Option<PairedRatio> {
    match plan.blocks {
        BlockPolicy::Sequence { .. } => PairedRatio::anytime_valid(pairs),
        BlockPolicy::GroupSequential { .. } => PairedRatio::at_analysis(pairs, analyses),
        BlockPolicy::Fixed { .. } | BlockPolicy::Precision { .. } => PairedRatio::from_pairs(pairs),
    }
}
