//! Nftables table of a namespace, and its counters.

use tare_dev::TestNamespace;

/// Counter of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleCount {
    /// Packets; a group that the kernel handles as one counts as one.
    pub(crate) packets: u64,
    /// Size of the packets from the IP header on, bytes.
    pub(crate) bytes: u64,
}

/// Table with one chain.
pub(crate) struct NftFilter<'n> {
    namespace: &'n TestNamespace,
    family: String,
}

impl<'n> NftFilter<'n> {
    /// Creates a table of this family, with a chain on this hook and these rules.
    pub(crate) fn new<S: AsRef<str>>(
        namespace: &'n TestNamespace,
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

    /// Returns the counters of its rules that have one, in their order.
    pub(crate) fn counts(&self) -> Vec<RuleCount> {
        let text = self.namespace.output(&format!("nft list table {}", self.family));
        let numbers = |name| {
            let words = text.split_whitespace();
            let numbers = words.clone().zip(words.skip(1)).filter(move |(word, _)| *word == name);
            numbers.map(|(_, number)| number.parse::<u64>().unwrap()).collect::<Vec<_>>()
        };
        let (packets, bytes) = (numbers("packets"), numbers("bytes"));
        packets
            .into_iter()
            .zip(bytes)
            .map(|(packets, bytes)| RuleCount { packets, bytes })
            .collect()
    }

    /// Returns the packets of its rules that have a counter, in their order.
    pub(crate) fn packets(&self) -> Vec<u64> {
        self.counts().into_iter().map(|count| count.packets).collect()
    }
}
