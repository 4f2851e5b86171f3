//! The virtual machine: Debian's kernel with this machine's files read-only inside. Its modules are there and not loaded.
//! Nothing of this machine is changed.
//!
//! Everything runs under emulation: it shows that something works, never how fast.

mod apt;
mod guest_tests;
mod kernel;
mod machine;
mod report;
mod setup;

use crate::Verdict;
use crate::nextest::Nextest;
use crate::repository::Repository;
use crate::shell_quote::shell_join;
use crate::system_lane::Scope;
use anyhow::{Context, Result, bail};
use machine::{Clock, Machine};
use report::GuestReport;
use std::path::PathBuf;

/// Result of tests in one virtual machine.
#[derive(Debug)]
pub(crate) struct GuestResult {
    /// Exit status of the script in the guest.
    pub(crate) status: i32,
    /// Tests that ran, from its output.
    pub(crate) report: GuestReport,
}

/// Runs the tests of a scope, a machine for each group that needs another one.
pub(crate) fn run_tests(
    repository: &Repository,
    nextest: &Nextest<'_>,
    scope: Scope,
) -> Result<Vec<GuestResult>> {
    let mut results = Vec::new();
    for group in guest_tests::groups(repository, scope) {
        let script = guest_tests::script(repository, nextest, &group)?;
        let ended = group.machine.run(repository, &script)?;
        results.push(GuestResult { status: ended.status, report: report::parse(&ended.log) });
    }
    Ok(results)
}

/// Runs one command in a virtual machine: `[--disk DIRECTORY] [--clock instructions] COMMAND [ARGUMENT..]`.
pub(crate) fn run_command(repository: &Repository, arguments: &[String]) -> Result<Verdict> {
    let (machine, command) = parse(arguments)?;
    let ended = machine.run(repository, &shell_join(command))?;
    Ok(Verdict::from_success(ended.status == 0))
}

fn parse(arguments: &[String]) -> Result<(Machine, &[String])> {
    let mut machine = Machine::default();
    let mut rest = arguments;
    loop {
        match rest {
            [option, value, more @ ..] if option == "--disk" => {
                machine.disk = Some(PathBuf::from(value));
                rest = more;
            }
            [option, value, more @ ..] if option == "--clock" => {
                machine.clock = Clock::parse(value).with_context(|| {
                    format!("invalid clock {value:?}: expected real or instructions")
                })?;
                rest = more;
            }
            [first, ..] if !first.starts_with('-') => return Ok((machine, rest)),
            _ => bail!("expected [--disk DIRECTORY] [--clock instructions] COMMAND [ARGUMENT..]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_before_the_command() {
        let words = ["--clock", "instructions", "--disk", "/d", "ls", "--disk"].map(str::to_owned);
        let (machine, command) = parse(&words).unwrap();
        assert_eq!(machine, Machine { disk: Some("/d".into()), clock: Clock::Instructions });
        assert_eq!(command, ["ls", "--disk"]);
        for wrong in [&["--clock", "x", "ls"][..], &["--disk", "/d"], &[], &["--fast", "ls"]] {
            let words: Vec<String> = wrong.iter().map(|&word| word.to_owned()).collect();
            assert!(parse(&words).is_err(), "{wrong:?}");
        }
    }
}
