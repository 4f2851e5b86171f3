//! Arguments of `tare image` and `tare clean`.

use crate::kubernetes::ClusterAccessArguments;
use clap::Args;
use std::path::PathBuf;

pub(crate) const IMAGE_EXAMPLES: &str = "\
Examples:
  tare image | docker load        loads the image into the local engine, as tare:VERSION
  tare image --load               the same through the engine's API (DOCKER_HOST)
  tare image --output tare.tar    writes a file, which is also an OCI image layout";

#[derive(Debug, Args)]
pub(crate) struct ImageArguments {
    /// Output file (- for standard output)
    #[arg(short, long, value_name = "F", default_value = "-", conflicts_with = "load")]
    pub(crate) output: PathBuf,
    /// Load the image into the Docker Engine
    #[arg(long)]
    pub(crate) load: bool,
    /// Name and tag of the image
    #[arg(long, value_name = "NAME:TAG", default_value = concat!("tare:", env!("CARGO_PKG_VERSION")))]
    pub(crate) tag: String,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// Another engine to search: unix:///PATH or tcp://HOST:PORT; may be repeated
    #[arg(long = "engine", value_name = "URL")]
    pub(crate) engines: Vec<String>,
    /// Run of another machine or container that has ended: remove what it left, too; may be repeated
    #[arg(long = "run", value_name = "ID")]
    pub(crate) runs: Vec<String>,
    /// Remove cached database files, which tare keeps for the next run, instead of Docker objects
    #[arg(long, conflicts_with_all = ["engines", "runs"])]
    pub(crate) data: bool,
    /// Remove what ended runs left in a Kubernetes cluster, instead of Docker objects
    #[arg(long, conflicts_with_all = ["engines", "data"])]
    pub(crate) kubernetes: bool,
    /// Options by which the cluster is reached.
    #[command(flatten)]
    pub(crate) cluster: ClusterAccessArguments,
    /// Remove without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}
