//! Token bucket filter (tbf), and its counters.

use tare_dev::TestNamespace;

/// Counters of a shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShaperCounters {
    /// Bytes of the frames sent.
    pub(crate) bytes: u64,
    /// Frames sent.
    pub(crate) packets: u64,
    /// Frames dropped because its queue was full.
    pub(crate) dropped: u64,
}

/// Shapes the traffic that leaves by eth0 of a namespace.
pub(crate) fn shape(namespace: &TestNamespace, parameters: &str) {
    namespace.run(&format!("tc qdisc add dev eth0 root tbf {parameters}"));
}

impl ShaperCounters {
    /// Reads the counters of the shaper on eth0.
    pub(crate) fn read(namespace: &TestNamespace) -> Self {
        let text = namespace.output("tc -s qdisc show dev eth0");
        let words: Vec<&str> = text.split_whitespace().collect();
        // Sent BYTES bytes PACKETS pkt (dropped FRAMES, overlimits …
        let at = words.iter().position(|word| *word == "Sent").unwrap();
        let number = |place: usize| words[at + place].trim_end_matches(',').parse().unwrap();
        Self { bytes: number(1), packets: number(3), dropped: number(6) }
    }
}
