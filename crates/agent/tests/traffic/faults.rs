//! Failures, each reported in one line, with no process left behind.

use crate::common::counters::{Frames, counter};
use crate::common::peer::PeerProgram;
use crate::common::{
    NEVER, PORT, act_once, agent, inside, job, lone_namespace, loopback, loopback_of, open_session,
    send_signal,
};
use std::cell::Cell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tare_agent::AgentSession;
use tare_dev::{AgentContainer, TestNamespace, topology};
use tare_network::Topology;
use tare_record::Nanos;
use tare_traffic::{Error, TrialJob};

/// Session of one server and one client on the loopback of a namespace.
struct LoopbackSession {
    namespace: TestNamespace,
    topology: Topology,
    session: AgentSession,
    /// Process IDs of the server's agent and of the client's.
    agents: [u32; 2],
}

impl LoopbackSession {
    fn new() -> Self {
        let namespace = lone_namespace();
        let containers = ["server-0", "client-0"].map(|name| inside(&namespace, name));
        let started = containers.each_ref().map(|one| Arc::clone(&one.started));
        let [server, client] = containers;
        let topology = topology(vec![server], vec![client], |_| PORT);
        let session = open_session(&topology).unwrap();
        let agents = started.map(|started| started.lock().unwrap()[0]);
        Self { namespace, topology, session, agents }
    }

    /// Creates a trial of one hour, which no test waits for.
    fn endless(&self, workload: &str) -> TrialJob {
        let (duration, interval) = (Nanos(3_600_000_000_000), Nanos(1_000_000_000));
        TrialJob { duration, interval, ..job(workload, &self.topology, &[]) }
    }

    /// Runs a trial that `poll` may cancel; it is called once the trial's traffic flows. Returns the error.
    fn trial(&mut self, workload: &str, poll: impl Fn() -> bool) -> Error {
        let job = self.endless(workload);
        let Self { namespace, session, agents: [_, client], .. } = self;
        let flowing = Cell::new(false);
        let poll = || {
            flowing.set(flowing.get() || flows(namespace, *client, workload));
            flowing.get() && poll()
        };
        session.run_trial(&job, &poll).unwrap_err()
    }
}

/// Returns true if the client is in the middle of its trial: its threads run, and more has been carried than set-up
/// takes.
fn flows(namespace: &TestNamespace, client: u32, workload: &str) -> bool {
    let runs = std::fs::read_dir(format!("/proc/{client}/task")).is_ok_and(|threads| {
        let names = threads.flatten().map(|thread| thread.path().join("comm"));
        names.flat_map(std::fs::read_to_string).any(|name| name.trim_end() == workload)
    });
    runs && (workload == "idle" || Frames::received_by(namespace, "lo").packets > 200)
}

fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn kill(pid: u32) {
    send_signal(pid, rustix::process::Signal::KILL);
}

#[test]
fn an_agent_that_is_killed_is_named() {
    for workload in ["tcp-stream", "tcp-rr", "udp-rr", "dns-rr", "tcp-crr", "idle"] {
        for (role, victim) in [("server", 0), ("client", 1)] {
            let mut site = LoopbackSession::new();
            let pid = site.agents[victim];
            let error = site.trial(workload, act_once(|| true, || kill(pid))).to_string();
            assert_eq!(error, format!("{role}-0: the agent ended early (signal 9)"), "{workload}");
            let job = job(workload, &site.topology, &[]);
            let again = site.session.run_trial(&job, NEVER).unwrap_err();
            assert!(matches!(again, Error::Job(_)), "{again}");
        }
    }
}

#[test]
fn cancelling_ends_the_trial_and_the_agents() {
    let mut site = LoopbackSession::new();
    let error = site.trial("tcp-stream", || true);
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert!(!site.agents.into_iter().any(is_there), "the agents are gone");
}

#[test]
fn agents_that_end_by_the_signal_that_cancels_are_no_failure() {
    let mut site = LoopbackSession::new();
    let [victim, _] = site.agents;
    let polls = Cell::new(0);
    // The agent ends first; by the next check, the caller has received the signal too.
    let error = site.trial("tcp-rr", || {
        if polls.replace(polls.get() + 1) == 0 {
            kill(victim);
        }
        polls.get() > 1
    });
    assert!(matches!(error, Error::Cancelled), "{error}");
}

#[test]
fn dropping_a_session_ends_its_agents() {
    let LoopbackSession { session, agents, .. } = LoopbackSession::new();
    assert!(agents.into_iter().all(is_there));
    drop(session);
    assert!(!agents.into_iter().any(is_there));
}

#[test]
fn a_program_that_is_no_agent_is_told_from_one() {
    let server = || vec![AgentContainer::new("server-0", &agent())];
    for (program, said) in [("/bin/true", "ended early"), ("/bin/echo", "sent an invalid reply")] {
        let client = AgentContainer::new("client-0", Path::new(program));
        let topology = topology(server(), vec![client], |_| PORT);
        let error = open_session(&topology).unwrap_err().to_string();
        assert!(error.starts_with("client-0: the agent ") && error.contains(said), "{error}");
    }
    let nowhere = AgentContainer::new("client-0", Path::new("/nonexistent"));
    let topology = topology(server(), vec![nowhere], |_| PORT);
    assert!(matches!(open_session(&topology), Err(Error::Container(_))));
}

#[test]
fn a_job_that_makes_no_sense_is_refused_and_the_session_lives_on() {
    let topology = loopback(1);
    let mut session = open_session(&topology).unwrap();
    let good = job("tcp-rr", &topology, &[]);
    let mut absurd = vec![
        TrialJob { interval: Nanos(0), ..good.clone() },
        TrialJob { interval: Nanos(good.duration.0 + 1), ..good.clone() },
        TrialJob { ports: vec![1], ..good.clone() },
        good.clone(),
        good.clone(),
    ];
    absurd[3].shape.flows = 0;
    absurd[4].shape.processes = 7;
    for bad in absurd {
        let error = session.run_trial(&bad, NEVER).unwrap_err();
        assert!(matches!(error, Error::Job(_)), "{error}");
    }
    session.run_trial(&good, NEVER).unwrap();
}

#[test]
fn a_parameter_that_an_agent_does_not_know_is_its_answer() {
    let topology = loopback(1);
    let mut session = open_session(&topology).unwrap();
    let mut job = job("tcp-rr", &topology, &[]);
    job.parameters.insert("colour".to_owned(), "blue".into());
    let error = session.run_trial(&job, NEVER).unwrap_err().to_string();
    assert!(error.starts_with("server-0: tcp-rr has no parameter `colour`"), "{error}");
}

#[test]
fn a_port_in_use_is_said_by_the_server() {
    let namespace = lone_namespace();
    let topology = loopback_of(&namespace, 1);
    let listen = topology.routes[0].listen;
    let _squatter = PeerProgram::start(&namespace, &["listen", &listen.to_string()]);
    let mut session = open_session(&topology).unwrap();
    let error = session.run_trial(&job("tcp-rr", &topology, &[]), NEVER).unwrap_err().to_string();
    assert!(error.starts_with(&format!("server-0: cannot listen on {listen}: ")), "{error}");
}

#[test]
fn a_strangers_connection_disturbs_nobody() {
    let namespace = lone_namespace();
    let topology = loopback_of(&namespace, 1);
    let listen = topology.routes[0].listen.to_string();
    let mut session = open_session(&topology).unwrap();
    let job = TrialJob { duration: Nanos(4_000_000_000), ..job("tcp-crr", &topology, &[]) };
    let stranger = Cell::new(None);
    let flows = || counter(&namespace, "Tcp", "PassiveOpens") > 20;
    // The stranger connects, sends nothing, and stays.
    let come = || stranger.set(Some(PeerProgram::start(&namespace, &["connect", &listen])));
    let outcome = session.run_trial(&job, &act_once(flows, come)).unwrap();
    assert!(stranger.take().is_some());
    assert_eq!(outcome.ends.completed, outcome.ends.answered);
    assert_eq!(outcome.ends.connected, outcome.ends.accepted);
    let differ =
        |one: &tare_record::Finding| matches!(one, tare_record::Finding::PayloadMismatch(_));
    assert!(!outcome.findings.iter().any(differ), "{:?}", outcome.findings);
}

#[test]
fn garbage_is_answered_and_the_end_of_input_ends_an_agent_in_the_middle_of_things() {
    let mut agent =
        Command::new(agent()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = agent.stdin.take().unwrap();
    let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines().map(Result::unwrap);
    let hello = lines.next().unwrap();
    assert!(hello.starts_with("{\"hello\":{\"protocol\":7,"), "{hello}");
    input.write_all(b"\xff\xfe{]\n\"go\"\n\n").unwrap();
    for _ in 0..3 {
        let line = lines.next().unwrap();
        assert!(line.starts_with("{\"error\":\""), "{line}");
    }
    drop(input);
    assert!(agent.wait().unwrap().success());
}
