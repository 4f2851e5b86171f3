//! The command line, from which help, completions and the manual page come.

mod compare;
#[cfg(feature = "docker")]
mod docker;
mod probe;
mod run;

use crate::docker::DockerArguments;
use clap::{Args, Parser, ValueEnum};
use std::path::PathBuf;

pub(crate) use compare::CompareArguments;
#[cfg(feature = "docker")]
pub(crate) use docker::{CleanArguments, ImageArguments};
pub(crate) use probe::{ListenArguments, ProbeArguments};
pub(crate) use run::{RunArguments, ShapeArguments};

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
    /// Set runs beside runs: another kernel, another version, another machine
    #[command(after_help = compare::EXAMPLES)]
    Compare(CompareArguments),
    /// Pack a run into one archive that anybody can check, cite and show again
    Bundle(BundleArguments),
    /// List what there is: networks, workloads, studies; what runs here, and for what does not: why, and the remedy
    List(ListArguments),
    /// Check this machine: kernel, privileges, programs, noise
    Doctor(DoctorArguments),
    /// Print the commands by which a network could be built by hand
    Show(ShowArguments),
    /// Raise a network and run a program (or a shell) in its first client
    Up(Box<UpArguments>),
    /// Serve probes from other machines, until interrupted
    #[command(after_help = LISTEN_EXAMPLES)]
    Listen(ListenArguments),
    /// Measure the way to a machine on which `tare listen` runs
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(Box<ProbeArguments>),
    /// Write an image of this tare for Docker, to a file or into an engine
    #[cfg(feature = "docker")]
    #[command(after_help = docker::IMAGE_EXAMPLES)]
    Image(ImageArguments),
    /// Remove what runs that were killed left in Docker, or data kept for databases: list it, then remove what carries tare's label
    #[cfg(feature = "docker")]
    Clean(CleanArguments),
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
    Agent(AgentArguments),
    /// Keep the lab's processes together (started by tare)
    #[command(hide = true)]
    Keeper,
    /// Compute and nothing else (started by tare beside the traffic)
    #[command(hide = true)]
    Burn,
    /// Start a program with a private hosts file (started by tare)
    #[command(hide = true)]
    Inside(InsideArguments),
    /// Forward a port in userspace (started by tare)
    #[command(hide = true)]
    Proxy(InsideArguments),
    /// Carry a device's frames in UDP (started by tare)
    #[command(hide = true)]
    Sleeve(InsideArguments),
    /// Say what a container sees of its network (started by tare)
    #[cfg(feature = "docker")]
    #[command(hide = true)]
    Look(InsideArguments),
    /// Speak to the tasks of a Swarm (started by tare)
    #[cfg(feature = "docker")]
    #[command(hide = true)]
    Home(InsideArguments),
    /// Wait in a task of a Swarm for what to start (started by tare)
    #[cfg(feature = "docker")]
    #[command(hide = true)]
    Away(InsideArguments),
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
    /// Let the run's journal name programs to run, as in exec:PATH and cni:FILE
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// Run even if it takes more than half of what the host has left
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run's directory
    pub(crate) directory: PathBuf,
    /// Compute ratios against this network instead
    #[arg(long, value_name = "LABEL")]
    pub(crate) baseline: Option<String>,
    /// Compare every pair of networks
    #[arg(long, conflicts_with_all = ["json", "markdown", "html", "csv", "samples", "openmetrics", "density"])]
    pub(crate) pairs: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print GitHub Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Draw in the terminal instead of printing the table
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["json", "markdown", "pairs"])]
    pub(crate) plot: Option<Plotted>,
    /// Write the page, one HTML file with all figures, to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) html: Option<PathBuf>,
    /// Write comma-separated values to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) csv: Option<PathBuf>,
    /// Write one row a sample (tidy data) as comma-separated values to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) samples: Option<PathBuf>,
    /// Write OpenMetrics text, which Prometheus reads, to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Write the latencies' distributions as comma-separated values to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) density: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BundleArguments {
    /// The run's directory
    pub(crate) directory: PathBuf,
    /// The archive [default: tare-STUDY-SEED.tar.gz]
    #[arg(short, long, value_name = "F")]
    pub(crate) out: Option<PathBuf>,
    /// Leave out what tells this machine from others of its kind: names of devices, paths, times of day
    #[arg(long)]
    pub(crate) redact: bool,
}

/// What is drawn in the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Plotted {
    /// How many round trips take how long
    Latency,
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
    #[command(flatten)]
    pub(crate) docker: DockerArguments,
    /// Run this shell command in the first server meanwhile
    #[arg(long, value_name = "COMMAND")]
    pub(crate) serve: Option<String>,
    /// Let the kernel load modules that the network needs
    #[arg(long)]
    pub(crate) load_modules: bool,
    /// Raise it even if it takes more than half of what the host has left
    #[arg(long)]
    pub(crate) force: bool,
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
pub(crate) struct AgentArguments {
    /// Files of the network namespaces to serve; unless given, the one in which it was started
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub(crate) namespaces: Vec<PathBuf>,
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
}
