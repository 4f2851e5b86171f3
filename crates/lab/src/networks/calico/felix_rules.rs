//! Netfilter rules that Calico's Felix installs on a node, in nft's syntax.
//!
//! Felix writes them through iptables. These are the equivalent native rules, in the same tables, chains and order,
//! each with the counter that iptables gives every rule. Every container has the profile that Kubernetes gives it
//! without a policy: all traffic is allowed. Source: projectcalico/calico, `felix/rules/` (`static.go`, `endpoints.go`,
//! `dispatch.go`, `policy.go`, `nat.go`).

use std::fmt::Write;
use tare_network::Family;

/// Prefix of the names of a node's devices for its containers.
pub(crate) const PREFIX: &str = "cali";

/// Rule that every packet from a container passes.
pub(crate) const FROM_WORKLOADS: &str = "jump cali-from-wl-dispatch";

/// Felix's marks: a policy has accepted the packet, a profile is being evaluated, the packet comes from a container.
const ACCEPT: &str = "0x00010000";
const FROM_WORKLOAD: &str = "0x00040000";
const ALL_MARKS: &str = "0xfff0ffff";

/// Returns the rules of a node with these devices of its containers, and these networks of the containers of all nodes.
pub(crate) fn rules(family: Family, devices: &[&str], pools: &[String]) -> String {
    let table = match family {
        Family::Ipv4 => "ip",
        Family::Ipv6 => "ip6",
    };
    format!("{}{}{}", raw(table), filter(table, devices), nat(table, pools))
}

/// Marks packets from containers, and drops those whose address is not the container's.
fn raw(table: &str) -> String {
    format!(
        "table {table} raw {{
  chain cali-rpf-skip {{
  }}
  chain cali-PREROUTING {{
    counter meta mark set meta mark and {ALL_MARKS}
    iifname \"{PREFIX}*\" counter meta mark set meta mark or {FROM_WORKLOAD}
    meta mark and {FROM_WORKLOAD} == {FROM_WORKLOAD} counter jump cali-rpf-skip
    meta mark and {FROM_WORKLOAD} == {FROM_WORKLOAD} fib saddr . mark . iif oif missing counter drop
    meta mark and {ACCEPT} == {ACCEPT} counter accept
  }}
  chain PREROUTING {{
    type filter hook prerouting priority raw; policy accept;
    counter jump cali-PREROUTING
  }}
}}
"
    )
}

fn filter(table: &str, devices: &[&str]) -> String {
    let mut text = format!("table {table} filter {{\n{PROFILE}");
    for device in devices {
        text.push_str(&endpoint(device));
    }
    text.push_str(&dispatch("from", "fw", "iifname", devices));
    text.push_str(&dispatch("to", "tw", "oifname", devices));
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "  chain cali-from-hep-forward {{
  }}
  chain cali-to-hep-forward {{
  }}
  chain cali-cidr-block {{
  }}
  chain cali-FORWARD {{
    counter meta mark set meta mark and 0xfff1ffff
    meta mark and {ACCEPT} == 0 counter jump cali-from-hep-forward
    iifname \"{PREFIX}*\" counter {FROM_WORKLOADS}
    oifname \"{PREFIX}*\" counter jump cali-to-wl-dispatch
    counter jump cali-to-hep-forward
    counter jump cali-cidr-block
  }}
  chain FORWARD {{
    type filter hook forward priority filter; policy accept;
    counter jump cali-FORWARD
    meta mark and {ACCEPT} == {ACCEPT} counter accept
    counter meta mark set meta mark or {ACCEPT}
  }}
}}
"
    );
    text
}

/// Profile that Kubernetes gives a container without a policy: all traffic is allowed.
const PROFILE: &str = "  chain cali-pri-kns.default {
    counter meta mark set meta mark or 0x00010000
    meta mark and 0x00010000 == 0x00010000 counter return
  }
  chain cali-pro-kns.default {
    counter meta mark set meta mark or 0x00010000
    meta mark and 0x00010000 == 0x00010000 counter return
  }
  chain cali-pri-ksa.default.default {
  }
  chain cali-pro-ksa.default.default {
  }
";

/// Returns the chains of one container: to it, and from it.
fn endpoint(device: &str) -> String {
    let common = "    ct state established,related counter accept
    ct state invalid counter drop
    counter meta mark set meta mark and 0xfffeffff
";
    let no_tunnels = "    udp dport 4789 counter drop
    meta l4proto ipip counter drop
";
    let profiles = |way: &str| {
        let accepted = "meta mark and 0x00010000 == 0x00010000 counter return";
        format!(
            "    counter jump cali-{way}-kns.default\n    {accepted}\n    \
             counter jump cali-{way}-ksa.default.default\n    {accepted}\n    counter drop\n"
        )
    };
    format!(
        "  chain cali-tw-{device} {{
{common}{}  }}
  chain cali-fw-{device} {{
{common}{no_tunnels}{}  }}
",
        profiles("pri"),
        profiles("pro")
    )
}

/// Returns the chain that sends a packet on to its container's own chain. It drops packets of unknown devices, which
/// belong to no container.
fn dispatch(way: &str, short: &str, key: &str, devices: &[&str]) -> String {
    let to: String = devices
        .iter()
        .map(|device| format!("    {key} \"{device}\" counter goto cali-{short}-{device}\n"))
        .collect();
    format!("  chain cali-{way}-wl-dispatch {{\n{to}    counter drop\n  }}\n")
}

/// Returns the NAT table: packets that leave the networks of containers take the address of their node.
fn nat(table: &str, pools: &[String]) -> String {
    let pools = pools.join(", ");
    format!(
        "table {table} nat {{
  chain cali-fip-dnat {{
  }}
  chain cali-fip-snat {{
  }}
  chain cali-nat-outgoing {{
    {table} saddr {{ {pools} }} {table} daddr != {{ {pools} }} counter masquerade
  }}
  chain PREROUTING {{
    type nat hook prerouting priority dstnat; policy accept;
    counter jump cali-fip-dnat
  }}
  chain POSTROUTING {{
    type nat hook postrouting priority srcnat; policy accept;
    counter jump cali-fip-snat
    counter jump cali-nat-outgoing
  }}
}}
"
    )
}
