//! Arguments of `tare compare`.

use clap::Args;
use std::path::PathBuf;
use tare_record::{ComparisonBasis, Metric};
use tare_study::Percent;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tare compare old new                                   two runs, block by block
  tare compare --base a1 a2 a3 --new b1 b2 b3 --vary kernel
                                                         several runs a side: each boot counts once
  tare compare --base a* --new b* --fail-on 5% --junit compare.xml
                                                         for CI: exits 3 on a regression beyond 5 %, 4 if it cannot tell";

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Directories of two runs: the one to compare with, and the new one
    #[arg(value_name = "BASE NEW", num_args = 0..=2, conflicts_with_all = ["base", "new"])]
    pub(crate) runs: Vec<PathBuf>,
    /// Directories of runs to compare with; several, as boots and sessions differ by themselves
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "new", help_heading = "Runs")]
    pub(crate) base: Vec<PathBuf>,
    /// Directories of the new runs
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "base", help_heading = "Runs")]
    pub(crate) new: Vec<PathBuf>,
    /// Intended differences: kernel, program:nft, sysctl, machine ..; all other differences are reported
    #[arg(long, value_name = "WHAT", value_delimiter = ',', help_heading = "What")]
    pub(crate) vary: Vec<String>,
    /// Only these metrics; with --fail-on, all of them are judged
    #[arg(
        short,
        long = "metric",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "What"
    )]
    pub(crate) metrics: Vec<Metric>,
    /// Compare the figures, or each run's ratios to its own baseline, in which the machine's speed cancels
    #[arg(long, value_name = "WHAT", default_value = "figures", help_heading = "What")]
    pub(crate) of: ComparisonBasis,
    /// Exit with 3 if a metric is worse by more than this beyond doubt, with 4 if that cannot be decided
    #[arg(long, value_name = "SHARE", help_heading = "Output")]
    pub(crate) fail_on: Option<Percent>,
    /// Print one JSON document
    #[arg(long, conflicts_with = "markdown", help_heading = "Output")]
    pub(crate) json: bool,
    /// Print GitHub Markdown
    #[arg(long, help_heading = "Output")]
    pub(crate) markdown: bool,
    /// Write JUnit XML with a test case for each judged cell to this file (- for standard output)
    #[arg(long, value_name = "F", requires = "fail_on", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
}
