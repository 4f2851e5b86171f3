//! Labels of networks, as a study writes them: `[LABEL=]NAME`.

use std::net::IpAddr;

/// Splits a text into a label and a network's name; without a label, the name is the label. Text after a `+` or a `:`
/// belongs to the name.
pub(crate) fn split_label(text: &str) -> (&str, &str) {
    match text.split_once('=') {
        Some((label, name)) if !label.contains(['+', ':']) || is_address(label) => (label, name),
        _ => (text, text),
    }
}

/// Returns true if the text is an IP address, which is the label of a probe. An IPv6 address may have a zone.
fn is_address(text: &str) -> bool {
    text.split('%').next().is_some_and(|address| address.parse::<IpAddr>().is_ok())
}

/// Returns the label of a network as it is written in a study.
pub(crate) fn label_of(text: &str) -> &str {
    split_label(text).0
}

/// Returns the name of a network as it is written in a study or on the command line, without its label.
#[must_use]
pub fn network_name(text: &str) -> &str {
    split_label(text).1
}
