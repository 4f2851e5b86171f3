//! Rules of Docker's nftables backend: the table `docker-bridges`, in which each bridge has chains of its own that maps
//! of device names lead to.

use super::{BRIDGE, Communication, DockerRules, FamilyKeywords, keywords, lines};

/// Part of the rule that the first packet passes of each connection between containers.
pub(super) const FORWARD: &str = "iifname \"docker0\" counter";

/// Part of a rule that all further packets of a connection pass.
const ESTABLISHED: &str = "ct state established,related";

/// Rule that leads to the chains of the bridge by which a packet leaves.
pub(super) const FORWARD_JUMP: &str = "oifname vmap @filter-forward-in-jumps";

/// Returns the rules of a bridge.
pub(super) fn rules(rules: &DockerRules<'_>) -> String {
    let FamilyKeywords { ip, loopback, .. } = keywords(rules.family);
    let jumps: String =
        ["filter-forward-in", "filter-forward-out", "nat-postrouting-in", "nat-postrouting-out"]
            .into_iter()
            .map(jump_map)
            .collect();
    let translations = rules.translations();
    let drops = lines(
        rules
            .addresses()
            .map(|address| format!("{ip} daddr {address} iifname != \"{BRIDGE}\" counter drop")),
    );
    let bridge_chains = bridge_chains(rules);
    format!(
        "table {ip} docker-bridges {{
{jumps}  chain filter-FORWARD {{
    type filter hook forward priority filter; policy accept;
    {FORWARD_JUMP}
    iifname vmap @filter-forward-out-jumps
  }}
  chain nat-OUTPUT {{
    type nat hook output priority -100; policy accept;
    {ip} daddr != {loopback} fib daddr type local counter jump nat-prerouting-and-output
  }}
  chain nat-POSTROUTING {{
    type nat hook postrouting priority srcnat; policy accept;
    iifname vmap @nat-postrouting-out-jumps
    oifname vmap @nat-postrouting-in-jumps
  }}
  chain nat-PREROUTING {{
    type nat hook prerouting priority dstnat; policy accept;
    fib daddr type local counter jump nat-prerouting-and-output
  }}
  chain nat-prerouting-and-output {{
{translations}  }}
  chain raw-PREROUTING {{
    type filter hook prerouting priority raw; policy accept;
{drops}  }}
{bridge_chains}}}
"
    )
}

/// Returns a map from the bridge to its chain.
fn jump_map(chain: &str) -> String {
    format!(
        "  map {chain}-jumps {{
    type ifname : verdict
    elements = {{ \"{BRIDGE}\" : jump {chain}__{BRIDGE} }}
  }}
"
    )
}

/// Returns the chains of the bridge.
fn bridge_chains(rules: &DockerRules<'_>) -> String {
    let ip = keywords(rules.family).ip;
    let links = lines(rules.linked_ports().flat_map(|(client, server, transport, port)| {
        [
            format!(
                "{ip} saddr {client} {ip} daddr {server} {transport} dport {port} counter accept"
            ),
            format!(
                "{ip} saddr {server} {transport} sport {port} {ip} daddr {client} counter accept"
            ),
        ]
    }));
    let among_containers = match rules.communication {
        Communication::All => "accept",
        Communication::Linked(_) => "drop",
    };
    let published = lines(rules.server_ports().map(|(server, transport, port)| {
        format!("{ip} daddr {server} {transport} dport {port} counter accept")
    }));
    let subnet = rules.subnet.prefix(rules.family);
    format!(
        "  chain filter-forward-in__{BRIDGE} {{
    {ESTABLISHED} counter accept
{links}    {FORWARD} {among_containers}
{published}    counter drop
  }}
  chain filter-forward-out__{BRIDGE} {{
    {ESTABLISHED} counter accept
    counter accept
  }}
  chain nat-postrouting-in__{BRIDGE} {{
  }}
  chain nat-postrouting-out__{BRIDGE} {{
    oifname != \"{BRIDGE}\" {ip} saddr {subnet} counter masquerade
  }}
"
    )
}
