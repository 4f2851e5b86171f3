//! An engine as the journal keeps it.

use crate::place::{Known, Place};
use bollard::models::LocalNodeState;
use std::collections::BTreeMap;
use tare_record::Engine;

impl Place {
    /// The engines, the servers' first, and the image that containers are made of; the image is loaded for it. Nothing
    /// where there is none.
    #[must_use]
    pub fn describe(&self) -> Vec<Engine> {
        let contexts = self.settings().contexts.clone();
        let (servers, clients) =
            contexts.map_or((None, None), |(one, other)| (Some(one), Some(other)));
        let far = self.far().and_then(|far| far.describe_one(clients));
        self.describe_one(servers).into_iter().chain(far).collect()
    }

    fn describe_one(&self, context: Option<String>) -> Option<Engine> {
        let known = self.known().ok()?;
        let settings = self.settings().clone();
        Some(Engine {
            image: self.image(),
            image_asked: settings.image,
            security_asked: settings.security,
            parent_asked: settings.parent,
            engines_asked: settings.engines,
            same_node_asked: settings.same_node,
            context_asked: context,
            ..described(self.address().ok()?.to_string(), known)
        })
    }

    /// The name and the digest of the image, where it could be loaded; where not, every network says why.
    fn image(&self) -> Option<String> {
        let live = self.live().ok()?;
        let inspected = live.engine.wait(live.engine.docker().inspect_image(&live.image)).ok()?;
        Some(format!("{} {}", live.image, inspected.id?))
    }
}

fn described(address: String, known: &Known) -> Engine {
    let Known { info, version, .. } = known;
    let components = version.components.iter().flatten();
    let cgroups = [
        info.cgroup_driver.as_ref().map(ToString::to_string),
        info.cgroup_version.as_ref().map(|version| format!("v{version}")),
    ];
    let plugins = info.plugins.as_ref().and_then(|plugins| plugins.network.clone());
    let swarm = info.swarm.as_ref().and_then(|swarm| swarm.local_node_state);
    Engine {
        address,
        name: info.name.clone(),
        version: version.version.clone().unwrap_or_default(),
        api: version.api_version.clone().unwrap_or_default(),
        kernel: info.kernel_version.clone(),
        system: info.operating_system.clone(),
        components: components
            .map(|one| (one.name.clone(), one.version.clone()))
            .collect::<BTreeMap<_, _>>(),
        storage: info.driver.clone(),
        cgroups: cgroups
            .into_iter()
            .flatten()
            .reduce(|driver, version| format!("{driver}, {version}")),
        security: info.security_options.clone().unwrap_or_default(),
        drivers: plugins.unwrap_or_default(),
        swarm: swarm
            .filter(|state| !matches!(state, LocalNodeState::INACTIVE | LocalNodeState::EMPTY))
            .map(|state| state.to_string()),
        ..Engine::default()
    }
}
