//! A study made short: what `--scaled` changes, in words and in deed.

use crate::layer::{Method, WorkloadStudy};
use crate::{Error, Span, Study};
use tare_record::{Scale, bare};

/// What `--scaled` lays over a study that does not say itself how it is scaled.
const SCALED: &str = include_str!("../../../studies/scaled.layer.toml");

/// The study with short trials, and as many blocks as the precision needs in the place of a fixed number. What was
/// changed is kept with it, for a reader to see.
///
/// # Errors
/// When the layer's text is wrong, which a test rules out.
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
    study.scale = Scale::Scaled;
    study.changes = changes;
    Ok(study)
}

/// Gives a workload its scaled duration and parameters.
fn shorten(
    workload: &mut WorkloadStudy,
    published: &Method,
    scaled: &Method,
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
    if let (Some(Span(before)), Some(Span(after))) = (before, after) {
        if before > after {
            note(format!("trials of {} for {after}, not {before}", workload.name));
            workload.duration = own.duration;
        }
    } else if own.duration.is_some() {
        workload.duration = own.duration;
    }
    for (name, value) in own.parameters {
        let before = workload.parameters.insert(name.clone(), value.clone());
        let before = before.map_or_else(String::new, |before| format!(", not {}", bare(&before)));
        note(format!("{} with {name} {}{before}", workload.name, bare(&value)));
    }
}
