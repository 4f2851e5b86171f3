//! The peers: how each is started for a row's traffic, and how what it prints is read.
//!
//! One file a tool. A tool is started as its manual says, with the largest socket buffers that the kernel lets anybody
//! ask for, and always by its receiver's figure where it has one.

mod iperf;
mod iperf3;
mod neper;
mod netperf;
mod nuttcp;
mod qperf;
mod sockperf;

use crate::traffic::{Reading, Traffic};
use std::net::IpAddr;
use std::path::PathBuf;

/// Where and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// The server's address.
    pub(crate) address: IpAddr,
    /// The first of [`PORTS`] ports that are free there.
    pub(crate) port: u16,
    /// How long to generate.
    pub(crate) seconds: u32,
    /// Bytes of a socket buffer for datagrams.
    pub(crate) buffer: u64,
}

/// Ports of each run.
pub(crate) const PORTS: u16 = 80;

/// What shows that a server is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listens {
    Tcp,
    Udp,
}

/// Whose output has the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// The client; the server is killed after it.
    Client,
    /// The client; the server ends by itself, so that its CPU time is known.
    ClientAlone,
    /// The server, which ends by itself.
    Server,
}

/// How to run a tool once.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) server: Vec<String>,
    pub(crate) client: Vec<String>,
    pub(crate) listens: Listens,
    pub(crate) says: Says,
}

/// Why a tool does not take part in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// It has no such traffic: it is no peer there.
    Mode,
    /// Another version of it would have.
    Needs(&'static str),
}

/// A tool.
pub(crate) trait Peer: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// The program that must be on the PATH, and the arguments by which it tells its version; none where it cannot.
    fn program(&self) -> (&'static str, &'static [&'static str]);
    /// How it is run for such traffic.
    fn plan(&self, traffic: &Traffic, ends: &Ends) -> Result<Plan, Lack>;
    /// What it says: the rate in the traffic's unit.
    fn read(&self, traffic: &Traffic, output: &str) -> Option<Reading>;
}

/// All of them.
pub(crate) const PEERS: &[&dyn Peer] = &[
    &iperf3::Iperf3,
    &iperf::Iperf,
    &sockperf::Sockperf,
    &qperf::Qperf,
    &nuttcp::Nuttcp,
    &netperf::Netperf,
    &neper::Neper,
];

/// Where a peer's program is; nothing where it is not installed.
pub(crate) fn installed(peer: &dyn Peer) -> Option<PathBuf> {
    tare_lab::program::find(peer.program().0)
}

/// A line of words.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The number after `key=` in a text of such pairs.
fn number_after(text: &str, key: &str) -> Option<f64> {
    let (_, rest) = text.split_once(key)?;
    let rest = rest.trim_start_matches(['=', ' ']);
    let end = rest
        .find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, '.' | 'e' | '+' | '-')))
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Kind;
    use proptest::prelude::*;

    /// Ends of a test.
    pub(super) fn ends() -> Ends {
        Ends { address: [10, 0, 0, 2].into(), port: 7_000, seconds: 1, buffer: 4 << 20 }
    }

    #[test]
    fn numbers_are_read_after_their_key() {
        assert_eq!(number_after("a=1 b = 2.5e3;c=x", "b"), Some(2_500.0));
        assert_eq!(number_after("a=1 c=x", "c="), None);
        assert_eq!(number_after("a=1", "d="), None);
    }

    const KINDS: [Kind; 5] =
        [Kind::TcpStream, Kind::UdpStream, Kind::TcpRr, Kind::UdpRr, Kind::TcpCrr];

    proptest! {
        #[test]
        fn no_output_breaks_a_reader(output in "[ -~\n]{0,200}", kind in 0usize..5) {
            let traffic = Traffic::plain(KINDS[kind], 64);
            for peer in PEERS {
                if let Some(reading) = peer.read(&traffic, &output) {
                    prop_assert!(!reading.rate.is_nan());
                }
            }
        }
    }
}
