//! A network that is up: what its containers are made of.

use crate::container::LabContainer;
use crate::lab::Lab;
use crate::layout::{Endpoint, Layout};
use crate::namespace::Namespace;
use crate::programs::Running;
use crate::prove::namespace;
use crate::wiring::SpaceId;
use std::net::IpAddr;
use std::sync::Arc;
use tare_network::Container;

/// A layout, and what was built and started of it.
pub(super) struct Up<'a> {
    pub(super) lab: &'a Arc<Lab>,
    pub(super) layout: &'a Layout,
    pub(super) spaces: &'a [Arc<Namespace>],
    pub(super) programs: &'a Arc<Running>,
}

impl Up<'_> {
    /// The containers of a role.
    pub(super) fn containers(&self, role: &str, endpoints: &[Endpoint]) -> Vec<Box<dyn Container>> {
        let wiring = &self.layout.wiring;
        let container = |(index, endpoint): (usize, &Endpoint)| {
            let own = endpoint.space.map(|space| &wiring.spaces[space.0]);
            let namespace = namespace(endpoint, self.spaces).cloned();
            Box::new(LabContainer {
                environment: own.map(|own| own.environment.clone()).unwrap_or_default(),
                names: own.map(|own| own.names.clone()).unwrap_or_default(),
                ..self.container(format!("{role}-{index}"), endpoint.address, namespace)
            }) as Box<dyn Container>
        };
        endpoints.iter().enumerate().map(container).collect()
    }

    /// The nodes' own namespaces, with the view of files of their programs.
    pub(super) fn nodes(&self) -> Vec<Box<dyn Container>> {
        let wiring = &self.layout.wiring;
        let container = |(space, address): (SpaceId, IpAddr)| {
            let namespace = Some(Arc::clone(&self.spaces[space.0]));
            let node = self.container(wiring.name(space).to_owned(), address, namespace);
            LabContainer { mounts: self.programs.mounts(space), ..node }
        };
        wiring.nodes().map(|node| Box::new(container(node)) as Box<dyn Container>).collect()
    }

    fn container(
        &self,
        name: String,
        address: IpAddr,
        namespace: Option<Arc<Namespace>>,
    ) -> LabContainer {
        LabContainer {
            lab: Arc::clone(self.lab),
            name,
            address,
            namespace,
            environment: Vec::new(),
            names: Vec::new(),
            mounts: None,
            programs: (!self.programs.is_empty()).then(|| Arc::clone(self.programs)),
        }
    }
}
