//! Offloads of a device, by the SIOCETHTOOL ioctl (linux/ethtool.h): no file shows them.
//!
//! Only the "get" commands that every user may send are used. The names are those of `ethtool -k`.

use std::collections::BTreeMap;
use std::os::unix::net::UnixDatagram;
use tare_sandbox::sys::ethtool::{EthtoolSwitch, flags};

/// Switches of a device, each for one offload.
const SWITCHES: &[(&str, EthtoolSwitch)] = &[
    ("rx-checksumming", EthtoolSwitch::RX_CHECKSUM),
    ("tx-checksumming", EthtoolSwitch::TX_CHECKSUM),
    ("scatter-gather", EthtoolSwitch::SCATTER_GATHER),
    ("tcp-segmentation-offload", EthtoolSwitch::TSO),
    ("generic-segmentation-offload", EthtoolSwitch::GSO),
    ("generic-receive-offload", EthtoolSwitch::GRO),
];

/// Offloads that a device reports as bits of its [`flags`].
const FLAGS: &[(&str, u32)] = &[
    ("tx-vlan-offload", 1 << 7),
    ("rx-vlan-offload", 1 << 8),
    ("large-receive-offload", 1 << 15),
    ("ntuple-filters", 1 << 27),
    ("receive-hashing", 1 << 28),
];

/// Returns the offloads of a device by name, with `true` for those that are on. The map is empty if the device cannot
/// be queried.
pub(super) fn offloads(device: &str) -> BTreeMap<String, bool> {
    // Any socket of a network namespace can query its devices.
    let Ok(socket) = UnixDatagram::unbound() else {
        return BTreeMap::new();
    };
    let switches = SWITCHES
        .iter()
        .filter_map(|&(name, switch)| Some((name.to_owned(), switch.is_on(&socket, device).ok()?)));
    let flagged = flags(&socket, device).into_iter().flat_map(|answer| {
        FLAGS.iter().map(move |&(name, bit)| (name.to_owned(), answer & bit != 0))
    });
    switches.chain(flagged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_always_segments_and_sums() {
        let offloads = offloads("lo");
        assert_eq!(offloads.get("scatter-gather"), Some(&true));
        assert_eq!(offloads.get("rx-checksumming"), Some(&true));
        assert_eq!(offloads.get("receive-hashing"), Some(&false));
    }

    #[test]
    fn what_is_no_device_has_none() {
        assert!(offloads("tare-no-such").is_empty());
        assert!(offloads("a-name-longer-than-the-kernel-allows").is_empty());
        assert!(offloads("").is_empty());
    }
}
