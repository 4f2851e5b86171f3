//! By what the runs' machines and methods differ.

use super::session::Read;
use crate::Error;
use std::collections::{BTreeMap, BTreeSet};
use tare_record::{Contrasted, Device, Document, Environment, Plan, WarmUp, WorkloadPlan, bare};

/// All that may move a figure, by the name that `--vary` gives it.
pub(super) type Facts = BTreeMap<String, String>;

/// What belongs to the hardware, for `--vary machine`.
const MACHINE: [&str; 8] =
    ["architecture", "boost", "cores", "cpu", "device", "governor", "memory", "virtualisation"];

/// Stands for several, or for several of one kind: a name before a colon.
const MACHINE_NAME: &str = "machine";

/// The facts of a run.
pub(super) fn facts(plan: &Plan, document: &Document) -> Facts {
    let mut facts = of_machine(&document.environment);
    facts.insert("study".to_owned(), plan.study.clone());
    facts.insert("baseline".to_owned(), plan.baseline.clone());
    for entry in &plan.networks {
        facts.insert(format!("network:{}", entry.label), entry.network.clone());
    }
    for workload in &plan.workloads {
        facts.insert(format!("method:{}", workload.name), method(workload));
    }
    facts.extend(in_force(document));
    facts
}

fn of_machine(environment: &Environment) -> Facts {
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

/// Memory in GiB to a tenth: what the firmware keeps for itself differs from boot to boot.
fn memory(bytes: Option<u64>) -> String {
    const GIB: f64 = (1u64 << 30) as f64;
    bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{:.1} GiB", bytes as f64 / GIB))
}

/// A device of the hardware's; containers' own come and go.
fn device(device: &Device) -> Option<(String, String)> {
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
        WarmUp::Auto => "found".to_owned(),
        WarmUp::Fixed(length) => length.to_string(),
    };
    format!("{}, intervals of {}, warm-up {warm_up}", workload.duration, workload.interval)
}

/// What was in force for each workload's parameters: congestion control, granted buffers, cores.
fn in_force(document: &Document) -> Facts {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for cell in &document.cells {
        for (name, value) in &cell.parameters {
            let fact = format!("parameter:{}/{name}", cell.workload);
            values.entry(fact).or_default().insert(bare(value));
        }
    }
    values
        .into_iter()
        .map(|(name, values)| (name, values.into_iter().collect::<Vec<_>>().join(" ")))
        .collect()
}

/// By what the sides differ, or the runs of one side among themselves.
pub(super) fn differences(
    base: &[Read],
    new: &[Read],
    vary: &[String],
) -> Result<Vec<Contrasted>, Error> {
    let names: BTreeSet<&str> =
        base.iter().chain(new).flat_map(|run| run.facts.keys()).map(String::as_str).collect();
    if let Some(unknown) = vary.iter().find(|asked| !names.iter().any(|name| is(asked, name))) {
        let mut known: BTreeSet<&str> = names.iter().map(|name| kind(name)).collect();
        known.insert(MACHINE_NAME);
        return Err(Error::Vary {
            asked: unknown.clone(),
            known: known.into_iter().map(str::to_owned).collect(),
        });
    }
    let values = |side: &[Read], name: &str| -> Vec<String> {
        let of = |run: &Read| run.facts.get(name).cloned().unwrap_or_else(|| "none".to_owned());
        side.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect()
    };
    Ok(names
        .into_iter()
        .map(|name| Contrasted {
            what: name.to_owned(),
            base: values(base, name),
            new: values(new, name),
            intended: vary.iter().any(|asked| is(asked, name)),
        })
        .filter(|one| one.base != one.new || one.base.len() > 1)
        .collect())
}

/// What a fact is called without what it is of.
fn kind(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// Whether an intended change names a fact: itself, its kind, or the machine that it belongs to.
fn is(asked: &str, name: &str) -> bool {
    asked == name || asked == kind(name) || (asked == MACHINE_NAME && MACHINE.contains(&kind(name)))
}
