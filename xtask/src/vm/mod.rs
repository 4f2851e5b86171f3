//! Virtual machine with Debian's kernel and this machine's files, read-only. The kernel's modules are available and not
//! loaded. Nothing of this machine is changed.
//!
//! Everything runs under emulation: it shows that features work, never how fast.

mod apt;
mod guest_tests;
mod kernel;
mod machine;
mod report;
mod setup;

use crate::TaskResult;
use crate::nextest::Nextest;
use crate::repository::Repository;
use crate::shell_quote::shell_join;
use crate::system_lane::GuestScope;
use anyhow::{Context, Result, bail};
use guest_tests::TestGroup;
use machine::{GuestClock, VirtualMachine};
use report::GuestReport;
use std::panic::resume_unwind;
use std::path::PathBuf;

/// Result of tests in one virtual machine.
#[derive(Debug)]
pub(crate) struct GuestResult {
    /// Exit status of the script in the guest.
    pub(crate) status: i32,
    /// Tests that ran, from the script's output.
    pub(crate) report: GuestReport,
}

/// Runs the tests of a scope, with a machine for each group. All machines run at a time: each takes one processor.
pub(crate) fn run_tests(
    repository: &Repository,
    nextest: &Nextest<'_>,
    scope: GuestScope,
) -> Result<Vec<GuestResult>> {
    let with_script = |group: TestGroup| -> Result<Option<(VirtualMachine, String)>> {
        let script = guest_tests::script(repository, nextest, &group)?;
        Ok(script.map(|script| (group.machine, script)))
    };
    let groups = guest_tests::groups(repository, scope).into_iter().map(with_script);
    let groups = groups.filter_map(Result::transpose);
    let groups: Vec<_> = groups.collect::<Result<_>>()?;
    std::thread::scope(|scope| {
        let run = |(machine, script): &(VirtualMachine, String)| -> Result<GuestResult> {
            let ended = machine.run(repository, script)?;
            Ok(GuestResult { status: ended.status, report: report::parse(&ended.log) })
        };
        let started: Vec<_> = groups.iter().map(|group| scope.spawn(move || run(group))).collect();
        let ended =
            started.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.collect()
    })
}

/// Runs one command in a virtual machine: `[--disk DIRECTORY] [--clock instructions] COMMAND [ARGUMENT..]`.
pub(crate) fn run_command(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let (machine, command) = parse(arguments)?;
    let ended = machine.run(repository, &shell_join(command))?;
    Ok(TaskResult::from_success(ended.status == 0))
}

fn parse(arguments: &[String]) -> Result<(VirtualMachine, &[String])> {
    let mut machine = VirtualMachine::default();
    let mut rest = arguments;
    loop {
        match rest {
            [option, value, more @ ..] if option == "--disk" => {
                machine.disk = Some(PathBuf::from(value));
                rest = more;
            }
            [option, value, more @ ..] if option == "--clock" => {
                machine.clock = GuestClock::parse(value).with_context(|| {
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
        assert_eq!(
            machine,
            VirtualMachine { disk: Some("/d".into()), clock: GuestClock::Instructions }
        );
        assert_eq!(command, ["ls", "--disk"]);
        for wrong in [&["--clock", "x", "ls"][..], &["--disk", "/d"], &[], &["--fast", "ls"]] {
            let words: Vec<String> = wrong.iter().map(|&word| word.to_owned()).collect();
            assert!(parse(&words).is_err(), "{wrong:?}");
        }
    }
}
