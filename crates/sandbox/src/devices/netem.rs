//! Network emulator (tc-netem(8)): a queue that delays or loses packets, as a long or a bad link does.

use crate::NamespaceChange;
use crate::netlink::{DeviceRef, NetlinkRequest};
use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::TcAttribute;
use std::fmt;
use tare_network::NodeLink;

/// Largest number of packets that wait. It holds the packets of a fast link in ten milliseconds. A full queue would
/// lose packets that the link would not.
const LIMIT: u32 = 100_000;

/// TCA_OPTIONS (linux/rtnetlink.h).
const TCA_OPTIONS: u16 = 2;

/// Attributes after `struct tc_netem_qopt` in TCA_OPTIONS (linux/pkt_sched.h).
const TCA_NETEM_LATENCY64: u16 = 10;

/// Impairment of the packets that leave by a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Netem {
    /// Delay of each packet, ns.
    delay: Option<u64>,
    /// Share of packets that are lost, 0–1.
    loss: Option<f64>,
}

impl Netem {
    /// Returns the impairment of a link. Returns `None` if the link has none. A rate is no impairment: packets that
    /// exceed it wait in a queue of bytes, and this one counts packets.
    #[must_use]
    pub fn for_link(link: &NodeLink) -> Option<Self> {
        link.is_impaired().then_some(Self { delay: link.delay, loss: link.loss })
    }

    /// Returns the netlink options of the emulator.
    fn options(&self) -> Vec<u8> {
        const NO_LATENCY_GAP_DUPLICATE_JITTER: [u8; 4] = [0; 4];
        let none = NO_LATENCY_GAP_DUPLICATE_JITTER;
        let loss = self.loss.map_or(0, |share| (share * f64::from(u32::MAX)).round() as u32);
        // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter.
        let mut bytes = [none, LIMIT.to_ne_bytes(), loss.to_ne_bytes(), none, none, none].concat();
        if let Some(delay) = self.delay {
            append(&mut bytes, TCA_NETEM_LATENCY64, &delay.to_ne_bytes());
        }
        bytes
    }
}

/// Appends a netlink attribute whose value needs no padding.
fn append(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    const HEADER: usize = 4;
    let length = u16::try_from(HEADER + value.len()).unwrap_or(u16::MAX);
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
}

/// Formats the emulator as arguments of tc(8).
impl fmt::Display for Netem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "limit {LIMIT}")?;
        if let Some(delay) = self.delay {
            write!(f, " delay {delay}ns")?;
        }
        if let Some(loss) = self.loss {
            write!(f, " loss {}%", loss * 100.0)?;
        }
        Ok(())
    }
}

/// Network emulator to add to a device.
#[derive(Clone, Copy, Debug)]
pub struct NewNetem<'a> {
    /// Device that gets the emulator.
    pub device: DeviceRef<'a>,
    /// Impairment of the packets that leave by the device.
    pub netem: Netem,
}

impl NamespaceChange for NewNetem<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let Self { device, netem } = self;
        let attributes = vec![
            TcAttribute::Kind("netem".to_owned()),
            TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, netem.options())),
        ];
        let what = format!("add the queue netem {netem} to {place}:{}", device.name);
        NetlinkRequest::add_queue(what, *device, attributes)
    }

    fn command(&self, place: &str) -> String {
        format!("tc -n {place} qdisc add dev {} root netem {}", self.device.name, self.netem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_told_in_its_own_layout() {
        let link: NodeLink = "rate=1gbit,delay=100us,loss=50%".parse().unwrap();
        let netem = Netem::for_link(&link).unwrap();
        let options = netem.options();
        assert_eq!(options[4..8], 100_000_u32.to_ne_bytes());
        assert_eq!(options[8..12], 2_147_483_648_u32.to_ne_bytes());
        assert_eq!(options[24..28], [12_u16.to_ne_bytes(), 10_u16.to_ne_bytes()].concat()[..]);
        assert_eq!(options[28..36], 100_000_u64.to_ne_bytes());
        assert_eq!(options.len(), 24 + 12);
        assert_eq!(netem.to_string(), "limit 100000 delay 100000ns loss 50%");
    }

    #[test]
    fn what_is_not_asked_for_is_not_done() {
        assert_eq!(Netem::for_link(&"rate=1gbit".parse().unwrap()), None);
        let netem = Netem::for_link(&"delay=5ms".parse().unwrap()).unwrap();
        assert_eq!(netem.options().len(), 24 + 12);
        assert_eq!(netem.to_string(), "limit 100000 delay 5000000ns");
    }
}
