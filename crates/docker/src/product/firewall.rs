//! Firewall backend that an engine states. Engine 29 has the choice (`dockerd --firewall-backend`).

use bollard::models::SystemInfo;
use tare_network::FirewallBackend;

/// Returns the firewall backend that an engine states; iptables if it states none.
pub(crate) fn backend(info: &SystemInfo) -> FirewallBackend {
    // With firewalld the driver is `nftables+firewalld`.
    let name = driver(info).and_then(|driver| driver.split('+').next());
    name.and_then(|name| name.parse().ok()).unwrap_or_default()
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
        let stated_firewall = |info: serde_json::Value| {
            let info: SystemInfo = serde_json::from_value(info).unwrap();
            (backend(&info), driver(&info).map(str::to_owned))
        };
        assert_eq!(stated_firewall(json!({})), (FirewallBackend::Iptables, None));
        for (stated, expected) in [
            ("iptables", FirewallBackend::Iptables),
            ("iptables+firewalld", FirewallBackend::Iptables),
            ("nftables", FirewallBackend::Nftables),
            ("nftables+firewalld", FirewallBackend::Nftables),
        ] {
            let info = json!({"FirewallBackend": {"Driver": stated}});
            assert_eq!(stated_firewall(info), (expected, Some(stated.to_owned())));
        }
    }
}
