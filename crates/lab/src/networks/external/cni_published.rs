//! `cni-published:FILE`: a client on the node, and a server behind a port that the plugins of a CNI list publish.

use crate::lab::Lab;
use crate::networks::external::cni;
use crate::networks::external::cni::{CniNetwork, DialTarget};
use std::sync::Arc;
use tare_network::NetworkInfo;

/// Returns the network of `cni-published:FILE`.
pub(crate) fn cni_published(lab: &Option<Arc<Lab>>) -> CniNetwork {
    CniNetwork {
        lab: lab.clone(),
        info: NetworkInfo {
            name: "cni-published:FILE",
            summary: "the same, with the client on the node and the server behind a published port",
            ..cni::INFO
        },
        scheme: "cni-published:",
        dial_target: DialTarget::PublishedPort,
    }
}
