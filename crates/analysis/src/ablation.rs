//! One thing changed at a time: what each change makes of a figure, and what no change accounts for.

use crate::group::{Group, Sample, Sampled};
use crate::pair::in_same_blocks;
use tare_record::{Ablation, Beside, Effect, Factor, Finding, Metric, Plan, Unaccounted};
use tare_stats::PairedRatio;

/// The figures of one metric of all networks that are compared with each other.
pub(crate) struct Figures<'a> {
    plan: &'a Plan,
    together: &'a [Group<'a>],
    sampled: &'a [Sampled],
}

impl<'a> Figures<'a> {
    pub(crate) fn new(plan: &'a Plan, together: &'a [Group<'a>], sampled: &'a [Sampled]) -> Self {
        Self { plan, together, sampled }
    }

    /// A network's figures, where there are any.
    fn of(&self, label: &str) -> Option<&Sampled> {
        let is = |group: &Group<'_>| self.plan.networks[group.network].label == label;
        self.together.iter().position(is).map(|index| &self.sampled[index])
    }

    /// What each change makes of a network's figures.
    fn changes(&self, ablation: &Ablation) -> Vec<Change<'_>> {
        let whole = self.of(&ablation.label);
        let change = |variant: &tare_record::Variant| {
            Some(Change { factor: variant.factor, with: self.of(&variant.label)?, without: whole? })
        };
        ablation.variants.iter().filter_map(change).collect()
    }

    fn ablation(&self, label: &str) -> Option<&Ablation> {
        self.plan.ablations.iter().find(|ablation| ablation.label == label)
    }
}

/// A network's figures with a change, and without it.
struct Change<'a> {
    factor: Factor,
    with: &'a Sampled,
    without: &'a Sampled,
}

impl Change<'_> {
    fn effect(&self) -> Option<Effect> {
        let PairedRatio { value, ci95, n, .. } =
            PairedRatio::of(&in_same_blocks(self.with, self.without))?;
        Some(Effect { factor: self.factor, ratio: value, ci95, n })
    }

    /// Its ratio in one block.
    fn in_block(&self, block: u32) -> Option<f64> {
        Some(in_block(self.with, block)? / in_block(self.without, block)?)
    }
}

fn in_block(sampled: &Sampled, block: u32) -> Option<f64> {
    let of_block = |sample: &&Sample| sample.block == block;
    sampled.samples().iter().find(of_block).map(|sample| sample.value)
}

/// What was found of a network that was measured with single changes, too.
pub(crate) fn found(
    figures: &Figures<'_>,
    label: &str,
    baseline: &str,
    metric: Metric,
) -> Option<Finding> {
    if metric.beside() == Beside::Difference {
        return None;
    }
    let changes = figures.changes(figures.ablation(label)?);
    let effects: Vec<Effect> = changes.iter().filter_map(Change::effect).collect();
    let unaccounted = unaccounted(figures, label, baseline, &changes);
    (!effects.is_empty()).then_some(Finding::Ablated { effects, unaccounted })
}

/// The rest, from the blocks that have every figure: the pairs are the two sides of the gap, of which one is multiplied by
/// what the changes do to the network, the other by what they do to the baseline.
fn unaccounted(
    figures: &Figures<'_>,
    label: &str,
    baseline: &str,
    changes: &[Change<'_>],
) -> Option<Unaccounted> {
    let counted = counted(changes);
    if label == baseline || counted.is_empty() {
        return None;
    }
    let (network, beside) = (figures.of(label)?, figures.of(baseline)?);
    let of_baseline =
        figures.ablation(baseline).map(|own| figures.changes(own)).unwrap_or_default();
    let both = |change: &Change<'_>| {
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
    let (gap, rest) = (PairedRatio::of(&gaps)?, PairedRatio::of(&rests)?);
    Some(Unaccounted {
        baseline: baseline.to_owned(),
        gap: gap.value,
        counted: counted.iter().map(|change| change.factor).collect(),
        ratio: rest.value,
        ci95: rest.ci95,
        n: rest.n,
    })
}

/// The changes that take away what the network adds, each thing once.
fn counted<'a, 'b>(changes: &'a [Change<'b>]) -> Vec<&'a Change<'b>> {
    let filters = changes.iter().any(|change| change.factor == Factor::Netfilter);
    let within = |change: &Change<'_>| filters && change.factor == Factor::Conntrack;
    changes.iter().filter(|change| change.factor.is_added() && !within(change)).collect()
}

#[cfg(test)]
mod tests {
    use crate::document;
    use crate::made_up::{journal, plan, trial, workload};
    use tare_record::{Ablation, Effect, Factor, Finding, Metric, Unaccounted, Variant};

    fn ablation(label: &str, variants: &[(Factor, &str)]) -> Ablation {
        let variant =
            |&(factor, label): &(Factor, &str)| Variant { factor, label: label.to_owned() };
        Ablation { label: label.to_owned(), variants: variants.iter().map(variant).collect() }
    }

    /// The finding of a network's only cell.
    fn of<'a>(document: &'a tare_record::Document, label: &str) -> Option<&'a Finding> {
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
            ablation("host", &[(Factor::Mtu, "host+mtu")]),
            ablation(
                "bridge",
                &[
                    (Factor::Netfilter, "bridge+netfilter"),
                    (Factor::Conntrack, "bridge+conntrack"),
                    (Factor::Tso, "bridge+tso"),
                    (Factor::Mtu, "bridge+mtu"),
                ],
            ),
        ];
        let trials = (0..3).flat_map(|block| {
            // All networks move alike from block to block, as on a machine that slows down.
            levels.map(|(label, bytes)| trial(label, block, &[bytes * u64::from(10 - block); 10]))
        });
        let document = document(&journal(plan, trials.collect()), None).unwrap();
        let Some(Finding::Ablated { effects, unaccounted: Some(rest) }) = of(&document, "bridge")
        else {
            panic!("{:?}", of(&document, "bridge"));
        };
        let ratios: Vec<(Factor, f64, u32)> =
            effects.iter().map(|Effect { factor, ratio, n, .. }| (*factor, *ratio, *n)).collect();
        assert!(near(ratios[0].1, 1.5) && near(ratios[2].1, 0.4), "{ratios:?}");
        assert_eq!((ratios[0].0, ratios[2].0, ratios[2].2), (Factor::Netfilter, Factor::Tso, 3));
        // A gap of 4; netfilter, and tracking with it, is 1.5 of it, and the MTU does 1.1 to one and 0.5 to the other. That the
        // network goes slower without tso is no cost of it.
        let Unaccounted { baseline, gap, counted, ratio, n, .. } = rest;
        assert_eq!((baseline.as_str(), *n), ("host", 3));
        assert_eq!(*counted, [Factor::Netfilter, Factor::Mtu]);
        assert!(near(*gap, 4.0) && near(*ratio, 4.0 / 1.5 * 0.5 / 1.1), "{rest:?}");
        // The baseline has effects and no gap; a variant has neither.
        assert!(matches!(of(&document, "host"), Some(Finding::Ablated { unaccounted: None, .. })));
        assert_eq!(of(&document, "bridge+tso"), None);
    }
}
