//! Figures of the networks themselves, whatever the workload: set-up and removal times, routes out, ports of a bridge.
//!
//! Each block has one of each, from the network's turn in it. In their cells [`NETWORK_WORKLOAD`] stands in the place
//! of a workload.

use crate::compare::analysis_history::AnalysisHistory;
use crate::compare::block_pairs::main_turns;
use crate::compare::cell_draft::{CellDraft, ComparisonContext};
use crate::compare::ratio_family::family_name;
use crate::estimate::trial_group::{BlockSample, GroupSamples};
use crate::explain::cell_findings;
use crate::explain::drift::drifts;
use tare_record::journal::Journal;
use tare_record::{
    Metric, MetricFormula, NETWORK_WORKLOAD, Nanos, NetworkFigure, NetworkTurn, Shape,
};

/// Returns the drafts of the plan's metrics of networks. The list is empty if the plan has none.
pub(crate) fn network_drafts(
    journal: &Journal,
    baseline: &str,
    history: AnalysisHistory<'_>,
) -> Vec<CellDraft> {
    let plan = &journal.run.plan;
    if plan.raising.is_empty() {
        return Vec::new();
    }
    let turns = main_turns(journal);
    let mut all = Vec::new();
    for shape in &plan.shapes {
        for &metric in &plan.raising {
            let family = family_name(plan, NETWORK_WORKLOAD, shape, metric);
            let compared = ComparisonContext {
                plan,
                workload: NETWORK_WORKLOAD,
                shape,
                metric,
                family,
                baseline,
                history,
            };
            all.extend(shape_drafts(&compared, &turns));
        }
    }
    all
}

/// Returns the drafts of all networks that had a turn in a shape.
fn shape_drafts(compared: &ComparisonContext<'_>, turns: &[&NetworkTurn]) -> Vec<CellDraft> {
    let (mut networks, mut sampled) = (Vec::new(), Vec::new());
    for (network, entry) in compared.plan.networks.iter().enumerate() {
        let samples = turn_samples(turns, &entry.label, compared.shape, compared.metric);
        if !samples.is_empty() {
            networks.push(network);
            sampled.push(GroupSamples::Figures(samples));
        }
    }
    let mut drafts = compared.draft_cells(&networks, &sampled);
    for ((draft, sampled), drift) in drafts.iter_mut().zip(&sampled).zip(drifts(&sampled)) {
        draft.cell.findings = cell_findings::sample_findings(compared.metric, sampled);
        draft.cell.findings.extend(drift);
    }
    drafts
}

/// Returns a network's figures in a shape, by block. There is no warm-up to cut.
fn turn_samples(
    turns: &[&NetworkTurn],
    label: &str,
    shape: &Shape,
    metric: Metric,
) -> Vec<BlockSample> {
    let mine = turns.iter().filter(|turn| turn.label == label && turn.shape == *shape);
    let mut samples: Vec<BlockSample> = mine
        .filter_map(|turn| Some(BlockSample::whole(turn.block, turn_figure(turn, metric)?)))
        .collect();
    samples.sort_by_key(|sample| sample.block);
    samples
}

/// Returns the figure of a turn by this metric. Returns `None` if the turn has none.
fn turn_figure(turn: &NetworkTurn, metric: Metric) -> Option<f64> {
    let MetricFormula::Network(figure) = metric.formula() else { return None };
    let milliseconds = |duration: Nanos| duration.as_secs_f64() * 1e3;
    match figure {
        NetworkFigure::SetUp => Some(milliseconds(turn.raised)),
        NetworkFigure::TearDown => Some(milliseconds(turn.removed)),
        NetworkFigure::RoutesOut => {
            let clients = f64::from(turn.shape.clients.max(1));
            turn.inspection.routes_out.map(|routed| f64::from(routed) / clients * 100.0)
        }
        NetworkFigure::BridgePorts => turn.inspection.bridge_ports.map(f64::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::test_data::{journal, plan, turn};
    use tare_record::journal::Record;
    use tare_record::{NetworkInspection, Shape};

    fn raised(label: &str, block: u32, milliseconds: u64) -> Record {
        let turn = turn(label, block, NetworkInspection::default());
        Record::Turn(NetworkTurn { raised: Nanos(milliseconds * 1_000_000), ..turn })
    }

    #[test]
    fn turns_are_cells_with_ratios_where_they_are_asked_for() {
        let mut journal = journal(plan(&["host", "vxlan"], Vec::new()), Vec::new());
        for block in 0..3 {
            journal.records.push(raised("host", block, 10 + u64::from(block)));
            journal.records.push(raised("vxlan", block, 20 + 2 * u64::from(block)));
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

    #[test]
    fn clients_with_a_route_out_are_a_share_of_all() {
        let shape = Shape { clients: 4, ..Shape::default() };
        let inspection = NetworkInspection {
            routes_out: Some(3),
            bridge_ports: Some(1023),
            ..NetworkInspection::default()
        };
        let turn = NetworkTurn { shape, ..turn("bridge", 0, inspection) };
        assert_eq!(turn_figure(&turn, Metric::RoutesOut), Some(75.0));
        assert_eq!(turn_figure(&turn, Metric::BridgePorts), Some(1023.0));
        let nothing = NetworkTurn { inspection: NetworkInspection::default(), ..turn };
        assert_eq!(turn_figure(&nothing, Metric::RoutesOut), None);
        assert_eq!(turn_figure(&nothing, Metric::Throughput), None);
    }
}
