//! The data of a figure: a table beside it, and the same as CSV.

use super::element::Element;
use crate::Error;

/// One figure in a table: as a reader sees it, and as a program wants it.
#[derive(Clone, Debug)]
pub(crate) struct Datum {
    shown: String,
    exact: String,
}

impl Datum {
    /// A number, rounded for the reader.
    pub(crate) fn number(value: f64, shown: impl Into<String>) -> Self {
        Self { shown: shown.into(), exact: value.to_string() }
    }

    /// Nothing was measured.
    pub(crate) fn none() -> Self {
        Self { shown: crate::columns::NOTHING.to_owned(), exact: String::new() }
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Self { shown: text.to_owned(), exact: text.to_owned() }
    }
}

impl From<String> for Datum {
    fn from(text: String) -> Self {
        Self { exact: text.clone(), shown: text }
    }
}

/// Rows of figures under headings; the first column names the rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<Datum>>,
}

impl Table {
    pub(crate) fn new<H: Into<String>>(heads: impl IntoIterator<Item = H>) -> Self {
        Self { heads: heads.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: Vec<Datum>) {
        self.rows.push(row);
    }

    /// The table for a reader, with its caption.
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

    /// The table in full precision (RFC 4180).
    pub(crate) fn csv(&self) -> Result<String, Error> {
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.heads)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|datum| &datum.exact))?;
        }
        let bytes = writer.into_inner().map_err(|error| ::csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A file as a link that holds it (RFC 2397).
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
        let mut table = Table::new(["network", "latency_p50 (µs)"]);
        table.add(vec!["a,b".into(), Datum::number(20.512_345, "20.5")]);
        table.add(vec!["<b>".into(), Datum::none()]);
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
