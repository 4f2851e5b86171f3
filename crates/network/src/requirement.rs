//! Requirements of a network on the machine, and the remedy for each that is not met.

use std::fmt;

/// Requirement without which a network cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// Private namespaces for the lab, made by root or through unprivileged user namespaces.
    Namespaces,
    /// Kernel feature, named by the module that provides it if it is not built in: `veth`, `bridge`, `br_netfilter`,
    /// `nf_tables`.
    Kernel {
        /// Name of the module, as `modprobe` takes it.
        module: &'static str,
    },
    /// Program on the PATH.
    Program {
        /// Name of the program.
        name: &'static str,
        /// Debian package that contains the program.
        package: &'static str,
    },
    /// Device file that the user can read and write, and the module that provides it: `/dev/net/tun`, `tun`.
    DeviceFile {
        /// Path of the device file.
        path: &'static str,
        /// Name of the module, as `modprobe` takes it.
        module: &'static str,
    },
    /// Least number of nodes.
    Nodes(u32),
    /// Requirement that the network itself has checked and found missing.
    Unmet(UnmetRequirement),
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespaces => f.write_str("private namespaces"),
            Self::Kernel { module } => write!(f, "kernel support for {module}"),
            Self::Program { name, .. } => write!(f, "the program {name}"),
            Self::DeviceFile { path, .. } => f.write_str(path),
            Self::Nodes(least) => write!(f, "{least} nodes"),
            Self::Unmet(missing) => f.write_str(&missing.reason),
        }
    }
}

/// Requirement that is not met.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnmetRequirement {
    /// Missing thing and reason, in one line.
    pub reason: String,
    /// Remedy in one line.
    pub remedy: String,
}

/// Check whether a requirement is met. It does not change the machine: nothing is installed or loaded.
pub trait RequirementProbe {
    /// Checks one requirement.
    ///
    /// # Errors
    /// The requirement is not met. The error says what is missing, and gives the remedy.
    fn check(&self, need: &Requirement) -> Result<(), UnmetRequirement>;
}

/// Probe that takes every requirement for met, for tests and dry runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PermissiveProbe;

impl RequirementProbe for PermissiveProbe {
    fn check(&self, _: &Requirement) -> Result<(), UnmetRequirement> {
        Ok(())
    }
}
