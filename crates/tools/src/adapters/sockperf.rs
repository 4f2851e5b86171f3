//! `sockperf`: ping-pong round trips by sockperf.

use crate::adapters::parse::{first_number, number_after};
use crate::child_process::ProgramOutput;
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{dialled_address, listen_address, unsupported, whole_seconds};
use crate::server::ToolServerSpec;
use crate::socket_table::TransportProtocol;
use crate::tool::{Tool, ToolDescription};
use tare_record::{Family, Metric, Parameters};
use tare_traffic::WorkloadRequest;
use tare_traffic::parameters::{size, word};
use tare_traffic::{Error, Parameter, ParameterKind, Server, TrialTask, WorkloadInfo};

const PROGRAM: ExternalProgram =
    ExternalProgram::new("sockperf", "sudo apt-get install sockperf", &["--version"]);

/// First version that supports IPv6.
const FIRST_IPV6_VERSION: f64 = 3.8;

/// The `sockperf` tool.
#[derive(Clone, Debug)]
pub(crate) struct Sockperf;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "protocol",
        summary: "protocol of the messages (--tcp)",
        kind: ParameterKind::Choice(&["udp", "tcp"]),
        default: Some("udp"),
    },
    Parameter {
        name: "size",
        summary: "bytes of a message, each way (-m)",
        kind: ParameterKind::Bytes { least: 14, most: 65_507 },
        default: Some("14"),
    },
];

const DESCRIPTION: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "sockperf",
        summary: "round trips one after another, as sockperf measures them",
        stands_for: "sockperf ping-pong --full-rtt: its own program is run",
        source: "https://github.com/Mellanox/sockperf",
    },
    metrics: &[
        Metric::Transactions,
        Metric::Loss,
        Metric::LatencyMean,
        Metric::LatencyP50,
        Metric::LatencyP90,
        Metric::LatencyP99,
        Metric::LatencyP999,
        Metric::LatencyP9999,
        Metric::LatencyMax,
        Metric::CpuPerOp,
        Metric::CyclesPerOp,
        Metric::InstructionsPerOp,
    ],
    parameters: PARAMETERS,
    port_count: 1,
    client: &PROGRAM,
    servers: &[&PROGRAM],
};

impl Tool for Sockperf {
    fn description(&self) -> &'static ToolDescription {
        &DESCRIPTION
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        if asked.shape.flows > 1 {
            return unsupported(
                "sockperf",
                "ping-pong has one flow: use more --processes or --clients",
            );
        }
        let version =
            || PROGRAM.version().as_deref().and_then(|version| number_after(version, "#"));
        if asked.shape.family == Family::Ipv6
            && version().is_some_and(|one| one < FIRST_IPV6_VERSION)
        {
            return unsupported(
                "sockperf",
                "only version 3.8 and newer support IPv6, and the installed version is older: install sockperf 3.8 or use IPv4",
            );
        }
        Ok(())
    }

    fn uses_tcp(&self, parameters: &Parameters) -> bool {
        word(parameters, "protocol") == Some("tcp")
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let at = listen_address(task)?;
        let call = ToolCommand::new(PROGRAM.require()?, ["server", "-i"])
            .with_arguments([at.ip().to_string(), "-p".to_owned(), at.port().to_string()])
            .with_arguments(tcp_argument(task));
        let protocol = if tcp_argument(task).is_some() {
            TransportProtocol::Tcp
        } else {
            TransportProtocol::Udp
        };
        let mut serve = ToolServerSpec::new(&PROGRAM, call, task);
        serve.listens_on = vec![(at, protocol)];
        Ok(Box::new(serve.start()?))
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let at = dialled_address(task)?;
        Ok(program
            .with_arguments(["ping-pong", "--full-rtt", "-i"])
            .with_arguments([
                at.ip().to_string(),
                "-p".to_owned(),
                at.port().to_string(),
                "-t".to_owned(),
                whole_seconds(task).to_string(),
                "-m".to_owned(),
                size(&task.parameters, "size")?.to_string(),
            ])
            .with_arguments(tcp_argument(task)))
    }

    fn parse_output(&self, _: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        read(&said.output)
    }
}

fn tcp_argument(task: &TrialTask) -> Option<&'static str> {
    (word(&task.parameters, "protocol") == Some("tcp")).then_some("--tcp")
}

/// Parses a report of sockperf 3, with or without colours.
fn read(text: &str) -> Result<ToolReport, String> {
    let line = |word: &str| text.lines().find(|line| line.contains(word));
    let valid =
        line("[Valid Duration]").ok_or("the output has no valid duration ([Valid Duration])")?;
    let number = |word| number_after(valid, word);
    let seconds = number("RunTime=").filter(|seconds| *seconds > 0.0);
    let (sent, received) = (number("SentMessages="), number("ReceivedMessages="));
    let (Some(seconds), Some(received)) = (seconds, received) else {
        return Err("the output has no number of messages".to_owned());
    };
    if line("Round trip is").is_none() {
        return Err(
            "the output does not state that its latencies are round trips (--full-rtt)".to_owned()
        );
    }
    let mut reading = ToolReport { operations: received as u64, ..ToolReport::default() };
    reading.add_figure(Metric::Transactions, Some(received / seconds));
    let dropped = number_after(text, "dropped messages =").unwrap_or(0.0);
    let sent = sent.filter(|sent| *sent > 0.0);
    reading.add_figure(Metric::Loss, sent.map(|sent| 100.0 * dropped / sent));
    reading.add_figure(Metric::LatencyMean, number_after(text, "avg-rtt="));
    for (metric, word) in [
        (Metric::LatencyP50, "percentile 50.000"),
        (Metric::LatencyP90, "percentile 90.000"),
        (Metric::LatencyP99, "percentile 99.000"),
        (Metric::LatencyP999, "percentile 99.900"),
        (Metric::LatencyP9999, "percentile 99.990"),
        (Metric::LatencyMax, "<MAX> observation"),
    ] {
        let figure = line(word).and_then(|line| first_number(line.split_once(word)?.1));
        reading.add_figure(metric, figure);
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V_3_7: &str = include_str!("../../fixtures/sockperf/3.7-udp-rtt.txt");
    const V_3_10: &str = include_str!("../../fixtures/sockperf/3.10-tcp-rtt.txt");

    #[test]
    fn round_trips_are_read_with_and_without_colours() {
        let reading = read(V_3_7).unwrap();
        assert_eq!(reading.stated[&Metric::LatencyMean], 73.892);
        assert_eq!(reading.stated[&Metric::LatencyP9999], 7_076.0);
        assert_eq!(reading.stated[&Metric::LatencyMax], 7_954.284);
        assert_eq!(reading.stated[&Metric::Transactions], 20_911.0 / 1.547);
        let newer = read(V_3_10).unwrap();
        assert_eq!(newer.stated[&Metric::LatencyP50], 24.125);
        assert_eq!(newer.stated[&Metric::Transactions], 40_000.0);
        assert_eq!(newer.stated[&Metric::Loss], 0.0);
    }

    #[test]
    fn halves_of_round_trips_are_not_taken_for_them() {
        let halves = V_3_10.replace("Round trip is", "Latency is");
        assert!(read(&halves).unwrap_err().contains("--full-rtt"));
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,60}", cut in 0usize..1500) {
            let _ = read(&text);
            let cut = V_3_7.char_indices().nth(cut).map_or(V_3_7.len(), |(at, _)| at);
            let _ = read(&V_3_7[..cut]);
        }
    }
}
