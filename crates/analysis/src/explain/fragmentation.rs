//! Fragmentation: fate of packets that are larger than the path's MTU, by the counters of every namespace.
//!
//! The counters are those of RFC 4293 and RFC 5097: packets that were fragmented and the fragments they became, and
//! packets that were dropped because they may not be fragmented, which was reported to their senders (RFC 1191, RFC
//! 8201). A tunnel on a bridge reports to a sender by a message that it builds itself, which the kernel counts at its
//! receiver and not at its sender (net/ipv4/ip_tunnel_core.c, `iptunnel_pmtud_build_icmp`).

use tare_record::finding::PacketFragmentation;
use tare_record::{Finding, MtuFit, NamespaceCounts, SaturatingSum as _, Trial};

/// Returns the finding of a trial. Returns `None` if no packet was fragmented or refused.
pub(crate) fn fragmentation_finding(trial: &Trial) -> Option<Finding> {
    let fit = path_mtu_fit(trial);
    let places = &trial.meanwhile.counted.places;
    // If everything fits there is no such message, but others of its kind.
    let by_tunnels =
        if fit.is_some_and(MtuFit::is_too_small) { tunnel_messages(places) } else { 0 };
    let refused = places.iter().map(refused_packets).chain([by_tunnels]).saturating_sum();
    let most = places.iter().max_by_key(|place| oversized_packets(place))?;
    let (packets, fragments) = (fragmented_packets(most), created_fragments(most));
    let place = most.place.clone();
    let found = PacketFragmentation { packets, fragments, refused, place, mtu: fit };
    (fragments > 0 || refused > 0).then(|| found.into())
}

/// Returns the MTU of the sender's device, and the smallest MTU on the path.
fn path_mtu_fit(trial: &Trial) -> Option<MtuFit> {
    let mut sizes = trial.hops.iter().filter_map(|hop| hop.mtu);
    let inside = sizes.next()?;
    Some(MtuFit { inside, available: sizes.fold(inside, u32::min) })
}

/// Returns the number of packets that were fragmented.
fn fragmented_packets(place: &NamespaceCounts) -> u64 {
    sum(place, &["Ip.FragOKs", "Ip6.FragOKs"])
}

/// Returns the number of fragments that were created.
fn created_fragments(place: &NamespaceCounts) -> u64 {
    sum(place, &["Ip.FragCreates", "Ip6.FragCreates"])
}

/// Returns the number of packets dropped for their size, or, in IPv6, of reports of a packet's size to its sender.
fn refused_packets(place: &NamespaceCounts) -> u64 {
    sum(place, &["Ip.FragFails", "Icmp6.InPktTooBigs"])
}

/// Returns the number of fragments, of refused packets and of reports of tunnels: a measure by which namespaces are
/// ordered.
fn oversized_packets(place: &NamespaceCounts) -> u64 {
    let told = sum(place, &["Icmp.InDestUnreachs"]);
    let by_tunnels = told.saturating_sub(sum(place, &["Icmp.OutDestUnreachs"]));
    [created_fragments(place), refused_packets(place), by_tunnels].into_iter().saturating_sum()
}

/// Returns the number of messages that were received and that no namespace sent: tunnels built them.
fn tunnel_messages(places: &[NamespaceCounts]) -> u64 {
    let all = |name| places.iter().map(|place| sum(place, &[name])).saturating_sum();
    all("Icmp.InDestUnreachs").saturating_sub(all("Icmp.OutDestUnreachs"))
}

fn sum(place: &NamespaceCounts, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| place.protocols.get(*name)).saturating_sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::trial;
    use tare_record::{CounterDeltas, Hop, HopKind};

    fn over(mtus: &[u32], places: &[(&str, &[(&str, u64)])]) -> Trial {
        let mut trial = trial("vxlan", 0, &[]);
        let hop = |&mtu: &u32| Hop::new(HopKind::Veth, "eth0", "somewhere").with_mtu(mtu);
        trial.hops = mtus.iter().map(hop).collect();
        let place = |(name, counts): &(&str, &[(&str, u64)])| NamespaceCounts {
            place: (*name).to_owned(),
            protocols: counts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect::<CounterDeltas>(),
            ..NamespaceCounts::default()
        };
        trial.meanwhile.counted.places = places.iter().map(place).collect();
        trial
    }

    fn words(mtus: &[u32], places: &[(&str, &[(&str, u64)])]) -> Option<String> {
        fragmentation_finding(&over(mtus, places)).map(|found| found.to_string())
    }

    #[test]
    fn packets_that_are_too_large_for_their_path_are_counted_with_what_they_become() {
        let cut: &[_] = &[("Ip.FragOKs", 3020), ("Ip.FragCreates", 6040)];
        assert_eq!(
            words(&[1500, 1450, 1500], &[("client-0", &[]), ("overlay-0", cut)]).unwrap(),
            "the client's MTU of 1500 exceeds the MTU of 1450 on the path: \
             3020 packets were fragmented (two fragments each), 0 refused, most in overlay-0"
        );
        let uneven: &[_] = &[("Ip.FragOKs", 100), ("Ip.FragCreates", 250), ("Ip.FragFails", 1)];
        assert_eq!(
            words(&[1500, 1500], &[("client-0", uneven)]).unwrap(),
            "packets exceeded the MTU of 1500: \
             100 packets were fragmented (2.5 fragments on average), 1 refused, most in client-0"
        );
        assert_eq!(words(&[1500, 1450], &[("client-0", &[("Ip.InReceives", 7)])]), None);
    }

    #[test]
    fn what_tunnels_tell_senders_is_counted_where_the_path_is_too_small() {
        let told: &[_] = &[("Icmp.InDestUnreachs", 3)];
        let by_node: &[_] = &[("Icmp.OutDestUnreachs", 1), ("Ip.FragFails", 1)];
        assert_eq!(
            words(&[1500, 1450], &[("client-0", told), ("node-0", by_node)]).unwrap(),
            "the client's MTU of 1500 exceeds the MTU of 1450 on the path: \
             0 packets were fragmented, 3 refused, most in client-0"
        );
        assert_eq!(words(&[1500, 1500], &[("client-0", told)]), None, "it is no matter of size");
    }
}
