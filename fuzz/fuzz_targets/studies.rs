//! Study files, and the plans that are made from them.
#![no_main]

use std::ops::RangeInclusive;
use tare_network::{FindError, NetworkSpec, UnmetRequirement};
use tare_record::{Metric, Parameters, Plan, SliceKind};
use tare_study::{Catalogue, Study};
use tare_traffic::WorkloadRegistry;

/// Catalogue of all workloads, and of networks of any name.
struct AnyNetwork(WorkloadRegistry);

impl Catalogue for AnyNetwork {
    fn networks(&self) -> Vec<String> {
        ["host", "bridge", "vxlan"].map(str::to_owned).to_vec()
    }

    fn missing_for_network(
        &self,
        network: &NetworkSpec,
    ) -> Result<Option<UnmetRequirement>, FindError> {
        let why = || UnmetRequirement { reason: "none".to_owned(), remedy: "none".to_owned() };
        Ok((network.name == "none").then(why))
    }

    fn nodes(&self, network: &NetworkSpec) -> Result<RangeInclusive<u32>, FindError> {
        Ok(if network.name == "vxlan" { 2..=32 } else { 1..=1 })
    }

    fn can_be_woven(&self, _: &NetworkSpec) -> bool {
        true
    }

    fn slice_kind(&self, _: &str) -> Option<SliceKind> {
        Some(SliceKind::Stream)
    }

    fn workloads(&self) -> Vec<String> {
        self.0.names().into_iter().map(str::to_owned).collect()
    }

    fn metrics(&self, workload: &str) -> Option<Vec<Metric>> {
        self.0.find(workload).ok().map(|workload| workload.metrics().to_vec())
    }

    fn resolve(&self, workload: &str, asked: &Parameters) -> Result<Parameters, String> {
        let workload = self.0.find(workload).map_err(|error| error.to_string())?;
        workload.resolve(asked).map_err(|error| error.to_string())
    }
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(study) = Study::parse(text, "study.toml") else { return };
    let catalogue = AnyNetwork(tare_traffic::workloads().into_iter().collect());
    for study in [tare_study::scaled(study.clone()), Ok(study)] {
        let Ok(plan) = study.and_then(|study| study.plan(&catalogue, 7)) else { continue };
        if let Err(invalid) = plan.validate() {
            panic!("a study gives what a journal may not hold: {invalid}");
        }
        let written = serde_json::to_string(&plan).expect("a plan is JSON");
        assert_eq!(serde_json::from_str::<Plan>(&written).ok(), Some(plan));
    }
});
