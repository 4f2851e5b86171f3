//! `native`: no lab namespace at all. What the lab itself costs is the difference between this and `loopback`.

use super::Recipe;
use crate::layout::{Endpoint, Layout, Waypoint, one_node, routes};
use crate::wiring::Wiring;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tare_network::{About, Error, Family, Need, Shape, Site};

/// What the network namespace is called in which tare itself was started.
pub(crate) const PLACE: &str = "caller";

pub(super) struct Native;

impl Recipe for Native {
    fn about(&self) -> About {
        About {
            name: "native",
            summary: "both ends outside of the lab, over this machine's own loopback device",
            stands_for: "two processes on one machine, without containers",
            source: "RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3",
            options: &[],
        }
    }

    fn needs(&self, _: &Site) -> Vec<Need> {
        Vec::new()
    }

    fn layout(&self, shape: &Shape, site: &Site) -> Result<Layout, Error> {
        one_node("native", shape)?;
        let servers = addresses(shape)?;
        let endpoint = |address| Endpoint { space: None, address };
        Ok(Layout {
            wiring: Wiring::new(shape.family, shape.mtu),
            clients: (0..shape.clients).map(|_| endpoint(servers[0])).collect(),
            routes: routes(shape, site, |_, server| (servers[server], servers[server])),
            servers: servers.into_iter().map(endpoint).collect(),
            path: vec![Waypoint::loopback(None)],
            proof: None,
        })
    }
}

/// An address of this machine's own for each server: 127.0.0.1, 127.0.0.2 …; of IPv6 there is one only.
fn addresses(shape: &Shape) -> Result<Vec<IpAddr>, Error> {
    match shape.family {
        Family::Ipv4 => {
            let first = u32::from(Ipv4Addr::LOCALHOST);
            Ok((0..shape.servers).map(|index| Ipv4Addr::from(first + index).into()).collect())
        }
        Family::Ipv6 if shape.servers > 1 => {
            let why = "this machine has one IPv6 loopback address, and every server needs its own";
            Err(Error::new("lay out native", why).with_remedy("use --servers 1, or loopback"))
        }
        Family::Ipv6 => Ok(vec![Ipv6Addr::LOCALHOST.into()]),
    }
}
