//! The studies in the binary, and what `--quick` changes in any study.

use crate::{Error, Origin, Study};

/// A study that is part of the binary.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them: one file in `studies/`, one line here.
pub const BUILTIN: &[Builtin] = &[
    Builtin { name: "tour", text: include_str!("../../../studies/tour.toml") },
    Builtin { name: "icc-2014", text: include_str!("../../../studies/icc-2014.toml") },
    Builtin {
        name: "ec2-overlays-2015",
        text: include_str!("../../../studies/ec2-overlays-2015.toml"),
    },
    Builtin {
        name: "probe-latency-2015",
        text: include_str!("../../../studies/probe-latency-2015.toml"),
    },
    Builtin { name: "one-node-2016", text: include_str!("../../../studies/one-node-2016.toml") },
    Builtin {
        name: "mysql-multihost-2016",
        text: include_str!("../../../studies/mysql-multihost-2016.toml"),
    },
];

/// What `--quick` lays over a study.
const QUICK: &str = include_str!("../../../studies/quick.layer.toml");

/// The built-in study of this name.
///
/// # Errors
/// When its text is wrong, which a test rules out.
pub fn builtin(name: &str) -> Option<Result<Study, Error>> {
    BUILTIN
        .iter()
        .find(|study| study.name == name)
        .map(|study| Study::parse(study.text, study.name).map(ours))
}

/// A study whose networks and workloads are named by this binary: what of them is missing here is left out.
fn ours(mut study: Study) -> Study {
    study.named_by = Origin::BuiltIn;
    for workload in study.all_workloads_mut() {
        workload.named_by = Origin::BuiltIn;
    }
    study
}

/// A study under `--quick`: its own quick networks and its workloads' quick durations, and the quick layer over the rest.
///
/// # Errors
/// When the layer's text is wrong, which a test rules out.
pub fn quick(mut study: Study) -> Result<Study, Error> {
    if let Some(workloads) = &mut study.workloads {
        workloads.retain(|workload| workload.quick != Some(false));
    }
    for workloads in study.runs.iter_mut().filter_map(|run| run.workloads.as_mut()) {
        workloads.retain(|workload| workload.quick != Some(false));
    }
    for workload in study.all_workloads_mut() {
        workload.duration = workload.quick_duration;
        workload.warm_up = None;
    }
    study.networks = study.quick_networks.take().or(study.networks);
    Ok(study.overlaid(Study::parse(QUICK, "quick")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaled;

    #[test]
    fn every_built_in_study_reads_and_is_named_as_listed() {
        for study in BUILTIN {
            let read = builtin(study.name).unwrap().unwrap();
            assert_eq!(read.name.as_deref(), Some(study.name));
            assert!(read.summary.is_some());
            scaled(read.clone()).unwrap();
            quick(read).unwrap();
        }
        assert!(builtin("no-such-study").is_none());
    }

    #[test]
    fn what_is_not_quick_is_left_out() {
        let text = "[[workload]]\nname = \"a\"\n[[workload]]\nname = \"b\"\nquick = false\n";
        let left = quick(Study::parse(text, "test").unwrap()).unwrap().workloads.unwrap();
        assert_eq!(left.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["a"]);
    }
}
