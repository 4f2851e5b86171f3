//! Every report of a journal that is resumed or altered, and its archive with and without redaction.
#![no_main]

use std::path::Path;
use tare_record::is_terminal_control;
use tare_record::journal::Journal;
use tare_report::{NoteExtent, Page, Style};
use tare_runner::StartPoint;

/// Returns the reports of a journal that are shown on a terminal or read by programs.
fn reports(journal: &Journal) -> Vec<String> {
    let mut shown = Vec::new();
    if let Ok(pairs) = tare_analysis::network_pairs(journal) {
        shown.push(tare_report::pairs(&pairs, &Style::PLAIN));
    }
    if let Ok(distributions) = tare_analysis::distributions(journal) {
        shown.push(tare_report::plot(&distributions, &Style::PLAIN));
        shown.extend(tare_report::density(&distributions));
    }
    let Ok(document) = tare_analysis::document(journal, None) else { return shown };
    shown.push(tare_report::table(&document, &Style::PLAIN, NoteExtent::All));
    shown.push(tare_report::markdown(&document));
    shown.push(tare_report::openmetrics(&document));
    shown.extend(tare_report::csv(&document));
    shown.extend(tare_report::samples(&document));
    shown.extend(tare_report::json(&document));
    if let Ok(picture) = tare_analysis::chart_data(journal) {
        let page = Page { document: &document, run: &journal.run, picture: &picture };
        shown.extend(tare_report::html(&page));
        let _ = tare_report::bundle(&page, "", "name");
    }
    shown
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(mut journal) = Journal::parse(bytes, Path::new("journal.jsonl")) else { return };
    for report in reports(&journal) {
        assert!(!report.contains(is_terminal_control), "{report:?}");
    }
    if let Ok(redacted) = tare_report::redact(journal.clone()) {
        let _ = reports(&redacted);
    }
    if journal.run.plan.validate().is_ok() {
        let _ = StartPoint::resume(&mut journal, String::new());
        let _ = reports(&journal);
    }
});
