//! Figures of the networks themselves, whatever the workload: how long each took to come up and to go.
//!
//! There is one of each in a block, from the network's turn in it. In their cells [`NETWORK`] stands for a workload.

use crate::cell::{Compared, Draft};
use crate::drift::drifts;
use crate::family::family;
use crate::findings;
use crate::group::{Sample, Sampled};
use tare_record::journal::Journal;
use tare_record::{Metric, Nanos, Phase, Shape, Turn};

/// What stands in a cell for a workload.
const NETWORK: &str = "network";

/// The drafts of the metrics that the plan asks of networks; none where it asks for none.
pub(crate) fn raising(journal: &Journal, baseline: &str) -> Vec<Draft> {
    let plan = &journal.run.plan;
    if plan.raising.is_empty() {
        return Vec::new();
    }
    let mut turns = journal.turns();
    turns.retain(|turn| turn.phase == Phase::Main);
    let mut all = Vec::new();
    for shape in &plan.shapes {
        for &metric in &plan.raising {
            let family = family(plan, NETWORK, shape, metric);
            let compared = Compared { plan, workload: NETWORK, shape, metric, family, baseline };
            all.extend(of_shape(&compared, &turns));
        }
    }
    all
}

/// The drafts of all networks that had a turn in a shape.
fn of_shape(compared: &Compared<'_>, turns: &[&Turn]) -> Vec<Draft> {
    let (mut networks, mut sampled) = (Vec::new(), Vec::new());
    for (network, entry) in compared.plan.networks.iter().enumerate() {
        let samples = samples(turns, &entry.label, compared.shape, compared.metric);
        if !samples.is_empty() {
            networks.push(network);
            sampled.push(Sampled::Figures(samples));
        }
    }
    let mut drafts = compared.drafts(&networks, &sampled);
    for ((draft, sampled), drift) in drafts.iter_mut().zip(&sampled).zip(drifts(&sampled)) {
        draft.cell.findings = findings::of_samples(compared.metric, sampled);
        draft.cell.findings.extend(drift);
    }
    drafts
}

/// A network's figures in a shape, ms, by block. There is no warm-up to cut.
fn samples(turns: &[&Turn], label: &str, shape: &Shape, metric: Metric) -> Vec<Sample> {
    let mine = turns.iter().filter(|turn| turn.label == label && turn.shape == *shape);
    let mut samples: Vec<Sample> = mine
        .filter_map(|turn| {
            let value = took(turn, metric)?.as_secs_f64() * 1e3;
            Some(Sample { block: turn.block, value, uncut: value })
        })
        .collect();
    samples.sort_by_key(|sample| sample.block);
    samples
}

/// How long a turn took by this metric; nothing for one that is no turn's.
fn took(turn: &Turn, metric: Metric) -> Option<Nanos> {
    match metric {
        Metric::RaiseMs => Some(turn.raised),
        Metric::RemoveMs => Some(turn.removed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::made_up::{journal, plan};
    use tare_record::Shape;
    use tare_record::journal::Record;

    fn turn(label: &str, block: u32, raised: u64) -> Record {
        Record::Turn(Turn {
            block,
            phase: Phase::Main,
            label: label.to_owned(),
            shape: Shape::default(),
            raised: Nanos(raised * 1_000_000),
            removed: Nanos(500_000),
        })
    }

    #[test]
    fn turns_are_cells_with_ratios_where_they_are_asked_for() {
        let mut journal = journal(plan(&["host", "vxlan"], Vec::new()), Vec::new());
        for block in 0..3 {
            journal.records.push(turn("host", block, 10 + u64::from(block)));
            journal.records.push(turn("vxlan", block, 20 + 2 * u64::from(block)));
        }
        assert!(document(&journal, None).unwrap().cells.is_empty());
        journal.run.plan.raising = vec![Metric::RaiseMs, Metric::RemoveMs];
        let cells = document(&journal, None).unwrap().cells;
        assert_eq!(cells.len(), 4);
        assert_eq!((cells[0].workload.as_str(), cells[0].unit.as_str()), ("network", "ms"));
        assert_eq!(cells[0].samples, [10.0, 11.0, 12.0]);
        let ratio = cells[1].ratio.as_ref().unwrap();
        assert!((ratio.value - 2.0).abs() < 1e-9, "{ratio:?}");
        assert_eq!((cells[2].metric, cells[2].mean), (Metric::RemoveMs, Some(0.5)));
    }
}
