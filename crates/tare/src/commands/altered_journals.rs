//! Property: whatever the values of a journal are, its reports are text or an error, never a panic.

use super::page;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tare_record::is_terminal_control;
use tare_record::journal::Journal;
use tare_report::{NoteExtent, Style};

/// Lines of the journals in the sources.
static JOURNALS: LazyLock<Vec<Vec<Value>>> = LazyLock::new(|| {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let directories = std::fs::read_dir(golden).expect("the journals are in the sources").flatten();
    let mut paths: Vec<PathBuf> =
        directories.map(|entry| entry.path().join("journal.jsonl")).collect();
    paths.retain(|path| path.exists());
    paths.sort_unstable();
    paths.iter().map(|path| read_lines(path)).collect()
});

fn read_lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a journal");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Values in the place of a number.
fn numbers() -> [Value; 14] {
    [
        json!(0),
        json!(1),
        json!(-1),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(u64::MAX - 1),
        json!(u64::MAX / 2),
        json!(i64::MIN),
        json!(1e308),
        json!(-1e308),
        json!(5e-324),
        json!(0.5),
        json!(u16::MAX),
        Value::Null,
    ]
}

/// Values in the place of a text.
fn texts() -> [Value; 7] {
    [
        json!(""),
        json!("\u{1b}[2J\u{202e}"),
        json!("="),
        json!("é".repeat(70)),
        json!("a\nb\tc"),
        json!("+rate=1e9"),
        Value::Null,
    ]
}

/// Alteration of one value: the line, the value within it, and what stands there afterwards.
type Alteration = (Index, Index, Index);

/// Collects the pointers (RFC 6901) of all values below one.
fn collect_pointers(value: &Value, pointer: &str, all: &mut Vec<String>) {
    let mut collect = |key: &str, below: &Value| {
        collect_pointers(
            below,
            &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
            all,
        );
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| collect(&at.to_string(), item));
        }
        Value::Object(entries) => entries.iter().for_each(|(key, below)| collect(key, below)),
        _ => {}
    }
    all.push(pointer.to_owned());
}

/// Alters one value of a journal.
fn alter(lines: &mut [Value], (line, place, other): Alteration) {
    let line = &mut lines[line.index(lines.len())];
    let mut pointers = Vec::new();
    collect_pointers(line, "", &mut pointers);
    let value = line.pointer_mut(&pointers[place.index(pointers.len())]).expect("it was there");
    match value {
        Value::Null | Value::Number(_) => *value = other.get(&numbers()).clone(),
        Value::String(_) => *value = other.get(&texts()).clone(),
        Value::Bool(is) => *is = !*is,
        Value::Array(items) if other.index(2) == 0 => items.clear(),
        Value::Array(items) => items.extend_from_within(..),
        Value::Object(entries) => {
            let key = entries.keys().nth(other.index(entries.len().max(1))).cloned();
            key.and_then(|key| entries.remove(&key));
        }
    }
}

/// Writes every report of a journal, and returns those for a terminal.
fn write_reports(journal: &Journal) -> Vec<String> {
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
    shown.extend(page::render_page(journal, &document).ok());
    shown
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn every_report_of_an_altered_journal_is_text(
        which in any::<Index>(),
        alterations in prop::collection::vec(any::<Alteration>(), 1..4),
    ) {
        let mut lines = which.get(&JOURNALS).clone();
        alterations.into_iter().for_each(|alteration| alter(&mut lines, alteration));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        if let Ok(journal) = Journal::parse(text.as_bytes(), Path::new("journal.jsonl")) {
            for report in write_reports(&journal) {
                prop_assert!(!report.contains(is_terminal_control), "{report:?}");
            }
        }
    }
}
