//! Docker support of the command: its flags, its engine, and their replacement in a build without Docker.

use clap::Args;

#[cfg(feature = "docker")]
mod enabled;
#[cfg(feature = "docker")]
pub(crate) use enabled::DockerSupport;

#[cfg(not(feature = "docker"))]
mod disabled;
#[cfg(not(feature = "docker"))]
pub(crate) use disabled::DockerSupport;

/// Options of Docker networks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DockerArguments {
    /// Image of Docker's containers, instead of tare's own; tare's binary is copied into the containers
    #[arg(long, value_name = "IMAGE", help_heading = "Docker")]
    pub(crate) image: Option<String>,
    /// Security option of Docker's containers, as for `docker run` [default: Docker's own profile]
    #[arg(long, value_name = "OPTION", help_heading = "Docker")]
    pub(crate) security_opt: Vec<String>,
    /// Parent device on the host for Docker's macvlan and ipvlan networks [default: the uplink]
    #[arg(long, value_name = "DEVICE", help_heading = "Docker")]
    pub(crate) parent: Option<String>,
    /// Another engine of the Swarm whose manager is DOCKER_HOST: unix:///PATH or tcp://HOST:PORT. The image is loaded
    /// into the engine, so that its node can run containers; may be repeated
    #[arg(long = "engine", value_name = "URL", help_heading = "Docker")]
    pub(crate) engines: Vec<String>,
    /// Place all containers of a Swarm network on one node, instead of servers and clients on different nodes
    #[arg(long, help_heading = "Docker")]
    pub(crate) same_node: bool,
    /// Docker context of the servers' engine, if the clients are on another engine
    #[arg(long, value_name = "CONTEXT", requires = "client_context", help_heading = "Docker")]
    pub(crate) server_context: Option<String>,
    /// Docker context of the clients' engine
    #[arg(long, value_name = "CONTEXT", requires = "server_context", help_heading = "Docker")]
    pub(crate) client_context: Option<String>,
}
