//! Tests of the control group of the lab's programs, and of its removal.
//!
//! Only root may create groups at the root of the hierarchy, and in a container not even root.

use crate::cases::{enter_with, output, raise};
use crate::container_programs::start;
use crate::harness::{Case, CaseRequirement};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use tare_dev::eventually;
use tare_network::Shape;
use tare_sandbox::EnterOptions;

pub(crate) fn all() -> Vec<Case> {
    let cases = [
        Case::new("programs_run_in_the_control_group", programs_run_in_it),
        Case::new("sigkill_leaves_no_control_group", sigkill_leaves_none),
    ];
    let may = CaseRequirement::Condition(may_be_made, "a control group of one's own");
    cases.into_iter().map(|case| case.needing(may.clone())).collect()
}

/// Returns true if this user may create a control group.
fn may_be_made() -> bool {
    ControlGroup::make("may").is_ok()
}

/// Control group of this test, removed with the value.
struct ControlGroup(PathBuf);

impl ControlGroup {
    fn make(name: &str) -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("/proc is there");
        let tree = mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let place = fields.next()?;
            (fields.next() == Some("cgroup2")).then_some(place)
        });
        let tree = tree.ok_or_else(|| io::Error::other("no tree of control groups is mounted"))?;
        let directory = Path::new(tree).join(format!("tare-lab-{name}-{}", std::process::id()));
        fs::create_dir(&directory)?;
        Ok(Self(directory))
    }

    fn members(&self) -> usize {
        let members = fs::read_to_string(self.0.join("cgroup.procs")).expect("it lists them");
        members.lines().count()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // The lab's keeper has removed it, unless a case has failed.
        let _ = fs::remove_dir(&self.0);
    }
}

fn options(directory: &Path) -> EnterOptions {
    EnterOptions { control_group: Some(directory.to_owned()), ..EnterOptions::default() }
}

fn programs_run_in_it() {
    let group = ControlGroup::make("run").expect("this user may make one");
    let sandbox = enter_with(options(&group.0));
    let topology = raise(&sandbox, "loopback", &Shape::default());
    let name = group.0.file_name().and_then(|name| name.to_str()).expect("a name");
    let client = topology.clients[0].as_ref();
    let place = output(client, Path::new("/bin/cat"), &["/proc/self/cgroup"]);
    assert!(place.lines().any(|line| line == format!("0::/{name}")), "{place}");
    let idle = start(client, &["idle"]);
    assert_eq!(group.members(), 1, "the program, and not the keeper");
    drop((idle, topology));
    drop(sandbox);
    assert!(!group.0.exists(), "the keeper has removed it");
}

/// Enters a lab with this group, starts programs, prints `up`, and waits to be killed.
pub(crate) fn hold(directory: &str) -> ExitCode {
    let sandbox = enter_with(options(Path::new(directory)));
    let topology = raise(&sandbox, "loopback", &Shape::default());
    let _programs = [&topology.servers[0], &topology.clients[0]]
        .map(|container| start(container.as_ref(), &["idle"]));
    println!("up");
    loop {
        std::thread::park();
    }
}

fn sigkill_leaves_none() {
    let group = ControlGroup::make("killed").expect("this user may make one");
    let this = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(this);
    command.arg("hold-in").arg(&group.0).stdout(Stdio::piped());
    let mut holder = command.spawn().expect("it starts");
    let mut line = String::new();
    let mut output = BufReader::new(holder.stdout.take().expect("its output is piped"));
    output.read_line(&mut line).expect("it prints");
    let members = group.members();
    holder.kill().expect("it can be killed");
    holder.wait().expect("it ends");
    assert_eq!((line.as_str(), members), ("up\n", 2));
    eventually("the group is gone", || !group.0.exists());
}
