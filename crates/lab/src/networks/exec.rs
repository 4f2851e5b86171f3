//! `exec:PATH`: a network that a program of the user's raises and removes. docs/EXEC.md is the contract.

use super::foreign::{Built, Ground, entered};
use crate::lab::Lab;
use crate::layout::{Endpoint, Layout, Waypoint, routes};
use crate::namespace::Namespace;
use crate::nodes::UPLINK;
use crate::programs::{Log, Station};
use crate::shell;
use crate::wiring::{SpaceId, Wiring};
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tare_network::{
    About, Error, Family, Hop, HopKind, Missing, Need, Network, Shape, Site, Topology,
};

pub(super) struct Exec {
    pub(super) lab: Option<Arc<Lab>>,
}

/// The version of the contract.
const VERSION: u32 = 1;

/// The directories that the program finds empty: it may itself be below /tmp.
const PRIVATE: [&str; 1] = ["/run"];

/// What the program reads.
#[derive(Serialize)]
struct Order {
    version: u32,
    family: Family,
    mtu: u32,
    ports: Vec<u16>,
    nodes: Vec<NodeSpace>,
    servers: Vec<ContainerSpace>,
    clients: Vec<ContainerSpace>,
    /// What it answered to `up`; null before.
    state: Value,
}

#[derive(Serialize)]
struct NodeSpace {
    name: String,
    namespace: String,
    uplink: &'static str,
    address: IpAddr,
}

#[derive(Serialize)]
struct ContainerSpace {
    name: String,
    namespace: String,
    node: String,
}

/// What it answers to `up`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raised {
    servers: Vec<ServerAddress>,
    clients: Vec<ClientAddress>,
    #[serde(default)]
    hops: Vec<NamedHop>,
    #[serde(default)]
    state: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerAddress {
    address: IpAddr,
    /// What clients dial, where that is another one.
    dial: Option<IpAddr>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientAddress {
    address: IpAddr,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedHop {
    kind: HopKind,
    name: String,
    place: String,
    detail: Option<String>,
}

impl Order {
    fn of(ground: &Ground, shape: &Shape, site: &Site) -> Self {
        let Ground { wiring, node, servers, clients } = ground;
        let namespace = |space: SpaceId| format!("/run/netns/{}", wiring.name(space));
        let node_name = wiring.name(node.space).to_owned();
        let containers = |spaces: &[SpaceId]| {
            let container = |&space: &SpaceId| ContainerSpace {
                name: wiring.name(space).to_owned(),
                namespace: namespace(space),
                node: node_name.clone(),
            };
            spaces.iter().map(container).collect()
        };
        Self {
            version: VERSION,
            family: shape.family,
            mtu: shape.mtu,
            ports: site.ports.clone(),
            nodes: vec![NodeSpace {
                name: node_name.clone(),
                namespace: namespace(node.space),
                uplink: UPLINK,
                address: node.slot(0).address(shape.family),
            }],
            servers: containers(servers),
            clients: containers(clients),
            state: Value::Null,
        }
    }

    fn text(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|error| Error::new("write an order as JSON", error))
    }
}

/// The program, and where it is.
fn program(site: &Site) -> Result<PathBuf, Missing> {
    let name = site.argument.as_deref().unwrap_or_default();
    let missing = |why: String| Missing {
        reason: format!("the program {name} cannot be run: {why}"),
        remedy: "name an executable file, as in exec:./network.py".to_owned(),
    };
    let path = fs::canonicalize(name).map_err(|error| missing(error.to_string()))?;
    if !path.is_file() {
        return Err(missing("it is no file".to_owned()));
    }
    access(&path, Access::EXEC_OK).map_err(|errno| missing(errno.to_string()))?;
    match PRIVATE.into_iter().find(|directory| path.starts_with(directory)) {
        Some(directory) => Err(missing(format!("{directory} is another one where it runs"))),
        None => Ok(path),
    }
}

/// The program at work. Dropping it takes the network down.
struct Worker {
    station: Station,
    program: PathBuf,
    order: Order,
    log: Log,
}

impl Worker {
    fn run(&self, verb: &str) -> Result<String, Error> {
        let what = format!("run {} {verb}", self.program.display());
        let mut command = Command::new(&self.program);
        command.arg(verb);
        let output = self.station.run_logged(command, &self.order.text()?, &self.log)?;
        output.success(&what).map_err(|error| match self.log.path() {
            Some(path) => error.with_remedy(format!("what it said is in {}", path.display())),
            None => error,
        })
    }

    /// Raises the network.
    fn up(&mut self) -> Result<Raised, Error> {
        let said = self.run("up")?;
        let what = format!("read what {} up has answered", self.program.display());
        let raised: Raised = serde_json::from_str(&said).map_err(|error| {
            Error::new(&what, error).with_remedy("docs/EXEC.md says what is to be answered")
        })?;
        self.order.state = raised.state.clone();
        let asked = (self.order.servers.len(), self.order.clients.len());
        let given = (raised.servers.len(), raised.clients.len());
        if asked == given {
            return Ok(raised);
        }
        let why = format!(
            "addresses of {} servers and {} clients, where there are {} and {}",
            given.0, given.1, asked.0, asked.1
        );
        Err(Error::new(what, why).with_remedy("answer one address for each, in their order"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The namespaces, and with them all that it has made in them, go in any case.
        let _ = self.run("down");
    }
}

impl Network for Exec {
    fn about(&self) -> About {
        About {
            name: "exec:PATH",
            summary: "containers connected by a program of yours, as docs/EXEC.md says",
            stands_for: "whatever the program raises",
            source: "docs/EXEC.md",
            options: &[],
        }
    }

    fn scheme(&self) -> Option<&'static str> {
        Some("exec:")
    }

    fn runs_its_argument(&self) -> bool {
        true
    }

    fn needs(&self, site: &Site) -> Vec<Need> {
        let mut needs = vec![Need::Namespaces];
        needs.extend(super::wired());
        if site.argument.is_some() {
            needs.extend(program(site).err().map(Need::Lacking));
        }
        needs
    }

    fn raise(&self, shape: &Shape, site: &Site) -> Result<Topology, Error> {
        let lab = entered("exec:PATH", &self.lab)?;
        let program = program(site).map_err(|missing| {
            Error::new("raise exec:PATH", missing.reason).with_remedy(missing.remedy)
        })?;
        let ground = Ground::of("exec:PATH", shape)?;
        let built = Built::new(lab, &ground, &super::wired(), &PRIVATE)?;
        let log = Log::open(site.logs.as_deref(), "node-0-exec")?;
        let order = Order::of(&ground, shape, site);
        let mut worker = Worker { station: built.station.clone(), program, order, log };
        let raised = worker.up()?;
        let layout = layout(raised, &worker, ground, (shape, site), &built.spaces)?;
        built.finish(layout, shape.without, worker)
    }

    /// The namespaces, and what the program itself says to `commands`. It is asked outside of any lab: the namespaces of its order are not there.
    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        let ask = || {
            let what = "ask the program for its commands";
            let program = program(site).map_err(|missing| Error::new(what, missing.reason))?;
            let ground = Ground::of("exec:PATH", shape)?;
            let order = Order::of(&ground, shape, site).text()?;
            let output = Command::new(program)
                .arg("commands")
                .stdin(Log::with_text(&order)?.stream()?)
                .stderr(Stdio::inherit())
                .output()
                .map_err(|error| Error::new(what, error))?;
            if !output.status.success() {
                return Err(Error::new(what, output.status));
            }
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut lines = shell::script(&ground.wiring);
            lines.extend(text.lines().map(str::to_owned));
            Ok(lines)
        };
        ask().unwrap_or_else(|error: Error| vec![format!("# {error}")])
    }
}

fn layout(
    raised: Raised,
    worker: &Worker,
    ground: Ground,
    (shape, site): (&Shape, &Site),
    spaces: &[Arc<Namespace>],
) -> Result<Layout, Error> {
    let endpoint = |space: SpaceId, address: IpAddr| Endpoint { space: Some(space), address };
    let servers = ground.servers.iter().zip(&raised.servers);
    let clients = ground.clients.iter().zip(&raised.clients);
    let path = raised
        .hops
        .iter()
        .map(|hop| waypoint(hop, &ground.wiring, spaces))
        .collect::<Result<Vec<_>, _>>()?;
    let own_name = worker.program.file_name().unwrap_or_default().to_string_lossy();
    let unnamed = Hop::new(HopKind::Device, own_name, ground.wiring.name(ground.node.space));
    Ok(Layout {
        servers: servers.map(|(&space, one)| endpoint(space, one.address)).collect(),
        clients: clients.map(|(&space, one)| endpoint(space, one.address)).collect(),
        routes: routes(shape, site, |_, server| {
            let ServerAddress { address, dial } = raised.servers[server];
            (address, dial.unwrap_or(address))
        }),
        path: if path.is_empty() { vec![Waypoint::Other(unnamed)] } else { path },
        proof: None,
        wiring: ground.wiring,
    })
}

/// A hop as the program names it; a device that the kernel knows, with what the kernel says of it.
fn waypoint(hop: &NamedHop, wiring: &Wiring, spaces: &[Arc<Namespace>]) -> Result<Waypoint, Error> {
    let NamedHop { kind, name, place, detail } = hop;
    let space = (0..wiring.spaces.len()).map(SpaceId).find(|&space| wiring.name(space) == place);
    let space = space.ok_or_else(|| {
        Error::new(format!("find the hop {place}:{name}"), format!("there is no place {place}"))
            .with_remedy("a place is one of the names in the order: node-0, client-0, server-0")
    })?;
    if spaces[space.0].device(name)?.is_some() {
        return Ok(match detail {
            Some(detail) => Waypoint::told(*kind, space, name, detail),
            None => Waypoint::device(*kind, space, name),
        });
    }
    let hop = Hop::new(*kind, name, place);
    Ok(Waypoint::Other(match detail {
        Some(detail) => hop.with_detail(detail),
        None => hop,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_order_has_every_namespace_by_its_path() {
        let shape = Shape { servers: 1, clients: 2, ..Shape::default() };
        let ground = Ground::of("exec:PATH", &shape).unwrap();
        let site = Site { ports: vec![7001], ..Site::default() };
        let order: Value =
            serde_json::from_str(&Order::of(&ground, &shape, &site).text().unwrap()).unwrap();
        assert_eq!(order["version"], 1);
        assert_eq!(order["family"], "ipv4");
        assert_eq!(order["ports"], serde_json::json!([7001]));
        assert_eq!(order["nodes"][0]["address"], "10.20.0.1");
        assert_eq!(order["clients"][1]["namespace"], "/run/netns/client-1");
        assert_eq!(order["servers"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_program_that_cannot_be_run_is_missing() {
        for (path, why) in
            [("/no/such/file", "No such file"), ("/etc/passwd", "denied"), ("/", "no file")]
        {
            let site = Site { argument: Some(path.to_owned()), ..Site::default() };
            let missing = program(&site).unwrap_err();
            assert!(missing.reason.contains(why), "{missing:?}");
        }
        let site = Site { argument: Some("/bin/sh".to_owned()), ..Site::default() };
        assert!(program(&site).is_ok());
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_reader(text in r#"([{}\[\]:,]|"(servers|clients|hops|address|dial|1.2.3.4)"|[0-9]){0,20}"#) {
            let _ = serde_json::from_str::<Raised>(&text);
        }
    }
}
