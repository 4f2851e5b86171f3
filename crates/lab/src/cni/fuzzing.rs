//! Fuzz targets of what CNI's configurations and plugins say.

use super::config::NetworkConfigList;
use super::result::{CniResult, error_message};
use tare_network::Family;

/// Reads the configuration of a network, and finds its plugins.
pub fn configuration(text: &str) {
    let Ok(list) = NetworkConfigList::parse(text) else { return };
    assert!(!list.programs().is_empty(), "{list:?}");
    let _ = list.has_capability("portMappings");
}

/// Reads the answer of a plugin: addresses and devices, or why it failed.
pub fn plugin_answer(text: &str) {
    if let Ok(result) = CniResult::parse(text) {
        let _ = [Family::Ipv4, Family::Ipv6].map(|family| result.address(family));
    }
    let _ = error_message(text);
}
