//! qperf: bandwidth and latency over TCP and UDP.

use super::{Ends, Lack, Listens, Peer, Plan, Says, number_after, words};
use crate::traffic::{Kind, Reading, Traffic};

pub(crate) struct Qperf;

impl Peer for Qperf {
    fn name(&self) -> &'static str {
        "qperf"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("qperf", &["--version"])
    }

    fn plan(&self, traffic: &Traffic, ends: &Ends) -> Result<Plan, Lack> {
        let special = traffic.zero_copy || traffic.dropped || traffic.spinning || traffic.gso;
        if special || traffic.flows > 1 {
            return Err(Lack::Mode);
        }
        let Ends { address, port, seconds, buffer } = ends;
        let (test, buffer) = match traffic.kind {
            Kind::TcpStream => ("tcp_bw", String::new()),
            Kind::UdpStream => ("udp_bw", format!("-sb {buffer}")),
            Kind::TcpRr => ("tcp_lat", String::new()),
            Kind::UdpRr => ("udp_lat", String::new()),
            Kind::TcpCrr => return Err(Lack::Mode),
        };
        let size = traffic.size;
        let server = words(&format!("qperf --listen_port {port}"));
        let client = words(&format!(
            "qperf {address} --listen_port {port} -t {seconds} -uu -vv {buffer} -m {size} {test}"
        ));
        Ok(Plan { server, client, listens: Listens::Tcp, says: Says::Client })
    }

    fn read(&self, traffic: &Traffic, output: &str) -> Option<Reading> {
        let number = |key: &str| {
            let line = output.lines().find(|line| line.split_whitespace().next() == Some(key))?;
            number_after(line, "=")
        };
        Some(match traffic.kind {
            Kind::TcpStream => Reading::lossless(number("bw")? * 8.0 / 1e9),
            Kind::UdpStream => {
                let (sent, received) = (number("send_msgs")?, number("recv_msgs")?);
                let loss = ((sent - received) / sent.max(1.0)).max(0.0);
                Reading { rate: number("msg_rate")?, loss }
            }
            // Its latency is one way: half of a round trip.
            Kind::TcpRr | Kind::UdpRr => {
                Reading::lossless(5e8 / number("latency").filter(|nanos| *nanos > 0.0)?)
            }
            Kind::TcpCrr => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let read = |kind, output| Qperf.read(&Traffic::plain(kind, 64), output).unwrap();
        let bulk = read(Kind::TcpStream, include_str!("../../samples/qperf_tcp_bw.txt"));
        assert!((bulk.rate - 23.365_419).abs() < 1e-4, "{bulk:?}");
        let datagrams = read(Kind::UdpStream, include_str!("../../samples/qperf_udp_bw.txt"));
        assert_eq!(datagrams.rate, 238_565.0);
        assert!(datagrams.loss < 0.001, "{datagrams:?}");
        let round_trips = read(Kind::TcpRr, include_str!("../../samples/qperf_tcp_lat.txt"));
        assert!((round_trips.rate - 108_648.4).abs() < 1.0, "{round_trips:?}");
    }
}
