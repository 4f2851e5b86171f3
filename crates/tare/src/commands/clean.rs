//! `tare clean`: what runs that were killed left in Docker, or the data that are kept for databases, listed and then
//! removed, by tare's label alone.

use crate::cli::CleanArguments;
use crate::commands::measure::with_remedy;
use crate::exit::Exit;
use crate::out;
use std::io::{IsTerminal as _, stdin};
use tare_docker::{Address, AddressError, Cleaner, Leftover};
use tare_traffic::Kept;

/// Lists what there is, and removes it where the user says yes.
pub(crate) fn run(arguments: &CleanArguments) -> anyhow::Result<Exit> {
    if arguments.data { data(arguments.yes) } else { leftovers(arguments) }
}

fn leftovers(arguments: &CleanArguments) -> anyhow::Result<Exit> {
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
        return Ok(Exit::Done);
    }
    cleaner.remove().map_err(with_remedy)?;
    out::say(&format!("tare: {} removed", abandoned.len()));
    Ok(Exit::Done)
}

/// The sets of data in the cache that nobody uses.
fn data(yes: bool) -> anyhow::Result<Exit> {
    let (used, free): (Vec<Kept>, Vec<Kept>) = Kept::look()?.into_iter().partition(Kept::in_use);
    for one in used {
        out::say(&format!("tare: {} is in use: not touched", one.directory().display()));
    }
    if free.is_empty() {
        out::say("tare: no data are kept that nobody uses");
        return Ok(Exit::Done);
    }
    let line = |one: &Kept| format!("{:>8}  {}", one.size(), one.directory().display());
    out::print(&free.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    if !yes && !confirmed(free.len()) {
        return Ok(Exit::Done);
    }
    let mut removed = 0;
    for one in &free {
        if one.remove()? {
            removed += 1;
        } else {
            out::say(&format!("tare: {} came into use: not touched", one.directory().display()));
        }
    }
    out::say(&format!("tare: {removed} removed"));
    Ok(Exit::Done)
}

fn line(one: &Leftover) -> String {
    format!("{:9}  {}  of run {}", one.kind.to_string(), one.name, one.run)
}

/// A yes on the terminal; without a terminal, no. What a no means is said.
fn confirmed(count: usize) -> bool {
    let yes = stdin().is_terminal() && {
        out::say(&format!("tare: remove these {count}? [y/N]"));
        let mut answer = String::new();
        let read = stdin().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    };
    if !yes {
        out::say("tare: nothing was removed; --yes removes it without asking");
    }
    yes
}
