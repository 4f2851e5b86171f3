//! `fortio`: HTTP requests by fortio to a small server in tare.

use crate::adapters::http::{self, SIZE};
use crate::adapters::parse::{json_member, json_number};
use crate::child_process::ProgramOutput;
use crate::command::ToolCommand;
use crate::program::ExternalProgram;
use crate::report::ToolReport;
use crate::request::{dialled_address, whole_seconds};
use crate::tool::{Tool, ToolDescription};
use serde_json::Value;
use tare_record::Metric;
use tare_traffic::WorkloadRequest;
use tare_traffic::parameters::number as parameter;
use tare_traffic::{Error, Parameter, ParameterKind, Server, TrialTask, WorkloadInfo};

const PROGRAM: ExternalProgram = ExternalProgram::new(
    "fortio",
    "go install fortio.org/fortio@v1.66.5, and add its directory ~/go/bin to the PATH",
    &["version"],
);

/// Options of the output. The first buckets of fortio's histogram have a millisecond unless `-r` sets a microsecond,
/// and within one bucket its percentiles are guesses.
const REPORT_OPTIONS: [&str; 7] =
    ["load", "-json", "-", "-p", "50,90,95,99,99.9", "-r", "0.000001"];

/// The `fortio` tool.
#[derive(Clone, Debug)]
pub(crate) struct Fortio;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "open_loop",
        summary: "requests per second of each client (-qps) [as many as possible]",
        kind: ParameterKind::PerSecond,
        default: None,
    },
    SIZE,
];

const DESCRIPTION: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "fortio",
        summary: "HTTP requests by fortio, to tare's own small server",
        stands_for: "fortio load: its own program is run",
        source: "https://fortio.org/",
    },
    metrics: &[
        Metric::Transactions,
        Metric::Errors,
        Metric::LatencyMean,
        Metric::LatencyP50,
        Metric::LatencyP90,
        Metric::LatencyP95,
        Metric::LatencyP99,
        Metric::LatencyP999,
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

impl Tool for Fortio {
    fn description(&self) -> &'static ToolDescription {
        &DESCRIPTION
    }

    fn validate(&self, _: &WorkloadRequest<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        http::serve(task)
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let at = dialled_address(task)?;
        let rate =
            parameter(&task.parameters, "open_loop").map_or(0.0, |rate| task.process_share(rate));
        Ok(program.with_arguments(REPORT_OPTIONS).with_arguments(["-qps"]).with_arguments([
            rate.to_string(),
            "-c".to_owned(),
            task.flows.to_string(),
            "-t".to_owned(),
            format!("{}s", whole_seconds(task)),
            format!("http://{at}/"),
        ]))
    }

    fn parse_output(&self, _: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        read(&said.output)
    }
}

/// Parses fortio's JSON.
fn read(text: &str) -> Result<ToolReport, String> {
    // Messages for people may precede the JSON.
    let start = text.find('{').ok_or("the output has no JSON")?;
    let document: Value = serde_json::from_str(&text[start..])
        .map_err(|error| format!("the output is not valid JSON: {error}"))?;
    let rate = json_number(&document, &["ActualQPS"])
        .ok_or("the output has no requests per second (ActualQPS)")?;
    let of = |name| json_number(&document, &["DurationHistogram", name]);
    let count = of("Count").ok_or("the output has no number of requests (DurationHistogram)")?;
    let mut reading = ToolReport { operations: count as u64, ..ToolReport::default() };
    reading.add_figure(Metric::Transactions, Some(rate));
    let micros = |seconds: f64| seconds * 1e6;
    reading.add_figure(Metric::LatencyMean, of("Avg").map(micros));
    reading.add_figure(Metric::LatencyMax, of("Max").map(micros));
    let percentiles = json_member(&document, &["DurationHistogram", "Percentiles"]);
    for one in percentiles.and_then(Value::as_array).into_iter().flatten() {
        let share = json_number(one, &["Percentile"]);
        let known = [
            (50.0, Metric::LatencyP50),
            (90.0, Metric::LatencyP90),
            (95.0, Metric::LatencyP95),
            (99.0, Metric::LatencyP99),
            (99.9, Metric::LatencyP999),
        ];
        if let Some((_, metric)) = known.into_iter().find(|(known, _)| share == Some(*known)) {
            reading.add_figure(metric, json_number(one, &["Value"]).map(micros));
        }
    }
    let codes = json_member(&document, &["RetCodes"]).and_then(Value::as_object);
    let failed: f64 = codes
        .into_iter()
        .flatten()
        .filter(|(code, _)| *code != "200")
        .filter_map(|(_, count)| count.as_f64())
        // The sum of an empty iterator would be -0.
        .fold(0.0, |all, count| all + count);
    let seconds = json_number(&document, &["ActualDuration"]).map(|nanos| nanos / 1e9);
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    reading.add_figure(Metric::Errors, seconds.map(|seconds| failed / seconds));
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Output of fortio against its own server on loopback. The last is of a server that failed now and then.
    const V_1_66: &str = include_str!("../../fixtures/fortio/1.66.5.json");
    const V_1_17: &str = include_str!("../../fixtures/fortio/1.17.0.json");
    const ERRORS: &str = include_str!("../../fixtures/fortio/1.66.5-errors.json");

    #[test]
    fn figures_are_in_the_metrics_units() {
        let reading = read(&format!("Fortio 1.66.5 running\n{V_1_66}")).unwrap();
        let is = |metric, expected: f64| (reading.stated[&metric] - expected).abs() < 1e-6;
        assert!(is(Metric::Transactions, 43_224.713_225_849_3));
        assert!(is(Metric::LatencyMean, 46.106_778_462_641_61));
        assert!(is(Metric::LatencyP50, 26.285_205_889_540_56));
        assert!(is(Metric::LatencyP999, 3_868.894_736_842_122));
        assert!(is(Metric::LatencyMax, 8_508.547));
        assert!(reading.stated[&Metric::Errors].is_sign_positive() && is(Metric::Errors, 0.0));
        assert_eq!(reading.operations, 86_473);
        let old = read(V_1_17).unwrap();
        assert!((old.stated[&Metric::LatencyP50] - 23.593_773_165_307_635).abs() < 1e-9);
        assert_eq!(old.operations, 41_502);
    }

    #[test]
    fn answers_that_were_none_are_errors() {
        let reading = read(ERRORS).unwrap();
        let expected = 115.0 / 2.004_505_517;
        assert!((reading.stated[&Metric::Errors] - expected).abs() < 1e-9);
        assert_eq!(reading.operations, 1000);
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,60}", cut in 0usize..9000) {
            let _ = read(&text);
            let cut = V_1_66.char_indices().nth(cut).map_or(V_1_66.len(), |(at, _)| at);
            let _ = read(&V_1_66[..cut]);
        }
    }
}
