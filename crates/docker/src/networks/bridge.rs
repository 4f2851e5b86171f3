//! `docker:bridge`: two containers on the engine's default bridge.

use super::laid::{Laid, Step, both_on, direct};
use super::node::{Node, bridge_hops};
use super::{OPTIONS, Recipe, script};
use crate::want::Want;
use crate::work::Work;
use tare_network::{About, Error, HopKind, Shape, Site};

/// What the engine calls its default network.
pub(super) const DEFAULT: &str = "bridge";

/// The device of every container that Docker attaches to one network.
pub(super) const DEVICE: &str = "eth0";

/// The driver's option for the name of the bridge.
const BRIDGE_NAME: &str = "com.docker.network.bridge.name";

pub(super) struct Bridge;

impl Recipe for Bridge {
    fn about(&self) -> About {
        About {
            name: "docker:bridge",
            summary: "two Docker containers on the default bridge",
            stands_for: "docker run",
            source: "https://docs.docker.com/engine/network/drivers/bridge/",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        Vec::new()
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        let (servers, clients) = both_on(work, DEFAULT, shape)?;
        let path = path(work, DEFAULT)?;
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        script::both(shape, "")
    }
}

/// The path between two containers on a bridge of the engine's.
pub(super) fn path(work: &Work, network: &str) -> Result<Vec<Step>, Error> {
    let seen = Node::see(work)?.seen;
    let name = bridge_of(work, network)?;
    let mut path = vec![Step::OfClient(HopKind::Veth, DEVICE)];
    path.extend(bridge_hops(&seen, &name, "bridge").into_iter().map(Step::Node));
    path.push(Step::OfServer(HopKind::Veth, DEVICE));
    Ok(path)
}

/// The device that a network of the driver `bridge` is.
pub(super) fn bridge_of(work: &Work, network: &str) -> Result<String, Error> {
    let inspecting = work.engine().docker().inspect_network(network, None);
    let inspected = work.engine().get(format!("inspect the network {network}"), inspecting)?;
    let named = inspected.options.and_then(|options| options.get(BRIDGE_NAME).cloned());
    // Docker names other bridges after the first twelve digits of the network.
    let derived = || inspected.id.unwrap_or_default().chars().take(12).collect::<String>();
    Ok(named.unwrap_or_else(|| format!("br-{}", derived())))
}
