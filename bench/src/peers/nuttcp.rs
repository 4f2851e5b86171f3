//! nuttcp: TCP and UDP bulk. Its client prints the receiver's rate.

use super::{
    FigureSource, MissingSupport, PeerTool, RunTarget, ServerSocket, ToolCommands, number_after,
    words,
};
use crate::traffic::{ToolReading, Traffic, TrafficKind};

pub(crate) struct Nuttcp;

impl PeerTool for Nuttcp {
    fn name(&self) -> &'static str {
        "nuttcp"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("nuttcp", &["-V"])
    }

    fn plan(&self, traffic: &Traffic, ends: &RunTarget) -> Result<ToolCommands, MissingSupport> {
        let bulk = matches!(traffic.kind, TrafficKind::TcpStream | TrafficKind::UdpStream);
        if !bulk || traffic.zero_copy || traffic.dropped || traffic.spinning || traffic.gso {
            return Err(MissingSupport::Mode);
        }
        let RunTarget { address, port, seconds, buffer } = ends;
        let (size, flows, data) = (traffic.size, traffic.flows, port + 1);
        let server = words(&format!("nuttcp -1 --nofork -P {port}"));
        let kind = match traffic.kind {
            // -Ru: unlimited rate.
            TrafficKind::UdpStream => format!("-u -Ru -w{}k", buffer >> 10),
            _ => format!("-N{flows}"),
        };
        let client = words(&format!(
            "nuttcp -P {port} -p {data} -T{seconds} -l{size} {kind} -fparse {address}"
        ));
        Ok(ToolCommands {
            server,
            client,
            listens: ServerSocket::Tcp,
            says: FigureSource::ClientAlone,
        })
    }

    fn read(&self, traffic: &Traffic, output: &str) -> Option<ToolReading> {
        let bits = number_after(output, "rate_Mbps=")? * 1e6;
        Some(match traffic.kind {
            TrafficKind::UdpStream => ToolReading {
                rate: traffic.datagrams(bits),
                loss: number_after(output, "data_loss=")? / 100.0,
            },
            _ => ToolReading::lossless(bits / 1e9),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let tcp = include_str!("../../samples/nuttcp_tcp8.txt");
        let reading = Nuttcp.read(&Traffic::plain(TrafficKind::TcpStream, 131_072), tcp).unwrap();
        assert!((reading.rate - 39.624_081).abs() < 1e-4, "{reading:?}");
        let udp = include_str!("../../samples/nuttcp_udp.txt");
        let reading = Nuttcp.read(&Traffic::plain(TrafficKind::UdpStream, 64), udp).unwrap();
        assert!((reading.rate - 417_841.2).abs() < 1.0 && reading.loss == 0.0, "{reading:?}");
    }
}
