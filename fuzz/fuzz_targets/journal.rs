//! Journal: a record is the same after writing and reading, and any journal gives a document or an error.
#![no_main]

use std::path::Path;
use tare_record::is_terminal_control;
use tare_record::journal::{Journal, Record};
use tare_report::{NoteExtent, Style};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for line in bytes.split(|&byte| byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Record>(line) else { continue };
        let written = serde_json::to_vec(&record).expect("a record is JSON");
        let again: Record = serde_json::from_slice(&written).expect("a record");
        assert_eq!(again, record);
    }
    let Ok(journal) = Journal::parse(bytes, Path::new("journal.jsonl")) else { return };
    let Ok(document) = tare_analysis::document(&journal, None) else { return };
    let _ = tare_report::json(&document);
    let table = tare_report::table(&document, &Style::PLAIN, NoteExtent::All);
    assert!(!table.contains(is_terminal_control), "{table:?}");
    let _ = tare_report::csv(&document);
});
