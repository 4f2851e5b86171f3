//! Requirements of a network on an engine, and what is missing of them.

use super::{EngineInfo, EnginePlace};
use crate::product::{EngineProduct, firewall};
use crate::requirement::EngineRequirement;
use bollard::models::{LocalNodeState, SystemInfo};
use tare_network::{FirewallBackend, Requirement, RuntimeName, UnmetRequirement};

impl EnginePlace {
    /// Returns the requirement that this network still has. Returns `None` if it is met already.
    pub fn requirement(&self, want: EngineRequirement) -> Option<Requirement> {
        if let Some(podman) = self.expected_podman() {
            if let EngineRequirement::Kernel(module) = want {
                return Some(Requirement::Kernel { module });
            }
            return podman.requirement(&want).map(Requirement::Unmet);
        }
        let met = match (want, self.info()) {
            (_, Err(missing)) => Err(missing),
            // The kernel of another machine cannot be inspected from here.
            (EngineRequirement::Kernel(module), Ok(_)) => {
                return self.is_local().then_some(Requirement::Kernel { module });
            }
            (EngineRequirement::Program { name, package }, Ok(_)) => {
                return Some(Requirement::Program { name, package });
            }
            (EngineRequirement::Driver(driver), Ok(known)) => check_driver(known, driver),
            (EngineRequirement::ExistingNetwork(name), Ok(known)) => check_network(known, &name),
            (EngineRequirement::LocalRoot, Ok(_)) => self.check_local_root(),
            (EngineRequirement::TwoContexts, Ok(_)) if self.clients_engine.is_some() => Ok(()),
            (EngineRequirement::TwoContexts, Ok(_)) => Err(UnmetRequirement {
                reason: "the network needs two Docker Engines, but only one is given".to_owned(),
                remedy: "use --server-context A --client-context B --nodes 2".to_owned(),
            }),
            (EngineRequirement::SwarmManager, Ok(known)) => check_manager(known),
            (EngineRequirement::Runtime(name), Ok(known)) => check_runtime(&known.info, name),
            (EngineRequirement::IptablesFirewall, Ok(known)) => check_firewall(&known.info),
            (want, Ok(known)) => {
                let podman = known.podman.as_ref();
                return podman?.requirement(&want).map(Requirement::Unmet);
            }
        };
        met.err().map(Requirement::Unmet)
    }

    fn check_local_root(&self) -> Result<(), UnmetRequirement> {
        let missing = |reason: &str, remedy: &str| {
            Err(UnmetRequirement { reason: reason.to_owned(), remedy: remedy.to_owned() })
        };
        if !self.is_local() {
            return missing(
                "the Docker Engine is on another machine, but tare must run on the engine's machine to wire this network",
                "run tare there, or unset DOCKER_HOST and use the context `default`",
            );
        }
        if !rustix::process::geteuid().is_root() {
            return missing(
                "only root may wire a network into Docker containers",
                "run tare as root",
            );
        }
        Ok(())
    }
}

fn check_manager(known: &EngineInfo) -> Result<(), UnmetRequirement> {
    let swarm = known.info.swarm.as_ref();
    let active = swarm.and_then(|swarm| swarm.local_node_state) == Some(LocalNodeState::ACTIVE);
    let missing = |reason: &str, remedy: &str| {
        Err(UnmetRequirement { reason: reason.to_owned(), remedy: remedy.to_owned() })
    };
    match swarm.and_then(|swarm| swarm.control_available) {
        Some(true) => Ok(()),
        _ if firewall::backend(&known.info) == FirewallBackend::Nftables => missing(
            "this Docker Engine is not in a Swarm, which its firewall nftables excludes",
            "start dockerd with --firewall-backend=iptables, then run `docker swarm init --advertise-addr ADDRESS`",
        ),
        _ if active => missing(
            "this Docker Engine is a worker of its Swarm, but only a manager creates services",
            "point DOCKER_HOST at a manager (`docker node ls` works there)",
        ),
        _ => missing(
            "this Docker Engine is not in a Swarm",
            "run `docker swarm init --advertise-addr ADDRESS`, or point DOCKER_HOST at a manager",
        ),
    }
}

/// Checks that the engine knows a runtime.
fn check_runtime(info: &SystemInfo, name: RuntimeName) -> Result<(), UnmetRequirement> {
    let mut runtimes: Vec<&str> = info.runtimes.iter().flatten().map(|(one, _)| &**one).collect();
    if runtimes.contains(&name.as_str()) {
        return Ok(());
    }
    runtimes.sort_unstable();
    Err(UnmetRequirement {
        reason: format!("this engine knows no runtime {name}: it knows {}", runtimes.join(", ")),
        remedy: format!(
            "install {name}, and start dockerd with --add-runtime {name}=PATH (or `runtimes` in daemon.json)"
        ),
    })
}

/// Checks that rules of iptables decide about the packets of the engine's bridges: what they accept, rules of nftables can
/// still drop.
fn check_firewall(info: &SystemInfo) -> Result<(), UnmetRequirement> {
    match firewall::backend(info) {
        FirewallBackend::Iptables => Ok(()),
        FirewallBackend::Nftables => Err(UnmetRequirement {
            reason: "the firewall of this engine is nftables, which drops what the network's rules of iptables let through"
                .to_owned(),
            remedy: "start dockerd with --firewall-backend=iptables, or use docker:macvlan".to_owned(),
        }),
    }
}

fn check_driver(known: &EngineInfo, driver: &str) -> Result<(), UnmetRequirement> {
    let drivers = known.info.plugins.as_ref().and_then(|plugins| plugins.network.as_deref());
    let drivers = drivers.unwrap_or_default();
    if drivers.iter().any(|one| one == driver) {
        return Ok(());
    }
    Err(UnmetRequirement {
        reason: format!(
            "this engine has no network driver {driver}: it has {}",
            drivers.join(", ")
        ),
        remedy: "install a current engine".to_owned(),
    })
}

fn check_network(known: &EngineInfo, name: &str) -> Result<(), UnmetRequirement> {
    if known.networks.iter().any(|one| one == name) {
        return Ok(());
    }
    let product = EngineProduct::from_version(&known.version);
    Err(UnmetRequirement {
        reason: format!("{product} has no network `{name}`: it has {}", known.networks.join(", ")),
        remedy: format!("run `{} network create {name}`", product.client()),
    })
}
