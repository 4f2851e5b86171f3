//! `docker:user-bridge`: two containers on a bridge that is made for them.

use super::address::random_ipv6_prefix;
use super::laid::{Laid, USUAL_MTU, both_on, direct};
use super::{OPTIONS, Recipe, bridge, script};
use crate::want::Want;
use crate::work::Work;
use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use std::collections::HashMap;
use tare_network::{About, Error, Family, Shape, Site};

/// The option by which drivers take an MTU.
const MTU: &str = "com.docker.network.driver.mtu";

pub(crate) struct UserBridge;

impl Recipe for UserBridge {
    fn about(&self) -> About {
        About {
            name: "docker:user-bridge",
            summary: "two Docker containers on a bridge of their own, with Docker's DNS",
            stands_for: "docker network create, as docker compose does it",
            source: "https://docs.docker.com/engine/network/drivers/bridge/",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        Vec::new()
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        let network = work.network(request("bridge", shape))?;
        let (servers, clients) = both_on(work, &network, shape)?;
        let path = bridge::path(work, &network)?;
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = script::begin();
        lines.push(create("bridge", shape, ""));
        lines.extend(script::sides(shape, "--network tare"));
        lines
    }
}

/// A network of a driver in the shape's family and MTU; what nobody asked for stays Docker's choice.
pub(crate) fn request(driver: &str, shape: &Shape) -> NetworkCreateRequest {
    let ipv6 = shape.family == Family::Ipv6;
    let prefix = || IpamConfig { subnet: Some(random_ipv6_prefix()), ..IpamConfig::default() };
    let mtu = (shape.mtu != USUAL_MTU).then(|| (MTU.to_owned(), shape.mtu.to_string()));
    NetworkCreateRequest {
        driver: Some(driver.to_owned()),
        enable_ipv6: ipv6.then_some(true),
        ipam: ipv6.then(|| Ipam { config: Some(vec![prefix()]), ..Ipam::default() }),
        options: Some(mtu.into_iter().collect::<HashMap<_, _>>()),
        ..NetworkCreateRequest::default()
    }
}

/// The same as a command.
pub(crate) fn create(driver: &str, shape: &Shape, more: &str) -> String {
    let mut line = format!("docker network create --driver {driver}");
    if shape.family == Family::Ipv6 {
        line.push_str(" --ipv6 --subnet fd00:7461:7265::/64");
    }
    if shape.mtu != USUAL_MTU {
        line.push_str(&format!(" --opt {MTU}={}", shape.mtu));
    }
    if !more.is_empty() {
        line.push_str(&format!(" {more}"));
    }
    line + " tare"
}
