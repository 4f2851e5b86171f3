//! Reader of all counters of one namespace: sockets and files that were opened inside it, and are read from outside. To
//! enter a namespace for every read takes a thread, and several times as long.

use super::rules::RuleReader;
use crate::netlink::{DeviceStats, NetlinkSocket, QdiscStats};
use netlink_packet_route::link::Stats64;
use std::collections::BTreeMap;
use tare_network::procfs_counters::CounterFiles;
use tare_network::{CounterDeltas, CounterGroups, Error};

/// Kind of queue that holds nothing, and counts nothing.
const NO_QUEUE: &str = "noqueue";

/// Reader of the counters of the namespace in which it was opened.
pub struct NamespaceReader {
    socket: NetlinkSocket,
    /// Reader of netfilter rules. `None` if there may be none.
    rules: Option<RuleReader>,
    files: CounterFiles,
    /// Names of the devices at the last full list, by index.
    names: BTreeMap<u32, String>,
    /// True if a device had a queue that counts, at the last full list.
    has_queues: bool,
}

/// Values of all counters of a namespace at one time.
pub struct NamespaceReading {
    /// Counters of the devices.
    pub devices: Vec<DeviceStats>,
    /// Counters of the devices' queues.
    pub queues: Vec<QdiscStats>,
    /// Packets that passed netfilter rules, by chain and rule.
    pub rules: CounterGroups,
    /// Counters of connection tracking (/proc/net/stat/nf_conntrack).
    pub conntrack: CounterDeltas,
    /// Counters of protocols (/proc/net/snmp, /proc/net/netstat).
    pub protocols: CounterDeltas,
}

impl NamespaceReader {
    /// Opens a reader in the calling thread's namespace. `filters` is true if it may have netfilter rules.
    ///
    /// # Errors
    /// The kernel has no socket left.
    pub fn open(filters: bool) -> Result<Self, Error> {
        Ok(Self {
            socket: NetlinkSocket::open()?,
            // A kernel without nf_tables has no rules.
            rules: filters.then(|| RuleReader::open().ok()).flatten(),
            files: CounterFiles::open(),
            names: BTreeMap::new(),
            has_queues: true,
        })
    }

    /// Reads the current values of all counters.
    ///
    /// # Errors
    /// The kernel does not answer, or not as rtnetlink(7) says.
    pub fn read(&mut self) -> Result<NamespaceReading, Error> {
        let (devices, queues) = match self.read_known_devices() {
            Some(devices) if self.has_queues => (devices, self.socket.queues()?),
            Some(devices) => (devices, Vec::new()),
            None => self.list_devices()?,
        };
        let rules = self.rules.as_mut().map(|rules| rules.read_all().unwrap_or_default());
        Ok(NamespaceReading {
            devices,
            queues,
            rules: rules.unwrap_or_default(),
            conntrack: self.files.conntrack(),
            protocols: self.files.protocols(),
        })
    }

    /// Reads the counters of the devices of the last full list. Returns `None` if there are others now, or if the
    /// kernel does not give counters alone (before Linux 4.7).
    fn read_known_devices(&mut self) -> Option<Vec<DeviceStats>> {
        if self.names.is_empty() {
            return None;
        }
        let counters = self.socket.device_counters().ok()?;
        let named = |(index, stats): (u32, Stats64)| {
            Some(DeviceStats { index, name: self.names.get(&index)?.clone(), stats })
        };
        let devices: Vec<DeviceStats> = counters.into_iter().map(named).collect::<Option<_>>()?;
        (devices.len() == self.names.len()).then_some(devices)
    }

    /// Lists all devices and their queues.
    fn list_devices(&mut self) -> Result<(Vec<DeviceStats>, Vec<QdiscStats>), Error> {
        let (devices, queues) = (self.socket.devices()?, self.socket.queues()?);
        self.names = devices.iter().map(|one| (one.index, one.name.clone())).collect();
        self.has_queues = queues.iter().any(|queue| queue.kind != NO_QUEUE);
        Ok((devices, queues))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_dev::eventually;

    #[test]
    fn counters_alone_are_those_of_the_full_list() {
        let mut reader = NamespaceReader::open(false).unwrap();
        let reading = reader.read().unwrap();
        assert!(reading.devices.iter().any(|device| device.name == "lo"));
        assert!(reading.protocols.contains_key("Tcp.InSegs"), "{:?}", reading.protocols);
        let names = |all: &[DeviceStats]| -> Vec<(u32, String)> {
            all.iter().map(|one| (one.index, one.name.clone())).collect()
        };
        // Other programs may make devices in this namespace meanwhile.
        let (before, found, after) = eventually("three lists of the same devices", || {
            let before = reader.list_devices().unwrap().0;
            let found = reader.read_known_devices()?;
            let after = reader.list_devices().unwrap().0;
            (names(&before) == names(&after)).then_some((before, found, after))
        });
        assert_eq!(names(&before), names(&found));
        // Between two lists of the same counters, none falls.
        for ((before, found), after) in before.iter().zip(&found).zip(&after) {
            let grows = [before, found, after].map(|one| one.stats.rx_bytes);
            assert!(grows.is_sorted(), "{}: {grows:?}", found.name);
        }
    }

    #[test]
    fn a_device_that_came_makes_a_full_list() {
        let mut reader = NamespaceReader::open(false).unwrap();
        reader.read().unwrap();
        reader.names.insert(u32::MAX, "gone0".to_owned());
        assert_eq!(reader.read_known_devices(), None);
        assert!(!reader.read().unwrap().devices.is_empty());
        assert!(!reader.names.contains_key(&u32::MAX));
    }
}
