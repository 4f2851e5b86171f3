//! Process that holds an engine, a Swarm or files for all tests of one run: `keeper KIND DIRECTORY RUNNER`.
//!
//! It is started by the first test that needs the resource (`support::shared`) and ends with the test runner.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a keeper that fails fails the test that has started it"
)]

use rustix::process::Pid;
use std::path::Path;
use support::engine::Engine;
use support::engine::release::{Engine29, Iptables, Nftables};
use support::shared::{SharedResource, is_files, keep, keep_files};
use support::swarm::Swarm;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, directory, runner] = arguments.as_slice() else {
        panic!("keeper KIND DIRECTORY RUNNER");
    };
    let runner = runner.parse().ok().and_then(Pid::from_raw).expect("the runner is a process id");
    let directory = Path::new(directory);
    match kind.as_str() {
        Engine::KIND => keep::<Engine>(directory, runner),
        Engine29::<Iptables>::KIND => keep::<Engine29<Iptables>>(directory, runner),
        Engine29::<Nftables>::KIND => keep::<Engine29<Nftables>>(directory, runner),
        Swarm::KIND => keep::<Swarm>(directory, runner),
        files if is_files(files) => keep_files(directory, runner),
        other => panic!("there is no kind {other}"),
    }
}
