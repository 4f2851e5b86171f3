//! The document as it is, for programs.

use crate::Error;
use tare_record::Document;

/// The document as indented JSON with a line end; keys stand in the order of the types, so the bytes are stable.
///
/// # Errors
/// When a value cannot be written as JSON; no document that a journal gives holds such a value.
pub fn json(document: &Document) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}
