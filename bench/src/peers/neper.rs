//! neper: one program for each workload, used on both sides. It takes part if it is on the PATH.

use super::{
    FigureSource, MissingSupport, PeerTool, RunTarget, ServerSocket, ToolCommands, number_after,
    words,
};
use crate::traffic::{ToolReading, Traffic, TrafficKind};

pub(crate) struct Neper;

impl PeerTool for Neper {
    fn name(&self) -> &'static str {
        "neper"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("tcp_rr", &[])
    }

    fn plan(&self, traffic: &Traffic, ends: &RunTarget) -> Result<ToolCommands, MissingSupport> {
        if traffic.zero_copy || traffic.dropped || traffic.gso {
            return Err(MissingSupport::Mode);
        }
        let size = traffic.size;
        let (program, options, says) = match traffic.kind {
            TrafficKind::TcpStream => ("tcp_stream", format!("-B {size}"), FigureSource::Server),
            TrafficKind::UdpStream => ("udp_stream", format!("-B {size}"), FigureSource::Server),
            TrafficKind::TcpRr => {
                ("tcp_rr", format!("-Q {size} -R {size}"), FigureSource::ClientAlone)
            }
            TrafficKind::UdpRr => {
                ("udp_rr", format!("-Q {size} -R {size}"), FigureSource::ClientAlone)
            }
            TrafficKind::TcpCrr => {
                ("tcp_crr", format!("-Q {size} -R {size}"), FigureSource::ClientAlone)
            }
        };
        let RunTarget { address, port, seconds, .. } = ends;
        // A UDP server listens on one port for each flow. It samples every tenth of a second, because it leaves out the
        // first sample.
        let (flows, threads, data) = (traffic.flows, traffic.threads, port + 1);
        let both =
            format!("-F {flows} -T {threads} -C {port} -P {data} -l {seconds} -I 0.1 {options}");
        Ok(ToolCommands {
            server: words(&format!("{program} {both}")),
            client: words(&format!("{program} -c -H {address} {both}")),
            listens: ServerSocket::Tcp,
            says,
        })
    }

    fn read(&self, traffic: &Traffic, output: &str) -> Option<ToolReading> {
        let value = |key: &str| {
            let line = output.lines().rev().find(|line| line.starts_with(key))?;
            number_after(line, key)
        };
        Some(ToolReading::lossless(match traffic.kind {
            TrafficKind::TcpStream => value("throughput_Mbps=")? / 1e3,
            TrafficKind::UdpStream => traffic.datagrams(value("throughput_Mbps=")? * 1e6),
            _ => value("throughput=")?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the output in neper's manual (README.md, version 1.1.0).
    #[test]
    fn its_output_is_read() {
        let output = "num_transactions=329605\nnum_samples=10\nthroughput=33009.84\n";
        let reading = Neper.read(&Traffic::plain(TrafficKind::TcpRr, 1), output).unwrap();
        assert_eq!(reading.rate, 33_009.84);
        let output = "num_samples=9\nthroughput_Mbps=32900.50\nthroughput_units=Mbit/s\nthroughput=32900.50\n";
        let reading = Neper.read(&Traffic::plain(TrafficKind::TcpStream, 1), output).unwrap();
        assert!((reading.rate - 32.900_5).abs() < 1e-9);
    }
}
