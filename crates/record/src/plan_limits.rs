//! Limits of a plan, which hold for every study and for every plan that a journal holds.

use crate::{
    BlockPolicy, Nanos, Plan, PlanSection, Shape, WarmUpPolicy, WorkloadPlan, is_terminal_control,
    visible_text,
};
use std::ops::RangeInclusive;

/// Largest number of blocks.
pub const MOST_BLOCKS: u32 = 100_000;

/// Largest number of containers, processes or flows; a larger number is treated as a typing error.
pub const MOST_IN_SHAPE: u32 = 10_000;

/// Longest trial.
pub const LONGEST_TRIAL: Nanos = Nanos(86_400_000_000_000);

/// Longest name of a study, bytes: with a time it is the name of a directory.
const LONGEST_NAME: usize = 80;

/// Bytes of an IP packet (RFC 791); the smallest MTU is that of IPv4.
const MTUS: RangeInclusive<u32> = 68..=65_535;

/// Value of a plan that no study gives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan's {what} cannot be {given}, only {allowed}")]
pub struct InvalidPlan {
    /// Meaning of the value: `number of clients`.
    pub what: String,
    /// Value in the plan.
    pub given: String,
    /// Values that a study can give.
    pub allowed: String,
}

impl Plan {
    /// Checks a plan that was read from a file: it can be measured and analysed without a number beyond its range.
    ///
    /// # Errors
    /// Returns the first value that no study gives.
    pub fn validate(&self) -> Result<(), InvalidPlan> {
        check_study_name(&self.study)?;
        self.networks.iter().try_for_each(|network| check_label(&network.label))?;
        check_blocks(self.blocks)?;
        self.workloads.iter().try_for_each(check_workload)?;
        self.shapes.iter().try_for_each(check_shape)?;
        self.parts.iter().try_for_each(|section| self.check_section(section))?;
        for (metric, &margin) in &self.margins {
            check(margin.is_finite() && margin > 0.0, "margin", margin, "a number above 0")
                .map_err(|error| InvalidPlan { what: format!("margin of {metric}"), ..error })?;
        }
        Ok(())
    }

    fn check_section(&self, section: &PlanSection) -> Result<(), InvalidPlan> {
        let lists = [
            ("network of a section", &section.networks, self.networks.len()),
            ("workload of a section", &section.workloads, self.workloads.len()),
            ("shape of a section", &section.shapes, self.shapes.len()),
        ];
        for (what, indices, count) in lists {
            for &index in indices {
                check(index < count, what, index, format!("a number below {count}"))?;
            }
        }
        Ok(())
    }
}

/// Checks the name of a study, which becomes part of a file's name.
///
/// # Errors
/// Fails if the name is empty or long, leads to another directory, hides the file, looks like a flag, or has characters
/// that a terminal obeys.
pub fn check_study_name(name: &str) -> Result<(), InvalidPlan> {
    let is_allowed = (1..=LONGEST_NAME).contains(&name.len())
        && !name.starts_with(['.', '-'])
        && name.trim() == name
        && !name.contains(|c| c == '/' || is_unprintable(c));
    let allowed =
        format!("at most {LONGEST_NAME} bytes without `/`, not beginning with `.` or `-`");
    check(is_allowed, "name", visible_text(name), allowed)
}

/// Checks the label of a network, which is printed as it is.
///
/// # Errors
/// Fails if the label is empty or has characters that a terminal obeys.
pub fn check_label(label: &str) -> Result<(), InvalidPlan> {
    let is_allowed = !label.is_empty() && !label.contains(is_unprintable);
    check(is_allowed, "label", visible_text(label), "printable characters")
}

fn is_unprintable(c: char) -> bool {
    is_terminal_control(c) || matches!(c, '\n' | '\t')
}

fn check(
    holds: bool,
    what: &str,
    given: impl ToString,
    allowed: impl ToString,
) -> Result<(), InvalidPlan> {
    if holds {
        return Ok(());
    }
    let (given, allowed) = (given.to_string(), allowed.to_string());
    Err(InvalidPlan { what: what.to_owned(), given, allowed })
}

fn check_number(what: &str, given: u32, allowed: RangeInclusive<u32>) -> Result<(), InvalidPlan> {
    let words = || format!("a number from {} to {}", allowed.start(), allowed.end());
    check(allowed.contains(&given), what, given, words())
}

fn check_blocks(policy: BlockPolicy) -> Result<(), InvalidPlan> {
    let range = |at_least: u32, at_most: u32| {
        check_number("smallest number of blocks", at_least, 1..=MOST_BLOCKS)?;
        check_number("largest number of blocks", at_most, at_least..=MOST_BLOCKS)
    };
    let pilot =
        |blocks: u32| check_number("number of blocks in the pilot", blocks, 1..=MOST_BLOCKS);
    let width = |precision: Option<f64>| {
        let given = precision.unwrap_or(1.0);
        check(given.is_finite() && given > 0.0, "precision", given, "a number above 0")
    };
    match policy {
        BlockPolicy::Fixed { blocks } => check_number("number of blocks", blocks, 1..=MOST_BLOCKS),
        BlockPolicy::Sequence { precision, at_least, at_most } => {
            width(precision).and_then(|()| range(at_least, at_most))
        }
        BlockPolicy::Precision { precision, pilot: of_pilot, at_least, at_most }
        | BlockPolicy::GroupSequential { precision, pilot: of_pilot, at_least, at_most } => {
            width(precision).and_then(|()| pilot(of_pilot)).and_then(|()| range(at_least, at_most))
        }
    }
}

fn check_workload(workload: &WorkloadPlan) -> Result<(), InvalidPlan> {
    let WorkloadPlan { name, duration, interval, warm_up, slices, slice_lengths, .. } = workload;
    let time = |what: &str, given: Nanos, most: Nanos| {
        let is_allowed = given > Nanos::default() && given <= most;
        check(is_allowed, &format!("{what} of {name}"), given, format!("a time up to {most}"))
    };
    time("duration", *duration, LONGEST_TRIAL)?;
    time("interval", *interval, *duration)?;
    if let WarmUpPolicy::Fixed(length) = warm_up {
        let what = format!("warm-up of {name}");
        check(length <= duration, &what, *length, format!("a time up to {duration}"))?;
    }
    slice_lengths
        .iter()
        .try_for_each(|&length| time("length of a slice", length, LONGEST_TRIAL))?;
    let Some(slices) = slices else { return Ok(()) };
    time("length of a slice", slices.length, LONGEST_TRIAL)?;
    let what = format!("number of rounds of {name}");
    check(
        slices.rounds > 0 && slices.duration() <= LONGEST_TRIAL,
        &what,
        slices.rounds,
        "a number whose slices fit into a day",
    )
}

fn check_shape(shape: &Shape) -> Result<(), InvalidPlan> {
    let counts = [
        ("number of servers", shape.servers),
        ("number of clients", shape.clients),
        ("number of processes", shape.processes),
        ("number of flows", shape.flows),
        ("number of nodes", shape.nodes),
    ];
    counts
        .into_iter()
        .try_for_each(|(what, count)| check_number(what, count, 1..=MOST_IN_SHAPE))?;
    check_number("MTU", shape.mtu, MTUS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn plan() -> Value {
        json!({
            "study": "test", "seed": 1, "baseline": "a", "family": "metric",
            "networks": [{ "label": "a", "network": "host" }],
            "workloads": [{
                "name": "tcp-rr", "parameters": {}, "duration": 1_000_000_000u64,
                "interval": 100_000_000u64, "warm_up": { "method": "fixed", "length": 1 },
                "metrics": [], "slices": { "rounds": 10, "warm_up": 1, "length": 20_000_000, "skip": 0 },
            }],
            "shapes": [Shape::default()], "margins": { "throughput": 0.05 },
            "blocks": { "by": "precision", "precision": 0.01, "pilot": 3, "at_least": 5, "at_most": 9 },
            "budget": null, "skipped": [],
            "parts": [{ "networks": [0], "workloads": [0], "shapes": [0] }],
        })
    }

    #[test]
    fn what_no_study_gives_is_named() {
        let validate =
            |plan: &Value| serde_json::from_value::<Plan>(plan.clone()).unwrap().validate();
        assert_eq!(validate(&plan()), Ok(()));
        let most = u64::MAX;
        let cases = [
            ("/study", json!("x/../../y"), "name"),
            ("/study", json!(""), "name"),
            ("/study", json!(".."), "name"),
            ("/study", json!("-rf"), "name"),
            ("/study", json!("a\u{1b}b"), "name"),
            ("/study", json!("a\nb"), "name"),
            ("/study", json!("n".repeat(81)), "name"),
            ("/networks/0/label", json!("a\u{202e}b"), "label"),
            ("/networks/0/label", json!(""), "label"),
            ("/blocks/at_least", json!(0), "smallest number of blocks"),
            ("/blocks/at_most", json!(4), "largest number of blocks"),
            ("/blocks/at_most", json!(u32::MAX), "largest number of blocks"),
            ("/blocks/pilot", json!(0), "number of blocks in the pilot"),
            ("/blocks/precision", json!(-1.0), "precision"),
            ("/workloads/0/duration", json!(most), "duration of tcp-rr"),
            ("/workloads/0/duration", json!(0), "duration of tcp-rr"),
            ("/workloads/0/interval", json!(0), "interval of tcp-rr"),
            ("/workloads/0/interval", json!(most), "interval of tcp-rr"),
            ("/workloads/0/warm_up/length", json!(most), "warm-up of tcp-rr"),
            ("/workloads/0/slices/length", json!(most), "length of a slice of tcp-rr"),
            ("/workloads/0/slices/length", json!(0), "length of a slice of tcp-rr"),
            ("/workloads/0/slices/rounds", json!(0), "number of rounds of tcp-rr"),
            ("/workloads/0/slices/rounds", json!(u32::MAX), "number of rounds of tcp-rr"),
            ("/shapes/0/clients", json!(u32::MAX), "number of clients"),
            ("/shapes/0/servers", json!(0), "number of servers"),
            ("/shapes/0/mtu", json!(1), "MTU"),
            ("/parts/0/networks/0", json!(1), "network of a section"),
            ("/parts/0/workloads/0", json!(1), "workload of a section"),
            ("/parts/0/shapes/0", json!(1), "shape of a section"),
            ("/margins/throughput", json!(0.0), "margin of throughput"),
        ];
        for (place, value, what) in cases {
            let mut changed = plan();
            *changed.pointer_mut(place).unwrap() = value;
            assert_eq!(validate(&changed).unwrap_err().what, what, "{place}");
        }
    }
}
