//! Offloads of a device, by the SIOCETHTOOL ioctl (linux/ethtool.h): no file shows them.
//!
//! Only the "get" commands that every user may send are used. Each returns one number; the names are those of `ethtool
//! -k`.
#![allow(unsafe_code)]

use rustix::ioctl::{Opcode, Updater, ioctl};
use std::collections::BTreeMap;
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;

/// `SIOCETHTOOL` of linux/sockios.h.
const SIOCETHTOOL: Opcode = 0x8946;

/// Commands of linux/ethtool.h that report the state of one offload.
const SWITCHES: &[(&str, u32)] = &[
    ("rx-checksumming", 0x14),
    ("tx-checksumming", 0x16),
    ("scatter-gather", 0x18),
    ("tcp-segmentation-offload", 0x1e),
    ("generic-segmentation-offload", 0x23),
    ("generic-receive-offload", 0x2b),
];

/// `ETHTOOL_GFLAGS`, which reports several offloads at once, one bit for each.
const GET_FLAGS: u32 = 0x25;

/// Bits of the answer to [`GET_FLAGS`].
const FLAGS: &[(&str, u32)] = &[
    ("tx-vlan-offload", 1 << 7),
    ("rx-vlan-offload", 1 << 8),
    ("large-receive-offload", 1 << 15),
    ("ntuple-filters", 1 << 27),
    ("receive-hashing", 1 << 28),
];

/// `struct ethtool_value`: a command, and room for its answer.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Returns the offloads of a device by name, with `true` for those that are on. The map is empty if the device cannot
/// be queried.
pub(super) fn offloads(device: &str) -> BTreeMap<String, bool> {
    // Any socket of a network namespace can query its devices.
    let Ok(socket) = UnixDatagram::unbound() else {
        return BTreeMap::new();
    };
    let switches = SWITCHES.iter().filter_map(|&(name, command)| {
        Some((name.to_owned(), query(&socket, device, command)? != 0))
    });
    let flags = query(&socket, device, GET_FLAGS);
    let flagged = flags.into_iter().flat_map(|answer| {
        FLAGS.iter().map(move |&(name, bit)| (name.to_owned(), answer & bit != 0))
    });
    switches.chain(flagged).collect()
}

/// Sends one "get" command. Returns `None` if the name is too long, the device unknown or the command refused.
fn query(socket: impl AsFd, device: &str, command: u32) -> Option<u32> {
    // SAFETY: `ifreq` is plain data, for which all zeroes are a valid value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    let mut value = EthtoolValue { command, data: 0 };
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL takes a `struct ifreq` whose name ends in a zero (the name is shorter than its field) and
    // whose data points to the command's structure, here `struct ethtool_value`, which all commands above use; both
    // live until the call returns, and nothing else refers to them during the call.
    unsafe { ioctl(socket, Updater::<SIOCETHTOOL, _>::new(&mut request)) }.ok()?;
    Some(value.data)
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
