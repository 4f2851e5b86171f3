//! `tare probe`: measures traffic between this machine and one that runs `tare listen`, without setting up a network.

use crate::catalogue::{self, BuildCatalogue, build_catalogue};
use crate::cli::ProbeArguments;
use crate::commands::measure;
use crate::congestion::{self, KernelControls};
use crate::exit::{CommandExit, usage_error};
use crate::output;
use crate::progress::{DisplayOptions, ProgressDisplay};
use crate::signals::StopRequest;
use crate::workloads::workload_registry;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::ops::RangeInclusive;
use tare_network::{AgentNamespaces, FindError, NetworkSpec, UnmetRequirement};
use tare_observe::environment;
use tare_observe::presence::RunPresence;
use tare_probe::{ProbeClient, Token};
use tare_record::finding::OtherRuns;
use tare_record::journal::{FORMAT, Journal, Record, RecordSink, RunHeader};
use tare_record::{
    Document, Family, Finding, Metric, Parameters, Placement, Plan, StoppedBy, WorkloadPlan,
};
use tare_report::{NoteExtent, Style};
use tare_runner::probe_environment::{ProbeEnvironment, probe_job};
use tare_runner::{StartPoint, run_plan};
use tare_study::{Catalogue, ShapeLists, Study, StudyMethod, WorkloadSpec};

/// Network name in the plan of a probe.
const PROBE_NETWORK: &str = "probe";

/// Workloads that are measured if none is named.
const DEFAULT_WORKLOADS: [&str; 2] = ["tcp-stream", "tcp-rr"];

/// Measures the path to a listener.
pub(crate) fn run(arguments: &ProbeArguments) -> anyhow::Result<CommandExit> {
    let stop = StopRequest::new()?;
    // The request is validated before any connection is made.
    let mut plan = plan(arguments)?;
    let probe = connect_to_host(arguments, arguments.remote.token()?.as_ref())?;
    fit_shapes(&mut plan, arguments, &probe);
    for workload in &plan.workloads {
        for shape in &plan.shapes {
            probe.check(&probe_job(workload, shape))?;
        }
    }
    let (presence, findings) = announce_presence();
    let environment = environment::read();
    let emulated = environment.emulated;
    let head = RunHeader { format: FORMAT, plan: plan.clone(), environment, findings };
    let mut stage = ProbeEnvironment::new(probe, stop.flag(), presence);
    let display = DisplayOptions { json: arguments.json, emulated, stop };
    match &arguments.out {
        Some(directory) => {
            let mut writer = measure::begin_journal(directory, head)?;
            let stopped_by = run_blocks(&plan, &mut stage, &mut writer, display)?;
            let document = measure::report_results(directory, arguments.json)?;
            Ok(exit(&document, stopped_by))
        }
        None => {
            let mut records: Vec<Record> = Vec::new();
            let stopped_by = run_blocks(&plan, &mut stage, &mut records, display)?;
            let document = tare_analysis::document(&Journal { run: head, records }, None)?;
            show(&document, arguments.json)?;
            Ok(exit(&document, stopped_by))
        }
    }
}

/// Announces this run, and reports other runs on this machine.
fn announce_presence() -> (RunPresence, Vec<Finding>) {
    let (presence, others) = RunPresence::announce();
    let finding = (others > 0).then_some(Finding::OtherRuns(OtherRuns { others }));
    if let Some(finding) = &finding {
        output::print_status(&format!("tare: warning: {finding}"));
    }
    (presence, finding.into_iter().collect())
}

fn run_blocks(
    plan: &Plan,
    stage: &mut ProbeEnvironment,
    sink: &mut dyn RecordSink,
    display: DisplayOptions,
) -> anyhow::Result<StoppedBy> {
    let mut display = ProgressDisplay::start(plan, display);
    Ok(run_plan(plan, StartPoint::default(), stage, sink, &mut display)?)
}

/// Prints the results. An empty table is not printed, as it would only hide the line with the reason.
fn show(document: &Document, json: bool) -> anyhow::Result<()> {
    if json {
        return output::print(&tare_report::json(document)?);
    }
    if document.cells.is_empty() {
        return Ok(());
    }
    output::print(&tare_report::table(document, &Style::detect(), NoteExtent::All))
}

fn exit(document: &Document, stopped_by: StoppedBy) -> CommandExit {
    match stopped_by {
        StoppedBy::Interrupted => CommandExit::Interrupted,
        _ if document.failed.is_empty() => CommandExit::Done,
        _ => CommandExit::Failed,
    }
}

/// Builds the plan: one network that is named after the host, and the settings of the flags.
fn plan(arguments: &ProbeArguments) -> anyhow::Result<Plan> {
    let everything = build_catalogue(None, catalogue::module_policy(false));
    let named = |name: &str| WorkloadSpec {
        name: name.to_owned(),
        duration: arguments.duration,
        ..WorkloadSpec::default()
    };
    let mut workloads: Vec<WorkloadSpec> = match arguments.workloads.as_slice() {
        [] => DEFAULT_WORKLOADS.into_iter().map(named).collect(),
        names => names.iter().map(|name| named(name)).collect(),
    };
    let has = |workload: &str, name: &str| everything.has_parameter(workload, name);
    arguments.traffic.apply(&mut workloads, has, |_| false)?;
    let study = Study {
        name: Some(PROBE_NETWORK.to_owned()),
        networks: Some(vec![format!("{}={PROBE_NETWORK}", arguments.host)]),
        workloads: Some(workloads),
        metrics: (!arguments.metrics.is_empty()).then(|| arguments.metrics.clone()),
        shape: ShapeLists {
            flows: (!arguments.flows.is_empty()).then(|| arguments.flows.clone()),
            ..ShapeLists::default()
        },
        method: StudyMethod {
            blocks: Some(arguments.blocks),
            interval: arguments.interval,
            warm_up: arguments.warmup,
            ..StudyMethod::default()
        },
        ..Study::default()
    };
    let catalogue = ProbeCatalogue(everything);
    let mut plan =
        study.plan(&catalogue, tare_study::block_order::fresh_seed()).map_err(usage_error)?;
    // The listener's kernel is not known; if it refuses, a finding says so.
    let controls = KernelControls::read();
    let chosen = controls.choose([AgentNamespaces::Caller]);
    // Two machines may have two of their own: then each end keeps its own.
    let asks_for_own = |workload: &WorkloadPlan| {
        workload.parameters.get("congestion").and_then(|name| name.as_str()) == Some("system")
    };
    let own = Some(controls.own.as_str())
        .filter(|own| !own.is_empty() && !plan.workloads.iter().any(asks_for_own));
    congestion::complete(&mut plan, own, chosen, |workload| {
        catalogue.0.has_parameter(workload, "congestion")
    });
    Ok(plan)
}

/// Catalogue of a probe, which sets up nothing: the workloads, and one network that is not tare's.
struct ProbeCatalogue(BuildCatalogue);

impl Catalogue for ProbeCatalogue {
    fn networks(&self) -> Vec<String> {
        vec![PROBE_NETWORK.to_owned()]
    }

    fn missing_for_network(&self, _: &NetworkSpec) -> Result<Option<UnmetRequirement>, FindError> {
        Ok(None)
    }

    fn nodes(&self, _: &NetworkSpec) -> Result<RangeInclusive<u32>, FindError> {
        Ok(1..=1)
    }

    fn workloads(&self) -> Vec<String> {
        Catalogue::workloads(&self.0)
    }

    fn metrics(&self, workload: &str) -> Option<Vec<Metric>> {
        self.0.metrics(workload)
    }

    fn resolve(&self, workload: &str, asked: &Parameters) -> Result<Parameters, String> {
        self.0.resolve(workload, asked)
    }
}

/// Sets the parts of the shapes that are known only after connecting: family and MTU of the path, and the cores. On one
/// machine the two ends must not share cores by chance; on two machines each has all of its own.
fn fit_shapes(plan: &mut Plan, arguments: &ProbeArguments, probe: &ProbeClient) {
    let usual = if probe.is_same_host() { Placement::Spread } else { Placement::Free };
    for shape in &mut plan.shapes {
        shape.family = if probe.listener().is_ipv4() { Family::Ipv4 } else { Family::Ipv6 };
        shape.mtu = probe.mtu().unwrap_or(shape.mtu);
        shape.cpus = arguments.cpus.clone().unwrap_or(usual.clone());
    }
}

/// Connects to the first address of the host that has a listener.
fn connect_to_host(
    arguments: &ProbeArguments,
    token: Option<&Token>,
) -> anyhow::Result<ProbeClient> {
    let workloads = workload_registry();
    let mut first = None;
    for address in resolve_addresses(arguments)? {
        match ProbeClient::connect(address, token, &workloads) {
            Ok(probe) => return Ok(probe),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(match first {
        Some(error) => error.into(),
        None => {
            let host = &arguments.host;
            match arguments.family {
                Some(family) => anyhow::anyhow!(
                    "cannot connect to {host}: the host has no {family} address: leave out --family"
                ),
                None => anyhow::anyhow!(
                    "cannot connect to {host}: the host has no address: name another host"
                ),
            }
        }
    })
}

/// Returns the host's addresses of the requested family.
fn resolve_addresses(arguments: &ProbeArguments) -> anyhow::Result<Vec<SocketAddr>> {
    let host = arguments.host.as_str();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let fits = |address: &SocketAddr| match arguments.family {
        None => true,
        Some(Family::Ipv4) => address.is_ipv4(),
        Some(Family::Ipv6) => address.is_ipv6(),
    };
    let found = match bare.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, arguments.remote.port)],
        Err(_) => (bare, arguments.remote.port)
            .to_socket_addrs()
            .map_err(|error| {
                anyhow::anyhow!("cannot resolve {host}: {error}: name a host or an address")
            })?
            .collect(),
    };
    Ok(found.into_iter().filter(fits).collect())
}
