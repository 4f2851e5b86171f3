//! `make bench`: tare's generators beside iperf3, iperf, sockperf, qperf, nuttcp and, where they are, netperf and neper.
//!
//! Every [`rows::Row`] is one comparison: the same traffic, on the same cores, over the same network, by all tools that
//! have it. In every block each row's contenders run once, in random order; ratios are paired within blocks, as tare
//! itself does it. tare is the binary that is shipped (`TARE_BINARY`), driven by its own session; a peer is started as
//! its own manual says. Everything runs in the lab's private namespaces and ends with this program.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "results and progress are its output"
)]

mod contest;
mod endpoints;
mod judge;
mod ours;
mod peers;
mod report;
mod rows;
mod settings;
mod stage;
mod traffic;

use anyhow::Context as _;
use settings::Settings;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match words.next().as_ref().and_then(|word| word.to_str()) {
        Some("keeper") => ExitCode::from(u8::from(tare_lab::keeper() != 0)),
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
    let settings = Settings::from_environment()?;
    // While this is the only thread.
    let lab = tare_lab::Lab::enter(tare_lab::EnterOptions::default())
        .map_err(|error| anyhow::anyhow!("{error} {}", error.remedy))?;
    let machine = report::Machine::read();
    let results = contest::run(&settings, &lab, &machine.cores)?;
    let text = report::markdown(&settings, &machine, &results);
    print!("{text}");
    if let Some(path) = settings.keep() {
        std::fs::write(path, &text).with_context(|| format!("write {}", path.display()))?;
        eprintln!("kept in {}", path.display());
    }
    Ok(())
}
