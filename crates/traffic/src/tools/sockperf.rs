//! `sockperf`: ping-pong as sockperf measures it.

use super::call::Call;
use super::calling::Reading;
use super::listening::Protocol;
use super::offspring::Said;
use super::program::Program;
use super::serving::Serve;
use super::words::{after, leading};
use super::{Tool, cannot, dials, seconds};
use crate::parameters::{size, word};
use crate::workload::Asked;
use crate::{About, Error, Kind, Parameter, Server, Task};
use tare_record::{Family, Metric};

const PROGRAM: Program = Program::new("sockperf", "sudo apt-get install sockperf", &["--version"]);

/// The first version that knows IPv6.
const SPEAKS_IPV6: f64 = 3.8;

/// The tool.
#[derive(Clone, Debug)]
pub(crate) struct Sockperf;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "protocol",
        summary: "over which messages go (--tcp)",
        kind: Kind::Choice(&["udp", "tcp"]),
        default: Some("udp"),
    },
    Parameter {
        name: "size",
        summary: "bytes of a message, each way (-m)",
        kind: Kind::Bytes { least: 14, most: 65_507 },
        default: Some("14"),
    },
];

impl Tool for Sockperf {
    fn about(&self) -> About {
        About {
            name: "sockperf",
            summary: "round trips one after another, as sockperf measures them",
            stands_for: "sockperf ping-pong --full-rtt: its own program is run",
            source: "https://github.com/Mellanox/sockperf",
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
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
        ]
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn client(&self) -> &'static Program {
        &PROGRAM
    }

    fn servers(&self) -> &'static [&'static Program] {
        &[&PROGRAM]
    }

    fn fits(&self, asked: &Asked<'_>) -> Result<(), Error> {
        if asked.shape.flows > 1 {
            return cannot(
                "sockperf",
                "its ping-pong has one flow: give more --processes or --clients",
            );
        }
        let version = || PROGRAM.version().as_deref().and_then(|version| after(version, "#"));
        if asked.shape.family == Family::Ipv6 && version().is_some_and(|one| one < SPEAKS_IPV6) {
            return cannot("sockperf", "it speaks IPv6 since version 3.8, and here it is older");
        }
        Ok(())
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        let at = dials(task)?;
        let call = Call::new(PROGRAM.require()?, ["server", "-i"])
            .with([at.ip().to_string(), "-p".to_owned(), at.port().to_string()])
            .with(tcp(task));
        let protocol = if tcp(task).is_some() { Protocol::Tcp } else { Protocol::Udp };
        let mut serve = Serve::new(&PROGRAM, call, task);
        serve.listens = vec![(at, protocol)];
        Ok(Box::new(serve.start()?))
    }

    fn call(&self, task: &Task, program: Call) -> Result<Call, Error> {
        let at = dials(task)?;
        Ok(program
            .with(["ping-pong", "--full-rtt", "-i"])
            .with([
                at.ip().to_string(),
                "-p".to_owned(),
                at.port().to_string(),
                "-t".to_owned(),
                seconds(task).to_string(),
                "-m".to_owned(),
                size(&task.parameters, "size")?.to_string(),
            ])
            .with(tcp(task)))
    }

    fn read(&self, _: &Task, said: &Said) -> Result<Reading, String> {
        read(&said.output)
    }
}

fn tcp(task: &Task) -> Option<&'static str> {
    (word(&task.parameters, "protocol") == Some("tcp")).then_some("--tcp")
}

/// Reads a report of sockperf 3, with or without colours.
fn read(text: &str) -> Result<Reading, String> {
    let line = |word: &str| text.lines().find(|line| line.contains(word));
    let valid = line("[Valid Duration]").ok_or("it found no valid stretch of time")?;
    let number = |word| after(valid, word);
    let seconds = number("RunTime=").filter(|seconds| *seconds > 0.0);
    let (sent, received) = (number("SentMessages="), number("ReceivedMessages="));
    let (Some(seconds), Some(received)) = (seconds, received) else {
        return Err("it does not say how many messages there were".to_owned());
    };
    if line("Round trip is").is_none() {
        return Err("it does not say that it means round trips (--full-rtt)".to_owned());
    }
    let mut reading = Reading { operations: received as u64, ..Reading::default() };
    reading.state(Metric::Transactions, Some(received / seconds));
    let dropped = after(text, "dropped messages =").unwrap_or(0.0);
    let sent = sent.filter(|sent| *sent > 0.0);
    reading.state(Metric::Loss, sent.map(|sent| 100.0 * dropped / sent));
    reading.state(Metric::LatencyMean, after(text, "avg-rtt="));
    for (metric, word) in [
        (Metric::LatencyP50, "percentile 50.000"),
        (Metric::LatencyP90, "percentile 90.000"),
        (Metric::LatencyP99, "percentile 99.000"),
        (Metric::LatencyP999, "percentile 99.900"),
        (Metric::LatencyP9999, "percentile 99.990"),
        (Metric::LatencyMax, "<MAX> observation"),
    ] {
        let figure = line(word).and_then(|line| leading(line.split_once(word)?.1));
        reading.state(metric, figure);
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
