//! Links that join nodes to the switch between them, as users spell them:
//! `rate=10gbit,queue=10ms,delay=100us,loss=0.01%,mtu=1500`.

use crate::BitsPerSecond;
use std::fmt;
use std::str::FromStr;

/// Properties of the links between nodes. A property that is not set is as good as the machine makes it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeLink {
    /// Limit of each node's link, in each direction.
    pub rate: Option<BitsPerSecond>,
    /// Longest time that a packet waits for the rate before it is dropped, ns. It has a meaning only with a rate.
    pub queue: Option<u64>,
    /// Delay of a packet from one node to another, in addition to the delay of the machine itself, ns.
    pub delay: Option<u64>,
    /// Share of packets that are lost between two nodes, 0–1. Each packet is lost independently.
    pub loss: Option<f64>,
    /// MTU of the links and of the nodes' uplinks, bytes.
    pub mtu: Option<u32>,
}

/// Error for a link that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid link `{text}`: {why}")]
pub struct NodeLinkError {
    text: String,
    why: String,
}

/// Units of a delay, each with its nanoseconds.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// Longest delay and longest queue, ns: no link on earth has ten seconds.
const MAX_DELAY_NANOS: f64 = 1e10;
/// MTUs that both IP families can use and that a veth device can have, bytes.
const MTUS: std::ops::RangeInclusive<u32> = 1280..=65_535;

impl NodeLink {
    /// MTU of a link without an explicit one, bytes: that of Ethernet.
    pub const MTU: u32 = 1500;
    /// Longest wait for the rate of a link without an explicit queue, ns: ports of switches hold a few milliseconds of
    /// their rate.
    pub const QUEUE: u64 = 10_000_000;

    /// Returns the MTU of the links, bytes.
    #[must_use]
    pub fn mtu(&self) -> u32 {
        self.mtu.unwrap_or(Self::MTU)
    }

    /// Returns the longest time that a packet waits for the rate of the links, ns.
    #[must_use]
    pub fn queue(&self) -> u64 {
        self.queue.unwrap_or(Self::QUEUE)
    }

    /// Returns `true` if packets are delayed or lost on purpose.
    #[must_use]
    pub fn is_impaired(&self) -> bool {
        self.delay.is_some() || self.loss.is_some()
    }
}

impl FromStr for NodeLink {
    type Err = NodeLinkError;

    fn from_str(text: &str) -> Result<Self, NodeLinkError> {
        let error = |why: String| NodeLinkError { text: text.to_owned(), why };
        let mut link = Self::default();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let twice = match key {
                "rate" => {
                    let rate =
                        value.parse().map_err(|bad: crate::RateError| error(bad.to_string()))?;
                    link.rate.replace(rate).is_some()
                }
                "queue" => link.queue.replace(parse_time("queue", value).map_err(error)?).is_some(),
                "delay" => link.delay.replace(parse_time("delay", value).map_err(error)?).is_some(),
                "loss" => link.loss.replace(parse_loss(value).map_err(error)?).is_some(),
                "mtu" => link.mtu.replace(parse_mtu(value).map_err(error)?).is_some(),
                _ => {
                    let known = "rate=10gbit, queue=10ms, delay=100us, loss=0.01% and mtu=1500";
                    return Err(error(format!("write some of {known}, separated by commas")));
                }
            };
            if twice {
                return Err(error(format!("{key} is given twice: use it once")));
            }
        }
        if link.queue.is_some() && link.rate.is_none() {
            return Err(error("a queue fills only before a rate: add rate=".to_owned()));
        }
        Ok(link)
    }
}

/// Parses a time above zero. Returns nanoseconds.
fn parse_time(key: &str, text: &str) -> Result<u64, String> {
    let bad = || format!("invalid {key} `{text}`: expected at most 10s, for example 100us or 2ms");
    let (number, unit) = UNITS
        .iter()
        .find_map(|&(unit, nanos)| Some((text.strip_suffix(unit)?, nanos)))
        .ok_or_else(bad)?;
    let nanos = parse_decimal(number).ok_or_else(bad)? * unit;
    if (1.0..=MAX_DELAY_NANOS).contains(&nanos) { Ok(nanos.round() as u64) } else { Err(bad()) }
}

/// Parses a percentage. Returns a share above zero and below one.
fn parse_loss(text: &str) -> Result<f64, String> {
    let bad =
        || format!("invalid loss `{text}`: expected above 0 and below 100 %, for example 0.01%");
    let share = text.strip_suffix('%').and_then(parse_decimal).ok_or_else(bad)? / 100.0;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(bad()) }
}

fn parse_mtu(text: &str) -> Result<u32, String> {
    let (least, most) = MTUS.into_inner();
    text.parse()
        .ok()
        .filter(|mtu| MTUS.contains(mtu))
        .ok_or_else(|| format!("invalid MTU `{text}`: expected bytes from {least} to {most}"))
}

/// Parses a number in digits. `parse` alone also accepts exponents, signs and infinity.
fn parse_decimal(text: &str) -> Option<f64> {
    let digits = !text.is_empty() && text.chars().all(|one| one.is_ascii_digit() || one == '.');
    digits.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for NodeLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.rate.map(|rate| format!("rate={rate}"));
        let queue = self.queue.map(|nanos| format!("queue={nanos}ns"));
        let delay = self.delay.map(|nanos| format!("delay={nanos}ns"));
        let loss = self.loss.map(|share| format!("loss={}%", share * 100.0));
        let mtu = self.mtu.map(|mtu| format!("mtu={mtu}"));
        let parts: Vec<String> = [rate, queue, delay, loss, mtu].into_iter().flatten().collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_link_reads_as_people_write_it() {
        let link: NodeLink = "rate=10gbit,delay=100us,loss=0.01%,mtu=9000".parse().unwrap();
        assert_eq!(link.rate.map(BitsPerSecond::bits), Some(10_000_000_000));
        assert_eq!((link.delay, link.mtu()), (Some(100_000), 9000));
        assert!((link.loss.unwrap() - 0.0001).abs() < 1e-12);
        let plain: NodeLink = "rate=1gbit".parse().unwrap();
        assert_eq!((plain.mtu(), plain.is_impaired(), plain.queue()), (1500, false, 10_000_000));
        let deep: NodeLink = "rate=1gbit,queue=50ms".parse().unwrap();
        assert_eq!(deep.queue(), 50_000_000);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("", "write some of rate=10gbit"),
            ("speed=1gbit", "write some of"),
            ("rate=fast", "invalid rate `fast`"),
            ("rate=1gbit,rate=2gbit", "rate is given twice"),
            ("queue=5ms", "a queue fills only before a rate: add rate="),
            ("rate=1gbit,queue=5", "invalid queue `5`"),
            ("delay=5", "invalid delay `5`"),
            ("delay=0ms", "invalid delay `0ms`"),
            ("delay=11s", "invalid delay `11s`"),
            ("loss=1", "invalid loss `1`"),
            ("loss=100%", "invalid loss `100%`"),
            ("loss=-1%", "invalid loss `-1%`"),
            ("mtu=68", "invalid MTU `68`"),
            ("mtu=", "invalid MTU ``"),
        ];
        for (text, words) in cases {
            let error = text.parse::<NodeLink>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_link_reads_as_it_is_written(
            rate in proptest::option::of(8_u64..1_000_000),
            queue in proptest::option::of(1_u64..1_000_000_000),
            delay in proptest::option::of(1_u64..1_000_000_000),
            mtu in proptest::option::of(1280_u32..=65_535),
        ) {
            prop_assume!(rate.is_some() || delay.is_some() || mtu.is_some());
            let rate = rate.map(|kilobits| format!("{kilobits}kbit").parse().unwrap());
            let queue = rate.and(queue);
            let link = NodeLink { rate, queue, delay, loss: None, mtu };
            prop_assert_eq!(link.to_string().parse(), Ok(link));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "((rate|queue|delay|loss|mtu)=[0-9.a-z%]{0,6},?){0,4}") {
            let _ = text.parse::<NodeLink>();
        }
    }
}
