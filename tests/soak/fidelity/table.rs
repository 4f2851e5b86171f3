//! Tables of docs/FIDELITY.md that are written by what is measured.

use std::path::{Path, PathBuf};

/// End of each table.
const END: &str = "<!-- end -->\n";

/// Table of the document.
pub(super) struct Table {
    /// Line before the table.
    pub(super) begin: &'static str,
    /// First lines of the table.
    pub(super) head: &'static str,
}

impl Table {
    /// Replaces the rows that begin with `measured`, and keeps those of the same machine that begin with another element of
    /// `order`.
    pub(super) fn write(&self, machine: &str, order: &[String], measured: &str, rows: &str) {
        let text = std::fs::read_to_string(document()).expect("the document is there");
        let (before, rest) = text.split_once(self.begin).expect("it has a place for the table");
        let (table, after) = rest.split_once(END).expect("the place has an end");
        let is_of_machine = table.starts_with(machine);
        let all: String = order
            .iter()
            .map(|row| match row == measured {
                true => rows.to_owned(),
                false if is_of_machine => rows_of(table, row),
                false => String::new(),
            })
            .collect();
        let document_text =
            format!("{before}{}{machine}\n{}{all}{END}{after}", self.begin, self.head);
        std::fs::write(document(), document_text).expect("it can be written");
    }
}

/// Returns the rows of a table that begin with a text.
fn rows_of(table: &str, row: &str) -> String {
    table.split_inclusive('\n').filter(|line| line.starts_with(row)).collect()
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/FIDELITY.md")
}
