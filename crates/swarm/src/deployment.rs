//! Objects that one network makes in a Swarm when it is raised, and removes when it is dropped: networks, and services
//! of one task each, placed on a node by a constraint.

use crate::nodes::SwarmNode;
use crate::session::SwarmSession;
use crate::task_monitor::{self, TaskMonitor};
use crate::task_request::{TaskAttachment, TaskRequest, service_spec};
use crate::task_status;
use crate::tunnel::TaskRelay;
use bollard::models::{ConfigReference, NetworkCreateRequest};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_docker::container_handle::ContainerHandle;
use tare_docker::engine::Engine;
use tare_docker::leftovers::{remove_network, remove_service};
use tare_docker::networks::address::DockerSubnet;
use tare_netns_probe::NetnsSnapshot;
use tare_network::Error;
use tare_network::scaled_timeout;

/// Interval of polling for tasks that connect or end.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Timeout for the tasks of a service to end after its removal.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(30);

/// Everything that one raised network has made in the Swarm. Dropping it removes all of it.
pub(crate) struct SwarmDeployment {
    pub(crate) swarm: Arc<SwarmSession>,
    made: Mutex<DeployedObjects>,
}

#[derive(Default)]
struct DeployedObjects {
    tasks: Vec<task_monitor::NetworkTask>,
    /// Networks, each with the engine that has to remove it.
    networks: Vec<(Arc<Engine>, String)>,
}

impl SwarmDeployment {
    pub(crate) fn new(swarm: Arc<SwarmSession>) -> Self {
        Self { swarm, made: Mutex::default() }
    }

    fn with_deployed<T>(&self, act: impl FnOnce(&mut DeployedObjects) -> T) -> T {
        act(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a network of the Swarm, and returns its name.
    pub(crate) fn create_network(&self, request: NetworkCreateRequest) -> Result<String, Error> {
        let name = self.swarm.resources.unique_name("net");
        self.create_network_on(&Arc::clone(&self.swarm.engine), &name, request)?;
        Ok(name)
    }

    /// Makes a network of the Swarm from a configuration that every node has under one name, and returns the network's
    /// name. Docker refuses labels on such a network; it is found by the label of its configuration.
    pub(crate) fn network_from_configuration(
        &self,
        configuration: &str,
        driver: &str,
    ) -> Result<String, Error> {
        let (engine, name) = (&self.swarm.engine, self.swarm.resources.unique_name("net"));
        let creating = engine.docker().create_network(NetworkCreateRequest {
            name: name.clone(),
            driver: Some(driver.to_owned()),
            scope: Some("swarm".to_owned()),
            attachable: Some(true),
            config_from: Some(ConfigReference { network: Some(configuration.to_owned()) }),
            ..NetworkCreateRequest::default()
        });
        let made =
            engine.request(format!("create a network with the driver {driver}"), creating)?;
        self.with_deployed(|all| all.networks.push((Arc::clone(engine), made.id)));
        Ok(name)
    }

    /// Makes a network of this name on an engine.
    pub(crate) fn create_network_on(
        &self,
        engine: &Arc<Engine>,
        name: &str,
        request: NetworkCreateRequest,
    ) -> Result<(), Error> {
        let driver = request.driver.clone().unwrap_or_default();
        let labels = Some(self.swarm.resources.labels());
        let request = NetworkCreateRequest { name: name.to_owned(), labels, ..request };
        let creating = engine.docker().create_network(request);
        let made =
            engine.request(format!("create a network with the driver {driver}"), creating)?;
        self.with_deployed(|all| all.networks.push((Arc::clone(engine), made.id)));
        Ok(())
    }

    /// Returns the engine of a node. Fails if the user did not name it.
    pub(crate) fn engine_of_node(&self, node: &SwarmNode) -> Result<Arc<Engine>, Error> {
        self.swarm.nodes.engines.get(&node.id).cloned().ok_or_else(|| {
            let what = format!("configure a network on the node {}", node.name);
            let why = "only the node's own engine can do that, but no --engine names this engine";
            Error::new(what, why)
                .with_remedy("name the engine of the node, for example --engine tcp://HOST:PORT")
        })
    }

    /// Takes snapshots of networks by tasks that exist only for that.
    pub(crate) fn take_snapshots(
        &self,
        wanted: &[TaskRequest],
    ) -> Result<Vec<NetnsSnapshot>, Error> {
        let lookers = Self::new(Arc::clone(&self.swarm));
        let made = lookers.create_services(wanted)?;
        lookers.await_tasks(&made)
    }

    /// Makes services of one task each, and returns their containers, in the order requested, when all tasks have
    /// connected.
    pub(crate) fn start_tasks(
        &self,
        wanted: &[TaskRequest],
    ) -> Result<Vec<ContainerHandle>, Error> {
        let made = self.create_services(wanted)?;
        let seen = self.await_tasks(&made)?;
        let all = wanted.iter().zip(&made).zip(&seen);
        all.map(|((one, made), seen)| self.container_of_task(one, made, seen)).collect()
    }

    /// Makes services of one task each.
    fn create_services(
        &self,
        wanted: &[TaskRequest],
    ) -> Result<Vec<task_monitor::NetworkTask>, Error> {
        let mut made = Vec::new();
        for one in wanted {
            let task = self.swarm.resources.unique_name(&one.name);
            let creating = self
                .swarm
                .engine
                .docker()
                .create_service(service_spec(&self.swarm, one, &task), None);
            let created = self
                .swarm
                .engine
                .request(format!("create a service for {}", one.name), creating)?;
            let member = task_monitor::NetworkTask {
                name: one.name.clone(),
                task,
                service: created.id.unwrap_or_default(),
                node: one.node.id.clone(),
            };
            self.with_deployed(|all| all.tasks.push(member.clone()));
            made.push(member);
        }
        Ok(made)
    }

    /// Returns the virtual address of a server's service on a network.
    pub(crate) fn virtual_address(&self, server: usize, network: &str) -> Result<IpAddr, Error> {
        let name = format!("server-{server}");
        let what = format!("find the virtual address of {name}");
        let service = self.with_deployed(|all| {
            all.tasks.iter().find(|one| one.name == name).map(|one| one.service.clone())
        });
        let service =
            service.ok_or_else(|| Error::new(what.clone(), format!("{name} has no service")))?;
        let engine = &self.swarm.engine;
        let found =
            engine.request(what.clone(), engine.docker().inspect_service(&service, None))?;
        let own = self.subnets(network)?;
        let all = found.endpoint.and_then(|endpoint| endpoint.virtual_ips).unwrap_or_default();
        all.iter()
            .filter_map(|one| one.addr.as_deref()?.split('/').next()?.parse().ok())
            .find(|address| own.iter().any(|subnet| subnet.contains(*address)))
            .ok_or_else(|| Error::new(what, "Docker assigned no virtual address on this network"))
    }

    /// Returns all tasks, for the monitor of the network.
    pub(crate) fn task_monitor(&self) -> Arc<TaskMonitor> {
        let all = self.with_deployed(|made| made.tasks.clone());
        Arc::new(TaskMonitor { swarm: Arc::clone(&self.swarm), all })
    }

    /// Describes a task that has connected, with its addresses on the network that it was made for.
    fn container_of_task(
        &self,
        one: &TaskRequest,
        made: &task_monitor::NetworkTask,
        seen: &NetnsSnapshot,
    ) -> Result<ContainerHandle, Error> {
        let (on, addresses) = match &one.attachment {
            TaskAttachment::Host => ("", Vec::new()),
            TaskAttachment::Network(name) => {
                (name.as_str(), self.addresses_on_network(name, seen)?)
            }
            TaskAttachment::TunnelOnly => (GWBRIDGE, seen.uplink_addresses()),
        };
        let relay = Arc::new(TaskRelay { task: made.task.clone() });
        let through = &self.swarm.container;
        Ok(ContainerHandle::through_relay(&one.name, through, relay, on, &addresses))
    }

    /// Returns those addresses of a task that a network gave it.
    fn addresses_on_network(
        &self,
        network: &str,
        seen: &NetnsSnapshot,
    ) -> Result<Vec<IpAddr>, Error> {
        let own = self.subnets(network)?;
        if !own.is_empty() {
            return Ok(filter_addresses(&seen.addresses, |one| {
                own.iter().any(|subnet| subnet.contains(one))
            }));
        }
        // If a network reports no subnets, its addresses are those that belong to no other network of the task.
        let mut others = self.subnets(&self.swarm.network)?;
        others.extend(self.subnets(GWBRIDGE).unwrap_or_default());
        Ok(filter_addresses(&seen.addresses, |one| {
            !others.iter().any(|subnet| subnet.contains(one))
        }))
    }

    /// Returns the subnets of a network that its manager reports; an empty list if it reports none.
    pub(crate) fn subnets(&self, network: &str) -> Result<Vec<DockerSubnet>, Error> {
        let engine = &self.swarm.engine;
        let inspecting = engine.docker().inspect_network(network, None);
        let inspected = engine.request(format!("inspect the network {network}"), inspecting)?;
        let configured = inspected.ipam.and_then(|ipam| ipam.config).into_iter().flatten();
        Ok(configured.filter_map(|config| DockerSubnet::parse(&config.subnet?)).collect())
    }
}

/// Docker's name of the bridge by which tasks reach destinations outside their overlays.
pub(crate) const GWBRIDGE: &str = "docker_gwbridge";

fn filter_addresses(addresses: &[IpAddr], are: impl Fn(IpAddr) -> bool) -> Vec<IpAddr> {
    addresses.iter().copied().filter(|one| are(*one)).collect()
}

impl Drop for SwarmDeployment {
    fn drop(&mut self) {
        let DeployedObjects { tasks, networks } = self.with_deployed(std::mem::take);
        let SwarmSession { engine, run, registry: roll, .. } = self.swarm.as_ref();
        // Objects that cannot be removed now are tried once more at the end of the run, which then reports a failure.
        for one in &tasks {
            let _ = engine.wait(remove_service(engine.docker(), &one.service));
        }
        let deadline = Instant::now() + scaled_timeout(REMOVAL_TIMEOUT);
        let is_there = || {
            task_status::list_tasks(engine, run).is_ok_and(|accounts| {
                accounts.iter().any(|one| tasks.iter().any(|task| task.service == one.service))
            })
        };
        while !tasks.is_empty() && is_there() && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        tasks.iter().for_each(|one| roll.forget(&one.task));
        for (engine, network) in networks.into_iter().rev() {
            let _ = engine.wait(remove_network(engine.docker(), &network));
        }
    }
}
