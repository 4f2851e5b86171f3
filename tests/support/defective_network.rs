//! Network of the example program with a planted defect, and the kernel's own counters of that defect.

use serde_json::Value;
use std::path::Path;
use tare_dev::ScratchDirectory;

/// Directory of the counters, in the scratch directory.
const COUNTERS: &str = "counters";

/// Commands that save the counters of the node and of both containers, before the network is removed.
const SAVE: &str = "nft -j list ruleset >$to/rules; tc -s -j qdisc >$to/queues; \
    for name in client-0 server-0; do \
        nsenter --net=/run/netns/$name cat /proc/net/snmp >$to/$name; \
    done; \
    cat /proc/net/snmp >$to/node-0";

/// Returns the name of a network: the example's bridge, changed by `commands`, which run on the node. `port2` leads to
/// the client and `port1` to the server. [`SavedCounters::read`] reads the counters of its last turn.
pub fn defective_network(scratch: &ScratchDirectory, commands: &str) -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/exec/bridge.py");
    let to = scratch.path(COUNTERS);
    std::fs::create_dir(&to).expect("one such network in a scratch directory");
    let script = format!(
        "#!/bin/sh -e\n\
         to={to}\n\
         [ \"$1\" != down ] || {{ {SAVE}; }}\n\
         answer=$({example} \"$1\")\n\
         [ \"$1\" != up ] || {{ {commands}; }} >&2\n\
         printf '%s\\n' \"$answer\"\n",
        to = to.display(),
        example = example.canonicalize().expect("the example is there").display(),
    );
    format!("exec:{}", scratch.write_program("worse.sh", &script).display())
}

/// Counters of a network over its whole life, in the output formats of `nft`, `tc` and `/proc/net/snmp`.
pub struct SavedCounters {
    rules: Value,
    queues: Value,
    protocols: Vec<(&'static str, String)>,
}

/// Rule of a chain, and the packets that it counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCount {
    /// Name of the rule in tare's notation: `lossy/forward#3 drop`.
    pub name: String,
    /// Number of packets that reached the rule's counter.
    pub packets: u64,
}

impl SavedCounters {
    /// Reads the counters that [`defective_network`] saved in this directory.
    ///
    /// # Panics
    ///
    /// Panics if no network of this directory was removed.
    pub fn read(scratch: &ScratchDirectory) -> Self {
        let text = |name: &str| {
            let path = scratch.path(COUNTERS).join(name);
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
        };
        let json = |name: &str| serde_json::from_str(&text(name)).expect("JSON");
        let places = ["client-0", "server-0", "node-0"];
        let protocols = places.map(|place| (place, text(place))).to_vec();
        Self { rules: json("rules"), queues: json("queues"), protocols }
    }

    /// Returns the only rule of a chain that has a counter.
    ///
    /// # Panics
    ///
    /// Panics if there is no such rule, or more than one.
    pub fn rule(&self, table: &str, chain: &str) -> RuleCount {
        let rules = super::list(&self.rules, "nftables").iter().map(|object| &object["rule"]);
        let of_chain = rules.filter(|rule| rule["table"] == table && rule["chain"] == chain);
        let mut counted = of_chain.filter_map(|rule| {
            let expressions = super::list(rule, "expr");
            let packets = expressions.iter().find_map(|one| one["counter"]["packets"].as_u64())?;
            let last = expressions.last().and_then(Value::as_object)?.keys().next()?;
            let name = format!("{table}/{chain}#{} {last}", rule["handle"]);
            Some(RuleCount { name, packets })
        });
        let rule = counted.next().unwrap_or_else(|| panic!("no counter in {}", self.rules));
        assert_eq!(counted.next(), None, "one rule with a counter");
        rule
    }

    /// Returns a number of the qdisc on a device of the node: `packets`, `drops`.
    ///
    /// # Panics
    ///
    /// Panics if the device has no qdisc of this kind, or the qdisc no such number.
    pub fn queue(&self, device: &str, kind: &str, number: &str) -> u64 {
        let mut queues = self.queues.as_array().expect("a list").iter();
        let queue = queues.find(|queue| queue["dev"] == device && queue["kind"] == kind);
        queue.and_then(|queue| queue[number].as_u64()).unwrap_or_else(|| panic!("{}", self.queues))
    }

    /// Returns a protocol's counter in a namespace: `("server-0", "Udp", "RcvbufErrors")`.
    ///
    /// # Panics
    ///
    /// Panics if there is no such counter.
    pub fn protocol(&self, place: &str, protocol: &str, counter: &str) -> u64 {
        let (_, text) = self.protocols.iter().find(|(name, _)| *name == place).expect("a place");
        let prefix = format!("{protocol}: ");
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(&prefix));
        let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
        let mut pairs = names.split(' ').zip(values.split(' '));
        let value = pairs.find(|(name, _)| *name == counter).map(|(_, value)| value);
        value.and_then(|value| value.parse().ok()).expect("a known counter")
    }
}
