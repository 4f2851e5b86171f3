//! Workloads whose programs used different congestion controls over different networks.
//!
//! A program that chooses none has the default of its network namespace. tare gives every namespace that it makes one
//! default, but a network in a namespace of others (the host's, a pod's) keeps what is there.

use std::collections::BTreeSet;
use tare_record::finding::{MixedCongestion, NetworksUnderControl};
use tare_record::{Finding, Parameters, Plan, Trial};

/// Name of the parameter in which a trial records the congestion control in force.
pub(crate) const CONGESTION: &str = "congestion";

/// The same of the servers, if theirs is another one.
const SERVER_CONGESTION: &str = "server_congestion";

/// Returns a finding for every workload without a planned control that had several, each with its networks.
pub(crate) fn mixed_congestion(plan: &Plan, trials: &[&Trial]) -> Vec<Finding> {
    let chooses_none = |name: &&str| {
        let mut of_name = plan.workloads.iter().filter(|one| one.name == **name);
        of_name.all(|one| !one.parameters.contains_key(CONGESTION))
    };
    let names: BTreeSet<&str> = plan.workloads.iter().map(|one| one.name.as_str()).collect();
    names
        .into_iter()
        .filter(chooses_none)
        .filter_map(|workload| {
            let controls = networks_by_control(workload, plan, trials);
            let workload = workload.to_owned();
            (controls.len() > 1)
                .then_some(Finding::MixedCongestion(MixedCongestion { workload, controls }))
        })
        .collect()
}

/// Returns the controls that a workload had, each with its networks, both in the order of the plan's networks.
fn networks_by_control(
    workload: &str,
    plan: &Plan,
    trials: &[&Trial],
) -> Vec<NetworksUnderControl> {
    let mut all: Vec<NetworksUnderControl> = Vec::new();
    for entry in &plan.networks {
        let own = |trial: &&&Trial| trial.label == entry.label && trial.workload == workload;
        let in_force = trials.iter().filter(own).filter_map(|trial| control(&trial.parameters));
        for control in in_force.collect::<BTreeSet<String>>() {
            match all.iter_mut().find(|one| one.control == control) {
                Some(known) => known.networks.push(entry.label.clone()),
                None => {
                    let networks = vec![entry.label.clone()];
                    all.push(NetworksUnderControl { control, networks });
                }
            }
        }
    }
    all
}

/// Returns the control in force at the client and, where it differs, at the server.
fn control(parameters: &Parameters) -> Option<String> {
    let word = |name: &str| parameters.get(name).and_then(|value| value.as_str());
    let client = word(CONGESTION)?;
    Some(match word(SERVER_CONGESTION) {
        Some(server) => format!("{client} (server: {server})"),
        None => client.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{plan, trial, workload};
    use tare_record::Metric;

    /// Returns a trial over this network with these parameters in force.
    fn trial_under(label: &str, parameters: &[(&str, &str)]) -> Trial {
        let pairs = parameters.iter().map(|&(name, value)| (name.to_owned(), value.into()));
        Trial { parameters: pairs.collect(), ..trial(label, 0, &[1]) }
    }

    fn found(planned: Option<&str>, trials: &[Trial]) -> Vec<Finding> {
        let mut stream = workload("tcp-stream", &[Metric::Throughput]);
        stream.parameters.extend(planned.map(|name| (CONGESTION.to_owned(), name.into())));
        let plan = plan(&["native", "host", "bridge"], vec![stream]);
        mixed_congestion(&plan, &trials.iter().collect::<Vec<_>>())
    }

    #[test]
    fn networks_whose_programs_had_another_control_are_named() {
        let with = |label, control| trial_under(label, &[(CONGESTION, control)]);
        let mixed = [with("bridge", "cubic"), with("native", "bbr"), with("host", "cubic")];
        let under = |control: &str, networks: &[&str]| NetworksUnderControl {
            control: control.to_owned(),
            networks: networks.iter().map(|&one| one.to_owned()).collect(),
        };
        let controls = vec![under("bbr", &["native"]), under("cubic", &["host", "bridge"])];
        let workload = "tcp-stream".to_owned();
        assert_eq!(
            found(None, &mixed),
            [Finding::MixedCongestion(MixedCongestion { workload, controls })]
        );
        // What was planned was set by the program itself.
        assert_eq!(found(Some("cubic"), &mixed), []);
        assert_eq!(found(None, &mixed[..1]), []);
        assert_eq!(found(None, &[with("host", "cubic"), trial_under("bridge", &[])]), []);
    }

    #[test]
    fn a_server_s_control_tells_networks_apart_too() {
        let both = [(CONGESTION, "bbr"), (SERVER_CONGESTION, "cubic")];
        let trials = [trial_under("host", &both), trial_under("bridge", &both[..1])];
        let found = found(None, &trials);
        let [Finding::MixedCongestion(MixedCongestion { controls, .. })] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(controls[0].control, "bbr (server: cubic)");
        assert_eq!(controls[1].to_string(), "bbr over bridge");
    }
}
