//! A token bucket filter, and what it says itself.

use tare_dev::Namespace;

/// What a shaper has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shaped {
    /// Bytes of frames that have left.
    pub(crate) bytes: u64,
    /// Frames that have left.
    pub(crate) packets: u64,
    /// Frames that did not fit into its queue.
    pub(crate) dropped: u64,
}

/// Shapes what leaves by eth0 of a namespace.
pub(crate) fn shape(namespace: &Namespace, parameters: &str) {
    namespace.run(&format!("tc qdisc add dev eth0 root tbf {parameters}"));
}

impl Shaped {
    /// What the shaper of eth0 has counted up to now.
    pub(crate) fn by(namespace: &Namespace) -> Self {
        let text = namespace.output("tc -s qdisc show dev eth0");
        let words: Vec<&str> = text.split_whitespace().collect();
        // Sent BYTES bytes PACKETS pkt (dropped FRAMES, overlimits …
        let at = words.iter().position(|word| *word == "Sent").unwrap();
        let number = |place: usize| words[at + place].trim_end_matches(',').parse().unwrap();
        Self { bytes: number(1), packets: number(3), dropped: number(6) }
    }
}
