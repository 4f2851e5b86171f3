//! `make bench`: compares tare's generators with iperf3, iperf, sockperf, qperf, nuttcp and, if installed, netperf and
//! neper.
//!
//! Each [`rows::ComparisonRow`] is one comparison: the same traffic, on the same cores, over the same network, by all
//! tools that support it. Every block runs each row's contenders once, in random order; ratios are paired within
//! blocks, as in tare itself. tare is the released binary (`TARE_BINARY`), run by its own session. Peers are started as
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
mod endpoints;
mod network;
mod peers;
mod report;
mod rows;
mod settings;
mod tare_run;
mod traffic;

use anyhow::Context as _;
use settings::BenchSettings;
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
    let results = blocks::run(&settings, &sandbox, &machine.cores)?;
    let text = report::markdown(&settings, &machine, &results);
    print!("{text}");
    if let Some(path) = settings.keep() {
        std::fs::write(path, &text).with_context(|| format!("write {}", path.display()))?;
        eprintln!("kept in {}", path.display());
    }
    Ok(())
}
