//! What one network makes in a Swarm while it is raised, and takes away when it is dropped: services of one task each,
//! held on a node by a constraint, and networks.

use super::account;
use super::members::Member;
use super::relay::Swarm;
use super::tasks::{self, Tasks};
use super::wanted::{On, Wanted, service};
use crate::engine::Engine;
use crate::leftovers::{remove_network, remove_service};
use crate::look::Seen;
use crate::networks::address::Subnet;
use crate::patience::patience;
use crate::work::Running;
use bollard::models::{ConfigReference, NetworkCreateRequest};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_network::Error;

/// How often is looked who has come, or gone.
pub(super) const TICK: Duration = Duration::from_millis(100);

/// How long the tasks of a service may take to go when it is removed.
const GOING: Duration = Duration::from_secs(30);

/// Everything that one raised network made. Dropping it removes all of it.
pub(super) struct Crew {
    pub(super) swarm: Arc<Swarm>,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    tasks: Vec<tasks::Member>,
    /// Networks, with the engine that each is to be removed from.
    networks: Vec<(Arc<Engine>, String)>,
}

impl Crew {
    pub(super) fn new(swarm: Arc<Swarm>) -> Self {
        Self { swarm, made: Mutex::default() }
    }

    fn made<T>(&self, act: impl FnOnce(&mut Made) -> T) -> T {
        act(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a network of the Swarm's; returns its name.
    pub(super) fn network(&self, request: NetworkCreateRequest) -> Result<String, Error> {
        let name = self.swarm.work.unique("net");
        self.network_on(&Arc::clone(&self.swarm.engine), &name, request)?;
        Ok(name)
    }

    /// Makes a network of the Swarm's from what every node has configured under a name; returns its own. Docker refuses it
    /// a label: it is known by its configuration's.
    pub(super) fn network_of(&self, configuration: &str, driver: &str) -> Result<String, Error> {
        let (engine, name) = (&self.swarm.engine, self.swarm.work.unique("net"));
        let creating = engine.docker().create_network(NetworkCreateRequest {
            name: name.clone(),
            driver: Some(driver.to_owned()),
            scope: Some("swarm".to_owned()),
            attachable: Some(true),
            config_from: Some(ConfigReference { network: Some(configuration.to_owned()) }),
            ..NetworkCreateRequest::default()
        });
        let made = engine.get(format!("create a network by the driver {driver}"), creating)?;
        self.made(|all| all.networks.push((Arc::clone(engine), made.id)));
        Ok(name)
    }

    /// Makes a network of this name on an engine.
    pub(super) fn network_on(
        &self,
        engine: &Arc<Engine>,
        name: &str,
        request: NetworkCreateRequest,
    ) -> Result<(), Error> {
        let driver = request.driver.clone().unwrap_or_default();
        let labels = Some(self.swarm.work.labels());
        let request = NetworkCreateRequest { name: name.to_owned(), labels, ..request };
        let creating = engine.docker().create_network(request);
        let made = engine.get(format!("create a network by the driver {driver}"), creating)?;
        self.made(|all| all.networks.push((Arc::clone(engine), made.id)));
        Ok(())
    }

    /// The engine of a node, where it was named.
    pub(super) fn engine(&self, node: &Member) -> Result<Arc<Engine>, Error> {
        self.swarm.members.engines.get(&node.id).cloned().ok_or_else(|| {
            let what = format!("configure a network on the node {}", node.name);
            Error::new(what, "only its own engine takes that, and it was not named")
                .with_remedy("name it, as in --engine tcp://HOST:PORT")
        })
    }

    /// What tasks see of their networks; they are there only for that.
    pub(super) fn look(&self, wanted: &[Wanted]) -> Result<Vec<Seen>, Error> {
        let lookers = Self::new(Arc::clone(&self.swarm));
        let made = lookers.make(wanted)?;
        lookers.wait(&made)
    }

    /// Makes services of one task each, and returns when all tasks have come home; in order.
    pub(super) fn tasks(&self, wanted: &[Wanted]) -> Result<Vec<Running>, Error> {
        let made = self.make(wanted)?;
        let seen = self.wait(&made)?;
        let all = wanted.iter().zip(&made).zip(&seen);
        all.map(|((one, made), seen)| self.running(one, made, seen)).collect()
    }

    /// Makes services.
    fn make(&self, wanted: &[Wanted]) -> Result<Vec<tasks::Member>, Error> {
        let mut made = Vec::new();
        for one in wanted {
            let task = self.swarm.work.unique(&one.name);
            let creating =
                self.swarm.engine.docker().create_service(service(&self.swarm, one, &task), None);
            let created =
                self.swarm.engine.get(format!("create a service for {}", one.name), creating)?;
            let member = tasks::Member {
                name: one.name.clone(),
                task,
                service: created.id.unwrap_or_default(),
                node: one.node.id.clone(),
            };
            self.made(|all| all.tasks.push(member.clone()));
            made.push(member);
        }
        Ok(made)
    }

    /// The address by which a server's service is reached on a network.
    pub(super) fn virtual_address(&self, server: usize, network: &str) -> Result<IpAddr, Error> {
        let name = format!("server-{server}");
        let what = format!("find the virtual address of {name}");
        let service = self.made(|all| {
            all.tasks.iter().find(|one| one.name == name).map(|one| one.service.clone())
        });
        let service = service.ok_or_else(|| Error::new(what.clone(), "it has no service"))?;
        let engine = &self.swarm.engine;
        let found = engine.get(what.clone(), engine.docker().inspect_service(&service, None))?;
        let own = self.subnets(network)?;
        let all = found.endpoint.and_then(|endpoint| endpoint.virtual_ips).unwrap_or_default();
        all.iter()
            .filter_map(|one| one.addr.as_deref()?.split('/').next()?.parse().ok())
            .find(|address| own.iter().any(|subnet| subnet.contains(*address)))
            .ok_or_else(|| Error::new(what, "Docker gave it none on this network"))
    }

    /// All tasks, for whoever looks after them.
    pub(super) fn all(&self) -> Arc<Tasks> {
        let all = self.made(|made| made.tasks.clone());
        Arc::new(Tasks { swarm: Arc::clone(&self.swarm), all })
    }

    /// A task that has come, with its addresses on the network that it was made for.
    fn running(&self, one: &Wanted, made: &tasks::Member, seen: &Seen) -> Result<Running, Error> {
        let (on, addresses) = match &one.on {
            On::Host => ("", Vec::new()),
            On::Network(name) => (name.as_str(), self.addresses(name, seen)?),
            On::Home => (GATEWAY, seen.by_uplink()),
        };
        Ok(Running::task(&one.name, &self.swarm.container.id, &made.task, on, &addresses))
    }

    /// Those of a task's addresses that a network gave it.
    fn addresses(&self, network: &str, seen: &Seen) -> Result<Vec<IpAddr>, Error> {
        let own = self.subnets(network)?;
        if !own.is_empty() {
            return Ok(within(&seen.addresses, |one| {
                own.iter().any(|subnet| subnet.contains(one))
            }));
        }
        // A network that says nothing of its addresses gave the ones that nobody else did.
        let mut others = self.subnets(&self.swarm.network)?;
        others.extend(self.subnets(GATEWAY).unwrap_or_default());
        Ok(within(&seen.addresses, |one| !others.iter().any(|subnet| subnet.contains(one))))
    }

    /// The subnets of a network, where its manager knows them.
    pub(super) fn subnets(&self, network: &str) -> Result<Vec<Subnet>, Error> {
        let engine = &self.swarm.engine;
        let inspecting = engine.docker().inspect_network(network, None);
        let inspected = engine.get(format!("inspect the network {network}"), inspecting)?;
        let configured = inspected.ipam.and_then(|ipam| ipam.config).into_iter().flatten();
        Ok(configured.filter_map(|config| Subnet::parse(&config.subnet?)).collect())
    }
}

/// What Docker calls the bridge by which tasks reach the world beyond their overlays.
pub(super) const GATEWAY: &str = "docker_gwbridge";

fn within(addresses: &[IpAddr], are: impl Fn(IpAddr) -> bool) -> Vec<IpAddr> {
    addresses.iter().copied().filter(|one| are(*one)).collect()
}

impl Drop for Crew {
    fn drop(&mut self) {
        let Made { tasks, networks } = self.made(std::mem::take);
        let Swarm { engine, run, roll, .. } = self.swarm.as_ref();
        // What cannot be removed now is tried once more when the run ends, which then says so.
        for one in &tasks {
            let _ = engine.wait(remove_service(engine.docker(), &one.service));
        }
        let deadline = Instant::now() + patience(GOING);
        let is_there = || {
            account::of_run(engine, run).is_ok_and(|accounts| {
                accounts.iter().any(|one| tasks.iter().any(|task| task.service == one.service))
            })
        };
        while !tasks.is_empty() && is_there() && Instant::now() < deadline {
            std::thread::sleep(TICK);
        }
        tasks.iter().for_each(|one| roll.forget(&one.task));
        for (engine, network) in networks.into_iter().rev() {
            let _ = engine.wait(remove_network(engine.docker(), &network));
        }
    }
}
