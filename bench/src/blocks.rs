//! Blocks of the benchmark: each block runs every contender of each row once, in random order, over every network.

use crate::endpoints::{self, EndpointTimes};
use crate::network::{BenchNetwork, socket_buffer};
use crate::peers::{MissingSupport, PEERS, PeerTool, RunTarget, installed};
use crate::rows::{ComparisonRow, ParameterValues, ROWS};
use crate::settings::BenchSettings;
use crate::tare_run;
use crate::traffic::{RowCores, RunResult, Traffic, TrafficKind};
use anyhow::{Context as _, bail};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use std::sync::Arc;
use tare_sandbox::Sandbox;

/// Contender of a row.
pub(crate) enum Contender {
    /// tare, with these parameters in addition to the row's.
    Tare(ParameterValues),
    /// Peer, with the row's traffic and its own write size.
    Peer(&'static dyn PeerTool, Traffic),
}

/// Contender with the results of its runs.
pub(crate) struct ContenderRuns {
    pub(crate) who: Contender,
    /// Result of each block; `None` if the run failed.
    pub(crate) runs: Vec<Option<RunResult>>,
    /// Reason of the last failure.
    pub(crate) failure: Option<String>,
}

impl ContenderRuns {
    fn new(who: Contender) -> Self {
        Self { who, runs: Vec::new(), failure: None }
    }

    /// Returns the name of the contender for people, with the write size if several are tried.
    pub(crate) fn name(&self) -> String {
        match &self.who {
            Contender::Tare(values) => {
                let told = values.iter().map(|(name, value)| format!(" {name}={value}"));
                std::iter::once("tare".to_owned()).chain(told).collect()
            }
            Contender::Peer(peer, traffic) if traffic.kind == TrafficKind::TcpStream => {
                format!("{} {}K", peer.name(), traffic.size >> 10)
            }
            Contender::Peer(peer, _) => peer.name().to_owned(),
        }
    }
}

/// Results of a row over one network.
pub(crate) struct RowResult {
    pub(crate) row: &'static ComparisonRow,
    pub(crate) network: String,
    /// Contenders, tare first. Empty if nothing was run.
    pub(crate) tallies: Vec<ContenderRuns>,
    /// Tools that could not take part, with the reasons.
    pub(crate) absent: Vec<String>,
}

/// Results of the whole benchmark.
pub(crate) struct BenchResults {
    pub(crate) outcomes: Vec<RowResult>,
    pub(crate) endpoints: Option<EndpointTimes>,
    /// TCP congestion controls of the namespaces in which the tools ran: usually one.
    pub(crate) congestion: BTreeSet<String>,
}

/// Runs all requested rows.
pub(crate) fn run(
    settings: &BenchSettings,
    sandbox: &Arc<Sandbox>,
    there: &[u32],
) -> anyhow::Result<BenchResults> {
    let all: Vec<&str> = ROWS.iter().map(|row| row.name).chain([endpoints::NAME]).collect();
    check_names(settings, &all)?;
    let rows = || ROWS.iter().filter(|row| settings.wants(row.name, &all));
    let mut outcomes: Vec<RowResult> = settings
        .networks
        .iter()
        .flat_map(|network| rows().map(|row| outcome(row, network, there)))
        .collect();
    let mut congestion = BTreeSet::new();
    let mut chance = ChaCha8Rng::seed_from_u64(settings.seed);
    for block in 0..settings.blocks {
        for network in &settings.networks {
            let of_network = outcomes.iter_mut().filter(|one| one.network == *network);
            let mut playing: Vec<_> = of_network.filter(|one| !one.tallies.is_empty()).collect();
            if playing.is_empty() {
                continue;
            }
            eprintln!("block {} of {}, {network}", block + 1, settings.blocks);
            let mut stage = BenchNetwork::raise(sandbox, network, &settings.tare)?;
            congestion.insert(stage.congestion().to_owned());
            playing.shuffle(&mut chance);
            for outcome in playing {
                run_row(outcome, &mut stage, settings.seconds, there, &mut chance);
            }
        }
    }
    let mut endpoints = None;
    if settings.wants(endpoints::NAME, &all) {
        match endpoints::run(sandbox, settings.blocks, &mut chance) {
            Ok(measured) => endpoints = Some(measured),
            // A failure of this row must not discard the results of the others.
            Err(error) => eprintln!("  endpoints: {error:#}"),
        }
    }
    Ok(BenchResults { outcomes, endpoints, congestion })
}

/// Fails if a requested name is not the beginning of a row's name.
fn check_names(settings: &BenchSettings, all: &[&str]) -> anyhow::Result<()> {
    let begins = |wanted: &&String| !all.iter().any(|row| row.starts_with(wanted.as_str()));
    match settings.rows.iter().find(begins) {
        None => Ok(()),
        Some(unknown) => {
            bail!("BENCH_ROWS: no row is called {unknown}; they are {}", all.join(", "))
        }
    }
}

/// Lists a row's contenders, without results yet.
fn outcome(row: &'static ComparisonRow, network: &str, there: &[u32]) -> RowResult {
    let (peers, mut absent) = peers(row);
    if let Err(error) = tare_run::parameters(row, &[], None) {
        absent.insert(0, format!("tare: {error}"));
    } else if row.traffic.place.cores(there).is_none() {
        absent.insert(0, "needs two cores".to_owned());
    } else if !peers.is_empty() {
        let ours = row.tries.iter().map(|values| Contender::Tare(values));
        let tallies = ours.chain(peers).map(ContenderRuns::new).collect();
        return RowResult { row, network: network.to_owned(), tallies, absent };
    }
    RowResult { row, network: network.to_owned(), tallies: Vec::new(), absent }
}

/// Lists the peers that support such traffic and are installed, and those that lack support or are missing.
fn peers(row: &ComparisonRow) -> (Vec<Contender>, Vec<String>) {
    let (mut here, mut absent) = (Vec::new(), Vec::new());
    // The address and the duration do not affect the support of a tool.
    let ends = RunTarget { address: [127, 0, 0, 1].into(), port: 0, seconds: 1, buffer: 0 };
    for &peer in PEERS {
        match peer.plan(&row.traffic, &ends) {
            Err(MissingSupport::Mode) => {}
            Err(MissingSupport::Needs(what)) => absent.push(format!("needs {what}")),
            Ok(_) if installed(peer).is_none() => {
                absent.push(format!("{} is not installed", peer.name()));
            }
            Ok(_) => here.extend(versions(peer, row)),
        }
    }
    (here, absent)
}

/// Lists a peer with every write size that it is tried with.
fn versions(peer: &'static dyn PeerTool, row: &ComparisonRow) -> Vec<Contender> {
    match row.writes {
        [] => vec![Contender::Peer(peer, row.traffic)],
        sizes => sizes
            .iter()
            .map(|&size| Contender::Peer(peer, Traffic { size, ..row.traffic }))
            .collect(),
    }
}

/// Runs every contender of a row once.
fn run_row(
    outcome: &mut RowResult,
    stage: &mut BenchNetwork,
    seconds: u32,
    there: &[u32],
    chance: &mut ChaCha8Rng,
) {
    let Some(cores) = outcome.row.traffic.place.cores(there) else {
        return;
    };
    let mut order: Vec<usize> = (0..outcome.tallies.len()).collect();
    order.shuffle(chance);
    for at in order {
        let tally = &mut outcome.tallies[at];
        let run = match &tally.who {
            Contender::Tare(values) => tare_run::run(stage, outcome.row, values, &cores, seconds),
            Contender::Peer(peer, traffic) => peer_run(stage, *peer, traffic, &cores, seconds),
        };
        let run = run.and_then(require_traffic);
        if let Err(error) = run.as_ref().map_err(|error| format!("{error:#}")) {
            eprintln!("  {} {}: {error}", outcome.row.name, tally.name());
            tally.failure = Some(error);
        }
        tally.runs.push(run.ok());
    }
}

/// Runs a peer once.
fn peer_run(
    stage: &mut BenchNetwork,
    peer: &dyn PeerTool,
    traffic: &Traffic,
    cores: &RowCores,
    seconds: u32,
) -> anyhow::Result<RunResult> {
    let port = stage.port();
    let ends = RunTarget { address: stage.address(), port, seconds, buffer: socket_buffer() };
    let plan = peer.plan(traffic, &ends).ok().context("it has no such mode")?;
    let (said, cpu) = stage.run_tool(&plan, cores, port, seconds)?;
    let reading = peer
        .read(traffic, &said)
        .with_context(|| format!("no figure in what it says: {}", last_line(&said)))?;
    Ok(RunResult { reading, cpu })
}

/// Fails if a run has no traffic: a rate of 0 has no ratio.
fn require_traffic(run: RunResult) -> anyhow::Result<RunResult> {
    let rate = run.reading.rate;
    if rate > 0.0 && rate.is_finite() { Ok(run) } else { bail!("a rate of {rate}") }
}

/// Returns the last line of a text that is not blank, truncated.
fn last_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    line.chars().take(200).collect()
}
