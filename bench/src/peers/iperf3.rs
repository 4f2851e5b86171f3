//! iperf3: TCP and UDP bulk. Its JSON has the receiver's figures too.

use super::{
    FigureSource, MissingSupport, PeerTool, RunTarget, ServerSocket, ToolCommands, installed, words,
};
use crate::traffic::{ToolReading, Traffic, TrafficKind};
use serde_json::Value;
use std::process::Command;

pub(crate) struct Iperf3;

impl PeerTool for Iperf3 {
    fn name(&self) -> &'static str {
        "iperf3"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("iperf3", &["--version"])
    }

    fn plan(&self, traffic: &Traffic, ends: &RunTarget) -> Result<ToolCommands, MissingSupport> {
        if traffic.spinning
            || !matches!(traffic.kind, TrafficKind::TcpStream | TrafficKind::UdpStream)
        {
            return Err(MissingSupport::Mode);
        }
        let RunTarget { address, port, seconds, buffer } = ends;
        let (size, flows) = (traffic.size, traffic.flows);
        let mut client = words(&format!(
            "iperf3 --client {address} --port {port} --time {seconds} --length {size} --parallel {flows} --json"
        ));
        let server = words(&format!("iperf3 --server --one-off --port {port}"));
        if traffic.kind == TrafficKind::UdpStream {
            client.extend(words(&format!("--udp --bitrate 0 --window {buffer}")));
        }
        if traffic.zero_copy {
            client.push("--zerocopy".to_owned());
        }
        if traffic.dropped {
            option("--skip-rx-copy", "iperf3 ≥ 3.17 (--skip-rx-copy)")?;
            client.push("--skip-rx-copy".to_owned());
        }
        if traffic.gso {
            option("--gsro", "iperf3 ≥ 3.17 (--gsro)")?;
            // The server takes this option from the client, and rejects it on its own command line.
            client.push("--gsro".to_owned());
        }
        Ok(ToolCommands {
            server,
            client,
            listens: ServerSocket::Tcp,
            says: FigureSource::ClientAlone,
        })
    }

    fn read(&self, traffic: &Traffic, output: &str) -> Option<ToolReading> {
        let output: Value = serde_json::from_str(output.get(output.find('{')?..)?).ok()?;
        let end = output.get("end")?;
        let number = |of: &str, name: &str| end.get(of)?.get(name)?.as_f64();
        match traffic.kind {
            TrafficKind::TcpStream => number("sum_received", "bits_per_second")
                .map(|bits| ToolReading::lossless(bits / 1e9)),
            _ => {
                let (sent, lost) = (number("sum", "packets")?, number("sum", "lost_packets")?);
                let seconds = number("sum", "seconds").filter(|seconds| *seconds > 0.0)?;
                Some(ToolReading { rate: (sent - lost) / seconds, loss: lost / sent.max(1.0) })
            }
        }
    }
}

/// Fails unless this iperf3 has an option.
fn option(name: &str, needed: &'static str) -> Result<(), MissingSupport> {
    let program = installed(&Iperf3).ok_or(MissingSupport::Needs(needed))?;
    let help =
        Command::new(program).arg("--help").output().map_err(|_| MissingSupport::Needs(needed))?;
    if String::from_utf8_lossy(&help.stdout).contains(name) {
        Ok(())
    } else {
        Err(MissingSupport::Needs(needed))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ends;
    use super::*;

    #[test]
    fn its_output_is_read() {
        let tcp = Traffic::plain(TrafficKind::TcpStream, 131_072);
        let reading = Iperf3.read(&tcp, include_str!("../../samples/iperf3_tcp.json")).unwrap();
        assert!((reading.rate - 28.557_5).abs() < 0.01, "{reading:?}");
        let udp = Traffic::plain(TrafficKind::UdpStream, 64);
        let reading = Iperf3.read(&udp, include_str!("../../samples/iperf3_udp.json")).unwrap();
        assert!((reading.rate - 49_090.673).abs() < 1.0, "{reading:?}");
        assert!((reading.loss - 0.607_330).abs() < 1e-6, "{reading:?}");
        assert_eq!(Iperf3.read(&tcp, "{\"error\":\"unable to connect\"}"), None);
    }

    #[test]
    fn it_does_bulk_only() {
        assert!(Iperf3.plan(&Traffic::plain(TrafficKind::TcpRr, 1), &ends()).is_err());
        let zero = Traffic { zero_copy: true, ..Traffic::plain(TrafficKind::TcpStream, 131_072) };
        let plan = Iperf3.plan(&zero, &ends()).unwrap();
        assert!(plan.client.contains(&"--zerocopy".to_owned()));
    }
}
