//! `qperf` and `qperf-lat`: bulk traffic and round trips by qperf.

use crate::adapters::parse::first_number;
use crate::child_process::ProgramOutput;
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{dialled_address, require_one_flow, whole_seconds};
use crate::server::ToolServerSpec;
use crate::tool::{Tool, ToolDescription};
use tare_record::Metric;
use tare_traffic::WorkloadRequest;
use tare_traffic::parameters::optional_size;
use tare_traffic::{Error, Parameter, ParameterKind, Server, TrialTask, WorkloadInfo};

const PROGRAM: ExternalProgram =
    ExternalProgram::new("qperf", "sudo apt-get install qperf", &["--version"]);

/// The `qperf` tool, with its tests tcp_bw and tcp_lat.
#[derive(Clone, Debug)]
pub(crate) struct Qperf {
    pub(crate) latency: bool,
}

const PARAMETERS: &[Parameter] = &[Parameter {
    name: "size",
    summary: "bytes of a message (-m) [qperf's default: 64K of bulk, 1 of latency]",
    kind: ParameterKind::Bytes { least: 1, most: 1 << 20 },
    default: None,
}];

/// Ports of the server: one for control, one for traffic.
const PORTS: usize = 2;

const BANDWIDTH: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "qperf",
        summary: "bulk over TCP, as qperf measures it",
        stands_for: "qperf tcp_bw: its own program is run",
        source: "https://github.com/linux-rdma/qperf",
    },
    metrics: &[
        Metric::Throughput,
        Metric::CpuPerGb,
        Metric::CyclesPerByte,
        Metric::InstructionsPerByte,
    ],
    parameters: PARAMETERS,
    port_count: PORTS,
    client: &PROGRAM,
    servers: &[&PROGRAM],
};

const LATENCY: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "qperf-lat",
        summary: "round trips over TCP, as qperf measures them",
        stands_for: "qperf tcp_lat, doubled, because qperf states one way: its own program is run",
        source: "https://github.com/linux-rdma/qperf",
    },
    metrics: &[
        Metric::LatencyMean,
        Metric::Transactions,
        Metric::CpuPerOp,
        Metric::CyclesPerOp,
        Metric::InstructionsPerOp,
    ],
    parameters: PARAMETERS,
    port_count: PORTS,
    client: &PROGRAM,
    servers: &[&PROGRAM],
};

impl Tool for Qperf {
    fn description(&self) -> &'static ToolDescription {
        if self.latency { &LATENCY } else { &BANDWIDTH }
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        require_one_flow(
            self.description().info.name,
            "the server takes one client at a time",
            asked,
        )
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let at = dialled_address(task)?;
        let call = ToolCommand::new(
            PROGRAM.require()?,
            ["--listen_port".to_owned(), at.port().to_string()],
        );
        let mut serve = ToolServerSpec::new(&PROGRAM, call, task);
        serve.forks = true;
        Ok(Box::new(serve.start()?))
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let [orders, traffic] = task.addresses.as_slice() else {
            return Err(Error::Job("qperf needs two ports, and the task has fewer".to_owned()));
        };
        let call = program.with_arguments([
            orders.ip().to_string(),
            "--listen_port".to_owned(),
            orders.port().to_string(),
            "--ip_port".to_owned(),
            traffic.port().to_string(),
            "--time".to_owned(),
            whole_seconds(task).to_string(),
            "--precision".to_owned(),
            "6".to_owned(),
            "--unify_units".to_owned(),
        ]);
        let call = match optional_size(&task.parameters, "size") {
            Some(size) => call.with_arguments(["--msg_size".to_owned(), size.to_string()]),
            None => call,
        };
        Ok(call.with_arguments([if self.latency { "tcp_lat" } else { "tcp_bw" }]))
    }

    fn parse_output(&self, task: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        if self.latency {
            parse_latency(&said.output, task)
        } else {
            parse_bandwidth(&said.output, task)
        }
    }
}

/// Returns a figure of a report with its unit: `    bw  =  1.17 GB/sec`.
fn parse_figure<'t>(text: &'t str, name: &str) -> Option<(f64, &'t str)> {
    let found = text.lines().find_map(|line| {
        let (of, value) = line.split_once('=')?;
        (of.trim() == name).then_some(value.trim())
    })?;
    Some((first_number(found)?, found.split_whitespace().nth(1)?))
}

fn parse_bandwidth(text: &str, task: &TrialTask) -> Result<ToolReport, String> {
    let missing = "the output has no bandwidth";
    let (number, unit) = parse_figure(text, "bw").ok_or(missing)?;
    let unit = match unit {
        "bytes/sec" => 1.0,
        "KB/sec" => 1e3,
        "MB/sec" => 1e6,
        "GB/sec" => 1e9,
        "TB/sec" => 1e12,
        other => return Err(format!("unknown unit of the bandwidth `{other}`")),
    };
    let bytes = number * unit;
    let mut reading =
        ToolReport { bytes: (bytes * whole_seconds(task) as f64) as u64, ..ToolReport::default() };
    reading.add_figure(Metric::Throughput, Some(bytes * 8.0 / 1e9));
    Ok(reading)
}

/// Parses the report of tcp_lat. Its latency is half of a round trip, because it counts the messages of both sides.
fn parse_latency(text: &str, task: &TrialTask) -> Result<ToolReport, String> {
    let (number, unit) = parse_figure(text, "latency").ok_or("the output has no latency")?;
    let unit = match unit {
        "ns" => 1e-3,
        "us" => 1.0,
        "ms" => 1e3,
        "sec" => 1e6,
        other => return Err(format!("unknown unit of the latency `{other}`")),
    };
    let micros = 2.0 * number * unit;
    if micros <= 0.0 {
        return Err("the latency is 0".to_owned());
    }
    let rate = 1e6 / micros;
    let mut reading = ToolReport {
        operations: (rate * whole_seconds(task) as f64) as u64,
        ..ToolReport::default()
    };
    reading.add_figure(Metric::LatencyMean, Some(micros));
    reading.add_figure(Metric::Transactions, Some(rate));
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::task_of;
    use proptest::prelude::*;

    const BULK: &str = include_str!("../../fixtures/qperf/0.4.11-tcp_bw.txt");
    const BULK_OLD: &str = include_str!("../../fixtures/qperf/0.4.9-tcp_bw.txt");
    const LATENCY: &str = include_str!("../../fixtures/qperf/0.4.11-tcp_lat.txt");

    fn task() -> TrialTask {
        task_of("qperf", vec![([127, 0, 0, 1], 7).into()])
    }

    #[test]
    fn units_are_understood() {
        let of = |text: &str| parse_bandwidth(text, &task()).unwrap().stated[&Metric::Throughput];
        assert!((of(BULK) - 2_981_953_536.0 * 8.0 / 1e9).abs() < 1e-9);
        assert!((of(BULK_OLD) - 9.36).abs() < 1e-9);
        assert!(parse_bandwidth("bw = 3 parsec\n", &task()).unwrap_err().contains("parsec"));
    }

    #[test]
    fn a_latency_of_one_way_is_half_of_a_round_trip() {
        let reading = parse_latency(LATENCY, &task()).unwrap();
        assert!((reading.stated[&Metric::LatencyMean] - 4.706_44).abs() < 1e-9);
        assert!((reading.stated[&Metric::Transactions] - 1e6 / 4.706_44).abs() < 1e-6);
        assert!(parse_latency("latency = 0 us\n", &task()).is_err());
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,40}", unit in "\\PC{0,9}") {
            for text in [text.clone(), format!("bw = 1 {unit}"), format!("latency = {text} us")] {
                let _ = (parse_bandwidth(&text, &task()), parse_latency(&text, &task()));
            }
        }
    }
}
