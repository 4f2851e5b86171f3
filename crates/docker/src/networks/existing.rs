//! `docker:NETWORK=name`: two containers on a network that is there already, whatever driver or plugin made it.

use super::bridge::{self, DEVICE};
use super::laid::{Laid, NODE, Step, both_on, direct};
use super::{OPTIONS, Recipe, script};
use crate::want::Want;
use crate::work::Work;
use tare_network::{About, Error, Hop, HopKind, Shape, Site};

/// What the name of the network follows.
const SCHEME: &str = "docker:NETWORK=";

pub(super) struct Existing;

/// The name of the network, as the user says it; nothing where a list is made of what there is.
fn named(site: &Site) -> Option<&str> {
    site.argument.as_deref()?.strip_prefix("NETWORK=")
}

impl Recipe for Existing {
    fn about(&self) -> About {
        About {
            name: "docker:NETWORK=NAME",
            summary: "two Docker containers on an existing network of any driver or plugin, by its name",
            stands_for: "docker run --network NAME",
            source: "https://docs.docker.com/engine/extend/plugins_network/",
            options: OPTIONS,
        }
    }

    fn scheme(&self) -> Option<&'static str> {
        Some(SCHEME)
    }

    fn wants(&self, site: &Site) -> Vec<Want> {
        named(site).map(|name| Want::Network(name.to_owned())).into_iter().collect()
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        let network = named(site).unwrap_or_default();
        let inspecting = work.engine().docker().inspect_network(network, None);
        let what = format!("inspect the network {network}");
        let driver = work.engine().get(what, inspecting)?.driver.unwrap_or_default();
        if matches!(driver.as_str(), "host" | "null") {
            let why = format!("containers have no address of their own on the network {network}");
            return Err(Error::new(format!("use {SCHEME}{network}"), why)
                .with_remedy("use docker:host, docker:none+veth or docker:none+pipework"));
        }
        let (servers, clients) = both_on(work, network, shape)?;
        let path = if driver == "bridge" {
            bridge::path(work, network)?
        } else {
            let between =
                Hop::new(HopKind::Device, network, NODE).with_detail(format!("driver {driver}"));
            vec![
                Step::OfClient(HopKind::Device, DEVICE),
                Step::Node(between),
                Step::OfServer(HopKind::Device, DEVICE),
            ]
        };
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String> {
        script::both(shape, &format!("--network {}", named(site).unwrap_or("NAME")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_networks_own_name_follows_the_sign() {
        let spelled = "docker:NETWORK=my-net+unconfined".parse().unwrap();
        let site = Site::of(&spelled, Vec::new());
        assert_eq!(Existing.wants(&site), [Want::Network("my-net".to_owned())]);
        assert_eq!(Existing.wants(&Site::default()), []);
    }
}
