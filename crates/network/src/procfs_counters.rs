//! Counters that the kernel shows as files of the reader's network namespace.

use std::fs::File;
use std::os::unix::fs::FileExt;
use tare_record::{CounterDeltas, CounterGroups};

/// Protocol counters that show trouble, or how much there was to do. Octets are left to the device counters. The names
/// are those of `/proc/net/snmp` and `/proc/net/netstat` (RFC 4293, RFC 4022, RFC 4113; linux/snmp.h).
const IPV4_COUNTERS: &[&str] = &[
    "Ip.InReceives",
    "Ip.InHdrErrors",
    "Ip.InAddrErrors",
    "Ip.ForwDatagrams",
    "Ip.InUnknownProtos",
    "Ip.InDiscards",
    "Ip.OutDiscards",
    "Ip.OutNoRoutes",
    "Ip.ReasmReqds",
    "Ip.ReasmOKs",
    "Ip.ReasmFails",
    "Ip.FragOKs",
    "Ip.FragFails",
    "Ip.FragCreates",
    "Icmp.InDestUnreachs",
    "Icmp.OutDestUnreachs",
    "Tcp.InSegs",
    "Tcp.OutSegs",
    "Tcp.RetransSegs",
    "Tcp.InErrs",
    "Tcp.InCsumErrors",
    "Tcp.AttemptFails",
    "Tcp.EstabResets",
    "Udp.InDatagrams",
    "Udp.OutDatagrams",
    "Udp.NoPorts",
    "Udp.InErrors",
    "Udp.RcvbufErrors",
    "Udp.SndbufErrors",
    "Udp.InCsumErrors",
    "Udp.MemErrors",
    "TcpExt.ListenOverflows",
    "TcpExt.ListenDrops",
    "TcpExt.PruneCalled",
    "TcpExt.RcvPruned",
    "TcpExt.OfoPruned",
    "TcpExt.TCPBacklogDrop",
    "TcpExt.TCPRcvQDrop",
    "TcpExt.TCPOFODrop",
    "TcpExt.TCPRcvCollapsed",
    "TcpExt.TCPToZeroWindowAdv",
    "TcpExt.TCPZeroWindowDrop",
    "TcpExt.TCPTimeouts",
    "TcpExt.TCPLossProbes",
    "TcpExt.TCPFastRetrans",
    "TcpExt.TCPSlowStartRetrans",
    "TcpExt.TCPLostRetransmit",
    "TcpExt.TCPSpuriousRTOs",
    "TcpExt.TCPSynRetrans",
    "TcpExt.TCPRetransFail",
    "TcpExt.TCPDSACKRecv",
    "TcpExt.TCPTimeWaitOverflow",
    "TcpExt.TCPMemoryPressures",
    "IpExt.InNoRoutes",
    "IpExt.InTruncatedPkts",
    "IpExt.InCsumErrors",
    "IpExt.InCEPkts",
];

/// The same counters of `/proc/net/snmp6`, where the protocol precedes the counter without a dot: `Ip6FragFails`.
const IPV6_COUNTERS: &[&str] = &[
    "Ip6.InReceives",
    "Ip6.InHdrErrors",
    "Ip6.InTooBigErrors",
    "Ip6.InNoRoutes",
    "Ip6.InAddrErrors",
    "Ip6.InTruncatedPkts",
    "Ip6.InDiscards",
    "Ip6.OutForwDatagrams",
    "Ip6.OutDiscards",
    "Ip6.OutNoRoutes",
    "Ip6.ReasmReqds",
    "Ip6.ReasmOKs",
    "Ip6.ReasmFails",
    "Ip6.FragOKs",
    "Ip6.FragFails",
    "Ip6.FragCreates",
    "Icmp6.InPktTooBigs",
    "Icmp6.OutPktTooBigs",
    "Udp6.InDatagrams",
    "Udp6.OutDatagrams",
    "Udp6.NoPorts",
    "Udp6.InErrors",
    "Udp6.RcvbufErrors",
    "Udp6.SndbufErrors",
    "Udp6.InCsumErrors",
    "Udp6.MemErrors",
];

/// Files of a network namespace's counters. They stay those of the namespace in which they were opened, whatever thread
/// reads them, and are read again without being opened again.
#[derive(Debug)]
pub struct CounterFiles {
    snmp: Option<File>,
    netstat: Option<File>,
    snmp6: Option<File>,
    conntrack: Option<File>,
}

impl CounterFiles {
    /// Opens the files of the calling thread's namespace. Those of protocols that the kernel has not are left out.
    #[must_use]
    pub fn open() -> Self {
        Self {
            snmp: open_file("snmp"),
            netstat: open_file("netstat"),
            snmp6: open_file("snmp6"),
            conntrack: open_file("stat/nf_conntrack"),
        }
    }

    /// Returns the counters of the protocols, by their names in `/proc/net/snmp`, `netstat` and `snmp6`:
    /// `Udp.RcvbufErrors`.
    #[must_use]
    pub fn protocols(&self) -> CounterDeltas {
        let mut all = parse_tables(&read_again(self.snmp.as_ref()));
        all.extend(parse_tables(&read_again(self.netstat.as_ref())));
        all.retain(|name, _| IPV4_COUNTERS.contains(&name.as_str()));
        all.extend(parse_lines(&read_again(self.snmp6.as_ref())));
        all
    }

    /// Returns the counters of connection tracking, summed over all cores, by their names in
    /// `/proc/net/stat/nf_conntrack`.
    #[must_use]
    pub fn conntrack(&self) -> CounterDeltas {
        parse_columns(&read_again(self.conntrack.as_ref()))
    }
}

/// Opens a file of the calling thread's namespace. Returns `None` if there is no such file.
fn open_file(file: &str) -> Option<File> {
    File::open(format!("/proc/thread-self/net/{file}")).ok()
}

/// Reads a file from its beginning. Returns an empty text if there is none.
fn read_again(file: Option<&File>) -> String {
    let Some(file) = file else { return String::new() };
    let mut text = Vec::new();
    let mut chunk = [0; 8 * 1024];
    while let Ok(read @ 1..) = file.read_at(&mut chunk, text.len() as u64) {
        text.extend_from_slice(&chunk[..read]);
    }
    String::from_utf8(text).unwrap_or_default()
}

/// Returns the counters of all devices, by their names in `struct rtnl_link_stats64`, as far as `/proc/net/dev` tells
/// them apart: it counts the missed packets of a device among its dropped ones.
#[must_use]
pub fn devices() -> CounterGroups {
    parse_devices(&read_again(open_file("dev").as_ref()))
}

/// Columns of `/proc/net/dev` (net/core/net-procfs.c). Columns without a name here are not used.
const COLUMNS: [&str; 16] = [
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped",
    "",
    "",
    "",
    "",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
    "",
    "",
    "tx_carrier_errors",
    "",
];

/// Parses two lines of titles, then a line for each device: its name, a colon and its counters.
fn parse_devices(text: &str) -> CounterGroups {
    let device = |line: &str| {
        // A device name can contain a colon itself.
        let (name, values) = line.rsplit_once(':')?;
        let values = values.split_whitespace().map(str::parse::<u64>);
        let named = COLUMNS.iter().zip(values).filter(|(column, _)| !column.is_empty());
        let gains = named.filter_map(|(column, value)| Some(((*column).to_owned(), value.ok()?)));
        Some((name.trim().to_owned(), gains.collect()))
    };
    text.lines().skip(2).filter_map(device).collect()
}

/// Parses pairs of lines, names and values, each after its protocol: `Udp: InDatagrams …` and `Udp: 7 …`.
fn parse_tables(text: &str) -> CounterDeltas {
    // Sorted at once: names come in no order.
    let mut all = Vec::new();
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((protocol, names)), Some((_, values))) =
            (names.split_once(": "), values.split_once(": "))
        else {
            continue;
        };
        for (name, value) in names.split(' ').zip(values.split(' ')) {
            // Some values are not counters, and can be negative.
            all.extend(value.parse().ok().map(|value| (format!("{protocol}.{name}"), value)));
        }
    }
    all.into_iter().collect()
}

/// Parses lines of a name and a value.
fn parse_lines(text: &str) -> CounterDeltas {
    let value = |name: &&str| {
        let wanted = name.replacen('.', "", 1);
        let mut lines = text.lines().map(str::split_whitespace);
        lines.find_map(|mut words| (words.next()? == wanted).then(|| words.next())?)?.parse().ok()
    };
    IPV6_COUNTERS.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect()
}

/// Parses a line of names, then a line of hexadecimal values for each core. The first two columns are not counters of
/// the namespace: the number of connections, and a column to which newer kernels give another meaning.
fn parse_columns(text: &str) -> CounterDeltas {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let mut all = CounterDeltas::new();
    for line in lines {
        for (name, value) in names.iter().zip(line.split_whitespace()).skip(2) {
            let value = u64::from_str_radix(value, 16).unwrap_or(0);
            let sum = all.entry((*name).to_owned()).or_default();
            *sum = sum.saturating_add(value);
        }
    }
    all
}

/// Fuzz target of the kernel's tables.
#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    use super::{parse_columns, parse_devices, parse_lines, parse_tables};

    /// Reads a text as each of the kernel's tables of counters.
    pub fn counters(text: &str) {
        let _ = (parse_tables(text), parse_lines(text), parse_columns(text), parse_devices(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns counters from their names and values.
    fn counters<const N: usize>(all: [(&str, u64); N]) -> CounterDeltas {
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn counters_are_found_by_name() {
        let snmp = "Ip: Forwarding FragFails\nIp: 1 7\nTcp: MaxConn RetransSegs\nTcp: -1 5\n";
        let expected = [("Ip.Forwarding", 1), ("Ip.FragFails", 7), ("Tcp.RetransSegs", 5)];
        assert_eq!(parse_tables(snmp), counters(expected));
        let lines = parse_lines("Ip6InReceives   9\nUdp6RcvbufErrors  \t4\nIp6InOctets 77\n");
        assert_eq!(lines, counters([("Ip6.InReceives", 9), ("Udp6.RcvbufErrors", 4)]));
        let conntrack =
            parse_columns("entries  clashres found drop\n0000000a 1 1 2\n0000000a 1 10 ff\n");
        assert_eq!(conntrack, counters([("found", 17), ("drop", 257)]));
    }

    #[test]
    fn a_device_is_a_line() {
        let devices = parse_devices(
            "Inter-|   Receive  |  Transmit\n face |bytes |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
             eth0:1: 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        );
        let lo = counters([
            ("rx_bytes", 1),
            ("rx_packets", 2),
            ("rx_errors", 3),
            ("rx_dropped", 4),
            ("tx_bytes", 9),
            ("tx_packets", 10),
            ("tx_errors", 11),
            ("tx_dropped", 12),
            ("tx_carrier_errors", 15),
        ]);
        assert_eq!(devices.get("lo"), Some(&lo));
        let received = devices.get("eth0:1").and_then(|device| device.get("rx_bytes"));
        assert_eq!(received, Some(&7));
    }

    #[test]
    fn columns_add_up_to_the_largest_number_at_most() {
        let counts = parse_columns("a b found\n0 0 1\n0 0 ffffffffffffffff\n");
        assert_eq!(counts, counters([("found", u64::MAX)]));
    }

    #[test]
    fn this_machine_counts() {
        assert!(devices().contains_key("lo"));
        let protocols = CounterFiles::open().protocols();
        assert!(protocols.contains_key("Udp.RcvbufErrors"), "{protocols:?}");
        assert!(protocols.contains_key("TcpExt.TCPTimeouts"), "{protocols:?}");
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_readers(text in "([A-Z][a-z]{1,3}: |[0-9a-f]{1,20} |-|\n){0,40}") {
            let _ = (parse_tables(&text), parse_lines(&text), parse_columns(&text), parse_devices(&text));
        }
    }
}
