//! Docker as the command sees it: its flags, its place, and what there is of them in a build without it.

use clap::Args;

#[cfg(feature = "docker")]
mod with;
#[cfg(feature = "docker")]
pub(crate) use with::Docker;

#[cfg(not(feature = "docker"))]
mod without;
#[cfg(not(feature = "docker"))]
pub(crate) use without::Docker;

/// What can be chosen of Docker's networks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DockerArguments {
    /// Run Docker's containers of this image instead of tare's own; tare's binary is put into them
    #[arg(long, value_name = "IMAGE", help_heading = "Docker")]
    pub(crate) image: Option<String>,
    /// A security option of Docker's containers, as `docker run` takes it [default: Docker's own profile]
    #[arg(long, value_name = "OPTION", help_heading = "Docker")]
    pub(crate) security_opt: Vec<String>,
    /// The host's device that macvlan and ipvlan networks of Docker's sit on [default: the uplink]
    #[arg(long, value_name = "DEVICE", help_heading = "Docker")]
    pub(crate) parent: Option<String>,
    /// Another engine of the Swarm whose manager DOCKER_HOST names, as unix:///PATH or tcp://HOST:PORT: the image is loaded
    /// there, so that its node can have containers; may stand again
    #[arg(long = "engine", value_name = "URL", help_heading = "Docker")]
    pub(crate) engines: Vec<String>,
    /// Put all containers of a Swarm's networks on one node, instead of servers and clients on different ones
    #[arg(long, help_heading = "Docker")]
    pub(crate) same_node: bool,
    /// The Docker context of the servers' engine, where the clients are on another one
    #[arg(long, value_name = "CONTEXT", requires = "client_context", help_heading = "Docker")]
    pub(crate) server_context: Option<String>,
    /// The Docker context of the clients' engine
    #[arg(long, value_name = "CONTEXT", requires = "server_context", help_heading = "Docker")]
    pub(crate) client_context: Option<String>,
}
