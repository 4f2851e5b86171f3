//! Where packets were dropped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// Fragments of it were missing.
    Reassembly,
    /// Connection tracking had no room, or no use, for it.
    Conntrack,
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
}

impl Dropped {
    /// So many at a place, for this reason.
    #[must_use]
    pub fn new(place: &str, at: &str, cause: Cause, packets: u64) -> Self {
        Self { place: place.to_owned(), at: at.to_owned(), cause, packets, detail: None }
    }

    /// Whether both tell of the same place and reason.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.place, &self.at, self.cause) == (&other.place, &other.at, other.cause)
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
            Cause::Device => write!(f, "at {place}:{at}"),
            Cause::Route => write!(f, "in {place}, for want of a route"),
            Cause::Reassembly => write!(f, "in {place}, for want of a fragment"),
            Cause::Conntrack => write!(f, "by {place}'s connection tracking"),
        }?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, " ({detail})"))
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
