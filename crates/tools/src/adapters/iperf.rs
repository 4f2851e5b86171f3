//! `iperf`: bulk traffic by iperf 2, read from its CSV.

use crate::child_process::ProgramOutput;
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{dialled_address, listen_address, unsupported, whole_seconds};
use crate::server::ToolServerSpec;
use crate::tool::{Tool, ToolDescription};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tare_record::{Interval, Metric, Nanos};
use tare_traffic::WorkloadRequest;
use tare_traffic::parameters::{congestion, is_on, optional_size};
use tare_traffic::{Error, Parameter, ParameterKind, Server, TrialTask, WorkloadInfo};

const PROGRAM: ExternalProgram =
    ExternalProgram::new("iperf", "sudo apt-get install iperf", &["--version"]);

/// Minimum length of iperf's interval reports, s.
const LEAST_INTERVAL: f64 = 0.1;

/// The `iperf` tool.
#[derive(Clone, Debug)]
pub(crate) struct Iperf;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "size",
        summary: "bytes of a write (-l) [iperf's default: 128K]",
        kind: ParameterKind::Bytes { least: 1, most: 16 << 20 },
        default: None,
    },
    Parameter {
        name: "congestion",
        summary: "TCP congestion control (-Z), chosen as tcp-stream's; system is the host's",
        kind: ParameterKind::Name,
        default: None,
    },
    Parameter {
        name: "no_delay",
        summary: "TCP_NODELAY (-N)",
        kind: ParameterKind::Switch,
        default: Some("false"),
    },
    Parameter {
        name: "buffer",
        summary: "bytes of each socket buffer (-w)",
        kind: ParameterKind::Bytes { least: 1024, most: 1 << 30 },
        default: None,
    },
];

const DESCRIPTION: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "iperf",
        summary: "bulk over TCP, as iperf 2 measures it: by the sender's count",
        stands_for: "iperf 2: its own program is run",
        source: "https://iperf2.sourceforge.io/iperf-manpage.html",
    },
    metrics: &[
        Metric::Throughput,
        Metric::CpuPerGb,
        Metric::CyclesPerByte,
        Metric::InstructionsPerByte,
    ],
    parameters: PARAMETERS,
    port_count: 1,
    client: &PROGRAM,
    servers: &[&PROGRAM],
};

impl Tool for Iperf {
    fn description(&self) -> &'static ToolDescription {
        &DESCRIPTION
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        if asked.shape.flows > 512 {
            return unsupported(
                "iperf",
                "at most 512 flows are possible, because each flow has a thread: use fewer --flows",
            );
        }
        Ok(())
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let at = listen_address(task)?;
        let call = ToolCommand::new(PROGRAM.require()?, ["-s", "-B"])
            .with_arguments([at.ip().to_string(), "-p".to_owned(), at.port().to_string()])
            .with_arguments(shared_arguments(task, at));
        Ok(Box::new(ToolServerSpec::new(&PROGRAM, call, task).start()?))
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let at = dialled_address(task)?;
        let interval = task.interval.as_secs_f64().max(LEAST_INTERVAL);
        let mut call = program.with_arguments(["-y", "C", "-c"]).with_arguments([
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
        if let Some(name) = congestion(&task.parameters) {
            call = call.with_arguments(["-Z", name]);
        }
        if is_on(&task.parameters, "no_delay") {
            call = call.with_arguments(["-N"]);
        }
        Ok(call.with_arguments(shared_arguments(task, at)))
    }

    fn parse_output(&self, task: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        read(&said.output, task.flows as usize)
    }
}

/// Returns the arguments of both sides.
fn shared_arguments(task: &TrialTask, at: SocketAddr) -> Vec<String> {
    let mut options = Vec::new();
    if at.is_ipv6() {
        options.push("-V".to_owned());
    }
    for (flag, name) in [("-l", "size"), ("-w", "buffer")] {
        if let Some(size) = optional_size(&task.parameters, name) {
            options.extend([flag.to_owned(), size.to_string()]);
        }
    }
    options
}

/// Line of iperf's CSV: a span of time of one flow.
#[derive(Clone, Debug, PartialEq)]
struct IperfCsvLine {
    flow: String,
    from: f64,
    to: f64,
    bytes: f64,
    bits: f64,
}

impl IperfCsvLine {
    /// Parses a line: date, client, port, server, port, flow, span, bytes, bits per second. Returns `None` for sums,
    /// which have flow -1, and for invalid lines.
    fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.trim().split(',').collect();
        let &[_, _, _, _, _, flow, stretch, bytes, bits, ..] = cells.as_slice() else {
            return None;
        };
        let number =
            |text: &str| text.parse().ok().filter(|one: &f64| one.is_finite() && *one >= 0.0);
        let (from, to) = stretch.split_once('-')?;
        let (from, to) = (number(from)?, number(to)?);
        let line =
            Self { flow: flow.to_owned(), from, to, bytes: number(bytes)?, bits: number(bits)? };
        (flow != "-1" && to > from).then_some(line)
    }
}

/// Parses the CSV of a client with `flows` flows. The last line of each flow is its total.
fn read(text: &str, flows: usize) -> Result<ToolReport, String> {
    let mut by_flow: BTreeMap<String, Vec<IperfCsvLine>> = BTreeMap::new();
    for line in text.lines().filter_map(IperfCsvLine::parse) {
        by_flow.entry(line.flow.clone()).or_default().push(line);
    }
    if by_flow.len() != flows {
        return Err(format!("the output has {} of {flows} flows", by_flow.len()));
    }
    let mut reading = ToolReport::default();
    let mut bits = 0.0;
    let mut stretches: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (flow, mut lines) in by_flow {
        let whole = lines.pop().filter(|whole| whole.from == 0.0);
        let whole = whole.ok_or_else(|| format!("the output has no total of flow {flow}"))?;
        bits += whole.bits;
        reading.bytes = reading.bytes.saturating_add(whole.bytes as u64);
        for line in lines {
            let stretch = ((line.from * 1e9) as u64, (line.to * 1e9) as u64);
            let bytes = stretches.entry(stretch).or_default();
            *bytes = bytes.saturating_add(line.bytes as u64);
        }
    }
    reading.add_figure(Metric::Throughput, Some(bits / 1e9));
    reading.intervals = stretches
        .into_iter()
        .map(|((from, to), bytes)| Interval {
            start: Nanos(from),
            length: Nanos(to.saturating_sub(from)),
            bytes,
            ..Interval::default()
        })
        .collect();
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V_2_1: &str = include_str!("../../fixtures/iperf/2.1.8-client.csv");
    const V_2_0: &str = include_str!("../../fixtures/iperf/2.0.5-client.csv");

    #[test]
    fn flows_are_added_up_and_sums_left_out() {
        let reading = read(V_2_1, 2).unwrap();
        let expected = (12_997_526_696.0 + 13_830_917_592.0) / 1e9;
        assert!((reading.stated[&Metric::Throughput] - expected).abs() < 1e-9);
        assert_eq!(reading.bytes, 1_637_613_628 + 1_746_141_244);
        let counted: Vec<u64> = reading.intervals.iter().map(|one| one.bytes).collect();
        assert_eq!(counted, [828_506_172 + 875_954_236, 808_976_384 + 870_055_936]);
        let with_sums = format!("{V_2_1}x,1,1,2,2,-1,0.0-1.0,5,5\n");
        assert_eq!(read(&with_sums, 2).unwrap(), reading);
        let old = read(V_2_0, 1).unwrap();
        assert_eq!(old.stated[&Metric::Throughput], 1.5);
        assert_eq!(old.intervals[1].start, Nanos(1_000_000_000));
    }

    #[test]
    fn a_flow_that_says_nothing_is_missed() {
        assert_eq!(read(V_2_0, 2).unwrap_err(), "the output has 1 of 2 flows");
        let cut: String = V_2_0.lines().take(2).map(|line| format!("{line}\n")).collect();
        assert!(read(&cut, 1).unwrap_err().contains("total of flow 3"));
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,60}", cut in 0usize..600) {
            let _ = (read(&text, 1), IperfCsvLine::parse(&format!("1,1,1,1,1,3,{text}")));
            let cut = V_2_1.char_indices().nth(cut).map_or(V_2_1.len(), |(at, _)| at);
            let _ = read(&V_2_1[..cut], 2);
        }
    }
}
