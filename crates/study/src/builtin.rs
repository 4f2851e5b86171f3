//! The studies in the binary, and what `--quick` changes in any study.

use crate::{Error, Study};

/// A study that is part of the binary.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them: one file in `studies/`, one line here.
pub const BUILTIN: &[Builtin] =
    &[Builtin { name: "tour", text: include_str!("../../../studies/tour.toml") }];

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
        .map(|study| Study::parse(study.text, study.name))
}

/// A study under `--quick`: its own quick networks and its workloads' quick durations, and the quick layer over the rest.
///
/// # Errors
/// When the layer's text is wrong, which a test rules out.
pub fn quick(mut study: Study) -> Result<Study, Error> {
    if let Some(workloads) = &mut study.workloads {
        workloads.retain(|workload| workload.quick != Some(false));
    }
    for workload in study.workloads.iter_mut().flatten() {
        workload.duration = workload.quick_duration;
    }
    study.networks = study.quick_networks.take().or(study.networks);
    Ok(study.overlaid(Study::parse(QUICK, "quick")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_study_reads_and_is_named_as_listed() {
        for study in BUILTIN {
            let read = builtin(study.name).unwrap().unwrap();
            assert_eq!(read.name.as_deref(), Some(study.name));
            assert!(read.summary.is_some());
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
