//! The trait itself.

use crate::{Error, Need, NetworkOption, Options, Shape, Spelled, Topology};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// What a network is, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name, as users spell it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The real system that it is or stands for.
    pub stands_for: &'static str,
    /// Where that system's wiring is documented.
    pub source: &'static str,
    /// The options that it takes: each makes another network of it.
    pub options: &'static [NetworkOption],
}

/// What a network is raised for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The ports that the workloads serve on, in every server; fresh in every block.
    pub ports: Vec<u16>,
    /// The options that change the network.
    pub options: Options,
    /// What the user says after the colon of a network's name: the file of `cni:FILE`.
    pub argument: Option<String>,
    /// Where programs that the network starts write their logs.
    pub logs: Option<PathBuf>,
}

impl Site {
    /// A site for a network as it is spelled, with workloads on these ports.
    #[must_use]
    pub fn of(spelled: &Spelled, ports: Vec<u16>) -> Self {
        let argument = spelled.argument().map(str::to_owned);
        Self { ports, options: spelled.options, argument, logs: None }
    }
}

/// What the nodes of a place are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Namespaces of one machine: whatever joins them is that machine's CPU.
    Namespace,
    /// Machines, or what their place takes for machines.
    Machine,
}

/// A way of connecting containers.
pub trait Network: Send + Sync {
    /// What it is.
    fn about(&self) -> About;

    /// What its name begins with, where the user says the rest: `cni:` of `cni:FILE`.
    fn scheme(&self) -> Option<&'static str> {
        None
    }

    /// Whether the rest of its name says what to run: a study file that has such a network is run only where the command
    /// line allows it.
    fn runs_its_argument(&self) -> bool {
        false
    }

    /// What it needs of the machine.
    fn needs(&self, site: &Site) -> Vec<Need>;

    /// Whether it has room for a shape: ports, addresses, and whatever else is bounded by its kind rather than by the
    /// machine. Looked at before anything is raised.
    ///
    /// # Errors
    /// What there is no room for, and what to do.
    fn has_room(&self, _shape: &Shape, _site: &Site) -> Result<(), Error> {
        Ok(())
    }

    /// Raises it, and returns when a packet can pass.
    ///
    /// Blocking. Dropping the topology removes all of it; on an error nothing is left.
    ///
    /// # Errors
    /// What failed, why, and what to do.
    fn raise(&self, shape: &Shape, site: &Site) -> Result<Topology, Error>;

    /// How many nodes it can join.
    fn nodes(&self) -> RangeInclusive<u32> {
        1..=1
    }

    /// What its nodes are.
    fn node_kind(&self) -> NodeKind {
        NodeKind::Namespace
    }

    /// The commands by which a reader could build the same by hand, as a shell script's lines.
    fn commands(&self, shape: &Shape, site: &Site) -> Vec<String>;
}
