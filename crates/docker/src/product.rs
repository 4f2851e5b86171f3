//! Products that answer to the API of the Docker Engine.

pub(crate) mod firewall;

use crate::address::EngineAddress;
use bollard::models::SystemVersion;
use std::fmt;
use std::path::Path;
use tare_network::FirewallBackend;

/// File name of Podman's sockets.
const PODMAN_SOCKET: &str = "podman.sock";

/// Product that answers to the API of the Docker Engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EngineProduct {
    /// The Docker Engine itself.
    #[default]
    Docker,
    /// Podman, by its compatible socket.
    Podman,
}

impl EngineProduct {
    /// Returns the product that an engine says it is. Podman names itself only among its components.
    pub(crate) fn from_version(version: &SystemVersion) -> Self {
        let mut components = version.components.iter().flatten();
        let is_podman = components.any(|component| component.name == "Podman Engine");
        if is_podman { Self::Podman } else { Self::Docker }
    }

    /// Returns the product that most likely answers at an address, for the words of an error before it has answered.
    pub(crate) fn of_address(address: &EngineAddress) -> Self {
        let name = address.socket().and_then(Path::file_name).unwrap_or_default();
        if name == PODMAN_SOCKET { Self::Podman } else { Self::Docker }
    }

    /// Returns the name of the product's own client.
    pub(crate) fn client(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// Returns the name of the rules that translate a published port, as a hop, by an engine's firewall. Podman's chains
    /// have the name of its network backend, which the API does not state.
    pub(crate) fn port_rules(self, firewall: FirewallBackend) -> &'static str {
        match self {
            Self::Docker => firewall.port_rules(),
            Self::Podman => "nat/podman",
        }
    }

    /// Returns the name of the program that forwards a published port if no rule does.
    pub(crate) fn port_proxy(self) -> &'static str {
        match self {
            Self::Docker => "docker-proxy",
            Self::Podman => "rootlessport",
        }
    }
}

impl fmt::Display for EngineProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Docker => "Docker Engine",
            Self::Podman => "Podman",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn podman_is_told_by_its_components() {
        let product = |components: &[&str]| {
            let of = |name: &&str| json!({"Name": name, "Version": "4.3.1"});
            let components: Vec<_> = components.iter().map(of).collect();
            let version = serde_json::from_value(json!({"Components": components}));
            EngineProduct::from_version(&version.unwrap())
        };
        assert_eq!(product(&["Podman Engine", "Conmon"]), EngineProduct::Podman);
        assert_eq!(product(&["Engine", "containerd", "runc"]), EngineProduct::Docker);
        assert_eq!(product(&[]), EngineProduct::Docker);
        let at = |path: &str| EngineProduct::of_address(&EngineAddress::Unix(path.into()));
        assert_eq!(at("/run/user/1000/podman/podman.sock"), EngineProduct::Podman);
        assert_eq!(at("/run/docker.sock"), EngineProduct::Docker);
    }
}
