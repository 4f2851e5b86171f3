//! Loss at a rate that a sender did not reach.
//!
//! A path loses no less of a higher load. So a loss at a smaller load than asked for is at most that at the full one: a
//! claim of much loss that holds stays true, and one that fails may be true on a faster machine.

use super::MeasuredRun;
use tare_record::finding::SlowSender;
use tare_record::{CellPattern, CellRelation, ConclusionResult, ConclusionTest, Finding, Metric};
use tare_stats::describe::mean;

/// Share of a rate that is as good as all of it.
const ALL: f64 = 0.99;

/// Share of a rate at which a path that loses little says enough about the whole of it.
const NEARLY_ALL: f64 = 0.95;

impl MeasuredRun<'_> {
    /// Returns why a test of a loss says nothing, in words, if a sender that was too slow may have changed its result.
    pub(super) fn find_shortage(
        &self,
        test: &ConclusionTest,
        result: ConclusionResult,
    ) -> Option<String> {
        let [most_of_left, most_of_right] = harmful_shares(test, result);
        let short =
            |part: &CellPattern, most: f64| self.offered_share(part).filter(|share| *share < most);
        let of_right = || test.right.as_ref().and_then(|right| short(right, most_of_right));
        let share = short(&test.left, most_of_left).or_else(of_right)?;
        Some(format!(
            "a sender offered only {:.0} % of the rate: it takes a faster core, or larger datagrams",
            share * 100.0
        ))
    }

    /// Returns the share of the rate that was offered in the mean of all blocks. Returns `None` if every sender kept up.
    fn offered_share(&self, part: &CellPattern) -> Option<f64> {
        let mut findings = self.find(part)?.findings.iter();
        // A cell has the finding of its worst trial.
        let worst = findings.find_map(|finding| match finding {
            Finding::SlowSender(SlowSender { asked, offered }) => Some(offered / asked),
            _ => None,
        })?;
        let offered = self.find(&CellPattern { metric: Metric::Offered, ..part.clone() });
        let above_worst = offered.and_then(|cell| {
            let least = cell.samples.iter().copied().reduce(f64::min)?;
            Some(mean(&cell.samples)? / least)
        });
        Some((worst * above_worst.unwrap_or(1.0)).min(1.0))
    }
}

/// Returns the shares of the rate, offered by the senders of the test's two cells, below which a result says nothing.
fn harmful_shares(test: &ConclusionTest, result: ConclusionResult) -> [f64; 2] {
    use CellRelation::{Above, Below, Within};
    use ConclusionResult::{Fails, Holds};
    if test.left.metric != Metric::Loss {
        return [0.0; 2];
    }
    match (test.is, result) {
        (Above, Fails) => [ALL, 0.0],
        (Above, Holds) => [0.0, NEARLY_ALL],
        (Below, Fails) => [0.0, ALL],
        (Below, Holds) => [NEARLY_ALL, 0.0],
        (Within, Fails | Holds) => [ALL; 2],
        _ => [0.0; 2],
    }
}
