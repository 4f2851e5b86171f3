//! Inspector of a network of the lab: routes out of it, and the ports of its bridge.

use crate::plan::layout::{Layout, Waypoint};
use crate::verify::path_proof::namespace;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use tare_network::{Error, Family, HopKind, NetworkInspector};
use tare_sandbox::Namespace;
use tare_sandbox::netlink::NetlinkSocket;

/// Largest number of ports that are tried: twice as many as a Linux bridge has (net/bridge/br_private.h,
/// `BR_MAX_PORTS`), so that another limit is noticed.
const MOST_PORTS: u32 = 2048;

/// Inspector of a network that was built.
pub(crate) struct LabInspector {
    /// Address outside of the network, of the network's family.
    outside: IpAddr,
    /// Namespaces of the clients. `None` for that of tare itself.
    clients: Vec<Option<Arc<Namespace>>>,
    /// Bridge on the path of the containers, with its namespace.
    bridge: Option<(Arc<Namespace>, String)>,
}

impl LabInspector {
    /// Creates the inspector of a layout that was built in these namespaces.
    pub(crate) fn new(layout: &Layout, spaces: &[Arc<Namespace>]) -> Self {
        let bridge = layout.path.iter().find_map(|waypoint| match waypoint {
            Waypoint::Device { kind: HopKind::Bridge, space: Some(space), name, .. } => {
                Some((Arc::clone(&spaces[space.0]), name.clone()))
            }
            _ => None,
        });
        Self {
            outside: outside_address(layout.wiring.family),
            clients: layout.clients.iter().map(|one| namespace(one, spaces).cloned()).collect(),
            bridge,
        }
    }
}

/// Returns an address that is on no network: of a block for documentation (RFC 5737, RFC 3849).
fn outside_address(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::new(192, 0, 2, 1).into(),
        Family::Ipv6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    }
}

impl NetworkInspector for LabInspector {
    fn count_routes_out(&mut self) -> Result<u32, Error> {
        let mut routed = 0;
        for client in &self.clients {
            let has_route = match client {
                Some(namespace) => namespace.has_route(self.outside),
                None => NetlinkSocket::open()?.has_route(self.outside),
            };
            routed += u32::from(has_route?);
        }
        Ok(routed)
    }

    fn fill_bridge(&mut self) -> Result<Option<u32>, Error> {
        let Some((namespace, bridge)) = self.bridge.as_ref() else { return Ok(None) };
        Ok(Some(namespace.fill_bridge(bridge, MOST_PORTS)?))
    }
}
