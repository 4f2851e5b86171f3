//! Registry of workloads. It is put together once and handed down; nothing reaches for a global list.

use crate::{Error, TrialTask, Workload};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tare_record::WorkloadPlan;

/// List of workloads. A clone shares them.
#[derive(Clone)]
pub struct WorkloadRegistry {
    workloads: Arc<[Box<dyn Workload>]>,
}

impl fmt::Debug for WorkloadRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl FromIterator<Box<dyn Workload>> for WorkloadRegistry {
    fn from_iter<I: IntoIterator<Item = Box<dyn Workload>>>(workloads: I) -> Self {
        Self { workloads: workloads.into_iter().collect() }
    }
}

impl WorkloadRegistry {
    /// Returns the workload of this name.
    ///
    /// # Errors
    /// [`Error::UnknownWorkload`], with the known names.
    pub fn find(&self, name: &str) -> Result<&dyn Workload, Error> {
        self.iter().find(|workload| workload.info().name == name).ok_or_else(|| {
            Error::UnknownWorkload { name: name.to_owned(), known: self.names().join(", ") }
        })
    }

    /// Returns the time for which a workload of a plan generates traffic: its duration, unless it needs more to find
    /// anything.
    #[must_use]
    pub fn duration(&self, planned: &WorkloadPlan) -> Duration {
        let WorkloadPlan { name, parameters, duration, interval, .. } = planned;
        let task = TrialTask::single_flow(name, parameters.clone(), *duration, *interval);
        let found = self.find(&planned.name);
        found.map_or_else(|_| planned.duration.into(), |workload| workload.duration(&task))
    }

    /// Returns all names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(|workload| workload.info().name).collect()
    }

    /// Returns all workloads, in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Workload> {
        self.workloads.iter().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::registry;
    use tare_record::{Parameters, WarmUpPolicy};

    #[test]
    fn a_search_lasts_as_long_as_it_needs_and_traffic_as_long_as_it_is_told() {
        let lasts = |name: &str, milliseconds: u64| {
            let duration = Duration::from_millis(milliseconds);
            registry().duration(&WorkloadPlan {
                name: name.to_owned(),
                parameters: registry().find(name).unwrap().resolve(&Parameters::new()).unwrap(),
                duration: duration.into(),
                interval: Duration::from_millis(10).into(),
                warm_up: WarmUpPolicy::Auto,
                metrics: Vec::new(),
                slices: None,
                slice_lengths: Vec::new(),
                stands_for: None,
            })
        };
        assert_eq!(lasts("tcp-stream", 400), Duration::from_millis(400));
        assert!(lasts("udp-search", 400) > Duration::from_secs(1));
        assert_eq!(lasts("udp-search", 9_000), Duration::from_secs(9));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = registry().find("tcp-strem").err().unwrap().to_string();
        assert!(error.contains("tcp-strem") && error.contains("tcp-stream"), "{error}");
    }
}
