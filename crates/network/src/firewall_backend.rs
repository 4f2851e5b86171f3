//! Firewall backend of Docker: the program whose rules filter and translate the packets of its bridges
//! (`dockerd --firewall-backend`, since Engine 29).

use std::fmt;
use std::str::FromStr;

/// Firewall backend of Docker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FirewallBackend {
    /// Chains of iptables, which every engine before 29 has.
    #[default]
    Iptables,
    /// Tables `docker-bridges` of nftables.
    Nftables,
}

/// Text that names no firewall backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid firewall `{0}`: expected {all}", all = FirewallBackend::ALL.map(FirewallBackend::name).join(" or "))]
pub struct InvalidFirewallBackend(String);

impl FirewallBackend {
    /// All backends.
    pub const ALL: [Self; 2] = [Self::Iptables, Self::Nftables];

    /// Returns the name, as dockerd spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Iptables => "iptables",
            Self::Nftables => "nftables",
        }
    }

    /// Returns the name, as a hop, of the rules that translate a published port.
    #[must_use]
    pub fn port_rules(self) -> &'static str {
        match self {
            Self::Iptables => "nat/DOCKER",
            Self::Nftables => "docker-bridges/nat-prerouting-and-output",
        }
    }

    /// Returns the name, as a hop, of the rules that filter forwarded packets.
    #[must_use]
    pub fn forward_rules(self) -> &'static str {
        match self {
            Self::Iptables => "filter/FORWARD",
            Self::Nftables => "docker-bridges/filter-FORWARD",
        }
    }

    /// Returns the name, as a hop, of the rules that masquerade packets which leave a bridge.
    #[must_use]
    pub fn masquerade_rules(self) -> &'static str {
        match self {
            Self::Iptables => "nat/POSTROUTING",
            Self::Nftables => "docker-bridges/nat-POSTROUTING",
        }
    }

    /// Returns the chain of a bridge to which the rules of forwarded packets lead. Returns `None` if all bridges share
    /// chains.
    #[must_use]
    pub fn chain_into(self, bridge: &str) -> Option<String> {
        match self {
            Self::Iptables => None,
            Self::Nftables => Some(format!("filter-forward-in__{bridge}")),
        }
    }
}

impl FromStr for FirewallBackend {
    type Err = InvalidFirewallBackend;

    fn from_str(text: &str) -> Result<Self, InvalidFirewallBackend> {
        let backend = Self::ALL.into_iter().find(|backend| backend.name() == text);
        backend.ok_or_else(|| InvalidFirewallBackend(text.to_owned()))
    }
}

impl fmt::Display for FirewallBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_is_read_as_dockerd_spells_it() {
        for backend in FirewallBackend::ALL {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
        assert_eq!(
            "nft".parse::<FirewallBackend>().unwrap_err().to_string(),
            "invalid firewall `nft`: expected iptables or nftables"
        );
    }
}
