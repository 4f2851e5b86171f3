//! Requests of a plan's networks for foreign programs, and the networks that are the user's own.

use crate::catalogue::BuildCatalogue;
use crate::foreign_request::ForeignRequest;
use tare_network::NetworkSpec;
use tare_record::Plan;

/// Networks that the user spelled on the command line, which need no further permission.
#[derive(Debug, Default)]
pub(crate) struct OwnNetworks(Vec<NetworkSpec>);

impl OwnNetworks {
    /// Collects the networks of `--network`, each `[LABEL=]NAME`. A bare label that a study spells is not one of them:
    /// the study says what it means.
    pub(crate) fn from_arguments(texts: &[String]) -> Self {
        let names = texts.iter().map(|text| tare_study::network_name(text));
        Self(names.filter_map(|name| name.parse().ok()).collect())
    }

    /// Returns true if the user spelled such a network. Options that shape its traffic need no permission.
    fn has(&self, network: &NetworkSpec) -> bool {
        self.0.iter().any(|own| {
            own.name == network.name
                && (own.options.unconfined || !network.options.unconfined)
                && (network.options.runtime.is_none()
                    || own.options.runtime == network.options.runtime)
        })
    }
}

/// Returns the requests of a plan's networks, except those that are the user's own.
pub(crate) fn network_requests(
    plan: &Plan,
    own: &OwnNetworks,
    everything: &BuildCatalogue,
) -> Vec<ForeignRequest> {
    let mut requests = Vec::new();
    for entry in &plan.networks {
        let Ok(network) = entry.network.parse::<NetworkSpec>() else { continue };
        if own.has(&network) {
            continue;
        }
        let subject = format!("network {}", entry.network);
        let programs = everything.programs_of_argument(&network);
        let mut actions: Vec<String> =
            programs.into_iter().map(|program| format!("runs {program}")).collect();
        if network.options.unconfined {
            actions.push("leaves out the engine's security profile".to_owned());
        }
        if let Some(runtime) = network.options.runtime {
            actions.push(format!("starts containers by the runtime {runtime}"));
        }
        requests.extend(
            actions.into_iter().map(|action| ForeignRequest { subject: subject.clone(), action }),
        );
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(texts: &[&str]) -> OwnNetworks {
        OwnNetworks::from_arguments(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_label_of_a_study_is_not_a_network_of_the_user() {
        let has = |texts: &[&str], network: &str| own(texts).has(&network.parse().unwrap());
        assert!(has(&["exec:./a"], "exec:./a"));
        assert!(has(&["x=exec:./a"], "exec:./a+without=tso"));
        assert!(!has(&["bridge"], "exec:./payload.sh"));
        assert!(!has(&["exec:./b"], "exec:./a"));
        assert!(!has(&["docker:bridge"], "docker:bridge+unconfined"));
        assert!(has(&["docker:bridge+unconfined"], "docker:bridge"));
        assert!(!has(&["docker:bridge+runtime=runc"], "docker:bridge+runtime=other"));
        assert!(has(&["docker:bridge+runtime=runc"], "docker:bridge"));
    }
}
