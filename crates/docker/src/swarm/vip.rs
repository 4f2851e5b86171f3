//! `swarm:vip`: tasks of services on an overlay network, by the virtual address of the server's service.

use super::crew::Crew;
use super::overlay::{VXLAN, create, path, request};
use super::wanted::{Endpoint as By, On, Wanted};
use super::{OPTIONS, Recipe, Spread, place_of, script};
use crate::networks::laid::{Endpoint, Laid, Step, names, on_network, routes};
use crate::want::Want;
use std::net::{IpAddr, SocketAddr};
use tare_network::{About, Error, Hop, HopKind, Shape, Site};

pub(super) struct Vip;

impl Recipe for Vip {
    fn about(&self) -> About {
        About {
            name: "swarm:vip",
            summary: "tasks of Docker services on an overlay network, by the service's virtual address",
            stands_for: "docker service create --network NAME, reached by the service's name",
            source: "https://docs.docker.com/engine/swarm/networking/#configure-service-discovery",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        vec![Want::Kernel("ip_vs")]
    }

    fn lay(
        &self,
        crew: &Crew,
        nodes: &Spread<'_>,
        shape: &Shape,
        site: &Site,
    ) -> Result<Laid, Error> {
        let network = crew.network(request(shape, VXLAN))?;
        let on = On::Network(network.clone());
        let servers = names("server", shape.servers).enumerate().map(|(n, name)| Wanted {
            endpoint: By::Vip,
            ..Wanted::new(name, nodes.of_server(n), on.clone())
        });
        let clients = names("client", shape.clients).enumerate();
        let clients = clients.map(|(n, name)| Wanted::new(name, nodes.of_client(n), on.clone()));
        let started = crew.tasks(&servers.chain(clients).collect::<Vec<_>>())?;
        let mut all = started.into_iter().map(|one| on_network(one, &network, shape));
        let servers: Vec<Endpoint> =
            all.by_ref().take(shape.servers as usize).collect::<Result<_, _>>()?;
        let clients = all.collect::<Result<_, _>>()?;
        let virtual_ones = (0..shape.servers as usize)
            .map(|server| crew.virtual_address(server, &network))
            .collect::<Result<Vec<IpAddr>, Error>>()?;
        let mut path = path(nodes, 0, 0);
        let balancer = Hop::new(HopKind::Nat, "ip_vs", place_of(nodes.client(0)));
        path.insert(1, Step::Node(balancer.with_detail(format!("{}", virtual_ones[0]))));
        Ok(Laid {
            routes: routes(shape, site, |server, port| {
                let listen = SocketAddr::new(servers[server].address, port);
                (listen, SocketAddr::new(virtual_ones[server], port))
            }),
            servers,
            clients,
            path,
        })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = vec![script::image(), create(shape, VXLAN, "")];
        lines.extend(script::both(shape, "--network tare --endpoint-mode vip"));
        lines
    }
}
