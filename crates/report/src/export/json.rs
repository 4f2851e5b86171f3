//! JSON of the document, for programs.

use crate::Error;
use tare_record::Document;

/// Writes the document as indented JSON with a line end. Keys are in the order of the types' fields, so the bytes are
/// stable.
///
/// # Errors
/// Fails if a value cannot be written as JSON. No document made from a journal has such a value.
pub fn json(document: &Document) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}
