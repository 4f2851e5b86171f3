//! Snapshot of the network namespace in which this program runs, from files of /proc and /sys.

use super::snapshot::{DeviceSnapshot, NetnsSnapshot};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use tare_network::Family;

/// Takes a snapshot of this network namespace.
pub fn take_snapshot() -> NetnsSnapshot {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let routes = text("/proc/net/route");
    let ipv4 = addresses_ipv4(&text("/proc/net/fib_trie"));
    let ipv6 = addresses_ipv6(&text("/proc/net/if_inet6"));
    let mut devices = devices();
    for device in &mut devices {
        let own = |address: &&Ipv4Addr| device_on_link(&routes, **address) == Some(&device.name);
        device.addresses = ipv4.iter().filter(own).map(|&one| one.into()).collect();
        let own = ipv6.iter().filter(|(name, _)| *name == device.name);
        device.addresses.extend(own.map(|&(_, address)| IpAddr::from(address)));
    }
    let addresses = ipv4.iter().map(|&one| IpAddr::from(one));
    let addresses = addresses.chain(ipv6.iter().map(|&(_, one)| one.into())).collect();
    let mut listening = listening_ports(&text("/proc/net/tcp"));
    listening.extend(self::listening_ports(&text("/proc/net/tcp6")));
    listening.sort_unstable();
    listening.dedup();
    let processors = text("/proc/cpuinfo");
    NetnsSnapshot {
        devices,
        addresses,
        uplink: uplink(&routes),
        listening,
        bridged_past_netfilter: families_past_netfilter(|switch| {
            text(&format!("/proc/sys/net/bridge/{switch}"))
        }),
        seccomp: seccomp(&text("/proc/self/status")),
        kernel: rustix::system::uname().release().to_str().ok().map(str::to_owned),
        processor: processor(&processors),
        cores: cores(&processors),
        hosts: text("/etc/hosts").lines().map(str::to_owned).collect(),
        ..NetnsSnapshot::default()
    }
}

/// Returns the name of the first processor in /proc/cpuinfo, where the architecture has one.
fn processor(cpuinfo: &str) -> Option<String> {
    let names = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let name = names.into_iter().find(|(key, _)| key.trim() == "model name")?.1.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the number of cores in /proc/cpuinfo.
fn cores(cpuinfo: &str) -> Option<u32> {
    let is_core = |line: &&str| line.split(':').next().is_some_and(|key| key.trim() == "processor");
    u32::try_from(cpuinfo.lines().filter(is_core).count()).ok().filter(|&cores| cores > 0)
}

/// Returns the families of which bridged packets pass netfilter, by the text of each switch.
fn families_past_netfilter(switch: impl Fn(&str) -> String) -> Vec<Family> {
    let switches =
        [(Family::Ipv4, "bridge-nf-call-iptables"), (Family::Ipv6, "bridge-nf-call-ip6tables")];
    let on = switches.into_iter().filter(|(_, name)| switch(name).trim() == "1");
    on.map(|(family, _)| family).collect()
}

/// Returns the devices, with the packets that left by each since it was made.
pub(super) fn devices() -> Vec<DeviceSnapshot> {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut devices: Vec<_> = entries
        .filter_map(|entry| {
            let path = entry.path();
            Some(DeviceSnapshot {
                name: entry.file_name().into_string().ok()?,
                mtu: Some(number(&path.join("mtu"))?),
                sent: number(&path.join("statistics/tx_packets")).unwrap_or_default(),
                bridge: path.join("bridge").exists(),
                addresses: Vec::new(),
            })
        })
        .collect();
    if devices.is_empty() {
        devices = devices_of_table(&fs::read_to_string("/proc/net/dev").unwrap_or_default());
    }
    devices.sort_by(|one, other| one.name.cmp(&other.name));
    devices
}

/// Returns the devices of /proc/net/dev, where there is no /sys, as in gVisor: two lines of headings, then
/// `NAME: ` with eight counters of what was received and eight of what was sent.
fn devices_of_table(table: &str) -> Vec<DeviceSnapshot> {
    const SENT_PACKETS: usize = 9;
    let device = |line: &str| {
        let (name, counters) = line.split_once(':')?;
        let sent = counters.split_whitespace().nth(SENT_PACKETS)?.parse().ok()?;
        Some(DeviceSnapshot { name: name.trim().to_owned(), sent, ..DeviceSnapshot::default() })
    };
    table.lines().skip(2).filter_map(device).collect()
}

fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns the local addresses of /proc/net/fib_trie: each leaf is a line `|-- ADDRESS`, then lines with its routes.
fn addresses_ipv4(trie: &str) -> Vec<Ipv4Addr> {
    let mut addresses = Vec::new();
    let mut leaf = None;
    for line in trie.lines() {
        if let Some(address) = line.trim().strip_prefix("|-- ") {
            leaf = address.parse::<Ipv4Addr>().ok();
        } else if line.contains("/32 host LOCAL")
            && let Some(address) = leaf.filter(|address| !address.is_loopback())
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    addresses
}

/// Returns the global addresses of /proc/net/if_inet6 with their devices: `ADDRESS INDEX PREFIX SCOPE FLAGS NAME`, all
/// hexadecimal.
fn addresses_ipv6(table: &str) -> Vec<(String, Ipv6Addr)> {
    const GLOBAL: &str = "00";
    let address = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = u128::from_str_radix(words.first()?, 16).ok()?;
        let own = (words.get(5)?.to_string(), Ipv6Addr::from(number));
        (words.get(3) == Some(&GLOBAL)).then_some(own)
    };
    table.lines().filter_map(address).collect()
}

/// Returns the device on whose link an address's neighbours are, by /proc/net/route: `DEVICE DESTINATION GATEWAY FLAGS
/// … MASK`, the numbers hexadecimal and in the machine's byte order. Of two matching routes the one with the longer
/// prefix is used.
fn device_on_link(routes: &str, address: Ipv4Addr) -> Option<&str> {
    const GATEWAY: u32 = 2;
    const FLAGS: usize = 3;
    const MASK: usize = 7;
    let own = u32::from_ne_bytes(address.octets());
    let matching = routes.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
        let (destination, flags, mask) = (number(1)?, number(FLAGS)?, number(MASK)?);
        let leads = own & mask == destination && flags & GATEWAY == 0;
        leads.then_some((mask.count_ones(), *words.first()?))
    });
    matching.max_by_key(|&(bits, _)| bits).map(|(_, device)| device)
}

/// Returns the device of the default route in /proc/net/route: `DEVICE DESTINATION …`, hexadecimal.
fn uplink(routes: &str) -> Option<String> {
    routes.lines().skip(1).find_map(|line| {
        let mut words = line.split_whitespace();
        let (device, destination) = (words.next()?, words.next()?);
        (destination == "00000000").then(|| device.to_owned())
    })
}

/// Returns the mode of seccomp in /proc/self/status.
fn seccomp(status: &str) -> Option<u8> {
    status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?.trim().parse().ok()
}

/// Returns the listening ports of /proc/net/tcp: `N: ADDRESS:PORT REMOTE STATE …`, hexadecimal.
fn listening_ports(table: &str) -> Vec<u16> {
    const LISTEN: &str = "0A";
    let port = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (_, port) = words.get(1)?.rsplit_once(':')?;
        (words.get(3) == Some(&LISTEN)).then(|| u16::from_str_radix(port, 16).ok())?
    };
    table.lines().skip(1).filter_map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_and_named() {
        let two =
            "processor\t: 0\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\nmodel name\t: AMD EPYC\n";
        assert_eq!((processor(two).as_deref(), cores(two)), (Some("AMD EPYC"), Some(2)));
        let arm = "processor\t: 0\nBogoMIPS\t: 50.00\n";
        assert_eq!((processor(arm), cores(arm)), (None, Some(1)));
        assert_eq!((processor(""), cores("")), (None, None));
    }

    #[test]
    fn each_family_has_its_own_switch() {
        let families = |on: &str| {
            let switch = |name: &str| if on.contains(name) { "1\n" } else { "0\n" }.to_owned();
            families_past_netfilter(switch)
        };
        assert_eq!(families(""), []);
        assert_eq!(families("bridge-nf-call-ip6tables"), [Family::Ipv6]);
        let both = "bridge-nf-call-iptables bridge-nf-call-ip6tables";
        assert_eq!(families(both), [Family::Ipv4, Family::Ipv6]);
        assert_eq!(families_past_netfilter(|_| String::new()), [], "there is no such switch");
    }

    #[test]
    fn the_kernels_tables_are_read() {
        let trie = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     \
                    |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 172.17.0.2\n        /32 host LOCAL\n     \
                    |-- 172.17.255.255\n        /32 link BROADCAST\n";
        assert_eq!(addresses_ipv4(trie), [Ipv4Addr::new(172, 17, 0, 2)]);
        let table = "fd000000000000000000000000000002 05 40 00 80     eth0\n\
                     00000000000000000000000000000001 01 80 10 80       lo\n\
                     fe80000000000000004200fffeac1102 05 40 20 80     eth0\n";
        let own = ("eth0".to_owned(), "fd00::2".parse::<Ipv6Addr>().unwrap());
        assert_eq!(addresses_ipv6(table), [own]);
        let routes = "Iface\tDestination\tGateway\neth1\t0000A8C0\t0\neth0\t00000000\t0100A8C0\n";
        assert_eq!(uplink(routes).as_deref(), Some("eth0"));
        let routes = "Iface Destination Gateway Flags RefCnt Use Metric Mask\n\
                      eth1 00000000 010012AC 0003 0 0 0 00000000\n\
                      eth0 0000000A 00000000 0001 0 0 0 00FFFFFF\n\
                      eth1 000012AC 00000000 0001 0 0 0 0000FFFF\n";
        if cfg!(target_endian = "little") {
            assert_eq!(device_on_link(routes, Ipv4Addr::new(10, 0, 0, 7)), Some("eth0"));
            assert_eq!(device_on_link(routes, Ipv4Addr::new(172, 18, 0, 3)), Some("eth1"));
            assert_eq!(device_on_link(routes, Ipv4Addr::new(192, 0, 2, 1)), None);
        }
        assert_eq!(seccomp("NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n"), Some(2));
        let tcp = "  sl  local_address rem_address   st\n   0: 0100007F:1451 00000000:0000 0A 0\n   \
                   1: 0100007F:1452 00000000:0000 01 0\n";
        assert_eq!(listening_ports(tcp), [5201]);
    }

    #[test]
    fn a_kernel_without_sys_shows_its_devices_in_a_table() {
        let table = "Inter-|   Receive   |  Transmit\n face |bytes packets\n    \
                     lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n  \
                     eth0:     586      7    0    0    0     0          0         0      700       9    0    0    0     0       0          0\n";
        let devices = devices_of_table(table);
        let seen: Vec<_> = devices.iter().map(|one| (one.name.as_str(), one.sent)).collect();
        assert_eq!(seen, [("lo", 0), ("eth0", 9)]);
        assert_eq!(devices_of_table("?"), []);
    }

    #[test]
    fn this_machine_is_seen() {
        let seen = take_snapshot();
        let mtu = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
        let loopback = seen.device("lo").map(|device| (device.mtu, device.bridge));
        assert_eq!(loopback, Some((mtu.trim().parse().ok(), false)), "{seen:?}");
        let line = serde_json::to_string(&seen).unwrap();
        assert_eq!(crate::parse_snapshot(&line), Ok(seen));
    }
}
