//! What a plan must know of the networks and workloads of this build, on this machine.

use std::ops::RangeInclusive;
use tare_network::{FindError, Missing, Spelled};
use tare_record::{Metric, Parameters, Shape};

/// What there is to choose from. The command puts it together from the registries; tests make one up.
pub trait Catalogue {
    /// The networks' names, in the order in which `all` lists them.
    fn networks(&self) -> Vec<String>;

    /// Those of them that one begins with: what `core` lists.
    fn core(&self) -> Vec<String> {
        self.networks()
    }

    /// What a network lacks here, if anything.
    ///
    /// # Errors
    /// When nobody knows the network, or it does not take its options.
    fn lacks(&self, network: &Spelled) -> Result<Option<Missing>, FindError>;

    /// Which real system a network is or stands for, where anybody knows.
    fn stands_for(&self, _network: &Spelled) -> Option<String> {
        None
    }

    /// How many nodes a network can join.
    ///
    /// # Errors
    /// When nobody knows the network, or it does not take its options.
    fn nodes(&self, network: &Spelled) -> Result<RangeInclusive<u32>, FindError>;

    /// Why a network has no room for one of these shapes, where it has none.
    fn lacks_room(&self, _network: &Spelled, _shapes: &[Shape]) -> Option<Missing> {
        None
    }

    /// The workloads' names.
    fn workloads(&self) -> Vec<String>;

    /// Those that a study has which names none: not those of foreign tools.
    fn own_workloads(&self) -> Vec<String> {
        self.workloads()
    }

    /// The metrics that a workload measures; nothing for one that nobody knows.
    fn metrics(&self, workload: &str) -> Option<Vec<Metric>>;

    /// What a workload, as it was asked for, lacks here, if anything: a program, say.
    fn lacks_workload(&self, _workload: &str, _asked: &Parameters) -> Option<Missing> {
        None
    }

    /// A workload's parameters, checked and with its defaults filled in.
    ///
    /// # Errors
    /// What is wrong with them, in one line.
    fn resolve(&self, workload: &str, asked: &Parameters) -> Result<Parameters, String>;
}
