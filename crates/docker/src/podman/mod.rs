//! Podman: its own API beside Docker's, and its service, which tare starts where none runs.

pub(crate) mod libpod;
pub(crate) mod pod_container;
pub(crate) mod properties;
pub(crate) mod service;
