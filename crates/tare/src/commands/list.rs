//! `tare list`: networks, workloads and studies from the registries, with what is missing to run them here.

use crate::catalogue::build_catalogue;
use crate::cli::{ListArguments, ListSubject};
use crate::exit::CommandExit;
use crate::workloads::workload_registry;
use schemars::JsonSchema;
use serde::Serialize;
use tare_network::{FirewallBackend, NetworkOption, Offload};
use tare_record::{Metric, Parameters};
use tare_sandbox::ModuleLoading;
use tare_study::BuiltinStudy;
use tare_traffic::{Parameter, Workload};

/// Output of `tare list networks --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NetworkList {
    networks: Vec<ListEntry>,
}

/// Output of `tare list workloads --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkloadList {
    workloads: Vec<ListEntry>,
}

/// Output of `tare list studies --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StudyList {
    studies: Vec<ListEntry>,
}

/// Output of `tare ask --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QuestionList {
    questions: Vec<ListEntry>,
}

/// Network, workload, study or question.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListEntry {
    /// Name on the command line.
    name: String,
    /// Summary in one line.
    summary: String,
    /// Real system or tool that it is or stands for.
    stands_for: Option<String>,
    /// True if it can run here.
    available: bool,
    /// Reason why it cannot run here.
    reason: Option<String>,
    /// Action that would make it run.
    remedy: Option<String>,
    /// Reference to its documentation.
    source: Option<String>,
    /// Smallest and largest number of nodes, for a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<[u32; 2]>,
    /// Options of a network, or parameters of a workload.
    options: Vec<OptionEntry>,
    /// Metrics of a workload.
    metrics: Vec<Metric>,
    /// External programs that a workload starts; a workload with external programs is not for `tare probe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    programs: Option<Vec<String>>,
}

/// Option of a network, or parameter of a workload.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OptionEntry {
    /// Name: `+plain` of a network, `size` of a workload.
    name: String,
    /// Summary in one line.
    summary: String,
    /// Allowed values, in words.
    allowed: Option<String>,
    /// Default value; nothing if the system decides.
    default: Option<String>,
}

/// Returns the values of `+without=`.
fn offloads() -> String {
    Offload::ALL.map(Offload::name).join(", ")
}

impl OptionEntry {
    fn from_network_option(option: NetworkOption) -> Self {
        let (name, allowed) = match option {
            NetworkOption::Plain => ("+plain", None),
            NetworkOption::Rate => ("+rate=", Some("a rate such as 970mbit".to_owned())),
            NetworkOption::Without => ("+without=", Some(offloads())),
            NetworkOption::Unconfined => ("+unconfined", None),
            NetworkOption::Untracked => ("+untracked", None),
            NetworkOption::Rps => ("+rps", None),
            NetworkOption::RedirectPeer => ("+redirect-peer", None),
            NetworkOption::Xdp => ("+xdp", None),
            NetworkOption::Sockmap => ("+sockmap", None),
            NetworkOption::Splice => ("+splice", None),
            NetworkOption::Local => ("+local", None),
            NetworkOption::Mesh => ("+mesh", None),
            NetworkOption::Idle => {
                ("+idle=", Some("a number of containers, 1 to 60000".to_owned()))
            }
            NetworkOption::Runtime => (
                "+runtime=",
                Some(
                    "a runtime that the engine knows, or a runtime class of the cluster".to_owned(),
                ),
            ),
            NetworkOption::Ports => ("+ports=", Some("a number of ports, 1 to 1000".to_owned())),
            NetworkOption::Services => {
                ("+services=", Some("a number of services, 1 to 20000".to_owned()))
            }
            NetworkOption::Policies => {
                ("+policies=", Some("a number of policies, 1 to 1000".to_owned()))
            }
            NetworkOption::Firewall => {
                ("+firewall=", Some(FirewallBackend::ALL.map(FirewallBackend::name).join(", ")))
            }
            NetworkOption::Mtu => ("+mtu=", Some("bytes, 68 to 65535".to_owned())),
        };
        let summary = option.summary().to_owned();
        Self { name: name.to_owned(), summary, allowed, default: None }
    }

    fn from_parameter(parameter: &Parameter) -> Self {
        Self {
            name: parameter.name.to_owned(),
            summary: parameter.summary.to_owned(),
            allowed: Some(parameter.kind.describe()),
            default: parameter.default.map(str::to_owned),
        }
    }

    /// Formats the option for display.
    fn line(&self, width: usize) -> String {
        let allowed = self.allowed.as_ref().map(|allowed| format!(": {allowed}"));
        let default = self.default.as_ref().map(|default| format!(" [{default}]"));
        let (allowed, default) = (allowed.unwrap_or_default(), default.unwrap_or_default());
        format!("{:width$}  {}{allowed}{default}", self.name, self.summary)
    }
}

/// Lists networks, workloads or studies.
pub(crate) fn run(arguments: &ListArguments) -> anyhow::Result<CommandExit> {
    let rows = match arguments.what {
        ListSubject::Networks => networks(),
        ListSubject::Workloads => workloads(),
        ListSubject::Studies => studies(tare_study::BUILTIN)?,
        ListSubject::Questions => studies(tare_study::ANSWERS)?,
    };
    let text = if arguments.json {
        json(arguments.what, rows)?
    } else if arguments.markdown {
        markdown(arguments.what, &rows)
    } else if arguments.what == ListSubject::Questions {
        questions(&rows)
    } else {
        plain(&rows)
    };
    crate::output::print(&text)?;
    Ok(CommandExit::Done)
}

fn networks() -> Vec<ListEntry> {
    build_catalogue(None, ModuleLoading::Never)
        .listing()
        .into_iter()
        .map(|listing| {
            let (reason, remedy) =
                listing.missing.map(|missing| (missing.reason, missing.remedy)).unzip();
            ListEntry {
                name: listing.about.name.to_owned(),
                summary: listing.about.summary.to_owned(),
                stands_for: Some(listing.about.stands_for.to_owned()),
                available: reason.is_none(),
                reason,
                remedy,
                source: Some(listing.about.source.to_owned()),
                nodes: Some([*listing.nodes.start(), *listing.nodes.end()]),
                options: listing
                    .about
                    .options
                    .iter()
                    .copied()
                    .map(OptionEntry::from_network_option)
                    .collect(),
                metrics: Vec::new(),
                programs: None,
            }
        })
        .collect()
}

fn workloads() -> Vec<ListEntry> {
    workload_registry()
        .iter()
        .map(|workload| {
            let about = workload.info();
            let (reason, remedy) = workload
                .missing(&Parameters::new())
                .map(|missing| (missing.reason, missing.remedy))
                .unzip();
            ListEntry {
                name: about.name.to_owned(),
                summary: about.summary.to_owned(),
                stands_for: Some(about.stands_for.to_owned()),
                available: reason.is_none(),
                reason,
                remedy,
                source: Some(about.source.to_owned()),
                nodes: None,
                options: workload.parameters().iter().map(OptionEntry::from_parameter).collect(),
                metrics: workload.metrics().to_vec(),
                programs: programs_of(workload),
            }
        })
        .collect()
}

/// Returns the external programs that a workload starts, or `None` if it starts none.
fn programs_of(workload: &dyn Workload) -> Option<Vec<String>> {
    let names: Vec<_> = workload.programs().into_iter().map(str::to_owned).collect();
    (!names.is_empty()).then_some(names)
}

fn studies(built_in: &[BuiltinStudy]) -> anyhow::Result<Vec<ListEntry>> {
    built_in
        .iter()
        .filter_map(|built_in| tare_study::builtin_study(built_in.name))
        .map(|study| {
            let study = study?;
            Ok(ListEntry {
                name: study.name.unwrap_or_default(),
                summary: study
                    .question
                    .map(|question| question.asked)
                    .or(study.summary)
                    .unwrap_or_default(),
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

fn json(what: ListSubject, rows: Vec<ListEntry>) -> anyhow::Result<String> {
    Ok(match what {
        ListSubject::Networks => serde_json::to_string_pretty(&NetworkList { networks: rows })?,
        ListSubject::Workloads => serde_json::to_string_pretty(&WorkloadList { workloads: rows })?,
        ListSubject::Studies => serde_json::to_string_pretty(&StudyList { studies: rows })?,
        ListSubject::Questions => serde_json::to_string_pretty(&QuestionList { questions: rows })?,
    })
}

fn plain(rows: &[ListEntry]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    let mut shared: Vec<&OptionEntry> = Vec::new();
    let mut reasons: Vec<(String, &str)> = Vec::new();
    for row in rows {
        let mark = if row.available { "yes" } else { "no " };
        let nodes = row.nodes.map(format_nodes).unwrap_or_default();
        text.push_str(&format!("{:width$}  {mark}  {}{nodes}\n", row.name, row.summary));
        let mut below = |line: &str| text.push_str(&format!("{:width$}       {line}\n", ""));
        if let Some(stands_for) = &row.stands_for {
            below(&format!("stands for {stands_for}"));
        }
        if let (Some(reason), Some(remedy)) = (&row.reason, &row.remedy) {
            // A reason of several entries stands in full with the first of them.
            let words = format!("{reason}: {remedy}");
            match reasons.iter().find(|(known, _)| *known == words) {
                Some((_, first)) => below(&format!("{reason}, like {first}")),
                None => {
                    below(&words);
                    reasons.push((words, &row.name));
                }
            }
        }
        // An option with a `+` has the same meaning for every network: it is explained once, below.
        let (suffixes, own): (Vec<&OptionEntry>, Vec<&OptionEntry>) =
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

/// Formats questions with their names, and what to type next.
fn questions(rows: &[ListEntry]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let mut text = String::from(
        "The answer of this machine, within a minute, or five for servers: tare ask NAME\n\n",
    );
    for row in rows {
        text.push_str(&format!("{:width$}  {}\n", row.name, row.summary));
    }
    text
}

/// Formats the numbers of nodes that a network joins; empty for a network of one node.
fn format_nodes([least, most]: [u32; 2]) -> String {
    match (least, most) {
        (1, 1) => String::new(),
        (least, most) => format!(" [--nodes {least} to {most}]"),
    }
}

/// Formats a table for documentation, which is independent of what runs on the machine.
fn markdown(what: ListSubject, rows: &[ListEntry]) -> String {
    if what == ListSubject::Questions {
        let line = |row: &ListEntry| format!("| `{}` | {} |\n", row.name, row.summary);
        let lines: String = rows.iter().map(line).collect();
        return format!("| name | question |\n|---|---|\n{lines}");
    }
    let mut text = "| name | what it is | stands for |\n|---|---|---|\n".to_owned();
    for row in rows {
        let stands_for = row.stands_for.as_deref().unwrap_or_default();
        text.push_str(&format!("| `{}` | {} | {stands_for} |\n", row.name, row.summary));
    }
    text
}
