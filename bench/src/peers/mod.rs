//! Peers: the commands of each tool for a row's traffic, and a reader of its output.
//!
//! There is one file for each tool. A tool is started as its manual says, with the largest socket buffers that the
//! kernel allows an ordinary user, and its receiver's figure is used if it has one.

mod iperf;
mod iperf3;
mod neper;
mod netperf;
mod nuttcp;
mod qperf;
mod sockperf;

use crate::traffic::{ToolReading, Traffic};
use std::net::IpAddr;
use std::path::PathBuf;

/// Address, ports, duration and buffer size of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunTarget {
    /// Address of the server.
    pub(crate) address: IpAddr,
    /// First of [`PORTS`] ports that are free on the server.
    pub(crate) port: u16,
    /// Duration of the traffic, s.
    pub(crate) seconds: u32,
    /// Socket buffer for datagrams, bytes.
    pub(crate) buffer: u64,
}

/// Number of ports of each run.
pub(crate) const PORTS: u16 = 80;

/// Socket that shows that the server is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerSocket {
    Tcp,
    Udp,
}

/// Side whose output has the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FigureSource {
    /// Client. The server is killed afterwards.
    Client,
    /// Client. The server ends by itself, so that its CPU time is known.
    ClientAlone,
    /// Server, which ends by itself.
    Server,
}

/// Commands for one run of a tool.
#[derive(Clone, Debug)]
pub(crate) struct ToolCommands {
    pub(crate) server: Vec<String>,
    pub(crate) client: Vec<String>,
    pub(crate) listens: ServerSocket,
    pub(crate) says: FigureSource,
}

/// Reason why a tool does not take part in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MissingSupport {
    /// The tool does not support such traffic.
    Mode,
    /// Another version of the tool supports it.
    Needs(&'static str),
}

/// Tool that tare is compared with.
pub(crate) trait PeerTool: Sync {
    /// Returns the name of the tool.
    fn name(&self) -> &'static str;
    /// Returns the program that must be on the PATH, and the arguments to print its version; empty if it has none.
    fn program(&self) -> (&'static str, &'static [&'static str]);
    /// Returns the commands for such traffic. Fails if the tool does not support it.
    fn plan(&self, traffic: &Traffic, ends: &RunTarget) -> Result<ToolCommands, MissingSupport>;
    /// Reads the output: the rate is in the unit of the traffic. Returns `None` if there is no figure.
    fn read(&self, traffic: &Traffic, output: &str) -> Option<ToolReading>;
}

/// All supported tools.
pub(crate) const PEERS: &[&dyn PeerTool] = &[
    &iperf3::Iperf3,
    &iperf::Iperf,
    &sockperf::Sockperf,
    &qperf::Qperf,
    &nuttcp::Nuttcp,
    &netperf::Netperf,
    &neper::Neper,
];

/// Returns the path of a peer's program. Returns `None` if it is not installed.
pub(crate) fn installed(peer: &dyn PeerTool) -> Option<PathBuf> {
    tare_sandbox::program::find(peer.program().0)
}

/// Splits a line into words.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// Returns the number after `key=` in a text. Returns `None` if there is none.
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
    use crate::traffic::TrafficKind;
    use proptest::prelude::*;

    /// Returns the run settings of a test.
    pub(super) fn ends() -> RunTarget {
        RunTarget { address: [10, 0, 0, 2].into(), port: 7_000, seconds: 1, buffer: 4 << 20 }
    }

    #[test]
    fn numbers_are_read_after_their_key() {
        assert_eq!(number_after("a=1 b = 2.5e3;c=x", "b"), Some(2_500.0));
        assert_eq!(number_after("a=1 c=x", "c="), None);
        assert_eq!(number_after("a=1", "d="), None);
    }

    const KINDS: [TrafficKind; 5] = [
        TrafficKind::TcpStream,
        TrafficKind::UdpStream,
        TrafficKind::TcpRr,
        TrafficKind::UdpRr,
        TrafficKind::TcpCrr,
    ];

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
