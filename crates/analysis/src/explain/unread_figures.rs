//! Figures of networks themselves that the kernel did not answer for: their cells lack them, so that they are told.

use crate::compare::block_pairs::main_turns;
use crate::count::count;
use tare_record::finding::InspectionFailure;
use tare_record::journal::Journal;
use tare_record::{Finding, Metric, NetworkTurn};

/// Returns a finding for each network and metric that lacks figures, in the plan's order.
pub(crate) fn unread_figures(journal: &Journal) -> Vec<Finding> {
    let plan = &journal.run.plan;
    let turns = main_turns(journal);
    let mut findings = Vec::new();
    for entry in &plan.networks {
        let turns: Vec<&NetworkTurn> =
            turns.iter().copied().filter(|turn| turn.label == entry.label).collect();
        findings.extend(plan.raising.iter().filter_map(|&metric| unread_figure(&turns, metric)));
    }
    findings
}

/// Returns the finding of one network and metric. Returns `None` if the network's turns lack no figure.
fn unread_figure(turns: &[&NetworkTurn], metric: Metric) -> Option<Finding> {
    let errors: Vec<&String> =
        turns.iter().filter_map(|turn| turn.inspection.unread.get(&metric)).collect();
    Some(Finding::InspectionFailure(InspectionFailure {
        network: turns.first()?.label.clone(),
        metric,
        turns: count(errors.len()),
        of: count(turns.len()),
        reason: (*errors.first()?).clone(),
    }))
}

#[cfg(test)]
mod tests {
    use crate::document;
    use crate::test_data::{journal, plan, turn};
    use tare_record::finding::InspectionFailure;
    use tare_record::journal::Record;
    use tare_record::{Finding, Metric, NetworkInspection};

    #[test]
    fn a_network_that_was_not_inspected_is_told_with_its_first_error() {
        let mut journal = journal(plan(&["host", "bridge"], Vec::new()), Vec::new());
        journal.run.plan.raising = vec![Metric::RoutesOut];
        let mut refused = NetworkInspection::default();
        refused.note_unread(Metric::RoutesOut, "look up the route: out of memory");
        let answered = NetworkInspection { routes_out: Some(1), ..NetworkInspection::default() };
        journal.records.extend([
            Record::Turn(turn("host", 0, answered.clone())),
            Record::Turn(turn("bridge", 0, refused.clone())),
            Record::Turn(turn("bridge", 1, answered)),
            Record::Turn(turn("bridge", 2, refused)),
        ]);
        let document = document(&journal, None).unwrap();
        let expected = Finding::InspectionFailure(InspectionFailure {
            network: "bridge".to_owned(),
            metric: Metric::RoutesOut,
            turns: 2,
            of: 3,
            reason: "look up the route: out of memory".to_owned(),
        });
        assert_eq!(document.findings, [expected]);
        let bridge = document.cells.iter().find(|cell| cell.network == "bridge").unwrap();
        assert_eq!(bridge.n, 1, "the other turn has its figure");
    }
}
