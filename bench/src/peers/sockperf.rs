//! sockperf: ping-pong over TCP and UDP, by waiting or spinning.

use super::{
    FigureSource, MissingSupport, PeerTool, RunTarget, ServerSocket, ToolCommands, number_after,
    words,
};
use crate::traffic::{ToolReading, Traffic, TrafficKind};

pub(crate) struct Sockperf;

/// Shortest message, bytes: the tool's own header.
const SHORTEST: u32 = 14;

impl PeerTool for Sockperf {
    fn name(&self) -> &'static str {
        "sockperf"
    }

    fn program(&self) -> (&'static str, &'static [&'static str]) {
        ("sockperf", &["--version"])
    }

    fn plan(&self, traffic: &Traffic, ends: &RunTarget) -> Result<ToolCommands, MissingSupport> {
        let (tcp, listens) = match traffic.kind {
            TrafficKind::TcpRr => ("--tcp", ServerSocket::Tcp),
            TrafficKind::UdpRr => ("", ServerSocket::Udp),
            _ => return Err(MissingSupport::Mode),
        };
        if traffic.flows > 1 || traffic.size < SHORTEST {
            return Err(MissingSupport::Mode);
        }
        let wait = if traffic.spinning { "--nonblocked" } else { "" };
        let RunTarget { address, port, seconds, .. } = ends;
        let size = traffic.size;
        let server = words(&format!("sockperf server -i {address} -p {port} {tcp} {wait}"));
        let client = words(&format!(
            "sockperf ping-pong -i {address} -p {port} {tcp} {wait} -t {seconds} -m {size}"
        ));
        Ok(ToolCommands { server, client, listens, says: FigureSource::Client })
    }

    /// Reads the figure without the warm-up and the cool-down that sockperf cuts off.
    fn read(&self, _: &Traffic, output: &str) -> Option<ToolReading> {
        let (_, valid) = output.split_once("[Valid Duration]")?;
        let valid = valid.lines().next()?;
        let seconds = number_after(valid, "RunTime").filter(|seconds| *seconds > 0.0)?;
        Some(ToolReading::lossless(number_after(valid, "ReceivedMessages")? / seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_output_is_read() {
        let traffic = Traffic::plain(TrafficKind::TcpRr, 14);
        let reading = Sockperf.read(&traffic, include_str!("../../samples/sockperf.txt")).unwrap();
        assert!((reading.rate - 58_523.6).abs() < 1.0, "{reading:?}");
        assert_eq!(Sockperf.read(&traffic, "sockperf: ERROR: Can`t connect socket"), None);
    }
}
