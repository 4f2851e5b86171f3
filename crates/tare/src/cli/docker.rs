//! What `tare image` and `tare clean` take.

use clap::Args;
use std::path::PathBuf;

pub(crate) const IMAGE_EXAMPLES: &str = "\
Examples:
  tare image | docker load        into the local engine, as tare:VERSION
  tare image --load               the same by the engine's API (DOCKER_HOST)
  tare image --output tare.tar    to a file; it is an OCI image layout, too";

#[derive(Debug, Args)]
pub(crate) struct ImageArguments {
    /// The file (- for standard output)
    #[arg(short, long, value_name = "F", default_value = "-", conflicts_with = "load")]
    pub(crate) output: PathBuf,
    /// Load it into the Docker Engine
    #[arg(long)]
    pub(crate) load: bool,
    /// The image's name and tag
    #[arg(long, value_name = "NAME:TAG", default_value = concat!("tare:", env!("CARGO_PKG_VERSION")))]
    pub(crate) tag: String,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// Another engine to look through, as unix:///PATH or tcp://HOST:PORT; may stand again
    #[arg(long = "engine", value_name = "URL")]
    pub(crate) engines: Vec<String>,
    /// Instead, the data that tare made for databases and keeps for the next run
    #[arg(long, conflicts_with = "engines")]
    pub(crate) data: bool,
    /// Remove without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}
