//! `netperf`, `netperf-rr` and `netperf-crr`: TCP_STREAM, TCP_RR and TCP_CRR by netperf.

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

const REMEDY: &str = "sudo apt-get install netperf (before Debian 13: from the non-free section)";
const CLIENT: ExternalProgram = ExternalProgram::new("netperf", REMEDY, &["-V"]);
const SERVER: ExternalProgram = ExternalProgram::new("netserver", REMEDY, &["-V"]);

/// Output selectors of netperf's tests (`-k`).
const STREAM_OUTPUT: &str = "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,REMOTE_BYTES_RECVD";
const PAIRS_OUTPUT: &str = "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY";

/// Test of netperf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetperfTest {
    Stream,
    Rr,
    Crr,
}

/// The `netperf` tool, with one of its tests.
#[derive(Clone, Debug)]
pub(crate) struct Netperf(pub(crate) NetperfTest);

const STREAM_PARAMETERS: &[Parameter] = &[Parameter {
    name: "size",
    summary: "bytes of a write (-m) [netperf's default: the socket's buffer]",
    kind: ParameterKind::Bytes { least: 1, most: 16 << 20 },
    default: None,
}];

const PAIR_PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "request",
        summary: "bytes of a request (-r)",
        kind: ParameterKind::Bytes { least: 1, most: 16 << 20 },
        default: Some("1"),
    },
    Parameter {
        name: "response",
        summary: "bytes of a response (-r)",
        kind: ParameterKind::Bytes { least: 1, most: 16 << 20 },
        default: Some("1"),
    },
];

/// Ports of the server: one for control, one for traffic.
const PORTS: usize = 2;

const STREAM: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "netperf",
        summary: "bulk over TCP, as netperf measures it",
        stands_for: "netperf TCP_STREAM: its own programs are run",
        source: "https://hewlettpackard.github.io/netperf/doc/netperf.html",
    },
    metrics: &[
        Metric::Throughput,
        Metric::CpuPerGb,
        Metric::CyclesPerByte,
        Metric::InstructionsPerByte,
    ],
    parameters: STREAM_PARAMETERS,
    port_count: PORTS,
    client: &CLIENT,
    servers: &[&SERVER],
};

const RR: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "netperf-rr",
        summary: "requests and responses over TCP, as netperf measures them",
        stands_for: "netperf TCP_RR: its own programs are run",
        source: "https://hewlettpackard.github.io/netperf/doc/netperf.html",
    },
    metrics: &[
        Metric::Transactions,
        Metric::LatencyMean,
        Metric::LatencyP50,
        Metric::LatencyP90,
        Metric::LatencyP99,
        Metric::LatencyMax,
        Metric::CpuPerOp,
        Metric::CyclesPerOp,
        Metric::InstructionsPerOp,
    ],
    parameters: PAIR_PARAMETERS,
    port_count: PORTS,
    client: &CLIENT,
    servers: &[&SERVER],
};

const CRR: ToolDescription = ToolDescription {
    info: WorkloadInfo {
        name: "netperf-crr",
        summary: "a connection for every request over TCP, as netperf measures it",
        stands_for: "netperf TCP_CRR: its own programs are run",
        source: "https://hewlettpackard.github.io/netperf/doc/netperf.html",
    },
    // Latencies are of the whole exchange, from connecting to the response.
    metrics: &[
        Metric::Connections,
        Metric::LatencyMean,
        Metric::LatencyP50,
        Metric::LatencyP90,
        Metric::LatencyP99,
        Metric::LatencyMax,
        Metric::CpuPerOp,
        Metric::CyclesPerOp,
        Metric::InstructionsPerOp,
    ],
    parameters: PAIR_PARAMETERS,
    port_count: PORTS,
    client: &CLIENT,
    servers: &[&SERVER],
};

impl Tool for Netperf {
    fn description(&self) -> &'static ToolDescription {
        match self.0 {
            NetperfTest::Stream => &STREAM,
            NetperfTest::Rr => &RR,
            NetperfTest::Crr => &CRR,
        }
    }

    fn validate(&self, asked: &WorkloadRequest<'_>) -> Result<(), Error> {
        require_one_flow(
            self.description().info.name,
            "clients cannot share a port for traffic",
            asked,
        )
    }

    fn serve(&self, task: &TrialTask) -> Result<Box<dyn Server>, Error> {
        let at = dialled_address(task)?;
        let call = ToolCommand::new(SERVER.require()?, ["-D", "-L"]).with_arguments([
            at.ip().to_string(),
            "-p".to_owned(),
            at.port().to_string(),
        ]);
        let mut serve = ToolServerSpec::new(&SERVER, call, task);
        serve.forks = true;
        Ok(Box::new(serve.start()?))
    }

    fn client_command(&self, task: &TrialTask, program: ToolCommand) -> Result<ToolCommand, Error> {
        let [orders, traffic] = task.addresses.as_slice() else {
            return Err(Error::Job("netperf needs two ports, and the task has fewer".to_owned()));
        };
        let (test, says) = match self.0 {
            NetperfTest::Stream => ("TCP_STREAM", STREAM_OUTPUT),
            NetperfTest::Rr => ("TCP_RR", PAIRS_OUTPUT),
            NetperfTest::Crr => ("TCP_CRR", PAIRS_OUTPUT),
        };
        let size = |name| optional_size(&task.parameters, name);
        let sizes = match (size("size"), size("request").zip(size("response"))) {
            (Some(size), _) => vec!["-m".to_owned(), size.to_string()],
            (None, Some((request, response))) => {
                vec!["-r".to_owned(), format!("{request},{response}")]
            }
            (None, None) => Vec::new(),
        };
        Ok(program
            .with_arguments([
                "-H".to_owned(),
                orders.ip().to_string(),
                "-p".to_owned(),
                orders.port().to_string(),
                "-t".to_owned(),
                test.to_owned(),
                "-l".to_owned(),
                whole_seconds(task).to_string(),
            ])
            // netperf keeps latencies only if `-j` asks for them.
            .with_arguments(["-j", "-P", "0", "--", "-k", says, "-P"])
            .with_arguments([format!(",{}", traffic.port())])
            .with_arguments(sizes))
    }

    fn parse_output(&self, _: &TrialTask, said: &ProgramOutput) -> Result<ToolReport, String> {
        read(&said.output, self.0)
    }
}

/// Parses the output of the option `-k`: a name and a value per line.
fn read(text: &str, test: NetperfTest) -> Result<ToolReport, String> {
    let word = |name: &str| {
        text.lines()
            .find_map(|line| Some(line.trim().strip_prefix(name)?.strip_prefix('=')?.trim()))
    };
    let number = |name: &str| -> Option<f64> {
        word(name)?.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
    };
    let rate = number("THROUGHPUT").ok_or("the output has no throughput (THROUGHPUT)")?;
    let unit = word("THROUGHPUT_UNITS")
        .ok_or("the output has no unit of the throughput (THROUGHPUT_UNITS)")?;
    let took = number("ELAPSED_TIME").unwrap_or_default();
    let mut reading = ToolReport::default();
    if test == NetperfTest::Stream {
        let bits = rate
            * bits_per_unit(unit)
                .ok_or_else(|| format!("unknown unit of the throughput `{unit}`"))?;
        let received = number("REMOTE_BYTES_RECVD").unwrap_or(bits / 8.0 * took);
        reading.bytes = received as u64;
        reading.add_figure(Metric::Throughput, Some(bits / 1e9));
        return Ok(reading);
    }
    if !unit.starts_with("Trans") {
        return Err(format!("`{unit}` is not a unit of transactions"));
    }
    reading.operations = (rate * took) as u64;
    let metric = if test == NetperfTest::Rr { Metric::Transactions } else { Metric::Connections };
    reading.add_figure(metric, Some(rate));
    for (metric, name) in [
        (Metric::LatencyMean, "MEAN_LATENCY"),
        (Metric::LatencyP50, "P50_LATENCY"),
        (Metric::LatencyP90, "P90_LATENCY"),
        (Metric::LatencyP99, "P99_LATENCY"),
        (Metric::LatencyMax, "MAX_LATENCY"),
    ] {
        // netperf prints -1 for a figure that it did not keep.
        reading.add_figure(metric, number(name));
    }
    Ok(reading)
}

/// Returns the bits per second of a unit of netperf: `10^6bits/s`, `GBytes/s` (of 2³⁰). Returns `None` if the unit is
/// unknown.
fn bits_per_unit(unit: &str) -> Option<f64> {
    Some(match unit {
        "10^3bits/s" => 1e3,
        "10^6bits/s" => 1e6,
        "10^9bits/s" => 1e9,
        "Bytes/s" => 8.0,
        "KBytes/s" => 8.0 * 1024.0,
        "MBytes/s" => 8.0 * 1_048_576.0,
        "GBytes/s" => 8.0 * 1_073_741_824.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Output of netperf 2.7.0 and 2.7.1 (of git) on loopback; the stream also in other units, and with its banner.
    const STREAM: [&str; 2] = [
        include_str!("../../fixtures/netperf/2.7.0-stream.txt"),
        include_str!("../../fixtures/netperf/2.7.1-stream.txt"),
    ];
    const GBYTES: &str = include_str!("../../fixtures/netperf/2.7.0-stream-gbytes.txt");
    const BANNER: &str = include_str!("../../fixtures/netperf/2.7.0-stream-banner.txt");
    const RR: [&str; 2] = [
        include_str!("../../fixtures/netperf/2.7.0-rr.txt"),
        include_str!("../../fixtures/netperf/2.7.1-rr.txt"),
    ];
    const CRR: [&str; 2] = [
        include_str!("../../fixtures/netperf/2.7.0-crr.txt"),
        include_str!("../../fixtures/netperf/2.7.1-crr.txt"),
    ];

    #[test]
    fn units_are_understood() {
        let of = |text: &str| read(text, NetperfTest::Stream).unwrap();
        let rates = STREAM.map(|text| of(text).stated[&Metric::Throughput]);
        assert!((rates[0] - 18.525_28).abs() < 1e-9 && (rates[1] - 15.405_78).abs() < 1e-9);
        assert_eq!(STREAM.map(|text| of(text).bytes), [4_633_756_503, 3_851_858_624]);
        for (text, expected) in
            [(GBYTES, 1.10 * 8.0 * 1.073_741_824), (BANNER, 2_151_775.77 * 8.0 * 1.024e-6)]
        {
            let reading = of(text);
            assert!((reading.stated[&Metric::Throughput] - expected).abs() < 1e-9);
            // The unit follows from netperf's own count of bytes.
            let counted = reading.bytes as f64 * 8.0 / 1e9;
            assert!((counted / expected - 1.0).abs() < 0.01, "{counted} Gbit/s");
        }
        let odd = STREAM[0].replace("10^6bits/s", "furlongs");
        assert!(read(&odd, NetperfTest::Stream).unwrap_err().contains("furlongs"));
    }

    #[test]
    fn pairs_are_transactions_or_connections_with_their_latencies() {
        let rr = RR.map(|text| read(text, NetperfTest::Rr).unwrap());
        assert_eq!(
            rr.each_ref().map(|one| one.stated[&Metric::Transactions]),
            [151_616.82, 143_690.52]
        );
        assert_eq!(rr.each_ref().map(|one| one.stated[&Metric::LatencyMax]), [8488.0, 8942.0]);
        assert_eq!(rr[0].operations, 303_233);
        let crr = CRR.map(|text| read(text, NetperfTest::Crr).unwrap());
        assert_eq!(
            crr.each_ref().map(|one| one.stated[&Metric::Connections]),
            [37_183.85, 39_210.38]
        );
        assert_eq!(crr.each_ref().map(|one| one.stated[&Metric::LatencyP99]), [146.0, 132.0]);
        assert!(read(STREAM[0], NetperfTest::Rr).is_err());
        let unkept = RR[0].replace("=6.56", "=-1");
        assert_eq!(read(&unkept, NetperfTest::Rr).unwrap().stated.get(&Metric::LatencyMean), None);
    }

    proptest! {
        #[test]
        fn garbage_never_breaks_anything(text in "\\PC{0,60}", unit in "\\PC{0,9}") {
            for test in [NetperfTest::Stream, NetperfTest::Rr, NetperfTest::Crr] {
                let _ = read(&text, test);
                let _ = read(&format!("THROUGHPUT={text}\nTHROUGHPUT_UNITS={unit}\n"), test);
            }
        }
    }
}
