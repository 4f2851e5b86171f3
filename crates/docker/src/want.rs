//! What a network of Docker's wants beside an engine.

/// One thing that it cannot do without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// A network driver of the engine's.
    Driver(&'static str),
    /// A network that is there already.
    Network(String),
    /// Two engines, each by a context.
    TwoContexts,
    /// An engine that manages a Swarm.
    Manager,
    /// The engine on this machine, and root's privileges beside it.
    OwnMachine,
    /// A feature of the engine's kernel, by its module.
    Kernel(&'static str),
    /// A program on this machine, and the Debian package that has it.
    Program { name: &'static str, package: &'static str },
}
