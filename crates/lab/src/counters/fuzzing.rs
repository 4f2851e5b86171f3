//! Fuzz target for the kernel's list of rules.

use super::rules::read;
use std::collections::BTreeMap;

/// Parses a list of rules.
pub fn rules(bytes: &[u8]) {
    let mut rules = BTreeMap::new();
    let _ = read(bytes, &mut rules);
    assert!(rules.len() <= bytes.len(), "every rule takes some bytes");
}
