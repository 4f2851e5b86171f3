//! Figures of the networks themselves, whatever the workload: how long each took to come up and to go.
//!
//! There is one of each in a block, from the network's turn in it. Cells want a workload, a trial and an estimate: here
//! the workload is called [`NETWORK`], and the trials are made of the turns.

use crate::cell::{Draft, drafts};
use crate::estimate::{Estimate, Figure};
use crate::group::Group;
use crate::pair::same_comparison;
use std::collections::BTreeMap;
use tare_record::journal::Journal;
use tare_record::{
    AgentsCpu, Ends, Meanwhile, Metric, Nanos, Parameters, Phase, Plan, Trial, Turn, WarmUp,
    WorkloadPlan,
};

/// What stands in a cell for a workload.
const NETWORK: &str = "network";

/// The drafts of the metrics that the plan asks of networks; none where it asks for none.
pub(crate) fn raising(journal: &Journal, baseline: &str) -> Vec<Draft> {
    if journal.run.plan.raising.is_empty() {
        return Vec::new();
    }
    let plan = with_workload(&journal.run.plan);
    let workload = plan.workloads.len() - 1;
    let turns: Vec<&Turn> =
        journal.turns().into_iter().filter(|turn| turn.phase == Phase::Main).collect();
    let trials: Vec<Trial> = turns.iter().map(|turn| trial(turn)).collect();
    let mut groups = Vec::new();
    for (shape, of_shape) in plan.shapes.iter().enumerate() {
        for (network, entry) in plan.networks.iter().enumerate() {
            let mine = turns
                .iter()
                .zip(&trials)
                .filter(|(turn, _)| turn.label == entry.label && turn.shape == *of_shape)
                .map(|(turn, trial)| (trial, estimate(turn)))
                .collect();
            groups.push(Group { shape, workload, network, trials: mine });
        }
    }
    groups.retain(|group| !group.trials.is_empty());
    groups.chunk_by(same_comparison).flat_map(|some| drafts(&plan, some, baseline)).collect()
}

/// The plan with the workload that stands for none, last.
fn with_workload(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.workloads.push(WorkloadPlan {
        name: NETWORK.to_owned(),
        parameters: Parameters::new(),
        duration: Nanos(0),
        interval: Nanos(0),
        warm_up: WarmUp::Fixed(Nanos(0)),
        metrics: plan.raising.clone(),
        stands_for: None,
    });
    plan
}

/// A turn as a trial in which nothing flowed.
fn trial(turn: &Turn) -> Trial {
    Trial {
        block: turn.block,
        phase: turn.phase,
        position: 0,
        label: turn.label.clone(),
        network: turn.label.clone(),
        workload: NETWORK.to_owned(),
        shape: turn.shape.clone(),
        parameters: Parameters::new(),
        began: Nanos(0),
        took: turn.raised,
        series: Vec::new(),
        ends: Ends::default(),
        agents: AgentsCpu::default(),
        search: None,
        hops: Vec::new(),
        findings: Vec::new(),
        meanwhile: Meanwhile::default(),
    }
}

/// The turn's figures, ms. There is no warm-up to cut.
fn estimate(turn: &Turn) -> Estimate {
    let millis = |time: Nanos| {
        let value = time.as_secs_f64() * 1e3;
        Figure::Value { value, uncut: value }
    };
    let figures = BTreeMap::from([
        (Metric::RaiseMs, millis(turn.raised)),
        (Metric::RemoveMs, millis(turn.removed)),
    ]);
    Estimate { figures, cut: 0, settled: true, shift: None, clients: None }
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
