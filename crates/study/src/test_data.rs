//! Catalogue of a made-up build, for tests.

use crate::Catalogue;
use std::ops::RangeInclusive;
use tare_network::{FindError, NetworkSpec, UnmetRequirement};
use tare_record::{Metric, Nanos, Parameters, Placement, SliceKind};

/// Unit of the slices of the workload `program`.
pub(crate) const SLICE_UNIT: Nanos = Nanos(1_000_000_000);

/// Build whose networks all run, on one node or two.
pub(crate) struct TestCatalogue {
    /// Networks, all of which can be woven.
    pub(crate) networks: &'static [&'static str],
    /// Workloads. `program` runs in slices of whole seconds, `whole` in none, and the program of `tool` is missing.
    pub(crate) workloads: &'static [&'static str],
    /// Metrics of every workload.
    pub(crate) metrics: &'static [Metric],
}

impl Catalogue for TestCatalogue {
    fn networks(&self) -> Vec<String> {
        self.networks.iter().map(ToString::to_string).collect()
    }

    fn missing_for_network(&self, _: &NetworkSpec) -> Result<Option<UnmetRequirement>, FindError> {
        Ok(None)
    }

    fn nodes(&self, _: &NetworkSpec) -> Result<RangeInclusive<u32>, FindError> {
        Ok(1..=2)
    }

    fn can_be_woven(&self, _: &NetworkSpec) -> bool {
        true
    }

    fn client_cores(&self, _: &Placement) -> u64 {
        2
    }

    fn slice_kind(&self, workload: &str) -> Option<SliceKind> {
        match workload {
            "whole" => None,
            "program" => Some(SliceKind::Program { unit: SLICE_UNIT }),
            "messages" => Some(SliceKind::Messages),
            _ => Some(SliceKind::Stream),
        }
    }

    fn workloads(&self) -> Vec<String> {
        self.workloads.iter().map(ToString::to_string).collect()
    }

    fn metrics(&self, _: &str) -> Option<Vec<Metric>> {
        Some(self.metrics.to_vec())
    }

    fn missing_for_workload(&self, workload: &str, _: &Parameters) -> Option<UnmetRequirement> {
        let missing =
            UnmetRequirement { reason: "no tool".to_owned(), remedy: "get it".to_owned() };
        (workload == "tool").then_some(missing)
    }

    fn resolve(&self, _: &str, asked: &Parameters) -> Result<Parameters, String> {
        Ok(asked.clone())
    }
}
