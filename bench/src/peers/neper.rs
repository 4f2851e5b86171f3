//! neper: a program a workload, both sides of it; takes part where it is on the PATH.

use super::{Ends, Lack, Listens, Peer, Plan, Says, number_after, words};
use crate::traffic::{Kind, Reading, Traffic};

pub(crate) struct Neper;

impl Peer for Neper {
    fn name(&self) -> &'static str {
        "neper"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("tcp_rr", &[])
    }

    fn plan(&self, traffic: &Traffic, ends: &Ends) -> Result<Plan, Lack> {
        if traffic.zero_copy || traffic.dropped || traffic.gso {
            return Err(Lack::Mode);
        }
        let size = traffic.size;
        let (program, options, says) = match traffic.kind {
            Kind::TcpStream => ("tcp_stream", format!("-B {size}"), Says::Server),
            Kind::UdpStream => ("udp_stream", format!("-B {size}"), Says::Server),
            Kind::TcpRr => ("tcp_rr", format!("-Q {size} -R {size}"), Says::ClientAlone),
            Kind::UdpRr => ("udp_rr", format!("-Q {size} -R {size}"), Says::ClientAlone),
            Kind::TcpCrr => ("tcp_crr", format!("-Q {size} -R {size}"), Says::ClientAlone),
        };
        let Ends { address, port, seconds, .. } = ends;
        // A UDP server listens on a port a flow; samples every tenth of a second, for it leaves out the first.
        let (flows, threads, data) = (traffic.flows, traffic.threads, port + 1);
        let both =
            format!("-F {flows} -T {threads} -C {port} -P {data} -l {seconds} -I 0.1 {options}");
        Ok(Plan {
            server: words(&format!("{program} {both}")),
            client: words(&format!("{program} -c -H {address} {both}")),
            listens: Listens::Tcp,
            says,
        })
    }

    fn read(&self, traffic: &Traffic, output: &str) -> Option<Reading> {
        let value = |key: &str| {
            let line = output.lines().rev().find(|line| line.starts_with(key))?;
            number_after(line, key)
        };
        Some(Reading::lossless(match traffic.kind {
            Kind::TcpStream => value("throughput_Mbps=")? / 1e3,
            Kind::UdpStream => traffic.datagrams(value("throughput_Mbps=")? * 1e6),
            _ => value("throughput=")?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the output that its manual (README.md, version 1.1.0) shows and names.
    #[test]
    fn its_output_is_read() {
        let output = "num_transactions=329605\nnum_samples=10\nthroughput=33009.84\n";
        let reading = Neper.read(&Traffic::plain(Kind::TcpRr, 1), output).unwrap();
        assert_eq!(reading.rate, 33_009.84);
        let output = "num_samples=9\nthroughput_Mbps=32900.50\nthroughput_units=Mbit/s\nthroughput=32900.50\n";
        let reading = Neper.read(&Traffic::plain(Kind::TcpStream, 1), output).unwrap();
        assert!((reading.rate - 32.900_5).abs() < 1e-9);
    }
}
