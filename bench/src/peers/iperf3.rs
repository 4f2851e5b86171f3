//! iperf3: TCP and UDP bulk. Figures from its JSON, which has the receiver's too.

use super::{Ends, Lack, Listens, Peer, Plan, Says, installed, words};
use crate::traffic::{Kind, Reading, Traffic};
use serde_json::Value;
use std::process::Command;

pub(crate) struct Iperf3;

impl Peer for Iperf3 {
    fn name(&self) -> &'static str {
        "iperf3"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("iperf3", &["--version"])
    }

    fn plan(&self, traffic: &Traffic, ends: &Ends) -> Result<Plan, Lack> {
        if traffic.spinning || !matches!(traffic.kind, Kind::TcpStream | Kind::UdpStream) {
            return Err(Lack::Mode);
        }
        let Ends { address, port, seconds, buffer } = ends;
        let (size, flows) = (traffic.size, traffic.flows);
        let mut client = words(&format!(
            "iperf3 --client {address} --port {port} --time {seconds} --length {size} --parallel {flows} --json"
        ));
        let server = words(&format!("iperf3 --server --one-off --port {port}"));
        if traffic.kind == Kind::UdpStream {
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
            // The server learns of it from the client, and refuses to be told.
            client.push("--gsro".to_owned());
        }
        Ok(Plan { server, client, listens: Listens::Tcp, says: Says::ClientAlone })
    }

    fn read(&self, traffic: &Traffic, output: &str) -> Option<Reading> {
        let output: Value = serde_json::from_str(output.get(output.find('{')?..)?).ok()?;
        let end = output.get("end")?;
        let number = |of: &str, name: &str| end.get(of)?.get(name)?.as_f64();
        match traffic.kind {
            Kind::TcpStream => {
                number("sum_received", "bits_per_second").map(|bits| Reading::lossless(bits / 1e9))
            }
            _ => {
                let (sent, lost) = (number("sum", "packets")?, number("sum", "lost_packets")?);
                let seconds = number("sum", "seconds").filter(|seconds| *seconds > 0.0)?;
                Some(Reading { rate: (sent - lost) / seconds, loss: lost / sent.max(1.0) })
            }
        }
    }
}

/// Whether this iperf3 has an option.
fn option(name: &str, needed: &'static str) -> Result<(), Lack> {
    let program = installed(&Iperf3).ok_or(Lack::Needs(needed))?;
    let help = Command::new(program).arg("--help").output().map_err(|_| Lack::Needs(needed))?;
    if String::from_utf8_lossy(&help.stdout).contains(name) {
        Ok(())
    } else {
        Err(Lack::Needs(needed))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ends;
    use super::*;

    #[test]
    fn its_output_is_read() {
        let tcp = Traffic::plain(Kind::TcpStream, 131_072);
        let reading = Iperf3.read(&tcp, include_str!("../../samples/iperf3_tcp.json")).unwrap();
        assert!((reading.rate - 28.557_5).abs() < 0.01, "{reading:?}");
        let udp = Traffic::plain(Kind::UdpStream, 64);
        let reading = Iperf3.read(&udp, include_str!("../../samples/iperf3_udp.json")).unwrap();
        assert!((reading.rate - 49_090.673).abs() < 1.0, "{reading:?}");
        assert!((reading.loss - 0.607_330).abs() < 1e-6, "{reading:?}");
        assert_eq!(Iperf3.read(&tcp, "{\"error\":\"unable to connect\"}"), None);
    }

    #[test]
    fn it_does_bulk_only() {
        assert!(Iperf3.plan(&Traffic::plain(Kind::TcpRr, 1), &ends()).is_err());
        let zero = Traffic { zero_copy: true, ..Traffic::plain(Kind::TcpStream, 131_072) };
        let plan = Iperf3.plan(&zero, &ends()).unwrap();
        assert!(plan.client.contains(&"--zerocopy".to_owned()));
    }
}
