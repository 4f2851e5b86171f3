//! qperf: bandwidth and latency over TCP and UDP.

use super::{
    FigureSource, MissingSupport, PeerTool, RunTarget, ServerSocket, ToolCommands, number_after,
    words,
};
use crate::traffic::{ToolReading, Traffic, TrafficKind};

pub(crate) struct Qperf;

impl PeerTool for Qperf {
    fn name(&self) -> &'static str {
        "qperf"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("qperf", &["--version"])
    }

    fn plan(&self, traffic: &Traffic, ends: &RunTarget) -> Result<ToolCommands, MissingSupport> {
        let special = traffic.zero_copy || traffic.dropped || traffic.spinning || traffic.gso;
        if special || traffic.flows > 1 {
            return Err(MissingSupport::Mode);
        }
        let RunTarget { address, port, seconds, buffer } = ends;
        let (test, buffer) = match traffic.kind {
            TrafficKind::TcpStream => ("tcp_bw", String::new()),
            TrafficKind::UdpStream => ("udp_bw", format!("-sb {buffer}")),
            TrafficKind::TcpRr => ("tcp_lat", String::new()),
            TrafficKind::UdpRr => ("udp_lat", String::new()),
            TrafficKind::TcpCrr => return Err(MissingSupport::Mode),
        };
        let size = traffic.size;
        let server = words(&format!("qperf --listen_port {port}"));
        let client = words(&format!(
            "qperf {address} --listen_port {port} -t {seconds} -uu -vv {buffer} -m {size} {test}"
        ));
        Ok(ToolCommands { server, client, listens: ServerSocket::Tcp, says: FigureSource::Client })
    }

    fn read(&self, traffic: &Traffic, output: &str) -> Option<ToolReading> {
        let number = |key: &str| {
            let line = output.lines().find(|line| line.split_whitespace().next() == Some(key))?;
            number_after(line, "=")
        };
        Some(match traffic.kind {
            TrafficKind::TcpStream => ToolReading::lossless(number("bw")? * 8.0 / 1e9),
            TrafficKind::UdpStream => {
                let (sent, received) = (number("send_msgs")?, number("recv_msgs")?);
                let loss = ((sent - received) / sent.max(1.0)).max(0.0);
                ToolReading { rate: number("msg_rate")?, loss }
            }
            // The latency is that of one way: half of a round trip.
            TrafficKind::TcpRr | TrafficKind::UdpRr => {
                ToolReading::lossless(5e8 / number("latency").filter(|nanos| *nanos > 0.0)?)
            }
            TrafficKind::TcpCrr => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let read = |kind, output| Qperf.read(&Traffic::plain(kind, 64), output).unwrap();
        let bulk = read(TrafficKind::TcpStream, include_str!("../../samples/qperf_tcp_bw.txt"));
        assert!((bulk.rate - 23.365_419).abs() < 1e-4, "{bulk:?}");
        let datagrams =
            read(TrafficKind::UdpStream, include_str!("../../samples/qperf_udp_bw.txt"));
        assert_eq!(datagrams.rate, 238_565.0);
        assert!(datagrams.loss < 0.001, "{datagrams:?}");
        let round_trips = read(TrafficKind::TcpRr, include_str!("../../samples/qperf_tcp_lat.txt"));
        assert!((round_trips.rate - 108_648.4).abs() < 1.0, "{round_trips:?}");
    }
}
