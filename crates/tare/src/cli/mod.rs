//! Command line, from which help, completions and manual pages are generated.

mod compare;
#[cfg(feature = "docker")]
mod docker;
mod help;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod plugin_name;
mod probe;
mod run;

use crate::docker::DockerArguments;
use crate::error_pages::ERROR_PAGES;
use crate::kubernetes::ClusterArguments;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, ValueEnum};
use std::path::PathBuf;
use tare_study::TimeSpan;

pub(crate) use compare::CompareArguments;
#[cfg(feature = "docker")]
pub(crate) use docker::{CleanArguments, ImageArguments};
#[cfg(feature = "kubernetes")]
pub(crate) use kubernetes::{KubernetesAction, KubernetesArguments};
pub(crate) use probe::{ListenArguments, ProbeArguments};
pub(crate) use run::{DryRunOutput, RunArguments, ShapeArguments};

/// Measures the cost of container networks, with confidence intervals.
#[derive(Debug, Parser)]
#[command(name = "tare", version = env!("TARE_VERSION"), max_term_width = 100, propagate_version = true, after_help = help::FIRST_COMMANDS)]
pub(crate) struct Cli {
    /// Subcommand to run.
    #[command(subcommand)]
    pub(crate) command: Subcommand,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subcommand {
    /// Measure networks, compare them and print the cost of each
    Run(Box<RunArguments>),
    /// List the questions that tare answers, or measure the answer to one
    Ask(AskArguments),
    /// Finish an interrupted run, or complete one in which networks failed, with the same plan and seed
    Resume(ResumeArguments),
    /// Show the results of a run again, from its journal, with all notes
    Report(ReportArguments),
    /// Compare runs of different kernels, versions or machines
    #[command(after_help = compare::EXAMPLES)]
    Compare(CompareArguments),
    /// Pack a run into one archive that others can verify, cite and show
    Bundle(BundleArguments),
    /// List networks, workloads and studies, and what is missing to run them here
    List(ListArguments),
    /// Check this machine: kernel, privileges, programs, noise
    Doctor(DoctorArguments),
    /// Explain an error at length, by the code at its end
    Explain(ExplainArguments),
    /// Print the commands that build a network by hand, or the report of an archive of a run
    Show(ShowArguments),
    /// Set up a network and run a program (or a shell) in its first client
    Up(Box<UpArguments>),
    /// Serve probes from other machines, until interrupted
    #[command(after_help = LISTEN_EXAMPLES)]
    Listen(ListenArguments),
    /// Measure the path to a machine that runs `tare listen`
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(Box<ProbeArguments>),
    /// Write a Docker image of tare to a file, or load it into an engine
    #[cfg(feature = "docker")]
    #[command(after_help = docker::IMAGE_EXAMPLES)]
    Image(ImageArguments),
    /// List and remove Docker objects of killed runs, found by tare's label, or cached database files
    #[cfg(feature = "docker")]
    Clean(CleanArguments),
    /// Print what a Kubernetes cluster must allow
    #[cfg(feature = "kubernetes")]
    Kubernetes(KubernetesArguments),
    /// Print completions for a shell
    Completions(CompletionsArguments),
    /// Write the manual pages
    #[command(hide = true)]
    Manual(ManualArguments),
    /// Write the JSON schemas of the output of `--json`
    #[cfg(feature = "generators")]
    #[command(hide = true)]
    Schema(SchemaArguments),
    /// Print the documentation page of a study, from the document of a run of it
    #[cfg(feature = "generators")]
    #[command(hide = true)]
    StudyPage(StudyPageArguments),
    /// Run a role that tare starts itself
    #[command(hide = true, subcommand)]
    Internal(InternalRole),
}

/// Roles that tare starts itself, in containers, namespaces and on nodes.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum InternalRole {
    /// Run traffic as commanded on standard input
    Agent(AgentArguments),
    /// Run as the init process of the lab, or of a container
    Init,
    /// Wait for a signal, as the first container of a pod
    #[cfg(feature = "docker")]
    Pause,
    /// Generate background CPU load
    CpuLoad,
    /// Execute a program with a private hosts file
    Exec(InternalArguments),
    /// Forward a port in user space
    Proxy(InternalArguments),
    /// Publish a port by slirp4netns
    Publish(InternalArguments),
    /// Attach an eBPF program that redirects packets between veth pairs
    EbpfRedirect(InternalArguments),
    /// Carry a device's frames in UDP
    WeaveSleeve(InternalArguments),
    /// Report a container's view of its network
    NetnsProbe(InternalArguments),
    /// Serve the reverse tunnel of the tasks of a Swarm
    #[cfg(feature = "docker")]
    Tunnel(InternalArguments),
    /// Connect a task of a Swarm to the reverse tunnel and start programs in it
    #[cfg(feature = "docker")]
    TaskAgent(InternalArguments),
    /// Start programs in a pod as commanded on standard input
    #[cfg(feature = "kubernetes")]
    PodAgent,
    /// Remove what a run made in a cluster if the run ends without doing so
    #[cfg(feature = "kubernetes")]
    KubernetesReaper(InternalArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AskArguments {
    /// Name of the question [default: list them]
    pub(crate) question: Option<String>,
    /// Maximum duration of the measurement [default: the question's]
    #[arg(long, value_name = "T")]
    pub(crate) budget: Option<TimeSpan>,
    /// Directory for the journal and the results [default: tare-QUESTION-TIME]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the HTML page with all figures to this file
    #[arg(long, value_name = "F")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Allow the kernel to load modules that networks need
    #[arg(long)]
    pub(crate) load_modules: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Code at the end of an error [default: list all codes]
    #[arg(value_parser = error_codes(), ignore_case = true, hide_possible_values = true)]
    pub(crate) code: Option<String>,
}

/// Returns the parser of the code of an error.
fn error_codes() -> PossibleValuesParser {
    let mut codes: Vec<&str> = ERROR_PAGES.iter().map(|page| page.code).collect();
    codes.sort_unstable();
    codes.into()
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// Directory of the run
    pub(crate) directory: PathBuf,
    /// Print one JSON document instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Allow the kernel to load modules that networks need
    #[arg(long)]
    pub(crate) load_modules: bool,
    /// Allow what the journal asks for: programs (exec:PATH, cni:FILE), images, engines, security options
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// Run even if it takes more than half of the host's free resources
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Directory of the run, or an archive of `tare bundle`, which is checked first
    #[arg(value_name = "DIRECTORY")]
    pub(crate) run: PathBuf,
    /// Label of the network that ratios refer to [default: the run's baseline]
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
    /// Draw a chart in the terminal instead of printing the table
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["json", "markdown", "pairs"])]
    pub(crate) plot: Option<PlotSubject>,
    /// Write the HTML page with all figures to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) html: Option<PathBuf>,
    /// Write comma-separated values to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) csv: Option<PathBuf>,
    /// Write one row per sample (tidy data) as comma-separated values to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) samples: Option<PathBuf>,
    /// Write OpenMetrics text for Prometheus to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Write the latency distributions as comma-separated values to this file (- for standard output)
    #[arg(long, value_name = "F")]
    pub(crate) density: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct BundleArguments {
    /// Directory of the run
    pub(crate) directory: PathBuf,
    /// Archive to write [default: tare-STUDY-SEED.tar.gz]
    #[arg(short, long, value_name = "F")]
    pub(crate) out: Option<PathBuf>,
    /// Print the archive in base64 instead of writing it, for places from which only a log comes back: `base64 --decode`
    /// gives the archive
    #[arg(long, conflicts_with = "out")]
    pub(crate) base64: bool,
    /// Keep only what is known to be public: no name of a device, host or user, no address, path, registry or time of day
    #[arg(long)]
    pub(crate) redact: bool,
}

/// Subject of a chart in the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotSubject {
    /// Distribution of round-trip times
    Latency,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// What to list
    pub(crate) what: ListSubject,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print GitHub Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// Subject of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListSubject {
    /// Ways to connect containers
    Networks,
    /// Kinds of traffic
    Workloads,
    /// Built-in studies
    Studies,
    /// Questions of `tare ask`
    Questions,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only kernel modules that networks need and that are available but not loaded, one per line
    #[arg(long, conflicts_with = "json")]
    pub(crate) modules: bool,
    /// Check the settings alone, without ten seconds of comparing two networks that are alike
    #[arg(long)]
    pub(crate) settings: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Network to show, or an archive of `tare bundle`, which is checked and reported
    pub(crate) network: String,
    #[command(flatten)]
    pub(crate) shape: ShapeArguments,
    /// Ports of the servers
    #[arg(long, value_name = "PORT", value_delimiter = ',', default_value = "5201")]
    pub(crate) port: Vec<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// Network to set up
    pub(crate) network: String,
    #[command(flatten)]
    pub(crate) shape: ShapeArguments,
    /// Ports of the servers, published if the network publishes ports
    #[arg(long, value_name = "PORT", value_delimiter = ',', default_value = "5201")]
    pub(crate) port: Vec<u16>,
    #[command(flatten)]
    pub(crate) docker: DockerArguments,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Shell command to run in the first server beside the program
    #[arg(long, value_name = "COMMAND")]
    pub(crate) serve: Option<String>,
    /// Allow the kernel to load modules that the network needs
    #[arg(long)]
    pub(crate) load_modules: bool,
    /// Set up the network even if it takes more than half of the host's free resources
    #[arg(long)]
    pub(crate) force: bool,
    /// Program for the first client, with its arguments; {server} stands for the server's address, and the name
    /// `server` resolves to it [default: a shell]
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

const LISTEN_EXAMPLES: &str = "\
Examples:
  tare listen                                     for probes from this machine only
  (umask 077; openssl rand -hex 16 >token)        generates a token; copy it to the other machine
  tare listen --bind 0.0.0.0 --token-file token   for all machines that have the token
  tare listen --bind :: --token-file token --ports 5300-5399 --max-duration 1m
                                                  through a firewall that allows 8273 and 5300-5399";

const PROBE_EXAMPLES: &str = "\
Examples:
  tare probe localhost                                       throughput and round trips, 10s each
  tare probe db1 --token-file token --flows 8 --blocks 5     5 trials of each, with 95 % intervals
  tare probe db1 --token-file token --workload tcp-rr --size 64 --duration 30s --json";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell to complete for
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManualArguments {
    /// Output directory
    pub(crate) directory: PathBuf,
}

#[cfg(feature = "generators")]
#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// Output directory
    pub(crate) directory: PathBuf,
}

#[cfg(feature = "generators")]
#[derive(Debug, Args)]
pub(crate) struct StudyPageArguments {
    /// JSON document of a run, for a page of a built-in study or of `tare ask`
    pub(crate) result: PathBuf,
    /// Print a picture (SVG) instead
    #[arg(long, value_name = "WHAT")]
    pub(crate) picture: Option<PagePicture>,
}

/// Picture of a page of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PagePicture {
    /// Bars of the page of `tare ask`
    Figure,
    /// Report of the run on a terminal
    Terminal,
}

#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// Files of the network namespaces to serve [default: the namespace of the process]
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub(crate) namespaces: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InternalArguments {
    /// Arguments of the role, as written by the lab
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
