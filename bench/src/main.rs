//! `make bench`: compares tare's generators with iperf3, iperf, sockperf, qperf, nuttcp and, if installed, netperf and
//! neper.
//!
//! Each [`rows::ComparisonRow`] is one comparison: the same traffic, on the same cores, over the same network, by all
//! tools that support it. Within a block a row's contenders run in rounds, and ratios are paired within rounds, as
//! between tare's woven networks ([`blocks`], [`race`]). tare is the released binary (`TARE_BINARY`), run by its own session. Peers are started as
//! their manuals say. Everything runs in the lab's private namespaces and ends with this program.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "results and progress are its output"
)]

mod blocks;
mod checks;
mod congestion;
mod container_programs;
mod contenders;
mod endpoints;
mod network;
mod peers;
mod race;
mod report;
mod round_scores;
mod rows;
mod settings;
mod tare_run;
mod traffic;

use anyhow::Context as _;
use settings::BenchSettings;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match words.next().as_ref().and_then(|word| word.to_str()) {
        // The only role that the lab starts for networks of the bench.
        Some(tare_network::INTERNAL) => ExitCode::from(u8::from(tare_sandbox::run_init() != 0)),
        None => told(bench()),
        Some(_) => {
            told(Err(anyhow::anyhow!("no arguments: BENCH_ROWS and others in the environment")))
        }
    }
}

fn told(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> anyhow::Result<()> {
    let settings = BenchSettings::from_environment()?;
    // The lab must be entered while this process has only one thread.
    let sandbox = tare_sandbox::Sandbox::enter(tare_sandbox::EnterOptions::default())
        .map_err(|error| anyhow::anyhow!("{error} {}", error.remedy))?;
    let machine = report::MachineFacts::read();
    let results = blocks::run(&settings, &sandbox, &machine.cores, &|so_far| {
        keep_partial(&settings, &report::markdown(&settings, &machine, so_far));
    })?;
    let text = report::markdown(&settings, &machine, &results);
    print!("{text}");
    if let Some(path) = settings.keep() {
        std::fs::write(path, &text).with_context(|| format!("write {}", path.display()))?;
        eprintln!("kept in {}", path.display());
        // The whole results are there, so nothing is lost with a partial file that cannot be removed.
        let _ = std::fs::remove_file(partial(path));
    }
    Ok(())
}

/// Keeps the results of the blocks so far: a run takes long, and may be interrupted.
fn keep_partial(settings: &BenchSettings, text: &str) {
    let Some(path) = settings.keep().map(partial) else {
        return;
    };
    if let Err(error) = std::fs::write(&path, text) {
        eprintln!("  write {}: {error}", path.display());
    }
}

/// Returns the file for the results of a run that goes on: `RESULTS.partial.md` beside `RESULTS.md`.
fn partial(path: &Path) -> PathBuf {
    path.with_extension("partial.md")
}
