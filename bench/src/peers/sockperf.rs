//! sockperf: ping-pong over TCP and UDP, waiting or spinning.

use super::{Ends, Lack, Listens, Peer, Plan, Says, number_after, words};
use crate::traffic::{Kind, Reading, Traffic};

pub(crate) struct Sockperf;

/// The shortest message: its own header.
const SHORTEST: u32 = 14;

impl Peer for Sockperf {
    fn name(&self) -> &'static str {
        "sockperf"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("sockperf", &["--version"])
    }

    fn plan(&self, traffic: &Traffic, ends: &Ends) -> Result<Plan, Lack> {
        let (tcp, listens) = match traffic.kind {
            Kind::TcpRr => ("--tcp", Listens::Tcp),
            Kind::UdpRr => ("", Listens::Udp),
            _ => return Err(Lack::Mode),
        };
        if traffic.flows > 1 || traffic.size < SHORTEST {
            return Err(Lack::Mode);
        }
        let wait = if traffic.spinning { "--nonblocked" } else { "" };
        let Ends { address, port, seconds, .. } = ends;
        let size = traffic.size;
        let server = words(&format!("sockperf server -i {address} -p {port} {tcp} {wait}"));
        let client = words(&format!(
            "sockperf ping-pong -i {address} -p {port} {tcp} {wait} -t {seconds} -m {size}"
        ));
        Ok(Plan { server, client, listens, says: Says::Client })
    }

    /// Without its own warm-up and cool-down, which it cuts off.
    fn read(&self, _: &Traffic, output: &str) -> Option<Reading> {
        let (_, valid) = output.split_once("[Valid Duration]")?;
        let valid = valid.lines().next()?;
        let seconds = number_after(valid, "RunTime").filter(|seconds| *seconds > 0.0)?;
        Some(Reading::lossless(number_after(valid, "ReceivedMessages")? / seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let traffic = Traffic::plain(Kind::TcpRr, 14);
        let reading = Sockperf.read(&traffic, include_str!("../../samples/sockperf.txt")).unwrap();
        assert!((reading.rate - 58_523.6).abs() < 1.0, "{reading:?}");
        assert_eq!(Sockperf.read(&traffic, "sockperf: ERROR: Can`t connect socket"), None);
    }
}
