//! Description of a Docker Engine for the journal.

use crate::place::{EngineInfo, EnginePlace};
use crate::podman::properties::PodmanProperties;
use crate::product::{EngineProduct, firewall};
use bollard::models::LocalNodeState;
use std::collections::BTreeMap;
use tare_record::EngineDescription;

impl EnginePlace {
    /// Describes the engines, the servers' first, and the image of the containers, which is loaded for this. Returns an
    /// empty list if no engine answers.
    #[must_use]
    pub fn describe(&self) -> Vec<EngineDescription> {
        let contexts = self.options().contexts.clone();
        let (servers, clients) =
            contexts.map_or((None, None), |(one, other)| (Some(one), Some(other)));
        let far = self.clients_engine().and_then(|far| far.describe_engine(clients));
        self.describe_engine(servers).into_iter().chain(far).collect()
    }

    fn describe_engine(&self, context: Option<String>) -> Option<EngineDescription> {
        let known = self.info_for_run().ok()?;
        let settings = self.options().clone();
        Some(EngineDescription {
            image: self.image_digest(),
            image_asked: settings.image,
            security_asked: settings.security,
            parent_asked: settings.parent,
            engines_asked: settings.engines,
            same_node_asked: settings.same_node,
            context_asked: context,
            ..engine_description(self.address().ok()?.to_string(), known)
        })
    }

    /// Returns the name and the digest of the image. Returns `None` if it could not be loaded; every network then says
    /// why.
    fn image_digest(&self) -> Option<String> {
        let live = self.session().ok()?;
        let inspected = live.engine.wait(live.engine.docker().inspect_image(&live.image)).ok()?;
        let name = self.options().image.as_ref().unwrap_or(&live.image);
        Some(format!("{name} {}", inspected.id?))
    }
}

fn engine_description(address: String, known: &EngineInfo) -> EngineDescription {
    let EngineInfo { info, version, podman, .. } = known;
    let own = podman.iter().flat_map(PodmanProperties::components);
    let components = version.components.iter().flatten();
    let cgroups = [
        info.cgroup_driver.as_ref().map(ToString::to_string),
        info.cgroup_version.as_ref().map(|version| format!("v{version}")),
    ];
    let plugins = info.plugins.as_ref().and_then(|plugins| plugins.network.clone());
    let swarm = info.swarm.as_ref().and_then(|swarm| swarm.local_node_state);
    let product = EngineProduct::from_version(version);
    // Docker states it among the security options, Podman does not.
    let rootless = podman.as_ref().filter(|podman| podman.rootless);
    let rootless = rootless.map(|_| "name=rootless".to_owned());
    EngineDescription {
        address,
        product: (product != EngineProduct::Docker).then(|| product.to_string()),
        name: info.name.clone(),
        version: version.version.clone().unwrap_or_default(),
        api: version.api_version.clone().unwrap_or_default(),
        kernel: info.kernel_version.clone(),
        system: info.operating_system.clone(),
        components: components
            // Podman states the features of a runtime on further lines.
            .map(|one| {
                (one.name.clone(), one.version.lines().next().unwrap_or_default().to_owned())
            })
            .chain(own)
            .collect::<BTreeMap<_, _>>(),
        storage: info.driver.clone(),
        cgroups: cgroups
            .into_iter()
            .flatten()
            .reduce(|driver, version| format!("{driver}, {version}")),
        security: info.security_options.iter().flatten().cloned().chain(rootless).collect(),
        drivers: plugins.unwrap_or_default(),
        firewall: firewall::driver(info).map(str::to_owned),
        swarm: swarm
            .filter(|state| !matches!(state, LocalNodeState::INACTIVE | LocalNodeState::EMPTY))
            .map(|state| state.to_string()),
        ..EngineDescription::default()
    }
}
