//! `swarm:overlay-encrypted`: an overlay network whose packets between nodes are to be encrypted.
//!
//! Docker makes such a network wherever it is told to, and says nothing where a node's kernel lacks ESP: then nothing
//! passes. And nothing in its API says whether packets are encrypted. So a task on the client's node looks at what
//! passes its devices while both ends talk: only what was seen to be encrypted is measured.

use super::crew::Crew;
use super::overlay::{ESP, VXLAN, both_on, create, path, request};
use super::wanted::{On, Wanted};
use super::{OPTIONS, Recipe, Spread, script};
use crate::engine::{Engine, Sides};
use crate::exec::{self, Exec, Lines, Words};
use crate::image::PROGRAM;
use crate::look::{self, Wire};
use crate::networks::laid::{Laid, Step, direct};
use crate::networks::prove;
use crate::work::Running;
use std::collections::HashMap;
use std::sync::Arc;
use tare_network::{About, Error, Hop, HopKind, Shape, Site};

pub(super) struct Encrypted;

/// The driver's option.
const OPTION: &str = "encrypted";

impl Recipe for Encrypted {
    fn about(&self) -> About {
        About {
            name: "swarm:overlay-encrypted",
            summary: "tasks of Docker services on an encrypted overlay network, seen to be encrypted",
            stands_for: "docker network create --driver overlay --opt encrypted",
            source: "https://docs.docker.com/engine/network/drivers/overlay/#encrypt-traffic-on-an-overlay-network",
            options: OPTIONS,
        }
    }

    fn has_room(&self, shape: &Shape) -> Result<(), Error> {
        if shape.nodes > 1 {
            return Ok(());
        }
        let why = "between containers of one node nothing is encrypted";
        Err(Error::new("lay out swarm:overlay-encrypted", why)
            .with_remedy("use --nodes 2, without --same-node"))
    }

    fn lay(
        &self,
        crew: &Crew,
        nodes: &Spread<'_>,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        let mut asked = request(shape, VXLAN + ESP);
        let options = asked.options.get_or_insert_with(HashMap::new);
        options.insert(OPTION.to_owned(), String::new());
        let network = crew.network(asked)?;
        let (servers, clients) = both_on(crew, nodes, &network, shape)?;
        let mut path = path(nodes, 0, 0);
        let tunnel = |step: &Step| {
            matches!(step, Step::Node(hop) if hop.kind == HopKind::Encapsulation)
                .then(|| step.clone())
        };
        let tunnels: Vec<Step> = path.iter().filter_map(tunnel).collect();
        if let Some(Step::Node(vxlan)) = tunnels.first() {
            let esp = Hop::new(HopKind::Encapsulation, "esp", &vxlan.place)
                .with_detail("ESP in transport mode, seen on the node's devices");
            let after =
                path.iter().position(|step| matches!(step, Step::Node(hop) if hop == vxlan));
            path.insert(after.map_or(0, |at| at + 1), Step::Node(esp));
        }
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn prove(
        &self,
        crew: &Crew,
        nodes: &Spread<'_>,
        laid: &Laid,
        shape: &Shape,
    ) -> Result<Vec<Hop>, Error> {
        let engine = &crew.swarm.engine;
        let node = nodes.of_client(0);
        let watcher = crew.tasks(&[Wanted::new("watch-0", node, On::Host)])?;
        let (client, server) = (laid.clients[0].address, laid.servers[0].address);
        let watching = Watching::begin(engine, &watcher[0], &format!("{client},{server}"))?;
        let proved = prove::prove(&Sides::one(engine), laid, shape);
        let wire = watching.end(engine)?;
        judge(proved, wire, &node.name)
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = vec![script::image(), create(shape, VXLAN + ESP, "--opt encrypted")];
        lines.extend(script::both(shape, "--network tare --endpoint-mode dnsrr"));
        lines.push(
            "# on a node, while they talk: tcpdump -ni any 'ip proto 50 or udp port 4789'"
                .to_owned(),
        );
        lines
    }
}

/// A task that counts what passes its node's devices.
struct Watching {
    lines: Lines,
    input: exec::Input,
}

const WHAT: &str = "see whether packets between the nodes are encrypted";

impl Watching {
    fn begin(engine: &Arc<Engine>, watcher: &Running, pair: &str) -> Result<Self, Error> {
        let command = [PROGRAM, "look", "--wire", pair].map(str::to_owned).to_vec();
        let words = watcher.words(Words { command, ..Words::default() });
        let started = exec::start(engine.docker(), &watcher.id, words);
        let Exec { output, input, .. } = engine.get(WHAT, started)?;
        let mut watching = Self { lines: Lines::of(output), input };
        watching.line(engine)?;
        Ok(watching)
    }

    fn line(&mut self, engine: &Arc<Engine>) -> Result<look::Seen, Error> {
        let line = engine.wait(self.lines.next(look::limit()));
        line.and_then(|line| look::parse(&line)).map_err(|why| Error::new(WHAT, why))
    }

    /// Ends it; what it has counted.
    fn end(mut self, engine: &Arc<Engine>) -> Result<Wire, Error> {
        use tokio::io::AsyncWriteExt as _;
        let ending = engine.wait(self.input.shutdown());
        ending.map_err(|error| Error::new(WHAT, error))?;
        Ok(self.line(engine)?.wire.unwrap_or_default())
    }
}

/// Whether what was seen is an encrypted network's.
fn judge(proved: Result<Vec<Hop>, Error>, wire: Wire, node: &str) -> Result<Vec<Hop>, Error> {
    const KERNEL: &str = "boot the nodes with a kernel that has ESP (modprobe esp4), and see dockerd's log for \
                          `Failed Adding`; or use swarm:overlay";
    let refused = |why: String, remedy: &str| {
        Err(Error::new("find swarm:overlay-encrypted encrypted", why).with_remedy(remedy))
    };
    let Wire { esp, vxlan, readable } = wire;
    if readable > 0 {
        let why = format!(
            "{readable} of {vxlan} packets on {node}'s devices can be read: it is plaintext"
        );
        return refused(why, KERNEL);
    }
    match (proved, esp) {
        (Ok(hops), 1..) => Ok(hops),
        (Ok(_), 0) => {
            refused(format!("packets pass, and none of ESP was seen on {node}'s devices"), KERNEL)
        }
        (Err(_), 0) => refused(
            format!(
                "nothing passes, and no packet of ESP left {node}: Docker made the network without a word"
            ),
            KERNEL,
        ),
        (Err(error), _) => refused(
            format!("{esp} packets of ESP passed {node}'s devices, and yet: {error}"),
            "let IP protocol 50 pass between the nodes, or use swarm:overlay",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_seen_encrypted_is_called_so() {
        let wire = |esp, vxlan, readable| Wire { esp, vxlan, readable };
        let passes = || Ok(vec![Hop::new(HopKind::Veth, "eth0", "client-0")]);
        let dead = || Err(Error::new("reach", "timed out"));
        assert_eq!(judge(passes(), wire(8, 0, 0), "n").unwrap().len(), 1);
        // The home of the run's tasks is an overlay, too, and no encrypted one.
        assert!(judge(passes(), wire(8, 90, 0), "n").is_ok());
        for (proved, wire, words) in [
            (passes(), wire(8, 9, 1), "plaintext"),
            (passes(), wire(0, 9, 9), "plaintext"),
            (passes(), wire(0, 0, 0), "none of ESP"),
            (dead(), wire(0, 5, 0), "without a word"),
            (dead(), wire(3, 0, 0), "timed out"),
        ] {
            let error = judge(proved, wire, "n").unwrap_err();
            assert!(error.why.contains(words) && !error.remedy.is_empty(), "{error:?}");
        }
    }
}
