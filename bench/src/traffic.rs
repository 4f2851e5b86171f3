//! What is sent in a row, in words that all tools share, and what a tool says of it.

use std::fmt;

/// What goes over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// TCP bulk, one way; the rate is Gbit/s of payload.
    TcpStream,
    /// Datagrams one way, as fast as they go; the rate is those received per second.
    UdpStream,
    /// A request and a response over TCP; the rate is pairs per second.
    TcpRr,
    /// The same over UDP.
    UdpRr,
    /// A connection for every request and response; the rate is connections per second.
    TcpCrr,
}

/// On which cores the two sides run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The client's side on one, the server's on another.
    TwoCores,
    /// Both sides on the same one.
    OneCore,
    /// Both sides on the same two.
    BothOnBoth,
}

impl Place {
    /// The client's and the server's cores, of those there are; nothing where there are too few.
    pub(crate) fn cores(self, there: &[u32]) -> Option<Cores> {
        let (first, second) = (there.first().copied()?, there.get(1).copied());
        Some(match self {
            Self::OneCore => Cores { client: vec![first], server: vec![first] },
            Self::TwoCores => Cores { client: vec![first], server: vec![second?] },
            Self::BothOnBoth => {
                let both = vec![first, second?];
                Cores { client: both.clone(), server: both }
            }
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TwoCores => "a core each",
            Self::OneCore => "one core for both",
            Self::BothOnBoth => "two cores for both",
        })
    }
}

/// The cores of the two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cores {
    pub(crate) client: Vec<u32>,
    pub(crate) server: Vec<u32>,
}

/// The traffic of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) kind: Kind,
    /// Flows at once.
    pub(crate) flows: u32,
    /// Threads of each side that carry them.
    pub(crate) threads: u32,
    /// Payload bytes: of a write, a datagram, a request and a response.
    pub(crate) size: u32,
    /// Whether the sender's payload is not copied into the kernel.
    pub(crate) zero_copy: bool,
    /// Whether the receiver's payload is not copied out of the kernel (MSG_TRUNC).
    pub(crate) dropped: bool,
    /// Whether both ends of a request spin instead of waiting.
    pub(crate) spinning: bool,
    /// Whether the kernel takes and gives many datagrams as one.
    pub(crate) gso: bool,
    pub(crate) place: Place,
}

impl Traffic {
    /// One flow on one thread a side, copied, waiting, a core each.
    pub(crate) const fn plain(kind: Kind, size: u32) -> Self {
        Self {
            kind,
            flows: 1,
            threads: 1,
            size,
            zero_copy: false,
            dropped: false,
            spinning: false,
            gso: false,
            place: Place::TwoCores,
        }
    }

    /// Gbit/s of a rate in datagrams of this size.
    pub(crate) fn gigabits(&self, rate: f64) -> f64 {
        match self.kind {
            Kind::TcpStream => rate,
            _ => rate * f64::from(self.size) * 8.0 / 1e9,
        }
    }

    /// Datagrams per second of so many bits per second.
    pub(crate) fn datagrams(&self, bits: f64) -> f64 {
        bits / 8.0 / f64::from(self.size)
    }
}

/// What a tool said of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// In the unit of the traffic's kind.
    pub(crate) rate: f64,
    /// The share of datagrams lost, 0–1; nought where nothing can be lost, or nobody says.
    pub(crate) loss: f64,
}

impl Reading {
    /// A rate at which nothing was lost.
    pub(crate) fn lossless(rate: f64) -> Self {
        Self { rate, loss: 0.0 }
    }
}

/// What one run gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) reading: Reading,
    /// CPU time of both sides, s; nothing where a side had to be killed.
    pub(crate) cpu: Option<f64>,
}

impl Measured {
    /// CPU seconds for every GB of payload, of a run that lasted so long.
    pub(crate) fn cpu_per_gb(&self, traffic: &Traffic, seconds: f64) -> Option<f64> {
        let gigabytes = traffic.gigabits(self.reading.rate) * seconds / 8.0;
        self.cpu.filter(|_| gigabytes > 0.0).map(|cpu| cpu / gigabytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_cores_are_no_place() {
        assert_eq!(Place::TwoCores.cores(&[4]), None);
        assert_eq!(Place::OneCore.cores(&[]), None);
        let both = Place::BothOnBoth.cores(&[2, 5, 7]).unwrap();
        assert_eq!((both.client, both.server), (vec![2, 5], vec![2, 5]));
    }

    #[test]
    fn cpu_is_told_by_payload() {
        let traffic = Traffic::plain(Kind::TcpStream, 131_072);
        let measured = Measured { reading: Reading::lossless(32.0), cpu: Some(2.0) };
        assert_eq!(measured.cpu_per_gb(&traffic, 1.0), Some(0.5));
        let datagrams = Traffic::plain(Kind::UdpStream, 1_000);
        assert_eq!(datagrams.gigabits(1e6), 8.0);
        assert_eq!(datagrams.datagrams(8e9), 1e6);
    }
}
