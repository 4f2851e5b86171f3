//! `cni-published:FILE`: a client on the node, a server behind the port that a CNI list publishes.

use super::cni::{self, Cni, Dialled};
use crate::lab::Lab;
use std::sync::Arc;
use tare_network::About;

pub(super) const SCHEME: &str = "cni-published:";

pub(super) const ABOUT: About = About {
    name: "cni-published:FILE",
    summary: "the same, with the client on the node and the server behind a published port",
    ..cni::ABOUT
};

/// The network of `cni:FILE`, dialled otherwise.
pub(super) fn cni_published(lab: &Option<Arc<Lab>>) -> Cni {
    Cni { lab: lab.clone(), dialled: Dialled::ByPublishedPort }
}
