//! Differences between the machines and methods of runs.

use super::cluster_facts::{NETWORK_DAEMONS, cluster_facts};
use crate::Error;
use std::collections::{BTreeMap, BTreeSet};
use tare_record::{
    Document, Environment, EnvironmentDifference, HostDevice, Plan, WarmUpPolicy, WorkloadPlan,
    unquoted_value,
};

/// Facts of a run that may move a figure, by the name that `--vary` gives them.
pub(super) type Facts = BTreeMap<String, String>;

/// Kinds of facts that belong to the hardware, for `--vary machine`.
const MACHINE_FACT_KINDS: [&str; 8] =
    ["architecture", "boost", "cores", "cpu", "device", "governor", "memory", "virtualisation"];

/// Name for all facts of the hardware. Another name for several facts is their kind, the part before the colon.
const MACHINE_NAME: &str = "machine";

/// Facts that the user of a run may not see. A run without one says nothing of it.
const SEEN_BY_SOME: [&str; 1] = [NETWORK_DAEMONS];

/// Returns the facts of a run.
pub(super) fn run_facts(plan: &Plan, document: &Document) -> Facts {
    let mut facts = machine_facts(&document.environment);
    facts.insert("study".to_owned(), plan.study.clone());
    facts.insert("baseline".to_owned(), plan.baseline.clone());
    for entry in &plan.networks {
        facts.insert(format!("network:{}", entry.label), entry.network.clone());
    }
    for workload in &plan.workloads {
        facts.insert(format!("method:{}", workload.name), method(workload));
    }
    facts.extend(parameter_facts(document));
    facts.extend(cluster_facts(document));
    facts
}

fn machine_facts(environment: &Environment) -> Facts {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let switch = |value: Option<bool>| match value {
        Some(true) => "on".to_owned(),
        Some(false) => "off".to_owned(),
        None => "unknown".to_owned(),
    };
    let cores: Vec<String> = environment.cores.iter().map(u32::to_string).collect();
    let kernel = format!("{} {}", environment.kernel, environment.kernel_build);
    let single = [
        ("architecture", environment.architecture.clone()),
        ("boost", switch(environment.boost)),
        ("clock", text(&environment.clock)),
        ("congestion-control", text(&environment.congestion_control)),
        ("cores", cores.join(",")),
        ("cpu", text(&environment.cpu)),
        ("distribution", text(&environment.distribution)),
        ("governor", text(&environment.governor)),
        ("kernel", kernel.trim().to_owned()),
        ("memory", memory(environment.memory)),
        ("root", switch(Some(environment.root))),
        ("tare", environment.tare.clone()),
        ("virtualisation", text(&environment.virtualisation)),
    ];
    let mut facts: Facts =
        single.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let several = [
        ("mitigation", &environment.mitigations),
        ("program", &environment.programs),
        ("sysctl", &environment.sysctls),
    ];
    for (kind, map) in several {
        facts.extend(map.iter().map(|(name, value)| (format!("{kind}:{name}"), value.clone())));
    }
    facts.extend(environment.devices.iter().filter_map(device));
    facts
}

/// Formats the memory in GiB to a tenth: the part that the firmware keeps for itself differs from boot to boot.
fn memory(bytes: Option<u64>) -> String {
    const GIB: f64 = (1u64 << 30) as f64;
    bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{:.1} GiB", bytes as f64 / GIB))
}

/// Returns the fact of a hardware device. Returns `None` for devices of containers, which come and go.
fn device(device: &HostDevice) -> Option<(String, String)> {
    let driver = device.driver.as_deref().filter(|driver| *driver != "veth")?;
    let on: Vec<&str> =
        device.offloads.iter().filter(|(_, on)| **on).map(|(name, _)| name.as_str()).collect();
    let number =
        |value: Option<u32>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let text = format!(
        "{driver}, MTU {}, {} Mbit/s, on: {}",
        number(device.mtu),
        number(device.speed),
        on.join(" ")
    );
    Some((format!("device:{}", device.name), text))
}

fn method(workload: &WorkloadPlan) -> String {
    let warm_up = match workload.warm_up {
        WarmUpPolicy::Auto => "found".to_owned(),
        WarmUpPolicy::Fixed(length) => length.to_string(),
    };
    format!("{}, intervals of {}, warm-up {warm_up}", workload.duration, workload.interval)
}

/// Returns the parameters in force of each workload: congestion control, granted buffers, cores.
fn parameter_facts(document: &Document) -> Facts {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for cell in &document.cells {
        for (name, value) in &cell.parameters {
            let fact = format!("parameter:{}/{name}", cell.workload);
            values.entry(fact).or_default().insert(unquoted_value(value));
        }
    }
    values
        .into_iter()
        .map(|(name, values)| (name, values.into_iter().collect::<Vec<_>>().join(" ")))
        .collect()
}

/// Returns the differences between the sides, and among the runs of one side.
pub(super) fn differences(
    base: &[&Facts],
    new: &[&Facts],
    vary: &[String],
) -> Result<Vec<EnvironmentDifference>, Error> {
    let names: BTreeSet<&str> =
        base.iter().chain(new).flat_map(|facts| facts.keys()).map(String::as_str).collect();
    if let Some(unknown) =
        vary.iter().find(|asked| !names.iter().any(|name| names_fact(asked, name)))
    {
        let mut known: BTreeSet<&str> = names.iter().map(|name| fact_kind(name)).collect();
        known.insert(MACHINE_NAME);
        return Err(Error::Vary {
            asked: unknown.clone(),
            known: known.into_iter().map(str::to_owned).collect(),
        });
    }
    let values = |side: &[&Facts], name: &str| -> Vec<String> {
        let of = |facts: &&Facts| facts.get(name).cloned().unwrap_or_else(|| "none".to_owned());
        side.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let is_known = |name: &&str| {
        !SEEN_BY_SOME.contains(name)
            || base.iter().chain(new).all(|facts| facts.contains_key(*name))
    };
    Ok(names
        .into_iter()
        .filter(is_known)
        .map(|name| EnvironmentDifference {
            what: name.to_owned(),
            base: values(base, name),
            new: values(new, name),
            intended: vary.iter().any(|asked| names_fact(asked, name)),
        })
        .filter(|one| one.base != one.new || one.base.len() > 1)
        .collect())
}

/// Returns the kind of a fact: its name up to the colon.
fn fact_kind(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// Returns `true` if an intended change names this fact: the fact itself, its kind, or the machine that it belongs to.
fn names_fact(asked: &str, name: &str) -> bool {
    asked == name
        || asked == fact_kind(name)
        || (asked == MACHINE_NAME && MACHINE_FACT_KINDS.contains(&fact_kind(name)))
}
