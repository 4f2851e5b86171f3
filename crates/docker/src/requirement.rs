//! Requirements of a network of Docker, in addition to an engine.

use tare_network::RuntimeName;

/// Stack in user space by which Podman connects a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserModeStack {
    /// pasta, of passt.
    Pasta,
    /// slirp4netns.
    Slirp4netns,
}

impl UserModeStack {
    /// Returns the name of the program, which is the name of Podman's network mode.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pasta => "pasta",
            Self::Slirp4netns => "slirp4netns",
        }
    }
}

/// Requirement of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineRequirement {
    /// A network driver of the engine.
    Driver(&'static str),
    /// A network that exists already.
    ExistingNetwork(String),
    /// Two engines, each named by a context.
    TwoContexts,
    /// An engine that manages a Swarm.
    SwarmManager,
    /// The engine on this machine, and root's privileges on it.
    LocalRoot,
    /// A Podman whose containers belong to root.
    RootfulPodman,
    /// A Podman whose containers belong to an ordinary user.
    RootlessPodman,
    /// The program of a rootless network mode that this Podman knows.
    PodmanStack(UserModeStack),
    /// An OCI runtime that the engine knows.
    Runtime(RuntimeName),
    /// An engine whose bridges have rules of iptables.
    IptablesFirewall,
    /// A feature of the engine's kernel, by its module.
    Kernel(&'static str),
    /// A program on this machine, and the Debian package that has it.
    Program {
        /// Name of the program.
        name: &'static str,
        /// Name of the package.
        package: &'static str,
    },
}
