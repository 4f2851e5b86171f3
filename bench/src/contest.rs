//! The run: in every block each row's contenders once, in random order, over every network.

use crate::endpoints::{self, Endpoints};
use crate::ours;
use crate::peers::{Ends, Lack, PEERS, Peer, installed};
use crate::rows::{ROWS, Row, Values};
use crate::settings::Settings;
use crate::stage::{Stage, socket_buffer};
use crate::traffic::{Cores, Kind, Measured, Traffic};
use anyhow::{Context as _, bail};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;
use tare_lab::Lab;

/// Who takes part in a row.
pub(crate) enum Who {
    /// tare, with these parameters beyond the row's own.
    Ours(Values),
    /// A peer, with the row's traffic by writes of its size.
    Peer(&'static dyn Peer, Traffic),
}

/// A contender and its figures.
pub(crate) struct Tally {
    pub(crate) who: Who,
    /// One a block; nothing where the run failed.
    pub(crate) runs: Vec<Option<Measured>>,
    /// Why a run failed, the last time it did.
    pub(crate) failure: Option<String>,
}

impl Tally {
    fn of(who: Who) -> Self {
        Self { who, runs: Vec::new(), failure: None }
    }

    /// Its name, for people; the size of its writes where there are several.
    pub(crate) fn name(&self) -> String {
        match &self.who {
            Who::Ours(values) => {
                let told = values.iter().map(|(name, value)| format!(" {name}={value}"));
                std::iter::once("tare".to_owned()).chain(told).collect()
            }
            Who::Peer(peer, traffic) if traffic.kind == Kind::TcpStream => {
                format!("{} {}K", peer.name(), traffic.size >> 10)
            }
            Who::Peer(peer, _) => peer.name().to_owned(),
        }
    }
}

/// A row over one network.
pub(crate) struct Outcome {
    pub(crate) row: &'static Row,
    pub(crate) network: String,
    /// tare first. Empty where nothing was run.
    pub(crate) tallies: Vec<Tally>,
    /// Who could not take part, and why.
    pub(crate) absent: Vec<String>,
}

/// Everything that was measured.
pub(crate) struct Results {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) endpoints: Option<Endpoints>,
}

/// Runs everything that was asked for.
pub(crate) fn run(settings: &Settings, lab: &Arc<Lab>, there: &[u32]) -> anyhow::Result<Results> {
    let all: Vec<&str> = ROWS.iter().map(|row| row.name).chain([endpoints::NAME]).collect();
    known(settings, &all)?;
    let rows = || ROWS.iter().filter(|row| settings.wants(row.name, &all));
    let mut outcomes: Vec<Outcome> = settings
        .networks
        .iter()
        .flat_map(|network| rows().map(|row| outcome(row, network, there)))
        .collect();
    let mut chance = ChaCha8Rng::seed_from_u64(settings.seed);
    for block in 0..settings.blocks {
        for network in &settings.networks {
            let of_network = outcomes.iter_mut().filter(|one| one.network == *network);
            let mut playing: Vec<_> = of_network.filter(|one| !one.tallies.is_empty()).collect();
            if playing.is_empty() {
                continue;
            }
            eprintln!("block {} of {}, {network}", block + 1, settings.blocks);
            let mut stage = Stage::raise(lab, network, &settings.tare)?;
            playing.shuffle(&mut chance);
            for outcome in playing {
                play(outcome, &mut stage, settings.seconds, there, &mut chance);
            }
        }
    }
    let mut endpoints = None;
    if settings.wants(endpoints::NAME, &all) {
        match endpoints::run(lab, settings.blocks, &mut chance) {
            Ok(measured) => endpoints = Some(measured),
            // Half an hour of other rows is not thrown away for it.
            Err(error) => eprintln!("  endpoints: {error:#}"),
        }
    }
    Ok(Results { outcomes, endpoints })
}

/// Refuses the beginning of no row's name.
fn known(settings: &Settings, all: &[&str]) -> anyhow::Result<()> {
    let begins = |wanted: &&String| !all.iter().any(|row| row.starts_with(wanted.as_str()));
    match settings.rows.iter().find(begins) {
        None => Ok(()),
        Some(unknown) => {
            bail!("BENCH_ROWS: no row is called {unknown}; they are {}", all.join(", "))
        }
    }
}

/// A row's contenders, without figures yet.
fn outcome(row: &'static Row, network: &str, there: &[u32]) -> Outcome {
    let (peers, mut absent) = peers(row);
    if let Err(error) = ours::parameters(row, &[]) {
        absent.insert(0, format!("tare: {error}"));
    } else if row.traffic.place.cores(there).is_none() {
        absent.insert(0, "needs two cores".to_owned());
    } else if !peers.is_empty() {
        let ours = row.tries.iter().map(|values| Who::Ours(values));
        let tallies = ours.chain(peers).map(Tally::of).collect();
        return Outcome { row, network: network.to_owned(), tallies, absent };
    }
    Outcome { row, network: network.to_owned(), tallies: Vec::new(), absent }
}

/// The peers that have such traffic and are here, and those that would have it.
fn peers(row: &Row) -> (Vec<Who>, Vec<String>) {
    let (mut here, mut absent) = (Vec::new(), Vec::new());
    // Where and how long changes nothing about whether a tool can.
    let ends = Ends { address: [127, 0, 0, 1].into(), port: 0, seconds: 1, buffer: 0 };
    for &peer in PEERS {
        match peer.plan(&row.traffic, &ends) {
            Err(Lack::Mode) => {}
            Err(Lack::Needs(what)) => absent.push(format!("needs {what}")),
            Ok(_) if installed(peer).is_none() => {
                absent.push(format!("{} is not installed", peer.name()));
            }
            Ok(_) => here.extend(versions(peer, row)),
        }
    }
    (here, absent)
}

/// A peer with every size of a write that it is tried with.
fn versions(peer: &'static dyn Peer, row: &Row) -> Vec<Who> {
    match row.writes {
        [] => vec![Who::Peer(peer, row.traffic)],
        sizes => {
            sizes.iter().map(|&size| Who::Peer(peer, Traffic { size, ..row.traffic })).collect()
        }
    }
}

/// Runs every contender of a row once.
fn play(
    outcome: &mut Outcome,
    stage: &mut Stage,
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
            Who::Ours(values) => ours::run(stage, outcome.row, values, &cores, seconds),
            Who::Peer(peer, traffic) => peer_run(stage, *peer, traffic, &cores, seconds),
        };
        let run = run.and_then(something);
        if let Err(error) = run.as_ref().map_err(|error| format!("{error:#}")) {
            eprintln!("  {} {}: {error}", outcome.row.name, tally.name());
            tally.failure = Some(error);
        }
        tally.runs.push(run.ok());
    }
}

/// One run of a peer.
fn peer_run(
    stage: &mut Stage,
    peer: &dyn Peer,
    traffic: &Traffic,
    cores: &Cores,
    seconds: u32,
) -> anyhow::Result<Measured> {
    let port = stage.port();
    let ends = Ends { address: stage.address(), port, seconds, buffer: socket_buffer() };
    let plan = peer.plan(traffic, &ends).ok().context("it has no such mode")?;
    let (said, cpu) = stage.play(&plan, cores, port, seconds)?;
    let reading = peer
        .read(traffic, &said)
        .with_context(|| format!("no figure in what it says: {}", last_line(&said)))?;
    Ok(Measured { reading, cpu })
}

/// A run in which something went over the network: nought has no ratio.
fn something(run: Measured) -> anyhow::Result<Measured> {
    let rate = run.reading.rate;
    if rate > 0.0 && rate.is_finite() { Ok(run) } else { bail!("a rate of {rate}") }
}

/// The last line that says something, and not too much of it.
fn last_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    line.chars().take(200).collect()
}
