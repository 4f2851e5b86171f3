//! Test that nothing is left when tare is killed.

use crate::cases::{enter, site};
use crate::container_programs::start;
use crate::harness::Case;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use tare_dev::{NetworkConfiguration, eventually};
use tare_network::{NetworkRegistry, NetworkSpec, Shape};

pub(crate) fn all() -> Vec<Case> {
    vec![Case::new("sigkill_leaves_nothing", sigkill_leaves_nothing)]
}

/// Raises networks, starts programs in them, prints `up`, and waits to be killed.
pub(crate) fn hold() -> ExitCode {
    let sandbox = enter();
    let registry = NetworkRegistry::new(tare_lab::networks(Some(Arc::clone(&sandbox))));
    let mut held = Vec::new();
    for name in ["bridge", "published", "veth"] {
        let spelled: NetworkSpec = name.parse().expect("a good name");
        let network = registry.find(&spelled).expect("a known network");
        let topology = network.set_up(&Shape::default(), &site(&spelled)).expect("it rises");
        let programs: Vec<_> = topology
            .servers
            .iter()
            .chain(&topology.clients)
            .map(|container| start(container.as_ref(), &["idle"]).0)
            .collect();
        held.push((programs, topology));
    }
    println!("up");
    loop {
        std::thread::park();
    }
}

/// Returns the PIDs of a process and of all its descendants.
pub(crate) fn process_tree(ancestor: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc is there").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process that ends between listing and reading is no leftover.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let after_name = stat.rsplit(") ").next().unwrap_or_default();
        let parent = after_name.split(' ').nth(1).and_then(|field| field.parse::<u32>().ok());
        parents.push((pid, parent.expect("a parent's number")));
    }
    let mut family = vec![ancestor];
    let mut next = 0;
    while let Some(&one) = family.get(next) {
        family.extend(parents.iter().filter(|(_, parent)| *parent == one).map(|(pid, _)| pid));
        next += 1;
    }
    family
}

/// Starts this program so that it raises networks, and returns it when they are up.
pub(crate) fn start_holder(arguments: &[&str]) -> Child {
    let this = std::env::current_exe().expect("this program has a path");
    let mut holder = Command::new(this);
    holder.args(arguments).stdout(Stdio::piped());
    let mut holder = holder.spawn().expect("it starts");
    let mut line = String::new();
    let mut output = BufReader::new(holder.stdout.take().expect("its output is piped"));
    output.read_line(&mut line).expect("it prints");
    assert_eq!(line, "up\n");
    holder
}

fn sigkill_leaves_nothing() {
    let before = NetworkConfiguration::current();
    let mut holder = start_holder(&["hold"]);
    let family = process_tree(holder.id());
    // The processes are the holder itself, the lab's keeper, and two programs in each of three networks.
    assert_eq!(family.len(), 8, "all of it is seen: {family:?}");

    holder.kill().expect("it can be killed");
    holder.wait().expect("it ends");
    eventually("all processes end", || !family.iter().any(|pid| is_running(*pid)));
    assert_eq!(NetworkConfiguration::current(), before);
}

/// Returns true if a process still runs. One that has ended and is not yet reaped does not.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
