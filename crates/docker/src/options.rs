//! Options of the user for networks of Docker.

/// Options of the user for all networks of Docker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DockerOptions {
    /// Image to run instead of tare's own; tare's binary is put into its containers.
    pub image: Option<String>,
    /// Security options of every container, as `docker run --security-opt` takes them.
    pub security: Vec<String>,
    /// Parent device of macvlan and ipvlan networks; `None` for the engine's uplink.
    pub parent: Option<String>,
    /// Addresses of further engines of a Swarm; the image is loaded on them.
    pub engines: Vec<String>,
    /// True if all of a Swarm's containers are placed on one of its nodes.
    pub same_node: bool,
    /// Docker contexts of the servers' engine and of the clients', if they are two.
    pub contexts: Option<(String, String)>,
}
