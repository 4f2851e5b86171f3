//! Job: one trial as a runner asks for it, before it is divided among agents.

use tare_record::{Nanos, Parameters, Shape, SlicePlan};

/// One trial to run.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialJob {
    /// Name of the workload.
    pub workload: String,
    /// Parameters, resolved.
    pub parameters: Parameters,
    /// Numbers of processes and flows, and their cores.
    pub shape: Shape,
    /// Ports of the site on which this workload serves.
    pub ports: Vec<u16>,
    /// Time for which payload flows, ns.
    pub duration: Nanos,
    /// Length of an interval record, ns.
    pub interval: Nanos,
    /// Slices of the trial; its duration and interval are then in slice time. `None`: it runs in one piece.
    pub slices: Option<SlicePlan>,
}
