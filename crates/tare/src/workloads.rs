//! Registry of the workloads of this build: tare's own, and external tools.

use tare_traffic::WorkloadRegistry;

/// Puts the registry together. A command does so once and hands it down.
pub(crate) fn workload_registry() -> WorkloadRegistry {
    tare_traffic::workloads().into_iter().chain(tare_tools::workloads()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tare_record::Parameters;

    #[test]
    fn every_workload_is_found_by_its_own_name_and_takes_its_own_defaults() {
        let registry = workload_registry();
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
}
