//! An nftables table of a namespace, and its counters.

use tare_dev::Namespace;

/// What a rule has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Packets, those of a group that the kernel handles as one counted as one.
    pub(crate) packets: u64,
    /// Their bytes, from the IP header on.
    pub(crate) bytes: u64,
}

/// Table with one chain.
pub(crate) struct Filter<'n> {
    namespace: &'n Namespace,
    family: String,
}

impl<'n> Filter<'n> {
    /// Table of this family on this hook with these rules.
    pub(crate) fn new<S: AsRef<str>>(
        namespace: &'n Namespace,
        family: &str,
        hook: &str,
        rules: &[S],
    ) -> Self {
        let rules: String = rules.iter().map(|rule| format!("{}\n", rule.as_ref())).collect();
        let text = format!(
            "table {family} at_{hook} {{\nchain c {{\ntype filter hook {hook} {device} priority 0;\n{rules}}}\n}}\n",
            device = if family == "netdev" { "device eth0" } else { "" },
        );
        let output = namespace.command("nft").arg(&text).output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        Self { namespace, family: format!("{family} at_{hook}") }
    }

    /// What its rules with a counter have counted, in their order.
    pub(crate) fn counts(&self) -> Vec<Count> {
        let text = self.namespace.output(&format!("nft list table {}", self.family));
        let numbers = |name| {
            let words = text.split_whitespace();
            let numbers = words.clone().zip(words.skip(1)).filter(move |(word, _)| *word == name);
            numbers.map(|(_, number)| number.parse::<u64>().unwrap()).collect::<Vec<_>>()
        };
        let (packets, bytes) = (numbers("packets"), numbers("bytes"));
        packets.into_iter().zip(bytes).map(|(packets, bytes)| Count { packets, bytes }).collect()
    }

    /// Packets that each of its rules with a counter has counted.
    pub(crate) fn packets(&self) -> Vec<u64> {
        self.counts().into_iter().map(|count| count.packets).collect()
    }
}
