//! Sections of text next to the figures: findings and failures, the machine, instructions to repeat the run, the
//! method.

use super::element::{Element, MarkupNode};
use super::subject::group_thousands;
use crate::notes::{NoteExtent, remarks};
use crate::number;
use tare_record::journal::RunHeader;
use tare_record::{
    BlockPolicy, ClusterDescription, Document, Environment, Nanos, WarmUpPolicy, WorkloadPlan,
    counted,
};

/// Flags for the destination of output, and whether they take a value. `--load-modules` is removed as well.
const OUTPUT_FLAGS: [(&str, bool); 5] =
    [("--out", true), ("-o", true), ("--html", true), ("--json", false), ("--load-modules", false)];

/// Renders findings, skipped networks and failures with their reasons. Returns `None` if there are none.
pub(crate) fn remark_list(document: &Document) -> Option<Element> {
    let remarks = remarks(document, NoteExtent::All);
    if remarks.is_empty() {
        return None;
    }
    let items = remarks.iter().map(|remark| {
        let item = Element::new("li");
        match remark.strip_prefix("note: ") {
            Some(note) => item.push(note),
            None => match remark.split_once(": ") {
                Some((what, why)) => {
                    item.push(Element::new("b").push(what)).push(format!(": {why}"))
                }
                None => item.push(remark.as_str()),
            },
        }
    });
    Some(Element::new("ul").class("notes").extend(items))
}

/// Renders a definition list of names and values. Rows without a value are left out.
fn list(rows: impl IntoIterator<Item = (String, String)>) -> Element {
    let mut list = Element::new("dl");
    for (name, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
        list.add(Element::new("dt").push(name));
        list.add(Element::new("dd").push(value));
    }
    list
}

/// Renders all properties of the machine that may affect a figure.
pub(crate) fn machine(environment: &Environment) -> Vec<Element> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let memory =
        environment.memory.map(|bytes| format!("{:.1} GiB", bytes as f64 / 1024f64.powi(3)));
    let cores = u32::try_from(environment.cores.len()).unwrap_or(u32::MAX);
    let load = environment.load.map(|load| load.map(|one| format!("{one:.2}")).join(", "));
    let flag = |on: Option<bool>| on.map(|on| if on { "on" } else { "off" }.to_owned());
    let kernel = format!(
        "Linux {} {} {}",
        environment.kernel, environment.architecture, environment.kernel_build
    );
    let first = list(
        [
            ("Kernel", kernel.trim().to_owned()),
            ("Distribution", text(&environment.distribution)),
            ("CPU", text(&environment.cpu)),
            ("Cores that the run could use", counted(cores, "core", "cores")),
            ("Memory", memory.unwrap_or_default()),
            ("Virtualisation", text(&environment.virtualisation)),
            ("Governor", text(&environment.governor)),
            ("Turbo", flag(environment.boost).unwrap_or_default()),
            ("Congestion control", text(&environment.congestion_control)),
            ("Clock", text(&environment.clock)),
            ("Load before the run (1, 5, 15 min)", load.unwrap_or_default()),
            ("Privileges", if environment.root { "root" } else { "not root" }.to_owned()),
            ("Start", environment.time.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    let of = |name: &str, rows: Vec<(String, String)>| {
        (!rows.is_empty()).then(|| {
            Element::new("details").push(Element::new("summary").push(name)).push(list(rows))
        })
    };
    let pairs = |map: &std::collections::BTreeMap<String, String>| {
        map.iter().map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    let devices = environment.devices.iter().map(|device| {
        let on: Vec<&str> =
            device.offloads.iter().filter(|(_, on)| **on).map(|(name, _)| name.as_str()).collect();
        let facts = [
            device.driver.clone(),
            device.mtu.map(|mtu| format!("MTU {mtu}")),
            device.speed.map(|speed| format!("{} Mbit/s", group_thousands(&speed.to_string()))),
            (!on.is_empty()).then(|| format!("offloads: {}", on.join(", "))),
        ];
        (device.name.clone(), facts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
    });
    let more = [
        of("Kubernetes cluster", environment.cluster.as_ref().map_or(Vec::new(), cluster_facts)),
        of("Programs", pairs(&environment.programs)),
        of("Sysctls", pairs(&environment.sysctls)),
        of("Mitigations", pairs(&environment.mitigations)),
        of("Devices", devices.collect()),
    ];
    std::iter::once(first).chain(more.into_iter().flatten()).collect()
}

/// Returns what is known of a cluster, by name.
fn cluster_facts(cluster: &ClusterDescription) -> Vec<(String, String)> {
    [
        ("API server", cluster.version.clone()),
        ("Network daemons", cluster.network_daemons.join(", ")),
        ("Image of the pods", cluster.image.clone()),
        ("Raised anew by each block", cluster.pods.raised_anew().to_owned()),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// Describes how long a workload's traffic flows in a trial, and how that is divided.
fn traffic_time(workload: &WorkloadPlan) -> String {
    let WorkloadPlan { duration, interval, slice_lengths: lengths, .. } = workload;
    let warm_up = match workload.warm_up {
        WarmUpPolicy::Auto => "warm-up detected".to_owned(),
        WarmUpPolicy::Fixed(span) => format!("warm-up {span}"),
    };
    match workload.slices {
        None => format!("{duration} per trial, intervals of {interval}, {warm_up}"),
        Some(slices) if lengths.is_empty() => {
            format!("{duration} per trial, in slices of {}", slices.length)
        }
        Some(_) => {
            let lengths: Vec<String> = lengths.iter().map(Nanos::to_string).collect();
            let lengths = lengths.join(", ");
            format!("about {duration} per trial, in slices chosen by the first blocks: {lengths}")
        }
    }
}

/// Renders the command, the plan and the seed for another run of the same measurement.
pub(crate) fn repetition(document: &Document, run: &RunHeader) -> Vec<Element> {
    let plan = &run.plan;
    let mut parts = Vec::new();
    if let Some(command) = command(&document.environment.command, document.seed) {
        parts
            .push(Element::new("pre").with("tabindex", 0).push(Element::new("code").push(command)));
    }
    let workloads = plan.workloads.iter().map(|workload| {
        let parameters: Vec<String> = workload
            .parameters
            .iter()
            .map(|(name, value)| match value.as_str() {
                Some(text) => format!("{name} {text}"),
                None => format!("{name} {value}"),
            })
            .collect();
        let told = format!("{} · {}", traffic_time(workload), parameters.join(", "));
        (workload.name.clone(), told.trim_end_matches([' ', '·']).to_owned())
    });
    let workloads: Vec<(String, String)> = workloads.collect();
    let networks: Vec<String> = plan
        .networks
        .iter()
        .map(|entry| match entry.label == entry.network {
            true => entry.label.clone(),
            false => format!("{}={}", entry.label, entry.network),
        })
        .collect();
    let facts = [
        ("Study", plan.study.clone()),
        ("Seed", document.seed.to_string()),
        ("Baseline", plan.baseline.clone()),
        ("Networks", networks.join(", ")),
        ("Blocks", blocks(document, plan.blocks)),
        ("Budget", plan.budget.map(|budget: Nanos| budget.to_string()).unwrap_or_default()),
        ("Margins", margins(document)),
        ("tare", document.tare.clone()),
        ("SHA-256 of the program", document.environment.binary.clone().unwrap_or_default()),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value));
    parts.push(list(facts.into_iter().chain(workloads)));
    parts
}

fn blocks(document: &Document, asked: BlockPolicy) -> String {
    let goal = |precision: Option<f64>| match precision {
        Some(share) => format!("± {}", crate::number::percent(share)),
        None => "half of each margin".to_owned(),
    };
    let how = match asked {
        BlockPolicy::Fixed { .. } => "fixed before the run".to_owned(),
        BlockPolicy::Precision { precision, .. } => {
            format!("determined by a pilot, for {}", goal(precision))
        }
        BlockPolicy::Sequence { precision, .. } => {
            format!("until every confidence sequence was as narrow as {}", goal(precision))
        }
        BlockPolicy::GroupSequential { precision, .. } => {
            let analyses = document.interim_analyses.len();
            format!(
                "until all was decided, for {}, with {analyses} interim analyses",
                goal(precision)
            )
        }
    };
    format!("{} · {how}", document.blocks)
}

/// Returns the command for the same measurement: with its seed, without the flags of [`OUTPUT_FLAGS`]. Returns `None`
/// if the command is neither `run` nor `probe`.
fn command(given: &[String], seed: u64) -> Option<String> {
    let mut words = vec!["tare".to_owned()];
    let mut rest = given.iter();
    while let Some(word) = rest.next() {
        let flag = word.split('=').next().unwrap_or(word);
        match OUTPUT_FLAGS.iter().find(|(name, _)| *name == flag) {
            Some((_, true)) if flag == word => drop(rest.next()),
            Some(_) => {}
            None => words.push(quoted(word)),
        }
    }
    if !matches!(given.first().map(String::as_str), Some("run" | "probe")) {
        return None;
    }
    if given[0] == "run" && !given.iter().any(|word| word.starts_with("--seed")) {
        words.push(format!("--seed {seed}"));
    }
    Some(words.join(" "))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,:/@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Describes the statistical method in a paragraph.
pub(crate) fn method() -> Vec<MarkupNode> {
    let first = "In every block, each network is set up anew and measured once, in random order. Ratios are made within \
                 blocks, so that drift of the machine cancels; their intervals are Student’s t on the log \
                 ratio. A verdict compares the 90 % interval with 1 and the margin, with Holm’s correction over its \
                 family. Latencies are from HDR histograms over all blocks. Colours: P. Tol, ";
    vec![
        first.into(),
        Element::new("cite").push("Colour Schemes").into(),
        ", SRON/EPS/TN/09-002, issue 3.2 (2021); the diverging scale after ColorBrewer.".into(),
    ]
}

/// Lists the distinct margins of the document, as percentages.
fn margins(document: &Document) -> String {
    let mut told: Vec<String> = Vec::new();
    for ratio in document.cells.iter().filter_map(|cell| cell.ratio.as_ref()) {
        let margin = number::percent(ratio.margin);
        if !told.contains(&margin) {
            told.push(margin);
        }
    }
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_given_again_with_its_seed_and_without_its_output() {
        let given = ["run", "my study.toml", "--out", "/home/me/x", "--json", "-n", "a=bridge"];
        let given = given.map(str::to_owned);
        let expected = "tare run 'my study.toml' -n a=bridge --seed 7";
        assert_eq!(command(&given, 7).unwrap(), expected);
        let seeded = ["run", "--html=x.html", "--seed=9"].map(str::to_owned);
        assert_eq!(command(&seeded, 9).unwrap(), "tare run --seed=9");
        assert_eq!(command(&["resume".to_owned(), "x".to_owned()], 1), None);
        assert_eq!(command(&[], 1), None);
    }
}
