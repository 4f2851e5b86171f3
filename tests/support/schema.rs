//! JSON schemas in the repository, against which every output is checked.

use serde_json::Value;
use std::path::PathBuf;

/// Returns the directory of the schemas.
pub fn directory() -> PathBuf {
    repository().join("docs/schema")
}

/// Returns the root of the repository.
pub fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Fails unless the document matches the schema of this name.
#[track_caller]
pub fn check(document: &Value, name: &str) {
    let path = directory().join(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema is a schema");
    let wrong: Vec<String> = validator
        .iter_errors(document)
        .take(5)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "not as {name} says: {wrong:#?}");
}
