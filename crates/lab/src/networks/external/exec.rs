//! `exec:PATH`: a network that a program of the user sets up and removes. The interface is described in docs/EXEC.md.

use crate::networks::external::namespaces::{
    BuiltNamespaces, UnconnectedNamespaces, require_sandbox,
};
use crate::plan::layout::{Layout, NamespaceEndpoint, Waypoint, client_routes};
use crate::plan::nodes::UPLINK;
use crate::plan::wiring::{NamespaceId, Wiring};
use crate::shell;
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tare_network::{
    Error, Family, Hop, HopKind, Network, NetworkInfo, NetworkParameters, Requirement, Shape,
    Topology, UnmetRequirement,
};
use tare_sandbox::programs::{ExecContext, Log, START_TIMEOUT, run_outside_sandbox};
use tare_sandbox::{Namespace, Sandbox};

pub(crate) struct ExecNetwork {
    pub(crate) sandbox: Option<Arc<Sandbox>>,
}

/// Version of the interface.
const VERSION: u32 = 1;

/// Directories that are empty for the program. /tmp is not among them, because the program itself may be there.
const PRIVATE: [&str; 1] = ["/run"];

/// Request that the program reads from standard input.
#[derive(Serialize)]
struct ExecRequest {
    version: u32,
    family: Family,
    mtu: u32,
    ports: Vec<u16>,
    nodes: Vec<NodeNamespace>,
    servers: Vec<ContainerNamespace>,
    clients: Vec<ContainerNamespace>,
    /// State from the program's response to `up`; null before.
    state: Value,
}

#[derive(Serialize)]
struct NodeNamespace {
    name: String,
    namespace: String,
    uplink: &'static str,
    address: IpAddr,
}

#[derive(Serialize)]
struct ContainerNamespace {
    name: String,
    namespace: String,
    node: String,
}

/// Response of the program to `up`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecResponse {
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
    /// Address that clients dial, if it is not `address`.
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

impl ExecRequest {
    fn for_shape(ground: &UnconnectedNamespaces, shape: &Shape, site: &NetworkParameters) -> Self {
        let UnconnectedNamespaces { wiring, node, servers, clients } = ground;
        let namespace = |space: NamespaceId| format!("/run/netns/{}", wiring.name(space));
        let node_name = wiring.name(node.space).to_owned();
        let containers = |spaces: &[NamespaceId]| {
            let container = |&space: &NamespaceId| ContainerNamespace {
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
            nodes: vec![NodeNamespace {
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

    fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|error| Error::new("write the request as JSON", error))
    }
}

/// Returns the path of the program. Returns the reason and the remedy if it cannot be run.
fn find_program(site: &NetworkParameters) -> Result<PathBuf, UnmetRequirement> {
    let name = site.argument.as_deref().unwrap_or_default();
    let missing = |why: String| UnmetRequirement {
        reason: format!("the program {name} cannot be run: {why}"),
        remedy: "name an executable file, for example exec:./network.py".to_owned(),
    };
    let path = fs::canonicalize(name).map_err(|error| missing(error.to_string()))?;
    if !path.is_file() {
        return Err(missing("not a regular file".to_owned()));
    }
    access(&path, Access::EXEC_OK).map_err(|errno| missing(errno.to_string()))?;
    match PRIVATE.into_iter().find(|directory| path.starts_with(directory)) {
        Some(directory) => {
            Err(missing(format!("the program sees a private {directory}; keep the file elsewhere")))
        }
        None => Ok(path),
    }
}

/// Returns the path of a program as the user is asked to allow it. A file that is missing now may be there when it is
/// run.
pub(crate) fn shown_path(program: &str) -> String {
    let path = std::path::absolute(program).unwrap_or_else(|_| program.into());
    fs::canonicalize(&path).unwrap_or(path).display().to_string()
}

/// Program that sets up a network. Dropping it runs `down`, which removes the network.
struct ExecProgram {
    context: ExecContext,
    program: PathBuf,
    request: ExecRequest,
    log: Log,
}

impl ExecProgram {
    fn run(&self, verb: &str) -> Result<String, Error> {
        let what = format!("run {} {verb}", self.program.display());
        let mut command = Command::new(&self.program);
        command.arg(verb);
        let output = self.context.run_logged(command, &self.request.to_json()?, &self.log)?;
        output.into_stdout(&what).map_err(|error| match self.log.path() {
            Some(path) => error.with_remedy(format!("see the program's log {}", path.display())),
            None => error,
        })
    }

    /// Runs `up` and reads its response. Fails if the program fails, or if the response has not one address for each
    /// container.
    fn up(&mut self) -> Result<ExecResponse, Error> {
        let said = self.run("up")?;
        let what = format!("parse the response of {} up", self.program.display());
        let raised: ExecResponse = serde_json::from_str(&said).map_err(|error| {
            Error::new(&what, error).with_remedy("see docs/EXEC.md for the format of the response")
        })?;
        self.request.state = raised.state.clone();
        let asked = (self.request.servers.len(), self.request.clients.len());
        let given = (raised.servers.len(), raised.clients.len());
        if asked == given {
            return Ok(raised);
        }
        let why = format!(
            "the response has addresses of {} servers and {} clients: expected {} and {}",
            given.0, given.1, asked.0, asked.1
        );
        Err(Error::new(what, why)
            .with_remedy("return one address for each container, in the order of the request"))
    }
}

impl Drop for ExecProgram {
    fn drop(&mut self) {
        // An error does no harm: the namespaces, and all that the program created in them, are removed in any case.
        let _ = self.run("down");
    }
}

impl Network for ExecNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
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

    fn programs_of_argument(&self, argument: &str) -> Vec<String> {
        vec![shown_path(argument)]
    }

    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement> {
        let mut needs = vec![Requirement::Namespaces];
        needs.extend(crate::networks::veth_and_bridge_requirements());
        if site.argument.is_some() {
            needs.extend(find_program(site).err().map(Requirement::Unmet));
        }
        needs
    }

    fn set_up(&self, shape: &Shape, site: &NetworkParameters) -> Result<Topology, Error> {
        let sandbox = require_sandbox("exec:PATH", &self.sandbox)?;
        let program = find_program(site).map_err(|missing| {
            Error::new("set up exec:PATH", missing.reason).with_remedy(missing.remedy)
        })?;
        let ground = UnconnectedNamespaces::for_shape("exec:PATH", shape, site)?;
        let built = BuiltNamespaces::new(
            sandbox,
            &ground,
            &crate::networks::veth_and_bridge_requirements(),
            &PRIVATE,
        )?;
        let log = Log::open(site.logs.as_deref(), "node-0-exec")?;
        let order = ExecRequest::for_shape(&ground, shape, site);
        let mut worker =
            ExecProgram { context: built.context.clone(), program, request: order, log };
        let raised = worker.up()?;
        let layout = layout(raised, &worker, ground, (shape, site), built.spaces())?;
        built.into_topology(layout, shape.without, worker)
    }

    /// Returns the commands of the namespaces and the program's output for `commands`. The program runs outside of the
    /// lab: the namespaces of its request do not exist.
    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String> {
        program_commands(shape, site, START_TIMEOUT)
            .unwrap_or_else(|error| vec![format!("# {error}")])
    }
}

/// Returns the commands of the namespaces and the program's output for `commands`. Fails if the program fails or takes
/// longer than `limit`.
fn program_commands(
    shape: &Shape,
    site: &NetworkParameters,
    limit: Duration,
) -> Result<Vec<String>, Error> {
    let what = "get the program's commands";
    let program = find_program(site).map_err(|missing| Error::new(what, missing.reason))?;
    let ground = UnconnectedNamespaces::for_shape("exec:PATH", shape, site)?;
    let order = ExecRequest::for_shape(&ground, shape, site).to_json()?;
    let mut command = Command::new(program);
    command.arg("commands");
    let text = run_outside_sandbox(command, &order, limit)?.into_stdout(what)?;
    let mut lines = shell::script_or_comment(&ground.wiring);
    lines.extend(text.lines().map(str::to_owned));
    Ok(lines)
}

fn layout(
    raised: ExecResponse,
    worker: &ExecProgram,
    ground: UnconnectedNamespaces,
    (shape, site): (&Shape, &NetworkParameters),
    spaces: &[Arc<Namespace>],
) -> Result<Layout, Error> {
    let endpoint =
        |space: NamespaceId, address: IpAddr| NamespaceEndpoint { space: Some(space), address };
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
        routes: client_routes(shape, site, |_, server| {
            let ServerAddress { address, dial } = raised.servers[server];
            (address, dial.unwrap_or(address))
        }),
        path: if path.is_empty() { vec![Waypoint::Other(unnamed)] } else { path },
        proof: None,
        wiring: ground.wiring,
    })
}

/// Returns the hop that the program names. If it is a device that the kernel knows, its MTU is later read from the
/// kernel. Fails if its place is no namespace of the network.
fn waypoint(hop: &NamedHop, wiring: &Wiring, spaces: &[Arc<Namespace>]) -> Result<Waypoint, Error> {
    let NamedHop { kind, name, place, detail } = hop;
    let space =
        (0..wiring.spaces.len()).map(NamespaceId).find(|&space| wiring.name(space) == place);
    let space = space.ok_or_else(|| {
        Error::new(format!("find the hop {place}:{name}"), format!("unknown place `{place}`"))
            .with_remedy("use a name from the request, for example node-0, client-0 or server-0")
    })?;
    if spaces[space.0].device(name)?.is_some() {
        return Ok(match detail {
            Some(detail) => Waypoint::device_with_detail(*kind, space, name, detail),
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
        let site = NetworkParameters { ports: vec![7001], ..NetworkParameters::default() };
        let ground = UnconnectedNamespaces::for_shape("exec:PATH", &shape, &site).unwrap();
        let order: Value = serde_json::from_str(
            &ExecRequest::for_shape(&ground, &shape, &site).to_json().unwrap(),
        )
        .unwrap();
        assert_eq!(order["version"], 1);
        assert_eq!(order["family"], "ipv4");
        assert_eq!(order["ports"], serde_json::json!([7001]));
        assert_eq!(order["nodes"][0]["address"], "10.20.0.1");
        assert_eq!(order["clients"][1]["namespace"], "/run/netns/client-1");
        assert_eq!(order["servers"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_program_that_cannot_be_run_is_missing() {
        for (path, why) in [
            ("/no/such/file", "No such file"),
            ("/etc/passwd", "denied"),
            ("/", "not a regular file"),
        ] {
            let site = NetworkParameters {
                argument: Some(path.to_owned()),
                ..NetworkParameters::default()
            };
            let missing = find_program(&site).unwrap_err();
            assert!(missing.reason.contains(why), "{missing:?}");
        }
        let site = NetworkParameters {
            argument: Some("/bin/sh".to_owned()),
            ..NetworkParameters::default()
        };
        assert!(find_program(&site).is_ok());
    }

    /// Returns the response to `commands` of a program with this shell script.
    fn commands_of(script: &str, limit: Duration) -> Result<Vec<String>, Error> {
        let scratch = tare_dev::ScratchDirectory::new();
        let program = scratch.write_program("program", &format!("#!/bin/sh\n{script}\n"));
        let argument = Some(program.to_string_lossy().into_owned());
        let site = NetworkParameters { argument, ..NetworkParameters::default() };
        program_commands(&Shape::default(), &site, limit)
    }

    #[test]
    fn a_program_that_does_not_end_has_no_commands() {
        let error = commands_of("exec sleep 1000", Duration::from_millis(50)).unwrap_err();
        assert!(error.why.contains("did not end within 0.05 s"), "{error}");
    }

    #[test]
    fn commands_are_the_whole_output_of_a_program_that_succeeds() {
        let lines = commands_of("echo $1; seq 20000", START_TIMEOUT).unwrap();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let output = lines.iter().position(|line| *line == "commands").unwrap();
        assert_eq!((output > 0, lines[output + 1], lines[output + 20_000]), (true, "1", "20000"));
        let error = commands_of("echo it is cold >&2; exit 4", START_TIMEOUT).unwrap_err();
        assert!(error.why.ends_with("exit code 4: it is cold"), "{error}");
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_reader(text in r#"([{}\[\]:,]|"(servers|clients|hops|address|dial|1.2.3.4)"|[0-9]){0,20}"#) {
            let _ = serde_json::from_str::<ExecResponse>(&text);
        }
    }
}
