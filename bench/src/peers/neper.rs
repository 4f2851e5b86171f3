//! neper: one program for each workload, used on both sides. It takes part if it is on the PATH.

use super::{FigureSource, MissingSupport, PeerTool, RunTarget, ServerSocket, ToolCommands, words};
use crate::traffic::{ToolReading, Traffic, TrafficKind};

pub(crate) struct Neper;

/// Unit of bulk that neper states unless asked for another.
const UNIT: &str = "Mbit/s";

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
            // Without --time-wait its client closes by RST, which costs less than FIN.
            TrafficKind::TcpCrr => {
                ("tcp_crr", format!("-Q {size} -R {size} --time-wait"), FigureSource::ClientAlone)
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

    /// Reads the throughput of this side. Round trips are transactions per second; bulk has a unit, in a line of its
    /// own, and is stated by the side that reads. (`local_throughput` and `remote_throughput` are the same figure and
    /// that of the other side, in bits per second.)
    fn read(&self, traffic: &Traffic, output: &str) -> Option<ToolReading> {
        let last = |key: &str| output.lines().rev().find_map(|line| line.trim().strip_prefix(key));
        let throughput: f64 = last("throughput=")?.parse().ok()?;
        if !throughput.is_finite() {
            return None;
        }
        let bulk = matches!(traffic.kind, TrafficKind::TcpStream | TrafficKind::UdpStream);
        if bulk && last("throughput_units=") != Some(UNIT) {
            return None;
        }
        Some(ToolReading::lossless(match traffic.kind {
            TrafficKind::TcpStream => throughput / 1e3,
            TrafficKind::UdpStream => traffic.datagrams(throughput * 1e6),
            _ => throughput,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ends;
    use super::*;

    /// Lines of neper's own documentation: of the example in README.md, and of a `tcp_stream` that receives in
    /// README_tcpdevmem.md.
    const TRANSACTIONS: &str = "num_transactions=329605\nstart_index=0\nend_index=9\nnum_samples=10\n\
        throughput=33009.84\ncorrelation_coefficient=1.00\ntime_end=1306183.666374314\n";
    const BULK: &str = "throughput_opt=Mb\nnum_samples=155\ntime_end=613529.729042674\n\
        correlation_coefficient=1.00\nthroughput=193669.32\nthroughput_units=Mbit/s\n\
        local_throughput=193669323769\nremote_throughput=0\n";

    #[test]
    fn its_output_is_read() {
        let reading = Neper.read(&Traffic::plain(TrafficKind::TcpRr, 1), TRANSACTIONS).unwrap();
        assert_eq!(reading.rate, 33_009.84);
        let reading = Neper.read(&Traffic::plain(TrafficKind::TcpStream, 1), BULK).unwrap();
        assert!((reading.rate - 193.669_32).abs() < 1e-9);
        let reading = Neper.read(&Traffic::plain(TrafficKind::UdpStream, 1_000), BULK).unwrap();
        assert!((reading.rate - 24_208_665.0).abs() < 1.0);
    }

    #[test]
    fn bulk_in_another_unit_or_of_the_side_that_sends_is_no_figure() {
        let bulk = Traffic::plain(TrafficKind::TcpStream, 1);
        assert_eq!(Neper.read(&bulk, &BULK.replace("Mbit/s", "MB/s")), None);
        assert_eq!(Neper.read(&bulk, "local_throughput=0\nremote_throughput=193669323769\n"), None);
    }

    #[test]
    fn connections_are_closed_as_those_of_other_tools() {
        let plan = Neper.plan(&Traffic::plain(TrafficKind::TcpCrr, 1), &ends()).unwrap();
        assert!(plan.client.contains(&"--time-wait".to_owned()));
    }
}
