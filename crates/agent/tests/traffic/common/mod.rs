//! Topologies and jobs of the tests, and assertions on their outcomes.

pub(crate) mod account;
pub(crate) mod counters;
pub(crate) mod filter;
pub(crate) mod peer;
pub(crate) mod rates;
pub(crate) mod shaper;

use std::cell::Cell;
use std::path::PathBuf;
use tare_agent::AgentSession;
use tare_dev::{AgentContainer, NamespacePair, TestNamespace, eventually};
use tare_network::Topology;
use tare_record::finding::{ClientStall, SlowSender};
use tare_record::{Finding, Nanos, Parameters, Placement, Shape};
use tare_traffic::{Error, TrialJob, TrialOutcome, WorkloadRegistry};

/// Cancellation check that never cancels.
pub(crate) const NEVER: &dyn Fn() -> bool = &|| false;

/// Port of the servers, each in a namespace of its own.
pub(crate) const PORT: u16 = 7001;

/// Opens a session with one process for each client.
pub(crate) fn open_session(topology: &Topology) -> Result<AgentSession, Error> {
    open_session_with(topology, 1)
}

/// Opens a session with this many processes for each client.
pub(crate) fn open_session_with(
    topology: &Topology,
    processes: u32,
) -> Result<AgentSession, Error> {
    AgentSession::with_processes(topology, processes, &registry())
}

/// Returns the registry of tare's own workloads.
fn registry() -> WorkloadRegistry {
    tare_traffic::workloads().into_iter().collect()
}

/// Returns an example program that `cargo test` built with this test.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples").join(name)
}

/// Returns the agent's program.
pub(crate) fn agent() -> PathBuf {
    example("agent")
}

/// Creates a namespace in which only loopback is up.
pub(crate) fn lone_namespace() -> TestNamespace {
    let namespace = TestNamespace::new();
    namespace.run("ip link set lo up");
    namespace
}

/// Creates a container on the loopback of a namespace, at 127.0.0.1.
pub(crate) fn inside(namespace: &TestNamespace, name: &str) -> AgentContainer {
    AgentContainer::new(name, &agent()).in_namespace(namespace, [127, 0, 0, 1].into())
}

/// Creates a topology of a server and clients on the loopback of a namespace.
pub(crate) fn loopback_of(namespace: &TestNamespace, clients: usize) -> Topology {
    let client = |number| inside(namespace, &format!("client-{number}"));
    let clients = (0..clients).map(client).collect();
    tare_dev::topology(vec![inside(namespace, "server-0")], clients, |_| PORT)
}

/// Creates a topology of a server and clients on the loopback of a new namespace, where no other program takes their
/// port.
pub(crate) fn loopback(clients: usize) -> Topology {
    let namespace = lone_namespace();
    let mut topology = loopback_of(&namespace, clients);
    topology.guard = Box::new(namespace);
    topology
}

/// Creates a topology of the client and the server of a pair.
pub(crate) fn pair_topology(pair: &NamespacePair) -> Topology {
    pair.topology(&agent(), PORT)
}

/// Creates a short trial over all routes of a topology.
pub(crate) fn job(
    workload: &str,
    topology: &Topology,
    asked: &[(&str, serde_json::Value)],
) -> TrialJob {
    let asked: Parameters =
        asked.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let mut ports: Vec<u16> = topology.routes.iter().map(|route| route.listen.port()).collect();
    ports.truncate(1);
    TrialJob {
        workload: workload.to_owned(),
        parameters: registry().find(workload).unwrap().resolve(&asked).unwrap(),
        shape: Shape {
            servers: topology.servers.len() as u32,
            clients: topology.clients.len() as u32,
            cpus: Placement::Spread,
            ..Shape::default()
        },
        ports,
        duration: Nanos(300_000_000),
        interval: Nanos(20_000_000),
        slices: None,
    }
}

/// Returns a cancellation check that runs `action` once, as soon as a condition holds, and never cancels.
pub(crate) fn act_once(condition: impl Fn() -> bool, action: impl Fn()) -> impl Fn() -> bool {
    let done = Cell::new(false);
    move || {
        if !done.get() && condition() {
            done.set(true);
            action();
        }
        false
    }
}

/// Runs trials until one has traffic in the first interval of each series. On a busy machine an end may wait for the
/// CPU as long as a whole trial takes, whose traffic is then in no interval.
pub(crate) fn recorded_trial(session: &mut AgentSession, job: &TrialJob) -> TrialOutcome {
    eventually("a trial has traffic in its first interval", || {
        let outcome = session.run_trial(job, NEVER).unwrap();
        let is_recorded = outcome.series.iter().all(|series| {
            series.intervals.first().is_some_and(|first| first.bytes + first.operations > 0)
        });
        is_recorded.then_some(outcome)
    })
}

/// Returns the longest stall among the findings.
pub(crate) fn longest_stall(outcome: &TrialOutcome) -> Option<Nanos> {
    outcome.findings.iter().find_map(|finding| match finding {
        Finding::ClientStall(ClientStall { longest }) => Some(*longest),
        _ => None,
    })
}

/// Returns the offered rate, if it was less than requested.
pub(crate) fn offered_rate(outcome: &TrialOutcome) -> Option<f64> {
    outcome.findings.iter().find_map(|finding| match finding {
        Finding::SlowSender(SlowSender { offered, .. }) => Some(*offered),
        _ => None,
    })
}

/// Asserts that all findings concern the machine, which is busy when tests run in parallel, and none the traffic.
pub(crate) fn assert_sound(outcome: &TrialOutcome) {
    let of_machine =
        |one: &&Finding| !matches!(one, Finding::ClientStall(_) | Finding::SpinningThreads(_));
    assert_eq!(outcome.findings.iter().find(of_machine), None);
}

/// Returns the time of the monotonic clock, which this test's agents read too.
pub(crate) fn monotonic() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Sends a signal to a process.
pub(crate) fn send_signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Stops a process, and waits until it is stopped.
pub(crate) fn stop_process(pid: u32) {
    send_signal(pid, rustix::process::Signal::STOP);
    tare_dev::eventually("the process is stopped", || {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        threads.into_iter().all(|thread| {
            let stat = std::fs::read_to_string(thread.unwrap().path().join("stat")).unwrap();
            // The state follows the name, which stands in parentheses (proc(5)).
            stat.rsplit(") ").next().unwrap().starts_with('T')
        })
    });
}
