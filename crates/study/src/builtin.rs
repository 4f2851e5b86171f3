//! Built-in studies, and the changes of `--quick` to any study.

use crate::answers::ANSWERS;
use crate::builtin_study::BuiltinStudy;
use crate::{Error, NameOrigin, Study};

/// All built-in studies: one file in `studies/`, one line here.
pub const BUILTIN: &[BuiltinStudy] = &[
    BuiltinStudy { name: "tour", text: include_str!("../studies/tour.toml") },
    BuiltinStudy { name: "icc-2014", text: include_str!("../studies/icc-2014.toml") },
    BuiltinStudy {
        name: "ec2-overlays-2015",
        text: include_str!("../studies/ec2-overlays-2015.toml"),
    },
    BuiltinStudy {
        name: "probe-latency-2015",
        text: include_str!("../studies/probe-latency-2015.toml"),
    },
    BuiltinStudy { name: "one-node-2016", text: include_str!("../studies/one-node-2016.toml") },
    BuiltinStudy {
        name: "mysql-multihost-2016",
        text: include_str!("../studies/mysql-multihost-2016.toml"),
    },
    BuiltinStudy { name: "rootless-2026", text: include_str!("../studies/rootless-2026.toml") },
];

/// Layer of `--quick` over a study.
const QUICK: &str = include_str!("../studies/quick.layer.toml");

/// Returns the built-in study or answer with this name, or `None` if there is none.
///
/// # Errors
/// Fails if the text of the study is invalid, which a test rules out.
pub fn builtin_study(name: &str) -> Option<Result<Study, Error>> {
    BUILTIN
        .iter()
        .chain(ANSWERS)
        .find(|study| study.name == name)
        .map(|study| Study::parse(study.text, study.name).map(mark_builtin))
}

/// Marks the networks and workloads of a study as named by this binary, so that missing ones are left out.
fn mark_builtin(mut study: Study) -> Study {
    study.named_by = NameOrigin::BuiltIn;
    for workload in study.all_workloads_mut() {
        workload.named_by = NameOrigin::BuiltIn;
    }
    study
}

/// Returns a study under `--quick`: with its quick networks and its workloads' quick durations, and the quick layer
/// over the rest.
///
/// # Errors
/// Fails if the text of the layer is invalid, which a test rules out.
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
            let read = builtin_study(study.name).unwrap().unwrap();
            assert_eq!(read.name.as_deref(), Some(study.name));
            assert!(read.summary.is_some());
            scaled(read.clone()).unwrap();
            quick(read).unwrap();
        }
        assert!(builtin_study("no-such-study").is_none());
    }

    #[test]
    fn what_is_not_quick_is_left_out() {
        let text = "[[workload]]\nname = \"a\"\n[[workload]]\nname = \"b\"\nquick = false\n";
        let left = quick(Study::parse(text, "test").unwrap()).unwrap().workloads.unwrap();
        assert_eq!(left.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn every_answer_has_a_question_limits_and_a_sentence_that_is_tested() {
        for answer in ANSWERS {
            let study = builtin_study(answer.name).unwrap().unwrap();
            let question = study.question.expect(answer.name);
            assert_eq!(study.name.as_deref(), Some(answer.name));
            assert!(question.asked.ends_with('?') && !question.limits.is_empty(), "{question:?}");
            assert!(!study.conclusions.is_empty(), "{}", answer.name);
            for conclusion in &study.conclusions {
                assert!(!conclusion.tests.is_empty(), "{}", conclusion.claim);
            }
        }
        assert!(BUILTIN.iter().all(|study| ANSWERS.iter().all(|answer| answer.name != study.name)));
    }
}
