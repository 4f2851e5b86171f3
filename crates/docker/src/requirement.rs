//! Requirements of a network of Docker, in addition to an engine.

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
