//! Registry of all workloads: a list that is passed on, never global.

use crate::tools::{
    Fortio, Iperf, Iperf3, Mysql, Netperf, NetperfTest, Postgres, Qperf, Redis, Sockperf,
    ToolWorkload, Wrk,
};
use crate::workloads::{Idle, TcpCrr, TcpRr, TcpStream, UdpRate, UdpRr, UdpSearch};
use crate::{Error, TrialTask, Workload};
use std::time::Duration;
use tare_record::WorkloadPlan;

/// Workloads of this build.
pub struct WorkloadRegistry {
    workloads: Vec<Box<dyn Workload>>,
}

/// Returns every workload of this build.
#[must_use]
pub fn built_in_workloads() -> WorkloadRegistry {
    WorkloadRegistry {
        workloads: vec![
            Box::new(TcpStream),
            Box::new(UdpRate),
            Box::new(UdpSearch),
            Box::new(TcpRr),
            Box::new(UdpRr),
            Box::new(TcpCrr),
            Box::new(Idle),
            Box::new(ToolWorkload(Mysql)),
            Box::new(ToolWorkload(Postgres)),
            Box::new(ToolWorkload(Redis)),
            Box::new(ToolWorkload(Iperf)),
            Box::new(ToolWorkload(Iperf3 { udp: false })),
            Box::new(ToolWorkload(Iperf3 { udp: true })),
            Box::new(ToolWorkload(Netperf(NetperfTest::Stream))),
            Box::new(ToolWorkload(Netperf(NetperfTest::Rr))),
            Box::new(ToolWorkload(Netperf(NetperfTest::Crr))),
            Box::new(ToolWorkload(Qperf { latency: false })),
            Box::new(ToolWorkload(Qperf { latency: true })),
            Box::new(ToolWorkload(Sockperf)),
            Box::new(ToolWorkload(Wrk)),
            Box::new(ToolWorkload(Fortio)),
        ],
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
    use std::collections::BTreeSet;
    use tare_record::{Parameters, WarmUpPolicy};

    #[test]
    fn every_workload_is_found_by_its_own_name_and_takes_its_own_defaults() {
        let registry = built_in_workloads();
        let names = registry.names();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "names are unique");
        for name in names {
            let workload = registry.find(name).unwrap();
            assert_eq!(workload.info().name, name);
            assert!(!workload.metrics().is_empty());
            let resolved = workload.resolve(&Parameters::new()).unwrap();
            assert_eq!(workload.resolve(&resolved).unwrap(), resolved, "resolving twice");
        }
    }

    #[test]
    fn a_search_lasts_as_long_as_it_needs_and_traffic_as_long_as_it_is_told() {
        let lasts = |name: &str, milliseconds: u64| {
            let duration = Duration::from_millis(milliseconds);
            built_in_workloads().duration(&WorkloadPlan {
                name: name.to_owned(),
                parameters: built_in_workloads()
                    .find(name)
                    .unwrap()
                    .resolve(&Parameters::new())
                    .unwrap(),
                duration: duration.into(),
                interval: Duration::from_millis(10).into(),
                warm_up: WarmUpPolicy::Auto,
                metrics: Vec::new(),
                stands_for: None,
            })
        };
        assert_eq!(lasts("tcp-stream", 400), Duration::from_millis(400));
        assert!(lasts("udp-search", 400) > Duration::from_secs(1));
        assert_eq!(lasts("udp-search", 9_000), Duration::from_secs(9));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = built_in_workloads().find("tcp-strem").err().unwrap().to_string();
        assert!(error.contains("tcp-strem") && error.contains("tcp-stream"), "{error}");
    }
}
