//! What broke, a line for all that one network broke in for one reason.

use crate::sections::telling_facts;
use crate::text::sentence;
use tare_record::{Document, Failure, Shape};

/// So many of the places where one thing broke are named.
const NAMED: usize = 3;

/// The lines.
pub(crate) fn lines(document: &Document) -> Vec<String> {
    let mut groups: Vec<Vec<&Failure>> = Vec::new();
    for failure in &document.failed {
        match groups.iter_mut().find(|group| is_same(group[0], failure)) {
            Some(group) => group.push(failure),
            None => groups.push(vec![failure]),
        }
    }
    groups.iter().map(|group| line(document, group)).collect()
}

fn is_same(one: &Failure, other: &Failure) -> bool {
    (&one.network, &one.reason, &one.remedy) == (&other.network, &other.reason, &other.remedy)
}

fn line(document: &Document, group: &[&Failure]) -> String {
    let first = group[0];
    let mut places: Vec<String> = group.iter().map(|failure| place(document, failure)).collect();
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

/// In what it broke: the workload, and what tells the shape from the run's others.
fn place(document: &Document, failure: &Failure) -> String {
    let others = || shapes(document);
    let shape = failure.shape.as_ref().map(|shape| telling_facts(shape, others).join(", "));
    match (&failure.workload, shape.filter(|facts| !facts.is_empty())) {
        (Some(workload), Some(facts)) => format!("{workload} with {facts}"),
        (Some(workload), None) => workload.clone(),
        (None, facts) => facts.unwrap_or_default(),
    }
}

/// The shapes of a run, as far as its document has them.
fn shapes(document: &Document) -> impl Iterator<Item = &Shape> {
    let measured = document.cells.iter().map(|cell| &cell.shape);
    measured.chain(document.failed.iter().filter_map(|failure| failure.shape.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(clients: u32, workload: Option<&str>, reason: &str) -> Failure {
        Failure {
            network: "link".to_owned(),
            shape: Some(Shape { clients, ..Shape::default() }),
            workload: workload.map(str::to_owned),
            block: Some(0),
            reason: reason.to_owned(),
            ..Failure::default()
        }
    }

    fn told(failed: Vec<Failure>) -> Vec<String> {
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
