//! Tests of the lab, on the real kernel.
//!
//! A process with a single thread enters a lab once, and starts programs by running its own executable. This program
//! therefore has its own harness. It is all in one: the harness, the lab's hidden subcommands, the programs that run in
//! containers, and each test case, which runs in its own process.

// The whole program is a test: it prints its verdicts, and panics if a check fails.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod cases;
mod cni;
mod congestion;
mod container_programs;
mod control_groups;
mod daemons;
mod docker_rules;
mod ebpf_redirect;
mod encapsulation;
mod exec;
mod harness;
mod inspection;
mod leftovers;
mod links;
mod many_containers;
mod mtu;
mod nodes;
mod other_kernels;
mod paths;
mod rates;
mod scripts;
mod services;
mod user_mode;
mod weave;

use harness::Case;
use libtest_mimic::Arguments;
use std::process::ExitCode;

/// Returns all cases, file by file.
fn all() -> Vec<Case> {
    let files = [
        cases::all(),
        cni::all(),
        congestion::all(),
        many_containers::all(),
        daemons::all(),
        docker_rules::all(),
        ebpf_redirect::all(),
        exec::all(),
        control_groups::all(),
        inspection::all(),
        leftovers::all(),
        links::all(),
        mtu::all(),
        nodes::all(),
        other_kernels::all(),
        paths::all(),
        rates::all(),
        scripts::all(),
        services::all(),
        user_mode::all(),
        weave::all(),
        encapsulation::all(),
    ];
    files.into_iter().flatten().collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["internal", "init"] => ExitCode::from(u8::try_from(tare_sandbox::run_init()).unwrap_or(1)),
        ["internal", "cpu-load"] => tare_lab::burn_cpu(),
        ["internal", "exec", rest @ ..] => {
            let refused = tare_sandbox::exec_with_hosts(rest.iter().map(|&word| word.into()));
            eprintln!("{}", refused.unwrap_err());
            ExitCode::FAILURE
        }
        ["serve", address] => container_programs::serve(address),
        ["dial", address] => container_programs::dial(address),
        ["echo", address] => container_programs::echo(address),
        ["converse", address] => container_programs::converse(address),
        ["idle"] => container_programs::idle(),
        ["answer", address] => container_programs::answer(address),
        ["ask", address] => container_programs::ask(address),
        ["internal", "proxy", rest @ ..] => {
            let ended = tare_lab::run_proxy(rest.iter().map(|&word| word.into()));
            eprintln!("{}", ended.unwrap_err());
            ExitCode::FAILURE
        }
        ["internal", "publish", rest @ ..] => {
            match tare_lab::request_port(rest.iter().map(|&word| word.into())) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::FAILURE
                }
            }
        }
        ["internal", "ebpf-redirect", rest @ ..] => {
            match tare_lab::attach_redirect(rest.iter().map(|&word| word.into())) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::FAILURE
                }
            }
        }
        ["internal", "weave-sleeve", rest @ ..] => {
            let ended = tare_lab::sleeve(rest.iter().map(|&word| word.into()));
            eprintln!("{}", ended.unwrap_err());
            ExitCode::FAILURE
        }
        ["hold"] => leftovers::hold(),
        ["hold-network", name] => user_mode::hold(name),
        ["converse-over", name] => user_mode::converse_over(name),
        ["refuse-network", name] => user_mode::refuse(name),
        ["raise-ovs"] => daemons::raise_ovs(),
        ["raise-flannel"] => daemons::raise_flannel(),
        ["raise-once", name] => cni::raise_once(name),
        ["hold-in", group] => control_groups::hold(group),
        ["swallow", end, address] => rates::swallow(end, address),
        ["pour", end, address] => rates::pour(end, address),
        ["flood", address] => rates::flood(address),
        ["refused"] => {
            cases::refused();
            ExitCode::SUCCESS
        }
        ["case", name] => harness::run_case(&all(), name),
        ["ignored"] => harness::print_ignored(&all()),
        _ => harness::run(&all(), &Arguments::from_args()).exit_code(),
    }
}
