//! Parquet, read back.

use crate::fixture::{NETWORKS, eventful, quick};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use std::io::Write as _;
use tare_record::Document;

/// The rows of a document's Parquet file.
fn rows(document: &Document) -> Vec<Row> {
    let mut file = tempfile::tempfile().expect("room for a file");
    file.write_all(&tare_report::parquet(document).expect("it can be written")).expect("room");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect()
}

/// A field as the comma-separated values have it, without quotes.
fn text(field: &Field) -> String {
    match field {
        Field::Str(text) => text.clone(),
        Field::Long(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        other => other.to_string(),
    }
}

#[test]
fn it_has_the_columns_and_rows_of_the_comma_separated_samples() {
    let mut document = quick();
    document.cells[0].parameters.insert("size".to_owned(), 1400.into());
    let csv = tare_report::samples(&document).expect("CSV");
    let mut lines = csv.lines();
    let heading = lines.next().expect("a heading");
    let rows = rows(&document);
    assert_eq!(rows.len(), NETWORKS.len() * 4 * 3);
    for row in &rows {
        let names: Vec<&str> = row.get_column_iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.join(","), heading);
        let fields: Vec<String> = row.get_column_iter().map(|(_, field)| text(field)).collect();
        let line = lines.next().expect("as many lines");
        assert_eq!(
            fields.join(","),
            line.replace("\"\"", "'").replace('"', "").replace('\'', "\"")
        );
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn numbers_are_numbers() {
    let rows = rows(&eventful());
    let field = |name: &str| {
        let mut fields = rows[1].get_column_iter();
        fields.find(|(one, _)| *one == name).map(|(_, field)| field.clone()).expect("a column")
    };
    assert_eq!(field("block"), Field::Long(1));
    assert_eq!(field("mtu"), Field::Long(1500));
    assert!(matches!(field("value"), Field::Double(value) if value > 34.0), "{}", field("value"));
    assert_eq!(field("metric"), Field::Str("throughput".to_owned()));
}
