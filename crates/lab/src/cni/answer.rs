//! What a plugin answers: the addresses and devices of an attached container, or what went wrong, in its own words.

use serde::Deserialize;
use serde_json::Value;
use std::net::IpAddr;
use tare_network::Family;

/// What came of attaching a container.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// As the plugin wrote it, for the next one.
    pub(crate) raw: Value,
    /// The devices that were made.
    pub(crate) interfaces: Vec<Interface>,
    /// The container's addresses.
    pub(crate) addresses: Vec<IpAddr>,
}

/// A device that was made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Interface {
    /// Its name.
    pub(crate) name: String,
    /// The namespace that it is in; nothing for the node's own.
    #[serde(default)]
    pub(crate) sandbox: String,
}

#[derive(Deserialize)]
struct Addressed {
    address: String,
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    interfaces: Vec<Interface>,
    #[serde(default)]
    ips: Vec<Addressed>,
}

/// What a plugin says that fails.
#[derive(Deserialize)]
struct Complaint {
    msg: String,
    #[serde(default)]
    details: String,
}

impl Answer {
    /// Reads a plugin's output. One that changes nothing may say nothing.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let raw: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let result = Outcome::deserialize(&raw).map_err(|error| error.to_string())?;
        let address = |one: &Addressed| {
            let (address, _) = one.address.split_once('/').unwrap_or((&one.address, ""));
            address.parse().map_err(|_| format!("`{}` is no address", one.address))
        };
        let addresses = result.ips.iter().map(address).collect::<Result<_, _>>()?;
        Ok(Self { raw, interfaces: result.interfaces, addresses })
    }

    /// The first address of a family.
    pub(crate) fn address(&self, family: Family) -> Option<IpAddr> {
        let is = |address: &&IpAddr| address.is_ipv6() == (family == Family::Ipv6);
        self.addresses.iter().find(is).copied()
    }
}

/// What a plugin that has failed says of it, in one line.
pub(super) fn complaint(text: &str) -> Option<String> {
    let Complaint { msg, details } = serde_json::from_str(text).ok()?;
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
        let answer = Answer::read(BRIDGE).unwrap();
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
        assert_eq!(complaint(text).as_deref(), Some("no IP left: in 10.0.0.0/30"));
        assert_eq!(complaint("panic: x"), None);
        assert!(Answer::read(r#"{"ips": [{"address": "ten"}]}"#).unwrap_err().contains("`ten`"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_readers(text in r#"([{}\[\]:,]|"(ips|address|interfaces|name|msg|1.2.3.4/5)"|[0-9]){0,20}"#) {
            let _ = Answer::read(&text);
            let _ = complaint(&text);
        }
    }
}
