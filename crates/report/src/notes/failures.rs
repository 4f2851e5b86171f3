//! Failures as lines: one line for all failures of a network with the same reason.

use crate::shape_facts::SharedFacts;
use crate::text::sentence;
use tare_record::{Document, NetworkFailure, Shape};

/// Largest number of workloads and shapes that a line names.
const NAMED: usize = 3;

/// Groups the failures by network, reason and remedy, and formats a line for each group.
pub(crate) fn lines(document: &Document) -> Vec<String> {
    let mut groups: Vec<Vec<&NetworkFailure>> = Vec::new();
    for failure in &document.failed {
        match groups.iter_mut().find(|group| is_same(group[0], failure)) {
            Some(group) => group.push(failure),
            None => groups.push(vec![failure]),
        }
    }
    let shared = SharedFacts::find(shapes(document));
    groups.iter().map(|group| line(&shared, group)).collect()
}

fn is_same(one: &NetworkFailure, other: &NetworkFailure) -> bool {
    (&one.network, &one.reason, &one.remedy) == (&other.network, &other.reason, &other.remedy)
}

fn line(shared: &SharedFacts, group: &[&NetworkFailure]) -> String {
    let first = group[0];
    let mut places: Vec<String> = group.iter().map(|failure| place(shared, failure)).collect();
    places.dedup();
    places.retain(|place| !place.is_empty());
    let more = places.len().saturating_sub(NAMED);
    places.truncate(NAMED);
    let mut what = format!("failed {}", first.network);
    if !places.is_empty() {
        what.push_str(&format!(" in {}", places.join("; ")));
    }
    if more > 0 {
        what.push_str(&format!(" and {more} more"));
    }
    if let Some(block) = first.block {
        what.push_str(&format!(", block {block}"));
    }
    sentence(&what, &first.reason, &first.remedy)
}

/// Describes the location of a failure: the workload, and the facts that distinguish the shape from the run's others.
fn place(shared: &SharedFacts, failure: &NetworkFailure) -> String {
    let shape = failure.shape.as_ref().map(|shape| shared.differing(shape).join(", "));
    match (&failure.workload, shape.filter(|facts| !facts.is_empty())) {
        (Some(workload), Some(facts)) => format!("{workload} with {facts}"),
        (Some(workload), None) => workload.clone(),
        (None, facts) => facts.unwrap_or_default(),
    }
}

/// Returns the shapes of a run, as far as its document has them.
fn shapes(document: &Document) -> impl Iterator<Item = &Shape> {
    let measured = document.cells.iter().map(|cell| &cell.shape);
    measured.chain(document.failed.iter().filter_map(|failure| failure.shape.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(clients: u32, workload: Option<&str>, reason: &str) -> NetworkFailure {
        NetworkFailure {
            network: "link".to_owned(),
            shape: Some(Shape { clients, ..Shape::default() }),
            workload: workload.map(str::to_owned),
            block: Some(0),
            reason: reason.to_owned(),
            ..NetworkFailure::default()
        }
    }

    fn told(failed: Vec<NetworkFailure>) -> Vec<String> {
        lines(&Document { failed, ..Document::default() })
    }

    #[test]
    fn a_run_of_one_shape_names_none() {
        let failed = vec![failure(1, Some("iperf"), "it broke")];
        assert_eq!(told(failed), ["failed link in iperf, block 0: it broke"]);
        assert_eq!(told(vec![failure(1, None, "gone")]), ["failed link, block 0: gone"]);
    }

    #[test]
    fn what_broke_in_many_places_for_one_reason_is_one_line() {
        let failed = [1, 2, 4, 8, 16].map(|clients| failure(clients, None, "no engine answers"));
        let mut failed = failed.to_vec();
        failed.push(failure(16, Some("iperf"), "its server ended"));
        assert_eq!(
            told(failed),
            [
                "failed link in 1 client; 2 clients; 4 clients and 2 more, block 0: no engine answers",
                "failed link in iperf with 16 clients, block 0: its server ended",
            ]
        );
    }
}
