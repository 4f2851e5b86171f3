//! Rules of Docker's embedded DNS server, in nft's syntax. Source: moby, `libnetwork/resolver_unix.go`.

/// Returns the rules that Docker's embedded DNS server adds to a container's own namespace. They are for IPv4 only, as
/// in Docker.
///
/// No packet of a workload matches them, but a namespace with a NAT table tracks every connection.
pub(crate) fn dns_rules() -> String {
    // Docker's server listens on ports that the kernel picks. No server listens on these, and no query is sent to them.
    const DNS: &str = "127.0.0.11";
    const UDP: u16 = 40_011;
    const TCP: u16 = 40_012;
    format!(
        "table ip nat {{
  chain DOCKER_OUTPUT {{
    ip daddr {DNS} tcp dport 53 counter dnat to {DNS}:{TCP}
    ip daddr {DNS} udp dport 53 counter dnat to {DNS}:{UDP}
  }}
  chain DOCKER_POSTROUTING {{
    ip saddr {DNS} tcp sport {TCP} counter snat to :53
    ip saddr {DNS} udp sport {UDP} counter snat to :53
  }}
  chain OUTPUT {{
    type nat hook output priority -100; policy accept;
    ip daddr {DNS} counter jump DOCKER_OUTPUT
  }}
  chain POSTROUTING {{
    type nat hook postrouting priority srcnat; policy accept;
    ip daddr {DNS} counter jump DOCKER_POSTROUTING
  }}
}}
"
    )
}
