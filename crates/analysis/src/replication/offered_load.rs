//! Loss at a rate that a sender did not reach.
//!
//! A path loses no less of a higher load. So a loss at a smaller load than asked for is at most that at the full one: a
//! claim of much loss that holds stays true, and one that fails may be true on a faster machine.

use tare_record::{Cell, CellRelation, ConclusionResult, Finding, Metric};

/// Share of a rate at which a path that loses little says enough about the whole of it.
const NEARLY_ALL: f64 = 0.95;

/// Returns why a test of a loss says nothing, in words, if a sender that was too slow may have changed its result.
pub(super) fn find_shortage(
    relation: CellRelation,
    result: ConclusionResult,
    left: &Cell,
    right: Option<&Cell>,
) -> Option<String> {
    use CellRelation::{Above, Below, Within};
    use ConclusionResult::{Fails, Holds, Undecidable};
    if left.metric != Metric::Loss || result == Undecidable {
        return None;
    }
    let most_of_left = match (relation, result) {
        (Above, Fails) | (Within, _) => 1.0,
        (Below, Holds) => NEARLY_ALL,
        _ => 0.0,
    };
    let most_of_right = match (relation, result) {
        (Above, Holds) => NEARLY_ALL,
        (Below, Fails) | (Within, _) => 1.0,
        _ => 0.0,
    };
    let short = |cell: &Cell, most: f64| offered_share(cell).filter(|share| *share < most);
    let share =
        short(left, most_of_left).or_else(|| right.and_then(|cell| short(cell, most_of_right)))?;
    Some(format!(
        "a sender offered only {:.0} % of the rate: it takes a faster core, or larger datagrams",
        share * 100.0
    ))
}

/// Returns the offered share of the rate asked for. Returns `None` if all of it was offered.
fn offered_share(cell: &Cell) -> Option<f64> {
    cell.findings.iter().find_map(|finding| match finding {
        Finding::SenderTooSlow { asked, offered } => Some(offered / asked),
        _ => None,
    })
}
