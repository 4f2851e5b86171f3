//! Published protocol with the values of this run, read from its plan after all overrides.

use tare_record::{
    Nanos, Plan, ProtocolEntry, ProtocolField, Shape, WarmUpPolicy, WorkloadPlan, counted,
    unquoted_value,
};

/// Returns the fields of a protocol with the values of a run of so many blocks.
pub(super) fn protocol_of_run(
    plan: &Plan,
    protocol: &[ProtocolField],
    blocks: u32,
) -> Vec<ProtocolEntry> {
    protocol.iter().map(|field| entry(plan, field, blocks)).collect()
}

fn entry(plan: &Plan, field: &ProtocolField, blocks: u32) -> ProtocolEntry {
    let changed = changed_value(plan, field, blocks);
    ProtocolEntry {
        field: field.field.clone(),
        value: field.value.clone(),
        basis: field.basis,
        text: field.text.clone(),
        note: field.note.clone(),
        differs: changed.is_some(),
        here: changed.unwrap_or_else(|| field.value.clone()),
    }
}

/// Returns the value of this run if it is not the study's. Values of no part of the plan are the study's.
fn changed_value(plan: &Plan, field: &ProtocolField, blocks: u32) -> Option<String> {
    let (name, part) = field.run.as_deref()?.split_once('.')?;
    let is_named = |workload: &&WorkloadPlan| {
        workload.name == name || workload.stands_for.as_deref() == Some(name)
    };
    let Some(workload) = plan.workloads.iter().find(is_named) else {
        return Some(format!("{name} was not run"));
    };
    let asked = field.value.as_str();
    match part {
        "tool" => workload
            .stands_for
            .as_ref()
            .map(|tool| format!("{}, in the place of {tool}", workload.name)),
        "duration" => unless(is_span(asked, workload.duration), || duration(workload)),
        "warm-up" => changed_warm_up(asked, workload.warm_up),
        "blocks" => {
            unless(first_word(asked).parse() == Ok(blocks), || counted(blocks, "block", "blocks"))
        }
        part => {
            let here = values(plan, workload, part)?;
            unless(here == asked || here == ungrouped(first_word(asked)), || here.clone())
        }
    }
}

fn unless(kept: bool, here: impl Fn() -> String) -> Option<String> {
    (!kept).then(here)
}

/// Formats the duration of a workload's trials, with that of the slices that make up a trial.
fn duration(workload: &WorkloadPlan) -> String {
    match &workload.slices {
        Some(slices) => {
            format!("{} in slices of {}", workload.duration.rounded(), slices.length.rounded())
        }
        None => workload.duration.to_string(),
    }
}

fn changed_warm_up(asked: &str, here: WarmUpPolicy) -> Option<String> {
    match here {
        WarmUpPolicy::Auto => unless(asked == "found", || "found".to_owned()),
        WarmUpPolicy::Fixed(span) => {
            unless(is_span(asked, span), || format!("{} discarded", span.rounded()))
        }
    }
}

/// Returns the values of a number of the shape, or of a parameter, over all trials of the workload's name.
fn values(plan: &Plan, workload: &WorkloadPlan, part: &str) -> Option<String> {
    let number: Option<fn(&Shape) -> u32> = match part {
        "nodes" => Some(|shape| shape.nodes),
        "servers" => Some(|shape| shape.servers),
        "clients" => Some(|shape| shape.clients),
        "processes" => Some(|shape| shape.processes),
        "flows" => Some(|shape| shape.flows),
        _ => None,
    };
    let mut found: Vec<String> = Vec::new();
    for (at, one) in plan.workloads.iter().enumerate().filter(|(_, one)| one.name == workload.name)
    {
        match number {
            Some(number) => {
                let measured = |shape: &usize| {
                    (0..plan.networks.len()).any(|network| plan.measures(network, at, *shape))
                };
                let shapes = (0..plan.shapes.len()).filter(measured);
                found.extend(shapes.map(|shape| number(&plan.shapes[shape]).to_string()));
            }
            None => found.extend(one.parameters.get(part).map(unquoted_value)),
        }
    }
    let mut distinct: Vec<String> = Vec::new();
    for value in found {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    (!distinct.is_empty()).then(|| distinct.join(", "))
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// Returns a number without the commas that group its digits: `1,000`. A comma at the end belongs to a list.
fn ungrouped(word: &str) -> String {
    if word.ends_with(',') { word.to_owned() } else { word.replace(',', "") }
}

/// Returns true if a text begins with a time span of this length: `5m`, `60s discarded`.
fn is_span(text: &str, span: Nanos) -> bool {
    let asked = first_word(text).parse::<jiff::SignedDuration>();
    asked.is_ok_and(|asked| u64::try_from(asked.as_nanos()) == Ok(span.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{plan, workload};
    use tare_record::{Metric, ProtocolBasis};

    fn here(run: &str, value: &str, plan: &Plan) -> (String, bool) {
        let field = ProtocolField {
            field: "any".to_owned(),
            value: value.to_owned(),
            basis: ProtocolBasis::Stated,
            text: None,
            note: None,
            run: Some(run.to_owned()),
        };
        let entry = protocol_of_run(plan, &[field], 3).remove(0);
        (entry.here, entry.differs)
    }

    #[test]
    fn a_value_is_that_of_the_run() {
        let mut stream = workload("tcp-stream", &[Metric::Throughput]);
        stream.stands_for = Some("iperf".to_owned());
        stream.duration = Nanos(2_000_000_000);
        stream.warm_up = WarmUpPolicy::Auto;
        stream.parameters.insert("size".to_owned(), 64.into());
        stream.parameters.insert("count".to_owned(), 1_000_000.into());
        let mut plan = plan(&["host"], vec![stream]);
        plan.shapes = vec![Shape { clients: 2, ..Shape::default() }];
        for (run, value, expected) in [
            ("iperf.tool", "iperf 2", ("tcp-stream, in the place of iperf", true)),
            ("iperf.duration", "5s", ("2s", true)),
            ("iperf.duration", "2s a rate", ("2s a rate", false)),
            ("iperf.warm-up", "found", ("found", false)),
            ("iperf.warm-up", "60s discarded", ("found", true)),
            ("iperf.blocks", "10 blocks", ("3 blocks", true)),
            ("iperf.blocks", "3 blocks", ("3 blocks", false)),
            ("iperf.clients", "1, 2, 4", ("2", true)),
            ("iperf.size", "64 bytes", ("64 bytes", false)),
            ("iperf.size", "128 bytes", ("64", true)),
            ("iperf.clients", "2, 4", ("2", true)),
            ("iperf.count", "1,000,000 a trial", ("1,000,000 a trial", false)),
            ("sockperf.duration", "5s", ("sockperf was not run", true)),
        ] {
            assert_eq!(
                here(run, value, &plan),
                (expected.0.to_owned(), expected.1),
                "{run} {value}"
            );
        }
    }
}
