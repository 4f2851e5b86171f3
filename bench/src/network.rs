//! Network of the lab with two containers, and tools that run in them.

use crate::congestion;
use crate::container_programs::{output_of, read_output, start, with_remedy};
use crate::peers::{FigureSource, PORTS, ServerSocket, ToolCommands};
use crate::traffic::RowCores;
use anyhow::{Context as _, anyhow, bail};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_network::{
    ClientRoute, Command, Container, Error, Network, NetworkParameters, NetworkRegistry,
    NetworkSpec, Process, Shape, Topology,
};
use tare_sandbox::Sandbox;

/// First port for servers, below the ports that the kernel gives to clients.
const FIRST_PORT: u16 = 5_000;
/// End of the ports for servers.
const LAST_PORT: u16 = 30_000;

/// Time limit for a server to listen.
const SET_UP: Duration = Duration::from_secs(5);

/// Time that a tool may take in addition to its traffic, s.
const AFTERWARDS: u32 = 15;

/// Running network with a client and a server.
pub(crate) struct BenchNetwork {
    topology: Topology,
    congestion: String,
    next_port: u16,
}

impl BenchNetwork {
    /// Sets up one of the lab's networks. tare in its containers is the binary under test.
    pub(crate) fn raise(
        sandbox: &Arc<Sandbox>,
        network: &str,
        tare: &Path,
    ) -> anyhow::Result<Self> {
        let networks = NetworkRegistry::new(tare_lab::networks(Some(Arc::clone(sandbox))));
        let spelled: NetworkSpec = network.parse()?;
        let network: &dyn Network = networks.find(&spelled)?;
        let site = NetworkParameters::from_spec(&spelled, vec![FIRST_PORT]);
        let mut topology = network.set_up(&Shape::default(), &site).map_err(with_remedy)?;
        let congestion = congestion::set(topology.servers.iter().chain(&topology.clients))?;
        let ship = |inner| {
            Box::new(ShippedContainer { inner, tare: tare.to_path_buf() }) as Box<dyn Container>
        };
        topology.servers = std::mem::take(&mut topology.servers).into_iter().map(ship).collect();
        topology.clients = std::mem::take(&mut topology.clients).into_iter().map(ship).collect();
        Ok(Self { topology, congestion, next_port: FIRST_PORT })
    }

    /// Returns the TCP congestion control of all containers.
    pub(crate) fn congestion(&self) -> &str {
        &self.congestion
    }

    /// Returns the address of the server.
    pub(crate) fn address(&self) -> IpAddr {
        self.topology.servers[0].address()
    }

    /// Returns the first of [`PORTS`] ports that were not used lately on this network.
    pub(crate) fn port(&mut self) -> u16 {
        if self.next_port + 2 * PORTS > LAST_PORT {
            self.next_port = FIRST_PORT;
        }
        self.next_port += PORTS;
        self.next_port
    }

    /// Returns the topology, with this port as the one to listen on and to connect to.
    pub(crate) fn serving(&mut self, port: u16) -> &Topology {
        let address = SocketAddr::new(self.address(), port);
        self.topology.routes =
            vec![ClientRoute { client: 0, server: 0, listen: address, dial: address }];
        &self.topology
    }

    /// Runs a tool once. Returns its output, and the CPU seconds of both sides if they are known.
    pub(crate) fn run_tool(
        &self,
        plan: &ToolCommands,
        cores: &RowCores,
        port: u16,
        seconds: u32,
    ) -> anyhow::Result<(String, Option<f64>)> {
        let limit = seconds + AFTERWARDS;
        let server = self.topology.servers[0].as_ref();
        let mut serving = start(server, &plan.server, &cores.server, limit)?;
        wait_for(server, plan.listens, port)?;
        let before = children_cpu()?;
        let mut client =
            start(self.topology.clients[0].as_ref(), &plan.client, &cores.client, limit)?;
        let said = read_output(client.as_mut())?;
        client.wait().map_err(with_remedy)?;
        let said = match plan.says {
            FigureSource::Client => {
                serving.kill();
                said
            }
            FigureSource::ClientAlone => said,
            FigureSource::Server => read_output(serving.as_mut())?,
        };
        serving.wait().map_err(with_remedy)?;
        let cpu = children_cpu()? - before;
        Ok((said, (plan.says != FigureSource::Client).then_some(cpu)))
    }
}

/// Container in which tare is the binary under test, not this program.
struct ShippedContainer {
    inner: Box<dyn Container>,
    tare: PathBuf,
}

impl Container for ShippedContainer {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn address(&self) -> IpAddr {
        self.inner.address()
    }

    fn spawn(&self, command: &Command) -> Result<Box<dyn Process>, Error> {
        let program = command.program.clone().or_else(|| Some(self.tare.clone()));
        self.inner.spawn(&Command { program, ..command.clone() })
    }
}

/// Waits until a program listens on a port in a container.
fn wait_for(container: &dyn Container, listens: ServerSocket, port: u16) -> anyhow::Result<()> {
    let (files, state) = match listens {
        ServerSocket::Tcp => (["/proc/net/tcp", "/proc/net/tcp6"], "0A"),
        ServerSocket::Udp => (["/proc/net/udp", "/proc/net/udp6"], "07"),
    };
    let patience = Instant::now() + SET_UP;
    while Instant::now() < patience {
        let table = output_of(container, "cat", &files)?;
        if is_bound(&table, port, state) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    bail!("its server does not listen on port {port} after {} s", SET_UP.as_secs())
}

/// Returns true if a socket table of the kernel (proc(5), /proc/net/tcp) has a socket on a port in a state.
fn is_bound(table: &str, port: u16, state: &str) -> bool {
    let port = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let local = fields.next().is_some_and(|local| local.ends_with(&port));
        local && fields.nth(1) == Some(state)
    })
}

/// Returns the CPU time of all children of this process that have ended, with their own children, s (proc(5), cutime
/// and cstime).
fn children_cpu() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("read /proc/self/stat")?;
    let after_name = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let ticks = |field: usize| after_name.split_whitespace().nth(field)?.parse::<u64>().ok();
    let (user, system) = ticks(13).zip(ticks(14)).ok_or_else(|| anyhow!("read /proc/self/stat"))?;
    // USER_HZ is 100 on every architecture that tare supports.
    Ok((user + system) as f64 / 100.0)
}

/// Returns the largest socket buffer that an ordinary user may request, up to the size that tare requests, bytes.
pub(crate) fn socket_buffer() -> u64 {
    const WANTED: u64 = 8 << 20;
    let most = fs::read_to_string("/proc/sys/net/core/rmem_max");
    most.ok().and_then(|text| text.trim().parse().ok()).map_or(WANTED, |most: u64| most.min(WANTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_is_seen_in_the_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n   \
                     0: 00000000:1B59 00000000:0000 0A 00000000:00000000 00:00000000\n   \
                     1: 0200630A:1B5A 0100630A:9C40 01 00000000:00000000 00:00000000\n";
        assert!(is_bound(table, 7_001, "0A"));
        assert!(!is_bound(table, 7_002, "0A"), "connected, not listening");
        assert!(!is_bound(table, 40_000, "0A"));
    }

    #[test]
    fn the_cpu_time_of_children_is_read() {
        assert!(children_cpu().unwrap() >= 0.0);
    }
}
