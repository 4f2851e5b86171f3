//! Table in CSV (RFC 4180) whose texts no spreadsheet takes for formulas.

use crate::Error;
use std::borrow::Cow;
use tare_record::visible_text;

/// Characters with which spreadsheets begin a formula.
const FORMULA: [char; 4] = ['=', '+', '-', '@'];

/// CSV table under construction.
pub(crate) struct CsvTable(csv::Writer<Vec<u8>>);

impl CsvTable {
    /// Begins a table with its heading row.
    pub(crate) fn with_heads<T: AsRef<str>>(
        heads: impl IntoIterator<Item = T>,
    ) -> Result<Self, Error> {
        let mut table = Self(csv::Writer::from_writer(Vec::new()));
        table.push(heads)?;
        Ok(table)
    }

    /// Appends a row. Labels and findings come from files and programs of others.
    pub(crate) fn push<T: AsRef<str>>(
        &mut self,
        fields: impl IntoIterator<Item = T>,
    ) -> Result<(), Error> {
        for field in fields {
            self.0.write_field(&*plain_field(field.as_ref()))?;
        }
        self.0.write_record(None::<&[u8]>)?;
        Ok(())
    }

    /// Returns the whole text.
    pub(crate) fn into_text(self) -> Result<String, Error> {
        let bytes = self.0.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Returns the field, with an apostrophe before a text that a spreadsheet would compute (OWASP, CSV injection). Numbers
/// stay.
fn plain_field(field: &str) -> Cow<'_, str> {
    let field = visible_text(field);
    let is_formula = field.trim_start().starts_with(FORMULA) && field.parse::<f64>().is_err();
    if is_formula { Cow::Owned(format!("'{field}")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_a_spreadsheet_would_compute_are_texts() {
        for text in ["=1+2", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "-"] {
            assert_eq!(plain_field(text), format!("'{text}"));
        }
        for plain in ["", "-0.25", "-1e-9", "+3", "bridge+plain", "a=bridge", "{\"a\":-1}"] {
            assert_eq!(plain_field(plain), plain);
        }
        assert_eq!(plain_field("\u{1b}[2J"), "\\u001b[2J");
    }

    #[test]
    fn a_table_has_a_row_for_each_push() {
        let mut table = CsvTable::with_heads(["a", "b"]).unwrap();
        table.push(["1,2", "=x"]).unwrap();
        assert_eq!(table.into_text().unwrap(), "a,b\n\"1,2\",'=x\n");
    }
}
