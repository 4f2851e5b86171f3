//! Offloads of a device, read and switched by the SIOCETHTOOL ioctl (linux/ethtool.h), and its link state.
//!
//! The request names the device. The namespace is the one in which the socket was opened.

use rustix::io;
use rustix::ioctl::{Opcode, Updater, ioctl};
use std::mem;
use std::os::fd::AsFd;

/// `SIOCETHTOOL` of linux/sockios.h.
const SIOCETHTOOL: Opcode = 0x8946;

/// Switch of a device: the command that reads it, and the command that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthtoolSwitch {
    get: u32,
    set: u32,
}

impl EthtoolSwitch {
    /// Receive checksums.
    pub const RX_CHECKSUM: Self = Self { get: 0x14, set: 0x15 };
    /// Transmit checksums.
    pub const TX_CHECKSUM: Self = Self { get: 0x16, set: 0x17 };
    /// Packets in several pieces of memory.
    pub const SCATTER_GATHER: Self = Self { get: 0x18, set: 0x19 };
    /// TCP segmentation offload.
    pub const TSO: Self = Self { get: 0x1e, set: 0x1f };
    /// Generic segmentation offload.
    pub const GSO: Self = Self { get: 0x23, set: 0x24 };
    /// Generic receive offload.
    pub const GRO: Self = Self { get: 0x2b, set: 0x2c };

    /// Returns `true` if the switch is on.
    ///
    /// # Errors
    /// ENODEV if the namespace has no device of this name, EOPNOTSUPP if the device does not have the switch.
    pub fn is_on(self, socket: impl AsFd, device: &str) -> io::Result<bool> {
        command(socket, device, self.get, 0).map(|answer| answer != 0)
    }

    /// Turns the switch off.
    ///
    /// # Errors
    /// ENODEV if the namespace has no device of this name, EOPNOTSUPP if the device does not allow that.
    pub fn switch_off(self, socket: impl AsFd, device: &str) -> io::Result<()> {
        command(socket, device, self.set, 0).map(|_| ())
    }
}

/// Returns the flags of a device (`ETHTOOL_GFLAGS`): several offloads, one bit for each.
///
/// # Errors
/// ENODEV if the namespace has no device of this name, EOPNOTSUPP if the device has no flags.
pub fn flags(socket: impl AsFd, device: &str) -> io::Result<u32> {
    const ETHTOOL_GFLAGS: u32 = 0x25;
    command(socket, device, ETHTOOL_GFLAGS, 0)
}

/// Makes the kernel update the link state of a device. By itself the kernel does so later, and for at most a hundred
/// devices per second if many come up at once; until then they carry no packets (net/core/link_watch.c).
///
/// # Errors
/// ENODEV if the namespace has no device of this name, EOPNOTSUPP if the device does not report its link.
pub fn refresh_link(socket: impl AsFd, device: &str) -> io::Result<()> {
    const ETHTOOL_GLINK: u32 = 0x0a;
    command(socket, device, ETHTOOL_GLINK, 0).map(|_| ())
}

/// `struct ethtool_value`: a command, and its argument or room for its answer.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Sends one command. Returns its answer.
fn command(socket: impl AsFd, device: &str, command: u32, data: u32) -> io::Result<u32> {
    // SAFETY: `ifreq` is plain data, for which all zeros are a valid value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::Errno::NODEV);
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    let mut value = EthtoolValue { command, data };
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL takes a `struct ifreq` whose name ends in a zero (the name is shorter than its field) and
    // whose data points to the command's structure, here `struct ethtool_value`, which all commands above use; both
    // live until the call returns, and nothing else refers to them during the call.
    unsafe { ioctl(socket, Updater::<SIOCETHTOOL, _>::new(&mut request)) }?;
    Ok(value.data)
}
