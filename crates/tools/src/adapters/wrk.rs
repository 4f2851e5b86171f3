//! `wrk`: HTTP requests by wrk to a small server in tare.

use crate::adapters::http::{self, SIZE};
use crate::adapters::parse::{first_number, number_after};
use crate::child_process::ProgramOutput;
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{dialled_address, unsupported, whole_seconds};
use crate::tool::{Tool, ToolDescription};
use tare_record::Metric;
use tare_traffic::WorkloadRequest;
use tare_traffic::parameters::optional_size;
use tare_traffic::{Error, Parameter, ParameterKind, Server, TrialTask, WorkloadInfo};

const PROGRAM: ExternalProgram =
    ExternalProgram::new("wrk", "sudo apt-get install wrk", &["--version"]);

/// The `wrk` tool.
#[derive(Clone, Debug)]
pub(crate) struct Wrk;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "threads",
        summary: "threads of wrk (-t) [as many as cores, no more than flows]",
        kind: ParameterKind::Count { least: 1, most: 1024 },
        default: None,
    },
    SIZE,
];

const DESCRIPTION: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "wrk",
        summary: "HTTP requests by wrk, to tare's own small server",
        stands_for: "wrk: its own program is run",
        source: "https://github.com/wg/wrk",
    },
    metrics: &[
        Metric::Transactions,
        Metric::Errors,
        Metric::LatencyMean,
        Metric::LatencyP50,
        Metric::LatencyP90,
        Metric::LatencyP99,
        Metric::LatencyMax,
        Metric::CpuPerOp,
        Metric::CyclesPerOp,
        Metric::InstructionsPerOp,
    ],
    parameters: PARAMETERS,
    port_count: 1,
    client: &PROGRAM,
    servers: &[],
};

impl Tool for Wrk {
    fn description(&self) -> &'static ToolDescription {
        &DESCRIPTION
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        let threads = optional_size(asked.parameters, "threads").unwrap_or(1);
        if threads > asked.shape.flows as usize {
            return unsupported("wrk", "each thread needs at least one flow: use more --flows");
        }
        Ok(())
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        http::serve(task)
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let at = dialled_address(task)?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = optional_size(&task.parameters, "threads");
        let threads = threads.unwrap_or(cores.min(task.flows as usize));
        Ok(program.with_arguments(["--latency"]).with_arguments([
            "-t".to_owned(),
            threads.to_string(),
            "-c".to_owned(),
            task.flows.to_string(),
            "-d".to_owned(),
            format!("{}s", whole_seconds(task)),
            format!("http://{at}/"),
        ]))
    }

    fn parse_output(&self, _: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        read(&said.output)
    }
}

/// Parses a report of wrk 4.
fn read(text: &str) -> Result<ToolReport, String> {
    let rate = number_after(text, "Requests/sec:")
        .ok_or("the output has no requests per second (Requests/sec)")?;
    let lines = || text.lines().map(str::trim);
    let done = lines().find(|line| line.contains(" requests in "));
    let count = done.and_then(first_number).ok_or("the output has no number of requests")?;
    let took = done.and_then(|line| parse_duration(line.split_once(" in ")?.1));
    let mut reading = ToolReport { operations: count as u64, ..ToolReport::default() };
    reading.add_figure(Metric::Transactions, Some(rate));
    let columns = lines().find_map(|line| line.strip_prefix("Latency  "));
    let mut columns = columns.unwrap_or_default().split_whitespace();
    reading.add_figure(Metric::LatencyMean, columns.next().and_then(parse_duration));
    reading.add_figure(Metric::LatencyMax, columns.nth(1).and_then(parse_duration));
    for (metric, share) in
        [(Metric::LatencyP50, "50%"), (Metric::LatencyP90, "90%"), (Metric::LatencyP99, "99%")]
    {
        let of = lines().find_map(|line| line.strip_prefix(share));
        reading.add_figure(metric, of.and_then(|rest| parse_duration(rest.trim())));
    }
    let refused = number_after(text, "Non-2xx or 3xx responses:").unwrap_or(0.0);
    let broken: f64 = lines()
        .find_map(|line| line.strip_prefix("Socket errors:"))
        .map_or(0.0, |line| line.split(',').filter_map(first_number).sum());
    let took = took.filter(|micros| *micros > 0.0);
    reading.add_figure(Metric::Errors, took.map(|micros| (refused + broken) / micros * 1e6));
    Ok(reading)
}

/// Parses a time as wrk prints it (`129.44us`, `1.02ms`, `10.00s`, `1.50m`) into µs. Returns `None` if it is invalid.
fn parse_duration(text: &str) -> Option<f64> {
    let text = text.split([',', ' ']).next()?;
    let digits = text.trim_end_matches(|one: char| one.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        _ => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V_4_2: &str = include_str!("../../fixtures/wrk/4.2.0.txt");
    const V_4_1: &str = include_str!("../../fixtures/wrk/4.1.0-errors.txt");

    #[test]
    fn units_are_understood_and_errors_counted() {
        let reading = read(V_4_2).unwrap();
        for (metric, expected) in [
            (Metric::Transactions, 119_436.6),
            (Metric::LatencyMean, 129.44),
            (Metric::LatencyMax, 4_060.0),
            (Metric::LatencyP50, 121.0),
            (Metric::LatencyP99, 1_020.0),
            (Metric::Errors, 1.0),
        ] {
            assert!((reading.stated[&metric] - expected).abs() < 1e-6, "{metric}");
        }
        assert_eq!(reading.operations, 1_194_400);
        let refused = read(V_4_1).unwrap();
        assert!((refused.stated[&Metric::Errors] - 1116.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,60}", cut in 0usize..1000) {
            let _ = (read(&text), parse_duration(&text));
            let cut = V_4_2.char_indices().nth(cut).map_or(V_4_2.len(), |(at, _)| at);
            let _ = read(&V_4_2[..cut]);
        }
    }
}
