//! Made-up plans.

use std::collections::BTreeMap;
use tare_record::{
    BlockPolicy, CorrectionFamily, Metric, Nanos, NetworkEntry, Parameters, Plan, Shape,
    WarmUpPolicy, WorkloadPlan,
};

/// Returns a workload of trials in one piece, of a second in tenths.
#[must_use]
pub fn made_up_workload(name: &str, metrics: &[Metric]) -> WorkloadPlan {
    WorkloadPlan {
        name: name.to_owned(),
        parameters: Parameters::new(),
        duration: Nanos(1_000_000_000),
        interval: Nanos(100_000_000),
        warm_up: WarmUpPolicy::Auto,
        metrics: metrics.to_vec(),
        slices: None,
        slice_lengths: Vec::new(),
        stands_for: None,
    }
}

/// Returns a plan of ten blocks of these networks, the first of which is the baseline, in the default shape and with the
/// default margins.
#[must_use]
pub fn made_up_plan(networks: &[&str], workloads: Vec<WorkloadPlan>) -> Plan {
    let entry =
        |name: &&str| NetworkEntry { label: (*name).to_owned(), network: (*name).to_owned() };
    Plan {
        study: "made-up".to_owned(),
        seed: 1,
        networks: networks.iter().map(entry).collect(),
        stands_for: BTreeMap::new(),
        baseline: networks[0].to_owned(),
        workloads,
        raising: Vec::new(),
        shapes: vec![Shape::default()],
        margins: BTreeMap::new(),
        family: CorrectionFamily::Metric,
        blocks: BlockPolicy::Fixed { blocks: 10 },
        budget: None,
        skipped: Vec::new(),
        refused: Vec::new(),
        ablations: Vec::new(),
        parts: Vec::new(),
        findings: Vec::new(),
        default_congestion: None,
        publication: None,
    }
}
