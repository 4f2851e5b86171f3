//! `swarm:NETWORK=name`: tasks of services on a network of the Swarm that is there already, whatever driver or plugin
//! made it.

use super::crew::Crew;
use super::overlay::{both_on, path};
use super::{OPTIONS, Recipe, Spread, place_of, script};
use crate::networks::laid::{Laid, Step, direct};
use crate::want::Want;
use tare_network::{About, Error, Hop, HopKind, Shape, Site};

/// What the name of the network follows.
const SCHEME: &str = "swarm:NETWORK=";

pub(super) struct Existing;

/// The name of the network, as the user says it; nothing where a list is made of what there is.
fn named(site: &Site) -> Option<&str> {
    site.argument.as_deref()?.strip_prefix("NETWORK=")
}

impl Recipe for Existing {
    fn about(&self) -> About {
        About {
            name: "swarm:NETWORK=NAME",
            summary: "tasks of Docker services on an existing network of any driver or plugin, by its name",
            stands_for: "docker service create --network NAME",
            source: "https://docs.docker.com/engine/swarm/networking/",
            options: OPTIONS,
        }
    }

    fn scheme(&self) -> Option<&'static str> {
        Some(SCHEME)
    }

    fn wants(&self, site: &Site) -> Vec<Want> {
        named(site).map(|name| Want::Network(name.to_owned())).into_iter().collect()
    }

    fn lay(
        &self,
        crew: &Crew,
        nodes: &Spread<'_>,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        let network = named(site).unwrap_or_default();
        let engine = &crew.swarm.engine;
        let inspecting = engine.docker().inspect_network(network, None);
        let found = engine.get(format!("inspect the network {network}"), inspecting)?;
        if found.scope.as_deref() != Some("swarm") {
            let why = format!("the network {network} is one engine's alone, and not the Swarm's");
            return Err(Error::new(format!("use {SCHEME}{network}"), why)
                .with_remedy(format!("use docker:NETWORK={network}, or one of --scope swarm")));
        }
        let driver = found.driver.unwrap_or_default();
        let (servers, clients) = both_on(crew, nodes, network, shape)?;
        let path = if driver == "overlay" {
            path(nodes, 0, 0)
        } else {
            let between = Hop::new(HopKind::Device, network, place_of(nodes.client(0)));
            vec![
                Step::ClientOwn(HopKind::Device),
                Step::Node(between.with_detail(format!("driver {driver}"))),
                Step::ServerOwn(HopKind::Device),
            ]
        };
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        let flags = format!("--network {}", named(site).unwrap_or("NAME"));
        [script::image()].into_iter().chain(script::both(shape, &flags)).collect()
    }
}
