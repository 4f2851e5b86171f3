//! Where packets were dropped.

use crate::Gains;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Why a packet was dropped.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The receiver's socket buffer was full.
    SocketBuffer,
    /// Nobody listened on the port.
    NoSocket,
    /// A checksum was wrong.
    Checksum,
    /// A queue in front of a device was full.
    Queue,
    /// A netfilter rule says so.
    Rule,
    /// A core's backlog of packets was full (`net.core.netdev_max_backlog`).
    Backlog,
    /// A device dropped it, and does not say why.
    Device,
    /// There was no way to its destination.
    Route,
    /// It was larger than what came next, and was not to be cut: its sender is told to send smaller ones (RFC 1191, RFC 8201).
    TooLarge,
    /// Fragments of it were missing.
    Reassembly,
    /// Connection tracking had no room, or no use, for it.
    Conntrack,
    /// No counter tells; the kernel does (see its reasons).
    Kernel,
}

/// Packets that were dropped at one place for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// The namespace: `server-0`, `node-0`.
    pub place: String,
    /// What dropped them there: a device, `eth0/tbf`, `filter/FORWARD#7 drop`; empty where it is the namespace's own stack.
    pub at: String,
    /// Why.
    pub cause: Cause,
    /// How many.
    pub packets: u64,
    /// What else is known of it: the size of the buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Why the kernel dropped them, in its own words (`enum skb_drop_reason`), with how many for each; only root is told, and
    /// not of all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: Gains,
}

/// Reasons for fewer packets than this share of a part are not worth a word.
const FEW: f64 = 0.01;

impl Dropped {
    /// So many at a place, for this reason.
    #[must_use]
    pub fn new(place: &str, at: &str, cause: Cause, packets: u64) -> Self {
        let (place, at) = (place.to_owned(), at.to_owned());
        Self { place, at, cause, packets, detail: None, reasons: Gains::new() }
    }

    /// Whether both tell of the same place and reason.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.place, &self.at, self.cause) == (&other.place, &other.at, other.cause)
    }

    /// Adds the packets of another that is like this one.
    pub fn join(&mut self, other: Self) {
        self.packets += other.packets;
        for (reason, packets) in other.reasons {
            *self.reasons.entry(reason).or_default() += packets;
        }
    }

    /// What else is known of it, in words: its detail, and the kernel's reasons, most first.
    fn known(&self) -> Vec<String> {
        let mut reasons: Vec<(&String, &u64)> = self.reasons.iter().collect();
        reasons.retain(|(_, packets)| **packets as f64 >= FEW * self.packets as f64);
        reasons.sort_by_key(|(_, packets)| std::cmp::Reverse(**packets));
        let names: Vec<&str> = reasons.iter().map(|(name, _)| name.as_str()).collect();
        let named = (!names.is_empty()).then(|| names.join(", "));
        self.detail.iter().cloned().chain(named).collect()
    }
}

/// Where, in words that follow a share.
impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, at, .. } = self;
        match self.cause {
            Cause::SocketBuffer => write!(f, "in {place}'s socket buffer"),
            Cause::NoSocket => write!(f, "in {place}, where nobody listened"),
            Cause::Checksum => write!(f, "in {place}, for a wrong checksum"),
            Cause::Queue => write!(f, "at the queue {place}:{at}"),
            Cause::Rule => write!(f, "by the rule {place}:{at}"),
            Cause::Backlog => write!(f, "in a core's full backlog, come by {place}:{at}"),
            Cause::Kernel if at.is_empty() => write!(f, "in {place}"),
            Cause::Device | Cause::Kernel => write!(f, "at {place}:{at}"),
            Cause::Route => write!(f, "in {place}, for want of a route"),
            Cause::TooLarge => {
                write!(f, "in {place}, where they did not fit and were not to be cut")
            }
            Cause::Reassembly => write!(f, "in {place}, for want of a fragment"),
            Cause::Conntrack => write!(f, "by {place}'s connection tracking"),
        }?;
        match self.known() {
            known if known.is_empty() => Ok(()),
            known => write!(f, " ({})", known.join("; ")),
        }
    }
}

/// A share in per cent, with as many digits as a small one needs.
pub(crate) struct Share(pub(crate) f64);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.0;
        match percent.abs() {
            small if small > 0.0 && small < 0.001 => f.write_str("under 0.001 %"),
            small if small > 0.0 && small < 0.1 => write!(f, "{percent:.3} %"),
            _ => write!(f, "{percent:.1} %"),
        }
    }
}

/// Parts of a whole in one line: `3.9 % in server-0's socket buffer, 0.2 % unplaced`.
pub(crate) fn listed(
    f: &mut fmt::Formatter<'_>,
    parts: &[Dropped],
    of: u64,
    unplaced: i64,
) -> fmt::Result {
    let share = |packets: f64| Share(packets / of.max(1) as f64);
    for (at, part) in parts.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(f, "{comma}{} {part}", share(part.packets as f64))?;
    }
    let comma = if parts.is_empty() { "" } else { ", " };
    match unplaced {
        0 => Ok(()),
        1.. => write!(f, "{comma}{} unplaced", share(unplaced as f64)),
        _ => write!(f, "; hops counted {} drops more, of other packets", -unplaced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_reasons_follow_what_is_known_else() {
        let told = |cause, reasons: &[(&str, u64)]| {
            let mut one = Dropped::new("server-0", "", cause, 300);
            one.reasons = reasons.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
            one
        };
        let reasons = [("PROTO_MEM", 5), ("QUEUE_PURGE", 2), ("SOCKET_RCVBUFF", 290)];
        let mut full = told(Cause::SocketBuffer, &reasons);
        assert_eq!(full.to_string(), "in server-0's socket buffer (SOCKET_RCVBUFF, PROTO_MEM)");
        full.detail = Some("too small: 4 KiB".to_owned());
        full.join(told(Cause::SocketBuffer, &[("SOCKET_RCVBUFF", 299)]));
        assert_eq!(
            full.to_string(),
            "in server-0's socket buffer (too small: 4 KiB; SOCKET_RCVBUFF)"
        );
        assert_eq!(told(Cause::Kernel, &[("NOMEM", 300)]).to_string(), "in server-0 (NOMEM)");
    }
}
