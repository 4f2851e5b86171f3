//! `fortio`: HTTP requests by fortio, to a small server of tare's.

use super::call::Call;
use super::calling::Reading;
use super::http::Http;
use super::offspring::Said;
use super::program::Program;
use super::words::{member, number};
use super::wrk::SIZE;
use super::{Tool, dials, seconds};
use crate::parameters::{number as parameter, size};
use crate::workload::Asked;
use crate::{About, Error, Kind, Parameter, Server, Task};
use serde_json::Value;
use tare_record::Metric;

const PROGRAM: Program =
    Program::new("fortio", "go install fortio.org/fortio@latest", &["version"]);

/// The tool.
#[derive(Clone, Debug)]
pub(crate) struct Fortio;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "open_loop",
        summary: "requests a second of each client (-qps) [as fast as it can]",
        kind: Kind::PerSecond,
        default: None,
    },
    SIZE,
];

impl Tool for Fortio {
    fn about(&self) -> About {
        About {
            name: "fortio",
            summary: "HTTP requests by fortio, to a small server of tare's",
            stands_for: "fortio load: its own program is run",
            source: "https://fortio.org/",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
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
        ]
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn client(&self) -> &'static Program {
        &PROGRAM
    }

    fn servers(&self) -> &'static [&'static Program] {
        &[]
    }

    fn fits(&self, _: &Asked<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        Ok(Box::new(Http::start(task, size(&task.parameters, SIZE.name)?)?))
    }

    fn call(&self, task: &Task, program: Call) -> Result<Call, Error> {
        let at = dials(task)?;
        let rate = parameter(&task.parameters, "open_loop").map_or(0.0, |rate| task.share(rate));
        Ok(program.with(["load", "-json", "-", "-p", "50,90,95,99,99.9", "-qps"]).with([
            rate.to_string(),
            "-c".to_owned(),
            task.flows.to_string(),
            "-t".to_owned(),
            format!("{}s", seconds(task)),
            format!("http://{at}/"),
        ]))
    }

    fn read(&self, _: &Task, said: &Said) -> Result<Reading, String> {
        read(&said.output)
    }
}

/// Reads fortio's JSON.
fn read(text: &str) -> Result<Reading, String> {
    // What is told to people may stand before it.
    let start = text.find('{').ok_or("it said no JSON")?;
    let document: Value = serde_json::from_str(&text[start..])
        .map_err(|error| format!("it said no JSON: {error}"))?;
    let rate = number(&document, &["ActualQPS"]).ok_or("it does not say how many a second")?;
    let of = |name| number(&document, &["DurationHistogram", name]);
    let count = of("Count").ok_or("it does not say how many requests")?;
    let mut reading = Reading { operations: count as u64, ..Reading::default() };
    reading.state(Metric::Transactions, Some(rate));
    let micros = |seconds: f64| seconds * 1e6;
    reading.state(Metric::LatencyMean, of("Avg").map(micros));
    reading.state(Metric::LatencyMax, of("Max").map(micros));
    let percentiles = member(&document, &["DurationHistogram", "Percentiles"]);
    for one in percentiles.and_then(Value::as_array).into_iter().flatten() {
        let share = number(one, &["Percentile"]);
        let known = [
            (50.0, Metric::LatencyP50),
            (90.0, Metric::LatencyP90),
            (95.0, Metric::LatencyP95),
            (99.0, Metric::LatencyP99),
            (99.9, Metric::LatencyP999),
        ];
        if let Some((_, metric)) = known.into_iter().find(|(known, _)| share == Some(*known)) {
            reading.state(metric, number(one, &["Value"]).map(micros));
        }
    }
    let codes = member(&document, &["RetCodes"]).and_then(Value::as_object);
    let failed: f64 = codes
        .into_iter()
        .flatten()
        .filter(|(code, _)| *code != "200")
        .filter_map(|(_, count)| count.as_f64())
        .sum();
    let seconds = number(&document, &["ActualDuration"]).map(|nanos| nanos / 1e9);
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    reading.state(Metric::Errors, seconds.map(|seconds| failed / seconds));
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V_1_60: &str = include_str!("../../fixtures/fortio/1.60.json");
    const V_1_3: &str = include_str!("../../fixtures/fortio/1.3.json");

    #[test]
    fn figures_are_in_the_metrics_units() {
        let reading = read(&format!("Fortio 1.60.3 running\n{V_1_60}")).unwrap();
        assert_eq!(reading.stated[&Metric::Transactions], 25_123.5);
        assert_eq!(reading.stated[&Metric::LatencyP999], 1_600.0);
        assert_eq!(reading.stated[&Metric::Errors], 2.0);
        assert_eq!(reading.operations, 251_235);
        let old = read(V_1_3).unwrap();
        assert!((old.stated[&Metric::LatencyP50] - 900.0).abs() < 1e-9);
        assert_eq!(old.stated.get(&Metric::LatencyP99), None);
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,60}", cut in 0usize..1000) {
            let _ = read(&text);
            let cut = V_1_60.char_indices().nth(cut).map_or(V_1_60.len(), |(at, _)| at);
            let _ = read(&V_1_60[..cut]);
        }
    }
}
