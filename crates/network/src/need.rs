//! What a network needs of the machine, and what to do where it is missing.

use std::fmt;

/// One thing that a network cannot do without.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// A lab: private namespaces, by root or by unprivileged user namespaces.
    Namespaces,
    /// A kernel feature, by the module that has it when it is not built in: `veth`, `bridge`, `br_netfilter`, `nf_tables`.
    Kernel {
        /// The module's name, as `modprobe` takes it.
        module: &'static str,
    },
    /// A program on the PATH.
    Program {
        /// Its name.
        name: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A device file that may be read and written, and the module that it belongs to: `/dev/net/tun`, `tun`.
    DeviceFile {
        /// Its path.
        path: &'static str,
        /// The module's name, as `modprobe` takes it.
        module: &'static str,
    },
    /// At least so many nodes.
    Nodes(u32),
    /// Something that the network itself has looked for, and that is not there.
    Lacking(Missing),
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespaces => f.write_str("private namespaces"),
            Self::Kernel { module } => write!(f, "kernel support for {module}"),
            Self::Program { name, .. } => write!(f, "the program {name}"),
            Self::DeviceFile { path, .. } => f.write_str(path),
            Self::Nodes(least) => write!(f, "{least} nodes"),
            Self::Lacking(missing) => f.write_str(&missing.reason),
        }
    }
}

/// Something that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Missing {
    /// What and why, in one line.
    pub reason: String,
    /// What would help, in one line.
    pub remedy: String,
}

/// Somebody who can say whether a need is met, without changing the machine: nothing is installed or loaded.
pub trait Probe {
    /// Nothing where the need is met.
    ///
    /// # Errors
    /// What is missing, and the remedy.
    fn check(&self, need: &Need) -> Result<(), Missing>;
}

/// A probe for which everything is there: for tests and dry runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needed;

impl Probe for Needed {
    fn check(&self, _: &Need) -> Result<(), Missing> {
        Ok(())
    }
}
