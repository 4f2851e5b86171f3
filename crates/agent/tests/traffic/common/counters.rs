//! Kernel counters of a namespace, read from /proc/net.

use tare_dev::{NamespacePair, TestNamespace};

/// Reads a file of a namespace's /proc/net.
fn file(namespace: &TestNamespace, name: &str) -> String {
    std::fs::read_to_string(format!("/proc/{}/net/{name}", namespace.pid())).unwrap()
}

/// Returns a counter of `snmp` or `netstat`: each group has one line of names, then one line of numbers.
pub(crate) fn counter(namespace: &TestNamespace, group: &str, name: &str) -> u64 {
    let text = file(namespace, "snmp") + &file(namespace, "netstat");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(&format!("{group}: ")));
    let (names, numbers) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|one| one == name).unwrap();
    numbers.split(' ').nth(place).unwrap().parse().unwrap()
}

/// Returns the datagrams of both families that were dropped because a socket's buffer was full.
pub(crate) fn found_full(namespace: &TestNamespace) -> u64 {
    let six = file(namespace, "snmp6");
    let six = six.lines().find_map(|line| line.strip_prefix("Udp6RcvbufErrors")).unwrap();
    counter(namespace, "Udp", "RcvbufErrors") + six.trim().parse::<u64>().unwrap()
}

/// Returns the TCP segments that both ends of a pair have retransmitted.
pub(crate) fn sent_again(pair: &NamespacePair) -> u64 {
    [&pair.client, &pair.server].map(|one| counter(one, "Tcp", "RetransSegs")).iter().sum()
}

/// Returns the number of connections in TIME_WAIT.
pub(crate) fn time_wait(namespace: &TestNamespace) -> u64 {
    let text = file(namespace, "sockstat");
    let mut words = text.split_whitespace().skip_while(|word| *word != "tw");
    words.nth(1).unwrap().parse().unwrap()
}

/// Frames that a device has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frames {
    /// Number of frames.
    pub(crate) packets: u64,
    /// Size of the frames from the Ethernet header on, bytes.
    pub(crate) bytes: u64,
}

impl Frames {
    /// Reads the counters of this device.
    pub(crate) fn received_by(namespace: &TestNamespace, device: &str) -> Self {
        let text = file(namespace, "dev");
        let name = format!("{device}:");
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(&name)).unwrap();
        let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap());
        Self { bytes: numbers.next().unwrap(), packets: numbers.next().unwrap() }
    }

    /// Returns the frames received since `these`.
    pub(crate) fn since(self, these: Self) -> Self {
        Self { packets: self.packets - these.packets, bytes: self.bytes - these.bytes }
    }
}
