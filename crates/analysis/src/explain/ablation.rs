//! Ablation: the effect of each single change on a figure, and the part of a gap that no change accounts for.

use crate::compare::analysed_ratio::PairedFigures;
use crate::compare::analysis_history::{AnalysisHistory, ComparedPair};
use crate::estimate::trial_group::{GroupSamples, TrialGroup};
use tare_record::finding::AblationEffects;
use tare_record::{
    Ablation, AblationEffect, AblationFactor, ComparedBy, Finding, Metric, Plan, Shape,
    UnaccountedGap,
};
use tare_stats::PairedRatio;

/// Figures of one metric of all networks of a comparison.
pub(crate) struct ComparisonFigures<'a> {
    plan: &'a Plan,
    together: &'a [TrialGroup<'a>],
    sampled: &'a [GroupSamples],
    history: AnalysisHistory<'a>,
}

impl<'a> ComparisonFigures<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        together: &'a [TrialGroup<'a>],
        sampled: &'a [GroupSamples],
        history: AnalysisHistory<'a>,
    ) -> Self {
        Self { plan, together, sampled, history }
    }

    /// Returns a network's figures. Returns `None` if the network has no group.
    fn find(&self, label: &str) -> Option<&GroupSamples> {
        let is = |group: &TrialGroup<'_>| self.plan.networks[group.network].label == label;
        self.together.iter().position(is).map(|index| &self.sampled[index])
    }

    /// Returns the figures of two networks, by their labels, in the blocks that both have. Returns `None` if either has
    /// no group.
    fn pair(&self, network: &str, beside: &str) -> Option<PairedFigures> {
        Some(PairedFigures::from_samples(self.find(network)?, self.find(beside)?))
    }

    /// Returns the ratio of two networks' figures, with intervals that hold over the analyses of the run.
    fn ratio(&self, figures: &PairedFigures, network: &str, beside: &str) -> Option<PairedRatio> {
        let pair = ComparedPair { network, baseline: beside, shape: self.shape() };
        figures.ratio(self.plan, pair, self.history)
    }

    fn shape(&self) -> &'a Shape {
        &self.plan.shapes[self.together[0].shape]
    }

    /// Returns the changes of a network, each with the figures with it and without it.
    fn changes(&self, ablation: &'a Ablation) -> Vec<FactorChange<'a>> {
        let change = |variant: &'a tare_record::AblationVariant| {
            let figures = self.pair(&variant.label, &ablation.label)?;
            Some(FactorChange { factor: variant.factor, label: &variant.label, figures })
        };
        ablation.variants.iter().filter_map(change).collect()
    }

    fn ablation(&self, label: &str) -> Option<&'a Ablation> {
        self.plan.ablations.iter().find(|ablation| ablation.label == label)
    }
}

/// Change of a network.
struct FactorChange<'a> {
    factor: AblationFactor,
    /// Label of the network with the change.
    label: &'a str,
    /// Figures of the network with the change, and without it.
    figures: PairedFigures,
}

impl FactorChange<'_> {
    /// Returns the ratio of the change in one block.
    fn in_block(&self, block: u32) -> Option<f64> {
        self.figures.in_block(block).map(|(with, without)| with / without)
    }
}

/// Returns the finding of a network that was also measured with single changes. Returns `None` for a metric that is
/// compared by difference, or if no change has an effect to report.
pub(crate) fn ablation_finding(
    figures: &ComparisonFigures<'_>,
    label: &str,
    baseline: &str,
    metric: Metric,
) -> Option<Finding> {
    if metric.compared_by() == ComparedBy::Difference {
        return None;
    }
    let changes = figures.changes(figures.ablation(label)?);
    let effect = |change: &FactorChange<'_>| {
        let PairedRatio { value, ci95, n, .. } =
            figures.ratio(&change.figures, change.label, label)?;
        Some(AblationEffect { factor: change.factor, ratio: value, ci95, n })
    };
    let effects: Vec<AblationEffect> = changes.iter().filter_map(effect).collect();
    let unaccounted = unaccounted(figures, label, baseline, &changes);
    (!effects.is_empty())
        .then_some(Finding::AblationEffects(AblationEffects { effects, unaccounted }))
}

/// Computes the unaccounted part from the blocks that have every figure. The pairs are the two sides of the gap; one
/// side is multiplied by the effects of the changes on the network, the other by their effects on the baseline.
fn unaccounted(
    figures: &ComparisonFigures<'_>,
    label: &str,
    baseline: &str,
    changes: &[FactorChange<'_>],
) -> Option<UnaccountedGap> {
    let counted = counted_changes(changes);
    if label == baseline || counted.is_empty() {
        return None;
    }
    let gap = figures.pair(baseline, label)?;
    let of_baseline =
        figures.ablation(baseline).map(|own| figures.changes(own)).unwrap_or_default();
    let both = |change: &FactorChange<'_>| {
        of_baseline.iter().filter(move |own| own.factor == change.factor).collect::<Vec<_>>()
    };
    let rest = |block: u32, (mut beside, mut network): (f64, f64)| {
        for change in &counted {
            network *= change.in_block(block)?;
            for own in both(change) {
                beside *= own.in_block(block)?;
            }
        }
        Some((beside, network))
    };
    let rests = gap.filter_map(rest);
    let gap = gap.filter_map(|block, pair| rests.in_block(block).map(|_| pair));
    // Both ratios are the baseline's to the network, of the same blocks and analyses.
    let (gap, rest) =
        (figures.ratio(&gap, label, baseline)?, figures.ratio(&rests, label, baseline)?);
    Some(UnaccountedGap {
        baseline: baseline.to_owned(),
        gap: gap.value,
        counted: counted.iter().map(|change| change.factor).collect(),
        ratio: rest.value,
        ci95: rest.ci95,
        n: rest.n,
    })
}

/// Returns the changes that take away what the network adds. Connection tracking is left out if netfilter is among
/// them, which includes it.
fn counted_changes<'a, 'b>(changes: &'a [FactorChange<'b>]) -> Vec<&'a FactorChange<'b>> {
    let filters = changes.iter().any(|change| change.factor == AblationFactor::Netfilter);
    let within = |change: &FactorChange<'_>| filters && change.factor == AblationFactor::Conntrack;
    changes.iter().filter(|change| change.factor.is_network_cost() && !within(change)).collect()
}

#[cfg(test)]
mod tests {
    use crate::document;
    use crate::test_data::{journal, plan, trial, workload};
    use tare_record::finding::AblationEffects;
    use tare_record::{
        Ablation, AblationEffect, AblationFactor, AblationVariant, Finding, Metric, UnaccountedGap,
    };

    fn ablation(label: &str, variants: &[(AblationFactor, &str)]) -> Ablation {
        let variant = |&(factor, label): &(AblationFactor, &str)| AblationVariant {
            factor,
            label: label.to_owned(),
        };
        Ablation { label: label.to_owned(), variants: variants.iter().map(variant).collect() }
    }

    /// Returns the ablation finding of a network's only cell.
    fn find_ablated<'a>(document: &'a tare_record::Document, label: &str) -> Option<&'a Finding> {
        let cell = document.cells.iter().find(|cell| cell.label == label).unwrap();
        cell.findings.iter().find(|finding| matches!(finding, Finding::AblationEffects(_)))
    }

    fn near(one: f64, other: f64) -> bool {
        (one / other - 1.0).abs() < 1e-3
    }

    #[test]
    fn effects_multiply_and_the_rest_is_what_they_leave_of_the_gap() {
        let levels = [
            ("host", 4_000),
            ("host+mtu", 2_000),
            ("bridge", 1_000),
            ("bridge+netfilter", 1_500),
            ("bridge+conntrack", 1_200),
            ("bridge+mtu", 1_100),
            ("bridge+tso", 400),
        ];
        let labels = levels.map(|(label, _)| label);
        let mut plan = plan(&labels, vec![workload("tcp-stream", &[Metric::Throughput])]);
        plan.ablations = vec![
            ablation("host", &[(AblationFactor::Mtu, "host+mtu")]),
            ablation(
                "bridge",
                &[
                    (AblationFactor::Netfilter, "bridge+netfilter"),
                    (AblationFactor::Conntrack, "bridge+conntrack"),
                    (AblationFactor::Tso, "bridge+tso"),
                    (AblationFactor::Mtu, "bridge+mtu"),
                ],
            ),
        ];
        let trials = (0..3).flat_map(|block| {
            // All networks move alike from block to block, as on a machine that slows down.
            levels.map(|(label, bytes)| trial(label, block, &[bytes * u64::from(10 - block); 10]))
        });
        let document = document(&journal(plan, trials.collect()), None).unwrap();
        let Some(Finding::AblationEffects(AblationEffects { effects, unaccounted: Some(rest) })) =
            find_ablated(&document, "bridge")
        else {
            panic!("{:?}", find_ablated(&document, "bridge"));
        };
        let ratios: Vec<(AblationFactor, f64, u32)> = effects
            .iter()
            .map(|AblationEffect { factor, ratio, n, .. }| (*factor, *ratio, *n))
            .collect();
        assert!(near(ratios[0].1, 1.5) && near(ratios[2].1, 0.4), "{ratios:?}");
        assert_eq!(
            (ratios[0].0, ratios[2].0, ratios[2].2),
            (AblationFactor::Netfilter, AblationFactor::Tso, 3)
        );
        // A gap of 4: netfilter, including connection tracking, is 1.5 of it; the MTU is 1.1 for the network and 0.5
        // for the baseline. The network is slower without TSO, so TSO is no cost.
        let UnaccountedGap { baseline, gap, counted, ratio, n, .. } = rest;
        assert_eq!((baseline.as_str(), *n), ("host", 3));
        assert_eq!(*counted, [AblationFactor::Netfilter, AblationFactor::Mtu]);
        assert!(near(*gap, 4.0) && near(*ratio, 4.0 / 1.5 * 0.5 / 1.1), "{rest:?}");
        // The baseline has effects and no gap; a variant has neither.
        assert!(matches!(
            find_ablated(&document, "host"),
            Some(Finding::AblationEffects(AblationEffects { unaccounted: None, .. }))
        ));
        assert_eq!(find_ablated(&document, "bridge+tso"), None);
    }
}
