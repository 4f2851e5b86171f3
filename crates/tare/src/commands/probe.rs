//! `tare probe`: the traffic alone, between this machine and one on which `tare listen` runs.

use crate::catalogue::{self, Everything, everything};
use crate::cli::ProbeArguments;
use crate::commands::measure;
use crate::exit::{Exit, usage};
use crate::progress::Bar;
use crate::{out, signals};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::ops::RangeInclusive;
use std::sync::Arc;
use tare_network::{FindError, Missing, Spelled};
use tare_observe::environment;
use tare_observe::presence::Presence;
use tare_record::journal::{FORMAT, Journal, Record, Run, Sink};
use tare_record::{Document, Family, Finding, Metric, Parameters, Placement, Plan, StoppedBy};
use tare_report::Style;
use tare_runner::probe::{Remote, job};
use tare_runner::{Start, run as walk};
use tare_study::{Catalogue, Method, ShapeLists, Study, WorkloadStudy};
use tare_traffic::probe::{Probe, Token};

/// What stands where a run has a network's name.
const NETWORK: &str = "probe";

/// What is measured when no workload is named.
const WORKLOADS: [&str; 2] = ["tcp-stream", "tcp-rr"];

/// Measures the way to a listener.
pub(crate) fn run(arguments: &ProbeArguments) -> anyhow::Result<Exit> {
    let stop = signals::stop_flag()?;
    // What was asked is checked before anybody is dialled.
    let mut plan = plan(arguments)?;
    let probe = reach(arguments, arguments.remote.token()?.as_ref())?;
    suit(&mut plan, arguments, &probe);
    for workload in &plan.workloads {
        for shape in &plan.shapes {
            probe.check(&job(workload, shape))?;
        }
    }
    let (presence, findings) = look_around();
    let environment = environment::read();
    let head = Run { format: FORMAT, plan: plan.clone(), environment, findings };
    let mut stage = Remote::new(probe, Arc::clone(&stop), presence);
    match &arguments.out {
        Some(directory) => {
            let mut writer = measure::begin(directory, head)?;
            let stopped_by = conduct(&plan, &mut stage, &mut writer)?;
            let document = measure::results(directory, arguments.json)?;
            Ok(exit(&document, stopped_by))
        }
        None => {
            let mut records: Vec<Record> = Vec::new();
            let stopped_by = conduct(&plan, &mut stage, &mut records)?;
            let document = tare_analysis::document(&Journal { run: head, records }, None)?;
            show(&document, arguments.json)?;
            Ok(exit(&document, stopped_by))
        }
    }
}

/// Whom else one may disturb.
fn look_around() -> (Presence, Vec<Finding>) {
    let (presence, others) = Presence::announce();
    let finding = (others > 0).then_some(Finding::OtherRun { others });
    if let Some(finding) = &finding {
        out::say(&format!("tare: warning: {finding}"));
    }
    (presence, finding.into_iter().collect())
}

fn conduct(plan: &Plan, stage: &mut Remote, sink: &mut dyn Sink) -> anyhow::Result<StoppedBy> {
    let mut bar = Bar::new(plan);
    let stopped_by = walk(plan, Start::default(), stage, sink, &mut bar);
    bar.finish();
    Ok(stopped_by?)
}

/// Prints the results. A table of nothing would only hide the line that says why.
fn show(document: &Document, json: bool) -> anyhow::Result<()> {
    if json {
        return out::print(&tare_report::json(document)?);
    }
    if document.cells.is_empty() {
        return Ok(());
    }
    out::print(&tare_report::table(document, &Style::detect()))
}

fn exit(document: &Document, stopped_by: StoppedBy) -> Exit {
    match stopped_by {
        StoppedBy::Interrupted => Exit::Interrupted,
        _ if document.failed.is_empty() => Exit::Done,
        _ => Exit::Failed,
    }
}

/// The plan: one network that is called after the host, and what the flags say.
fn plan(arguments: &ProbeArguments) -> anyhow::Result<Plan> {
    let everything = everything(None, catalogue::modules(false));
    let named = |name: &str| WorkloadStudy {
        name: name.to_owned(),
        duration: arguments.duration,
        ..WorkloadStudy::default()
    };
    let mut workloads: Vec<WorkloadStudy> = match arguments.workloads.as_slice() {
        [] => WORKLOADS.into_iter().map(named).collect(),
        names => names.iter().map(|name| named(name)).collect(),
    };
    let has = |workload: &str, name: &str| everything.has_parameter(workload, name);
    arguments.traffic.apply(&mut workloads, has)?;
    let study = Study {
        name: Some(NETWORK.to_owned()),
        networks: Some(vec![format!("{}={NETWORK}", arguments.host)]),
        workloads: Some(workloads),
        metrics: (!arguments.metrics.is_empty()).then(|| arguments.metrics.clone()),
        shape: ShapeLists {
            flows: (!arguments.flows.is_empty()).then(|| arguments.flows.clone()),
            ..ShapeLists::default()
        },
        method: Method {
            blocks: Some(arguments.blocks),
            interval: arguments.interval,
            warm_up: arguments.warmup,
            ..Method::default()
        },
        ..Study::default()
    };
    study.plan(&Outside(everything), tare_study::order::fresh_seed()).map_err(usage)
}

/// What there is to choose from when nothing is raised: the workloads, and one network, which is not tare's.
struct Outside(Everything);

impl Catalogue for Outside {
    fn networks(&self) -> Vec<String> {
        vec![NETWORK.to_owned()]
    }

    fn lacks(&self, _: &Spelled) -> Result<Option<Missing>, FindError> {
        Ok(None)
    }

    fn nodes(&self, _: &Spelled) -> Result<RangeInclusive<u32>, FindError> {
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

/// What is known of the shapes only now: family and MTU of the way, and the cores. On one machine the two ends must
/// not share cores by chance; on two machines each has all of its own.
fn suit(plan: &mut Plan, arguments: &ProbeArguments, probe: &Probe) {
    let usual = if probe.is_here() { Placement::Spread } else { Placement::Free };
    for shape in &mut plan.shapes {
        shape.family = if probe.listener().is_ipv4() { Family::Ipv4 } else { Family::Ipv6 };
        shape.mtu = probe.mtu().unwrap_or(shape.mtu);
        shape.cpus = arguments.cpus.clone().unwrap_or(usual.clone());
    }
}

/// Connects to the first address of the host that has a listener.
fn reach(arguments: &ProbeArguments, token: Option<&Token>) -> anyhow::Result<Probe> {
    let mut first = None;
    for address in addresses(arguments)? {
        match Probe::connect(address, token) {
            Ok(probe) => return Ok(probe),
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(match first {
        Some(error) => error.into(),
        None => {
            let family = arguments.family.map(|family| format!(" in {family}")).unwrap_or_default();
            anyhow::anyhow!("{}: it has no address{family}", arguments.host)
        }
    })
}

/// The host's addresses of the family asked for.
fn addresses(arguments: &ProbeArguments) -> anyhow::Result<Vec<SocketAddr>> {
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
            .map_err(|error| anyhow::anyhow!("{host}: {error}: name a host, or its address"))?
            .collect(),
    };
    Ok(found.into_iter().filter(fits).collect())
}
