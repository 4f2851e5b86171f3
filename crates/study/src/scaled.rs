//! Scaled studies: the changes of `--scaled`, applied and described in words.

use crate::spec::{ReplacedWorkload, ScaledStandIn, StudyMethod, WorkloadSpec};
use crate::{Error, Study, TimeSpan};
use tare_record::{ProtocolScale, unquoted_value};

/// Layer of `--scaled` for studies without scaled values of their own.
const SCALED: &str = include_str!("../studies/scaled.layer.toml");

/// Returns the study with short trials, and with as many blocks as the precision needs instead of a fixed number. The
/// changes are recorded in the study for the reader.
///
/// # Errors
/// Fails if the text of the layer is invalid, which a test rules out.
pub fn scaled(mut study: Study) -> Result<Study, Error> {
    let usual = Study::parse(SCALED, "scaled")?.method;
    let own = std::mem::take(&mut study.scaled);
    let method = usual.overlaid(own);
    let (mut changes, published) = (Vec::new(), study.method.clone());
    for workload in study.all_workloads_mut() {
        shorten(workload, &published, &method, &mut changes);
    }
    if let (Some(blocks), None) = (study.method.blocks.take(), method.blocks) {
        changes.push(format!("as many blocks as the precision needs, not {blocks}"));
    }
    study.method = study.method.overlaid(method);
    study.scale = ProtocolScale::Scaled;
    study.changes = changes;
    Ok(study)
}

/// Applies a workload's scaled duration and parameters.
fn shorten(
    workload: &mut WorkloadSpec,
    published: &StudyMethod,
    scaled: &StudyMethod,
    changes: &mut Vec<String>,
) {
    let mut note = |change: String| {
        if !changes.contains(&change) {
            changes.push(change);
        }
    };
    let own = workload.scaled.take().unwrap_or_default();
    workload.warm_up = None;
    let before = workload.duration.or(published.duration);
    let after = own.duration.or(scaled.duration);
    if let (Some(TimeSpan(before)), Some(TimeSpan(after))) = (before, after) {
        if before > after {
            note(format!("trials of {} for {after}, not {before}", workload.name));
            workload.duration = own.duration;
        }
    } else if own.duration.is_some() {
        workload.duration = own.duration;
    }
    for (name, value) in own.parameters {
        let before = workload.parameters.insert(name.clone(), value.clone());
        let before =
            before.map_or_else(String::new, |before| format!(", not {}", unquoted_value(&before)));
        note(format!("{} with {name} {}{before}", workload.name, unquoted_value(&value)));
    }
    for name in own.without {
        if let Some(before) = workload.parameters.remove(&name) {
            note(format!("{} without {name} {}", workload.name, unquoted_value(&before)));
        }
    }
    if let Some(stand_in) = own.stand_in {
        note(format!("{}, not {}", stand_in.name, workload.name));
        replace(workload, stand_in);
    }
}

/// Replaces a workload by its stand-in under `--scaled`, which gives the published figures and the conclusions.
fn replace(workload: &mut WorkloadSpec, stand_in: ScaledStandIn) {
    let ScaledStandIn { name, parameters, reason } = stand_in;
    let replaced = std::mem::replace(&mut workload.name, name);
    workload.parameters = parameters;
    workload.stand_in = None;
    workload.stands_for = Some(ReplacedWorkload { name: replaced, reason });
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"
        [[workload]]
        name = "iperf"
        duration = "5s"
        parameters = { tool = "iperf2" }
        stand-in = { name = "udp-rate" }
        scaled = { duration = "1s", stand-in = { name = "tcp-stream", reason = "whole seconds" } }
    "#;

    #[test]
    fn a_parameter_is_left_out_under_scaled() {
        let text = r#"
            [[workload]]
            name = "tcp-rr"
            parameters = { count = 1000, request = 64 }
            scaled = { without = ["count"] }
        "#;
        let study = Study::parse(text, "test").and_then(scaled).unwrap();
        let parameters = &study.workloads.as_deref().unwrap()[0].parameters;
        assert_eq!(parameters.keys().collect::<Vec<_>>(), ["request"]);
        assert_eq!(study.changes[0], "tcp-rr without count 1000");
    }

    #[test]
    fn a_workload_is_replaced_only_under_scaled() {
        let study = Study::parse(STUDY, "test").unwrap();
        assert_eq!(study.workloads.as_deref().unwrap()[0].name, "iperf");
        let study = scaled(study).unwrap();
        let workload = &study.workloads.as_deref().unwrap()[0];
        let replaced = workload.stands_for.as_ref().unwrap();
        assert_eq!((&*workload.name, &*replaced.name), ("tcp-stream", "iperf"));
        assert_eq!(replaced.reason, "whole seconds");
        assert_eq!((workload.parameters.len(), &workload.stand_in), (0, &None));
        assert_eq!(study.changes[..2], ["trials of iperf for 1s, not 5s", "tcp-stream, not iperf"]);
    }
}
