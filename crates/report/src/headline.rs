//! Line above the tables: study, duration of the run, machine.

use crate::shape_facts::common_facts;
use crate::text::{counted, one_line};
use tare_record::{Document, StoppedBy};

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
    one_line(&parts.join(" · "))
}

/// Describes the end of the measurement in words.
fn ended(stopped_by: Option<StoppedBy>) -> &'static str {
    match stopped_by {
        Some(StoppedBy::Blocks) => "as requested",
        Some(StoppedBy::Precision) => "requested precision met",
        Some(StoppedBy::Sequence) => "confidence sequences are narrow enough",
        Some(StoppedBy::Budget) => "time budget used up",
        Some(StoppedBy::Interrupted) => "interrupted",
        Some(StoppedBy::Failed) => "ended: every network failed",
        None => "unfinished",
    }
}
