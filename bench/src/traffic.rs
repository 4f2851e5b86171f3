//! Traffic of a row, in terms common to all tools, and the figures of a run.

use std::fmt;

/// Kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrafficKind {
    /// TCP bulk in one direction; the rate is Gbit/s of payload.
    TcpStream,
    /// Datagrams in one direction, as fast as possible; the rate is received datagrams per second.
    UdpStream,
    /// Requests and responses over TCP; the rate is pairs per second.
    TcpRr,
    /// Requests and responses over UDP; the rate is pairs per second.
    UdpRr,
    /// A new connection for each request and response; the rate is connections per second.
    TcpCrr,
}

/// Placement of the two sides on cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CorePlacement {
    /// Client on one core, server on another.
    TwoCores,
    /// Both sides on the same core.
    OneCore,
    /// Both sides on the same two cores.
    BothOnBoth,
}

impl CorePlacement {
    /// Returns the cores of client and server, out of the available ones. Returns `None` if there are too few.
    pub(crate) fn cores(self, there: &[u32]) -> Option<RowCores> {
        let (first, second) = (there.first().copied()?, there.get(1).copied());
        Some(match self {
            Self::OneCore => RowCores { client: vec![first], server: vec![first] },
            Self::TwoCores => RowCores { client: vec![first], server: vec![second?] },
            Self::BothOnBoth => {
                let both = vec![first, second?];
                RowCores { client: both.clone(), server: both }
            }
        })
    }
}

impl fmt::Display for CorePlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TwoCores => "a core each",
            Self::OneCore => "one core for both",
            Self::BothOnBoth => "two cores for both",
        })
    }
}

/// Cores of the two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowCores {
    pub(crate) client: Vec<u32>,
    pub(crate) server: Vec<u32>,
}

/// Traffic of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) kind: TrafficKind,
    /// Number of concurrent flows.
    pub(crate) flows: u32,
    /// Threads of each side.
    pub(crate) threads: u32,
    /// Payload of a write, a datagram, a request and a response, bytes.
    pub(crate) size: u32,
    /// True if the sender's payload is not copied into the kernel.
    pub(crate) zero_copy: bool,
    /// True if the receiver's payload is not copied out of the kernel (MSG_TRUNC).
    pub(crate) dropped: bool,
    /// True if both ends of a request spin instead of waiting.
    pub(crate) spinning: bool,
    /// True if the kernel takes and delivers many datagrams as one (GSO, GRO).
    pub(crate) gso: bool,
    pub(crate) place: CorePlacement,
}

impl Traffic {
    /// Makes traffic of one flow on one thread each side, copied, waiting, with a core for each side.
    pub(crate) const fn plain(kind: TrafficKind, size: u32) -> Self {
        Self {
            kind,
            flows: 1,
            threads: 1,
            size,
            zero_copy: false,
            dropped: false,
            spinning: false,
            gso: false,
            place: CorePlacement::TwoCores,
        }
    }

    /// Converts a rate of this traffic to Gbit/s.
    pub(crate) fn gigabits(&self, rate: f64) -> f64 {
        match self.kind {
            TrafficKind::TcpStream => rate,
            _ => rate * f64::from(self.size) * 8.0 / 1e9,
        }
    }

    /// Converts bits per second to datagrams per second.
    pub(crate) fn datagrams(&self, bits: f64) -> f64 {
        bits / 8.0 / f64::from(self.size)
    }
}

/// Figures from a tool's output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ToolReading {
    /// Rate in the unit of the traffic's kind.
    pub(crate) rate: f64,
    /// Share of datagrams lost, 0–1; 0 if nothing can be lost, or if the tool does not report it.
    pub(crate) loss: f64,
}

impl ToolReading {
    /// Makes a reading without loss.
    pub(crate) fn lossless(rate: f64) -> Self {
        Self { rate, loss: 0.0 }
    }
}

/// Result of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunResult {
    pub(crate) reading: ToolReading,
    /// CPU time of both sides, s; `None` if a side had to be killed.
    pub(crate) cpu: Option<f64>,
}

impl RunResult {
    /// Returns the CPU seconds per GB of payload, for a run of this many seconds.
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
        assert_eq!(CorePlacement::TwoCores.cores(&[4]), None);
        assert_eq!(CorePlacement::OneCore.cores(&[]), None);
        let both = CorePlacement::BothOnBoth.cores(&[2, 5, 7]).unwrap();
        assert_eq!((both.client, both.server), (vec![2, 5], vec![2, 5]));
    }

    #[test]
    fn cpu_is_told_by_payload() {
        let traffic = Traffic::plain(TrafficKind::TcpStream, 131_072);
        let measured = RunResult { reading: ToolReading::lossless(32.0), cpu: Some(2.0) };
        assert_eq!(measured.cpu_per_gb(&traffic, 1.0), Some(0.5));
        let datagrams = Traffic::plain(TrafficKind::UdpStream, 1_000);
        assert_eq!(datagrams.gigabits(1e6), 8.0);
        assert_eq!(datagrams.datagrams(8e9), 1e6);
    }
}
