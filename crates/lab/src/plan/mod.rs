//! Plan: what a network will be, before anything is made of it.

pub(crate) mod address;
pub(crate) mod backbone;
pub(crate) mod docker_rules;
pub(crate) mod ebpf_redirect;
pub(crate) mod layout;
pub(crate) mod limited_link;
pub(crate) mod namespace_id;
pub(crate) mod network_options;
pub(crate) mod node_containers;
pub(crate) mod nodes;
pub(crate) mod placement;
pub(crate) mod underlay;
pub(crate) mod uplink;
pub(crate) mod wiring;
