//! Network `swarm:overlay-encrypted`: an overlay network whose packets between nodes are encrypted.
//!
//! Docker creates such a network on request, and reports nothing if a node's kernel lacks ESP: then no packets pass.
//! Nor does its API report whether packets are encrypted. So a task on the client's node captures the packets on its
//! devices while both ends communicate. The network is measured only if they were encrypted.

use super::overlay::{overlay_path, start_both};
use super::{OPTIONS, SwarmNetworkDefinition, TaskPlacement, script};
use crate::deployment::SwarmDeployment;
use crate::task_request::{TaskAttachment, TaskRequest};
use std::collections::HashMap;
use std::sync::Arc;
use tare_docker::container_handle::ContainerHandle;
use tare_docker::engine::{Engine, EnginePair};
use tare_docker::exec::{self, ExecCommand, ExecSession, OutputLines};
use tare_docker::image::PROGRAM;
use tare_docker::networks::layout::{NetworkLayout, PathStep, direct_routes};
use tare_docker::networks::overlay::{
    ESP_OVERHEAD, VXLAN_OVERHEAD, overlay_command, overlay_request,
};
use tare_docker::networks::verify;
use tare_netns_probe::UnderlayCounts;
use tare_network::{Error, Hop, HopKind, INTERNAL, NetworkInfo, NetworkParameters, Shape};

pub(super) struct EncryptedOverlayNetwork;

/// Option of the driver.
const OPTION: &str = "encrypted";

impl SwarmNetworkDefinition for EncryptedOverlayNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "swarm:overlay-encrypted",
            summary: "tasks of Docker services on an overlay network whose encryption is verified",
            stands_for: "docker network create --driver overlay --opt encrypted",
            source: "https://docs.docker.com/engine/network/drivers/overlay/#encrypt-traffic-on-an-overlay-network",
            options: OPTIONS,
        }
    }

    fn check_capacity(&self, shape: &Shape) -> Result<(), Error> {
        if shape.nodes > 1 {
            return Ok(());
        }
        let why = "Docker does not encrypt traffic between containers of one node";
        Err(Error::new("lay out swarm:overlay-encrypted", why)
            .with_remedy("use --nodes 2, without --same-node"))
    }

    fn lay_out(
        &self,
        crew: &SwarmDeployment,
        nodes: &TaskPlacement<'_>,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let mut asked = overlay_request(shape, VXLAN_OVERHEAD + ESP_OVERHEAD);
        let options = asked.options.get_or_insert_with(HashMap::new);
        options.insert(OPTION.to_owned(), String::new());
        let network = crew.create_network(asked)?;
        let (servers, clients) = start_both(crew, nodes, &network, shape)?;
        let mut path = overlay_path(nodes, 0, 0);
        let tunnel = |step: &PathStep| {
            matches!(step, PathStep::Node(hop) if hop.kind == HopKind::Encapsulation)
                .then(|| step.clone())
        };
        let tunnels: Vec<PathStep> = path.iter().filter_map(tunnel).collect();
        if let Some(PathStep::Node(vxlan)) = tunnels.first() {
            let esp = Hop::new(HopKind::Encapsulation, "esp", &vxlan.place)
                .with_detail("ESP in transport mode, seen on the node's devices");
            let after =
                path.iter().position(|step| matches!(step, PathStep::Node(hop) if hop == vxlan));
            path.insert(after.map_or(0, |at| at + 1), PathStep::Node(esp));
        }
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn verify(
        &self,
        crew: &SwarmDeployment,
        nodes: &TaskPlacement<'_>,
        laid: &NetworkLayout,
        shape: &Shape,
    ) -> Result<Vec<Hop>, Error> {
        let engine = &crew.swarm.engine;
        let node = nodes.client_node(0);
        let watcher =
            crew.start_tasks(&[TaskRequest::new("watch-0", node, TaskAttachment::Host)])?;
        let (client, server) = (laid.clients[0].address, laid.servers[0].address);
        let watching = CaptureTask::start(engine, &watcher[0], &format!("{client},{server}"))?;
        let proved = verify::verify_paths(&EnginePair::single(engine), laid, shape);
        let wire = watching.finish(engine)?;
        judge_encryption(proved, wire, &node.name)
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = vec![
            script::image_line(),
            overlay_command(shape, VXLAN_OVERHEAD + ESP_OVERHEAD, "--opt encrypted"),
        ];
        lines.extend(script::uniform_lines(shape, "--network tare --endpoint-mode dnsrr"));
        lines.push(
            "# on a node, during the traffic: tcpdump -ni any 'ip proto 50 or udp port 4789'"
                .to_owned(),
        );
        lines
    }
}

/// Task that counts the packets on its node's devices.
struct CaptureTask {
    lines: OutputLines,
    input: exec::ExecInput,
}

const WHAT: &str = "check whether packets between the nodes are encrypted";

impl CaptureTask {
    fn start(engine: &Arc<Engine>, watcher: &ContainerHandle, pair: &str) -> Result<Self, Error> {
        let command =
            [PROGRAM, INTERNAL, "netns-probe", "--wire", pair].map(str::to_owned).to_vec();
        let words = watcher.exec_command(ExecCommand { command, ..ExecCommand::default() });
        let started = exec::start(engine.docker(), &watcher.id, words);
        let ExecSession { output, input, .. } = engine.request(WHAT, started)?;
        let mut watching = Self { lines: OutputLines::new(output), input };
        watching.next_line(engine)?;
        Ok(watching)
    }

    fn next_line(
        &mut self,
        engine: &Arc<Engine>,
    ) -> Result<tare_netns_probe::NetnsSnapshot, Error> {
        let line = engine.wait(self.lines.next(tare_netns_probe::snapshot_timeout()));
        line.and_then(|line| tare_netns_probe::parse_snapshot(&line))
            .map_err(|why| Error::new(WHAT, why))
    }

    /// Ends the capture, and returns its counts.
    fn finish(mut self, engine: &Arc<Engine>) -> Result<UnderlayCounts, Error> {
        use tokio::io::AsyncWriteExt as _;
        let ending = engine.wait(self.input.shutdown());
        ending.map_err(|error| Error::new(WHAT, error))?;
        Ok(self.next_line(engine)?.wire.unwrap_or_default())
    }
}

/// Judges from the captured packets whether the network is encrypted. Fails if it is not, or if packets do not pass.
fn judge_encryption(
    proved: Result<Vec<Hop>, Error>,
    wire: UnderlayCounts,
    node: &str,
) -> Result<Vec<Hop>, Error> {
    const KERNEL: &str = "boot the nodes with a kernel that has ESP (modprobe esp4), and see dockerd's log for \
                          `Failed Adding`; or use swarm:overlay";
    let refused = |why: String, remedy: &str| {
        let what = "verify that swarm:overlay-encrypted encrypts packets";
        Err(Error::new(what, why).with_remedy(remedy))
    };
    let UnderlayCounts { esp, vxlan, readable } = wire;
    if readable > 0 {
        let why = format!("{readable} of {vxlan} VXLAN packets on {node}'s devices are plaintext");
        return refused(why, KERNEL);
    }
    match (proved, esp) {
        (Ok(hops), 1..) => Ok(hops),
        (Ok(_), 0) => {
            refused(format!("packets pass, but no ESP packet passed {node}'s devices"), KERNEL)
        }
        (Err(_), 0) => refused(
            format!(
                "no packets pass, and no ESP packet left {node}: Docker created the network without an error message"
            ),
            KERNEL,
        ),
        (Err(error), _) => refused(
            format!(
                "{esp} ESP packets passed {node}'s devices, but the path does not work: {error}"
            ),
            "allow IP protocol 50 between the nodes, or use swarm:overlay",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_seen_encrypted_is_called_so() {
        let wire = |esp, vxlan, readable| UnderlayCounts { esp, vxlan, readable };
        let passes = || Ok(vec![Hop::new(HopKind::Veth, "eth0", "client-0")]);
        let dead = || Err(Error::new("reach", "timed out"));
        assert_eq!(judge_encryption(passes(), wire(8, 0, 0), "n").unwrap().len(), 1);
        // The network of the tunnel server is an overlay, too, and is not encrypted.
        assert!(judge_encryption(passes(), wire(8, 90, 0), "n").is_ok());
        for (proved, wire, words) in [
            (passes(), wire(8, 9, 1), "plaintext"),
            (passes(), wire(0, 9, 9), "plaintext"),
            (passes(), wire(0, 0, 0), "no ESP packet passed"),
            (dead(), wire(0, 5, 0), "without an error message"),
            (dead(), wire(3, 0, 0), "timed out"),
        ] {
            let error = judge_encryption(proved, wire, "n").unwrap_err();
            assert!(error.why.contains(words) && !error.remedy.is_empty(), "{error:?}");
        }
    }
}
