//! The links that join nodes to the switch between them, as users spell them: `rate=10gbit,delay=100us,loss=0.01%,mtu=1500`.

use crate::BitsPerSecond;
use std::fmt;
use std::str::FromStr;

/// What the links between nodes are like. What is not said is as good as the machine makes it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// To what each node's link is limited, in each direction.
    pub rate: Option<BitsPerSecond>,
    /// How long a packet takes from one node to another beside what it takes anyhow, ns.
    pub delay: Option<u64>,
    /// The share of packets that are lost on the way from one node to another, 0–1, each by itself.
    pub loss: Option<f64>,
    /// The MTU of the links and of the nodes' uplinks, bytes.
    pub mtu: Option<u32>,
}

/// A link that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no link: {why}")]
pub struct LinkError {
    text: String,
    why: String,
}

/// The units of a delay, with their nanoseconds.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// The longest delay, ns: no link on earth has ten seconds.
const LONGEST: f64 = 1e10;
/// The MTUs that both IP families can use and a veth device can have, bytes.
const MTUS: std::ops::RangeInclusive<u32> = 1280..=65_535;

impl Link {
    /// The MTU of a link that is not told otherwise, bytes: Ethernet's.
    pub const MTU: u32 = 1500;

    /// The MTU of the links, bytes.
    #[must_use]
    pub fn mtu(&self) -> u32 {
        self.mtu.unwrap_or(Self::MTU)
    }

    /// Whether packets are delayed or lost on purpose.
    #[must_use]
    pub fn is_impaired(&self) -> bool {
        self.delay.is_some() || self.loss.is_some()
    }
}

impl FromStr for Link {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        let error = |why: String| LinkError { text: text.to_owned(), why };
        let mut link = Self::default();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let twice = match key {
                "rate" => {
                    let rate =
                        value.parse().map_err(|bad: crate::RateError| error(bad.to_string()))?;
                    link.rate.replace(rate).is_some()
                }
                "delay" => link.delay.replace(delay(value).map_err(error)?).is_some(),
                "loss" => link.loss.replace(loss(value).map_err(error)?).is_some(),
                "mtu" => link.mtu.replace(mtu(value).map_err(error)?).is_some(),
                _ => {
                    let known =
                        "rate=10gbit, delay=100us, loss=0.01% and mtu=1500, with commas between";
                    return Err(error(format!("write some of {known}")));
                }
            };
            if twice {
                return Err(error(format!("{key} stands there twice; leave one out")));
            }
        }
        Ok(link)
    }
}

/// A span of time above zero, ns.
fn delay(text: &str) -> Result<u64, String> {
    let bad = || format!("`{text}` is no delay; write it as 100us or 2ms, at most 10s");
    let (number, unit) = UNITS
        .iter()
        .find_map(|&(unit, nanos)| Some((text.strip_suffix(unit)?, nanos)))
        .ok_or_else(bad)?;
    let nanos = decimal(number).ok_or_else(bad)? * unit;
    if (1.0..=LONGEST).contains(&nanos) { Ok(nanos.round() as u64) } else { Err(bad()) }
}

/// A share above zero and below one.
fn loss(text: &str) -> Result<f64, String> {
    let bad = || format!("`{text}` is no loss; write it as 0.01%, above 0 and below 100 %");
    let share = text.strip_suffix('%').and_then(decimal).ok_or_else(bad)? / 100.0;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(bad()) }
}

fn mtu(text: &str) -> Result<u32, String> {
    let (least, most) = MTUS.into_inner();
    text.parse()
        .ok()
        .filter(|mtu| MTUS.contains(mtu))
        .ok_or_else(|| format!("`{text}` is no MTU of a link; it is from {least} to {most} bytes"))
}

/// A number in digits; `parse` alone would also take exponents, signs and infinity.
fn decimal(text: &str) -> Option<f64> {
    let digits = !text.is_empty() && text.chars().all(|one| one.is_ascii_digit() || one == '.');
    digits.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.rate.map(|rate| format!("rate={rate}"));
        let delay = self.delay.map(|nanos| format!("delay={nanos}ns"));
        let loss = self.loss.map(|share| format!("loss={}%", share * 100.0));
        let mtu = self.mtu.map(|mtu| format!("mtu={mtu}"));
        let parts: Vec<String> = [rate, delay, loss, mtu].into_iter().flatten().collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_link_reads_as_people_write_it() {
        let link: Link = "rate=10gbit,delay=100us,loss=0.01%,mtu=9000".parse().unwrap();
        assert_eq!(link.rate.map(BitsPerSecond::bits), Some(10_000_000_000));
        assert_eq!((link.delay, link.mtu()), (Some(100_000), 9000));
        assert!((link.loss.unwrap() - 0.0001).abs() < 1e-12);
        let plain: Link = "rate=1gbit".parse().unwrap();
        assert_eq!((plain.mtu(), plain.is_impaired()), (1500, false));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("", "write some of rate=10gbit"),
            ("speed=1gbit", "write some of"),
            ("rate=fast", "`fast` is no rate"),
            ("rate=1gbit,rate=2gbit", "rate stands there twice"),
            ("delay=5", "no delay"),
            ("delay=0ms", "no delay"),
            ("delay=11s", "no delay"),
            ("loss=1", "no loss"),
            ("loss=100%", "no loss"),
            ("loss=-1%", "no loss"),
            ("mtu=68", "no MTU"),
            ("mtu=", "no MTU"),
        ];
        for (text, words) in cases {
            let error = text.parse::<Link>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_link_reads_as_it_is_written(
            rate in proptest::option::of(8_u64..1_000_000),
            delay in proptest::option::of(1_u64..1_000_000_000),
            mtu in proptest::option::of(1280_u32..=65_535),
        ) {
            prop_assume!(rate.is_some() || delay.is_some() || mtu.is_some());
            let rate = rate.map(|kilobits| format!("{kilobits}kbit").parse().unwrap());
            let link = Link { rate, delay, loss: None, mtu };
            prop_assert_eq!(link.to_string().parse(), Ok(link));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "((rate|delay|loss|mtu)=[0-9.a-z%]{0,6},?){0,4}") {
            let _ = text.parse::<Link>();
        }
    }
}
