//! Arguments of `tare run`.

use crate::docker::DockerArguments;
use crate::traffic_flags::TrafficArguments;
use clap::Args;
use std::path::PathBuf;
use tare_record::{AblationFactor, Family, Metric, Offload, Placement};
use tare_study::{Percent, TimeSpan, WarmUpSpan};

/// Networks, workloads and method of a run.
#[derive(Debug, Default, Args)]
pub(crate) struct RunArguments {
    /// Name of a built-in study, or a TOML file [default: tour, all networks that run here]
    pub(crate) study: Option<String>,

    /// Networks, each [LABEL=]NAME[+OPTION..], as in bridge+plain or x=veth+rate=1gbit; `all` stands for all networks
    /// of the lab that run here, `core` for those of Docker's kind on one host, `docker:all` for all of a Docker Engine
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
    /// Label of the network that ratios refer to [default: host]
    #[arg(long, value_name = "LABEL", help_heading = "What")]
    pub(crate) baseline: Option<String>,

    /// Measure every network also with one change at a time, and report the effect of each: netfilter, conntrack, gro,
    /// gso, tso and checksum off, mtu 9000, rps on; all of them unless some are named, as in --ablate=gro,tso
    #[arg(
        long,
        value_name = "WHAT",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        default_missing_values = AblationFactor::ALL.map(AblationFactor::name),
        help_heading = "What"
    )]
    pub(crate) ablate: Option<Vec<AblationFactor>>,

    #[command(flatten)]
    pub(crate) shape: ShapeArguments,

    #[command(flatten)]
    pub(crate) traffic: TrafficArguments,

    #[command(flatten)]
    pub(crate) docker: DockerArguments,

    /// Time during which payload flows in a trial
    #[arg(short, long, value_name = "T", allow_hyphen_values = true, help_heading = "Method")]
    pub(crate) duration: Option<TimeSpan>,
    /// Length of an interval record
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub(crate) interval: Option<TimeSpan>,
    /// Warm-up of a trial: detected (auto), or a time that is discarded
    #[arg(long, value_name = "auto|T", help_heading = "Method")]
    pub(crate) warmup: Option<WarmUpSpan>,
    /// Number of blocks, whatever the spread
    #[arg(
        short,
        long,
        value_name = "K",
        conflicts_with = "precision",
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    pub(crate) blocks: Option<u32>,
    /// Half width of a ratio's 95 % confidence interval to reach [default: half the metric's margin]
    #[arg(short, long, value_name = "SHARE", help_heading = "Method")]
    pub(crate) precision: Option<Percent>,
    /// Measure until the precision is reached, with confidence intervals that may be checked after every block and are
    /// wider for that, instead of as many blocks as a pilot determines
    #[arg(long, conflicts_with_all = ["blocks", "quick"], help_heading = "Method")]
    pub(crate) sequential: bool,
    /// Longest time that the run may take
    #[arg(long, value_name = "T", help_heading = "Method")]
    pub(crate) budget: Option<TimeSpan>,
    /// Equivalence margin, below which a difference does not matter: a share for all metrics, or METRIC=SHARE
    #[arg(long, value_name = "[METRIC=]SHARE", value_delimiter = ',', help_heading = "Method")]
    pub(crate) margin: Vec<MarginArgument>,
    /// Seed of every random choice
    #[arg(long, value_name = "S", help_heading = "Method")]
    pub(crate) seed: Option<u64>,
    /// Run a published study with short trials, and with as many blocks as the precision needs
    #[arg(long, conflicts_with = "quick", help_heading = "Method")]
    pub(crate) scaled: bool,
    /// Run a published study with its own durations and repetitions, however long: the default
    #[arg(long, conflicts_with_all = ["scaled", "quick"], help_heading = "Method")]
    pub(crate) as_published: bool,
    /// Run at a wider precision: the tour's core networks in under a minute, networks named by --network for as long as
    /// they take
    #[arg(short, long, help_heading = "Method")]
    pub(crate) quick: bool,

    /// Directory for the journal and the results [default: tare-STUDY-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Write the HTML page with all figures to this file
    #[arg(long, value_name = "F", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print the plan, and measure nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Allow the kernel to load modules that networks need
    #[arg(long, help_heading = "Machine")]
    pub(crate) load_modules: bool,
    /// Allow programs to run that a study file names, as in exec:PATH and cni:FILE
    #[arg(long, help_heading = "Machine")]
    pub(crate) allow_exec: bool,
    /// Run even if it takes more than half of the host's free resources: neighbours, tracked connections, process IDs
    #[arg(long, help_heading = "Machine")]
    pub(crate) force: bool,
}

/// Shapes: every combination of the values is measured.
#[derive(Debug, Default, Args)]
pub(crate) struct ShapeArguments {
    /// Nodes, joined by a switch: clients on the first half of them, servers on the second half
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) nodes: Vec<u32>,
    /// Links between nodes: some of rate=10gbit,delay=100us,loss=0.01%,mtu=1500. If given twice, both are measured
    #[arg(long, value_name = "LINK", help_heading = "Shape")]
    pub(crate) link: Vec<String>,
    /// Let forwarding nodes lower the maximum segment size of TCP connections to what fits
    #[arg(long, help_heading = "Shape")]
    pub(crate) clamp_mss: bool,
    /// Background load of the nodes: cpu=N, processes that compute
    #[arg(long, value_name = "cpu=N", help_heading = "Shape")]
    pub(crate) background: Vec<String>,
    /// Client containers; client i talks to server i mod n
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) clients: Vec<u32>,
    /// Server containers
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) servers: Vec<u32>,
    /// Client processes in each client container
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) processes: Vec<u32>,
    /// Flows (connections) of each client process
    #[arg(short, long, value_name = "N", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) flows: Vec<u32>,
    /// IP families: ipv4, ipv6
    #[arg(long, value_name = "FAMILY", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) family: Vec<Family>,
    /// MTU of the network's devices, bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) mtu: Vec<u32>,
    /// Offloads to disable, all of them, on every device of every path: gro, gso, tso, checksum. For one at a time, use
    /// --ablate=gro,gso,tso,checksum
    #[arg(long, value_name = "OFFLOAD", value_delimiter = ',', help_heading = "Shape")]
    pub(crate) without: Vec<Offload>,
    /// Cores of the two sides: spread, same, free, or CLIENTS/SERVERS as in 0-1/2-3
    #[arg(long, value_name = "PLACEMENT", help_heading = "Shape")]
    pub(crate) cpus: Option<Placement>,
    /// Cores for the whole comparison: clients on the first half of them, servers on the second half, a network's own
    /// programs on all of them. Several numbers, as in 1,2,4, are measured one by one
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
