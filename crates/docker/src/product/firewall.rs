//! Firewall of an engine: the program whose rules filter and translate the packets of its bridges. Engine 29 has the choice
//! (`dockerd --firewall-backend`), and states it.

use bollard::models::SystemInfo;

/// Firewall of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EngineFirewall {
    /// Chains of iptables, which every engine before 29 has.
    #[default]
    Iptables,
    /// Tables `docker-bridges` of nftables.
    Nftables,
}

impl EngineFirewall {
    /// Returns the firewall that an engine states; iptables if it states none.
    pub(crate) fn from_info(info: &SystemInfo) -> Self {
        // With firewalld the driver is `nftables+firewalld`.
        let driver = driver(info).and_then(|driver| driver.split('+').next());
        if driver == Some("nftables") { Self::Nftables } else { Self::Iptables }
    }

    /// Returns the name, as a hop, of the rules that translate a published port.
    pub(crate) fn port_rules(self) -> &'static str {
        match self {
            Self::Iptables => "nat/DOCKER",
            Self::Nftables => "docker-bridges/nat-prerouting-and-output",
        }
    }

    /// Returns the name, as a hop, of the rules that filter forwarded packets.
    pub(crate) fn forward_rules(self) -> &'static str {
        match self {
            Self::Iptables => "filter/FORWARD",
            Self::Nftables => "docker-bridges/filter-FORWARD",
        }
    }

    /// Returns the chain of a bridge to which the rules of forwarded packets lead. Returns `None` if all bridges share
    /// chains.
    pub(crate) fn chain_into(self, bridge: &str) -> Option<String> {
        match self {
            Self::Iptables => None,
            Self::Nftables => Some(format!("filter-forward-in__{bridge}")),
        }
    }
}

/// Returns the driver of the firewall, as an engine states it. Engines before 28 state none.
pub(crate) fn driver(info: &SystemInfo) -> Option<&str> {
    info.firewall_backend.as_ref()?.driver.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_firewall_is_the_one_that_the_engine_states() {
        let firewall = |info: serde_json::Value| {
            let info: SystemInfo = serde_json::from_value(info).unwrap();
            (EngineFirewall::from_info(&info), driver(&info).map(str::to_owned))
        };
        assert_eq!(firewall(json!({})), (EngineFirewall::Iptables, None));
        for (stated, expected) in [
            ("iptables", EngineFirewall::Iptables),
            ("iptables+firewalld", EngineFirewall::Iptables),
            ("nftables", EngineFirewall::Nftables),
            ("nftables+firewalld", EngineFirewall::Nftables),
        ] {
            let info = json!({"FirewallBackend": {"Driver": stated}});
            assert_eq!(firewall(info), (expected, Some(stated.to_owned())));
        }
    }
}
