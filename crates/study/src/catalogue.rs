//! Interface to the networks and workloads of this build, on this machine.

use std::ops::RangeInclusive;
use tare_network::{FindError, NetworkSpec, UnmetRequirement};
use tare_record::{Metric, Parameters, Placement, Shape, SliceKind};

/// Catalogue of networks and workloads. The command implements it with the registries; tests implement their own.
pub trait Catalogue {
    /// Returns the names of all networks, in the order in which `all` lists them.
    fn networks(&self) -> Vec<String>;

    /// Returns the networks that `core` stands for, a small selection to begin with.
    fn core_networks(&self) -> Vec<String> {
        self.networks()
    }

    /// Returns the requirement of a network that is missing here, or `None` if it can run.
    ///
    /// # Errors
    /// Fails if the network is unknown, or if it does not take its options.
    fn missing_for_network(
        &self,
        network: &NetworkSpec,
    ) -> Result<Option<UnmetRequirement>, FindError>;

    /// Returns the real system that a network is or stands for, if it is known.
    fn stands_for(&self, _network: &NetworkSpec) -> Option<String> {
        None
    }

    /// Returns the numbers of nodes that a network can join.
    ///
    /// # Errors
    /// Fails if the network is unknown, or if it does not take its options.
    fn nodes(&self, network: &NetworkSpec) -> Result<RangeInclusive<u32>, FindError>;

    /// Returns true if a network is on pairs of a cluster's nodes, of which a run may measure several.
    fn has_node_pairs(&self, _network: &NetworkSpec) -> bool {
        false
    }

    /// Returns the reason why a network has no room for one of these shapes, or `None` if it has room.
    fn missing_room(&self, _network: &NetworkSpec, _shapes: &[Shape]) -> Option<UnmetRequirement> {
        None
    }

    /// Returns true if a network can be up beside others, and its trials be woven with theirs.
    fn can_be_woven(&self, _network: &NetworkSpec) -> bool {
        false
    }

    /// Returns true if a network's agents are on other machines, which orders reach over a control channel.
    fn is_on_other_machines(&self, _network: &NetworkSpec) -> bool {
        false
    }

    /// Returns the number of cores on which clients' threads run, if they are on this machine and placed so.
    fn client_cores(&self, _cpus: &Placement) -> u64 {
        u64::MAX
    }

    /// Returns the kind of slices in which a workload can run. Returns `None` if it runs in one piece only.
    fn slice_kind(&self, _workload: &str) -> Option<SliceKind> {
        None
    }

    /// Returns the names of all workloads.
    fn workloads(&self) -> Vec<String>;

    /// Returns the workloads of a study that names none, without those of external programs.
    fn own_workloads(&self) -> Vec<String> {
        self.workloads()
    }

    /// Returns the metrics that a workload measures, or `None` if it is unknown.
    fn metrics(&self, workload: &str) -> Option<Vec<Metric>>;

    /// Returns the requirement of a workload with these parameters that is missing here, such as a program, or `None`.
    fn missing_for_workload(
        &self,
        _workload: &str,
        _asked: &Parameters,
    ) -> Option<UnmetRequirement> {
        None
    }

    /// Returns a workload's parameters, validated and with defaults filled in.
    ///
    /// # Errors
    /// Returns the reason why the parameters are invalid, in one line.
    fn resolve(&self, workload: &str, asked: &Parameters) -> Result<Parameters, String>;
}
