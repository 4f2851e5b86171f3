//! Built network, and the containers made of it.

use crate::container::LabContainer;
use crate::plan::layout::{Layout, NamespaceEndpoint};
use crate::plan::wiring::NamespaceId;
use crate::programs::RunningPrograms;
use crate::verify::path_proof::namespace;
use std::net::IpAddr;
use std::sync::Arc;
use tare_network::Container;
use tare_sandbox::{Namespace, Sandbox};

/// Layout of a network, with its built namespaces and running programs.
pub(super) struct BuiltNetwork<'a> {
    pub(super) sandbox: &'a Arc<Sandbox>,
    pub(super) layout: &'a Layout,
    pub(super) spaces: &'a [Arc<Namespace>],
    pub(super) programs: &'a Arc<RunningPrograms>,
}

impl BuiltNetwork<'_> {
    /// Returns the containers of a role, `client` or `server`, numbered in their order.
    pub(super) fn containers(
        &self,
        role: &str,
        endpoints: &[NamespaceEndpoint],
    ) -> Vec<Box<dyn Container>> {
        let wiring = &self.layout.wiring;
        let container = |(index, endpoint): (usize, &NamespaceEndpoint)| {
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

    /// Returns the nodes as containers: their own network namespaces, with the mount namespace of their programs.
    pub(super) fn nodes(&self) -> Vec<Box<dyn Container>> {
        let wiring = &self.layout.wiring;
        let container = |(space, address): (NamespaceId, IpAddr)| {
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
            sandbox: Arc::clone(self.sandbox),
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
