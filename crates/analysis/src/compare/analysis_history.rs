//! Interim analyses of a run, as they apply to the pairs of one network and the baseline.

use crate::count::count;
use tare_record::{InterimAnalysis, Shape};
use tare_stats::group_sequential::Analysis;

/// Interim analyses so far, and the present one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnalysisHistory<'a> {
    earlier: &'a [InterimAnalysis],
    /// Share of the planned information that is there at present, 0 to 1.
    information: f64,
}

/// Interim analysis that decided a network, and the run as it was then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PastDecision<'a> {
    /// Index of the analysis.
    pub(crate) index: usize,
    /// Number of blocks that were complete.
    pub(crate) blocks: u32,
    /// Analyses before it, and itself as the present one.
    pub(crate) history: AnalysisHistory<'a>,
}

/// Network and baseline, by their labels, in a shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComparedPair<'a> {
    pub(crate) network: &'a str,
    pub(crate) baseline: &'a str,
    pub(crate) shape: &'a Shape,
}

impl ComparedPair<'_> {
    /// Returns true if an analysis decided the network or the baseline.
    fn is_decided_by(&self, analysis: &InterimAnalysis) -> bool {
        let decides = |label| analysis.decides(label, self.shape);
        decides(self.network) || decides(self.baseline)
    }
}

impl<'a> AnalysisHistory<'a> {
    /// Returns the history of a run at its end, or as if it ended now.
    pub(crate) fn at_end(earlier: &'a [InterimAnalysis]) -> Self {
        Self { earlier, information: 1.0 }
    }

    /// Returns the history of a run at a planned analysis, when this share of the information is there.
    pub(crate) fn at_interim(earlier: &'a [InterimAnalysis], information: f64) -> Self {
        Self { earlier, information }
    }

    /// Returns the interim analyses so far that decided a network.
    pub(crate) fn decisions(&self) -> impl Iterator<Item = PastDecision<'a>> + use<'a> {
        let earlier = self.earlier;
        earlier.iter().enumerate().filter(|(_, analysis)| !analysis.decided.is_empty()).map(
            move |(index, analysis)| {
                let history = Self::at_interim(&earlier[..index], analysis.information);
                PastDecision { index, blocks: analysis.blocks, history }
            },
        )
    }

    /// Returns the index of the interim analysis that decided a network or the baseline. Returns `None` if none did.
    pub(crate) fn decided_by(&self, pair: ComparedPair<'_>) -> Option<usize> {
        self.earlier.iter().position(|analysis| pair.is_decided_by(analysis))
    }

    /// Returns the analyses of a network and the baseline, which have a pair of figures in each of these blocks. The
    /// last one is that at which the network was decided, or the present one.
    pub(crate) fn analyses_of(&self, pair: ComparedPair<'_>, blocks: &[u32]) -> Vec<Analysis> {
        let all = count(blocks.len());
        let mut analyses: Vec<Analysis> = Vec::new();
        for earlier in self.earlier {
            if pair.is_decided_by(earlier) {
                analyses.retain(|before| before.values < all);
                analyses.push(Analysis { values: all, information: earlier.information });
                return analyses;
            }
            let values = blocks.iter().filter(|&&block| block < earlier.blocks).count();
            let values = count(values);
            // One pair has no interval, and what has no new pair is no analysis of its own.
            let is_new = analyses.last().is_none_or(|last| last.values < values);
            if (2..all).contains(&values) && is_new {
                analyses.push(Analysis { values, information: earlier.information });
            }
        }
        analyses.push(Analysis { values: all, information: self.information });
        analyses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::DecidedNetwork;

    fn analysis(blocks: u32, information: f64, decided: &[&str]) -> InterimAnalysis {
        let decided = decided
            .iter()
            .map(|label| DecidedNetwork { network: (*label).to_owned(), shape: Shape::default() });
        InterimAnalysis { blocks, information, decided: decided.collect() }
    }

    fn analyses(history: &AnalysisHistory<'_>, network: &str, blocks: &[u32]) -> Vec<(u32, f64)> {
        let shape = Shape::default();
        let pair = ComparedPair { network, baseline: "host", shape: &shape };
        let found = history.analyses_of(pair, blocks);
        found.into_iter().map(|one| (one.values, one.information)).collect()
    }

    #[test]
    fn a_network_has_the_analyses_until_it_is_decided() {
        let earlier =
            [analysis(4, 0.4, &[]), analysis(6, 0.6, &["bridge"]), analysis(8, 0.8, &["veth"])];
        let end = AnalysisHistory::at_end(&earlier);
        assert_eq!(analyses(&end, "bridge", &[0, 1, 2, 3, 4, 5]), [(4, 0.4), (6, 0.6)]);
        let ten: Vec<u32> = (0..10).collect();
        assert_eq!(analyses(&end, "shared", &ten), [(4, 0.4), (6, 0.6), (8, 0.8), (10, 1.0)]);
        let interim = AnalysisHistory::at_interim(&earlier[..1], 0.6);
        assert_eq!(analyses(&interim, "shared", &[0, 1, 2, 3, 4, 5]), [(4, 0.4), (6, 0.6)]);
    }

    #[test]
    fn pairs_that_are_missing_make_no_analysis() {
        let earlier = [analysis(2, 0.4, &[]), analysis(4, 0.6, &[]), analysis(5, 0.8, &[])];
        let end = AnalysisHistory::at_end(&earlier);
        // Pools of two blocks: the first analysis had one pair, the last but one no new one.
        assert_eq!(analyses(&end, "veth", &[0, 2, 4, 6]), [(2, 0.6), (3, 0.8), (4, 1.0)]);
        assert_eq!(analyses(&end, "veth", &[]), [(0, 1.0)]);
        assert_eq!(analyses(&end, "veth", &[3, 4]), [(2, 1.0)]);
    }
}
