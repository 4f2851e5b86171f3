//! Network `docker:user-bridge`: two containers on a bridge that is made for them.

use super::address::random_ipv6_prefix;
use super::layout::{DEFAULT_MTU, NetworkLayout, direct_routes, start_both};
use super::{DockerNetworkDefinition, OPTIONS, bridge, script};
use crate::engine_resources::EngineResources;
use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use std::collections::HashMap;
use tare_network::{Error, Family, NetworkInfo, NetworkParameters, Shape};

/// Option with which drivers take an MTU.
const MTU_OPTION: &str = "com.docker.network.driver.mtu";

pub(crate) struct UserBridgeNetwork;

impl DockerNetworkDefinition for UserBridgeNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "docker:user-bridge",
            summary: "two Docker containers on a bridge of their own, with Docker's DNS",
            stands_for: "docker network create, as docker compose does it",
            source: "https://docs.docker.com/engine/network/drivers/bridge/",
            options: OPTIONS,
        }
    }

    fn lay_out(
        &self,
        work: &EngineResources,
        shape: &Shape,
        site: &NetworkParameters,
    ) -> Result<NetworkLayout, Error> {
        let network = work.create_network(network_request("bridge", shape))?;
        let (servers, clients) = start_both(work, &network, shape)?;
        let path = bridge::bridge_path(work, &network, shape.family)?;
        Ok(NetworkLayout { routes: direct_routes(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &NetworkParameters) -> Vec<String> {
        let mut lines = script::first_lines();
        lines.push(create_command("bridge", shape, ""));
        lines.extend(script::container_lines(shape, "--network tare"));
        lines
    }
}

/// Builds the request for a network of a driver, with the shape's address family and MTU. Anything that the user does
/// not request stays Docker's choice.
pub(crate) fn network_request(driver: &str, shape: &Shape) -> NetworkCreateRequest {
    let ipv6 = shape.family == Family::Ipv6;
    let prefix = || IpamConfig { subnet: Some(random_ipv6_prefix()), ..IpamConfig::default() };
    let mtu = (shape.mtu != DEFAULT_MTU).then(|| (MTU_OPTION.to_owned(), shape.mtu.to_string()));
    NetworkCreateRequest {
        driver: Some(driver.to_owned()),
        enable_ipv6: ipv6.then_some(true),
        ipam: ipv6.then(|| Ipam { config: Some(vec![prefix()]), ..Ipam::default() }),
        options: Some(mtu.into_iter().collect::<HashMap<_, _>>()),
        ..NetworkCreateRequest::default()
    }
}

/// Returns the command that creates the same network.
pub(crate) fn create_command(driver: &str, shape: &Shape, more: &str) -> String {
    let mut line = format!("docker network create --driver {driver}");
    if shape.family == Family::Ipv6 {
        line.push_str(" --ipv6 --subnet fd00:7461:7265::/64");
    }
    if shape.mtu != DEFAULT_MTU {
        line.push_str(&format!(" --opt {MTU_OPTION}={}", shape.mtu));
    }
    if !more.is_empty() {
        line.push_str(&format!(" {more}"));
    }
    line + " tare"
}
