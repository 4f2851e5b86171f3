//! Tests in virtual machines: the tests of each machine, and the script that runs them.

use super::machine::{GuestClock, VirtualMachine};
use crate::nextest::Nextest;
use crate::process;
use crate::repository::Repository;
use crate::shell_quote::{shell_join, shell_quote};
use crate::system_lane::GuestScope;
use anyhow::{Context, Result};
use serde::Deserialize;

/// Tests of a binary, chosen by a part of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GuestTestFilter {
    /// Tests of the binary `vm` of tare-tests, all of which are marked as ignored.
    Command(&'static str),
    /// Tests of the lab. All modules that networks need are loaded first.
    Lab(&'static str),
}

use GuestTestFilter::{Command, Lab};

/// Tests of the networks that this machine does not support, which run in the guest.
const NETWORKS: GuestTestFilter = Command("networks::");

/// Tests of a machine without other tests before: no module is loaded. Then those of the lab, which take as long as the
/// other machine's.
const MODULES: [GuestTestFilter; 5] = [
    Command("modules::"),
    Lab("of_other_kernels"),
    Lab("open_vswitch"),
    Lab("weave_is"),
    Lab("sigkill_leaves_no_daemon"),
];

/// Whole studies, which take many minutes.
const STUDIES: [GuestTestFilter; 1] = [Command("studies::")];

/// Engine tests, in a machine with a slow clock: Docker Engine has internal time limits, and a Swarm has 20 s to attach
/// a container, which takes longer under emulation.
const ENGINES: [GuestTestFilter; 2] = [Command("docker::"), Command("swarm::")];

/// Tests that share a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestGroup {
    /// Virtual machine of the group.
    pub(super) machine: VirtualMachine,
    tests: Vec<GuestTestFilter>,
}

/// Returns the groups of a scope.
pub(super) fn groups(repository: &Repository, scope: GuestScope) -> Vec<TestGroup> {
    let with = |tests: &[GuestTestFilter]| TestGroup {
        machine: VirtualMachine::default(),
        tests: tests.to_vec(),
    };
    match scope {
        GuestScope::Short => vec![with(&MODULES), with(&[NETWORKS])],
        GuestScope::Long => {
            // Docker Engine's programs are large. If they are on the PATH, this directory does not exist.
            let disk = Some(repository.path("target/docker")).filter(|disk| disk.is_dir());
            let machine = VirtualMachine { disk, clock: GuestClock::Instructions };
            let engines = TestGroup { machine, tests: ENGINES.to_vec() };
            vec![with(&[&MODULES[..], &STUDIES].concat()), with(&[NETWORKS]), engines]
        }
    }
}

/// Programs and names used by the script.
struct ScriptParts {
    tare: String,
    built_programs: String,
    command_tests: String,
    lab_tests: String,
    /// Networks that this machine does not support.
    networks: Vec<String>,
}

/// Writes the shell script that runs a group's tests: all of them, even after a failure. Returns `None` if there are none.
pub(super) fn script(
    repository: &Repository,
    nextest: &Nextest<'_>,
    group: &TestGroup,
) -> Result<Option<String>> {
    let binary = |package: &str, name: &str| -> Result<String> {
        Ok(nextest.binary(package, name)?.display().to_string())
    };
    let parts = ScriptParts {
        tare: repository.tare().display().to_string(),
        built_programs: repository.built_programs().display().to_string(),
        command_tests: binary("tare-tests", "vm")?,
        lab_tests: binary("tare-lab", "lab")?,
        networks: missing_networks(repository)?,
    };
    if parts.networks.is_empty() && group.tests.contains(&NETWORKS) {
        eprintln!("this machine can carry every network: all of them are tested on it");
    }
    Ok(parts.script(&group.tests))
}

impl ScriptParts {
    fn script(&self, tests: &[GuestTestFilter]) -> Option<String> {
        let is_there = |tests: &&GuestTestFilter| **tests != NETWORKS || !self.networks.is_empty();
        let tests: Vec<&GuestTestFilter> = tests.iter().filter(is_there).collect();
        if tests.is_empty() {
            return None;
        }
        let mut lines = vec![
            format!("PATH=\"$PATH\":{}:/usr/sbin:/sbin", shell_quote(&self.built_programs)),
            format!("TARE_BINARY={}", shell_quote(&self.tare)),
            format!("TARE_VM_NETWORKS={}", shell_quote(&self.networks.join(","))),
            "export PATH TARE_BINARY TARE_VM_NETWORKS".to_owned(),
            "failed=0".to_owned(),
        ];
        for tests in tests {
            self.push(&mut lines, *tests);
        }
        lines.push("[ \"$failed\" = 0 ]".to_owned());
        Some(lines.join("\n"))
    }

    fn push(&self, lines: &mut Vec<String>, tests: GuestTestFilter) {
        let command = match tests {
            Command(filter) => {
                let options = ["--ignored", "--nocapture", "--test-threads", "1"];
                shell_join([&self.command_tests, filter].into_iter().chain(options))
            }
            Lab(filter) => {
                let tare = shell_quote(&self.tare);
                lines.push(format!("{tare} doctor --modules | xargs -r modprobe -a || true"));
                shell_join([&self.lab_tests, filter, "--test-threads", "1"])
            }
        };
        lines.push(format!("{command} || failed=1"));
    }
}

#[derive(Deserialize)]
struct NetworkListing {
    networks: Vec<ListedNetwork>,
}

#[derive(Deserialize)]
struct ListedNetwork {
    name: String,
    available: bool,
}

fn missing_networks(repository: &Repository) -> Result<Vec<String>> {
    let mut tare = repository.command(repository.tare());
    missing_of_listing(&process::output(tare.args(["list", "networks", "--json"]))?)
}

/// Returns the lab's networks that are not available. A name with a colon belongs to another kind of place, or needs an
/// argument.
fn missing_of_listing(listing: &str) -> Result<Vec<String>> {
    let listing: NetworkListing = serde_json::from_str(listing)
        .context("cannot read the output of `tare list networks --json`")?;
    let missing = listing.networks.into_iter().filter(|one| !one.available);
    Ok(missing.map(|one| one.name).filter(|name| !name.contains(':')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(networks: &[&str]) -> ScriptParts {
        ScriptParts {
            tare: "/r/it's/tare".to_owned(),
            built_programs: "/r/bin".to_owned(),
            command_tests: "/r/vm-1".to_owned(),
            lab_tests: "/r/lab-1".to_owned(),
            networks: networks.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn all_tests_run_and_any_failure_counts() {
        assert_eq!(
            parts(&["ovs", "vrf"]).script(&[NETWORKS, Lab("weave_is")]).unwrap(),
            "PATH=\"$PATH\":/r/bin:/usr/sbin:/sbin\n\
             TARE_BINARY='/r/it'\\''s/tare'\n\
             TARE_VM_NETWORKS=ovs,vrf\n\
             export PATH TARE_BINARY TARE_VM_NETWORKS\n\
             failed=0\n\
             /r/vm-1 networks:: --ignored --nocapture --test-threads 1 || failed=1\n\
             '/r/it'\\''s/tare' doctor --modules | xargs -r modprobe -a || true\n\
             /r/lab-1 weave_is --test-threads 1 || failed=1\n\
             [ \"$failed\" = 0 ]"
        );
    }

    #[test]
    fn without_missing_networks_their_test_is_left_out() {
        assert_eq!(parts(&[]).script(&[NETWORKS]), None, "no machine is started for them");
        let both = parts(&[]).script(&[&[NETWORKS], &MODULES[..]].concat()).unwrap();
        assert!(both.contains("modules::") && !both.contains("networks::"), "{both}");
    }

    #[test]
    fn engines_have_a_machine_of_their_own() {
        let repository = Repository::find().unwrap();
        assert_eq!(groups(&repository, GuestScope::Short).len(), 2);
        let long = groups(&repository, GuestScope::Long);
        assert_eq!(long[0].tests.last(), Some(&Command("studies::")));
        assert_eq!(long[1].tests, [NETWORKS]);
        assert_eq!(long[2].machine.clock, GuestClock::Instructions);
    }

    #[test]
    fn missing_networks_are_the_labs() {
        let listing = r#"{"networks": [{"name": "veth", "available": true}, {"name": "ovs", "available": false},
            {"name": "docker:bridge", "available": false}]}"#;
        assert_eq!(missing_of_listing(listing).unwrap(), ["ovs"]);
    }
}
