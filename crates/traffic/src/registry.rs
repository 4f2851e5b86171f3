//! All workloads, in one list that is handed about, never global.

use crate::tools::{
    Fortio, Iperf, Iperf3, Mysql, Netperf, NetperfTest, Postgres, Qperf, Redis, Sockperf, Tooled,
    Wrk,
};
use crate::workloads::{Idle, TcpCrr, TcpRr, TcpStream, UdpRate, UdpRr, UdpSearch};
use crate::{Error, Task, Workload};
use std::time::Duration;
use tare_record::WorkloadPlan;

/// The workloads that this build knows.
pub struct Registry {
    workloads: Vec<Box<dyn Workload>>,
}

/// Every workload of this build.
#[must_use]
pub fn workloads() -> Registry {
    Registry {
        workloads: vec![
            Box::new(TcpStream),
            Box::new(UdpRate),
            Box::new(UdpSearch),
            Box::new(TcpRr),
            Box::new(UdpRr),
            Box::new(TcpCrr),
            Box::new(Idle),
            Box::new(Tooled(Mysql)),
            Box::new(Tooled(Postgres)),
            Box::new(Tooled(Redis)),
            Box::new(Tooled(Iperf)),
            Box::new(Tooled(Iperf3 { udp: false })),
            Box::new(Tooled(Iperf3 { udp: true })),
            Box::new(Tooled(Netperf(NetperfTest::Stream))),
            Box::new(Tooled(Netperf(NetperfTest::Rr))),
            Box::new(Tooled(Netperf(NetperfTest::Crr))),
            Box::new(Tooled(Qperf { latency: false })),
            Box::new(Tooled(Qperf { latency: true })),
            Box::new(Tooled(Sockperf)),
            Box::new(Tooled(Wrk)),
            Box::new(Tooled(Fortio)),
        ],
    }
}

impl Registry {
    /// The workload of this name.
    ///
    /// # Errors
    /// [`Error::UnknownWorkload`], with the names that there are.
    pub fn find(&self, name: &str) -> Result<&dyn Workload, Error> {
        self.iter().find(|workload| workload.about().name == name).ok_or_else(|| {
            Error::UnknownWorkload { name: name.to_owned(), known: self.names().join(", ") }
        })
    }

    /// How long a workload of a plan generates: its duration, unless it needs more to find anything.
    #[must_use]
    pub fn lasts(&self, planned: &WorkloadPlan) -> Duration {
        let WorkloadPlan { name, parameters, duration, interval, .. } = planned;
        let task = Task::of_one_flow(name, parameters.clone(), *duration, *interval);
        let found = self.find(&planned.name);
        found.map_or_else(|_| planned.duration.into(), |workload| workload.lasts(&task))
    }

    /// All names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(|workload| workload.about().name).collect()
    }

    /// All workloads, in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Workload> {
        self.workloads.iter().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tare_record::{Parameters, WarmUp};

    #[test]
    fn every_workload_is_found_by_its_own_name_and_takes_its_own_defaults() {
        let registry = workloads();
        let names = registry.names();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "names are unique");
        for name in names {
            let workload = registry.find(name).unwrap();
            assert_eq!(workload.about().name, name);
            assert!(!workload.metrics().is_empty());
            let resolved = workload.resolve(&Parameters::new()).unwrap();
            assert_eq!(workload.resolve(&resolved).unwrap(), resolved, "resolving twice");
        }
    }

    #[test]
    fn a_search_lasts_as_long_as_it_needs_and_traffic_as_long_as_it_is_told() {
        let lasts = |name: &str, milliseconds: u64| {
            let duration = Duration::from_millis(milliseconds);
            workloads().lasts(&WorkloadPlan {
                name: name.to_owned(),
                parameters: workloads().find(name).unwrap().resolve(&Parameters::new()).unwrap(),
                duration: duration.into(),
                interval: Duration::from_millis(10).into(),
                warm_up: WarmUp::Auto,
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
        let error = workloads().find("tcp-strem").err().unwrap().to_string();
        assert!(error.contains("tcp-strem") && error.contains("tcp-stream"), "{error}");
    }
}
