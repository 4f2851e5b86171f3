//! Ablation: the effect of each single change on a figure, and the part of a gap that no change accounts for.

use crate::compare::block_pairs::pair_by_block;
use crate::estimate::trial_group::{BlockSample, GroupSamples, TrialGroup};
use tare_record::{
    Ablation, AblationEffect, AblationFactor, ComparedBy, Finding, Metric, Plan, UnaccountedGap,
};
use tare_stats::PairedRatio;

/// Figures of one metric of all networks of a comparison.
pub(crate) struct ComparisonFigures<'a> {
    plan: &'a Plan,
    together: &'a [TrialGroup<'a>],
    sampled: &'a [GroupSamples],
}

impl<'a> ComparisonFigures<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        together: &'a [TrialGroup<'a>],
        sampled: &'a [GroupSamples],
    ) -> Self {
        Self { plan, together, sampled }
    }

    /// Returns a network's figures. Returns `None` if the network has no group.
    fn find(&self, label: &str) -> Option<&GroupSamples> {
        let is = |group: &TrialGroup<'_>| self.plan.networks[group.network].label == label;
        self.together.iter().position(is).map(|index| &self.sampled[index])
    }

    /// Returns a network's figures with each change and without it.
    fn changes(&self, ablation: &Ablation) -> Vec<FactorChange<'_>> {
        let whole = self.find(&ablation.label);
        let change = |variant: &tare_record::AblationVariant| {
            Some(FactorChange {
                factor: variant.factor,
                with: self.find(&variant.label)?,
                without: whole?,
            })
        };
        ablation.variants.iter().filter_map(change).collect()
    }

    fn ablation(&self, label: &str) -> Option<&Ablation> {
        self.plan.ablations.iter().find(|ablation| ablation.label == label)
    }
}

/// Network's figures with a change, and without it.
struct FactorChange<'a> {
    factor: AblationFactor,
    with: &'a GroupSamples,
    without: &'a GroupSamples,
}

impl FactorChange<'_> {
    fn effect(&self) -> Option<AblationEffect> {
        let PairedRatio { value, ci95, n, .. } =
            PairedRatio::from_pairs(&pair_by_block(self.with, self.without))?;
        Some(AblationEffect { factor: self.factor, ratio: value, ci95, n })
    }

    /// Returns the ratio of the change in one block.
    fn in_block(&self, block: u32) -> Option<f64> {
        Some(in_block(self.with, block)? / in_block(self.without, block)?)
    }
}

fn in_block(sampled: &GroupSamples, block: u32) -> Option<f64> {
    let of_block = |sample: &&BlockSample| sample.block == block;
    sampled.samples().iter().find(of_block).map(|sample| sample.value)
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
    let effects: Vec<AblationEffect> = changes.iter().filter_map(FactorChange::effect).collect();
    let unaccounted = unaccounted(figures, label, baseline, &changes);
    (!effects.is_empty()).then_some(Finding::Ablated { effects, unaccounted })
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
    let (network, beside) = (figures.find(label)?, figures.find(baseline)?);
    let of_baseline =
        figures.ablation(baseline).map(|own| figures.changes(own)).unwrap_or_default();
    let both = |change: &FactorChange<'_>| {
        of_baseline.iter().filter(move |own| own.factor == change.factor).collect::<Vec<_>>()
    };
    let blocks = network.samples().iter().map(|sample| sample.block);
    let (mut gaps, mut rests) = (Vec::new(), Vec::new());
    for block in blocks {
        let all = || {
            let (mut network, mut beside) = (in_block(network, block)?, in_block(beside, block)?);
            let gap = (beside, network);
            for change in &counted {
                network *= change.in_block(block)?;
                for own in both(change) {
                    beside *= own.in_block(block)?;
                }
            }
            Some((gap, (beside, network)))
        };
        if let Some((gap, rest)) = all() {
            gaps.push(gap);
            rests.push(rest);
        }
    }
    let (gap, rest) = (PairedRatio::from_pairs(&gaps)?, PairedRatio::from_pairs(&rests)?);
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
        cell.findings.iter().find(|finding| matches!(finding, Finding::Ablated { .. }))
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
        let Some(Finding::Ablated { effects, unaccounted: Some(rest) }) =
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
            Some(Finding::Ablated { unaccounted: None, .. })
        ));
        assert_eq!(find_ablated(&document, "bridge+tso"), None);
    }
}
