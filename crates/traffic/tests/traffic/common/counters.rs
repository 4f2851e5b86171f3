//! The kernel's own counters of a namespace, as /proc/net says them.

use tare_dev::{Namespace, Pair};

/// Text of a file of a namespace's /proc/net.
fn file(namespace: &Namespace, name: &str) -> String {
    std::fs::read_to_string(format!("/proc/{}/net/{name}", namespace.pid())).unwrap()
}

/// Counter of `snmp` or `netstat`: of each group one line has the names, the next one the numbers.
pub(crate) fn counter(namespace: &Namespace, group: &str, name: &str) -> u64 {
    let text = file(namespace, "snmp") + &file(namespace, "netstat");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(&format!("{group}: ")));
    let (names, numbers) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split(' ').position(|one| one == name).unwrap();
    numbers.split(' ').nth(place).unwrap().parse().unwrap()
}

/// Datagrams of both families that found a socket's buffer full.
pub(crate) fn found_full(namespace: &Namespace) -> u64 {
    let six = file(namespace, "snmp6");
    let six = six.lines().find_map(|line| line.strip_prefix("Udp6RcvbufErrors")).unwrap();
    counter(namespace, "Udp", "RcvbufErrors") + six.trim().parse::<u64>().unwrap()
}

/// TCP segments that both ends of a pair have sent again.
pub(crate) fn sent_again(pair: &Pair) -> u64 {
    [&pair.client, &pair.server].map(|one| counter(one, "Tcp", "RetransSegs")).iter().sum()
}

/// Connections in TIME_WAIT.
pub(crate) fn time_wait(namespace: &Namespace) -> u64 {
    let text = file(namespace, "sockstat");
    let mut words = text.split_whitespace().skip_while(|word| *word != "tw");
    words.nth(1).unwrap().parse().unwrap()
}

/// Frames that a device has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frames {
    /// How many.
    pub(crate) packets: u64,
    /// Their bytes, from the Ethernet header on.
    pub(crate) bytes: u64,
}

impl Frames {
    /// Of this device, up to now.
    pub(crate) fn received_by(namespace: &Namespace, device: &str) -> Self {
        let text = file(namespace, "dev");
        let name = format!("{device}:");
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(&name)).unwrap();
        let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap());
        Self { bytes: numbers.next().unwrap(), packets: numbers.next().unwrap() }
    }

    /// What there is beyond these.
    pub(crate) fn since(self, these: Self) -> Self {
        Self { packets: self.packets - these.packets, bytes: self.bytes - these.bytes }
    }
}
