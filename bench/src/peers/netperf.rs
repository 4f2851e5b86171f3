//! netperf: bulk, round trips and connections. It is not in Debian's main section, and takes part if it is on the PATH.

use super::{FigureSource, MissingSupport, PeerTool, RunTarget, ServerSocket, ToolCommands, words};
use crate::traffic::{ToolReading, Traffic, TrafficKind};

pub(crate) struct Netperf;

impl PeerTool for Netperf {
    fn name(&self) -> &'static str {
        "netperf"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("netperf", &["-V"])
    }

    fn plan(&self, traffic: &Traffic, ends: &RunTarget) -> Result<ToolCommands, MissingSupport> {
        if traffic.flows > 1 || traffic.dropped || traffic.spinning || traffic.gso {
            return Err(MissingSupport::Mode);
        }
        let size = traffic.size;
        let (test, options) = match (traffic.kind, traffic.zero_copy) {
            (TrafficKind::TcpStream, false) => {
                ("TCP_STREAM", format!("-m {size} -M {size} -o THROUGHPUT"))
            }
            (TrafficKind::TcpStream, true) => {
                ("TCP_SENDFILE", format!("-m {size} -M {size} -o THROUGHPUT"))
            }
            (TrafficKind::UdpStream, _) => (
                "UDP_STREAM",
                format!("-m {size} -M {size} -s {0} -S {0} -o REMOTE_RECV_THROUGHPUT", ends.buffer),
            ),
            (TrafficKind::TcpRr, _) => ("TCP_RR", format!("-r {size},{size} -o THROUGHPUT")),
            (TrafficKind::UdpRr, _) => ("UDP_RR", format!("-r {size},{size} -o THROUGHPUT")),
            (TrafficKind::TcpCrr, _) => ("TCP_CRR", format!("-r {size},{size} -o THROUGHPUT")),
        };
        let RunTarget { address, port, seconds, .. } = ends;
        let server = words(&format!("netserver -D -p {port}"));
        let client = words(&format!(
            "netperf -P 0 -H {address} -p {port} -l {seconds} -t {test} -- {options}"
        ));
        Ok(ToolCommands { server, client, listens: ServerSocket::Tcp, says: FigureSource::Client })
    }

    /// Reads the last number: 10⁶ bits per second for bulk, else transactions per second. It is the requested output
    /// selector, or, in tests without output selectors (TCP_SENDFILE), the last number of the line.
    fn read(&self, traffic: &Traffic, output: &str) -> Option<ToolReading> {
        let last = |line: &str| line.split_whitespace().next_back()?.parse().ok();
        let number: f64 = output.lines().rev().find_map(last)?;
        if !number.is_finite() {
            return None;
        }
        Some(ToolReading::lossless(match traffic.kind {
            TrafficKind::TcpStream => number / 1e3,
            TrafficKind::UdpStream => traffic.datagrams(number * 1e6),
            _ => number,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ends;
    use super::*;

    /// Output of `-P 0` with one omni output selector, from netperf's manual (netperf 2.7, section 8.5).
    #[test]
    fn its_output_is_read() {
        let read = |kind| Netperf.read(&Traffic::plain(kind, 64), "\n57012.34\n").unwrap().rate;
        assert!((read(TrafficKind::TcpStream) - 57.012_34).abs() < 1e-9);
        assert!((read(TrafficKind::UdpStream) - 111_352_226.6).abs() < 1.0);
        assert!((read(TrafficKind::TcpCrr) - 57_012.34).abs() < 1e-9);
        assert_eq!(
            Netperf.read(&Traffic::plain(TrafficKind::TcpRr, 1), "establish control: no"),
            None
        );
        // Output of TCP_SENDFILE in netperf 2.7.1.
        let line = "131072  16384 131072    1.00     16623.38   \n";
        let sent = Netperf.read(&Traffic::plain(TrafficKind::TcpStream, 131_072), line).unwrap();
        assert!((sent.rate - 16.623_38).abs() < 1e-9);
    }

    #[test]
    fn zero_copy_is_its_sendfile_test() {
        let zero = Traffic { zero_copy: true, ..Traffic::plain(TrafficKind::TcpStream, 131_072) };
        let plan = Netperf.plan(&zero, &ends()).unwrap();
        assert!(plan.client.contains(&"TCP_SENDFILE".to_owned()));
    }
}
