//! The kernel's own counters of a namespace, as /proc/net says them.

use super::namespaces::Pair;

/// A counter of `snmp` or `netstat`: a line of names, then one of numbers, each begun by the group's name.
pub(crate) fn of_group(text: &str, group: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with(&format!("{group}:")));
    let (names, numbers) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split_whitespace().position(|one| one == name).unwrap();
    numbers.split_whitespace().nth(place).unwrap().parse().unwrap()
}

/// What both ends of a pair have received of TCP over IPv4, headers not counted, nor what was sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    /// Bytes, by their devices.
    pub(crate) device: i64,
    /// Bytes, by IP.
    pub(crate) ip: i64,
}

/// TCP segments that both ends of a pair have sent again.
pub(crate) fn sent_again(pair: &Pair) -> u64 {
    let of = |text: String| of_group(&text, "Tcp", "RetransSegs");
    of(pair.client_file("snmp")) + of(pair.server_file("snmp"))
}

impl Received {
    /// Up to now.
    pub(crate) fn by(pair: &Pair) -> Self {
        // TCP with timestamps, IP, and before the device Ethernet: one of each a packet, however many segments it is.
        const HEADERS: i64 = 32 + 20;
        const ETHERNET: i64 = 14;
        let files = |name| [pair.client_file(name), pair.server_file(name)];
        let device = files("dev").map(|text| {
            let (bytes, packets) = device_received(&text);
            bytes.cast_signed() - packets.cast_signed() * (HEADERS + ETHERNET)
        });
        let [snmp, netstat] = [files("snmp"), files("netstat")];
        let ip = snmp.iter().zip(&netstat).map(|(snmp, netstat)| {
            let packets = of_group(snmp, "Ip", "InReceives").cast_signed();
            of_group(netstat, "IpExt", "InOctets").cast_signed() - packets * HEADERS
        });
        // A full segment each; on a busy machine there are some although nothing was lost.
        let again = sent_again(pair).cast_signed() * 1448;
        Self { device: device.iter().sum::<i64>() - again, ip: ip.sum::<i64>() - again }
    }
}

/// Bytes and packets that eth0 received, of `dev`.
pub(crate) fn device_received(text: &str) -> (u64, u64) {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("eth0:")).unwrap();
    let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}
