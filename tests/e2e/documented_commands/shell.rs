//! Shell that runs a script with stand-ins for all programs, and tells what the script would have run. Quotes,
//! continued lines, comments and redirections are therefore the shell's own.

use std::path::Path;
use support::ScratchDirectory;
use support::program::{RunningProgram, User, tied_command};

/// Stand-in for a program: it writes down its name and arguments, with their number first.
const STAND_IN: &str = "#!/bin/sh\nprintf '%s\\0' \"$#\" \"${0##*/}\" \"$@\" >>\"$TARE_CALLS\"\n";

/// Program that a script runs, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

/// Shell whose `PATH` has stand-ins only.
pub(super) struct Shell {
    scratch: ScratchDirectory,
}

impl Shell {
    /// Makes a shell for scripts that run these programs and no others.
    pub(super) fn with_stand_ins<'a>(programs: impl Iterator<Item = &'a str>) -> Self {
        let scratch = ScratchDirectory::new();
        scratch.create_directory("bin", None);
        scratch.create_directory("work", None);
        for program in programs {
            scratch.write_program(&format!("bin/{program}"), STAND_IN);
        }
        Self { scratch }
    }

    /// Returns the calls of a script, or the reason why the shell refuses it.
    pub(super) fn calls(&self, script: &str) -> Result<Vec<Call>, String> {
        let written = self.scratch.path("calls");
        std::fs::write(&written, "").expect("a file");
        // The program that starts the shell is found by the test's own PATH, and everything in the script by this one.
        let script = format!("PATH='{}'\n{script}", self.scratch.path("bin").display());
        let mut command = tied_command(User::Caller, Path::new("/bin/sh"));
        command
            .args(["-euc", &script])
            .current_dir(self.scratch.path("work"))
            .env("TARE_CALLS", &written);
        let outcome = RunningProgram::spawn(&mut command).wait();
        if outcome.code != Some(0) {
            return Err(outcome.stderr.trim().to_owned());
        }
        Ok(parse(&std::fs::read_to_string(&written).expect("the calls")))
    }
}

/// Parses the notes of stand-ins.
fn parse(notes: &str) -> Vec<Call> {
    let mut words = notes.split_terminator('\0');
    let mut calls = Vec::new();
    while let Some(count) = words.next() {
        let count = count.parse().expect("a number of arguments");
        let program = words.next().expect("a program").to_owned();
        calls.push(Call {
            program,
            arguments: words.by_ref().take(count).map(str::to_owned).collect(),
        });
    }
    calls
}
