//! Arguments of `tare compare`.

use clap::Args;
use std::path::PathBuf;
use tare_record::{ComparisonBasis, Metric};
use tare_study::Percent;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tare compare old new                                   two runs, block by block
  tare compare --base a1 a2 a3 --new b1 b2 b3 --vary kernel
                                                         several runs a side; each boot counts once
  tare compare --base a* --new b* --fail-on 5% --junit compare.xml
                                                         for CI: exit 3 on a regression over 5 %,
                                                         4 if undecided";

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Directories of the base run and the new run
    #[arg(value_name = "BASE NEW", num_args = 0..=2, conflicts_with_all = ["base", "new"])]
    pub(crate) runs: Vec<PathBuf>,
    /// Directories of the base runs; use several, as results differ between boots and sessions
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "new", help_heading = "Runs")]
    pub(crate) base: Vec<PathBuf>,
    /// Directories of the new runs
    #[arg(long, value_name = "DIR", num_args = 1.., requires = "base", help_heading = "Runs")]
    pub(crate) new: Vec<PathBuf>,
    /// Intended differences, for example kernel, program:nft, sysctl, machine; all other differences are reported
    #[arg(long, value_name = "WHAT", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) vary: Vec<String>,
    /// Metrics to compare; with --fail-on, every one of them is judged
    #[arg(
        short,
        long = "metric",
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub(crate) metrics: Vec<Metric>,
    /// Values to compare: figures, or ratios of each run to its own baseline, in which the machine's speed cancels
    #[arg(long, value_name = "WHAT", default_value = "figures", help_heading = "Selection")]
    pub(crate) of: ComparisonBasis,
    /// Exit with 3 if a metric is significantly worse by more than this share, with 4 if that cannot be decided
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
