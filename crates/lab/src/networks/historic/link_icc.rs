//! `link-icc`: Docker's legacy links on a default bridge whose containers all reach each other, as dockerd starts by
//! default. A link adds only the server's name and variables to its client.

use crate::networks::LabNetworkDefinition;
use crate::networks::historic::link::announce_servers;
use crate::networks::single_host::bridge::{DOCKER_HOST, add_docker_rules, docker_requirements};
use crate::networks::single_host::bridge_plain::layout_on_bridge;
use crate::plan::layout::Layout;
use tare_network::{Error, NetworkInfo, NetworkOption, NetworkParameters, Requirement, Shape};

pub(crate) struct OpenLinkNetwork;

impl LabNetworkDefinition for OpenLinkNetwork {
    fn info(&self) -> NetworkInfo {
        NetworkInfo {
            name: "link-icc",
            summary: "two linked containers on a bridge on which all containers reach one another",
            stands_for: "dockerd --icc=true, its default, and docker run --link SERVER:server",
            source: "https://docs.docker.com/engine/network/links/",
            options: &NetworkOption::DOCKER_RULES,
        }
    }

    fn requirements(&self, _: &NetworkParameters) -> Vec<Requirement> {
        docker_requirements()
    }

    fn layout(&self, shape: &Shape, site: &NetworkParameters) -> Result<Layout, Error> {
        let mut bridge = layout_on_bridge("link-icc", shape, site, &DOCKER_HOST)?;
        announce_servers(&mut bridge, shape, site);
        Ok(add_docker_rules(bridge, site))
    }
}
