//! `tare list`: what there is, what runs here, and for what does not: why, and the remedy. All of it from the registries.

use crate::catalogue::everything;
use crate::cli::{ListArguments, Listed};
use crate::exit::Exit;
use schemars::JsonSchema;
use serde::Serialize;
use tare_lab::Modules;
use tare_network::{NetworkOption, Offload};
use tare_record::{Metric, Parameters};
use tare_traffic::{Parameter, Workload};

/// What `tare list networks --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Networks {
    networks: Vec<Row>,
}

/// What `tare list workloads --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Workloads {
    workloads: Vec<Row>,
}

/// What `tare list studies --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Studies {
    studies: Vec<Row>,
}

/// One network, workload or study.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Row {
    /// Its name.
    name: String,
    /// One line.
    summary: String,
    /// The real system or tool that it is or stands for.
    stands_for: Option<String>,
    /// Whether it runs here.
    available: bool,
    /// Why not, where it does not.
    reason: Option<String>,
    /// What would make it run.
    remedy: Option<String>,
    /// Where it is documented.
    source: Option<String>,
    /// The fewest and the most nodes that it joins, for a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<[u32; 2]>,
    /// What can be chosen of it: a network's options, a workload's parameters.
    options: Vec<Choice>,
    /// What it measures, for a workload.
    metrics: Vec<Metric>,
    /// The programs of others that a workload starts; such a one is not for `tare probe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    programs: Option<Vec<String>>,
}

/// One thing that can be chosen.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Choice {
    /// Its name: `+plain` of a network, `size` of a workload.
    name: String,
    /// One line.
    summary: String,
    /// What it may be, in words.
    allowed: Option<String>,
    /// What it is unless chosen; nothing where the system decides.
    default: Option<String>,
}

/// What `+without=` takes.
fn offloads() -> String {
    Offload::ALL.map(Offload::name).join(", ")
}

impl Choice {
    fn of_network(option: NetworkOption) -> Self {
        let (name, allowed) = match option {
            NetworkOption::Plain => ("+plain", None),
            NetworkOption::Rate => ("+rate=", Some("a rate such as 970mbit".to_owned())),
            NetworkOption::Without => ("+without=", Some(offloads())),
            NetworkOption::Unconfined => ("+unconfined", None),
            NetworkOption::Untracked => ("+untracked", None),
            NetworkOption::Rps => ("+rps", None),
            NetworkOption::Mtu => ("+mtu=", Some("bytes, 68 to 65535".to_owned())),
        };
        let summary = option.summary().to_owned();
        Self { name: name.to_owned(), summary, allowed, default: None }
    }

    fn of_workload(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.to_owned(),
            summary: parameter.summary.to_owned(),
            allowed: Some(parameter.kind.allowed()),
            default: parameter.default.map(str::to_owned),
        }
    }

    /// As people read it.
    fn line(&self, width: usize) -> String {
        let allowed = self.allowed.as_ref().map(|allowed| format!(": {allowed}"));
        let default = self.default.as_ref().map(|default| format!(" [{default}]"));
        let (allowed, default) = (allowed.unwrap_or_default(), default.unwrap_or_default());
        format!("{:width$}  {}{allowed}{default}", self.name, self.summary)
    }
}

/// Lists networks, workloads or studies.
pub(crate) fn run(arguments: &ListArguments) -> anyhow::Result<Exit> {
    let rows = match arguments.what {
        Listed::Networks => networks(),
        Listed::Workloads => workloads(),
        Listed::Studies => studies()?,
    };
    let text = if arguments.json {
        json(arguments.what, rows)?
    } else if arguments.markdown {
        markdown(&rows)
    } else {
        plain(&rows)
    };
    crate::out::print(&text)?;
    Ok(Exit::Done)
}

fn networks() -> Vec<Row> {
    everything(None, Modules::Never)
        .listing()
        .into_iter()
        .map(|listing| {
            let (reason, remedy) =
                listing.missing.map(|missing| (missing.reason, missing.remedy)).unzip();
            Row {
                name: listing.about.name.to_owned(),
                summary: listing.about.summary.to_owned(),
                stands_for: Some(listing.about.stands_for.to_owned()),
                available: reason.is_none(),
                reason,
                remedy,
                source: Some(listing.about.source.to_owned()),
                nodes: Some([*listing.nodes.start(), *listing.nodes.end()]),
                options: listing.about.options.iter().copied().map(Choice::of_network).collect(),
                metrics: Vec::new(),
                programs: None,
            }
        })
        .collect()
}

fn workloads() -> Vec<Row> {
    tare_traffic::workloads()
        .iter()
        .map(|workload| {
            let about = workload.about();
            let (reason, remedy) = workload
                .lacks(&Parameters::new())
                .map(|missing| (missing.reason, missing.remedy))
                .unzip();
            Row {
                name: about.name.to_owned(),
                summary: about.summary.to_owned(),
                stands_for: Some(about.stands_for.to_owned()),
                available: reason.is_none(),
                reason,
                remedy,
                source: Some(about.source.to_owned()),
                nodes: None,
                options: workload.parameters().iter().map(Choice::of_workload).collect(),
                metrics: workload.metrics().to_vec(),
                programs: programs_of(workload),
            }
        })
        .collect()
}

/// The programs of others that a workload starts, where it starts any.
fn programs_of(workload: &dyn Workload) -> Option<Vec<String>> {
    let names: Vec<_> = workload.programs().into_iter().map(str::to_owned).collect();
    (!names.is_empty()).then_some(names)
}

fn studies() -> anyhow::Result<Vec<Row>> {
    tare_study::BUILTIN
        .iter()
        .filter_map(|built_in| tare_study::builtin(built_in.name))
        .map(|study| {
            let study = study?;
            Ok(Row {
                name: study.name.unwrap_or_default(),
                summary: study.summary.unwrap_or_default(),
                stands_for: None,
                available: true,
                reason: None,
                remedy: None,
                source: study.source,
                nodes: None,
                options: Vec::new(),
                metrics: Vec::new(),
                programs: None,
            })
        })
        .collect()
}

fn json(what: Listed, rows: Vec<Row>) -> anyhow::Result<String> {
    Ok(match what {
        Listed::Networks => serde_json::to_string_pretty(&Networks { networks: rows })?,
        Listed::Workloads => serde_json::to_string_pretty(&Workloads { workloads: rows })?,
        Listed::Studies => serde_json::to_string_pretty(&Studies { studies: rows })?,
    })
}

fn plain(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    let mut shared: Vec<&Choice> = Vec::new();
    for row in rows {
        let mark = if row.available { "yes" } else { "no " };
        let nodes = row.nodes.map(joined).unwrap_or_default();
        text.push_str(&format!("{:width$}  {mark}  {}{nodes}\n", row.name, row.summary));
        let mut below = |line: &str| text.push_str(&format!("{:width$}       {line}\n", ""));
        if let Some(stands_for) = &row.stands_for {
            below(&format!("stands for {stands_for}"));
        }
        if let (Some(reason), Some(remedy)) = (&row.reason, &row.remedy) {
            below(&format!("{reason}: {remedy}"));
        }
        // What follows a `+` means the same for every network: it is explained once, below.
        let (suffixes, own): (Vec<&Choice>, Vec<&Choice>) =
            row.options.iter().partition(|option| option.name.starts_with('+'));
        if !suffixes.is_empty() {
            let names: Vec<&str> = suffixes.iter().map(|option| option.name.as_str()).collect();
            below(&format!("takes {}", names.join(" ")));
        }
        for option in suffixes {
            if !shared.iter().any(|known| known.name == option.name) {
                shared.push(option);
            }
        }
        let names = own.iter().map(|option| option.name.len()).max().unwrap_or_default();
        own.iter().for_each(|option| below(&option.line(names)));
    }
    let names = shared.iter().map(|option| option.name.len()).max().unwrap_or_default();
    if !shared.is_empty() {
        text.push('\n');
    }
    for option in shared {
        text.push_str(&format!("{}\n", option.line(names)));
    }
    text
}

/// How many nodes a network joins, where it is not one alone.
fn joined([least, most]: [u32; 2]) -> String {
    match (least, most) {
        (1, 1) => String::new(),
        (least, most) => format!(" [--nodes {least} to {most}]"),
    }
}

/// For documentation: what there is, not what happens to run on the machine where it was made.
fn markdown(rows: &[Row]) -> String {
    let mut text = "| name | what it is | stands for |\n|---|---|---|\n".to_owned();
    for row in rows {
        let stands_for = row.stands_for.as_deref().unwrap_or_default();
        text.push_str(&format!("| `{}` | {} | {stands_for} |\n", row.name, row.summary));
    }
    text
}
