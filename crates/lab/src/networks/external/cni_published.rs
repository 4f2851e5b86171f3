//! `cni-published:FILE`: a client on the node, and a server behind a port that the plugins of a CNI list publish.

use crate::networks::external::cni;
use crate::networks::external::cni::{CniNetwork, DialTarget};
use std::sync::Arc;
use tare_network::NetworkInfo;
use tare_sandbox::Sandbox;

/// Returns the network of `cni-published:FILE`.
pub(crate) fn cni_published(sandbox: &Option<Arc<Sandbox>>) -> CniNetwork {
    CniNetwork {
        sandbox: sandbox.clone(),
        info: NetworkInfo {
            name: "cni-published:FILE",
            summary: "the same, with the client on the node and the server behind a published port",
            ..cni::INFO
        },
        scheme: "cni-published:",
        dial_target: DialTarget::PublishedPort,
    }
}
