//! `fortio`: HTTP requests by fortio, to a small server of tare's.

use super::call::Call;
use super::calling::Reading;
use super::http::{self, SIZE};
use super::offspring::Said;
use super::program::Program;
use super::words::{member, number};
use super::{Tool, dials, seconds};
use crate::parameters::number as parameter;
use crate::workload::Asked;
use crate::{About, Error, Kind, Parameter, Server, Task};
use serde_json::Value;
use tare_record::Metric;

const PROGRAM: Program = Program::new(
    "fortio",
    "go install fortio.org/fortio@v1.66.5, which puts it into ~/go/bin: have that on the PATH",
    &["version"],
);

/// What it is asked to say. Its histogram's first buckets are of a millisecond unless it is told a microsecond: within one
/// its percentiles are guesses.
const SAYS: [&str; 7] = ["load", "-json", "-", "-p", "50,90,95,99,99.9", "-r", "0.000001"];

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
        http::serve(task)
    }

    fn call(&self, task: &Task, program: Call) -> Result<Call, Error> {
        let at = dials(task)?;
        let rate = parameter(&task.parameters, "open_loop").map_or(0.0, |rate| task.share(rate));
        Ok(program.with(SAYS).with(["-qps"]).with([
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
        // The sum of nothing would be -0.
        .fold(0.0, |all, count| all + count);
    let seconds = number(&document, &["ActualDuration"]).map(|nanos| nanos / 1e9);
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    reading.state(Metric::Errors, seconds.map(|seconds| failed / seconds));
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What it said of its own server on loopback; the last of one that failed now and then.
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
