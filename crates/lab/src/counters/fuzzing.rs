//! The kernel's list of rules, from bytes.

use super::rules::read;
use std::collections::BTreeMap;

/// Reads a list of rules.
pub fn rules(bytes: &[u8]) {
    let mut rules = BTreeMap::new();
    let _ = read(bytes, &mut rules);
    assert!(rules.len() <= bytes.len(), "every rule takes some bytes");
}
