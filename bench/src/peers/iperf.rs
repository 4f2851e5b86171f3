//! iperf (2): TCP and UDP bulk. Its server prints the received data as CSV, and ends after its last connection.

use super::{FigureSource, MissingSupport, PeerTool, RunTarget, ServerSocket, ToolCommands, words};
use crate::traffic::{ToolReading, Traffic, TrafficKind};

pub(crate) struct Iperf;

impl PeerTool for Iperf {
    fn name(&self) -> &'static str {
        "iperf"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("iperf", &["--version"])
    }

    fn plan(&self, traffic: &Traffic, ends: &RunTarget) -> Result<ToolCommands, MissingSupport> {
        let bulk = matches!(traffic.kind, TrafficKind::TcpStream | TrafficKind::UdpStream);
        if !bulk || traffic.zero_copy || traffic.dropped || traffic.spinning || traffic.gso {
            return Err(MissingSupport::Mode);
        }
        let RunTarget { address, port, seconds, buffer } = ends;
        let (size, flows) = (traffic.size, traffic.flows);
        let mut server = words(&format!("iperf -s -P {flows} -p {port} -l {size} -y C"));
        let mut client =
            words(&format!("iperf -c {address} -P {flows} -p {port} -l {size} -t {seconds} -y C"));
        let mut listens = ServerSocket::Tcp;
        if traffic.kind == TrafficKind::UdpStream {
            let udp = words(&format!("-u -w {buffer}"));
            server.extend(udp.clone());
            client.extend(udp);
            // A rate above that of any machine for small datagrams: iperf sends as fast as it can.
            client.extend(words("-b 100g"));
            listens = ServerSocket::Udp;
        }
        Ok(ToolCommands { server, client, listens, says: FigureSource::Server })
    }

    /// Reads one line for each connection: time, addresses, id, interval, bytes, bits per second; for UDP also jitter,
    /// lost, all, …
    fn read(&self, traffic: &Traffic, output: &str) -> Option<ToolReading> {
        let (mut bits, mut lost, mut all) = (0.0, 0.0, 0.0);
        let mut connections = 0;
        for line in output.lines() {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |field: usize| fields.get(field)?.parse::<f64>().ok();
            let Some(rate) = number(8) else {
                continue;
            };
            connections += 1;
            bits += rate;
            lost += number(10).unwrap_or(0.0);
            all += number(11).unwrap_or(0.0);
        }
        if connections < traffic.flows {
            return None;
        }
        Some(match traffic.kind {
            TrafficKind::UdpStream => {
                ToolReading { rate: traffic.datagrams(bits), loss: lost / all.max(1.0) }
            }
            _ => ToolReading::lossless(bits / 1e9),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let eight = Traffic { flows: 8, ..Traffic::plain(TrafficKind::TcpStream, 131_072) };
        let output = include_str!("../../samples/iperf_tcp8.csv");
        let reading = Iperf.read(&eight, output).unwrap();
        assert!((reading.rate - 37.160_115).abs() < 1e-4, "{reading:?}");
        let nine = Traffic { flows: 9, ..eight };
        assert_eq!(Iperf.read(&nine, output), None, "a connection is missing");
        let udp = Traffic::plain(TrafficKind::UdpStream, 64);
        let reading = Iperf.read(&udp, include_str!("../../samples/iperf_udp.csv")).unwrap();
        assert!((reading.rate - 184_031.6).abs() < 1.0, "{reading:?}");
        assert!((reading.loss - 0.561_188).abs() < 1e-5, "{reading:?}");
    }
}
