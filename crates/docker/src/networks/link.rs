//! `docker:link`: two containers on the default bridge, of which one knows the other by `--link`.

use super::bridge::{self, DEFAULT};
use super::laid::{Laid, direct, names, server_of, side, specs};
use super::node::Node;
use super::{OPTIONS, Recipe, script};
use crate::want::Want;
use crate::work::{On, Spec, Work};
use tare_network::{About, Error, Shape, Site};

pub(super) struct Link;

impl Recipe for Link {
    fn about(&self) -> About {
        About {
            name: "docker:link",
            summary: "two Docker containers on the default bridge, the client linked to the server",
            stands_for: "docker run --link NAME",
            source: "https://docs.docker.com/engine/network/links/",
            options: OPTIONS,
        }
    }

    fn wants(&self, _: &Site) -> Vec<Want> {
        Vec::new()
    }

    fn lay(&self, work: &Work, shape: &Shape, site: &Site) -> Result<Laid, Error> {
        let on = On::Network(DEFAULT.to_owned());
        let servers = side(work, &specs("server", shape.servers, &on), DEFAULT, shape)?;
        let specs: Vec<Spec> = names("client", shape.clients)
            .enumerate()
            .map(|(client, name)| {
                let server = &servers[server_of(client, shape)].container;
                let links = vec![(server.id.clone(), server.name.clone())];
                Spec { links, ..Spec::new(name, on.clone()) }
            })
            .collect();
        let clients = side(work, &specs, DEFAULT, shape)?;
        // The link is what tells this from `docker:bridge`: it must have named the server to the client.
        let server = &servers[0];
        let hosts = Node::look(work, &clients[0].container)?.hosts;
        if !hosts.iter().any(|line| names_server(line, &server.container.name)) {
            let what = format!("find {} in the hosts file of client-0", server.container.name);
            return Err(Error::new(what, "Docker has not linked them"));
        }
        let path = bridge::path(work, DEFAULT)?;
        Ok(Laid { routes: direct(shape, site, &servers), servers, clients, path })
    }

    fn commands(&self, shape: &Shape, _: &Site) -> Vec<String> {
        let mut lines = script::begin();
        lines.extend(names("server", shape.servers).map(|name| script::run(&name, "")));
        lines.extend(names("client", shape.clients).enumerate().map(|(client, name)| {
            script::run(&name, &format!("--link server-{}", server_of(client, shape)))
        }));
        lines
    }
}

/// Whether a line of a hosts file gives this name to an address.
fn names_server(line: &str, name: &str) -> bool {
    line.split_whitespace().skip(1).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_line_of_the_hosts_file() {
        assert!(names_server("172.17.0.2\tserver-0 4f66ad9f2d8e tare-1-server-0", "server-0"));
        assert!(!names_server("172.17.0.2\tserver-01", "server-0"));
        assert!(!names_server("server-0", "server-0"));
    }
}
