//! Data of a figure: the table next to it, and the same data as CSV.

use super::element::Element;
use crate::Error;
use crate::csv_table::CsvTable;

/// Value in a table: rounded text for readers, exact text for programs.
#[derive(Clone, Debug)]
pub(crate) struct TableValue {
    shown: String,
    exact: String,
}

impl TableValue {
    /// Makes a number with its rounded text.
    pub(crate) fn number(value: f64, shown: impl Into<String>) -> Self {
        Self { shown: shown.into(), exact: value.to_string() }
    }

    /// Makes the value for something that was not measured: a dash for readers, empty for programs.
    pub(crate) fn none() -> Self {
        Self { shown: crate::columns::NOTHING.to_owned(), exact: String::new() }
    }
}

impl From<&str> for TableValue {
    fn from(text: &str) -> Self {
        Self { shown: text.to_owned(), exact: text.to_owned() }
    }
}

impl From<String> for TableValue {
    fn from(text: String) -> Self {
        Self { exact: text.clone(), shown: text }
    }
}

/// Table of values under headings. The first column names the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct DataTable {
    heads: Vec<String>,
    rows: Vec<Vec<TableValue>>,
}

impl DataTable {
    pub(crate) fn new<H: Into<String>>(heads: impl IntoIterator<Item = H>) -> Self {
        Self { heads: heads.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Appends a row.
    pub(crate) fn add(&mut self, row: Vec<TableValue>) {
        self.rows.push(row);
    }

    /// Renders the table as HTML, with its caption.
    pub(crate) fn render(&self, caption: &str) -> Element {
        let head = self.heads.iter().map(|head| {
            Element::new("th").with("scope", "col").push(head.replace('_', "_\u{200b}"))
        });
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter().enumerate().map(|(at, datum)| match at {
                0 => Element::new("th").with("scope", "row").push(datum.shown.as_str()),
                _ => Element::new("td").push(datum.shown.as_str()),
            });
            Element::new("tr").extend(cells)
        });
        Element::new("table")
            .push(Element::new("caption").push(caption))
            .push(Element::new("thead").push(Element::new("tr").extend(head)))
            .push(Element::new("tbody").extend(rows))
    }

    /// Writes the table as CSV in full precision (RFC 4180).
    pub(crate) fn csv(&self) -> Result<String, Error> {
        let mut table = CsvTable::with_heads(&self.heads)?;
        for row in &self.rows {
            table.push(row.iter().map(|datum| &datum.exact))?;
        }
        table.into_text()
    }
}

/// Makes a data URL that holds a file (RFC 2397).
pub(crate) fn data_link(media: &str, content: &str) -> String {
    let mut link = format!("data:{media};charset=utf-8,");
    for byte in content.bytes() {
        match byte {
            _ if byte.is_ascii_alphanumeric() || b"-._~!*();/?:@=+$,'".contains(&byte) => {
                link.push(char::from(byte));
            }
            _ => link.push_str(&format!("%{byte:02X}")),
        }
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_reader_sees_round_numbers_and_a_program_exact_ones() {
        let mut table = DataTable::new(["network", "latency_p50 (µs)"]);
        table.add(vec!["a,b".into(), TableValue::number(20.512_345, "20.5")]);
        table.add(vec!["<b>".into(), TableValue::none()]);
        assert_eq!(table.csv().unwrap(), "network,latency_p50 (µs)\n\"a,b\",20.512345\n<b>,\n");
        let html = table.render("Figures").to_string();
        assert!(html.contains("<td>20.5</td>") && html.contains("&lt;b&gt;"), "{html}");
    }

    proptest! {
        #[test]
        fn a_link_holds_every_byte(text in "\\PC{0,40}") {
            let link = data_link("text/csv", &text);
            let body = link.strip_prefix("data:text/csv;charset=utf-8,").unwrap();
            let mut bytes = Vec::new();
            let mut rest = body.bytes();
            while let Some(byte) = rest.next() {
                if byte == b'%' {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    let digits = std::str::from_utf8(&digits).unwrap().to_owned();
                    bytes.push(u8::from_str_radix(&digits, 16).unwrap());
                } else {
                    bytes.push(byte);
                }
            }
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), text);
        }
    }
}
