//! `docker:overlay-kv`: the overlay of 2015, whose engines know of one another by a key-value store.
//!
//! dockerd had it from 1.9 to 20.10 (`--cluster-store`, `--cluster-advertise`), before and beside Swarm mode. A network
//! that one engine makes is there on all of them a moment later.

use super::apart::{CLIENTS, SERVERS};
use super::laid::{Endpoint, Laid, Step, direct, on_network, specs};
use super::{OPTIONS, Recipe, script};
use crate::swarm::overlay::{VXLAN, create, request};
use crate::trouble::is_not_found;
use crate::want::Want;
use crate::work::{On, Work};
use std::time::{Duration, Instant};
use tare_network::{About, Error, Hop, HopKind, Shape, Site};

pub(super) struct OverlayKv;

/// How long a network may take to be known to the other engine, and how often it is asked.
const PATIENCE: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(100);

/// What helps where an engine has no such store.
const REMEDY: &str = "start dockerd up to 20.10, in no Swarm, with --cluster-store etcd://HOST:PORT and \
                      --cluster-advertise ADDRESS:PORT; or use swarm:overlay";

impl Recipe for OverlayKv {
    fn about(&self) -> About {
        About {
            name: "docker:overlay-kv",
            summary: "containers on an overlay network of two engines that share a key-value store",
            stands_for: "dockerd --cluster-store, docker network create --driver overlay, as of 2015",
            source: "https://github.com/moby/moby/blob/20.10/libnetwork/docs/overlay.md",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        vec![Want::TwoContexts, Want::Driver("overlay")]
    }

    fn can_be_apart(&self) -> bool {
        true
    }

    fn lay(&self, _: &Work, _: &Shape, _: &Site) -> Result<Laid, Error> {
        Err(Error::new("lay out docker:overlay-kv", "it joins two engines")
            .with_remedy("use --server-context A --client-context B"))
    }

    fn lay_apart(
        &self,
        servers: &Work,
        clients: &Work,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        let made = servers.network(request(shape, VXLAN));
        let network = made.map_err(|error| error.with_remedy(REMEDY))?;
        wait(clients, &network)?;
        let side = |work: &Work, role, count| -> Result<Vec<Endpoint>, Error> {
            let started = work.containers(&specs(role, count, &On::Network(network.clone())))?;
            started.into_iter().map(|one| on_network(one, &network, shape)).collect()
        };
        let on_servers = side(servers, "server", shape.servers)?;
        let on_clients = side(clients, "client", shape.clients)?;
        let bridge = |place| {
            Step::Node(Hop::new(HopKind::Bridge, "br0", place).with_detail("driver overlay"))
        };
        let vxlan = Hop::new(HopKind::Encapsulation, "vxlan0", CLIENTS);
        Ok(Laid {
            routes: direct(shape, site, &on_servers),
            servers: on_servers,
            clients: on_clients,
            path: vec![
                Step::ClientOwn(HopKind::Veth),
                bridge(CLIENTS),
                Step::Node(vxlan.with_detail("VXLAN, UDP 4789")),
                bridge(SERVERS),
                Step::ServerOwn(HopKind::Veth),
            ],
        })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let on =
            |name, line: String| line.replacen("docker", &format!("docker --context {name}"), 1);
        let mut lines = vec![
            "# on both machines: dockerd --cluster-store etcd://HOST:2379 --cluster-advertise ADDRESS:2376"
                .to_owned(),
        ];
        lines.extend(["A", "B"].map(|name| format!("tare image | docker --context {name} load")));
        lines.push(on("A", create(shape, VXLAN, "")));
        lines.push(on("A", script::run("server-0", "--network tare")));
        lines.push(on("B", script::run("client-0", "--network tare")));
        lines
    }
}

/// Waits until an engine knows of a network that another one has made.
fn wait(work: &Work, network: &str) -> Result<(), Error> {
    let what = "see the network of the servers' engine on the clients'";
    let engine = work.engine();
    let deadline = Instant::now() + PATIENCE;
    loop {
        match engine.wait(engine.docker().inspect_network(network, None)) {
            Ok(_) => return Ok(()),
            Err(refusal) if !is_not_found(&refusal) => return Err(engine.failed(what, &refusal)),
            Err(_) if Instant::now() >= deadline => {
                let why = format!("it is not there after {} s", PATIENCE.as_secs());
                return Err(Error::new(what, format!("{why}: they share no key-value store"))
                    .with_remedy(REMEDY));
            }
            Err(_) => std::thread::sleep(TICK),
        }
    }
}
