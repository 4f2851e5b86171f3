//! What becomes of packets that are larger than what they have to pass, by the counters of every namespace.
//!
//! The sources are `/proc/net/snmp` and `/proc/net/snmp6` (RFC 4293, RFC 5097): fragments that were made, and packets that
//! were dropped because they may not be cut, of which their senders were told (RFC 1191, RFC 8201). A tunnel on a bridge
//! tells a sender by a message of its own making, which the kernel counts where it comes and not where it leaves
//! (net/ipv4/ip_tunnel_core.c, `iptunnel_pmtud_build_icmp`).

use crate::namespace::Namespace;
use std::fs;
use std::sync::Arc;
use tare_network::Finding;

/// The most namespaces that are looked into: nodes come first, and where they cut nothing, nobody does.
const MOST: usize = 64;

/// One namespace's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    /// Fragments made.
    fragments: u64,
    /// Packets dropped for their size, or, in IPv6, senders told of one.
    refused: u64,
    /// ICMP messages that a destination cannot be reached: that came, and that were sent.
    came: u64,
    told: u64,
}

impl Counters {
    fn since(self, before: Self) -> Self {
        Self {
            fragments: self.fragments.saturating_sub(before.fragments),
            refused: self.refused.saturating_sub(before.refused),
            came: self.came.saturating_sub(before.came),
            told: self.told.saturating_sub(before.told),
        }
    }
}

/// Looks for packets that do not fit.
pub(crate) struct Fragments {
    spaces: Vec<(Arc<Namespace>, Counters)>,
}

impl Fragments {
    /// Begins to look into these namespaces.
    pub(crate) fn watch(spaces: &[Arc<Namespace>]) -> Self {
        let counted = |space: &Arc<Namespace>| (Arc::clone(space), counters(space));
        Self { spaces: spaces.iter().take(MOST).map(counted).collect() }
    }

    /// What did not fit since it was last asked.
    pub(crate) fn look(&mut self) -> Vec<Finding> {
        let mut all = Counters::default();
        let mut most = (0, String::new());
        for (space, before) in &mut self.spaces {
            let now = counters(space);
            let since = now.since(*before);
            *before = now;
            all.fragments += since.fragments;
            all.refused += since.refused;
            all.came += since.came;
            all.told += since.told;
            let sum = since.fragments + since.refused + since.came.saturating_sub(since.told);
            if sum > most.0 {
                most = (sum, space.name().to_owned());
            }
        }
        // What came and was sent by nobody was made by a tunnel.
        let refused = all.refused + all.came.saturating_sub(all.told);
        let found = Finding::Fragmented { packets: all.fragments, refused, place: most.1 };
        if all.fragments + refused > 0 { vec![found] } else { Vec::new() }
    }
}

/// The counters of a namespace now; nought where it does not say.
fn counters(space: &Namespace) -> Counters {
    let read = || {
        let text = |file| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
        let (four, six) = (text("snmp").unwrap_or_default(), text("snmp6").unwrap_or_default());
        Ok(Counters {
            fragments: in_table(&four, "Ip: ", "FragCreates") + in_lines(&six, "Ip6FragCreates"),
            refused: in_table(&four, "Ip: ", "FragFails") + in_lines(&six, "Icmp6InPktTooBigs"),
            came: in_table(&four, "Icmp: ", "InDestUnreachs"),
            told: in_table(&four, "Icmp: ", "OutDestUnreachs"),
        })
    };
    space.within(read).unwrap_or_default()
}

/// A counter of the line in /proc/net/snmp that begins so, whose names are in the line above.
fn in_table(text: &str, begin: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(begin));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let at = names.split(' ').position(|one| one == name);
    at.and_then(|at| values.split(' ').nth(at)?.parse().ok()).unwrap_or(0)
}

/// A counter of /proc/net/snmp6, one a line.
fn in_lines(text: &str, name: &str) -> u64 {
    let mut words = text.lines().map(str::split_whitespace);
    let value = words.find_map(|mut words| (words.next()? == name).then(|| words.next())?);
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let snmp = "Ip: Forwarding FragFails FragCreates\nIp: 1 7 42\nIcmp: InMsgs\nIcmp: 3\n";
        let ip = |name| in_table(snmp, "Ip: ", name);
        assert_eq!((ip("FragFails"), ip("FragCreates"), ip("None")), (7, 42, 0));
        assert_eq!(in_table(snmp, "Icmp: ", "InMsgs"), 3);
        let snmp6 = "Ip6InReceives   9\nIp6FragCreates  \t5\n";
        assert_eq!((in_lines(snmp6, "Ip6FragCreates"), in_lines(snmp6, "Ip6FragFails")), (5, 0));
        assert_eq!((in_table("", "Ip: ", "x"), in_lines("", "x")), (0, 0));
    }
}
