//! `iperf3` and `iperf3-udp`: bulk as iperf3 measures it, by its JSON.

use super::call::Call;
use super::calling::Reading;
use super::offspring::Said;
use super::program::Program;
use super::serving::Serve;
use super::words::{member, number, whole};
use super::{Tool, cannot, dials, one_server_each, seconds};
use crate::parameters::{is_on, load, optional_size, word};
use crate::workload::Asked;
use crate::{About, Error, Kind, Load, Parameter, Server, Task};
use serde_json::Value;
use tare_record::{Datagrams, Interval, Metric, Nanos, TcpState};

const PROGRAM: Program = Program::new("iperf3", "sudo apt-get install iperf3", &["--version"]);

/// iperf3's interval reports are this long at least, s.
const LEAST_INTERVAL: f64 = 0.1;

/// The tool, over TCP or over UDP.
#[derive(Clone, Debug)]
pub(crate) struct Iperf3 {
    pub(crate) udp: bool,
}

const DIRECTION: Parameter = Parameter {
    name: "direction",
    summary: "Which way bulk goes: up (client to server), down (-R)",
    kind: Kind::Choice(&["up", "down"]),
    default: Some("up"),
};
const BUFFER: Parameter = Parameter {
    name: "buffer",
    summary: "Bytes of each socket buffer (-w)",
    kind: Kind::Bytes { least: 1024, most: 1 << 30 },
    default: None,
};

const TCP: &[Parameter] = &[
    Parameter {
        name: "size",
        summary: "Bytes of a write (-l) [iperf3's own: 128K]",
        kind: Kind::Bytes { least: 1, most: 1 << 20 },
        default: None,
    },
    DIRECTION,
    Parameter {
        name: "congestion",
        summary: "TCP congestion control (-C)",
        kind: Kind::Name,
        default: None,
    },
    Parameter {
        name: "no_delay",
        summary: "TCP_NODELAY (-N)",
        kind: Kind::Switch,
        default: Some("false"),
    },
    BUFFER,
];

const UDP: &[Parameter] = &[
    Parameter {
        name: "size",
        summary: "Bytes of a datagram (-l) [iperf3's own: what the path carries]",
        kind: Kind::Bytes { least: 16, most: 65_507 },
        default: None,
    },
    DIRECTION,
    Parameter {
        name: "rate",
        summary: "Offered load of each client (-b, shared by its flows)",
        kind: Kind::BitRate,
        default: Some("100mbit"),
    },
    BUFFER,
];

impl Tool for Iperf3 {
    fn about(&self) -> About {
        let (name, summary) = if self.udp {
            ("iperf3-udp", "datagrams at a rate, as iperf3 -u measures them")
        } else {
            ("iperf3", "bulk over TCP, as iperf3 measures it")
        };
        let source = "https://software.es.net/iperf/invoking.html";
        About { name, summary, stands_for: "iperf3 itself: its own program is run", source }
    }

    fn metrics(&self) -> &'static [Metric] {
        if self.udp {
            &[
                Metric::Throughput,
                Metric::Packets,
                Metric::Loss,
                Metric::Jitter,
                Metric::CpuPerGb,
                Metric::CyclesPerByte,
                Metric::InstructionsPerByte,
            ]
        } else {
            &[
                Metric::Throughput,
                Metric::Retransmits,
                Metric::CpuPerGb,
                Metric::CyclesPerByte,
                Metric::InstructionsPerByte,
            ]
        }
    }

    fn parameters(&self) -> &'static [Parameter] {
        if self.udp { UDP } else { TCP }
    }

    fn client(&self) -> &'static Program {
        &PROGRAM
    }

    fn servers(&self) -> &'static [&'static Program] {
        &[&PROGRAM]
    }

    fn fits(&self, asked: &Asked<'_>) -> Result<(), Error> {
        let name = self.about().name;
        one_server_each(
            name,
            "its server takes one client at a time (iperf and tcp-stream do not)",
            asked,
        )?;
        if asked.shape.flows > 128 {
            return cannot(name, "it has at most 128 flows (-P)");
        }
        Ok(())
    }

    fn serve(&self, task: &Task) -> Result<Box<dyn Server>, Error> {
        let at = dials(task)?;
        let call = Call::new(PROGRAM.require()?, ["-s", "-B"]).with([
            at.ip().to_string(),
            "-p".to_owned(),
            at.port().to_string(),
        ]);
        Ok(Box::new(Serve::new(&PROGRAM, call, task).start()?))
    }

    fn call(&self, task: &Task, program: Call) -> Result<Call, Error> {
        let at = dials(task)?;
        let interval = (task.interval.as_secs_f64()).max(LEAST_INTERVAL);
        let mut call = program.with(["-J", "-c"]).with([
            at.ip().to_string(),
            "-p".to_owned(),
            at.port().to_string(),
            "-t".to_owned(),
            seconds(task).to_string(),
            "-i".to_owned(),
            format!("{interval:.3}"),
            "-P".to_owned(),
            task.flows.to_string(),
        ]);
        let parameters = &task.parameters;
        for (flag, name) in [("-l", "size"), ("-w", "buffer")] {
            if let Some(size) = optional_size(parameters, name) {
                call = call.with([flag.to_owned(), size.to_string()]);
            }
        }
        if let Some(name) = word(parameters, "congestion") {
            call = call.with(["-C", name]);
        }
        if is_on(parameters, "no_delay") {
            call = call.with(["-N"]);
        }
        if word(parameters, "direction") == Some("down") {
            call = call.with(["-R"]);
        }
        if self.udp {
            let rate = match load(parameters, "rate") {
                Some(Load::Bits(bits)) => bits as f64,
                _ => return Err(Error::Job("the task says no `rate`".to_owned())),
            };
            let each = task.share(rate) / f64::from(task.flows.max(1));
            call = call.with(["-u", "-b"]).with([whole(each)]);
        }
        Ok(call)
    }

    fn read(&self, _: &Task, said: &Said) -> Result<Reading, String> {
        read(&said.output, self.udp)
    }
}

/// Reads iperf3's JSON, of its versions from 3.0 on.
fn read(text: &str, udp: bool) -> Result<Reading, String> {
    let document: Value =
        serde_json::from_str(text).map_err(|error| format!("it said no JSON: {error}"))?;
    if let Some(error) = member(&document, &["error"]) {
        return Err(format!("it failed: {}", error.as_str().unwrap_or_default()));
    }
    let end = member(&document, &["end"]).ok_or("its JSON has no end")?;
    let mut reading = if udp { datagrams(end)? } else { stream(end)? };
    let intervals = member(&document, &["intervals"]).and_then(Value::as_array);
    reading.intervals = intervals.into_iter().flatten().filter_map(interval).collect();
    Ok(reading)
}

fn stream(end: &Value) -> Result<Reading, String> {
    let received = |name| number(end, &["sum_received", name]);
    let bits = received("bits_per_second").ok_or("its JSON does not say what was received")?;
    let mut reading =
        Reading { bytes: received("bytes").unwrap_or_default() as u64, ..Reading::default() };
    reading.state(Metric::Throughput, Some(bits / 1e9));
    let seconds = number(end, &["sum_sent", "seconds"]).filter(|seconds| *seconds > 0.0);
    let again = number(end, &["sum_sent", "retransmits"]);
    reading.state(Metric::Retransmits, again.zip(seconds).map(|(again, seconds)| again / seconds));
    Ok(reading)
}

fn datagrams(end: &Value) -> Result<Reading, String> {
    // Versions from 3.10 on have both ends' sums; before, one sum had the sender's bytes and the receiver's losses.
    let has_both = number(end, &["sum_received", "packets"]).is_some();
    let of = |name| number(end, &[if has_both { "sum_received" } else { "sum" }, name]);
    let missing = "its JSON does not say what was received";
    let (packets, lost) = (of("packets").ok_or(missing)?, of("lost_packets").ok_or(missing)?);
    let seconds = of("seconds").filter(|seconds| *seconds > 0.0).ok_or(missing)?;
    let bytes = if has_both {
        of("bytes").ok_or(missing)?
    } else {
        of("bytes").ok_or(missing)? * (1.0 - lost / packets.max(1.0))
    };
    let received = (packets - lost).max(0.0);
    let mut reading = Reading { bytes: bytes.max(0.0) as u64, ..Reading::default() };
    reading.state(Metric::Throughput, Some(bytes * 8.0 / seconds / 1e9));
    reading.state(Metric::Packets, Some(received / seconds));
    reading.state(Metric::Loss, (packets > 0.0).then(|| 100.0 * lost / packets));
    reading.state(Metric::Jitter, of("jitter_ms").map(|jitter| jitter * 1000.0));
    Ok(reading)
}

/// One interval report: what the client saw.
fn interval(report: &Value) -> Option<Interval> {
    let of = |name| number(report, &["sum", name]);
    let nanos = |seconds: f64| Nanos((seconds.max(0.0) * 1e9) as u64);
    let again = of("retransmits").map(|again| again as u64);
    let sent = of("packets").map(|packets| packets as u64);
    Some(Interval {
        start: nanos(of("start")?),
        length: nanos(of("seconds")?),
        bytes: of("bytes")? as u64,
        tcp: again.map(|retransmits| TcpState { retransmits, ..TcpState::default() }),
        datagrams: sent.map(|sent| Datagrams {
            sent,
            sent_bytes: of("bytes").unwrap_or_default() as u64,
            received: sent.saturating_sub(of("lost_packets").unwrap_or_default() as u64),
            ..Datagrams::default()
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
        // Before version 3.10 the bytes were the sender's: of 1000 datagrams 250 were lost.
        let old = read(UDP_3_1, true).unwrap();
        assert_eq!(old.stated[&Metric::Loss], 25.0);
        assert!((old.stated[&Metric::Throughput] - 750.0 * 1000.0 * 8.0 / 2.0 / 1e9).abs() < 1e-12);
        assert_eq!(old.stated[&Metric::Jitter], 20.0);
    }

    #[test]
    fn failures_are_told() {
        assert!(read(FAILED, false).unwrap_err().contains("it failed: "));
        assert!(read("", false).unwrap_err().contains("no JSON"));
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
