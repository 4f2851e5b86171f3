//! Blocks of the benchmark: each block sets up every network anew and runs the rows that are not finished over it.
//!
//! Within a block, a row's contenders run in rounds. A round runs each of them once, in a new random order: peers cannot
//! be interleaved more finely than by runs of a second.

use crate::contenders::{Contender, RowResult};
use crate::endpoints::{self, EndpointTimes};
use crate::network::{BenchNetwork, socket_buffer};
use crate::peers::{PeerTool, RunTarget};
use crate::race::{self, RaceRules};
use crate::round_scores::half_width;
use crate::rows::ROWS;
use crate::settings::BenchSettings;
use crate::tare_run;
use crate::traffic::{RowCores, RunResult, Traffic};
use anyhow::{Context as _, bail};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use std::sync::Arc;
use tare_sandbox::Sandbox;

/// Results of the whole benchmark.
pub(crate) struct BenchResults {
    pub(crate) outcomes: Vec<RowResult>,
    pub(crate) endpoints: Option<EndpointTimes>,
    /// TCP congestion controls of the namespaces in which the tools ran: usually one.
    pub(crate) congestion: BTreeSet<String>,
}

/// Runs all requested rows. `after_block` sees the results so far after each block.
pub(crate) fn run(
    settings: &BenchSettings,
    sandbox: &Arc<Sandbox>,
    there: &[u32],
    after_block: &dyn Fn(&BenchResults),
) -> anyhow::Result<BenchResults> {
    let all: Vec<&str> = ROWS.iter().map(|row| row.name).chain([endpoints::NAME]).collect();
    check_names(settings, &all)?;
    let rows = || ROWS.iter().filter(|row| settings.wants(row.name, &all));
    let outcomes = settings
        .networks
        .iter()
        .flat_map(|network| rows().map(|row| RowResult::new(row, network, there)))
        .collect();
    let mut results = BenchResults { outcomes, endpoints: None, congestion: BTreeSet::new() };
    let rules = settings.rules();
    let mut chance = ChaCha8Rng::seed_from_u64(settings.seed);
    for block in 0..settings.blocks {
        if results.outcomes.iter().all(|one| race::is_finished(one, &rules)) {
            break;
        }
        for network in &settings.networks {
            eprintln!("block {} of at most {}, {network}", block + 1, settings.blocks);
            run_block(&mut results, settings, sandbox, network, there, &mut chance)?;
        }
        after_block(&results);
    }
    if settings.wants(endpoints::NAME, &all) {
        match endpoints::run(sandbox, settings.blocks, rules.precision, &mut chance) {
            Ok(measured) => results.endpoints = Some(measured),
            // A failure of this row must not discard the results of the others.
            Err(error) => eprintln!("  endpoints: {error:#}"),
        }
    }
    Ok(results)
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

/// Runs a block of every row of a network that is not finished, in random order.
fn run_block(
    results: &mut BenchResults,
    settings: &BenchSettings,
    sandbox: &Arc<Sandbox>,
    network: &str,
    there: &[u32],
    chance: &mut ChaCha8Rng,
) -> anyhow::Result<()> {
    let rules = settings.rules();
    let of_network = results.outcomes.iter_mut().filter(|one| one.network == network);
    let mut playing: Vec<_> = of_network.filter(|one| !race::is_finished(one, &rules)).collect();
    if playing.is_empty() {
        return Ok(());
    }
    let mut stage = BenchNetwork::raise(sandbox, network, &settings.tare)?;
    results.congestion.insert(stage.congestion().to_owned());
    playing.shuffle(chance);
    for outcome in playing {
        run_row(outcome, &mut stage, settings.seconds, &rules, there, chance);
        race::eliminate(outcome, &rules);
        tell_progress(outcome, &rules);
    }
    Ok(())
}

/// Runs a block of a row: every contender that takes part runs once in each round.
fn run_row(
    outcome: &mut RowResult,
    stage: &mut BenchNetwork,
    seconds: u32,
    rules: &RaceRules,
    there: &[u32],
    chance: &mut ChaCha8Rng,
) {
    let Some(cores) = outcome.row.traffic.place.cores(there) else {
        return;
    };
    let rounds = race::rounds(outcome, rules);
    let mut order = outcome.participants();
    for tally in &mut outcome.tallies {
        tally.blocks.push(Vec::new());
    }
    for _ in 0..rounds {
        order.shuffle(chance);
        for &at in &order {
            let run = run_contender(&outcome.tallies[at].who, outcome, stage, &cores, seconds);
            let tally = &mut outcome.tallies[at];
            let run = run.and_then(require_traffic);
            if let Err(error) = run.as_ref().map_err(|error| format!("{error:#}")) {
                eprintln!("  {} {}: {error}", outcome.row.name, tally.name());
                tally.failure = Some(error);
            }
            if let Some(block) = tally.blocks.last_mut() {
                block.push(run.ok());
            }
        }
    }
}

/// Runs a contender once.
fn run_contender(
    who: &Contender,
    outcome: &RowResult,
    stage: &mut BenchNetwork,
    cores: &RowCores,
    seconds: u32,
) -> anyhow::Result<RunResult> {
    match who {
        Contender::Tare(values) => tare_run::run(stage, outcome.row, values, cores, seconds),
        Contender::Peer(peer, traffic) => peer_run(stage, *peer, traffic, cores, seconds),
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

/// Prints how far a row is: the contenders that take part, and the half widths of its intervals.
fn tell_progress(outcome: &RowResult, rules: &RaceRules) {
    let widths: Vec<String> = outcome
        .row
        .checks
        .iter()
        .filter_map(|&check| race::compare(outcome, check, rules))
        .map(|compared| format!(", ± {:.1} %", 100.0 * half_width(&compared.ratio)))
        .collect();
    let end = if race::is_finished(outcome, rules) { ", finished" } else { "" };
    eprintln!(
        "  {}: {} of {} contenders{}{end}",
        outcome.row.name,
        outcome.participants().len(),
        outcome.tallies.len(),
        widths.concat()
    );
}
