//! Results of CNI plugins: the addresses and devices of an attached container, or the plugin's own error message.

use serde::Deserialize;
use serde_json::Value;
use std::net::IpAddr;
use tare_network::Family;

/// Result of attaching a container.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CniResult {
    /// JSON as the plugin wrote it, passed on to the next plugin as `prevResult`.
    pub(crate) raw: Value,
    /// Devices that the plugins created.
    pub(crate) interfaces: Vec<CniInterface>,
    /// Addresses of the container, without their prefix lengths.
    pub(crate) addresses: Vec<IpAddr>,
}

/// Device that a plugin created.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct CniInterface {
    /// Name of the device in its namespace.
    pub(crate) name: String,
    /// Namespace that the device is in; empty for the node's own.
    #[serde(default)]
    pub(crate) sandbox: String,
}

#[derive(Deserialize)]
struct IpConfig {
    address: String,
}

#[derive(Deserialize)]
struct SuccessResult {
    #[serde(default)]
    interfaces: Vec<CniInterface>,
    #[serde(default)]
    ips: Vec<IpConfig>,
}

/// Error result of a plugin.
#[derive(Deserialize)]
struct ErrorResult {
    msg: String,
    #[serde(default)]
    details: String,
}

impl CniResult {
    /// Reads a plugin's output. A plugin that changes nothing may leave all fields out.
    ///
    /// Fails with the reason if the text is no JSON result, or if an address in it cannot be parsed.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let raw: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let result = SuccessResult::deserialize(&raw).map_err(|error| error.to_string())?;
        let address = |one: &IpConfig| {
            let (address, _) = one.address.split_once('/').unwrap_or((&one.address, ""));
            address
                .parse()
                .map_err(|_| format!("invalid address `{}`: expected an IP address", one.address))
        };
        let addresses = result.ips.iter().map(address).collect::<Result<_, _>>()?;
        Ok(Self { raw, interfaces: result.interfaces, addresses })
    }

    /// Returns the container's first address of a family. Returns `None` if it has no address of that family.
    pub(crate) fn address(&self, family: Family) -> Option<IpAddr> {
        let is = |address: &&IpAddr| address.is_ipv6() == (family == Family::Ipv6);
        self.addresses.iter().find(is).copied()
    }
}

/// Returns the message and details of an error result in one line. Returns `None` if the text is no error result.
pub(super) fn error_message(text: &str) -> Option<String> {
    let ErrorResult { msg, details } = serde_json::from_str(text).ok()?;
    let words = if details.is_empty() { msg } else { format!("{msg}: {details}") };
    Some(words.lines().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BRIDGE: &str = r#"{"cniVersion": "1.0.0",
        "interfaces": [{"name": "cni0", "mac": "00:01"}, {"name": "veth7"},
            {"name": "eth0", "sandbox": "/run/netns/client-0"}],
        "ips": [{"interface": 2, "address": "10.22.0.2/16", "gateway": "10.22.0.1"},
            {"address": "fd00::2/64"}], "dns": {}}"#;

    #[test]
    fn addresses_and_devices_are_read() {
        let answer = CniResult::parse(BRIDGE).unwrap();
        assert_eq!(answer.address(Family::Ipv4), Some("10.22.0.2".parse().unwrap()));
        assert_eq!(answer.address(Family::Ipv6), Some("fd00::2".parse().unwrap()));
        let outside: Vec<&str> = answer
            .interfaces
            .iter()
            .filter(|one| one.sandbox.is_empty())
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(outside, ["cni0", "veth7"]);
        assert_eq!(answer.raw["dns"], serde_json::json!({}));
    }

    #[test]
    fn complaints_are_one_line() {
        let text = r#"{"code": 11, "msg": "no IP\nleft", "details": "in 10.0.0.0/30"}"#;
        assert_eq!(error_message(text).as_deref(), Some("no IP left: in 10.0.0.0/30"));
        assert_eq!(error_message("panic: x"), None);
        assert!(
            CniResult::parse(r#"{"ips": [{"address": "ten"}]}"#).unwrap_err().contains("`ten`")
        );
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_readers(text in r#"([{}\[\]:,]|"(ips|address|interfaces|name|msg|1.2.3.4/5)"|[0-9]){0,20}"#) {
            let _ = CniResult::parse(&text);
            let _ = error_message(&text);
        }
    }
}
