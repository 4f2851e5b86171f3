//! Ports that a listener chooses for a trial.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::str::FromStr;
use tare_traffic::Error;

/// Set of ports from which a listener chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrialPorts {
    /// Any port that the kernel finds.
    #[default]
    Any,
    /// Ports of a range, as a firewall allows them.
    Within {
        /// First port of the range.
        first: u16,
        /// Last port of the range.
        last: u16,
    },
}

/// Error of parsing a range of ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid range of ports `{0}`: expected FIRST-LAST, for example 5300-5399")]
pub struct TrialPortsError(String);

impl FromStr for TrialPorts {
    type Err = TrialPortsError;

    fn from_str(text: &str) -> Result<Self, TrialPortsError> {
        let read = || {
            let (first, last) = text.split_once('-')?;
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (0 < first && first <= last).then_some(Self::Within { first, last })
        };
        read().ok_or_else(|| TrialPortsError(text.to_owned()))
    }
}

impl fmt::Display for TrialPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Within { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

/// Port that is bound in both TCP and UDP, because a workload may use either or both.
struct ReservedPort {
    address: SocketAddr,
    _tcp: TcpListener,
    _udp: UdpSocket,
}

impl ReservedPort {
    fn bind(address: SocketAddr) -> io::Result<Self> {
        let tcp = TcpListener::bind(address)?;
        let address = tcp.local_addr()?;
        Ok(Self { address, _udp: UdpSocket::bind(address)?, _tcp: tcp })
    }
}

impl TrialPorts {
    /// Number of attempts to get a port from the kernel that is free in both TCP and UDP.
    const TRIES: usize = 64;

    /// Returns `count` different ports of this address that are free now.
    ///
    /// The ports are released before the workload binds them. If another process takes one first, the workload's error
    /// says so.
    pub(crate) fn choose(self, at: SocketAddr, count: usize) -> Result<Vec<SocketAddr>, Error> {
        let with = |port| {
            let mut address = at;
            address.set_port(port);
            address
        };
        let mut held: Vec<ReservedPort> = Vec::new();
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        let candidates: Box<dyn Iterator<Item = u16>> = match self {
            Self::Any => Box::new(std::iter::repeat_n(0, Self::TRIES)),
            Self::Within { first, last } => Box::new(first..=last),
        };
        for port in candidates {
            if held.len() == count {
                break;
            }
            match ReservedPort::bind(with(port)) {
                Ok(port) => held.push(port),
                Err(error) => last = error,
            }
        }
        if held.len() < count {
            return Err(Error::io(
                format!("find {count} free ports on {} (allowed: {self})", at.ip()),
                last,
            ));
        }
        Ok(held.iter().map(|port| port.address).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    #[test]
    fn ports_are_free_and_different() {
        let ports = TrialPorts::Any.choose(HERE, 3).unwrap();
        assert_eq!(ports.len(), 3);
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2]);
        assert!(ports.iter().all(|port| port.ip() == HERE.ip() && port.port() != 0));
    }

    #[test]
    fn a_range_is_kept_to_and_what_is_taken_is_passed_over() {
        let taken = UdpSocket::bind(HERE).unwrap();
        let first = taken.local_addr().unwrap().port();
        let within = TrialPorts::Within { first, last: first };
        let error = within.choose(HERE, 1).unwrap_err().to_string();
        assert!(error.contains(&format!("{first}-{first}")), "{error}");
        let last = first.saturating_add(200);
        let chosen = TrialPorts::Within { first, last }.choose(HERE, 1).unwrap()[0].port();
        assert!(first < chosen && chosen <= last);
    }

    #[test]
    fn ranges_read_as_written() {
        assert_eq!("5300-5399".parse(), Ok(TrialPorts::Within { first: 5300, last: 5399 }));
        assert_eq!("7-7".parse::<TrialPorts>().unwrap().to_string(), "7-7");
        for bad in ["", "5300", "0-5", "9-8", "1-65536", "-", "a-b"] {
            assert!(bad.parse::<TrialPorts>().is_err(), "{bad}");
        }
    }
}
