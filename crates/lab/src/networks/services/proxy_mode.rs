//! Modes of kube-proxy, and what each writes into the kernel.

use crate::networks::nftables_requirements;
use tare_network::{Family, Requirement};

/// Mode of kube-proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxyMode {
    /// A chain with one rule for each port of each service.
    Iptables,
    /// A map with one element for each port of each service.
    Nftables,
}

impl ProxyMode {
    /// Returns the name in kube-proxy's configuration.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Iptables => "iptables",
            Self::Nftables => "nftables",
        }
    }

    /// Returns the name of the chain or map in which kube-proxy looks a service up.
    pub(super) fn rules(self) -> &'static str {
        match self {
            Self::Iptables => "nat/KUBE-SERVICES",
            Self::Nftables => "kube-proxy/service-ips",
        }
    }

    /// Returns how a service is found there, in words.
    pub(super) fn lookup(self) -> &'static str {
        match self {
            Self::Iptables => "a chain of rules, walked one by one in no set order",
            Self::Nftables => "a verdict map, looked up by hash",
        }
    }

    /// Returns the program and the kernel features that the mode needs.
    pub(super) fn requirements(self) -> Vec<Requirement> {
        match self {
            Self::Iptables => {
                let modules = [
                    "nf_tables",
                    "nft_compat",
                    "nft_chain_nat",
                    "xt_comment",
                    "xt_conntrack",
                    "xt_addrtype",
                    "xt_tcpudp",
                    "xt_mark",
                    "xt_nat",
                    "xt_MASQUERADE",
                ];
                let kernel = modules.map(|module| Requirement::Kernel { module });
                let program = Requirement::Program { name: "iptables", package: "iptables" };
                std::iter::once(program).chain(kernel).collect()
            }
            Self::Nftables => nftables_requirements(&[
                "nft_masq",
                "nft_ct",
                "nft_fib_ipv4",
                "nft_fib_ipv6",
                "nft_reject",
                "nft_numgen",
            ]),
        }
    }

    /// Returns the size of the rules for one port of a service in the message to the kernel, bytes, with a tenth to
    /// spare: measured with Kubernetes 1.35, iptables 1.8.9 and nft 1.0.6.
    pub(super) fn bytes_of_a_port(self) -> usize {
        match self {
            Self::Iptables => 4000,
            Self::Nftables => 2400,
        }
    }

    /// Returns a shell command that prints a line for each port of each service in the namespace `tare` for which
    /// kube-proxy has written rules.
    pub(super) fn list_command(self, family: Family) -> String {
        let ip = match family {
            Family::Ipv4 => "ip",
            Family::Ipv6 => "ip6",
        };
        match self {
            Self::Iptables => {
                format!("{ip}tables-save -t nat | grep '^-A KUBE-SERVICES .*\"tare/'")
            }
            Self::Nftables => format!(
                "nft list map {ip} kube-proxy service-ips | grep -o 'goto service-[^ ]*-tare/'"
            ),
        }
    }
}
