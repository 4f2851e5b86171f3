//! The command line, from which help, completions and the manual page come.

use crate::remote::RemoteArguments;
use crate::traffic_flags::TrafficArguments;
use clap::{Args, Parser, ValueEnum};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use tare_record::{Family, Metric, Placement};
use tare_study::{Percent, Span, WarmUpSpan};
use tare_traffic::Load;
use tare_traffic::probe::Ports;

/// Weighs container networks: what each way of connecting containers costs, and how sure one can be.
#[derive(Debug, Parser)]
#[command(name = "tare", version, max_term_width = 100, propagate_version = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Subcommand,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subcommand {
    /// Measure networks against one another and print what each costs
    Run(Box<RunArguments>),
    /// Finish a run that was cut off, on the same plan and seed
    Resume(ResumeArguments),
    /// Show a run again, from its journal
    Report(ReportArguments),
    /// List what there is: networks, workloads, studies; what runs here, and for what does not: why, and the remedy
    List(ListArguments),
    /// Check this machine: kernel, privileges, programs, noise
    Doctor(DoctorArguments),
    /// Print the commands by which a network could be built by hand
    Show(ShowArguments),
    /// Raise a network and run a program (or a shell) in its first client
    Up(UpArguments),
    /// Serve probes from other machines, until interrupted
    #[command(after_help = LISTEN_EXAMPLES)]
    Listen(ListenArguments),
    /// Measure the way to a machine on which `tare listen` runs
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(Box<ProbeArguments>),
    /// Print completions for a shell
    Completions(CompletionsArguments),
    /// Write the manual pages
    #[command(hide = true)]
    Manual(ManualArguments),
    /// Write the JSON schemas of what `--json` prints
    #[command(hide = true)]
    Schema(SchemaArguments),
    /// Run traffic on orders from standard input (started by tare in each container)
    #[command(hide = true)]
    Agent,
    /// Keep the lab's processes together (started by tare)
    #[command(hide = true)]
    Keeper,
    /// Start a program with a private hosts file (started by tare)
    #[command(hide = true)]
    Inside(InsideArguments),
}

/// What to measure, and how.
#[derive(Debug, Default, Args)]
pub(crate) struct RunArguments {
    /// A built-in study's name or a TOML file; `tour` (all networks that run here) unless given
    pub(crate) study: Option<String>,

    /// Networks, each [LABEL=]NAME[+OPTION..], as in bridge+plain or x=veth+rate=1gbit; `all` stands for all that run here
    #[arg(
        short,
        long = "network",
        value_name = "[LABEL=]NAME",
        value_delimiter = ',',
        help_heading = "What"
    )]
    pub(crate) networks: Vec<String>,
    /// Workloads
    #[arg(
        short,
        long = "workload",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "What"
    )]
    pub(crate) workloads: Vec<String>,
    /// Metrics, of those that the workloads measure
    #[arg(
        short,
        long = "metric",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "What"
    )]
    pub(crate) metrics: Vec<Metric>,
    /// The label of the network that ratios are against [default: host]
    #[arg(long, value_name = "LABEL", help_heading = "What")]
    pub(crate) baseline: Option<String>,

    #[command(flatten)]
    pub(crate) shape: ShapeArguments,

    #[command(flatten)]
    pub(crate) traffic: TrafficArguments,

    /// How long payload flows in a trial
    #[arg(short, long, value_name = "T", allow_hyphen_values = true, help_heading = "Method")]
    pub(crate) duration: Option<Span>,
    /// How long an interval record is
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub(crate) interval: Option<Span>,
    /// How the beginning of a trial is treated: found (auto), or this long discarded
    #[arg(long, value_name = "auto|T", help_heading = "Method")]
    pub(crate) warmup: Option<WarmUpSpan>,
    /// How many blocks, whatever the spread
    #[arg(
        short,
        long,
        value_name = "K",
        conflicts_with = "precision",
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    pub(crate) blocks: Option<u32>,
    /// The half width of a ratio's 95 % interval to reach [default: half the metric's margin]
    #[arg(short, long, value_name = "SHARE", help_heading = "Method")]
    pub(crate) precision: Option<Percent>,
    /// The longest that the run may take
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub(crate) budget: Option<Span>,
    /// A difference smaller than this does not matter: a share for all metrics, or METRIC=SHARE
    #[arg(long, value_name = "[METRIC=]SHARE", value_delimiter = ',', help_heading = "Method")]
    pub(crate) margin: Vec<Margin>,
    /// The seed of every random choice
    #[arg(long, value_name = "S", help_heading = "Method")]
    pub(crate) seed: Option<u64>,
    /// In under a minute, at a wider precision
    #[arg(short, long, help_heading = "Method")]
    pub(crate) quick: bool,

    /// The directory for the journal and the results [default: tare-STUDY-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print the plan, and measure nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Let the kernel load modules that networks need
    #[arg(long, help_heading = "Machine")]
    pub(crate) load_modules: bool,
}

/// How many of what: every combination is measured.
#[derive(Debug, Default, Args)]
pub(crate) struct ShapeArguments {
    /// Client containers; client i talks to server i mod n
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) clients: Vec<u32>,
    /// Server containers
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) servers: Vec<u32>,
    /// Flows (connections) of each client
    #[arg(short, long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) flows: Vec<u32>,
    /// IP families: ipv4, ipv6
    #[arg(long, value_name = "FAMILY", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) family: Vec<Family>,
    /// MTU of the network's devices, bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) mtu: Vec<u32>,
    /// Cores of the two sides: spread, same, free, or CLIENTS/SERVERS as in 0-1/2-3
    #[arg(long, value_name = "PLACEMENT", help_heading = "Shape")]
    pub(crate) cpus: Option<Placement>,
}

/// A margin for one metric, or for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Margin {
    pub(crate) metric: Option<Metric>,
    pub(crate) share: Percent,
}

impl std::str::FromStr for Margin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (metric, share) = match text.split_once('=') {
            Some((metric, share)) => (Some(metric), share),
            None => (None, text),
        };
        let metric = metric
            .map(str::parse)
            .transpose()
            .map_err(|error: tare_record::UnknownMetric| error.to_string())?;
        Ok(Self { metric, share: share.parse()? })
    }
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// The run's directory
    pub(crate) directory: PathBuf,
    /// Print one JSON document instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// Let the kernel load modules that networks need
    #[arg(long)]
    pub(crate) load_modules: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run's directory
    pub(crate) directory: PathBuf,
    /// Compute ratios against this network instead
    #[arg(long, value_name = "LABEL")]
    pub(crate) baseline: Option<String>,
    /// Compare every pair of networks
    #[arg(long, conflicts_with_all = ["json", "markdown", "csv", "density"])]
    pub(crate) pairs: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print GitHub Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Write comma-separated values to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the latencies' distributions as comma-separated values to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) density: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// What to list
    pub(crate) what: Listed,
    /// As JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// As GitHub Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Ways of connecting containers
    Networks,
    /// Kinds of traffic
    Workloads,
    /// Studies in this binary
    Studies,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the kernel modules that networks need and that could be loaded, one a line
    #[arg(long, conflicts_with = "json")]
    pub(crate) modules: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The network
    pub(crate) network: String,
    #[command(flatten)]
    pub(crate) shape: ShapeArguments,
    /// Ports that the servers serve on
    #[arg(long, value_name = "PORT", value_delimiter = ',', default_value = "5201")]
    pub(crate) port: Vec<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// The network
    pub(crate) network: String,
    #[command(flatten)]
    pub(crate) shape: ShapeArguments,
    /// Ports that the servers serve on, published where the network publishes ports
    #[arg(long, value_name = "PORT", value_delimiter = ',', default_value = "5201")]
    pub(crate) port: Vec<u16>,
    /// Run this shell command in the first server meanwhile
    #[arg(long, value_name = "COMMAND")]
    pub(crate) serve: Option<String>,
    /// Let the kernel load modules that the network needs
    #[arg(long)]
    pub(crate) load_modules: bool,
    /// The program for the first client, with its arguments; {server} stands for the server's address, and the name `server` resolves to it. A shell unless given
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

const LISTEN_EXAMPLES: &str = "\
Examples:
  tare listen                                     for probes of this machine alone
  openssl rand -hex 16 >token                     a token, to be copied to the other machine
  tare listen --bind 0.0.0.0 --token-file token   for everybody who has it
  tare listen --bind :: --token-file token --ports 5300-5399 --max-duration 1m
                                                  through a firewall that lets 8273 and 5300-5399 pass";

const PROBE_EXAMPLES: &str = "\
Examples:
  tare probe localhost                                       throughput and round trips, 10s each
  tare probe db1 --token-file token --flows 8 --blocks 5     five trials of each, with an interval
  tare probe db1 --token-file token --workload tcp-rr --size 64 --duration 30s --json";

#[derive(Debug, Args)]
pub(crate) struct ListenArguments {
    /// The address to listen on: 0.0.0.0 for all of IPv4, :: for all of both. Beyond this machine a token is needed
    #[arg(long, value_name = "ADDR", default_value_t = Ipv4Addr::LOCALHOST.into())]
    pub(crate) bind: IpAddr,
    #[command(flatten)]
    pub(crate) remote: RemoteArguments,
    /// Ports for the traffic itself, TCP and UDP, as in 5300-5399 [default: whatever is free]
    #[arg(long, value_name = "FIRST-LAST")]
    pub(crate) ports: Option<Ports>,

    /// The longest trial [default: 1h]
    #[arg(long, value_name = "T", help_heading = "Caps")]
    pub(crate) max_duration: Option<Span>,
    /// The most that all trials together may offer, bits of payload per second; workloads that go as fast as they can
    /// are refused then [default: no cap]
    #[arg(long, value_name = "RATE", help_heading = "Caps")]
    pub(crate) max_rate: Option<Load>,
    /// Clients at once [default: 16]
    #[arg(long, value_name = "N", help_heading = "Caps")]
    pub(crate) max_clients: Option<u32>,
    /// Flows of all clients at once [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Caps")]
    pub(crate) max_flows: Option<u32>,
    /// Memory that the trials of all clients at once may ask for, MiB [default: 1024]
    #[arg(long, value_name = "MIB", help_heading = "Caps")]
    pub(crate) max_memory: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArguments {
    /// The other machine: a name or an address
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) remote: RemoteArguments,

    /// Workloads [default: tcp-stream,tcp-rr]
    #[arg(
        short,
        long = "workload",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "What"
    )]
    pub(crate) workloads: Vec<String>,
    /// Metrics, of those that the workloads measure
    #[arg(
        short,
        long = "metric",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "What"
    )]
    pub(crate) metrics: Vec<Metric>,

    /// Flows (connections); several counts are measured one after another
    #[arg(short, long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) flows: Vec<u32>,
    /// The IP family to reach the host by: ipv4, ipv6 [default: the first that answers]
    #[arg(long, value_name = "FAMILY", help_heading = "Shape")]
    pub(crate) family: Option<Family>,
    /// Cores of the two sides: spread, same, free, or CLIENT/LISTENER as in 0-1/2-3 [default: free; spread where both
    /// are on one machine]
    #[arg(long, value_name = "PLACEMENT", help_heading = "Shape")]
    pub(crate) cpus: Option<Placement>,

    #[command(flatten)]
    pub(crate) traffic: TrafficArguments,

    /// How long payload flows in a trial [default: 10s]
    #[arg(short, long, value_name = "T", allow_hyphen_values = true, help_heading = "Method")]
    pub(crate) duration: Option<Span>,
    /// How long an interval record is [default: 100ms]
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub(crate) interval: Option<Span>,
    /// How the beginning of a trial is treated: found (auto), or this long discarded
    #[arg(long, value_name = "auto|T", help_heading = "Method")]
    pub(crate) warmup: Option<WarmUpSpan>,
    /// How many trials of each; two or more give an interval
    #[arg(
        short,
        long,
        value_name = "K",
        default_value_t = 1,
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    pub(crate) blocks: u32,

    /// A directory for the journal and the results; nothing is kept unless given
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManualArguments {
    /// Where to
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// Where to
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct InsideArguments {
    /// What to do there, as the lab spells it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<std::ffi::OsString>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn margins_are_for_one_metric_or_for_all() {
        let one: Margin = "latency_p99=20%".parse().unwrap();
        assert_eq!(one.metric, Some(Metric::LatencyP99));
        assert!("2%".parse::<Margin>().unwrap().metric.is_none());
        assert!("speed=2%".parse::<Margin>().is_err());
        assert!("throughput=0%".parse::<Margin>().is_err());
    }
}
