//! Fuzz target of the parser of netfilter rules.

use super::rules::parse_rules;

/// Parses a list of rules in the kernel's netlink format.
pub fn rules(bytes: &[u8]) {
    let mut rules = Vec::new();
    let _ = parse_rules(bytes, &mut rules);
    assert!(rules.len() <= bytes.len(), "every rule takes some bytes");
}
