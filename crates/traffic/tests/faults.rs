//! What goes wrong, and that it is said in one line, in time, with nothing left behind.
#![allow(clippy::unwrap_used, reason = "whatever fails here fails the test")]

mod common;

use common::{Here, free_port, job, loopback, topology};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tare_record::Nanos;
use tare_traffic::{Error, Job, Session};

const NEVER: &dyn Fn() -> bool = &|| false;

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// A trial that would take a minute.
fn endless(workload: &str, topology: &tare_network::Topology) -> Job {
    Job { duration: Nanos(60_000_000_000), ..job(workload, topology, &[]) }
}

/// An agent that is killed while traffic flows: called from the trial's own polling.
fn killed_mid_trial(workload: &str, role: &str) {
    let (server, client) = (Here::new("server-0"), Here::new("client-0"));
    let started =
        [("server", Arc::clone(&server.started)), ("client", Arc::clone(&client.started))];
    let topology = topology(vec![server], vec![client], free_port);
    let mut session = Session::open(&topology).unwrap();
    let victim = started.iter().find(|(one, _)| *one == role).unwrap().1.lock().unwrap()[0];
    let polls = AtomicU32::new(0);
    let before = Instant::now();
    let result = session.trial(&endless(workload, &topology), &|| {
        // Set-up takes a few polls; at the fiftieth the traffic has been flowing for long.
        if polls.fetch_add(1, Ordering::Relaxed) == 50 {
            kill(victim);
        }
        false
    });
    let error = result.unwrap_err().to_string();
    assert_eq!(error, format!("{role}-0: its agent ended early (signal 9)"), "{workload}");
    assert!(before.elapsed() < Duration::from_secs(30), "{workload}: within the deadline");
    let again = session.trial(&job(workload, &topology, &[]), NEVER).unwrap_err();
    assert!(matches!(again, Error::Job(_)), "{again}");
}

#[test]
fn an_agent_that_is_killed_is_named() {
    for workload in ["tcp-stream", "tcp-rr", "udp-rr", "tcp-crr", "idle"] {
        for role in ["server", "client"] {
            killed_mid_trial(workload, role);
        }
    }
}

#[test]
fn cancelling_ends_the_trial_and_the_agents() {
    let server = Here::new("server-0");
    let started = Arc::clone(&server.started);
    let topology = topology(vec![server], vec![Here::new("client-0")], free_port);
    let mut session = Session::open(&topology).unwrap();
    let polls = AtomicU32::new(0);
    let before = Instant::now();
    let wish = || polls.fetch_add(1, Ordering::Relaxed) > 20;
    let error = session.trial(&endless("tcp-stream", &topology), &wish).unwrap_err();
    assert!(matches!(error, Error::Cancelled));
    assert!(before.elapsed() < Duration::from_secs(30));
    let pid = started.lock().unwrap()[0];
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "the agent is gone");
}

#[test]
fn agents_that_end_by_the_signal_that_cancels_are_no_failure() {
    let server = Here::new("server-0");
    let started = Arc::clone(&server.started);
    let topology = topology(vec![server], vec![Here::new("client-0")], free_port);
    let mut session = Session::open(&topology).unwrap();
    let victim = started.lock().unwrap()[0];
    let polls = AtomicU32::new(0);
    let wish = || match polls.fetch_add(1, Ordering::Relaxed) {
        0..20 => false,
        20 => {
            kill(victim);
            false
        }
        _ => true,
    };
    let error = session.trial(&endless("tcp-rr", &topology), &wish).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
}

#[test]
fn dropping_a_session_ends_its_agents() {
    let server = Here::new("server-0");
    let started = Arc::clone(&server.started);
    let topology = topology(vec![server], vec![Here::new("client-0")], free_port);
    drop(Session::open(&topology).unwrap());
    let pid = started.lock().unwrap()[0];
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn a_program_that_is_no_agent_is_told_from_one() {
    for (program, said) in [("/bin/true", "ended early"), ("/bin/echo", "said what is no reply")] {
        let client = Here { agent: PathBuf::from(program), ..Here::new("client-0") };
        let topology = topology(vec![Here::new("server-0")], vec![client], free_port);
        let error = Session::open(&topology).unwrap_err().to_string();
        assert!(error.starts_with("client-0: its agent ") && error.contains(said), "{error}");
    }
    let nowhere = Here { agent: PathBuf::from("/nonexistent"), ..Here::new("client-0") };
    let topology = topology(vec![Here::new("server-0")], vec![nowhere], free_port);
    assert!(matches!(Session::open(&topology), Err(Error::Container(_))));
}

#[test]
fn a_job_that_makes_no_sense_is_refused_and_the_session_lives_on() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    let good = job("tcp-rr", &topology, &[]);
    let mut absurd = vec![
        Job { interval: Nanos(0), ..good.clone() },
        Job { interval: Nanos(good.duration.0 + 1), ..good.clone() },
        Job { ports: vec![1], ..good.clone() },
        good.clone(),
        good.clone(),
    ];
    absurd[3].shape.flows = 0;
    absurd[4].shape.processes = 7;
    for bad in absurd {
        let error = session.trial(&bad, NEVER).unwrap_err();
        assert!(matches!(error, Error::Job(_)), "{error}");
    }
    session.trial(&good, NEVER).unwrap();
}

#[test]
fn a_parameter_that_an_agent_does_not_know_is_its_answer() {
    let topology = loopback(1, 1);
    let mut session = Session::open(&topology).unwrap();
    let mut job = job("tcp-rr", &topology, &[]);
    job.parameters.insert("colour".to_owned(), "blue".into());
    let error = session.trial(&job, NEVER).unwrap_err().to_string();
    assert!(error.starts_with("server-0: tcp-rr has no parameter `colour`"), "{error}");
}

#[test]
fn a_port_in_use_is_said_by_the_server() {
    let topology = loopback(1, 1);
    let listen = topology.routes[0].listen;
    let squatter = std::net::TcpListener::bind(listen).unwrap();
    let mut session = Session::open(&topology).unwrap();
    let error = session.trial(&job("tcp-rr", &topology, &[]), NEVER).unwrap_err().to_string();
    assert!(error.starts_with(&format!("server-0: listen on {listen}: ")), "{error}");
    drop(squatter);
}

#[test]
fn garbage_is_answered_and_the_end_of_input_ends_an_agent_in_the_middle_of_things() {
    let mut agent =
        Command::new(common::agent()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = agent.stdin.take().unwrap();
    let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines().map(Result::unwrap);
    let hello = lines.next().unwrap();
    assert!(hello.starts_with("{\"hello\":{\"protocol\":4,"), "{hello}");
    input.write_all(b"\xff\xfe{]\n\"go\"\n\n").unwrap();
    for _ in 0..3 {
        let line = lines.next().unwrap();
        assert!(line.starts_with("{\"error\":\""), "{line}");
    }
    drop(input);
    assert!(agent.wait().unwrap().success());
}
