//! `dns-rr`: lookups of a domain name over UDP, one outstanding per flow.
//!
//! Each lookup has a port of its own, as every program's lookup has: a network with connection tracking sees a new flow
//! each time. The resolver is tare's own in the server, or an existing one, such as that of an engine or of a cluster. A
//! lookup without an answer for a fifth of a second counts as lost, and so does one that the resolver answers with an
//! error. The name is absolute: no search list is applied, so that each transaction is one query.

mod answer_transport;
mod message;
mod query_transport;
mod resolver;

use super::rr::{self, MessageSizes, Responder, RrClient, RrServer};
use super::serving_state::ServingState;
use super::tcp_rr::no_delay_options;
use crate::domain_name::{DomainName, DomainNameError};
use crate::slices::progress::SliceProgress;
use crate::tcp::{AcceptedFlows, GrantedOptions, TcpServerThread, connect};
use crate::udp::{SleepingSockets, bind_each};
use crate::wait_mode::{WAIT, WaitMode};
use crate::workers;
use crate::{
    Client, Error, ExistingServer, Parameter, ParameterKind, Server, SideReport, TrialTask,
    Workload, WorkloadInfo, WorkloadRequest, parameters,
};
use answer_transport::{AnnouncedClients, AnswerTransport};
use message::{LONGEST_MESSAGE, RecordType, build_query};
use query_transport::QueryTransport;
use resolver::{RESOLVER, existing_resolver};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use tare_record::{EndCounts, Metric, Parameters, SliceKind};

/// Workload `dns-rr`.
#[derive(Debug)]
pub(crate) struct DnsRr;

/// Sizes of what tells two lookups apart: the identifiers of a query and of its answer (RFC 1035, section 4.1.1).
const IDENTIFIERS: MessageSizes = MessageSizes { request: 2, response: 2 };

const METRICS: [Metric; 14] = [
    Metric::Transactions,
    Metric::LatencyP50,
    Metric::LatencyP90,
    Metric::LatencyP95,
    Metric::LatencyP99,
    Metric::LatencyP999,
    Metric::LatencyP9999,
    Metric::LatencyMax,
    Metric::CpuPerOp,
    Metric::CyclesPerOp,
    Metric::InstructionsPerOp,
    Metric::CpuBusy,
    Metric::SoftirqCore,
    Metric::Loss,
];

/// Name that tare's own resolver is asked for: of a top-level domain that no resolver forwards (RFC 6761).
const OWN_NAME: &str = "tare.test";

const QUERY_NAME: &str = "query_name";
const QUERY_TYPE: &str = "query_type";

/// Name of the recorded address of an existing resolver.
const RESOLVER_ADDRESS: &str = "resolver_address";

const PARAMETERS: &[Parameter] = &[
    RESOLVER,
    Parameter {
        name: QUERY_NAME,
        summary: "name that is looked up, without a search list; unless given, tare.test of tare's own resolver, and each client's host name of an existing one, which engines' resolvers know",
        kind: ParameterKind::DomainName,
        default: None,
    },
    Parameter {
        name: QUERY_TYPE,
        summary: "type of the record: a, an IPv4 address, or aaaa, an IPv6 address",
        kind: ParameterKind::Choice(&["a", "aaaa"]),
        default: Some("a"),
    },
    rr::OPEN_LOOP_RATE,
    rr::TRANSACTION_COUNT,
    WAIT,
    workers::THREADS,
];

impl Workload for DnsRr {
    fn info(&self) -> WorkloadInfo {
        WorkloadInfo {
            name: "dns-rr",
            summary: "lookups of a name over UDP, each from a new port; their rate, latency and loss",
            stands_for: "dnsperf with one query outstanding, a program's lookups by a stub resolver",
            source: "https://www.rfc-editor.org/rfc/rfc1035",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &METRICS
    }

    fn port_count(&self) -> usize {
        1
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        rr::validate(asked)
    }

    fn offered_load(&self, task: &TrialTask) -> Option<f64> {
        let rate = parameters::number(&task.parameters, rr::OPEN_LOOP_RATE.name);
        rate.map(|rate| rate * LONGEST_MESSAGE as f64 * 8.0)
    }

    fn slice_kind(&self) -> Option<SliceKind> {
        Some(SliceKind::Messages)
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        if task.parameters.contains_key(RESOLVER.name) {
            return Ok(Box::new(ExistingServer));
        }
        let sockets: Vec<Arc<UdpSocket>> =
            bind_each(&task.addresses, UdpSocket::bind)?.into_iter().map(Arc::new).collect();
        let asleep = SleepingSockets::default();
        asleep.add(sockets.iter().cloned());
        let progress = SliceProgress::for_task(task);
        let shared = ServingState::new(task, progress.clone());
        let serving =
            TcpServerThread::start_with(task, &no_delay_options(), task.flows, move |gathered| {
                let AcceptedFlows { flows, task, cores, patience, .. } = gathered;
                let controls = flows.into_iter().map(|flow| flow.stream).collect();
                let clients = AnnouncedClients::new(controls)
                    .map_err(|error| Error::io("read the address of a client", error))?;
                let clients = Arc::new(clients);
                let ends: Vec<(AnswerTransport, u32)> = sockets
                    .into_iter()
                    .map(|socket| (AnswerTransport::new(socket, Arc::clone(&clients)), 0))
                    .collect();
                let lanes = workers::distribute(ends, &cores, &task.parameters)
                    .into_iter()
                    .map(|hand| Responder::new(hand, IDENTIFIERS, &task, &shared))
                    .collect();
                workers::run_flow_groups(lanes, &cores, &task, &patience)
            })?;
        Ok(Box::new(RrServer { serving, granted: GrantedOptions::default(), asleep, progress }))
    }

    fn connect(&self, task: &TrialTask) -> Result<Box<dyn Client>, Error> {
        let existing = existing_resolver(&task.parameters)?;
        let name = query_name(&task.parameters, existing)?;
        let query = build_query(&name, record_type(&task.parameters));
        let mut ends = match existing {
            Some(address) => (0..task.flows)
                .map(|_| QueryTransport::open(address, None, query.clone()))
                .collect::<Result<Vec<_>, _>>()?,
            None => announce(task, &query)?,
        };
        let wait = WaitMode::from_parameters(&task.parameters);
        for end in &mut ends {
            end.check()?;
            end.prepare(wait)?;
        }
        let mut recorded = task.clone();
        recorded.parameters.insert(QUERY_NAME.to_owned(), name.to_string().into());
        if let Some(address) = existing {
            recorded.parameters.insert(RESOLVER_ADDRESS.to_owned(), address.to_string().into());
        }
        let inner = RrClient::new(ends, IDENTIFIERS, GrantedOptions::default(), &recorded);
        Ok(match existing {
            Some(_) => Box::new(ClientOfExisting(inner)),
            None => Box::new(inner),
        })
    }
}

/// Returns the name that a task looks up.
fn query_name(parameters: &Parameters, existing: Option<SocketAddr>) -> Result<DomainName, Error> {
    let host = rustix::system::uname();
    let name = match (parameters::word(parameters, QUERY_NAME), existing) {
        (Some(name), _) => name.into(),
        (None, None) => OWN_NAME.into(),
        (None, Some(_)) => host.nodename().to_string_lossy(),
    };
    name.parse().map_err(|DomainNameError| {
        Error::Job(format!("the host name `{name}` is no domain name: give --query-name"))
    })
}

/// Returns the type of the record that a task looks up.
fn record_type(parameters: &Parameters) -> RecordType {
    match parameters::word(parameters, QUERY_TYPE) {
        Some("aaaa") => RecordType::Aaaa,
        _ => RecordType::A,
    }
}

/// Connects a client's flows to tare's own resolver, which answers those that have.
fn announce(task: &TrialTask, query: &[u8]) -> Result<Vec<QueryTransport>, Error> {
    let (controls, _) = connect(task, &no_delay_options())?;
    controls
        .into_iter()
        .map(|control| {
            let peer = control
                .peer_addr()
                .map_err(|error| Error::io("read the address of the resolver", error))?;
            QueryTransport::open(peer, Some(control), query.to_vec())
        })
        .collect()
}

/// Client of an existing resolver, which counts nothing: there are no counts of two ends to compare.
struct ClientOfExisting(RrClient<QueryTransport>);

impl Client for ClientOfExisting {
    fn run(self: Box<Self>) -> Result<SideReport, Error> {
        Ok(Box::new(self.0).run()?.with_ends(EndCounts::default()))
    }

    fn run_slice(&mut self) -> Result<u64, Error> {
        self.0.run_slice()
    }

    fn finish(self: Box<Self>) -> Result<SideReport, Error> {
        Ok(Box::new(self.0).finish()?.with_ends(EndCounts::default()))
    }
}
