//! `docker:macvlan`, `docker:ipvlan-l2`, `docker:ipvlan-l3`: containers with devices of their own on the machine's uplink.

use super::bridge::DEVICE;
use super::laid::{Laid, NODE, Step, both_on, direct};
use super::node::{self, Node};
use super::user_bridge::{create, request};
use super::{OPTIONS, Recipe, apart, script};
use crate::want::Want;
use crate::work::Work;
use std::collections::HashMap;
use tare_network::{About, Error, Hop, HopKind, Shape, Site};

/// Which kind of device.
#[derive(Clone, Copy)]
pub(super) enum Sub {
    /// Each with a MAC address of its own.
    Macvlan,
    /// All with the uplink's MAC address, switched by it.
    IpvlanL2,
    /// All with the uplink's MAC address, routed by it.
    IpvlanL3,
}

impl Sub {
    fn driver(self) -> &'static str {
        match self {
            Self::Macvlan => "macvlan",
            Self::IpvlanL2 | Self::IpvlanL3 => "ipvlan",
        }
    }

    /// The driver's option for its mode, and the mode.
    fn mode(self) -> (&'static str, &'static str) {
        match self {
            Self::Macvlan => ("macvlan_mode", "bridge"),
            Self::IpvlanL2 => ("ipvlan_mode", "l2"),
            Self::IpvlanL3 => ("ipvlan_mode", "l3"),
        }
    }
}

impl Recipe for Sub {
    fn about(&self) -> About {
        let (name, summary, source) = match self {
            Self::Macvlan => (
                "docker:macvlan",
                "two Docker containers with macvlan devices on the host's uplink",
                "https://docs.docker.com/engine/network/drivers/macvlan/",
            ),
            Self::IpvlanL2 => (
                "docker:ipvlan-l2",
                "two Docker containers with ipvlan devices on the host's uplink, switched",
                "https://docs.docker.com/engine/network/drivers/ipvlan/",
            ),
            Self::IpvlanL3 => (
                "docker:ipvlan-l3",
                "two Docker containers with ipvlan devices on the host's uplink, routed",
                "https://docs.docker.com/engine/network/drivers/ipvlan/",
            ),
        };
        let stands_for = match self {
            Self::Macvlan => "docker network create --driver macvlan",
            Self::IpvlanL2 | Self::IpvlanL3 => "docker network create --driver ipvlan",
        };
        About { name, summary, stands_for, source, options: OPTIONS }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        let module = self.driver();
        vec![Want::Driver(module), Want::Kernel(module)]
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        let seen = Node::see(work)?.seen;
        let parent = parent_of(work, &seen)?;
        let network = work.network(on_parent(*self, &parent, shape))?;
        let (servers, clients) = both_on(work, &network, shape)?;
        let mut below = Hop::new(HopKind::Device, &parent, NODE).with_detail(format!(
            "driver {}, {}",
            self.driver(),
            self.mode().1
        ));
        below.mtu = seen.device(&parent).map(|device| device.mtu);
        Ok(Laid {
            routes: direct(shape, site, &servers),
            servers,
            clients,
            path: vec![
                Step::OfClient(HopKind::Device, DEVICE),
                Step::Node(below),
                Step::OfServer(HopKind::Device, DEVICE),
            ],
        })
    }

    fn can_be_apart(&self) -> bool {
        matches!(self, Self::Macvlan)
    }

    fn lay_apart(
        &self,
        servers: &Work,
        clients: &Work,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        apart::macvlan(servers, clients, shape, site)
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let (option, mode) = self.mode();
        let mut lines = script::begin();
        lines.push(
            "PARENT=$(ip -o route show default | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')".to_owned(),
        );
        let more = format!("--opt parent=\"$PARENT\" --opt {option}={mode}");
        lines.push(create(self.driver(), shape, &more));
        lines.extend(script::sides(shape, "--network tare"));
        lines
    }
}

/// The device that such a network sits on: as the user says, else the uplink.
pub(super) fn parent_of(work: &Work, seen: &crate::look::Seen) -> Result<String, Error> {
    match &work.settings().parent {
        Some(parent) => Ok(parent.clone()),
        None => node::parent(seen),
    }
}

/// A network on a device.
pub(super) fn on_parent(
    sub: Sub,
    parent: &str,
    shape: &Shape,
) -> bollard::models::NetworkCreateRequest {
    let mut request = request(sub.driver(), shape);
    let (option, mode) = sub.mode();
    let options = request.options.get_or_insert_with(HashMap::new);
    options.insert("parent".to_owned(), parent.to_owned());
    options.insert(option.to_owned(), mode.to_owned());
    request
}
