//! Line above the tables: study, duration of the run, machine.

use crate::shape_facts::common_facts;
use crate::text::one_line;
use tare_record::{Document, StoppedBy, counted};

/// Formats study, blocks, reason of the end, seed, kernel, cores, and the facts that all shapes share.
pub(crate) fn headline(document: &Document) -> String {
    let environment = &document.environment;
    let cores = u32::try_from(environment.cores.len()).unwrap_or(u32::MAX);
    let mut parts = vec![
        document.study.clone(),
        format!("{} ({})", counted(document.blocks, "block", "blocks"), ended(document.stopped_by)),
        format!("seed {}", document.seed),
        format!("Linux {}", environment.kernel),
        counted(cores, "core", "cores"),
    ];
    parts.extend(common_facts(document));
    parts.extend(common_congestion(document));
    one_line(&parts.join(" · "))
}

/// Describes the end of the measurement in words.
fn ended(stopped_by: Option<StoppedBy>) -> &'static str {
    match stopped_by {
        Some(StoppedBy::Blocks) => "as requested",
        Some(StoppedBy::Precision) => "requested precision met",
        Some(StoppedBy::Sequence) => "confidence sequences are narrow enough",
        Some(StoppedBy::Decided) => "every comparison decided",
        Some(StoppedBy::Budget) => "time budget used up",
        Some(StoppedBy::Interrupted) => "interrupted",
        Some(StoppedBy::Failed) => "ended: every network failed",
        None => "unfinished",
    }
}

/// Returns the congestion control, if all cells of workloads over TCP have the same one.
fn common_congestion(document: &Document) -> Option<String> {
    let mut used =
        document.cells.iter().filter_map(|cell| cell.parameters.get("congestion")?.as_str());
    let first = used.next()?;
    used.all(|other| other == first).then(|| first.to_owned())
}
