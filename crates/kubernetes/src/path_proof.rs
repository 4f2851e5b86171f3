//! Proof that packets pass, and by which path, before anything is measured.
//!
//! In every server's pod a `netns-probe` listens; in every client's one connects as the client will. Their reports give
//! the hops: the devices with the ends' addresses, their MTUs, and the counter of the device by which packets leave.

use crate::running_pod::RunningPod;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::SocketAddr;
use tare_netns_probe::{NetnsSnapshot, parse_snapshot};
use tare_network::{Error, Process};

/// Time for attempts to connect where it is open whether they succeed, ms.
const ATTEMPTS_MS: &str = "2000";

/// Reports of both ends of a connection that was made.
#[derive(Debug)]
pub(crate) struct ProvenPath {
    /// Report of the client, with the packets that left each device meanwhile.
    pub(crate) client: NetnsSnapshot,
    /// Report of the server.
    pub(crate) server: NetnsSnapshot,
    /// Address from which the server saw the client connect.
    pub(crate) peer: Option<SocketAddr>,
}

/// Probe that listens in a pod.
pub(crate) struct ListeningProbe {
    _probe: Box<dyn Process>,
    /// The program's input: it listens until this ends.
    _input: Box<dyn Write + Send>,
    lines: BufReader<Box<dyn Read + Send>>,
    snapshot: NetnsSnapshot,
}

impl ListeningProbe {
    /// Listens in a pod.
    ///
    /// # Errors
    /// The address is taken, or the pod does not answer.
    pub(crate) fn start(pod: &RunningPod, address: SocketAddr) -> Result<Self, Error> {
        let what = || format!("listen on {address} in the pod {}", pod.name);
        let mut probe = pod.start_probe(&["--listen", &address.to_string()])?;
        let streams = probe.take_input().zip(probe.take_output());
        let (input, output) =
            streams.ok_or_else(|| Error::new(what(), "the probe has no pipes"))?;
        let mut lines = BufReader::new(output);
        let snapshot =
            read_report(&mut lines, &mut probe).map_err(|why| Error::new(what(), why))?;
        Ok(Self { _probe: Box::new(probe), _input: input, lines, snapshot })
    }

    /// Connects from a client's pod, and returns both reports.
    ///
    /// # Errors
    /// The client does not reach the server.
    pub(crate) fn connect_from(
        &mut self,
        pod: &RunningPod,
        address: SocketAddr,
    ) -> Result<ProvenPath, Error> {
        let what = || format!("reach {address} from the pod {}", pod.name);
        let client = ask_probe(pod, &["--dial", &address.to_string()], &what())?;
        if let Some(why) = client.error {
            return Err(Error::new(what(), why)
                .with_remedy("see whether a NetworkPolicy or a firewall keeps these pods apart"));
        }
        let mut line = String::new();
        // The connection was accepted: the line is on its way.
        let read = self.lines.read_line(&mut line);
        let peer = read.ok().and_then(|_| parse_snapshot(&line).ok()?.peer);
        Ok(ProvenPath { client, server: self.snapshot.clone(), peer })
    }

    /// Returns whether a client's pod reaches the server, in several attempts within two seconds.
    ///
    /// # Errors
    /// The pod does not answer.
    pub(crate) fn is_reached_from(
        &mut self,
        pod: &RunningPod,
        address: SocketAddr,
    ) -> Result<bool, Error> {
        let what = format!("try to reach {address} from the pod {}", pod.name);
        let dialling = ["--within", ATTEMPTS_MS, "--dial", &address.to_string()];
        let is_reached = ask_probe(pod, &dialling, &what)?.error.is_none();
        if is_reached {
            // The server reports each connection by a line, which is not the next one's.
            let _ = self.lines.read_line(&mut String::new());
        }
        Ok(is_reached)
    }
}

/// Runs a probe with these arguments in a pod, and returns its snapshot, which may have an error.
///
/// # Errors
/// The pod does not answer.
pub(crate) fn ask_probe(
    pod: &RunningPod,
    arguments: &[&str],
    what: &str,
) -> Result<NetnsSnapshot, Error> {
    let mut probe = pod.start_probe(arguments)?;
    let output = probe.take_output();
    let output = output.ok_or_else(|| Error::new(what, "the probe has no pipes"))?;
    let seen = read_snapshot(&mut BufReader::new(output), &mut probe);
    seen.map_err(|why| Error::new(what, why))
}

/// Reads one report. The error says in words why there is none, or what it reports.
fn read_report(
    lines: &mut BufReader<Box<dyn Read + Send>>,
    probe: &mut impl Process,
) -> Result<NetnsSnapshot, String> {
    let mut seen = read_snapshot(lines, probe)?;
    seen.error.take().map_or(Ok(seen), Err)
}

fn read_snapshot(
    lines: &mut BufReader<Box<dyn Read + Send>>,
    probe: &mut impl Process,
) -> Result<NetnsSnapshot, String> {
    let mut line = String::new();
    match lines.read_line(&mut line) {
        Ok(1..) => serde_json::from_str(&line)
            .map_err(|error| format!("invalid snapshot `{line}`: {error}")),
        Ok(0) | Err(_) => Err(match probe.wait() {
            Ok(exit) => format!("the probe ended without a report ({exit})"),
            Err(error) => error.why,
        }),
    }
}
