//! Scaled studies: the changes of `--scaled`, applied and described in words.

use crate::spec::{StudyMethod, WorkloadSpec};
use crate::{Error, Study, TimeSpan};
use tare_record::{ProtocolScale, unquoted_value};

/// Layer of `--scaled` for studies without scaled values of their own.
const SCALED: &str = include_str!("../../../studies/scaled.layer.toml");

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
}
