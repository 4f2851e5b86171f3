//! Figures of networks themselves that the kernel did not answer for: their cells lack them, so that they are told.

use tare_record::journal::Journal;
use tare_record::{Finding, Metric, NetworkTurn, Phase};

/// Returns a finding for each network and metric that lacks figures, in the plan's order.
pub(crate) fn unread_figures(journal: &Journal) -> Vec<Finding> {
    let plan = &journal.run.plan;
    let mut turns = journal.turns();
    turns.retain(|turn| turn.phase == Phase::Main);
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
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    Some(Finding::NetworkNotInspected {
        network: turns.first()?.label.clone(),
        metric,
        turns: count(errors.len()),
        of: count(turns.len()),
        reason: (*errors.first()?).clone(),
    })
}

#[cfg(test)]
mod tests {
    use crate::document;
    use crate::test_data::{journal, plan};
    use tare_record::journal::Record;
    use tare_record::{Finding, Metric, Nanos, NetworkInspection, NetworkTurn, Phase, Shape};

    fn turn(label: &str, block: u32, inspection: NetworkInspection) -> Record {
        Record::Turn(NetworkTurn {
            block,
            phase: Phase::Main,
            label: label.to_owned(),
            shape: Shape::default(),
            raised: Nanos(1_000_000),
            removed: Nanos(500_000),
            inspection,
        })
    }

    #[test]
    fn a_network_that_was_not_inspected_is_told_with_its_first_error() {
        let mut journal = journal(plan(&["host", "bridge"], Vec::new()), Vec::new());
        journal.run.plan.raising = vec![Metric::RoutesOut];
        let mut refused = NetworkInspection::default();
        refused.note_unread(Metric::RoutesOut, "look up the route: out of memory");
        let answered = NetworkInspection { routes_out: Some(1), ..NetworkInspection::default() };
        journal.records.extend([
            turn("host", 0, answered.clone()),
            turn("bridge", 0, refused.clone()),
            turn("bridge", 1, answered),
            turn("bridge", 2, refused),
        ]);
        let document = document(&journal, None).unwrap();
        let expected = Finding::NetworkNotInspected {
            network: "bridge".to_owned(),
            metric: Metric::RoutesOut,
            turns: 2,
            of: 3,
            reason: "look up the route: out of memory".to_owned(),
        };
        assert_eq!(document.findings, [expected]);
        let bridge = document.cells.iter().find(|cell| cell.network == "bridge").unwrap();
        assert_eq!(bridge.n, 1, "the other turn has its figure");
    }
}
