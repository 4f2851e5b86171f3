//! Evidence of a tested conclusion in words: the cell, the observation with its interval, the claim.

use tare_record::{
    CellPattern, CellRelation, ComparedBy, ConclusionResult, ConclusionTest, Metric, unquoted_value,
};

/// Significant digits of a figure in words.
const DIGITS: i32 = 3;

/// Most blocks whose interval is too wide to say anything, unless it decides a test nevertheless.
const TOO_FEW_BLOCKS: usize = 2;

/// Observed figure of a test: a ratio, a difference or a figure of its own.
pub(super) struct Observation {
    pub(super) value: f64,
    pub(super) unit: String,
    pub(super) ends: [f64; 2],
    /// Number of blocks.
    pub(super) n: usize,
    /// Cell that the figure is relative to, in words.
    pub(super) reference: Option<String>,
}

/// Formats an observation: `0.81 × that of host (0.79 to 0.83)`.
pub(super) fn observation(observed: &Observation, result: ConclusionResult) -> String {
    let Observation { value, unit, ends: [low, high], n, reference } = observed;
    // A count that is the same in every block is known exactly.
    let is_exact = low == high && value.fract() == 0.0;
    let rounded = |value: f64| if is_exact { value.to_string() } else { rounded(value) };
    let range = if is_exact {
        format!("in each of {n} blocks")
    } else if *n <= TOO_FEW_BLOCKS && result == ConclusionResult::Undecidable {
        format!("{n} blocks: no interval")
    } else {
        format!("{} to {}", rounded(*low), rounded(*high))
    };
    let figure = match reference {
        Some(reference) if unit == "×" => format!("{} × that of {reference}", rounded(*value)),
        Some(reference) => {
            let side = if *value < 0.0 { "below" } else { "above" };
            format!("{} {unit} {side} that of {reference}", rounded(value.abs()))
        }
        None => format!("{} {unit}", rounded(*value)),
    };
    format!("{figure} ({range})")
}

/// Formats what a test claims: `more than 0.9 ×`, `the same within 5 %`.
pub(super) fn claim(test: &ConclusionTest, margin: f64, metric: Metric) -> String {
    let is_exact = margin == 0.0;
    let margin = match metric.compared_by() {
        ComparedBy::Ratio => format!("{} %", rounded(margin * 100.0)),
        ComparedBy::Difference => format!("{} points", rounded(margin)),
    };
    let times = test.times.filter(|times| *times != 1.0);
    let border = match (&test.right, times, test.value) {
        (Some(_), Some(times), _) => Some(format!("{times} ×")),
        (None, _, Some(value)) => Some(value.to_string()),
        _ => None,
    };
    match (test.is, border) {
        (CellRelation::Above, Some(border)) => format!("more than {border}"),
        (CellRelation::Above, None) => "more".to_owned(),
        (CellRelation::Below, Some(border)) => format!("less than {border}"),
        (CellRelation::Below, None) => "less".to_owned(),
        (CellRelation::Within, Some(border)) if is_exact => format!("exactly {border}"),
        (CellRelation::Within, Some(border)) => format!("{border}, within {margin}"),
        (CellRelation::Within, None) => format!("the same, within {margin}"),
    }
}

/// Describes a cell: network, workload and metric, then the known parts of its shape and its parameters.
pub(super) fn describe_cell(part: &CellPattern) -> String {
    join(format!("{} {} {}", part.network, part.workload, part.metric), &facts(part))
}

/// Describes a cell by its difference from another.
pub(super) fn describe_difference(part: &CellPattern, from: &CellPattern) -> String {
    let mut words = part.network.clone();
    if (&part.workload, part.metric) != (&from.workload, from.metric) {
        words.push_str(&format!(" {} {}", part.workload, part.metric));
    }
    let known = facts(from);
    let telling: Vec<String> =
        facts(part).into_iter().filter(|fact| !known.contains(fact)).collect();
    join(words, &telling)
}

fn join(name: String, facts: &[String]) -> String {
    if facts.is_empty() { name } else { format!("{name} ({})", facts.join(", ")) }
}

fn facts(part: &CellPattern) -> Vec<String> {
    let shape = part.shape.to_string();
    let parameters =
        part.parameters.iter().map(|(name, value)| format!("{name}={}", unquoted_value(value)));
    let shape = shape.split(',').filter(|fact| !fact.is_empty()).map(str::to_owned);
    shape.chain(parameters).collect()
}

/// Formats a number with three significant digits.
fn rounded(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let places = DIGITS - 1 - value.abs().log10().floor() as i32;
    let text = match usize::try_from(places) {
        Ok(places) => format!("{value:.places$}"),
        Err(_) => {
            let step = 10f64.powi(-places);
            format!("{:.0}", (value / step).round() * step)
        }
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_record::ShapePattern;

    fn observed(value: f64, ends: [f64; 2], n: usize, unit: &str) -> Observation {
        let reference = (unit != "1/s").then(|| "host".to_owned());
        Observation { value, unit: unit.to_owned(), ends, n, reference }
    }

    #[test]
    fn figures_have_the_digits_that_a_reader_takes_in() {
        let words = |one: &Observation| observation(one, ConclusionResult::Fails);
        let ratio = observed(0.812_345, [0.790_12, 0.830_1], 5, "×");
        assert_eq!(words(&ratio), "0.812 × that of host (0.79 to 0.83)");
        let rate = observed(18_342.123_4, [18_000.1, 18_600.5], 5, "1/s");
        assert_eq!(words(&rate), "18300 1/s (18000 to 18600)");
        let points = observed(-0.3, [-0.5, -0.1], 5, "points");
        assert_eq!(words(&points), "0.3 points below that of host (-0.5 to -0.1)");
    }

    #[test]
    fn a_count_that_never_differs_is_exact() {
        let ports = observed(1023.0, [1023.0, 1023.0], 5, "1/s");
        assert_eq!(observation(&ports, ConclusionResult::Holds), "1023 1/s (in each of 5 blocks)");
        let test = ConclusionTest {
            left: cell("veth", 1),
            is: CellRelation::Within,
            right: None,
            times: None,
            value: Some(0.0),
            margin: Some(0.0),
        };
        assert_eq!(claim(&test, 0.0, Metric::RoutesOut), "exactly 0");
    }

    #[test]
    fn two_blocks_that_decide_nothing_have_no_interval() {
        let ratio = observed(1.5, [0.4, 5.9], 2, "×");
        let words = observation(&ratio, ConclusionResult::Undecidable);
        assert_eq!(words, "1.5 × that of host (2 blocks: no interval)");
    }

    fn cell(network: &str, clients: u32) -> CellPattern {
        CellPattern {
            network: network.to_owned(),
            workload: "iperf".to_owned(),
            metric: Metric::Throughput,
            shape: ShapePattern { nodes: Some(1), clients: Some(clients), ..Default::default() },
            parameters: Default::default(),
            per: Default::default(),
        }
    }

    #[test]
    fn a_reference_is_named_by_what_differs() {
        assert_eq!(describe_cell(&cell("ovs", 4)), "ovs iperf throughput (nodes=1, clients=4)");
        assert_eq!(describe_difference(&cell("ovs", 1), &cell("ovs", 4)), "ovs (clients=1)");
        assert_eq!(describe_difference(&cell("link", 4), &cell("ovs", 4)), "link");
    }
}
