//! Costs of each hop: datagrams that were lost there, and CPU time of programs that forward them.

use tare_record::finding::{LossByPlace, OffloadLoss, UserspaceForwarding};
use tare_record::{Cell, DropCause, Finding, Hop, HopKind, PacketDrops, SaturatingSum as _};

/// Findings about the hops of one network, over all workloads.
pub(crate) struct HopCosts<'a> {
    findings: Vec<&'a Finding>,
}

impl<'a> HopCosts<'a> {
    /// Collects the findings of a network's cells, without duplicates.
    pub(crate) fn from_cells(cells: impl Iterator<Item = &'a Cell>) -> Self {
        let mut findings: Vec<&Finding> = Vec::new();
        for finding in cells.flat_map(|cell| &cell.findings) {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        Self { findings }
    }

    /// Describes the costs of a hop, loss first. Returns `None` if no cost is known.
    pub(crate) fn describe(&self, hop: &Hop) -> Option<String> {
        let lost = self.lost(|one| was_dropped_at(one, hop));
        let carried = self.findings.iter().filter_map(|finding| match finding {
            Finding::UserspaceForwarding(UserspaceForwarding { program, cores })
                if is_run_by(hop, program) =>
            {
                Some(format!("{cores:.2} cores in user space"))
            }
            Finding::OffloadLoss(OffloadLoss { place, device, .. })
                if *place == hop.place && *device == hop.name =>
            {
                Some("offload lost".to_owned())
            }
            _ => None,
        });
        let all: Vec<String> = lost.into_iter().chain(carried).collect();
        (!all.is_empty()).then(|| all.join(" · "))
    }

    /// Describes the loss at the end of the path, after its last hop: in the receiver's own stack.
    pub(crate) fn describe_end(&self, last: &Hop) -> Option<String> {
        self.lost(|one| {
            one.place == last.place && one.at.is_empty() && one.cause != DropCause::Conntrack
        })
    }

    /// Returns the largest share of datagrams that any workload lost at the hop.
    pub(crate) fn loss_share(&self, hop: &Hop) -> Option<f64> {
        self.largest(|one| was_dropped_at(one, hop))
    }

    fn lost(&self, here: impl Fn(&PacketDrops) -> bool) -> Option<String> {
        let share = self.largest(here)?;
        Some(match 100.0 * share {
            percent if percent < 0.1 => "loses under 0.1 %".to_owned(),
            percent => format!("loses {percent:.1} %"),
        })
    }

    fn largest(&self, here: impl Fn(&PacketDrops) -> bool) -> Option<f64> {
        let shares = self.findings.iter().filter_map(|finding| match finding {
            Finding::LossByPlace(LossByPlace { of, parts, .. }) if *of > 0 => {
                let lost: u64 =
                    parts.iter().filter(|one| here(one)).map(|one| one.packets).saturating_sum();
                (lost > 0).then(|| lost as f64 / *of as f64)
            }
            _ => None,
        });
        shares.reduce(f64::max)
    }
}

/// Returns true if packets were dropped at this hop.
fn was_dropped_at(dropped: &PacketDrops, hop: &Hop) -> bool {
    dropped.place == hop.place
        && match dropped.cause {
            DropCause::SocketBuffer => is_daemons_socket(&dropped.at, hop),
            DropCause::Queue | DropCause::Device | DropCause::Backlog | DropCause::Kernel => {
                dropped.at == hop.name
            }
            // The hop is the chain; the packets were dropped by one of its rules.
            DropCause::Rule => dropped.at.split('#').next() == Some(hop.name.as_str()),
            DropCause::Conntrack => hop.kind == HopKind::Conntrack,
            DropCause::Route | DropCause::TooLarge => hop.kind == HopKind::Route,
            _ => false,
        }
}

/// Returns true if a daemon receives by this hop with its socket: by the device of a packet socket, as in
/// `ovs-vswitchd/veth-c0`, or as the forwarder itself.
fn is_daemons_socket(at: &str, hop: &Hop) -> bool {
    match at.split_once('/') {
        Some((_, device)) => hop.name == device,
        None => !at.is_empty() && hop.kind == HopKind::Forwarder,
    }
}

/// Returns true if the hop is a forwarder run by this program.
fn is_run_by(hop: &Hop, program: &str) -> bool {
    let told = hop.detail.as_deref().unwrap_or_default();
    hop.kind == HopKind::Forwarder && (hop.name.contains(program) || told.contains(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hop_has_what_was_lost_at_it() {
        let parts = vec![
            PacketDrops::new("server-0", "", DropCause::SocketBuffer, 39),
            PacketDrops::new("node-0", "eth0/tbf", DropCause::Queue, 2),
            PacketDrops::new("node-0", "filter/FORWARD#7 drop", DropCause::Rule, 5),
            PacketDrops::new("node-0", "ovs-vswitchd/veth-c0", DropCause::SocketBuffer, 20),
            PacketDrops::new("node-1", "flanneld", DropCause::SocketBuffer, 10),
        ];
        let lost = Finding::LossByPlace(LossByPlace { lost: 76, of: 1000, parts, unplaced: 0 });
        let program = Finding::UserspaceForwarding(UserspaceForwarding {
            program: "ovs-vswitchd".to_owned(),
            cores: 0.8,
        });
        let toll = HopCosts { findings: vec![&lost, &program] };
        let at = |kind, name: &str, place: &str| {
            toll.describe(&Hop::new(kind, name, place).with_detail("the process ovs-vswitchd"))
        };
        assert_eq!(at(HopKind::Queue, "eth0/tbf", "node-0").unwrap(), "loses 0.2 %");
        assert_eq!(at(HopKind::Filter, "filter/FORWARD", "node-0").unwrap(), "loses 0.5 %");
        assert_eq!(at(HopKind::Queue, "eth0/tbf", "node-1"), None);
        assert_eq!(at(HopKind::Veth, "eth0", "server-0"), None);
        assert_eq!(at(HopKind::Forwarder, "br0", "node-0").unwrap(), "0.80 cores in user space");
        assert_eq!(at(HopKind::Veth, "veth-c0", "node-0").unwrap(), "loses 2.0 %");
        let tunnel = toll.describe(&Hop::new(HopKind::Forwarder, "flannel0", "node-1"));
        assert_eq!(tunnel.unwrap(), "loses 1.0 %");
        let last = Hop::new(HopKind::Veth, "eth0", "server-0");
        assert_eq!(toll.describe_end(&last).unwrap(), "loses 3.9 %");
    }
}
