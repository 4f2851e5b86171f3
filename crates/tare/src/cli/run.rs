//! Arguments of `tare run`.

use crate::docker::DockerArguments;
use crate::kubernetes::ClusterArguments;
use crate::traffic_flags::TrafficArguments;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tare_record::{AblationFactor, Family, Metric, Offload, Placement};
use tare_study::{Percent, SliceLength, TimeSpan, WarmUpSpan};

/// Networks, workloads and method of a run.
#[derive(Debug, Default, Args)]
pub(crate) struct RunArguments {
    /// Name of a built-in study, or a TOML file [default: tour, which measures all networks that run here]
    pub(crate) study: Option<String>,

    /// Networks to measure, each [LABEL=]NAME[+OPTION..], for example bridge+plain or x=veth+rate=1gbit; `all` stands
    /// for all networks of the lab that run here, `core` for Docker's setup on one host and its parts, `docker:all` for
    /// all networks of a Docker Engine
    #[arg(
        short,
        long = "network",
        value_name = "[LABEL=]NAME",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub(crate) networks: Vec<String>,
    /// Workloads to run [default: the study's]
    #[arg(
        short,
        long = "workload",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub(crate) workloads: Vec<String>,
    /// Metrics to report, of those that the workloads measure [default: the study's]
    #[arg(
        short,
        long = "metric",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub(crate) metrics: Vec<Metric>,
    /// Label of the network that ratios refer to [default: host]
    #[arg(long, value_name = "LABEL", help_heading = "Selection")]
    pub(crate) baseline: Option<String>,

    /// Measure every network also with one change at a time, and report the effect of each: netfilter, conntrack, gro,
    /// gso, tso or checksum off, mtu 9000, rps on. Without names, --ablate makes all changes; with names, only those,
    /// for example --ablate=gro,tso
    #[arg(
        long,
        value_name = "WHAT",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        default_missing_values = AblationFactor::ALL.map(AblationFactor::name),
        help_heading = "Selection"
    )]
    pub(crate) ablate: Option<Vec<AblationFactor>>,

    #[command(flatten)]
    pub(crate) shape: ShapeArguments,

    #[command(flatten)]
    pub(crate) traffic: TrafficArguments,

    #[command(flatten)]
    pub(crate) docker: DockerArguments,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Number of pairs of nodes, each with ratios of its own [default: as many as nodes are named, else 1]
    #[arg(long, visible_alias = "pairs", value_name = "N", help_heading = "Kubernetes")]
    pub(crate) node_pairs: Option<u32>,

    /// Time during which payload flows in a trial
    #[arg(short, long, value_name = "T", allow_hyphen_values = true, help_heading = "Method")]
    pub(crate) duration: Option<TimeSpan>,
    /// Length of the intervals in which a trial is recorded
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub(crate) interval: Option<TimeSpan>,
    /// Warm-up to discard from each trial: auto (detected), or a time span
    #[arg(long, value_name = "auto|T", help_heading = "Method")]
    pub(crate) warmup: Option<WarmUpSpan>,
    /// Length of the slices in which networks that are up at once are measured in turn, 5ms to 10s; auto: the first
    /// blocks choose it; off: one network after another, each trial in one piece [default: the study's; off with
    /// --duration, --interval or --warmup]
    #[arg(long, value_name = "auto|off|T", help_heading = "Method")]
    pub(crate) slice: Option<SliceLength>,
    /// Fixed number of blocks, instead of a precision and of the study's budget
    #[arg(
        short,
        long,
        value_name = "K",
        conflicts_with = "precision",
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    pub(crate) blocks: Option<u32>,
    /// Target half width of a ratio's 95 % confidence interval [default: half the metric's margin]
    #[arg(short, long, value_name = "SHARE", help_heading = "Method")]
    pub(crate) precision: Option<Percent>,
    /// Check the precision after every block and stop when it is reached, instead of at planned analyses or after a
    /// number of blocks that a pilot determines. The confidence intervals allow for repeated checks and are wider
    #[arg(long, conflicts_with_all = ["blocks", "quick"], help_heading = "Method")]
    pub(crate) sequential: bool,
    /// Maximum duration of the run
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub(crate) budget: Option<TimeSpan>,
    /// Equivalence margin, below which a difference does not matter: SHARE for all metrics, or METRIC=SHARE for one
    #[arg(long, value_name = "[METRIC=]SHARE", value_delimiter = ',', help_heading = "Method")]
    pub(crate) margin: Vec<MarginArgument>,
    /// Seed of all random choices [default: the study's, or a new one]
    #[arg(long, value_name = "S", help_heading = "Method")]
    pub(crate) seed: Option<u64>,
    /// Run a published study with short trials, and with as many blocks as the precision needs
    #[arg(long, conflicts_with = "quick", help_heading = "Method")]
    pub(crate) scaled: bool,
    /// Run a published study with its published durations and repetitions (the default)
    #[arg(long, conflicts_with_all = ["scaled", "quick"], help_heading = "Method")]
    pub(crate) as_published: bool,
    /// Measure with a lower precision: the tour's core networks in under a minute, or the networks of --network in
    /// as long as five blocks take, or a minute if they are woven
    #[arg(short, long, help_heading = "Method")]
    pub(crate) quick: bool,

    /// Directory for the journal and the results [default: tare-STUDY-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Write the HTML page with all figures to this file
    #[arg(long, value_name = "F", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print without measuring: the plan, or with --dry-run=client all objects that the run makes in a Kubernetes cluster,
    /// which is not asked. There `-o yaml` and `-o json` are formats, as kubectl has them [default: yaml]
    #[arg(
        long,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "plan",
        help_heading = "Output"
    )]
    pub(crate) dry_run: Option<DryRunOutput>,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Allow the kernel to load modules that networks need
    #[arg(long, help_heading = "Permissions")]
    pub(crate) load_modules: bool,
    /// Allow what a study file asks for: programs (exec:PATH, cni:FILE), weaker confinement (+unconfined)
    #[arg(long, help_heading = "Permissions")]
    pub(crate) allow_exec: bool,
    /// Run even if it takes more than half of the host's free resources: neighbours, tracked connections, process IDs
    #[arg(long, help_heading = "Permissions")]
    pub(crate) force: bool,
}

/// Output of a run that measures nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRunOutput {
    /// The plan
    Plan,
    /// Objects that the run makes in a Kubernetes cluster
    Client,
}

/// Shapes: every combination of the values is measured.
#[derive(Debug, Default, Args)]
pub(crate) struct ShapeArguments {
    /// Number of nodes, connected by a switch: clients on the first half, servers on the second half
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) nodes: Vec<u32>,
    /// Properties of the links between nodes: some of rate=10gbit,queue=10ms,delay=100us,loss=0.01%,mtu=1500; may be
    /// repeated, and each is measured
    #[arg(long, value_name = "LINK", help_heading = "Shape")]
    pub(crate) link: Vec<String>,
    /// Let forwarding nodes clamp the maximum segment size of TCP connections to the path MTU
    #[arg(long, help_heading = "Shape")]
    pub(crate) clamp_mss: bool,
    /// Background load of the nodes: cpu=N for N busy processes, spread over the nodes
    #[arg(long, value_name = "cpu=N", help_heading = "Shape")]
    pub(crate) background: Vec<String>,
    /// Number of client containers; client i connects to server i mod n
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) clients: Vec<u32>,
    /// Number n of server containers
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) servers: Vec<u32>,
    /// Number of client processes in each client container
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) processes: Vec<u32>,
    /// Number of flows (connections) of each client process
    #[arg(short, long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) flows: Vec<u32>,
    /// IP families: ipv4, ipv6
    #[arg(long, value_name = "FAMILY", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) family: Vec<Family>,
    /// MTU of the network's devices, bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) mtu: Vec<u32>,
    /// Offloads to disable together, on every device of every path: gro, gso, tso, checksum. To disable one at a time,
    /// use --ablate=gro,gso,tso,checksum
    #[arg(long, value_name = "OFFLOAD", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) without: Vec<Offload>,
    /// Cores of the two sides: spread (half of the cores each), same (one core for both), free (chosen by the kernel),
    /// or CLIENTS/SERVERS, for example 0-1/2-3
    #[arg(long, value_name = "PLACEMENT", help_heading = "Shape")]
    pub(crate) cpus: Option<Placement>,
    /// Number of cores for the whole comparison: clients on the first half, servers on the second half, a network's own
    /// programs on all of them. Several numbers, for example 1,2,4, are measured one after another
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        conflicts_with = "cpus",
        help_heading = "Shape"
    )]
    pub(crate) cores: Vec<u32>,
}

/// Margin for one metric, or for all metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MarginArgument {
    pub(crate) metric: Option<Metric>,
    pub(crate) share: Percent,
}

impl std::str::FromStr for MarginArgument {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_for_one_metric_or_for_all() {
        let one: MarginArgument = "latency_p99=20%".parse().unwrap();
        assert_eq!(one.metric, Some(Metric::LatencyP99));
        assert!("2%".parse::<MarginArgument>().unwrap().metric.is_none());
        assert!("speed=2%".parse::<MarginArgument>().is_err());
        assert!("throughput=0%".parse::<MarginArgument>().is_err());
    }
}
