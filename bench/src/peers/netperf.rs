//! netperf: bulk, round trips and connections. Debian has it in no free part: it takes part where it is on the PATH.

use super::{Ends, Lack, Listens, Peer, Plan, Says, words};
use crate::traffic::{Kind, Reading, Traffic};

pub(crate) struct Netperf;

impl Peer for Netperf {
    fn name(&self) -> &'static str {
        "netperf"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("netperf", &["-V"])
    }

    fn plan(&self, traffic: &Traffic, ends: &Ends) -> Result<Plan, Lack> {
        if traffic.flows > 1 || traffic.dropped || traffic.spinning || traffic.gso {
            return Err(Lack::Mode);
        }
        let size = traffic.size;
        let (test, options) = match (traffic.kind, traffic.zero_copy) {
            (Kind::TcpStream, false) => {
                ("TCP_STREAM", format!("-m {size} -M {size} -o THROUGHPUT"))
            }
            (Kind::TcpStream, true) => {
                ("TCP_SENDFILE", format!("-m {size} -M {size} -o THROUGHPUT"))
            }
            (Kind::UdpStream, _) => (
                "UDP_STREAM",
                format!("-m {size} -M {size} -s {0} -S {0} -o REMOTE_RECV_THROUGHPUT", ends.buffer),
            ),
            (Kind::TcpRr, _) => ("TCP_RR", format!("-r {size},{size} -o THROUGHPUT")),
            (Kind::UdpRr, _) => ("UDP_RR", format!("-r {size},{size} -o THROUGHPUT")),
            (Kind::TcpCrr, _) => ("TCP_CRR", format!("-r {size},{size} -o THROUGHPUT")),
        };
        let Ends { address, port, seconds, .. } = ends;
        let server = words(&format!("netserver -D -p {port}"));
        let client = words(&format!(
            "netperf -P 0 -H {address} -p {port} -l {seconds} -t {test} -- {options}"
        ));
        Ok(Plan { server, client, listens: Listens::Tcp, says: Says::Client })
    }

    /// The last number: 10⁶ bits per second of bulk, else so many a second. It is the one that was asked for, or in tests that
    /// cannot be asked (TCP_SENDFILE) the last of their line.
    fn read(&self, traffic: &Traffic, output: &str) -> Option<Reading> {
        let last = |line: &str| line.split_whitespace().next_back()?.parse().ok();
        let number: f64 = output.lines().rev().find_map(last)?;
        if !number.is_finite() {
            return None;
        }
        Some(Reading::lossless(match traffic.kind {
            Kind::TcpStream => number / 1e3,
            Kind::UdpStream => traffic.datagrams(number * 1e6),
            _ => number,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ends;
    use super::*;

    /// As its manual describes the output of `-P 0` with one omni output selector (netperf 2.7, section 8.5).
    #[test]
    fn its_output_is_read() {
        let read = |kind| Netperf.read(&Traffic::plain(kind, 64), "\n57012.34\n").unwrap().rate;
        assert!((read(Kind::TcpStream) - 57.012_34).abs() < 1e-9);
        assert!((read(Kind::UdpStream) - 111_352_226.6).abs() < 1.0);
        assert!((read(Kind::TcpCrr) - 57_012.34).abs() < 1e-9);
        assert_eq!(Netperf.read(&Traffic::plain(Kind::TcpRr, 1), "establish control: no"), None);
        // As netperf 2.7.1 printed it of TCP_SENDFILE.
        let line = "131072  16384 131072    1.00     16623.38   \n";
        let sent = Netperf.read(&Traffic::plain(Kind::TcpStream, 131_072), line).unwrap();
        assert!((sent.rate - 16.623_38).abs() < 1e-9);
    }

    #[test]
    fn zero_copy_is_its_sendfile_test() {
        let zero = Traffic { zero_copy: true, ..Traffic::plain(Kind::TcpStream, 131_072) };
        let plan = Netperf.plan(&zero, &ends()).unwrap();
        assert!(plan.client.contains(&"TCP_SENDFILE".to_owned()));
    }
}
