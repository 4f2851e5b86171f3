//! Token bucket filter (tc-tbf(8)): a queue that limits the rate at which bytes leave a device.
//!
//! Each byte needs a token. Tokens arrive at the rate, and at most the burst is kept. The kernel counts a frame's
//! Ethernet header and, for a large segment, every header that the segment will have on a wire, but neither preamble
//! nor gap. So TCP gets the share of a rate that it gets of a frame: 1448 of 1514 bytes if the MTU is 1500.

use crate::NamespaceChange;
use crate::netlink::{DeviceRef, NetlinkRequest};
use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::{TcAttribute, TcOption};
use std::fmt;
use tare_network::BitsPerSecond;

/// Longest time for which the queue can be kept from sending without losing any of its rate, milliseconds. A kernel
/// timer wakes it, and on a busy machine that timer is late.
const BURST_MILLIS: u64 = 4;
/// Longest time that a byte can wait before others are dropped, ns, unless another one is chosen.
const QUEUE_NANOS: u64 = 50_000_000;
/// Smallest burst, frames: even a slow link carries whole frames.
const LEAST_BURST: u64 = 2;
/// Smallest queue in addition to the burst, bytes. TCP hands a device up to two segments of 64 KiB at once, however
/// slow the device is (net/ipv4/tcp_output.c, `tcp_small_queue_check`). A shorter queue would cause drops that no link
/// causes.
const LEAST_QUEUE: u64 = 256 * 1024;
/// Size of a frame beyond the MTU, bytes: an Ethernet header.
const HEADER: u64 = 14;

/// Attributes of TCA_OPTIONS (linux/pkt_sched.h).
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
/// With this link layer, a rate needs no table of transmission times.
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// Token bucket in front of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Rate at which tokens arrive.
    rate: BitsPerSecond,
    /// Largest number of tokens, bytes.
    burst: u32,
    /// Largest number of bytes that wait.
    limit: u32,
}

impl TokenBucket {
    /// Returns a bucket for a rate, and frames with this MTU.
    #[must_use]
    pub fn new(rate: BitsPerSecond, mtu: u32) -> Self {
        let frame = u64::from(mtu) + HEADER;
        let burst = (rate.bytes() * BURST_MILLIS / 1_000).max(LEAST_BURST * frame);
        Self { rate, burst: saturate(burst), limit: 0 }.with_queue(QUEUE_NANOS)
    }

    /// Returns the same bucket with another longest wait for tokens, ns.
    #[must_use]
    pub fn with_queue(self, nanos: u64) -> Self {
        let bytes = u128::from(self.rate.bytes()) * u128::from(nanos) / 1_000_000_000;
        let queue = u64::try_from(bytes).unwrap_or(u64::MAX).max(LEAST_QUEUE);
        Self { limit: saturate(queue.saturating_add(self.burst.into())), ..self }
    }

    /// Returns the netlink attributes of the bucket, each a kind and a value.
    fn attributes(&self) -> [(u16, Vec<u8>); 3] {
        [
            (TCA_TBF_PARMS, self.parameters()),
            (TCA_TBF_RATE64, self.rate.bytes().to_ne_bytes().to_vec()),
            (TCA_TBF_BURST, self.burst.to_ne_bytes().to_vec()),
        ]
    }

    /// Returns `struct tc_tbf_qopt`: two `struct tc_ratespec` (rate, peak rate), the limit, and fields that the other
    /// attributes replace with greater precision.
    fn parameters(&self) -> Vec<u8> {
        const PEAK_RATE: [u8; 12] = [0; 12];
        const BUFFER_AND_MTU: [u8; 8] = [0; 8];
        let rate = u32::try_from(self.rate.bytes()).unwrap_or(u32::MAX);
        [
            &[0, TC_LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0],
            &rate.to_ne_bytes()[..],
            &PEAK_RATE,
            &self.limit.to_ne_bytes(),
            &BUFFER_AND_MTU,
        ]
        .concat()
    }
}

/// Formats the bucket as arguments of tc(8).
impl fmt::Display for TokenBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rate {} burst {} limit {}", self.rate, self.burst, self.limit)
    }
}

/// Token bucket to add to a device: all packets that leave by it wait in the bucket for their tokens.
#[derive(Clone, Copy, Debug)]
pub struct NewTokenBucket<'a> {
    /// Device that gets the bucket.
    pub device: DeviceRef<'a>,
    /// Token bucket.
    pub bucket: TokenBucket,
}

impl NamespaceChange for NewTokenBucket<'_> {
    fn request(&self, place: &str) -> NetlinkRequest {
        let Self { device, bucket } = self;
        let option = |(kind, value)| TcOption::Other(DefaultNla::new(kind, value));
        let attributes = vec![
            TcAttribute::Kind("tbf".to_owned()),
            TcAttribute::Options(bucket.attributes().into_iter().map(option).collect()),
        ];
        let what = format!("limit the rate of {place}:{} to {}", device.name, bucket.rate);
        NetlinkRequest::add_queue(what, *device, attributes)
    }

    fn command(&self, place: &str) -> String {
        format!("tc -n {place} qdisc add dev {} root tbf {}", self.device.name, self.bucket)
    }
}

/// Returns a size in the 32 bits in which the kernel stores it. A queue of four gigabytes is as good as a longer one.
fn saturate(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bucket(rate: &str, mtu: u32) -> TokenBucket {
        TokenBucket::new(rate.parse().unwrap(), mtu)
    }

    #[test]
    fn burst_and_queue_follow_from_the_rate() {
        let words = "rate 1gbit burst 500000 limit 6750000";
        assert_eq!(bucket("1gbit", 1500).to_string(), words);
        assert_eq!(bucket("8kbit", 1500).to_string(), "rate 8kbit burst 3028 limit 265172");
        assert_eq!(bucket("1000gbit", 1500).limit, u32::MAX);
        let short = bucket("1gbit", 1500).with_queue(10_000_000);
        assert_eq!(short.to_string(), "rate 1gbit burst 500000 limit 1750000");
        assert_eq!(bucket("1gbit", 1500).with_queue(u64::MAX).limit, u32::MAX);
    }

    #[test]
    fn the_kernel_is_told_in_its_own_layout() {
        let [(parms, options), (rate64, rate), (burst, size)] = bucket("80gbit", 1500).attributes();
        assert_eq!((parms, rate64, burst), (1, 4, 6));
        assert_eq!(options.len(), 36);
        assert_eq!(options[1], TC_LINKLAYER_ETHERNET);
        assert_eq!(options[8..12], u32::MAX.to_ne_bytes(), "more than 32 bits hold");
        assert_eq!(options[24..28], 540_000_000_u32.to_ne_bytes());
        assert_eq!(rate, 10_000_000_000_u64.to_ne_bytes());
        assert_eq!(size, 40_000_000_u32.to_ne_bytes());
    }

    proptest! {
        #[test]
        fn a_whole_frame_always_passes(kilobits in 8_u64..=1_000_000_000, mtu in 68_u32..65_536) {
            let bucket = bucket(&format!("{kilobits}kbit"), mtu);
            prop_assert!(bucket.burst > mtu + 14);
            prop_assert!(bucket.limit > bucket.burst);
        }
    }
}
