//! `tare clean`: what runs that were killed left in Docker, listed and then removed, by tare's label alone.

use crate::cli::CleanArguments;
use crate::commands::measure::with_remedy;
use crate::exit::Exit;
use crate::out;
use std::io::{IsTerminal as _, stdin};
use tare_docker::{Address, AddressError, Cleaner, Leftover};

/// Lists what there is, and removes it where the user says yes.
pub(crate) fn run(arguments: &CleanArguments) -> anyhow::Result<Exit> {
    let wrong = |error: AddressError| anyhow::anyhow!("{}: {}", error.reason, error.remedy);
    let mut addresses = vec![Address::from_environment().map_err(wrong)?];
    for engine in &arguments.engines {
        addresses.push(engine.parse().map_err(wrong)?);
    }
    let cleaner = Cleaner::look(&addresses).map_err(with_remedy)?;
    for run in cleaner.going_on() {
        out::say(&format!("tare: run {run} goes on: nothing of it is touched"));
    }
    let abandoned = cleaner.abandoned();
    if abandoned.is_empty() {
        out::say("tare: nothing is left of runs that have ended");
        return Ok(Exit::Done);
    }
    let lines: Vec<String> = abandoned.iter().map(|one| line(one)).collect();
    out::print(&lines.join("\n"))?;
    if !arguments.yes && !confirmed(abandoned.len()) {
        out::say("tare: nothing was removed; --yes removes it without asking");
        return Ok(Exit::Done);
    }
    cleaner.remove().map_err(with_remedy)?;
    out::say(&format!("tare: {} removed", abandoned.len()));
    Ok(Exit::Done)
}

fn line(one: &Leftover) -> String {
    format!("{:9}  {}  of run {}", one.kind.to_string(), one.name, one.run)
}

/// A yes on the terminal; without a terminal, no.
fn confirmed(count: usize) -> bool {
    if !stdin().is_terminal() {
        return false;
    }
    out::say(&format!("tare: remove these {count}? [y/N]"));
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
