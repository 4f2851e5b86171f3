//! The [`Network`] trait, and the parameters with which a network is set up.

use crate::{Error, NetworkOption, NetworkOptions, NetworkSpec, Requirement, Shape, Topology};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Description of a network in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkInfo {
    /// Name, as users spell it.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Real system that the network is or stands for.
    pub stands_for: &'static str,
    /// Source that documents that system's wiring.
    pub source: &'static str,
    /// Options that the network takes. Each of them makes another network of it.
    pub options: &'static [NetworkOption],
}

/// First of the ports that a server publishes beside those of the workloads. It is below the ports that the kernel picks.
const FIRST_FURTHER_PORT: u16 = 20_001;

/// Parameters for which a network is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkParameters {
    /// Ports that the workloads serve on, in every server. Every block has fresh ports.
    pub ports: Vec<u16>,
    /// Options that change the network.
    pub options: NetworkOptions,
    /// Argument after the colon of a network's name: the file of `cni:FILE`.
    pub argument: Option<String>,
    /// Directory for the logs of the programs that the network starts.
    pub logs: Option<PathBuf>,
    /// Default TCP congestion control of the network namespaces that the network makes: that of programs which choose
    /// none. `None`: the kernel's, which is that of the machine's first namespace.
    pub congestion: Option<String>,
}

impl NetworkParameters {
    /// Returns the parameters for a network as it is spelled, with workloads on these ports.
    #[must_use]
    pub fn from_spec(spelled: &NetworkSpec, ports: Vec<u16>) -> Self {
        let argument = spelled.argument().map(str::to_owned);
        Self { ports, options: spelled.options, argument, logs: None, congestion: None }
    }

    /// Returns the ports that a server publishes: those of the workloads, then further ones.
    pub fn published_ports(&self) -> impl Iterator<Item = u16> {
        self.ports.iter().copied().chain(self.further_ports())
    }

    /// Returns the ports that a server publishes beside those of the workloads: the first that no workload has.
    pub fn further_ports(&self) -> impl Iterator<Item = u16> {
        let free = (FIRST_FURTHER_PORT..).filter(|port| !self.ports.contains(port));
        free.take(self.options.ports.unwrap_or_default().into())
    }
}

/// Kind of the nodes of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Namespaces of one machine, whose CPU does the work of everything that joins them.
    Namespace,
    /// Machines, or what their place takes for machines.
    Machine,
}

/// Namespaces in which the agents of a network run. They decide which TCP congestion controls the agents may choose: a
/// restricted one asks for CAP_NET_ADMIN in the user namespace that owns the network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentNamespaces {
    /// Private namespaces that tare made and owns: every control that this kernel has.
    Lab,
    /// The namespace in which tare was started: every control for root, else those that everybody may choose.
    Caller,
    /// Containers of another program on this machine, without CAP_NET_ADMIN: controls that everybody may choose.
    Container,
    /// Another machine, or another kernel, whose controls are not known before a run.
    OtherMachine,
}

/// A network: one way of connecting containers.
pub trait Network: Send + Sync {
    /// Returns the description of the network.
    fn info(&self) -> NetworkInfo;

    /// Returns the prefix of a name whose rest the user supplies: `cni:` of `cni:FILE`. Returns `None` if the name is
    /// complete without an argument.
    fn scheme(&self) -> Option<&'static str> {
        None
    }

    /// Returns the programs that run on this machine because the argument in the name says so, each as a path or in
    /// words. A study file with such a network runs only if the command line allows it. Empty if the argument is no
    /// program.
    fn programs_of_argument(&self, _argument: &str) -> Vec<String> {
        Vec::new()
    }

    /// Returns the requirements of the network on the machine.
    fn requirements(&self, site: &NetworkParameters) -> Vec<Requirement>;

    /// Checks that the network has room for a shape: ports, addresses, and everything else that its kind limits rather
    /// than the machine. The runner checks this before it sets anything up.
    ///
    /// # Errors
    /// The network has no room for the shape. The error says for what, and gives the remedy.
    fn check_capacity(&self, _shape: &Shape, _site: &NetworkParameters) -> Result<(), Error> {
        Ok(())
    }

    /// Sets the network up, and returns when a packet can pass.
    ///
    /// Blocking. Dropping the topology removes all of it. After an error nothing is left.
    ///
    /// # Errors
    /// A step failed. The error says which, why, and what to do.
    fn set_up(&self, shape: &Shape, site: &NetworkParameters) -> Result<Topology, Error>;

    /// Returns true if the network may work when it is raised anew after it broke.
    fn can_be_raised_anew(&self) -> bool {
        true
    }

    /// Returns the range of the number of nodes that the network can join.
    fn nodes(&self) -> RangeInclusive<u32> {
        1..=1
    }

    /// Returns true if the network is on a pair of a cluster's nodes, of which a run may measure several
    /// ([`Shape::node_pair`]).
    fn has_node_pairs(&self) -> bool {
        false
    }

    /// Returns the kind of the nodes.
    fn node_kind(&self) -> NodeKind {
        NodeKind::Namespace
    }

    /// Returns the namespaces in which the agents run.
    fn agent_namespaces(&self) -> AgentNamespaces {
        AgentNamespaces::Lab
    }

    /// Returns true if slices of a few milliseconds tell what the network carries. They do not if its traffic stands still
    /// for longer than a slice, as it does where a stack in user space drops what TCP sends again after its timeout: most
    /// of that time falls into the pauses, in which nothing counts.
    fn can_be_woven(&self) -> bool {
        true
    }

    /// Returns the commands that build the same network by hand, as the lines of a shell script.
    fn commands(&self, shape: &Shape, site: &NetworkParameters) -> Vec<String>;
}
