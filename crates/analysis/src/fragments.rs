//! What becomes of packets that are larger than what they have to pass, by the counters of every namespace.
//!
//! The counters are those of RFC 4293 and RFC 5097: packets that were cut and the fragments they became, and packets that
//! were dropped because they may not be cut, of which their senders were told (RFC 1191, RFC 8201). A tunnel on a bridge
//! tells a sender by a message of its own making, which the kernel counts where it comes and not where it leaves
//! (net/ipv4/ip_tunnel_core.c, `iptunnel_pmtud_build_icmp`).

use tare_record::{Finding, Fit, PlaceCounts, Trial};

/// What did not fit in a trial, if anything did not.
pub(crate) fn of_trial(trial: &Trial) -> Option<Finding> {
    let fit = fit(trial);
    let places = &trial.meanwhile.counted.places;
    // Where everything fits there is no such message, but others of its kind.
    let by_tunnels = if fit.is_some_and(Fit::is_too_small) { told_by_nobody(places) } else { 0 };
    let refused = places.iter().map(refused).sum::<u64>() + by_tunnels;
    let most = places.iter().max_by_key(|place| fragments(place) + refused_or_told(place))?;
    let (packets, fragments) = (cut(most), fragments(most));
    let place = most.place.clone();
    let found = Finding::Fragmented { packets, fragments, refused, place, mtu: fit };
    (fragments + refused > 0).then_some(found)
}

/// How large packets may be: by their sender's device, and by the smallest device on their path.
fn fit(trial: &Trial) -> Option<Fit> {
    let mut sizes = trial.hops.iter().filter_map(|hop| hop.mtu);
    let inside = sizes.next()?;
    Some(Fit { inside, available: sizes.fold(inside, u32::min) })
}

/// Packets that were cut.
fn cut(place: &PlaceCounts) -> u64 {
    sum(place, &["Ip.FragOKs", "Ip6.FragOKs"])
}

/// What they became.
fn fragments(place: &PlaceCounts) -> u64 {
    sum(place, &["Ip.FragCreates", "Ip6.FragCreates"])
}

/// Packets dropped for their size, or, in IPv6, senders told of one.
fn refused(place: &PlaceCounts) -> u64 {
    sum(place, &["Ip.FragFails", "Icmp6.InPktTooBigs"])
}

fn refused_or_told(place: &PlaceCounts) -> u64 {
    let told = sum(place, &["Icmp.InDestUnreachs"]);
    refused(place) + told.saturating_sub(sum(place, &["Icmp.OutDestUnreachs"]))
}

/// Messages that came and were sent by nobody: tunnels made them.
fn told_by_nobody(places: &[PlaceCounts]) -> u64 {
    let all = |name| places.iter().map(|place| sum(place, &[name])).sum::<u64>();
    all("Icmp.InDestUnreachs").saturating_sub(all("Icmp.OutDestUnreachs"))
}

fn sum(place: &PlaceCounts, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| place.protocols.get(*name)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::trial;
    use tare_record::{Gains, Hop, HopKind};

    fn over(mtus: &[u32], places: &[(&str, &[(&str, u64)])]) -> Trial {
        let mut trial = trial("vxlan", 0, &[]);
        let hop = |&mtu: &u32| Hop::new(HopKind::Veth, "eth0", "somewhere").with_mtu(mtu);
        trial.hops = mtus.iter().map(hop).collect();
        let place = |(name, counts): &(&str, &[(&str, u64)])| PlaceCounts {
            place: (*name).to_owned(),
            protocols: counts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect::<Gains>(),
            ..PlaceCounts::default()
        };
        trial.meanwhile.counted.places = places.iter().map(place).collect();
        trial
    }

    fn words(mtus: &[u32], places: &[(&str, &[(&str, u64)])]) -> Option<String> {
        of_trial(&over(mtus, places)).map(|found| found.to_string())
    }

    #[test]
    fn packets_that_are_too_large_for_their_path_are_counted_with_what_they_become() {
        let cut: &[_] = &[("Ip.FragOKs", 3020), ("Ip.FragCreates", 6040)];
        assert_eq!(
            words(&[1500, 1450, 1500], &[("client-0", &[]), ("overlay-0", cut)]).unwrap(),
            "MTU 1500 inside, 1450 available: every larger packet is two; 3020 were cut, 0 refused, most in overlay-0"
        );
        let uneven: &[_] = &[("Ip.FragOKs", 100), ("Ip.FragCreates", 250), ("Ip.FragFails", 1)];
        assert_eq!(
            words(&[1500, 1500], &[("client-0", uneven)]).unwrap(),
            "packets were larger than the MTU of 1500: a larger packet is 2.5 on average; 100 were cut, 1 refused, most in client-0"
        );
        assert_eq!(words(&[1500, 1450], &[("client-0", &[("Ip.InReceives", 7)])]), None);
    }

    #[test]
    fn what_tunnels_tell_senders_is_counted_where_the_path_is_too_small() {
        let told: &[_] = &[("Icmp.InDestUnreachs", 3)];
        let by_node: &[_] = &[("Icmp.OutDestUnreachs", 1), ("Ip.FragFails", 1)];
        assert_eq!(
            words(&[1500, 1450], &[("client-0", told), ("node-0", by_node)]).unwrap(),
            "MTU 1500 inside, 1450 available: 0 were cut, 3 refused, most in client-0"
        );
        assert_eq!(words(&[1500, 1500], &[("client-0", told)]), None, "it is no matter of size");
    }
}
