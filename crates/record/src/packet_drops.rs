//! Packet drops by place and cause.

use crate::CounterDeltas;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Name of a netfilter chain whose rules drop copies of packets. The packets themselves were delivered to a daemon, so
/// that nothing is lost there.
pub const COPIES_CHAIN: &str = "kernel-copies";

/// Cause of packet drops.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DropCause {
    /// The socket buffer of the receiver was full, or that of a daemon on the path.
    SocketBuffer,
    /// No socket listened on the port.
    NoSocket,
    /// The checksum was wrong.
    Checksum,
    /// The qdisc of a device was full.
    Queue,
    /// A netfilter rule dropped the packet.
    Rule,
    /// The packet backlog of a core was full (`net.core.netdev_max_backlog`).
    Backlog,
    /// A device dropped the packet without a cause.
    Device,
    /// There was no route to the destination.
    Route,
    /// The packet exceeded the next MTU and must not be fragmented; its sender is told to send smaller ones (RFC 1191,
    /// RFC 8201).
    TooLarge,
    /// Fragments of the packet were missing.
    Reassembly,
    /// Connection tracking had no room for the packet, or rejected it.
    Conntrack,
    /// Drop that no counter shows, counted by the kernel's drop reason (see `reasons`).
    Kernel,
}

/// Packets dropped at one place for one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketDrops {
    /// Namespace: `server-0`, `node-0`.
    pub place: String,
    /// Device, qdisc, rule or daemon that dropped the packets: a device, `eth0/tbf`, `filter/FORWARD#7 drop`, `flanneld`
    /// (its socket), `ovs-vswitchd/veth-c0` (its packet socket on that device); empty if it was the namespace's own
    /// stack.
    pub at: String,
    /// Cause of the drops.
    pub cause: DropCause,
    /// Number of packets.
    pub packets: u64,
    /// Further detail, such as the size of the buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Packets by the kernel's drop reason (`enum skb_drop_reason`); available to root only, and not for all packets.
    #[serde(default, skip_serializing_if = "CounterDeltas::is_empty")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub reasons: CounterDeltas,
}

/// Drop reasons with less than this share of the packets are not shown.
const MIN_REASON_SHARE: f64 = 0.01;

impl PacketDrops {
    /// Creates a record of drops without detail and reasons.
    #[must_use]
    pub fn new(place: &str, at: &str, cause: DropCause, packets: u64) -> Self {
        let (place, at) = (place.to_owned(), at.to_owned());
        Self { place, at, cause, packets, detail: None, reasons: CounterDeltas::new() }
    }

    /// Returns true if both have the same place and cause.
    #[must_use]
    pub fn has_same_origin(&self, other: &Self) -> bool {
        (&self.place, &self.at, self.cause) == (&other.place, &other.at, other.cause)
    }

    /// Adds the packets of another record with the same place and cause.
    pub fn merge(&mut self, other: Self) {
        self.packets = self.packets.saturating_add(other.packets);
        for (reason, packets) in other.reasons {
            let known = self.reasons.entry(reason).or_default();
            *known = known.saturating_add(packets);
        }
    }

    /// Returns the detail and the kernel's drop reasons, the most frequent reason first.
    fn details(&self) -> Vec<String> {
        let mut reasons: Vec<(&String, &u64)> = self.reasons.iter().collect();
        reasons.retain(|(_, packets)| **packets as f64 >= MIN_REASON_SHARE * self.packets as f64);
        reasons.sort_by_key(|(_, packets)| std::cmp::Reverse(**packets));
        let names: Vec<&str> = reasons.iter().map(|(name, _)| name.as_str()).collect();
        let named = (!names.is_empty()).then(|| names.join(", "));
        self.detail.iter().cloned().chain(named).collect()
    }
}

/// Writes the place of the drops, to follow a share.
impl fmt::Display for PacketDrops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, at, .. } = self;
        match self.cause {
            DropCause::SocketBuffer if at.is_empty() => write!(f, "in {place}'s socket buffer"),
            DropCause::SocketBuffer => match at.split_once('/') {
                Some((daemon, device)) => {
                    write!(f, "in {daemon}'s socket buffer in {place}, on {device}")
                }
                None => write!(f, "in {at}'s socket buffer in {place}"),
            },
            DropCause::NoSocket => write!(f, "in {place}, at a port without a listener"),
            DropCause::Checksum => write!(f, "in {place}, because of a wrong checksum"),
            DropCause::Queue => write!(f, "at the queue {place}:{at}"),
            DropCause::Rule => write!(f, "by the rule {place}:{at}"),
            DropCause::Backlog => write!(f, "in a core's full backlog, received by {place}:{at}"),
            DropCause::Kernel if at.is_empty() => write!(f, "in {place}"),
            DropCause::Device | DropCause::Kernel => write!(f, "at {place}:{at}"),
            DropCause::Route => write!(f, "in {place}, without a route to the destination"),
            DropCause::TooLarge => {
                write!(f, "in {place}, larger than the MTU and not to be fragmented")
            }
            DropCause::Reassembly => write!(f, "in {place}, because fragments were missing"),
            DropCause::Conntrack => write!(f, "by {place}'s connection tracking"),
        }?;
        match self.details() {
            known if known.is_empty() => Ok(()),
            known => write!(f, " ({})", known.join("; ")),
        }
    }
}

/// Share that is written in per cent, with enough digits for a small share.
pub(crate) struct PercentShare(pub(crate) f64);

impl fmt::Display for PercentShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.0;
        match percent.abs() {
            small if small > 0.0 && small < 0.001 => f.write_str("under 0.001 %"),
            small if small > 0.0 && small < 0.1 => write!(f, "{percent:.3} %"),
            _ => write!(f, "{percent:.1} %"),
        }
    }
}

/// Writes the parts of a total on one line: `3.9 % in server-0's socket buffer, 0.2 % at unknown places`.
pub(crate) fn write_drops(
    f: &mut fmt::Formatter<'_>,
    parts: &[PacketDrops],
    of: u64,
    unplaced: i64,
) -> fmt::Result {
    let share = |packets: f64| PercentShare(packets / of.max(1) as f64);
    for (at, part) in parts.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(f, "{comma}{} {part}", share(part.packets as f64))?;
    }
    let comma = if parts.is_empty() { "" } else { ", " };
    match unplaced {
        0 => Ok(()),
        1.. => write!(f, "{comma}{} at unknown places", share(unplaced as f64)),
        _ => write!(f, "; hops counted {} more drops, of other packets", -unplaced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_reasons_follow_what_is_known_else() {
        let told = |cause, reasons: &[(&str, u64)]| {
            let mut one = PacketDrops::new("server-0", "", cause, 300);
            one.reasons = reasons.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
            one
        };
        let reasons = [("PROTO_MEM", 5), ("QUEUE_PURGE", 2), ("SOCKET_RCVBUFF", 290)];
        let mut full = told(DropCause::SocketBuffer, &reasons);
        assert_eq!(full.to_string(), "in server-0's socket buffer (SOCKET_RCVBUFF, PROTO_MEM)");
        full.detail = Some("too small: 4 KiB".to_owned());
        full.merge(told(DropCause::SocketBuffer, &[("SOCKET_RCVBUFF", 299)]));
        assert_eq!(
            full.to_string(),
            "in server-0's socket buffer (too small: 4 KiB; SOCKET_RCVBUFF)"
        );
        assert_eq!(told(DropCause::Kernel, &[("NOMEM", 300)]).to_string(), "in server-0 (NOMEM)");
    }

    #[test]
    fn a_daemons_buffer_is_named_after_the_daemon() {
        let told = |at| PacketDrops::new("node-1", at, DropCause::SocketBuffer, 3).to_string();
        assert_eq!(told("flanneld"), "in flanneld's socket buffer in node-1");
        assert_eq!(
            told("ovs-vswitchd/veth-c0"),
            "in ovs-vswitchd's socket buffer in node-1, on veth-c0"
        );
    }
}
