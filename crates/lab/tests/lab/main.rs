//! The lab's tests, on the real kernel.
//!
//! A lab is entered once, by a process with a single thread, and starts programs by running that process's own
//! executable. So this program has a harness of its own: it is at once the harness, the lab's hidden subcommands, the programs
//! that run in containers, and each test case, in a process of its own.

// The whole program is a test: it prints its verdicts, and panics where something is not as it should be.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod actors;
mod cases;
mod cni;
mod crowds;
mod daemons;
mod exec;
mod groups;
mod harness;
mod leftovers;
mod mtu;
mod nodes;
mod other_kernels;
mod paths;
mod rates;
mod scripts;
mod weave;
mod wrapping;

use harness::Case;
use libtest_mimic::Arguments;
use std::process::ExitCode;

/// All cases, file by file.
fn all() -> Vec<Case> {
    let files = [
        cases::all(),
        cni::all(),
        crowds::all(),
        daemons::all(),
        exec::all(),
        groups::all(),
        leftovers::all(),
        mtu::all(),
        nodes::all(),
        other_kernels::all(),
        paths::all(),
        rates::all(),
        scripts::all(),
        weave::all(),
        wrapping::all(),
    ];
    files.into_iter().flatten().collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["keeper"] => ExitCode::from(u8::try_from(tare_lab::keeper()).unwrap_or(1)),
        ["burn"] => tare_lab::burn(),
        ["inside", rest @ ..] => {
            let refused = tare_lab::inside(rest.iter().map(|&word| word.into()));
            eprintln!("{}", refused.unwrap_err());
            ExitCode::FAILURE
        }
        ["serve", address] => actors::serve(address),
        ["dial", address] => actors::dial(address),
        ["idle"] => actors::idle(),
        ["answer", address] => actors::answer(address),
        ["ask", address] => actors::ask(address),
        ["proxy", rest @ ..] => {
            let ended = tare_lab::proxy(rest.iter().map(|&word| word.into()));
            eprintln!("{}", ended.unwrap_err());
            ExitCode::FAILURE
        }
        ["sleeve", rest @ ..] => {
            let ended = tare_lab::sleeve(rest.iter().map(|&word| word.into()));
            eprintln!("{}", ended.unwrap_err());
            ExitCode::FAILURE
        }
        ["hold"] => leftovers::hold(),
        ["hold-daemons"] => daemons::hold(),
        ["raise-ovs"] => daemons::raise_ovs(),
        ["raise-flannel"] => daemons::raise_flannel(),
        ["raise-once", name] => cni::raise_once(name),
        ["hold-in", group] => groups::hold(group),
        ["swallow", end, address] => rates::swallow(end, address),
        ["pour", end, address] => rates::pour(end, address),
        ["refused"] => {
            cases::refused();
            ExitCode::SUCCESS
        }
        ["case", name] => harness::run_case(&all(), name),
        ["ignored"] => harness::print_ignored(&all()),
        _ => harness::run(&all(), &Arguments::from_args()).exit_code(),
    }
}
