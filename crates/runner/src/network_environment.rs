//! Environment of a real run: networks of the registry, agents in their containers, and observation of the machine
//! during each trial.

use crate::environment::{AttemptError, RunEnvironment, RunningNetwork, TurnSetup};
use crate::network_under_test::{MachineWatch, NetworkUnderTest, network_failure, traffic_failure};
use crate::port_allocator::PortAllocator;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tare_agent::AgentSession;
use tare_network::{NetworkParameters, NetworkRegistry, NetworkSpec, NodeKind};
use tare_observe::headroom;
use tare_observe::presence::RunPresence;
use tare_record::{Nanos, NetworkEntry, WorkloadPlan};

/// Environment that raises networks of the registry and runs their trials with agents.
pub struct NetworkEnvironment<'a> {
    networks: &'a NetworkRegistry,
    workloads: &'a tare_traffic::WorkloadRegistry,
    stop: Arc<AtomicBool>,
    machine: Arc<MachineWatch>,
    began: Instant,
    before: Nanos,
    ports: PortAllocator,
    logs: Option<PathBuf>,
    congestion: Option<String>,
}

impl<'a> NetworkEnvironment<'a> {
    /// Creates an environment with these networks and workloads, which stops when `stop` is set. `presence` makes this
    /// run known to other runs; `before` is the time that a resumed run took before it was cut off.
    #[must_use]
    pub fn new(
        networks: &'a NetworkRegistry,
        workloads: &'a tare_traffic::WorkloadRegistry,
        stop: Arc<AtomicBool>,
        presence: RunPresence,
        before: Nanos,
    ) -> Self {
        let machine =
            Arc::new(MachineWatch { presence, headroom: headroom::HeadroomMonitor::start() });
        Self {
            networks,
            workloads,
            stop,
            machine,
            began: Instant::now(),
            before,
            ports: PortAllocator::new(),
            logs: None,
            congestion: None,
        }
    }

    /// Sets the default TCP congestion control of the namespaces that networks make. `None` leaves the kernel's.
    #[must_use]
    pub fn with_congestion(self, name: Option<String>) -> Self {
        Self { congestion: name, ..self }
    }

    /// Sets the directory below which programs that networks start write their logs, one subdirectory for each label.
    #[must_use]
    pub fn with_logs(self, directory: PathBuf) -> Self {
        Self { logs: Some(directory), ..self }
    }

    /// Takes ports for all workloads, one list each. Workloads of the same name use the same ports in turn. Fails if
    /// too few ports are free.
    fn assign_ports(&mut self, workloads: &[WorkloadPlan]) -> Result<Vec<Vec<u16>>, AttemptError> {
        let mut by_name: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
        for plan in workloads {
            if by_name.contains_key(plan.name.as_str()) {
                continue;
            }
            let wanted =
                self.workloads.find(&plan.name).map_or(1, |workload| workload.port_count());
            let ports = self.ports.take(wanted);
            if ports.len() != wanted {
                return Err(no_ports());
            }
            by_name.insert(&plan.name, ports);
        }
        Ok(workloads.iter().map(|plan| by_name[plan.name.as_str()].clone()).collect())
    }
}

/// Returns every port once.
fn distinct_ports(ports: &[Vec<u16>]) -> Vec<u16> {
    ports.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns a label as the name of a directory.
fn file_name(label: &str) -> String {
    let kept =
        |one: char| if one.is_ascii_alphanumeric() || "-+=".contains(one) { one } else { '_' };
    label.chars().map(kept).collect()
}

fn no_ports() -> AttemptError {
    AttemptError::Failed {
        reason: "cannot choose ports for the servers: no port is free".to_owned(),
        remedy: "stop programs that listen on many ports".to_owned(),
    }
}

impl RunEnvironment for NetworkEnvironment<'_> {
    fn set_up(&mut self, scene: &TurnSetup<'_>) -> Result<Box<dyn RunningNetwork>, AttemptError> {
        let spelled: NetworkSpec =
            scene.entry.network.parse().map_err(|error: tare_network::NetworkSpecError| {
                AttemptError::Failed { reason: error.to_string(), remedy: String::new() }
            })?;
        let network = self.networks.find(&spelled).map_err(|error| AttemptError::Failed {
            reason: error.to_string(),
            remedy: "see `tare list networks`".to_owned(),
        })?;
        let ports = self.assign_ports(scene.workloads)?;
        let logs = self.logs.as_ref().map(|logs| logs.join(file_name(&scene.entry.label)));
        let site = NetworkParameters {
            logs,
            congestion: self.congestion.clone(),
            ..NetworkParameters::from_spec(&spelled, distinct_ports(&ports))
        };
        let began = Instant::now();
        let topology = network.set_up(scene.shape, &site).map_err(network_failure)?;
        let raised_in = began.elapsed().into();
        let session =
            AgentSession::with_processes(&topology, scene.shape.processes, self.workloads)
                .map_err(traffic_failure)?;
        Ok(Box::new(NetworkUnderTest {
            session,
            topology,
            setup_time: raised_in,
            on_one_machine: scene.shape.nodes > 1 && network.node_kind() == NodeKind::Namespace,
            ports,
            shape: scene.shape.clone(),
            workloads: scene.workloads.to_vec(),
            stop: Arc::clone(&self.stop),
            machine: Arc::clone(&self.machine),
            sliced: None,
        }))
    }

    fn can_raise_anew(&self, network: &NetworkEntry) -> bool {
        let found = network.network.parse().ok().and_then(|one| self.networks.find(&one).ok());
        found.is_none_or(|network| network.can_be_raised_anew())
    }

    fn elapsed(&self) -> Nanos {
        self.before + Nanos::from(self.began.elapsed())
    }

    fn exclude_pause(&mut self, pause: Duration) {
        self.began += pause;
    }

    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
