//! `iperf3` and `iperf3-udp`: bulk traffic by iperf3, read from its JSON.

use crate::adapters::parse::{format_whole, json_member, json_number};
use crate::child_process::ProgramOutput;
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{dialled_address, require_server_per_client, unsupported, whole_seconds};
use crate::server::ToolServerSpec;
use crate::tool::{Tool, ToolDescription};
use serde_json::Value;
use tare_record::{DatagramCounts, Interval, Metric, Nanos, Parameters, TcpInfoTotals};
use tare_traffic::WorkloadRequest;
use tare_traffic::parameters::{congestion, is_on, load, optional_size, word};
use tare_traffic::{Error, OfferedLoad, Parameter, ParameterKind, Server, TrialTask, WorkloadInfo};

const PROGRAM: ExternalProgram =
    ExternalProgram::new("iperf3", "sudo apt-get install iperf3", &["--version"]);

/// Minimum length of iperf3's interval reports, s.
const LEAST_INTERVAL: f64 = 0.1;

/// The `iperf3` tool, over TCP or UDP.
#[derive(Clone, Debug)]
pub(crate) struct Iperf3 {
    pub(crate) udp: bool,
}

const DIRECTION: Parameter = Parameter {
    name: "direction",
    summary: "direction of bulk: up (client to server), down (-R)",
    kind: ParameterKind::Choice(&["up", "down"]),
    default: Some("up"),
};
const BUFFER: Parameter = Parameter {
    name: "buffer",
    summary: "bytes of each socket buffer (-w)",
    kind: ParameterKind::Bytes { least: 1024, most: 1 << 30 },
    default: None,
};

const TCP: &[Parameter] = &[
    Parameter {
        name: "size",
        summary: "bytes of a write (-l) [iperf3's default: 128K]",
        kind: ParameterKind::Bytes { least: 1, most: 1 << 20 },
        default: None,
    },
    DIRECTION,
    Parameter {
        name: "congestion",
        summary: "TCP congestion control (-C), chosen as tcp-stream's; system is the host's",
        kind: ParameterKind::Name,
        default: None,
    },
    Parameter {
        name: "no_delay",
        summary: "TCP_NODELAY (-N)",
        kind: ParameterKind::Switch,
        default: Some("false"),
    },
    BUFFER,
];

const UDP: &[Parameter] = &[
    Parameter {
        name: "size",
        summary: "bytes of a datagram (-l) [iperf3's default: the MTU of the path]",
        kind: ParameterKind::Bytes { least: 16, most: 65_507 },
        default: None,
    },
    DIRECTION,
    Parameter {
        name: "rate",
        summary: "offered load of each client (-b, shared by its flows)",
        kind: ParameterKind::BitRate,
        default: Some("100mbit"),
    },
    BUFFER,
];

const TCP_DESCRIPTION: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "iperf3",
        summary: "bulk over TCP, as iperf3 measures it",
        stands_for: "iperf3 itself: its own program is run",
        source: "https://software.es.net/iperf/invoking.html",
    },
    metrics: &[
        Metric::Throughput,
        Metric::Retransmits,
        Metric::CpuPerGb,
        Metric::CpuBusy,
        Metric::SoftirqCore,
        Metric::CyclesPerByte,
        Metric::InstructionsPerByte,
    ],
    parameters: TCP,
    port_count: 1,
    client: &PROGRAM,
    servers: &[&PROGRAM],
};

const UDP_DESCRIPTION: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "iperf3-udp",
        summary: "datagrams at a rate, as iperf3 -u measures them",
        stands_for: "iperf3 itself: its own program is run",
        source: "https://software.es.net/iperf/invoking.html",
    },
    metrics: &[
        Metric::Throughput,
        Metric::Packets,
        Metric::Loss,
        Metric::Jitter,
        Metric::CpuPerGb,
        Metric::CyclesPerByte,
        Metric::InstructionsPerByte,
    ],
    parameters: UDP,
    port_count: 1,
    client: &PROGRAM,
    servers: &[&PROGRAM],
};

impl Tool for Iperf3 {
    fn description(&self) -> &'static ToolDescription {
        if self.udp { &UDP_DESCRIPTION } else { &TCP_DESCRIPTION }
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        let name = self.description().info.name;
        require_server_per_client(
            name,
            "the server takes one client at a time (iperf and tcp-stream take more)",
            asked,
        )?;
        if asked.shape.flows > 128 {
            return unsupported(name, "at most 128 flows are possible (-P): use fewer --flows");
        }
        Ok(())
    }

    fn uses_tcp(&self, _: &Parameters) -> bool {
        !self.udp
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let at = dialled_address(task)?;
        let call = ToolCommand::new(PROGRAM.require()?, ["-s", "-B"]).with_arguments([
            at.ip().to_string(),
            "-p".to_owned(),
            at.port().to_string(),
        ]);
        Ok(Box::new(ToolServerSpec::new(&PROGRAM, call, task).start()?))
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let at = dialled_address(task)?;
        let interval = (task.interval.as_secs_f64()).max(LEAST_INTERVAL);
        let mut call = program.with_arguments(["-J", "-c"]).with_arguments([
            at.ip().to_string(),
            "-p".to_owned(),
            at.port().to_string(),
            "-t".to_owned(),
            whole_seconds(task).to_string(),
            "-i".to_owned(),
            format!("{interval:.3}"),
            "-P".to_owned(),
            task.flows.to_string(),
        ]);
        let parameters = &task.parameters;
        for (flag, name) in [("-l", "size"), ("-w", "buffer")] {
            if let Some(size) = optional_size(parameters, name) {
                call = call.with_arguments([flag.to_owned(), size.to_string()]);
            }
        }
        if let Some(name) = congestion(parameters) {
            call = call.with_arguments(["-C", name]);
        }
        if is_on(parameters, "no_delay") {
            call = call.with_arguments(["-N"]);
        }
        if word(parameters, "direction") == Some("down") {
            call = call.with_arguments(["-R"]);
        }
        if self.udp {
            let rate = match load(parameters, "rate") {
                Some(OfferedLoad::Bits(bits)) => bits as f64,
                _ => return Err(Error::Job("the task has no parameter `rate`".to_owned())),
            };
            let each = task.process_share(rate) / f64::from(task.flows.max(1));
            call = call.with_arguments(["-u", "-b"]).with_arguments([format_whole(each)]);
        }
        Ok(call)
    }

    fn parse_output(&self, _: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        read(&said.output, self.udp)
    }
}

/// Parses iperf3's JSON, of versions from 3.0 on.
fn read(text: &str, udp: bool) -> Result<ToolReport, String> {
    let document: Value =
        serde_json::from_str(text).map_err(|error| format!("the output is not JSON: {error}"))?;
    if let Some(error) = json_member(&document, &["error"]) {
        return Err(format!("reported error: {}", error.as_str().unwrap_or_default()));
    }
    let end = json_member(&document, &["end"]).ok_or("the JSON report has no `end`")?;
    let mut reading = if udp { parse_datagrams(end)? } else { parse_stream(end)? };
    let intervals = json_member(&document, &["intervals"]).and_then(Value::as_array);
    reading.intervals = intervals.into_iter().flatten().filter_map(parse_interval).collect();
    Ok(reading)
}

fn parse_stream(end: &Value) -> Result<ToolReport, String> {
    let received = |name| json_number(end, &["sum_received", name]);
    let bits = received("bits_per_second").ok_or("the JSON report has no received load")?;
    let mut reading =
        ToolReport { bytes: received("bytes").unwrap_or_default() as u64, ..ToolReport::default() };
    reading.add_figure(Metric::Throughput, Some(bits / 1e9));
    let seconds = json_number(end, &["sum_sent", "seconds"]).filter(|seconds| *seconds > 0.0);
    let again = json_number(end, &["sum_sent", "retransmits"]);
    reading.add_figure(
        Metric::Retransmits,
        again.zip(seconds).map(|(again, seconds)| again / seconds),
    );
    Ok(reading)
}

fn parse_datagrams(end: &Value) -> Result<ToolReport, String> {
    // Versions from 3.10 on have the sums of both ends. Before, one sum had the sender's bytes and the receiver's
    // losses.
    let has_both = json_number(end, &["sum_received", "packets"]).is_some();
    let of = |name| json_number(end, &[if has_both { "sum_received" } else { "sum" }, name]);
    let missing = "the JSON report has no counts of received datagrams";
    let (packets, lost) = (of("packets").ok_or(missing)?, of("lost_packets").ok_or(missing)?);
    let seconds = of("seconds").filter(|seconds| *seconds > 0.0).ok_or(missing)?;
    let bytes = if has_both {
        of("bytes").ok_or(missing)?
    } else {
        of("bytes").ok_or(missing)? * (1.0 - lost / packets.max(1.0))
    };
    let received = (packets - lost).max(0.0);
    let mut reading = ToolReport { bytes: bytes.max(0.0) as u64, ..ToolReport::default() };
    reading.add_figure(Metric::Throughput, Some(bytes * 8.0 / seconds / 1e9));
    reading.add_figure(Metric::Packets, Some(received / seconds));
    reading.add_figure(Metric::Loss, (packets > 0.0).then(|| 100.0 * lost / packets));
    reading.add_figure(Metric::Jitter, of("jitter_ms").map(|jitter| jitter * 1000.0));
    Ok(reading)
}

/// Parses one interval report of the client.
fn parse_interval(report: &Value) -> Option<Interval> {
    let of = |name| json_number(report, &["sum", name]);
    let nanos = |seconds: f64| Nanos((seconds.max(0.0) * 1e9) as u64);
    let again = of("retransmits").map(|again| again as u64);
    let sent = of("packets").map(|packets| packets as u64);
    Some(Interval {
        start: nanos(of("start")?),
        length: nanos(of("seconds")?),
        bytes: of("bytes")? as u64,
        tcp: again.map(|retransmits| TcpInfoTotals { retransmits, ..TcpInfoTotals::default() }),
        datagrams: sent.map(|sent| DatagramCounts {
            sent,
            sent_bytes: of("bytes").unwrap_or_default() as u64,
            received: sent.saturating_sub(of("lost_packets").unwrap_or_default() as u64),
            ..DatagramCounts::default()
        }),
        ..Interval::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TCP_3_12: &str = include_str!("../../fixtures/iperf3/3.12-tcp.json");
    const UDP_3_12: &str = include_str!("../../fixtures/iperf3/3.12-udp.json");
    const UDP_3_1: &str = include_str!("../../fixtures/iperf3/3.1-udp.json");
    const FAILED: &str = include_str!("../../fixtures/iperf3/3.12-failed.json");

    #[test]
    fn summaries_of_parameters_begin_as_those_of_other_tools() {
        for parameter in TCP.iter().chain(UDP) {
            // An abbreviation such as TCP begins with two capitals.
            let mut start = parameter.summary.chars();
            let (first, second) = (start.next().unwrap(), start.next().unwrap());
            assert!(!first.is_uppercase() || second.is_uppercase(), "{}", parameter.summary);
        }
    }

    #[test]
    fn tcp_is_what_was_received() {
        let reading = read(TCP_3_12, false).unwrap();
        let document: Value = serde_json::from_str(TCP_3_12).unwrap();
        let received = document["end"]["sum_received"]["bits_per_second"].as_f64().unwrap();
        assert_eq!(reading.stated[&Metric::Throughput], received / 1e9);
        assert_eq!(reading.bytes, document["end"]["sum_received"]["bytes"].as_u64().unwrap());
        assert!(reading.stated.contains_key(&Metric::Retransmits));
        assert!(reading.intervals.len() >= 2 && reading.intervals[1].start > Nanos(0));
        assert!(reading.intervals.iter().all(|one| one.bytes > 0 && one.length > Nanos(0)));
    }

    #[test]
    fn udp_is_what_was_not_lost() {
        let reading = read(UDP_3_12, true).unwrap();
        let sum = &serde_json::from_str::<Value>(UDP_3_12).unwrap()["end"]["sum"];
        assert_eq!(reading.stated[&Metric::Loss], sum["lost_percent"].as_f64().unwrap());
        assert!(reading.stated[&Metric::Packets] > 0.0);
        // Before version 3.10 the bytes were the sender's: 250 of 1000 datagrams were lost.
        let old = read(UDP_3_1, true).unwrap();
        assert_eq!(old.stated[&Metric::Loss], 25.0);
        assert!((old.stated[&Metric::Throughput] - 750.0 * 1000.0 * 8.0 / 2.0 / 1e9).abs() < 1e-12);
        assert_eq!(old.stated[&Metric::Jitter], 20.0);
    }

    #[test]
    fn failures_are_told() {
        assert!(read(FAILED, false).unwrap_err().contains("reported error: "));
        assert!(read("", false).unwrap_err().contains("not JSON"));
        assert!(read("{}", false).is_err() && read("{\"end\":{}}", true).is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_refused_and_never_breaks_anything(text in "\\PC{0,60}", cut in 0usize..4000) {
            prop_assert!(read(&text, false).is_err() && read(&text, true).is_err());
            let cut = TCP_3_12.char_indices().nth(cut).map_or(TCP_3_12.len(), |(at, _)| at);
            let _ = read(&TCP_3_12[..cut], false);
        }
    }
}
